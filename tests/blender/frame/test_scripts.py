"""What scripts do behind the interface's back is noticed, and what they get wrong is contained."""

from pathlib import Path

import bpy
import pytest
import rigs
from kept_files import new_file, reopen

from addon.blender import errors as faults
from addon.frame import update as frame_update
from addon.frame.early import write_early


def keyed_target(name: str = "Target") -> bpy.types.Object:
    target = rigs.make_empty(name, (0.4, 0.9, 1.5))
    target.keyframe_insert("location", frame=1)
    rigs.key(target, "location", {20: (-0.3, 0.8, 1.9)})
    return target


def test_removing_a_constraint_of_a_still_armature_is_noticed_at_the_next_frame():
    rig = rigs.make_chain(3)
    rigs.update()
    before = rigs.channels_bits(rig)
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)))
    rigs.update()
    assert rigs.channels_bits(rig) == before != rigs.shown_bits(rig)

    rig.fabrik.constraints.remove(0)
    rigs.go(2)

    assert rigs.channels_bits(rig) == before == rigs.shown_bits(rig)


def test_removing_a_constraint_before_saving_is_noticed_after_loading():
    rig = rigs.make_chain(3)
    rigs.update()
    before = rigs.channels_bits(rig)
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)))
    rigs.update()
    rig.fabrik.constraints.remove(0)
    reopen()

    rig = bpy.data.objects["Rig"]
    assert rigs.channels_bits(rig) == before == rigs.shown_bits(rig)
    assert not (rig.animation_data and rig.animation_data.drivers)


def test_resetting_an_override_takes_a_constraint_of_the_shot_with_its_keys(tmp_path, monkeypatch):
    rig, target = rigs.make_chain(5), keyed_target()
    rigs.add_constraint(rig, "B2", target, name="Own")
    library = str(tmp_path / "library.blend")
    bpy.data.libraries.write(library, {rig, target})
    new_file()
    with bpy.data.libraries.load(library, link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    rig = rigs.link(wanted.objects[0].override_create())
    rigs.update()
    second = rigs.make_empty("Second", (0.5, 0.5, 3))
    item = rigs.add_constraint(rig, "B4", second, name="Shot", chain_count=1, solver="LOOK_AT")
    item.keyframe_insert("influence", frame=1)
    rigs.go(5)
    assert [one.state for one in rig.fabrik.constraints] == ["REACHED", "REACHED"]
    rig.override_library.operations_update()
    faults.forget_reported()
    kept: list[object] = []

    def noted(runs, early, uid, *others):
        kept.extend(runs.plan.rigs[uid]._columns)
        write_early(runs, early, uid, *others)

    # Blender has made the bones anew: to write to the old ones may crash it.
    monkeypatch.setattr(frame_update, "write_early", noted)
    rig.override_library.reset()
    rigs.update()

    assert not faults._reported and not kept
    assert [(one.name, one.state) for one in rig.fabrik.constraints] == [("Own", "REACHED")]
    assert rigs.tip_error(rig, "B2", rig.fabrik.constraints[0].target) < 1e-4


def test_moving_constraints_of_one_name_in_the_list_is_noticed():
    rig = rigs.make_chain(4)
    far = rigs.add_constraint(rig, "B3", keyed_target("Far"), iterations=500)
    far.name = "Same"
    near = rigs.add_constraint(rig, "B3", keyed_target("Near"), chain_count=2, iterations=500)
    near.name = "Same"
    bpy.data.objects["Near"].location = (0.2, 1.0, 2.0)
    rigs.go(5)

    rig.fabrik.constraints.move(0, 1)
    rigs.go(6)

    last = rig.fabrik.constraints[1]
    assert last.target.name == "Far"
    assert rigs.tip_error(rig, "B3", last.target) < 1e-3


def test_a_chain_under_another_one_that_poses_its_bones_is_solved_with_it():
    rig = rigs.make_chain(4)
    first = rigs.add_constraint(rig, "B3", rigs.make_empty("A", (0.4, 1.2, 2.0)))
    second = rigs.add_constraint(rig, "B1", rigs.make_empty("B", (0.6, 0.8, 1.0)))
    rigs.update()
    for item, bone in ((first, "B3"), (second, "B1")):
        assert (item.state, item.message) == ("REACHED", "")
        assert rigs.tip_error(rig, bone, item.target) < 1e-5


@pytest.mark.parametrize(
    "field",
    [
        "influence",
        "tolerance",
        "pole_angle",
        "pole_weight",
        "softness",
        "swing",
        "rotation_weight",
        "twist_spread",
        "stretch_max",
        "chain_bias",
        "weight",
        "root_weight",
    ],
)
def test_a_setting_that_is_not_a_number_costs_nothing(field):
    rig = rigs.make_chain(3)
    rigs.update()
    before = rigs.channels_bits(rig)
    item = rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)))
    rigs.update()
    solved = rigs.shown_bits(rig)
    assert rigs.channels_bits(rig) == before != solved
    value = getattr(item, field)

    setattr(item, field, float("nan"))
    rigs.update()
    if item.state == "INVALID":  # Blender may have refused the number.
        assert "is invalid" in item.message
        assert rigs.channels_bits(rig) == before == rigs.shown_bits(rig)

    setattr(item, field, value)
    rigs.update()
    assert rigs.shown_bits(rig) == solved
    item.enabled = False
    rigs.update()
    assert rigs.channels_bits(rig) == before == rigs.shown_bits(rig)


def test_a_chain_may_hang_on_one_of_more_bones_than_python_allows_calls():
    count = 1100
    bones = {
        f"B{i}": ((0, 0, 0.01 * i), (0, 0.001, 0.01 * (i + 1)), f"B{i - 1}" if i else "")
        for i in range(count)
    }
    long = rigs.make_armature(bones, "Long")
    rigs.add_constraint(long, f"B{count - 1}", rigs.make_empty("Lead", (1, 2, 8)), iterations=3)
    hook = rigs.make_empty("Hook", (0, 0.3, 0))
    hook.parent, hook.parent_type, hook.parent_bone = long, "BONE", f"B{count - 1}"
    rig = rigs.make_chain(3, "Short")
    rig.location = (1, 2, 6)
    item = rigs.add_constraint(rig, "B2", hook, iterations=100)
    rigs.update()

    assert item.state in ("REACHED", "OUT_OF_REACH")
    assert abs(rigs.tip_error(rig, "B2", hook) - item.error) < 1e-3


def test_a_second_scene_is_solved_whichever_way_it_is_first_evaluated():
    rig = rigs.make_chain(3)
    item = rigs.add_constraint(rig, "B2", keyed_target())
    first = bpy.context.scene
    second = bpy.data.scenes.new("Second")
    for ob in list(first.collection.objects):
        first.collection.objects.unlink(ob)
        second.collection.objects.link(ob)
    second.view_layers[0].update()
    second.frame_set(7)

    assert item.state == "REACHED"
    depsgraph = second.view_layers[0].depsgraph
    posed, target = rig.evaluated_get(depsgraph), item.target.evaluated_get(depsgraph)
    tip = posed.matrix_world @ posed.pose.bones["B2"].tail
    assert (tip - target.matrix_world.translation).length < 1e-3


@pytest.mark.parametrize("lists", ["gaits", "legs"])
def test_a_walk_or_leg_that_a_script_removes_is_noticed(lists: str):
    rig = rigs.make_chain(3)
    for bone in ("B2", "B0"):
        target = rigs.make_empty(location=(0.4, 0.9, 1.5))
        rigs.add_constraint(rig, bone, target, name=bone, chain_count=1)
    rigs.update()
    before = rigs.shown_bits(rig)
    gait = rig.fabrik.gaits.add()
    gait.name = "Walk"
    for item in rig.fabrik.constraints:
        gait.legs.add().constraint = item.name
    rigs.update()
    said = [item.message for item in rig.fabrik.constraints]
    assert all("aren't simulated" in message for message in said), said

    (rig.fabrik.gaits if lists == "gaits" else gait.legs).clear()
    rigs.update(rig)

    assert not faults._reported
    assert not any("simulated" in item.message for item in rig.fabrik.constraints)
    assert rigs.shown_bits(rig) == before


def clear(copy: bpy.types.Object) -> None:
    copy.fabrik.constraints.clear()


def look_elsewhere(copy: bpy.types.Object) -> None:
    rigs.update()
    copy.fabrik.constraints[0].target = rigs.make_empty("Elsewhere")


def name_bone(copy: bpy.types.Object) -> None:
    rigs.update()
    copy.fabrik.constraints[0].subtarget = "Nobody"


@pytest.mark.parametrize("change", [clear, look_elsewhere, name_bone])
def test_what_a_copy_depends_on_leaves_the_rig_solved_beside_another_view_layer(change):
    """It is called while a frame is evaluated for that layer, and has the relations built again."""
    rig = rigs.make_chain(3)
    bpy.context.scene.view_layers.new("Second")
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)))
    rigs.update()
    given, solved = rigs.channels_bits(rig), rigs.shown_bits(rig)
    copy = rig.copy()
    bpy.context.scene.collection.objects.link(copy)
    change(copy)
    for show in (rigs.update, rigs.update, lambda: rigs.go(1), rigs.update, lambda: rigs.go(2)):
        show()
        assert rigs.shown_bits(rig) == solved
        assert rigs.channels_bits(rig) == given


def reverse(copy: bpy.types.Object) -> None:
    copy.fabrik.constraints.move(1, 0)


def remove_one(copy: bpy.types.Object) -> None:
    copy.fabrik.constraints.remove(0)


@pytest.mark.parametrize("change", [clear, reverse, remove_one])
def test_what_a_copy_depends_on_leaves_the_rig_solved_at_a_frame_that_only_moves_the_copy(change):
    """It is called at the next frame, and Blender evaluates all users of its armature data."""
    rig = rigs.make_chain(3)
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)), solver="ROPE")
    rigs.add_constraint(rig, "B0", rigs.make_empty(location=(0.9, 0.1, 0.5)), chain_count=1)
    copy = rig.copy()
    bpy.context.scene.collection.objects.link(copy)
    rigs.update()
    rigs.go(1)
    given, solved = rigs.channels_bits(rig), rigs.shown_bits(rig)
    change(copy)
    copy.update_tag()
    for show in (rigs.update, lambda: rigs.go(1), rigs.update, lambda: rigs.go(2)):
        show()
        assert rigs.shown_bits(rig) == solved != given
        assert rigs.channels_bits(rig) == given


def test_an_armature_is_solved_that_only_an_instance_of_its_collection_shows():
    rig = rigs.make_chain(3)
    target = keyed_target()
    rigs.add_constraint(rig, "B2", target)
    wanted = {}
    for frame in (1, 8):
        rigs.go(frame)
        wanted[frame] = rigs.shown_bits(rig)
    collection = bpy.data.collections.new("Collection")
    collection.objects.link(rig)
    bpy.context.scene.collection.objects.unlink(rig)
    empty = rigs.make_empty("Instance", (3.0, 0.0, 0.0))
    empty.instance_type, empty.instance_collection = "COLLECTION", collection
    rigs.update()
    assert rigs.shown_bits(rig) == wanted[8]
    for frame in (1, 8):
        rigs.go(frame)
        assert rigs.shown_bits(rig) == wanted[frame]
    target.animation_data_clear()
    target.location = (0.5, 0.5, 1.5)
    rigs.update()
    assert rigs.tip_error(rig, "B2", target) < 1e-3


def test_a_bake_by_blender_gives_the_same_motion():
    rig = rigs.make_chain(3)
    rigs.add_constraint(rig, "B2", keyed_target())
    live = {}
    for frame in range(1, 21):
        rigs.go(frame)
        live[frame] = [bone.matrix.copy() for bone in rig.pose.bones]
    rigs.activate(rig, "POSE")
    bpy.ops.pose.select_all(action="SELECT")
    bpy.ops.nla.bake(
        frame_start=1, frame_end=20, visual_keying=True, only_selected=True, bake_types={"POSE"}
    )
    rig.fabrik.constraints[0].enabled = False
    for frame, matrices in live.items():
        rigs.go(frame)
        for bone, matrix in zip(rig.pose.bones, matrices, strict=True):
            difference = max(abs(x) for row in bone.matrix - matrix for x in row)
            assert difference < 1e-5


def test_removing_a_constraint_is_noticed_as_another_scene_shows_its_armature_first():
    rig, other = rigs.make_chain(3), rigs.make_chain(3, "Other")
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)))
    target = rigs.make_empty("Another", (0.4, 0.9, 1.5))
    rigs.add_constraint(other, "B2", target)
    rigs.update()
    bpy.ops.scene.new(type="LINK_COPY")
    rig.fabrik.constraints.remove(0)
    target.location.x = 0.6
    rigs.update()
    assert not faults._reported
    assert rigs.channels_bits(rig) == rigs.shown_bits(rig)
    assert rigs.tip_error(other, "B2", target) < 1e-4


SWITCHED = """
    bpy.ops.scene.new(type="FULL_COPY")
    second = bpy.context.scene
    objects = bpy.data.objects
    objects.remove(objects["Left.001"])
    bpy.context.window.scene = bpy.data.scenes["Scene"]
    add_constraint(objects["Other.001"], "B2", objects["Left"])
    bpy.context.window.scene = second
    rig = objects["Other.001"]
    variables = rig.animation_data.drivers[0].driver.variables
"""


def test_what_a_constraint_depends_on_is_declared_after_its_scene_is_switched_to(tmp_path: Path):
    """Blender 4.2 crashes where it is declared before, as an object has been removed there."""
    bpy.context.scene.name = "Scene"
    for name, target in (("Rig", "Left"), ("Other", "Right")):
        rigs.add_constraint(
            rigs.make_chain(3, name), "B2", rigs.make_empty(target, (0.4, 0.9, 1.5))
        )
    rigs.update()
    blend = tmp_path / "scenes.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    answer, printed = rigs.elsewhere(
        blend, SWITCHED, "[variable.targets[0].id.name for variable in variables]"
    )
    assert answer == ["Right.001", "Left"]
    assert "could not" not in printed
