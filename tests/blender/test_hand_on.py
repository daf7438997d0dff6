"""Files go from hand to hand: through Blenders without the extension, and into other files."""

import bpy
import pytest
import rigs
from inside import forget, start
from mathutils import Vector
from spiders import make_spider, terrain, walk
from walkers import flat, make_ground

from addon.features.gait.message import status_message

pytestmark = pytest.mark.usefixtures("silent")

FRAMES = (1, 12, 20)
RESULTS = ("rna_type", "state", "error", "iterations_used", "message")
FALLEN_BACK = """
rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
bpy.ops.wm.save_mainfile()
"""


def key(ob, path, values):
    """Key a property at frames 1 and 20."""
    owner_path, name = path.rpartition(".")[::2]
    owner = ob.path_resolve(owner_path) if owner_path else ob
    for frame, value in zip((1, 20), values, strict=True):
        setattr(owner, name, value)
        assert ob.keyframe_insert(path, frame=frame)


def make_limb():
    """A chain with keyed and unkeyed bones, a limit, keyed, driven and other settings."""
    rig, target = rigs.make_chain(4), rigs.make_empty()
    key(target, "location", ((1, 0, 2), (-1, 1, 3.2)))
    key(rig, 'pose.bones["B0"].rotation_quaternion', ((1, 0.2, 0, 0), (1, 0, 0.5, 0)))
    rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0, 0)
    rig.pose.bones["B1"].scale = (1, 1.25, 1)
    joint = rig.pose.bones["B2"].fabrik_joint
    joint.limit_type, joint.hinge_axis, joint.hinge_max, joint.stiffness = "HINGE", "Z", 1.5, 0.25
    item = rigs.add_constraint(rig, "B3", target, name="Limb", chain_count=3, softness=0.05)
    item.use_stretch, item.stretch_max, item.use_volume = True, 1.25, True
    item.pole_target, item.iterations = rigs.make_empty("Pole", (0, 3, 2)), 33
    key(rig, "fabrik.constraints[0].influence", (1.0, 0.5))
    angle = rig.driver_add("fabrik.constraints[0].pole_angle")
    rigs.drive(angle, rigs.make_empty("Dial", (0, 0.25, 0)), "location[1]")
    return rig


def make_body():
    """Two chains without a key that share bones, with a free root, an offset and a rotation."""
    rig = rigs.make_chain(3, "Body", mode="XYZ")
    rig.pose.bones["B0"].rotation_euler = (0.3, 0, 0.1)
    rig.pose.bones["B0"].location = (0, 0.1, 0)
    goal = rigs.make_empty("Goal", (2.5, 0, 2.5))
    rigs.add_constraint(rig, "B2", goal, use_free_root=True, use_rotation=True, weight=2)
    rigs.add_constraint(rig, "B1", rigs.make_empty("Elbow", (0.5, 1, 1.5)), use_offset=True)
    return rig


def make_all():
    make_limb()
    make_body()
    rigs.go(12)


def value(settings, name):
    found = getattr(settings, name)
    if isinstance(found, bpy.types.PropertyGroup):
        return values(found)
    return getattr(found, "name", None) or (list(found) if hasattr(found, "__len__") else found)


def values(settings):
    """All that can be set, with what it points to by name; animated ones as the frame has them."""
    return {
        prop.identifier: value(settings, prop.identifier)
        for prop in settings.bl_rna.properties
        if prop.identifier not in RESULTS
    }


def mute(rig, is_off):
    for item in rig.fabrik.constraints:
        item.enabled = not is_off


def poses(rig):
    """The solved pose and the FK pose at some frames, to the last bit."""
    shown = []
    for is_off in (False, True):
        mute(rig, is_off)
        for frame in FRAMES:
            rigs.go(frame)
            shown.append(rigs.pose_bits(rig))
    mute(rig, False)
    rigs.go(12)
    return shown


def state(rig):
    """All of an armature that has to outlast the extension."""
    shown = poses(rig)
    return {
        "poses": shown,
        "constraints": [values(item) for item in rig.fabrik.constraints],
        "joints": [values(bone.fabrik_joint) for bone in rig.pose.bones],
        "curves": [
            (curve.data_path, curve.array_index, curve.is_valid) for curve in rigs.curves(rig)
        ],
        "drivers": [(curve.data_path, curve.driver.is_valid) for curve in drivers(rig)],
        "channels": rigs.channels_bits(rig),
    }


def drivers(rig):
    return rig.animation_data.drivers if rig.animation_data else ()


def state_of_all():
    return {name: state(bpy.data.objects[name]) for name in ("Rig", "Body")}


class TestWithoutTheExtension:
    def test_nothing_is_lost_by_saving_again_and_again(self, tmp_path):
        make_all()
        before = state_of_all()
        assert len({*before["Rig"]["poses"]}) == 6
        assert {path for path, _ in before["Rig"]["drivers"]} == {
            "fabrik.constraints[0].pole_angle",
            '["fabrik_dependency"]',
        }
        assert before["Rig"]["constraints"][0]["pole_angle"] == pytest.approx(0.25)
        blend = tmp_path / "shot.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))

        for work in ("update()", "go(5); go(16)"):
            rigs.elsewhere(blend, f"{work}; bpy.ops.wm.save_mainfile()", "None", with_addon=False)
            bpy.ops.wm.open_mainfile(filepath=str(blend))
            assert state_of_all() == before

        rig = bpy.data.objects["Rig"]
        bpy.data.objects["Dial"].location.y = 0.5
        rigs.update()
        assert rig.fabrik.constraints[0].pole_angle == pytest.approx(0.5)
        rigs.go(20)
        assert rig.fabrik.constraints[0].influence == 0.5

    def test_bones_show_their_fk_pose_and_keyed_ones_their_keys(self, tmp_path):
        make_all()
        blend = tmp_path / "shot.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
        solved = rigs.pose_bits(body)
        mute(rig, True)
        mute(body, True)
        rigs.update()
        fk = rigs.pose_bits(body)
        assert fk != solved
        keyed = tuple(rigs.evaluated(rig).pose.bones["B0"].rotation_quaternion)

        turned = 'tuple(evaluated(bpy.data.objects["Rig"]).pose.bones["B0"].rotation_quaternion)'
        there, _ = rigs.elsewhere(
            blend, "", f'(pose_bits(bpy.data.objects["Body"]), {turned})', with_addon=False
        )

        assert there == (fk, keyed)

    def test_work_that_was_done_there_is_kept(self, tmp_path):
        rig = rigs.make_chain()
        rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0, 0)
        rigs.add_constraint(rig, "B2", rigs.make_empty())
        rigs.update()
        blend = tmp_path / "shot.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        work = """
        rig = bpy.data.objects["Rig"]
        rig.data.bones["B2"].name = "Hand"
        rig.pose.bones["B0"].rotation_quaternion = (0.6, 0, 0.8, 0)
        bpy.data.objects["Target"].location = (0, -1, 1)
        activate(rig)
        bpy.ops.object.duplicate()
        update()
        bpy.ops.wm.save_mainfile()
        """

        _, printed = rigs.elsewhere(blend, work, "None", with_addon=False)
        bpy.ops.wm.open_mainfile(filepath=str(blend))

        # A Blender with another root folder than the system's reports that; ignore it.
        warnings = [line for line in printed.splitlines() if "WARN" in line]
        assert [line for line in warnings if "mounted file-systems" not in line] == []
        assert "rror" not in printed
        target = bpy.data.objects["Target"]
        for name in ("Rig", "Rig.001"):
            rig = bpy.data.objects[name]
            item = rig.fabrik.constraints[0]
            assert (item.bone, item.target, item.state) == ("Hand", target, "REACHED")
            assert rigs.tip_error(rig, "Hand", target) < 1e-3
            mute(rig, True)
            rigs.update()
            fk = [tuple(bone.rotation_quaternion) for bone in rigs.shown_bones(rig)]
            assert fk[0] == pytest.approx((0.6, 0, 0.8, 0))
            assert fk[1] == pytest.approx((0.8, 0.6, 0, 0))

    def test_drivers_work_on_when_the_extension_is_enabled_in_an_open_file(self, addon, tmp_path):
        """Meanwhile Blender has given them up, and would take them up only with a file."""
        rig, dial = rigs.make_chain(), rigs.make_empty("Dial")
        rigs.add_constraint(rig, "B2", rigs.make_empty())
        rigs.drive(rig.driver_add("fabrik.constraints[0].pole_angle"), dial, "location[1]")
        reader = rigs.make_empty("Reader")
        size = reader.driver_add("empty_display_size")
        rigs.drive(size, rig, "fabrik.constraints[0].influence")
        rigs.update()
        blend = tmp_path / "shot.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        addon.unregister()
        try:
            bpy.ops.wm.open_mainfile(filepath=str(blend))
            rigs.go(3)
            rig, reader = bpy.data.objects["Rig"], bpy.data.objects["Reader"]
            given_up = [curve.driver.is_valid for curve in (*drivers(rig), *drivers(reader))]
            assert sorted(given_up) == [False, False, True]
        finally:
            addon.register()

        start()
        bpy.data.objects["Dial"].location.y = 0.75
        rig.fabrik.constraints[0].influence = 0.5
        rigs.update()

        assert rig.fabrik.constraints[0].pole_angle == pytest.approx(0.75)
        assert reader.empty_display_size == pytest.approx(0.5)

    def test_library_override_falls_back_to_its_library(self, tmp_path):
        """Blender drops overrides of properties that it does not know; the README says so."""
        make_library(tmp_path)
        rig = overridden(tmp_path)
        rig.fabrik.constraints[0].iterations = 44
        rig.pose.bones["B3"].fabrik_joint.stiffness = 0.5
        rigs.add_constraint(rig, "B0", rigs.make_empty("More"), chain_count=1)
        rigs.go(12)
        given = tuple(rig.pose.bones["B1"].rotation_quaternion)
        blend = tmp_path / "shot.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        bpy.ops.wm.open_mainfile(filepath=str(blend))
        assert override_state() == (2, 44, 0.5)

        rigs.elsewhere(blend, FALLEN_BACK, "None", with_addon=False)
        bpy.ops.wm.open_mainfile(filepath=str(blend))

        assert override_state() == (1, 33, 0.0)
        rig = the_override()
        mute(rig, True)
        rigs.go(12)
        for bones in (rig.pose.bones, rigs.shown_bones(rig)):
            assert tuple(bones["B1"].rotation_quaternion) == pytest.approx(given)
        mute(rig, False)
        rigs.go(1)
        assert rig.fabrik.constraints[0].state == "REACHED"


def make_library(folder):
    """Save the limb as a file of its own, and return its poses."""
    make_limb()
    rigs.go(12)
    shown = poses(bpy.data.objects["Rig"])
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return shown


def bring(folder, is_link):
    """Bring the armature object alone into this file, as File > Append or Link does."""
    operator = bpy.ops.wm.link if is_link else bpy.ops.wm.append
    path = folder / "library.blend" / "Object"
    operator(directory=f"{path}/", filename="Rig", filepath=str(path / "Rig"))
    rigs.update()


def overridden(folder):
    """Link the armature, make an override of it and of its data, and return that."""
    bring(folder, is_link=True)
    linked = next(ob for ob in bpy.data.objects if ob.library and ob.pose)
    made = linked.override_create(remap_local_usages=True)
    made.data.override_create(remap_local_usages=True)  # It keeps the joints.
    if made.name not in bpy.context.scene.collection.objects:
        rigs.link(made)
    rigs.update()
    return made


def the_override():
    return next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)


def override_state():
    rig = the_override()
    items = rig.fabrik.constraints
    return len(items), items[0].iterations, rig.pose.bones["B3"].fabrik_joint.stiffness


class TestIntoOtherFiles:
    def test_appended_armature_is_the_same_at_once_beside_another_of_its_names(self, tmp_path):
        shown = make_library(tmp_path)
        own = rigs.make_chain()
        key(own, 'pose.bones["B0"].rotation_quaternion', ((1, 0, 0, 0), (1, 0.5, 0, 0)))
        rigs.add_constraint(own, "B2", rigs.make_empty(location=(0, 1, 2)))
        rigs.go(1)
        before = rigs.pose_bits(own)

        bring(tmp_path, is_link=False)

        rig = bpy.data.objects["Rig.001"]
        item = rig.fabrik.constraints[0]
        assert (item.target.name, item.pole_target.name) == ("Target.001", "Pole")
        assert item.state in ("REACHED", "OUT_OF_REACH", "LIMITED")
        assert poses(rig) == shown
        variables = drivers(rig).find('["fabrik_dependency"]').driver.variables
        assert {v.targets[0].id for v in variables} == {item.target, item.pole_target}
        rigs.go(1)
        assert rigs.pose_bits(own) == before
        bpy.data.objects["Dial"].location.y = 0.5
        item.target.animation_data_clear()
        item.target.location = Vector((0, 1, 2.5))
        rigs.update()
        assert item.pole_angle == pytest.approx(0.5)
        assert rigs.tip_error(rig, "B3", item.target) < 1e-3
        assert rigs.pose_bits(own) == before

    def test_linked_armature_plays_as_in_its_file(self, tmp_path):
        shown = make_library(tmp_path)[: len(FRAMES)]
        bring(tmp_path, is_link=True)
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))

        for _ in range(2):
            rig = bpy.data.objects["Rig"]
            assert rig.library is not None
            played = []
            for frame in FRAMES:
                rigs.go(frame)
                played.append(rigs.pose_bits(rig))
            assert played == shown
            bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))

    def test_override_that_is_not_for_editing_is_posed(self, tmp_path):
        shown = make_library(tmp_path)
        rig = overridden(tmp_path)
        rig.override_library.is_system_override = True  # As Blender makes those of a hierarchy.
        assert poses(rig) == shown

    def test_override_of_the_armature_is_edited_and_kept(self, tmp_path):
        shown = make_library(tmp_path)
        rig = overridden(tmp_path)
        assert poses(rig) == shown
        item = rig.fabrik.constraints[0]
        item.target, item.iterations = rigs.make_empty("Shot Target", (0.5, 1, 2)), 44
        rig.pose.bones["B3"].fabrik_joint.stiffness = 0.5
        rigs.add_constraint(
            rig, "B0", rigs.make_empty("More", (0, 2, 0)), chain_count=1, influence=0.5
        )
        edited = poses(rig)
        assert edited != shown
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))

        assert override_state() == (2, 44, 0.5)
        rig = the_override()
        assert rig.fabrik.constraints[0].target.name == "Shot Target"
        assert poses(rig) == edited


def looking(rig, target):
    rigs.add_constraint(rig, "B2", target, solver="LOOK_AT", chain_count=2).look.axis = "X"


def roped(rig, target):
    item = rigs.add_constraint(rig, "B2", target, solver="ROPE")
    item.rope.collision, item.rope.collision_object = "PLANE", target


def grounded(rig, target):
    ground = rigs.add_constraint(rig, "B2", target).ground
    ground.use, ground.source, ground.object = True, "OBJECT", make_ground(flat)


def limited(rig, target):
    rig.pose.bones["B1"].fabrik_joint.limit_type = "HINGE"
    rigs.add_constraint(rig, "B2", target)


def reaching(rig, target):
    rigs.add_constraint(rig, "B2", target, solver="CCD")


ITEM, JOINT = "fabrik.constraints.0", "fabrik_joint"

CHOICES = {
    "look axis": (looking, f"{ITEM}.look", "axis", "Look Axis"),
    "up axis": (looking, f"{ITEM}.look", "up_axis", "Up Axis"),
    "up": (looking, f"{ITEM}.look", "up", "Up"),
    "collision": (roped, f"{ITEM}.rope", "collision", "Collision"),
    "ground": (grounded, f"{ITEM}.ground", "source", "Source"),
    "down": (grounded, f"{ITEM}.ground", "axis", "Down"),
    "limit": (limited, JOINT, "limit_type", "“B1”: Limit"),
    "hinge": (limited, JOINT, "hinge_axis", "“B1”: Axis"),
}


def group_at(rig, path, is_stored=False):
    """Return a group of ours, or what is stored of it in the form of custom properties."""
    found = rig.data.bones["B1"] if path == JOINT else rig
    if is_stored and bpy.app.version >= (5, 0):
        found = found.bl_system_properties_get()
    for name in path.split("."):
        is_item = is_stored or name.isdigit()
        found = found[int(name) if name.isdigit() else name] if is_item else getattr(found, name)
    return found


def stored_at(rig, path):
    return group_at(rig, path, is_stored=True)


class TestFromALaterVersion:
    @pytest.mark.parametrize("case", CHOICES)
    def test_item_that_a_list_does_not_have_is_said_and_can_be_chosen_anew(self, case, tmp_path):
        make_one, path, name, title = CHOICES[case]
        rig = rigs.make_chain()
        make_one(rig, rigs.make_empty())
        other = rigs.make_chain(name="Other")
        rigs.add_constraint(other, "B2", rigs.make_empty("Goal"))
        group = group_at(rig, path)
        known = getattr(group, name)
        setattr(group, name, known)
        stored_at(rig, path)[name] = 99
        stored_at(rig, path)["of_later"] = 3
        file = str(tmp_path / "later.blend")
        bpy.ops.wm.save_as_mainfile(filepath=file)
        bpy.ops.wm.open_mainfile(filepath=file)
        rig, other = bpy.data.objects["Rig"], bpy.data.objects["Other"]
        rigs.go(5)
        item = rig.fabrik.constraints[0]
        assert item.state == "INVALID"
        assert item.message == (
            f"{title} has a value that this version doesn't support: choose another one"
        )
        assert rigs.channels_bits(rig) == rigs.shown_bits(rig)
        assert other.fabrik.constraints[0].state == "REACHED"

        setattr(group_at(rig, path), name, known)
        rigs.update()
        assert item.state != "INVALID"
        assert stored_at(rig, path)["of_later"] == 3

    @pytest.mark.parametrize(
        ("name", "beyond"),
        (("swing_x", -5.0), ("swing_z", 1e30), ("twist_max", 1e30), ("stiffness", -5.0)),
    )
    def test_numbers_beyond_the_range_of_a_joint_count_as_its_end(self, name, beyond):
        rig, twin = rigs.make_chain(), rigs.make_chain(name="Twin")
        target = rigs.make_empty()
        for ob in (rig, twin):
            joint = ob.pose.bones["B1"].fabrik_joint
            joint.limit_type = "CONE"
            setattr(joint, name, beyond)  # Blender clamps it.
            rigs.add_constraint(ob, "B2", target)
        stored_at(rig, JOINT)[name] = beyond
        forget()
        rigs.update(rig)
        item = rig.fabrik.constraints[0]
        assert item.state == twin.fabrik.constraints[0].state != "INVALID"
        assert rigs.shown_bits(rig) == rigs.shown_bits(twin)

    def test_solver_that_there_is_not_is_said(self, tmp_path):
        rig = rigs.make_chain()
        reaching(rig, rigs.make_empty())
        stored_at(rig, ITEM)["solver"] = 99
        file = str(tmp_path / "later.blend")
        bpy.ops.wm.save_as_mainfile(filepath=file)
        bpy.ops.wm.open_mainfile(filepath=file)
        rig = bpy.data.objects["Rig"]
        item = rig.fabrik.constraints[0]
        assert item.message == (
            "Solver has the invalid number 99: choose another solver, or correct its F-curve or "
            "driver"
        )
        item.solver = "FABRIK"
        rigs.update()
        assert item.state == "REACHED"

    @pytest.mark.parametrize("name", ("up_axis", "front_axis", "source", "pattern"))
    def test_walk_says_so_too(self, name):
        rig = make_spider(4, 2)
        terrain()
        walk(rig, 8)
        stored_at(rig, "fabrik.gaits.0")[name] = 99
        forget()
        rigs.update(rig)
        assert "that this version doesn't support: choose another one" in status_message(rig, 0)
