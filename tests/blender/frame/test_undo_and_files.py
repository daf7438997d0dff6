"""Undo, files, libraries, and everything that renames, copies or deletes what a chain needs."""

import bpy
import pytest
import rigs
from inside import forget
from kept_files import reopen
from mathutils import Vector

from addon.editing.switching import SwitchState, hide_switched
from addon.frame import handlers
from addon.settings import shot_keys

pytestmark = pytest.mark.usefixtures("silent")

HANDLERS = (
    "frame_change_post",
    "depsgraph_update_post",
    "load_post",
    "undo_post",
    "redo_post",
)


def rig_and_target():
    """Return them by name: references die with undo and load."""
    return bpy.data.objects["Rig"], bpy.data.objects["Target"]


def solved():
    rig, target = rig_and_target()
    return rig.fabrik.constraints[0].state == "REACHED" and rigs.tip_error(rig, "B2", target) < 1e-3


def make():
    """A solved chain with an FK pose of its own."""
    rig = rigs.make_chain()
    rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0, 0)
    rigs.update()
    fk = rigs.pose_bits(rig), rigs.channels_bits(rig)
    rigs.add_constraint(rig, "B2", rigs.make_empty())
    rigs.update()
    return fk


def fk_turn(rig, bone):
    """The numbers of a bone that no chain poses now: they are shown as they are given."""
    given, shown = (
        bones[bone].rotation_quaternion[:] for bones in (rig.pose.bones, rigs.shown_bones(rig))
    )
    assert given == shown
    return given


def step(message):
    bpy.ops.ed.undo_push(message=message)


def fk_of(rig):
    """What the pose is once the constraint is off; it is left on."""
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    fk = rigs.pose_bits(rig), rigs.channels_bits(rig)
    rig.fabrik.constraints[0].enabled = True
    rigs.update()
    return fk


def duplicate_bones(rig: bpy.types.Object) -> None:
    rigs.activate(rig, "EDIT")
    bpy.ops.armature.select_all(action="SELECT")
    bpy.ops.armature.duplicate()
    bpy.ops.object.mode_set(mode="OBJECT")
    rigs.update()


def test_armatures_that_are_not_shown_keep_their_bones_through_undo():
    """Else Blender up to 4.5 crashes as soon as anybody reads one of them."""
    make()
    copy = bpy.data.objects["Rig"].copy()
    copy.name = "Copy"
    scene = bpy.context.scene
    bpy.ops.scene.new(type="LINK_COPY")
    bpy.context.window.scene = scene
    scene.collection.objects.link(copy)
    rigs.update()
    for _ in range(3):
        rig = bpy.data.objects["Rig"]
        step("before")
        rig.fabrik.constraints[0].influence *= 0.5
        rigs.update()
        step("after")
        bpy.ops.ed.undo()
        armature = bpy.data.objects["Copy"]
        rests = armature.data.bones
        assert [bone.bone.as_pointer() for bone in armature.pose.bones] == [
            rests[bone.name].as_pointer() for bone in armature.pose.bones
        ]
        bpy.ops.ed.redo()
        rigs.update()
        rigs.activate(bpy.data.objects["Rig"], "EDIT")
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.context.window.scene = bpy.data.scenes[1]
        rigs.update()


def key_bone(rig, turns=((1, (0.9, 0.3, 0.1, 0)), (9, (0.7, 0.1, 0.6, 0)))):
    for frame, turn in turns:
        rigs.key(rig.pose.bones["B1"], "rotation_quaternion", {frame: turn})


def remove_constraint(rig, _target):
    rig.fabrik.constraints.remove(0)
    rig.update_tag()


def limit_joint(rig, _target):
    joint = rig.pose.bones["B1"].fabrik_joint
    joint.limit_type, joint.hinge_max = "HINGE", 0.2


def move_rest_bone(rig, _target):
    mode = rig.mode
    rigs.activate(rig, "EDIT")
    rig.data.edit_bones["B1"].tail.x += 0.3
    bpy.ops.object.mode_set(mode=mode)


EDITS = {
    "the target moved": lambda rig, target: setattr(target, "location", (0, 1, 2)),
    "the target deleted": lambda rig, target: bpy.data.objects.remove(target),
    "a constraint added": lambda rig, target: rigs.add_constraint(rig, "B1", target, influence=0.5),
    "the constraint removed": remove_constraint,
    "a bone turned": lambda rig, target: setattr(
        rig.pose.bones["B0"], "rotation_quaternion", (0.6, 0, 0.8, 0)
    ),
    "a joint limited": limit_joint,
    "a joint stiffened": lambda rig, target: setattr(
        rig.pose.bones["B1"].fabrik_joint, "stiffness", 0.9
    ),
    "a rest bone moved": move_rest_bone,
    "a rotation no longer inherited": lambda rig, target: setattr(
        rig.data.bones["B1"], "use_inherit_rotation", False
    ),
    "the tip moved": lambda rig, target: setattr(rig.fabrik.constraints[0], "use_tail", False),
    "a bone keyed": lambda rig, target: key_bone(rig, [(5, (0.2, 0.1, 0.6, 0.3))]),
}


def everything():
    """What is shown and said, and what the pose is with all constraints off."""
    rig = bpy.data.objects["Rig"]
    items = rig.fabrik.constraints
    seen = rigs.pose_bits(rig), rigs.channels_bits(rig), [(item.bone, item.state) for item in items]
    for is_enabled in (False, True):
        for item in items:
            item.enabled = is_enabled
        rigs.update()
        seen += (rigs.pose_bits(rig), rigs.channels_bits(rig))
    return seen


class TestUndo:
    @pytest.mark.parametrize("start", ["posed", "keyed", "in Pose Mode"])
    @pytest.mark.rows("edit")
    @pytest.mark.parametrize("edit", EDITS)
    def test_edit_is_undone_and_redone(self, edit, start):
        """In Pose Mode Blender takes other undo steps than in Object Mode."""
        make()
        if start == "keyed":
            key_bone(bpy.data.objects["Rig"])
        if start == "in Pose Mode":
            rigs.activate(bpy.data.objects["Rig"], "POSE")
        rigs.go(5)
        assert solved()
        step("start")
        before = everything()
        EDITS[edit](*rig_and_target())
        rigs.update()
        after = everything()
        assert after != before
        step("edit")

        for _ in range(2):
            bpy.ops.ed.undo()
            rigs.update()
            assert everything() == before
            assert solved()
            bpy.ops.ed.redo()
            rigs.update()
            assert everything() == after
        bpy.ops.ed.undo()
        EDITS[edit](*rig_and_target())
        rigs.update()
        assert everything() == after

    def test_undo_at_another_frame(self):
        make()
        rig, target = rig_and_target()
        rigs.key(target, "location", {1: 1, 20: -1}, 0)
        rigs.go(20)
        step("start")
        at_20 = rigs.pose_bits(rig)
        rigs.go(7)
        at_7 = rigs.pose_bits(rig)
        step("frame 7")
        bpy.ops.ed.undo()
        rigs.go(7)
        assert rigs.pose_bits(rig_and_target()[0]) == at_7
        rigs.go(20)
        assert rigs.pose_bits(rig_and_target()[0]) == at_20


class TestFiles:
    def test_loading_another_file_while_constraints_exist(self, tmp_path):
        fk = make()
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first.blend"))
        rig, target = rig_and_target()
        target.location = (0, 1, 2)
        rig.name = "Other"
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"))
        rigs.update()

        for _ in range(2):
            bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "first.blend"))
            assert solved()
            assert fk_of(rig_and_target()[0]) == fk
            bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "second.blend"))
            rig, target = bpy.data.objects["Other"], bpy.data.objects["Target"]
            assert rigs.tip_error(rig, "B2", target) < 1e-3
            assert fk_of(rig) == fk

    @pytest.mark.parametrize("has_strip", [True, False])
    @pytest.mark.parametrize("has_constraint", [True, False])
    @pytest.mark.parametrize("bone", ["B0", "B1"])
    def test_loading_plays_the_animation_as_it_does_without_us(
        self, bone, has_constraint, has_strip, tmp_path
    ):
        """A script's first key over strips is overlooked until then, and poses may lack keys."""
        make()
        rig, _ = rig_and_target()
        other = rigs.make_chain(name="Other")
        for ob in (rig, other):
            key_bone(ob)
            if has_strip:
                rigs.as_strip(ob)
        if not has_constraint:
            rig.fabrik.constraints.clear()
        rigs.go(5)
        for ob in (rig, other):
            before = ob.pose.bones[bone].rotation_quaternion.copy()
            rigs.key(ob.pose.bones[bone], "rotation_quaternion", {5: (0.5, 0.1, 0.1, 0.8)})
            ob.pose.bones[bone].rotation_quaternion = before
        blend = tmp_path / "keyed.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        expected, _ = rigs.elsewhere(
            blend, "", "[channels_bits(bpy.data.objects[n]) for n in ('Rig', 'Other')]", False
        )

        bpy.ops.wm.open_mainfile(filepath=str(blend))

        assert [rigs.channels_bits(bpy.data.objects[name]) for name in ("Rig", "Other")] == expected
        assert rigs.shown_bits(bpy.data.objects["Other"]) == expected[1]
        played = bpy.data.objects["Rig"].pose.bones[bone].rotation_quaternion
        assert played[:] == pytest.approx((0.5, 0.1, 0.1, 0.8))
        shown = rigs.pose_bits(bpy.data.objects["Rig"])
        assert not has_constraint or solved()
        rigs.update()
        rigs.go(5)
        assert rigs.pose_bits(bpy.data.objects["Rig"]) == shown

    def test_handlers_survive_loading_and_go_with_the_extension(self, addon, tmp_path):
        def ours():
            return {
                name: [h for h in getattr(bpy.app.handlers, name) if h.__module__[:5] == "addon"]
                for name in HANDLERS
            }

        given = ours()
        assert all(found and len({*found}) == len(found) for found in given.values())
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "empty.blend"))
        for _ in range(2):
            bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "empty.blend"))
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        assert ours() == given

        addon.unregister()
        try:
            assert not any(ours().values())
            assert not hasattr(bpy.types.Object, "fabrik")
            assert not any(name.startswith("fabrik") for name in dir(bpy.types.PoseBone))
        finally:
            addon.register()
        assert ours() == given

    def test_bone_turned_while_the_extension_was_off_is_the_new_input(self, addon):
        make()
        rig, _ = rig_and_target()
        addon.unregister()
        try:
            rig.pose.bones["B0"].rotation_quaternion = (0.6, 0.8, 0, 0)
            rigs.update()
        finally:
            addon.register()
        rigs.update(rig)
        assert solved()
        rig.fabrik.constraints[0].enabled = False
        rigs.update()

        assert fk_turn(rig, "B0") == pytest.approx((0.6, 0.8, 0, 0))
        assert fk_turn(rig, "B1") == pytest.approx((0.8, 0.6, 0, 0))


class TestBones:
    def edit(self, work):
        rig, _ = rig_and_target()
        rigs.activate(rig, "EDIT")
        work(rig.data.edit_bones)
        bpy.ops.object.mode_set(mode="OBJECT")
        rigs.update()
        return rig

    @pytest.mark.parametrize("where", ["edit mode", "pose", "data"])
    def test_rename_is_followed(self, where):
        fk = make()
        rig, target = rig_and_target()
        if where == "edit mode":
            for name in ("B0", "B1", "B2"):

                def rename(bones, name=name):
                    bones[name].name = f"Renamed {name}"

                self.edit(rename)
        else:
            bones = rig.pose.bones if where == "pose" else rig.data.bones
            for name in ("B0", "B1", "B2"):
                bones[name].name = f"Renamed {name}"
        rigs.update()
        target.location.x = 0.5
        rigs.update()

        assert rig.fabrik.constraints[0].bone == "Renamed B2"
        assert rig.fabrik.constraints[0].state == "REACHED"
        assert rigs.tip_error(rig, "Renamed B2", target) < 1e-3
        assert fk_of(rig) == fk

    @pytest.mark.parametrize("hide", ["disabled", "unlinked"])
    @pytest.mark.parametrize("then", ["move", "go", "show", "undo"])
    def test_rename_in_an_armature_that_is_not_shown_is_followed(self, hide, then):
        """Blender reports none of them."""
        make()
        rig, target = rig_and_target()
        rigs.add_constraint(rigs.make_chain(name="Other"), "B2", target)
        target.keyframe_insert("location", frame=1)
        if hide == "disabled":
            rig.hide_viewport = True
        else:
            bpy.context.scene.collection.objects.unlink(rig)
        rigs.update(bpy.data.objects["Other"])
        forget()
        rigs.go(2)
        step("hidden")
        for name in ("B1", "B2"):
            rig.data.bones[name].name = f"Renamed {name}"
        rigs.update()
        step("renamed")

        if then == "undo":
            bpy.ops.ed.undo()
            assert rig_and_target()[0].fabrik.constraints[0].bone == "B2"
            bpy.ops.ed.redo()
            rig, target = rig_and_target()
            assert rig.fabrik.constraints[0].bone == "Renamed B2"
        target.location.x = 0.5
        if then == "go":
            rigs.go(3)
        else:
            rigs.update()
            assert rig.fabrik.constraints[0].bone == "Renamed B2"
        rig.hide_viewport = False
        if hide == "unlinked":
            rigs.link(rig)
        target.location.x = 0.4
        rigs.update()

        assert rig.fabrik.constraints[0].bone == "Renamed B2"
        assert rig.fabrik.constraints[0].state == "REACHED"
        assert rigs.tip_error(rig, "Renamed B2", target) < 1e-3

    def test_full_copy_of_a_scene_with_a_disabled_armature(self):
        """Up to 4.5 Blender builds the pose of the copy only once it is shown."""
        make()
        rig, _ = rig_and_target()
        rig.hide_viewport = True
        rigs.update()
        bpy.ops.scene.new(type="FULL_COPY")
        rigs.update()
        copy = bpy.context.scene.collection.objects["Rig.001"]
        copy.data.bones["B2"].name = "Renamed"

        copy.hide_viewport = False
        rigs.update()

        item = copy.fabrik.constraints[0]
        assert (item.bone, item.state, item.message) == ("Renamed", "REACHED", "")
        assert rigs.tip_error(copy, "Renamed", item.target) < 1e-3

    @pytest.mark.parametrize("is_keyed", [False, True])
    def test_rename_of_target_and_pole_bones_is_followed(self, is_keyed):
        make()
        rig, _ = rig_and_target()
        other = rigs.make_chain(2, "Other", joints=((1, 0, 1), (1, 0, 2), (0, 1, 3)))
        item = rig.fabrik.constraints[0]
        item.target, item.subtarget = other, "B1"
        item.pole_target, item.pole_subtarget = other, "B0"
        if is_keyed:
            other.keyframe_insert("location", index=0, frame=1)
        rigs.update()
        assert item.state == "REACHED"
        pose = rigs.pose_bits(rig)

        other.data.bones["B1"].name = "Goal"
        other.data.bones["B0"].name = "Side"
        if is_keyed:
            other.keyframe_insert("location", index=1, frame=1)
            rigs.update()
            assert item.subtarget == "Goal"
        rigs.update(other)
        rigs.go(2)

        assert (item.subtarget, item.pole_subtarget) == ("Goal", "Side")
        assert item.state == "REACHED"
        assert rigs.pose_bits(rig) == pose

    @pytest.mark.parametrize("length", [2, 3, 4])
    @pytest.mark.parametrize("has_pins", [False, True])
    def test_renames_that_pass_names_on_are_followed(self, length, has_pins):
        """The first bone gets a new name, and each other one that of the bone before."""
        rig, names = rigs.make_chain(length), [f"B{i}" for i in range(length)]
        rigs.activate(rig)
        for name in names:
            if has_pins:
                assert bpy.ops.fabrik.pin(bone=name) == {"FINISHED"}
            rigs.add_constraint(rig, name, rigs.make_empty(f"For {name}"), chain_count=1, name=name)
        rigs.update()
        new_names = ["New", *names]
        for old, new in zip(names, new_names, strict=False):
            rig.data.bones[old].name = new
        rigs.update(rig)
        followed = [item.bone for item in rig.fabrik.constraints]
        assert followed == new_names[:length]
        assert [pin.bone for pin in rig.fabrik.pins] == (followed if has_pins else [])
        assert [bone.fabrik_name for bone in rig.pose.bones] == rig.pose.bones.keys()

    @pytest.mark.parametrize(
        "names", [{"B2": "Tip"}, {"B2": "Tip", "B0": "Root"}, {"B0": "Root"}, {"B2": None}]
    )
    def test_rename_is_followed_after_pasting_a_pose_flipped(self, names):
        """Pasting also copies what bones store of their names."""
        rig = rigs.make_armature(
            {
                "B0.L": ((1, 0, 0), (1, 0.05, 0.5), ""),
                "B2.L": ((1, 0.05, 0.5), (1, 0, 1), "B0.L"),
                "B0.R": ((-1, 0, 0), (-1, 0.05, 0.5), ""),
                "B2.R": ((-1, 0.05, 0.5), (-1, 0, 1), "B0.R"),
            }
        )
        for side in ("L", "R"):
            target = rigs.make_empty(f"Target.{side}", (1.3 if side == "L" else -1.3, 0.2, 0.6))
            rigs.add_constraint(rig, f"B2.{side}", target, name=side, chain_count=2)
        rigs.update()
        rigs.activate(rig, "POSE")
        for bone in rig.pose.bones:
            (bone if bpy.app.version >= (5, 0) else bone.bone).select = bone.name.endswith(".L")
        bpy.ops.pose.copy()
        bpy.ops.pose.paste(flipped=True)
        bpy.ops.object.mode_set(mode="EDIT")
        bones = rig.data.edit_bones
        for old, new in names.items():
            if new is None:
                bones.remove(bones[f"{old}.L"])
            else:
                bones[f"{old}.L"].name, bones[f"{old}.R"].name = f"{new}.L", f"{new}.R"
        bpy.ops.object.mode_set(mode="OBJECT")
        rigs.update()
        tip = names.get("B2", "B2") or "B2"
        assert [item.bone for item in rig.fabrik.constraints] == [f"{tip}.L", f"{tip}.R"]
        states = [item.state for item in rig.fabrik.constraints]
        assert states == ["INVALID" if None in names.values() else "REACHED", "REACHED"]

    @pytest.mark.parametrize("by", ["a pin", "a hidden control"])
    def test_a_stored_name_is_followed_after_pasting_a_pose_flipped(self, by):
        """Although its bone stores its name only since then."""
        rig = rigs.make_armature(
            {name: ((x, 0, 0), (x, 0, 1), "") for name, x in (("B.L", 1), ("B.R", -1), ("C", 0))}
        )
        rigs.add_constraint(rig, "C", rigs.make_empty("Target", (0, 1, 1)), chain_count=1)
        rigs.update()
        rigs.activate(rig, "POSE")
        for angle in (0.9, 0.8):
            rig.pose.bones["B.R"].rotation_quaternion.w = angle
            rigs.update()
        if by == "a pin":
            assert bpy.ops.fabrik.pin(bone="B.R") == {"FINISHED"}
        else:
            hide_switched(rig, [SwitchState("B.R", 1.0, {}, [])])
        for bone in rig.pose.bones:
            (bone if bpy.app.version >= (5, 0) else bone.bone).select = bone.name == "B.R"
        bpy.ops.pose.copy()
        bpy.ops.pose.paste(flipped=True)
        rigs.update()
        rig.data.bones["B.R"].name = "Tip.R"
        rigs.update()
        assert [bone.fabrik_name for bone in rig.pose.bones] == ["B.L", "B.R", "C"]

    def test_two_bones_that_swap_their_names_are_not_followed(self):
        """A name that is there is meant, whoever bears it now."""
        make()
        rig, _ = rig_and_target()
        rig.data.bones["B2"].name = "Aside"
        rig.data.bones["B1"].name = "B2"
        rig.data.bones["Aside"].name = "B1"
        rigs.update(rig)

        assert rig.fabrik.constraints[0].state in ("REACHED", "OUT_OF_REACH")

    def test_deleted_tip_is_said_and_the_rest_gets_its_pose_back(self):
        make()
        rig = self.edit(lambda bones: bones.remove(bones["B2"]))

        item = rig.fabrik.constraints[0]
        assert item.state == "INVALID"
        assert "B2" in item.message
        assert fk_turn(rig, "B1") == pytest.approx((0.8, 0.6, 0, 0))

    def test_deleted_bone_above_the_tip_shortens_the_chain(self):
        make()
        rig, target = rig_and_target()
        target.location = (0, 0.5, 2.5)
        rig = self.edit(lambda bones: bones.remove(bones["B0"]))

        assert solved()
        rig.fabrik.constraints[0].enabled = False
        rigs.update()
        assert fk_turn(rig, "B1") == pytest.approx((0.8, 0.6, 0, 0))

    def test_new_bone_in_between_lengthens_the_chain(self):
        make()

        def insert(bones):
            new = bones.new("New")
            new.head, new.tail = (0, 0, -1), (0, 0.1, 0)
            bones["B0"].parent = new

        rig = self.edit(insert)
        rig_and_target()[1].location = (1, 0, 2)
        rigs.update()

        assert solved()
        rig.fabrik.constraints[0].enabled = False
        rigs.update()
        assert fk_turn(rig, "B1") == pytest.approx((0.8, 0.6, 0, 0))

    def test_duplicated_bones_are_bones_of_their_own(self):
        fk = make()
        rig, _ = rig_and_target()
        duplicate_bones(rig)
        assert solved()
        twin = next(b for b in rig.pose.bones if b.name.startswith("B2."))

        rigs.add_constraint(rig, twin.name, rigs.make_empty("Other", (-1, 0, 2)))
        rigs.update()
        assert [item.state for item in rig.fabrik.constraints] == ["REACHED", "REACHED"]
        assert rigs.tip_error(rig, twin.name, bpy.data.objects["Other"]) < 1e-3

        rig.fabrik.constraints.clear()
        rigs.update(rig)
        # Blender gives duplicated bones no pose, so that it is this that comes back.
        turned = {b.name: fk_turn(rig, b.name) for b in rig.pose.bones if b.name[1] == "1"}
        assert sorted(turned.values()) == [pytest.approx((0.8, 0.6, 0, 0)), (1, 0, 0, 0)]
        assert rigs.pose_bits(rig)[: len(fk[0])] == fk[0]

    def test_copy_of_a_deleted_bone_is_not_taken_for_it(self):
        make()
        rig, _ = rig_and_target()
        duplicate_bones(rig)
        rig = self.edit(lambda bones: bones.remove(bones["B2"]))

        assert rig.fabrik.constraints[0].bone == "B2"
        assert rig.fabrik.constraints[0].state == "INVALID"

    def test_renamed_bone_is_followed_beside_its_copy(self):
        make()
        rig, _ = rig_and_target()
        duplicate_bones(rig)
        rig.data.bones["B2"].name = "Z"
        rigs.update()

        assert rig.fabrik.constraints[0].bone == "Z"


def by_operator(rig, linked=False):
    rigs.activate(rig)
    bpy.ops.object.duplicate(linked=linked)
    return bpy.context.view_layer.objects.active


def by_copy(rig):
    twin = rigs.link(rig.copy())
    twin.data = rig.data.copy()
    return twin


WAYS_TO_COPY = {
    "duplicate": by_operator,
    "duplicate linked": lambda rig: by_operator(rig, linked=True),
    "copy": by_copy,
    "copy of the object alone": lambda rig: rigs.link(rig.copy()),
}


class TestObjects:
    @pytest.mark.parametrize("way", WAYS_TO_COPY)
    def test_duplicated_armature_works_on_its_own(self, way):
        fk = make()
        rig, target = rig_and_target()
        pose = rigs.pose_bits(rig)

        twin = WAYS_TO_COPY[way](rig)
        rigs.update()
        assert twin != rig
        assert twin.fabrik.constraints[0].target == target
        assert rigs.pose_bits(twin) == pose

        twin.fabrik.constraints[0].target = rigs.make_empty("Other", (-1, 0.5, 2))
        twin.pose.bones["B0"].rotation_quaternion = (0.6, 0, 0.8, 0)
        rigs.update()
        rigs.go(4, 1)
        assert twin.fabrik.constraints[0].state == "REACHED"
        assert rigs.tip_error(twin, "B2", bpy.data.objects["Other"]) < 1e-3
        assert rigs.pose_bits(rig) == pose
        assert fk_of(rig) == fk
        twin.fabrik.constraints[0].enabled = False
        rigs.update()
        assert fk_turn(twin, "B0") == pytest.approx((0.6, 0, 0.8, 0))
        assert fk_turn(twin, "B1") == pytest.approx((0.8, 0.6, 0, 0))

    def test_duplicated_together_with_its_target(self):
        make()
        rig, target = rig_and_target()
        rigs.activate(rig)
        target.select_set(True)
        bpy.ops.object.duplicate()
        twin = bpy.context.view_layer.objects.active
        other = next(ob for ob in bpy.context.selected_objects if ob != twin)
        rigs.update()
        assert twin.fabrik.constraints[0].target == other

        other.location = (0, 1.5, 1)
        rigs.update()
        assert rigs.tip_error(twin, "B2", other) < 1e-3
        assert rigs.tip_error(rig, "B2", target) < 1e-3

    def test_renamed_target_and_armature_are_followed(self):
        make()
        rig, target = rig_and_target()
        rig.name, target.name, rig.data.name = "Robot", "Goal", "Robot data"
        rigs.update()
        target.location = (0, 1, 2)
        rigs.update()

        assert rig.fabrik.constraints[0].target == target
        assert rigs.tip_error(rig, "B2", target) < 1e-3

    @pytest.mark.parametrize("way", ["remove", "operator"])
    def test_deleted_target_is_said(self, way):
        fk = make()
        rig, target = rig_and_target()
        if way == "remove":
            bpy.data.objects.remove(target)
        else:
            rigs.activate(target)
            bpy.ops.object.delete()
            bpy.data.orphans_purge()
        rigs.update()
        rigs.go(2)

        item = rig.fabrik.constraints[0]
        if item.target is None:
            assert (item.state, "target" in item.message) == ("INVALID", True)
            assert (rigs.pose_bits(rig), rigs.channels_bits(rig)) == fk
        else:  # The operator only unlinks what the constraint still uses.
            assert way == "operator"
            assert item.state == "REACHED"

    @pytest.mark.parametrize("what", ["armature", "data", "target", "both"])
    def test_frame_right_after_deleting_finds_nothing_dead(self, what):
        """No update in between reports it."""
        make()
        rig, target = rig_and_target()
        other = rigs.make_chain(name="Other")
        rigs.add_constraint(other, "B2", target)
        rigs.go(3)
        gone = {"armature": [rig], "data": [rig.data], "target": [target], "both": [rig, target]}

        bpy.data.batch_remove(gone[what])
        rigs.go(4)

        state = "REACHED" if what in ("armature", "data") else "INVALID"
        assert other.fabrik.constraints[0].state == state

    def test_deleted_pole_leaves_the_target(self):
        make()
        rig, _ = rig_and_target()
        pole = rigs.make_empty("Pole", (0, 3, 1))
        rig.fabrik.constraints[0].pole_target = pole
        rigs.update()

        bpy.data.objects.remove(pole)
        rigs.update()
        rigs.go(2)

        assert solved()

    @pytest.mark.parametrize("deleted", ["armature", "data"])
    def test_deleted_armature_leaves_the_others(self, deleted):
        make()
        rig, target = rig_and_target()
        other = rigs.make_chain(2, "Other")
        rigs.add_constraint(other, "B1", target, chain_count=2)
        waiting = rigs.make_chain(2, "Waiting")
        rigs.add_constraint(waiting, "B1", rig, subtarget="B2")
        rigs.update()

        if deleted == "armature":
            bpy.data.objects.remove(rig)
        else:
            bpy.data.armatures.remove(rig.data)
        target.location = (0, 0.5, 1.5)
        rigs.update()
        rigs.go(4)

        assert rigs.tip_error(other, "B1", target) < 1e-3
        assert waiting.fabrik.constraints[0].state == "INVALID"
        assert waiting.fabrik.constraints[0].message

    def test_armature_data_is_exchanged(self):
        make()
        rig, target = rig_and_target()
        other = rigs.make_chain(
            3, "Other", joints=((0, 0, 0), (0, 0.3, 1.5), (0, 0, 2.5), (0, 0.1, 4))
        )
        rig.data = other.data
        rigs.update()
        rigs.go(3)
        assert solved()

        rig.data = rigs.make_chain(2, "Short").data
        rigs.update()
        rigs.go(4)
        assert rig.fabrik.constraints[0].state == "INVALID"
        assert "B2" in rig.fabrik.constraints[0].message
        assert target.location == Vector((1, 0, 2))

    def test_armature_in_no_scene_is_left_alone(self):
        make()
        rig, target = rig_and_target()
        bits = rigs.channels_bits(rig)
        assert bits != rigs.shown_bits(rig)
        bpy.context.scene.collection.objects.unlink(rig)
        target.location = (0, 1, 1)
        rigs.update()
        rigs.go(3)
        assert rigs.channels_bits(rig) == bits

        rigs.link(rig)
        rigs.update()
        assert solved()


class TestLibraries:
    def library(self, folder):
        fk = make()
        self.save_library(folder)
        return fk

    def save_library(self, folder):
        rig, target = rig_and_target()
        collection = bpy.data.collections.new("Character")
        bpy.context.scene.collection.children.link(collection)
        for ob in (rig, target):
            bpy.context.scene.collection.objects.unlink(ob)
            collection.objects.link(ob)
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library.blend"))
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def linked(self, folder, as_link=True):
        path = str(folder / "library.blend")
        with bpy.data.libraries.load(path, link=as_link) as (_, wanted):
            wanted.collections = ["Character"]
        return wanted.collections[0]

    def overridden(self, folder):
        """Return an override of the whole character, in the scene."""
        character = self.linked(folder)
        scene, layer = bpy.context.scene, bpy.context.view_layer
        scene.collection.children.link(character)
        made = character.override_hierarchy_create(scene, layer, do_fully_editable=True)
        if character.name in scene.collection.children:
            scene.collection.children.unlink(character)
        if made.name not in scene.collection.children:
            scene.collection.children.link(made)
        rigs.update()
        return next(ob for ob in made.all_objects if ob.type == "ARMATURE")

    def test_override_keeps_its_values(self, tmp_path):
        fk = self.library(tmp_path)
        rig = self.overridden(tmp_path)
        assert rig.override_library is not None
        other = rigs.make_empty("Shot target", (0, 1, 2))
        item = rig.fabrik.constraints[0]
        assert item.state == "REACHED"
        item.influence, item.iterations, item.target = 0.75, 33, other
        rig.pose.bones["B0"].rotation_quaternion = (0.6, 0, 0.8, 0)
        rigs.update()
        assert item.state == "REACHED"
        pose = rigs.pose_bits(rig)
        shot = tmp_path / "shot.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(shot))

        values = "(i.influence, i.iterations, i.target.name, i.state, i.message, pose_bits(rig))"
        find = """
        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        i = rig.fabrik.constraints[0]
        """
        there, _ = rigs.elsewhere(shot, find, values)
        assert there == (0.75, 33, "Shot target", "REACHED", "", pose)
        bpy.ops.wm.open_mainfile(filepath=str(shot))
        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        item = rig.fabrik.constraints[0]
        assert (item.influence, item.iterations, item.target.name) == (0.75, 33, "Shot target")
        assert (item.state, item.message) == ("REACHED", "")
        assert rigs.pose_bits(rig) == pose

        bpy.data.objects["Shot target"].location.x = 0.5
        item.influence = 1.0
        rigs.update()
        assert rigs.tip_error(rig, "B2", bpy.data.objects["Shot target"]) < 1e-3
        item.enabled = False
        rigs.update()
        turned = [fk_turn(rig, bone.name) for bone in rig.pose.bones]
        assert turned[0] == pytest.approx((0.6, 0, 0.8, 0))
        assert turned[1] == pytest.approx((0.8, 0.6, 0, 0))
        assert len(rigs.pose_bits(rig)) == len(fk[0])

    def test_override_keeps_the_values_of_each_of_several_constraints(self, tmp_path):
        """Blender distinguishes them by their names, which a script need not have given."""
        make()
        for bone in ("B1", "B0"):
            rigs.add_constraint(bpy.data.objects["Rig"], bone, bpy.data.objects["Target"])
        rigs.update()
        self.save_library(tmp_path)
        rig = self.overridden(tmp_path)
        given = [(0.1 * i, 10 + i) for i in range(3)]
        for item, values in zip(rig.fabrik.constraints, given, strict=True):
            item.influence, item.iterations = values
        rigs.update()
        reopen()
        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        kept = [(item.influence, item.iterations) for item in rig.fabrik.constraints]
        assert kept == [(pytest.approx(influence), count) for influence, count in given]

    def test_override_keeps_settings_of_groups_that_its_library_does_not_store(self, tmp_path):
        """Whoever made the library had never touched feet on the ground, nor simulated."""
        self.library(tmp_path)
        self.change_groups(self.overridden(tmp_path))
        for _ in range(2):
            reopen()
            rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
            assert self.groups_changed(rig) == [0.25, 5, False, 0.3, True]

        rig.fabrik.constraints[0].ground.offset = 0.5
        rigs.update()
        rig.override_library.reference.library.reload()
        rigs.update()
        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        assert self.groups_changed(rig)[:4] == [0.5, 5, False, 0.3]

    def change_groups(self, rig):
        item, fabrik = rig.fabrik.constraints[0], rig.fabrik
        item.ground.offset = 0.25
        fabrik.simulation.frame_end, fabrik.simulation.use_auto = 5, False
        fabrik.whole_body.clavicle = 0.3
        item.target.fabrik.is_control = True

    def groups_changed(self, rig):
        item, fabrik = rig.fabrik.constraints[0], rig.fabrik
        return [
            item.ground.offset,
            fabrik.simulation.frame_end,
            fabrik.simulation.use_auto,
            pytest.approx(fabrik.whole_body.clavicle),
            item.target.fabrik.is_control,
        ]

    def keyed_shot(self, folder):
        """Save a shot that keys “Elbow”, the first of two constraints, and drives “Tip”."""
        make()
        rig = bpy.data.objects["Rig"]
        rig.fabrik.constraints[0].name = "Tip"
        rigs.add_constraint(rig, "B1", bpy.data.objects["Target"], name="Elbow")
        rig.fabrik.constraints.move(1, 0)
        rigs.update()
        self.save_library(folder)
        rig = self.overridden(folder)
        rigs.key(rig.fabrik.constraints["Elbow"], "influence", {1: 0.25, 11: 0.75})
        driver = rig.fabrik.constraints["Tip"].driver_add("softness").driver
        driver.expression = "0.125"
        rigs.go(1)
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
        return rig

    def change_library(self, folder, change):
        """Change its constraints in another process."""
        path = str(folder / "library.blend")
        steps = f"""
        items = bpy.data.objects["Rig"].fabrik.constraints
        {change}
        update()
        bpy.ops.wm.save_as_mainfile(filepath={path!r})
        """
        rigs.elsewhere(folder / "library.blend", steps, "0")

    def reopened(self, folder, is_live):
        if is_live:
            [library.reload() for library in bpy.data.libraries]
            rigs.update()
        else:
            bpy.ops.wm.open_mainfile(filepath=str(folder / "shot.blend"))
        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        found = []
        for frame in (1, 11):
            rigs.go(frame)
            found.append({i.name: (i.influence, i.softness) for i in rig.fabrik.constraints})
        return rig, found

    @pytest.mark.parametrize("is_live", [False, True], ids=["reopened", "reloaded"])
    @pytest.mark.parametrize(
        ("change", "keyed"),
        [
            ("items.move(1, 0)", "Elbow"),
            ("items['Elbow'].name = 'Bend'; items.move(1, 0)", "Bend"),
            ("i = items.add(); i.name, i.bone = 'New', 'B0'; items.move(2, 0)", "Elbow"),
            ("items.remove(0)", None),
        ],
        ids=["moved", "renamed and moved", "added first", "removed"],
    )
    def test_keys_of_a_shot_stay_with_their_constraint(self, change, keyed, is_live, tmp_path):
        self.keyed_shot(tmp_path)
        self.change_library(tmp_path, change)
        rig, found = self.reopened(tmp_path, is_live)
        for values, influence in zip(found, (0.25, 0.75), strict=True):
            assert values.pop("Tip") == (1.0, 0.125)
            if keyed:
                assert values.pop(keyed)[0] == influence
            assert all(value[0] == 1.0 for value in values.values())
        assert shot_keys.lost(rig) == ([] if keyed else ["Elbow"])

    @pytest.mark.parametrize("is_live", [False, True], ids=["reopened", "reloaded"])
    @pytest.mark.parametrize(
        "change",
        [
            "items['Tip'].name, items['Elbow'].name = 'Elbow', 'Bend'; items.move(1, 0)",
            "items.clear(); i = items.add(); i.name, i.bone, i.target = 'New', 'B2', target; "
            "i.pole_target = i.ground.object = target; "
            "h = fabrik.holds.add(); h.name, h.prop = 'Cup', target; "
            "by = h.holders.add(); by.name, by.object = 'Hand', target",
        ],
    )
    def test_what_a_library_renames_or_adds_points_to_the_shot_at_once(
        self, change, is_live, tmp_path
    ):
        """A render farm opens the shot once."""
        self.keyed_shot(tmp_path)
        path = tmp_path / "shot.blend"
        target = next(ob for ob in bpy.data.objects if ob.override_library and not ob.pose)
        target.location = (0.4, 0.7, 1.1)
        bpy.ops.wm.save_mainfile()
        objects = "rig, target = (bpy.data.objects[name] for name in ('Rig', 'Target'))"
        self.change_library(tmp_path, f"{objects}; fabrik = rig.fabrik; {change}")
        rig, _ = self.reopened(tmp_path, is_live)
        items, holds = rig.fabrik.constraints, rig.fabrik.holds
        used = [ob for item in items for ob in (item.target, item.pole_target, item.ground.object)]
        used += [ob for hold in holds for ob in (hold.prop, *[by.object for by in hold.holders])]
        assert {ob.library for ob in used if ob is not None} == {None}
        assert rig.fabrik.constraints[-1].target.location == Vector((0.4, 0.7, 1.1))
        seen = rigs.pose_bits(rig)
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        rig, _ = self.reopened(tmp_path, is_live=False)
        assert rigs.pose_bits(rig) == seen

    def test_what_a_library_renames_points_to_the_character_that_it_belongs_to(self, tmp_path):
        self.library(tmp_path)
        for _ in range(2):
            self.overridden(tmp_path)
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
        self.change_library(tmp_path, "items[0].name = 'Bend'")
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
        armatures = [ob for ob in bpy.data.objects if ob.override_library and ob.pose]
        targets = [rig.fabrik.constraints["Bend"].target for rig in armatures]
        assert len(armatures) == len({*targets}) == 2
        roots = [ob.override_library.hierarchy_root for ob in (*armatures, *targets)]
        assert roots[:2] == roots[2:]

    def test_a_render_beside_a_window_moves_no_keys_of_a_shot(self, tmp_path, monkeypatch):
        """Its thread calls the handlers while the window reads the actions."""
        self.keyed_shot(tmp_path)
        self.change_library(tmp_path, "items.move(1, 0)")
        monkeypatch.setattr(handlers, "_is_rendering_beside", lambda: True)
        rig, _ = self.reopened(tmp_path, is_live=True)
        assert [curve.data_path for curve in rigs.curves(rig)] == [
            "fabrik.constraints[0].influence"
        ]
        monkeypatch.setattr(handlers, "_is_rendering_beside", lambda: False)
        rigs.go(5)
        assert [curve.data_path for curve in rigs.curves(rig)] == [
            "fabrik.constraints[1].influence"
        ]

    @pytest.mark.parametrize("is_live", [False, True], ids=["reopened", "reloaded"])
    def test_keys_of_a_shot_act_again_once_their_constraint_is_back(self, is_live, tmp_path):
        self.keyed_shot(tmp_path)
        self.change_library(tmp_path, "items.remove(0)")
        self.reopened(tmp_path, is_live)
        bpy.ops.wm.save_mainfile()
        self.change_library(tmp_path, "i = items.add(); i.name, i.bone = 'Elbow', 'B1'")
        rig, found = self.reopened(tmp_path, is_live)
        assert [values["Elbow"][0] for values in found] == [0.25, 0.75]
        assert [values["Tip"] for values in found] == [(1.0, 0.125)] * 2
        assert shot_keys.lost(rig) == []

    def test_keys_that_were_not_saved_stay_with_their_constraint(self, tmp_path):
        rig = self.keyed_shot(tmp_path)
        tip = rig.fabrik.constraints["Tip"]
        rigs.key(tip, "stretch_max", {1: 2.0})
        rigs.update()
        self.change_library(tmp_path, "items.remove(0)")
        rig, _ = self.reopened(tmp_path, is_live=True)
        paths = {curve.data_path for curve in rigs.curves(rig) if "stretch_max" in curve.data_path}
        assert paths == {"fabrik.constraints[0].stretch_max"}

    def test_keys_of_constraints_that_a_shot_adds_and_moves_stay_with_them(self, tmp_path):
        rig = self.keyed_shot(tmp_path)
        for name in ("One", "Two"):
            rigs.add_constraint(rig, "B0", rigs.make_empty(name), name=name, influence=0.5)
        rigs.update()
        rig.fabrik.constraints["Two"].keyframe_insert("influence", frame=1)
        rigs.update()
        rigs.activate(rig)
        rig.fabrik.active_index = 2
        assert bpy.ops.fabrik.constraint_remove(keep_controls=True) == {"FINISHED"}
        bpy.ops.wm.save_mainfile()
        self.change_library(tmp_path, "items.remove(0)")
        rig, found = self.reopened(tmp_path, is_live=False)
        assert [*found[0]] == ["Tip", "Two"]
        assert "fabrik.constraints[1].influence" in {curve.data_path for curve in rigs.curves(rig)}
        assert found[0]["Two"][0] == 0.5

    def test_undo_keeps_the_keys_of_a_shot_with_their_constraint(self, tmp_path):
        self.keyed_shot(tmp_path)
        self.change_library(tmp_path, "items.move(1, 0)")
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
        bpy.ops.ed.undo_push(message="opened")
        bpy.data.objects["Target"].location.x += 0.25
        bpy.ops.ed.undo_push(message="moved")
        bpy.ops.ed.undo()
        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        rigs.go(11)
        items = rig.fabrik.constraints
        assert (items["Elbow"].influence, items["Tip"].influence) == (0.75, 1.0)
        assert items["Tip"].softness == 0.125

    @pytest.mark.parametrize("add", ["constraint_add", "look_add", "pole_add"])
    def test_what_is_added_to_an_override_has_its_controls_beside_it(self, add, tmp_path, capfd):
        """They cannot be in its collection, which Blender lets nothing be linked to."""
        self.library(tmp_path)
        rig = self.overridden(tmp_path)
        rigs.activate(rig, "POSE")
        rig.data.bones.active = rig.data.bones["B2"]
        known = {*bpy.data.objects}

        assert getattr(bpy.ops.fabrik, add)() == {"FINISHED"}

        added = {*bpy.data.objects} - known
        assert added
        assert all({*ob.users_collection} == {bpy.context.scene.collection} for ob in added)
        assert "Traceback" not in capfd.readouterr().err

    def test_override_keeps_each_item_of_the_lists_within_its_lists(self, tmp_path):
        """Of items with the same name, or none, it keeps one."""
        rig = rigs.make_armature(
            {
                "Arm": ((0, 0, 0), (0, 0.1, 1), ""),
                "Hand": ((0, 0.1, 1), (0, 0, 2), "Arm"),
                "Control": ((0, 0, 2), (0, 0, 3), ""),
            }
        )
        rigs.add_constraint(rig, "Hand", rig, subtarget="Control", name="Arm")
        rigs.make_empty()
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.fabrik.hold(constraint="Arm", holder="Target")
        bpy.ops.object.mode_set(mode="OBJECT")
        self.save_library(tmp_path)
        rig = self.overridden(tmp_path)
        rig.animation_data.action = rig.animation_data.action.copy()
        rigs.activate(rig, "POSE")
        for frame, name in ((5, "Cup"), (9, "Tray"), (13, "Table")):
            rigs.make_empty(name)
            rigs.go(frame)
            bpy.ops.fabrik.hold(constraint="Arm", holder=name)
        for bone in rig.data.bones:
            rig.data.bones.active = bone
            bpy.ops.fabrik.character_part_add()
        reopen()

        rig = next(ob for ob in bpy.data.objects if ob.override_library and ob.pose)
        holders = [holder.object.name for holder in rig.fabrik.holds[0].holders]
        assert holders == ["Target", "Cup", "Tray", "Table"]
        assert [part.bone for part in rig.fabrik.character.parts] == ["Arm", "Hand", "Control"]

    def test_opening_a_file_with_a_held_bone_over_one_like_it_is_silent(self, tmp_path, capfd):
        """Blender compares an override with its library, and reads the state, before it reports."""
        make()
        rig, _ = rig_and_target()
        rigs.activate(rig, "POSE")
        bpy.ops.fabrik.hold(constraint=rig.fabrik.constraints[0].name)
        bpy.ops.object.mode_set(mode="OBJECT")
        self.save_library(tmp_path)
        self.overridden(tmp_path)
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
        capfd.readouterr()

        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))

        told = capfd.readouterr()
        assert "Traceback" not in told.out + told.err

    def test_armature_appended_without_its_collection_brings_its_target(self, tmp_path):
        self.library(tmp_path)
        path = str(tmp_path / "library.blend")
        with bpy.data.libraries.load(path) as (_, wanted):
            wanted.objects = ["Rig"]
        rigs.link(wanted.objects[0])
        rigs.update()
        _, target = rig_and_target()
        assert target.users > 0
        target.location = (0, 1, 2)
        rigs.update()

        assert solved()


MOVING = ["LOOK_AT", "ROPE", "FOLLOW", "WAVE", "SPRING"]


def test_public_names_and_defaults():
    rig = rigs.make_armature({"Bone": ((0, 0, 0), (0, 0, 1), "")})
    item = rig.fabrik.constraints.add()

    assert rig.fabrik.active_index == 0
    expected = {
        "enabled": True,
        "influence": 1.0,
        "solver": "FABRIK",
        "bone": "",
        "chain_count": 0,
        "use_tail": True,
        "target": None,
        "subtarget": "",
        "pole_target": None,
        "pole_subtarget": "",
        "pole_angle": 0.0,
        "pole_weight": 1.0,
        "softness": 0.0,
        "swing": 0.0,
        "use_rotation": False,
        "rotation_weight": 1.0,
        "twist_spread": 0.0,
        "use_offset": False,
        "use_stretch": False,
        "stretch_max": 1.5,
        "use_volume": False,
        "chain_bias": 0.0,
        "weight": 1.0,
        "use_free_root": False,
        "use_continuous": False,
        "root_weight": 1.0,
        "iterations": 20,
        "tolerance": pytest.approx(1e-4),
        "show_overlay": True,
    }
    assert {name: getattr(item, name) for name in expected} == expected
    assert isinstance(item.name, str)
    solvers = item.bl_rna.properties["solver"].enum_items.keys()
    assert solvers == ["FABRIK", "TWO_BONE", "CCD", "TEXTBOOK", *MOVING]
    states = {"REACHED", "OUT_OF_REACH", "LIMITED", "INVALID", "DISABLED"}
    assert set(item.bl_rna.properties["state"].enum_items.keys()) == states
    assert (item.error, item.iterations_used, item.message) == (0.0, 0, "")


@pytest.mark.parametrize(
    "name", ["bone", "chain_count", "use_tail", "show_overlay", "state", "error", "message"]
)
def test_other_settings_cannot(name):
    make()
    rig, _ = rig_and_target()
    with pytest.raises((TypeError, RuntimeError)):
        rig.keyframe_insert(f"fabrik.constraints[0].{name}", frame=1)


def test_driver_outlives_the_dependency_that_came_before_it():
    """Blender looks for drivers by their place in the list, in a copy of its own."""
    rig, target = rigs.make_chain(), rigs.make_empty()
    rig.pose.bones["B2"].keyframe_insert("rotation_quaternion", frame=1)
    rigs.add_constraint(rig, "B1", target)
    rigs.update()
    rigs.drive(rig.driver_add('pose.bones["B2"].rotation_quaternion', 2), target, "location.x")
    rigs.update()
    rig.fabrik.constraints.clear()
    reopen()
    rig = bpy.data.objects["Rig"]
    assert [curve.data_path for curve in rig.animation_data.drivers] == [
        'pose.bones["B2"].rotation_quaternion'
    ]
    rigs.go(9)
    assert rig.pose.bones["B2"].rotation_quaternion[2] == 1.0
    bpy.data.objects["Target"].location.x = -0.5
    rigs.update()
    assert rig.pose.bones["B2"].rotation_quaternion[2] == -0.5
