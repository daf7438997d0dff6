"""Dragging bones: the target of a chain follows, a chain without one is posed in FK."""

from collections.abc import Callable
from math import pi, radians
from pathlib import Path

import bpy
import pytest
import rigs
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector
from operating import refuses, select_bone, select_bones

from addon.blender.errors import ProblemError
from addon.features.drag import drag
from addon.features.drag.chain import ChainDrag
from addon.features.drag.displacement import (
    Lock,
    Typed,
    locked,
    on_grid,
    pressed,
    projected,
    stepped,
)
from addon.features.drag.picking import hand_meant
from addon.features.drag.selection import PoseSelection
from addon.features.drag.snapping import seen_point
from addon.features.drag.target import TargetDrag

WAY = Vector((0.3, -0.4, -0.5))
WORLD = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY")


def pose_mode(rig: bpy.types.Object) -> None:
    rigs.update()
    rigs.activate(rig, "POSE")


def awkward(ob: bpy.types.Object) -> None:
    """Put an object where arithmetic gets hard."""
    ob.location, ob.rotation_euler, ob.scale = (3, -2, 1), (0.4, 1.0, -2.0), (1.0, 2.0, -0.5)


def reaching(count: int = 3, **settings: object) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a chain that reaches an Empty, in Pose Mode."""
    rig, target = rigs.make_chain(count), rigs.make_empty(location=(1, 0.3, 1.5))
    rigs.add_constraint(rig, f"B{count - 1}", target, **settings)
    pose_mode(rig)
    return rig, target


def drag_by(rig: bpy.types.Object, bone: str, way: Vector = WAY) -> None:
    assert bpy.ops.fabrik.drag(armature=rig.name, bone=bone, value=way) == {"FINISHED"}
    rigs.update()


def auto_key() -> None:
    """Turn auto keying on, of whatever is moved: in some versions it is of what has keys."""
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False


def file_state() -> list[object]:
    """Return everything that a cancelled drag must give back."""
    state: list[object] = [rigs.everything_bits()]
    for ob in sorted(bpy.data.objects, key=lambda ob: ob.name):
        state += [ob.name, ob.location[:], ob.select_get(), sorted(ob.keys())]
        state += [(c.data_path, c.array_index, keys_of(c)) for c in rigs.curves(ob)]
        if ob.type == "ARMATURE":
            state += [rigs.channels_bits(ob), rigs.shown_bits(ob), ob.fabrik.active_index]
            state += [(item.name, item.state, item.error) for item in ob.fabrik.constraints]
            state += [(b.name, b.fabrik_name) for b in ob.pose.bones]
    return state


def keys_of(curve: bpy.types.FCurve) -> list[tuple[float, ...]]:
    return [point.co[:] for point in curve.keyframe_points]


# The target of a constraint


def test_the_target_moves_as_the_bone_is_dragged_and_the_tip_with_it() -> None:
    rig, target = reaching()
    before = rigs.world_location(target)
    drag_by(rig, "B1")
    assert (rigs.world_location(target) - before - WAY).length < 1e-6
    assert rigs.tip_error(rig, "B2", target) < 1e-3


@pytest.mark.rows("how")
@pytest.mark.parametrize("how", ["parent", "CHILD_OF"])
def test_a_target_that_hangs_on_anything_moves_in_world_space(how: str) -> None:
    rig, target = reaching()
    parent = rigs.make_empty("Parent")
    awkward(parent)
    if how == "parent":
        target.parent = parent
        target.matrix_parent_inverse = Matrix.Rotation(0.7, 4, "X") @ Matrix.Scale(1.7, 4)
        awkward(target)
        target.delta_location = (0.1, 0.2, 0.3)
    else:
        target.constraints.new(how).target = parent
    rigs.update()
    before = rigs.world_location(target)
    drag_by(rig, "B0")
    assert (rigs.world_location(target) - before - WAY).length < 1e-5


@pytest.mark.parametrize("is_own", (True, False))
@pytest.mark.parametrize("is_local", (True, False))
def test_a_bone_as_target_moves_in_world_space(is_own: bool, is_local: bool) -> None:
    bones = {
        "Root": ((0, 0, 0), (0.1, 0.4, 0.3), ""),
        "Hand": ((0.5, 0.2, 1.2), (0.5, 0.6, 1.3), "Root"),
    }
    chain = {"B0": ((0, 0, 0), (0, 0.2, 1), ""), "B1": ((0, 0.2, 1), (0, 0, 2), "B0")}
    rig = rigs.make_armature({**chain, **bones} if is_own else chain)
    other = rig if is_own else rigs.make_armature(bones, "Other")
    other.data.bones["Hand"].use_local_location = is_local
    awkward(other)
    other.pose.bones["Root"].rotation_quaternion = (0.8, 0.1, 0.4, -0.3)
    other.pose.bones["Root"].scale = (1.1, 0.9, 1.4)
    rigs.add_constraint(rig, "B1", other, subtarget="Hand")
    rigs.update()
    before = rigs.tip_world(other, "Hand", use_tail=False)
    held = drag.begin(rig, "B0")
    held.move_by(tuple(WAY))
    held.confirm()
    rigs.update()
    assert (rigs.tip_world(other, "Hand", use_tail=False) - before - WAY).length < 1e-5


def test_with_an_offset_the_tip_moves_as_the_mouse_does_and_is_what_is_held() -> None:
    rig, target = reaching()
    rig.fabrik.constraints[0].use_offset = True
    rig.fabrik.constraints[0].offset_location = (0.2, -0.3, 0.1)
    target.rotation_euler = (0.3, 0.7, -1.0)
    rigs.update()
    tip = rigs.tip_world(rig, "B2")
    assert rigs.tip_error(rig, "B2", target) > 0.3
    held = drag.begin(rig, "B2")
    assert (Vector(held.place) - tip).length < 1e-3
    held.move_by(tuple(WAY))
    rigs.update()
    assert (rigs.tip_world(rig, "B2") - tip - WAY).length < 1e-3


def test_of_several_constraints_the_nearest_tip_counts_and_then_the_active_one() -> None:
    rig = rigs.make_chain(6)
    far, near, twin = (rigs.make_empty(name, (0.5, 0.2, 2)) for name in ("Far", "Near", "Twin"))
    rigs.add_constraint(rig, "B5", far)
    rigs.add_constraint(rig, "B3", near)
    rigs.add_constraint(rig, "B3", twin)
    rigs.update()
    for active, wanted in ((0, near), (1, near), (2, twin)):
        rig.fabrik.active_index = active
        assert drag.begin(rig, "B1").name == wanted.name
        assert drag.begin(rig, "B4").name == far.name
    rig.fabrik.constraints[1].enabled = rig.fabrik.constraints[2].enabled = False
    assert drag.begin(rig, "B1").name == far.name


def test_the_tip_bone_whose_head_reaches_is_of_the_chain() -> None:
    rig, target = rigs.make_chain(4), rigs.make_empty(location=(0.6, 0.2, 1.5))
    rigs.add_constraint(rig, "B3", rigs.make_empty("Far", (0.5, 0.4, 3)))
    rigs.add_constraint(rig, "B2", target, use_tail=False)
    rigs.update()
    assert drag.begin(rig, "B2").name == target.name
    assert drag.begin(rig, "B3").name == "Far"
    rig.fabrik.constraints[1].use_rotation = True
    rigs.update()
    assert drag.begin(rig, "B2").name == target.name


def test_locked_numbers_of_the_targets_location_stay() -> None:
    rig, target = reaching()
    target.lock_location = (True, False, False)
    target.driver_add("location", 1).driver.expression = "0.25"
    rigs.update()
    drag_by(rig, "B1")
    assert target.location.x == 1.0
    assert rigs.world_location(target).y == pytest.approx(0.25)
    assert target.location.z == pytest.approx(1.0)


@pytest.mark.parametrize("is_bone", (False, True))
def test_the_moved_target_is_keyed_if_auto_keying_is_on(is_bone: bool) -> None:
    rig, target = reaching()
    if is_bone:
        target = rigs.make_armature({"Hand": ((1, 0, 1), (1, 0, 2), "")}, "Other")
        rig.fabrik.constraints[0].target, rig.fabrik.constraints[0].subtarget = target, "Hand"
        pose_mode(rig)
        rigs.update()
    path = 'pose.bones["Hand"].location' if is_bone else "location"
    drag_by(rig, "B1")
    assert not rigs.is_keyed(target, path)
    auto_key()
    rigs.go(7)
    drag_by(rig, "B1")
    assert [round(keys_of(c)[0][0]) for c in rigs.curves(target) if c.data_path == path] == [
        7,
        7,
        7,
    ]
    assert not rigs.curves(rig)


def test_auto_keying_keeps_to_what_the_preferences_and_tools_allow(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rig, target = reaching()
    auto_key()
    preferences = bpy.context.preferences.edit
    preferences.use_keyframe_insert_available = True
    drag_by(rig, "B1")
    assert not rigs.curves(target)
    preferences.use_keyframe_insert_available = False
    bpy.context.scene.tool_settings.auto_keying_mode = "REPLACE_KEYS"
    drag_by(rig, "B1")
    assert not rigs.curves(target)
    assert "warning" not in capfd.readouterr().out.lower()
    target.keyframe_insert("location", frame=1)
    rigs.go(5)
    drag_by(rig, "B1")
    assert [len(keys_of(curve)) for curve in rigs.curves(target)] == [1, 1, 1]
    rigs.go(1)
    drag_by(rig, "B1")
    assert rigs.curves(target)[0].keyframe_points[0].co[1] == pytest.approx(target.location.x)


# A chain without a constraint


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ("plain", "awkward"))
def test_a_bone_without_a_constraint_pulls_its_chain_along(mode: str, place: str) -> None:
    rig = rigs.make_chain(5, mode=mode)
    rig.pose.bones["B1"].matrix_basis = Matrix.Rotation(0.5, 4, "X")
    if place == "awkward":
        rig.location, rig.rotation_euler, rig.scale = (3, -2, 1), (0.4, 1.0, -2.0), (-1.3,) * 3
    pose_mode(rig)
    before = rigs.tip_world(rig, "B4")
    way = 0.4 * (rigs.world_location(rig) - before) + WAY
    drag_by(rig, "B4", way)
    assert (rigs.tip_world(rig, "B4") - before - way).length < 1e-4 * 5
    assert not len(rig.fabrik.constraints)
    assert rigs.channels_bits(rig) == rigs.shown_bits(rig)
    assert bpy.data.objects[:] == [rig], "something was left behind"
    assert "fabrik_dependency" not in rig
    assert rig.animation_data is None


def test_the_chain_begins_at_the_topmost_selected_bone() -> None:
    rig = rigs.make_chain(6)
    assert turned_by_drag(rig, "B4", set()) == {"B0", "B1", "B2", "B3", "B4"}
    assert turned_by_drag(rig, "B4", {"B4"}) == {"B0", "B1", "B2", "B3", "B4"}
    assert turned_by_drag(rig, "B4", {"B3", "B2", "B5"}) == {"B2", "B3", "B4"}


def test_the_operator_knows_the_selected_root() -> None:
    rig = rigs.make_chain(6)
    pose_mode(rig)
    select_bones(rig, "B3")
    rest = rigs.channels_bits(rig)
    drag_by(rig, "B4")
    assert rig.pose.bones["B2"].rotation_quaternion[:] == (1, 0, 0, 0)
    assert rig.pose.bones["B3"].rotation_quaternion[:] != (1, 0, 0, 0)
    assert rigs.channels_bits(rig) != rest


def test_the_tip_follows_whatever_its_root_hangs_on() -> None:
    rig = rigs.make_chain(6)
    for name, angle in (("B0", 0.7), ("B1", -0.9), ("B3", 0.5)):
        rig.pose.bones[name].matrix_basis = Matrix.Rotation(angle, 4, "X")
    rig.pose.bones["B1"].scale = (1.2, 0.8, 1.2)
    rig.pose.bones["B4"].location = (5, 6, 7)  # It is connected: this means nothing.
    rigs.update()
    tip = rigs.tip_world(rig, "B5")
    held = drag.begin(rig, "B5", {"B2"})
    assert (Vector(held.place) - tip).length < 1e-5
    held.move_by((0.1, -0.4, -0.3))
    rigs.update()
    assert (rigs.tip_world(rig, "B5") - tip - Vector((0.1, -0.4, -0.3))).length < 1e-3


def test_bones_that_changed_since_the_last_drag_are_known() -> None:
    rig = rigs.make_chain(3)
    pose_mode(rig)
    drag_by(rig, "B2")
    rig.data.bones["B2"].name = "Tip"
    rig.data.bones["B1"].inherit_scale = "NONE"
    rig.pose.bones["B0"].scale = (2, 2, 2)
    rigs.update()
    tip = rigs.tip_world(rig, "Tip")
    drag_by(rig, "Tip", Vector((0.1, -0.2, -0.2)))
    assert (rigs.tip_world(rig, "Tip") - tip - Vector((0.1, -0.2, -0.2))).length < 1e-3


def test_the_chain_ends_where_a_constraint_poses() -> None:
    rig = rigs.make_chain(6)
    target = rigs.make_empty(location=(0.8, 0.2, 1.5))
    item = rigs.add_constraint(rig, "B2", target)
    rigs.update()
    assert turned_by_drag(rig, "B5", set()) == {"B3", "B4", "B5"}
    assert turned_by_drag(rig, "B5", {"B1"}) == {"B3", "B4", "B5"}
    item.enabled = False
    rigs.update()
    assert len(turned_by_drag(rig, "B5", set())) == 6


def turned_by_drag(rig: bpy.types.Object, bone: str, selected: set[str]) -> set[str]:
    before = {b.name: b.rotation_quaternion[:] for b in rig.pose.bones}
    held = drag.begin(rig, bone, selected)
    held.move_by(tuple(WAY))
    found = {b.name for b in rig.pose.bones if b.rotation_quaternion[:] != before[b.name]}
    held.cancel()
    rigs.update()
    return found


def test_chains_that_hang_on_the_dragged_one_still_reach() -> None:
    rig = rigs.make_chain(6)
    target = rigs.make_empty(location=(0.8, 0.2, 4.0))
    rigs.add_constraint(rig, "B5", target, chain_count=3)
    pose_mode(rig)
    drag_by(rig, "B2", Vector((0.2, 0.1, -0.2)))
    assert rigs.tip_error(rig, "B5", target) < 1e-3


def test_joint_limits_hold() -> None:
    rig = rigs.make_chain(4)
    for bone in rig.pose.bones:
        joint = bone.fabrik_joint
        joint.limit_type, joint.hinge_axis = "HINGE", "X"
        joint.hinge_min, joint.hinge_max = -0.3, 0.3
    pose_mode(rig)
    drag_by(rig, "B3", Vector((0.5, 1.5, -1.5)))
    for bone in rig.pose.bones:
        angles = bone.rotation_quaternion.to_euler()
        assert abs(angles.y) + abs(angles.z) < 1e-5
        assert abs(angles.x) <= 0.3 + 1e-5


@pytest.mark.parametrize(
    ("mode", "is_by_number"),
    (("QUATERNION", True), ("QUATERNION", False), ("AXIS_ANGLE", False), ("XYZ", False)),
)
def test_locked_rotations_stay_and_the_joint_turns_about_the_others(
    mode: str, is_by_number: bool
) -> None:
    rig = rigs.make_chain(4, mode=mode)
    rig.pose.bones["B1"].lock_rotations_4d = is_by_number
    rig.pose.bones["B1"].matrix_basis = Matrix.Rotation(0.4, 4, "X")
    rig.pose.bones["B2"].matrix_basis = Matrix.Rotation(0.4, 4, "Z")
    rig.pose.bones["B0"].lock_rotation = (True, True, True)
    rig.pose.bones["B1"].lock_rotation = (False, True, True)
    pose_mode(rig)
    held_bone = rotation_numbers(rig, "B0"), rotation_numbers(rig, "B2")
    tip = rigs.tip_world(rig, "B3")
    drag_by(rig, "B3", Vector((0.2, 0.3, -0.3)))
    assert (rigs.tip_world(rig, "B3") - tip - Vector((0.2, 0.3, -0.3))).length < 1e-3
    assert rotation_numbers(rig, "B0") == held_bone[0]
    assert rotation_numbers(rig, "B2") != held_bone[1]
    angles = rig.pose.bones["B1"].matrix_basis.to_euler()
    assert abs(angles.y) + abs(angles.z) < 1e-5
    assert abs(angles.x - 0.4) > 0.01


def test_locked_numbers_of_a_quaternion_stay_whatever_they_are() -> None:
    rig = rigs.make_chain(4)
    for bone in rig.pose.bones:
        bone.rotation_quaternion = (1.6, 0.4, -0.6, 0.2)
        bone.lock_rotation = (False, True, False)
    bones = [rig.pose.bones[name] for name in ("B0", "B1", "B2")]
    bones[0].lock_rotation_w = True
    before = [bone.rotation_quaternion[:] for bone in bones]
    pose_mode(rig)
    drag_by(rig, "B2")
    after = [bone.rotation_quaternion[:] for bone in bones]
    assert [numbers[2] for numbers in after] == [numbers[2] for numbers in before]
    assert after[0] == before[0]
    assert after[1] != pytest.approx(before[1], abs=1e-3)
    assert Vector(after[1]).length == pytest.approx(Vector(before[1]).length)


def test_locked_euler_angles_stay_whatever_they_are() -> None:
    rig = rigs.make_chain(4, mode="ZXY")
    for bone in rig.pose.bones:
        bone.rotation_euler = (0.2, -0.3, 0.4)
        bone.lock_rotation = (True, False, False)
    rigs.update()
    locked_angles = [bone.rotation_euler.x for bone in rig.pose.bones]
    pose_mode(rig)
    drag_by(rig, "B3")
    assert [bone.rotation_euler.x for bone in rig.pose.bones] == locked_angles
    assert rig.pose.bones["B2"].rotation_euler[:] != pytest.approx((0.2, -0.3, 0.4), abs=1e-3)


def test_rotations_with_a_driver_stay() -> None:
    rig = rigs.make_chain(4)
    rig.pose.bones["B1"].driver_add("rotation_quaternion", 1).driver.expression = "0.3"
    pose_mode(rig)
    before = rotation_numbers(rig, "B1")
    tip = rigs.tip_world(rig, "B3")
    drag_by(rig, "B3")
    assert rotation_numbers(rig, "B1") == before
    assert (rigs.tip_world(rig, "B3") - tip - WAY).length < 1e-3


def rotation_numbers(rig: bpy.types.Object, bone: str) -> tuple[float, ...]:
    posed = rig.pose.bones[bone]
    name = {"QUATERNION": "quaternion", "AXIS_ANGLE": "axis_angle"}.get(posed.rotation_mode)
    return getattr(posed, f"rotation_{name or 'euler'}")[:]


@pytest.mark.parametrize("mode", MODES)
def test_the_posed_bones_are_keyed_if_auto_keying_is_on(mode: str) -> None:
    rig = rigs.make_chain(4, mode=mode)
    pose_mode(rig)
    auto_key()
    rig.pose.bones["B0"].lock_rotation = (True, True, True)
    rigs.go(3)
    drag_by(rig, "B2")
    posed = rigs.tip_world(rig, "B2")
    paths = {curve.data_path for curve in rigs.curves(rig)}
    wanted = {"QUATERNION": "quaternion", "AXIS_ANGLE": "axis_angle"}.get(mode, "euler")
    assert paths == {f'pose.bones["B{i}"].rotation_{wanted}' for i in (1, 2)}
    rigs.go(9, 3)
    assert (rigs.tip_world(rig, "B2") - posed).length < 1e-6


def test_a_full_turn_of_an_euler_angle_is_kept() -> None:
    rig = rigs.make_chain(3, mode="XYZ")
    rig.pose.bones["B1"].rotation_euler.x = 2 * pi + 0.1
    pose_mode(rig)
    drag_by(rig, "B2", Vector((0, 0.1, -0.1)))
    assert rig.pose.bones["B1"].rotation_euler.x == pytest.approx(2 * pi + 0.1, abs=radians(40))


# Cancelling, and undo


def target_scene() -> tuple[bpy.types.Object, str]:
    rig, _ = reaching(4)
    return rig, "B1"


def keyed_target_scene() -> tuple[bpy.types.Object, str]:
    rig, target = reaching(4)
    target.keyframe_insert("location", frame=1)
    for frame in (1, 10):
        rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=frame)
    rigs.go(1)
    return rig, "B1"


def chain_scene() -> tuple[bpy.types.Object, str]:
    rig = rigs.make_chain(4, mode="XYZ")
    rig.pose.bones["B1"].rotation_euler = (0.1, 0.2, 0.3)
    pose_mode(rig)
    return rig, "B3"


def keyed_chain_scene() -> tuple[bpy.types.Object, str]:
    rig, bone = chain_scene()
    rigs.key(rig.pose.bones["B2"], "rotation_euler", {1: 0.2, 10: -0.4}, 0)
    rigs.go(5)
    return rig, bone


def off_scene() -> tuple[bpy.types.Object, str]:
    """A chain whose constraint is now off, carrying one that is on."""
    rig = rigs.make_chain(6)
    item = rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.9, 0.2, 1.0)))
    rigs.add_constraint(rig, "B5", rigs.make_empty("Upper", (0.5, 0.5, 3.0)), chain_count=3)
    rigs.update()
    rig.pose.bones["B0"].rotation_quaternion = (0.9, 0.1, 0.2, 0.1)
    rigs.update()
    item.enabled = False
    pose_mode(rig)
    return rig, "B2"


def target_bone_scene() -> tuple[bpy.types.Object, str]:
    """A target bone that is itself posed by a chain with a free root."""
    rig = rigs.make_armature(
        {
            "Hand": ((0.6, 0, 1.2), (0.6, 0, 1.6), ""),
            "B0": ((0, 0, 0), (0, 0.2, 1), ""),
            "B1": ((0, 0.2, 1), (0, 0, 2), "B0"),
        }
    )
    rigs.add_constraint(rig, "Hand", rigs.make_empty(location=(0.8, 0, 1.9)), use_free_root=True)
    rigs.add_constraint(rig, "B1", rig, subtarget="Hand")
    pose_mode(rig)
    return rig, "B0"


SCENES = (
    target_scene,
    keyed_target_scene,
    chain_scene,
    keyed_chain_scene,
    off_scene,
    target_bone_scene,
)


@pytest.mark.parametrize("scene", SCENES)
def test_a_cancelled_drag_leaves_everything_as_it_was(
    scene: Callable[[], tuple[bpy.types.Object, str]],
) -> None:
    rig, bone = scene()
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    rigs.update()
    before = file_state()
    held = drag.begin(rig, bone)
    for i in range(1, 6):
        held.move_by((0.1 * i, -0.15 * i, -0.2 * i))
        rigs.update()
    assert rigs.everything_bits() != before[0]
    held.cancel()
    rigs.update()
    assert file_state() == before
    frame = bpy.context.scene.frame_current
    rigs.go(frame + 1, frame)
    assert rigs.everything_bits() == before[0]


def test_coming_back_to_the_start_is_as_if_nothing_had_happened() -> None:
    rig, bone = chain_scene()
    rigs.update()
    before = file_state()
    held = drag.begin(rig, bone)
    held.move_by(tuple(WAY))
    held.move_by((0.0, 0.0, 0.0))
    rigs.update()
    assert file_state() == before


@pytest.mark.parametrize("scene", (target_scene, chain_scene))
def test_after_undo_everything_is_as_before(
    scene: Callable[[], tuple[bpy.types.Object, str]],
) -> None:
    rig, bone = scene()
    rigs.update()
    name, before = rig.name, file_state()
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.fabrik.drag("EXEC_DEFAULT", True, bone=bone, value=WAY)
    rigs.update()
    dragged = file_state()
    assert dragged != before
    bpy.ops.ed.undo()
    rigs.update()
    assert file_state() == before
    bpy.ops.ed.redo()
    rigs.update()
    assert file_state() == dragged
    assert bpy.data.objects[name].mode == "POSE"


# What cannot be dragged


def refusal(rig: bpy.types.Object, bone: str) -> str:
    """Return what the operator says, after it left everything as it was."""
    rigs.update()
    before = file_state()
    with pytest.raises(RuntimeError) as found:
        bpy.ops.fabrik.drag(armature=rig.name, bone=bone, value=WAY)
    rigs.update()
    assert file_state() == before
    return str(found.value)


def test_problems_are_said_in_place() -> None:
    rig, target = reaching()
    item = rig.fabrik.constraints[0]
    assert "no bone “Tail”" in refusal(rig, "Tail")
    target.lock_location = (True, True, True)
    assert "is locked" in refusal(rig, "B1")
    target.lock_location = (False, False, False)
    target.driver_add("location")
    assert "is driven" in refusal(rig, "B1")
    target.driver_remove("location")
    target.scale = (0, 0, 0)
    assert "zero scale" in refusal(rig, "B1")
    target.scale = (1, 1, 1)
    item.target = None
    assert "No target" in refusal(rig, "B1")
    item.target, item.iterations = target, 20
    item.weight = 0.0
    assert "Weight is 0" in refusal(rig, "B1")


def test_a_constraint_whose_bone_is_gone_lets_all_bones_be_dragged() -> None:
    rig, _ = reaching()
    rig.fabrik.constraints[0].bone = "Gone"
    rigs.update()
    before = rigs.tip_world(rig, "B2")
    drag_by(rig, "B2")
    assert (rigs.tip_world(rig, "B2") - before).length > 0.5 * WAY.length


def test_a_connected_target_bone_and_a_rest_pose_are_said() -> None:
    rig = rigs.make_chain(5)
    other = rigs.make_chain(2, "Other")
    rigs.add_constraint(rig, "B1", other, subtarget="B1")
    pose_mode(rig)
    assert "connected to its parent" in refusal(rig, "B0")
    rig.data.pose_position = "REST"
    assert "is in rest position" in refusal(rig, "B4")


@pytest.mark.parametrize("whole_body", [False, True])
def test_a_target_is_not_dragged_while_the_armature_does_not_show_its_pose(
    whole_body: bool,
) -> None:
    rig, target = reaching()
    rig.data.pose_position = "REST"
    rigs.update()
    there = target.location.copy()
    refuses(bpy.ops.fabrik.drag, "is in rest position", bone="B2", value=WAY, whole_body=whole_body)
    assert target.location == there


def test_a_flat_armature_cannot_be_posed_by_hand() -> None:
    rig = rigs.make_chain(3)
    rig.scale = (0, 1, 1)
    pose_mode(rig)
    assert "zero scale" in refusal(rig, "B2")


def test_linked_targets_and_armatures_are_said(tmp_path: Path) -> None:
    rig, target = reaching()
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {rig, target})
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Target", "Rig"]
    linked_target, linked_rig = wanted.objects
    rigs.link(linked_target)
    rigs.link(linked_rig)
    rig = rigs.make_chain(3, "Own")
    rigs.add_constraint(rig, "B2", linked_target)
    pose_mode(rig)
    assert "“Target” is linked" in refusal(rig, "B1")
    with pytest.raises(ProblemError, match="is linked"):
        drag.begin(linked_rig, "B1")


def test_a_target_that_something_holds_is_said() -> None:
    rig, target = reaching()
    con = target.constraints.new("LIMIT_LOCATION")
    con.use_min_z, con.min_z = True, 1.4
    rigs.update()
    held = drag.begin(rig, "B1")
    held.move_by(tuple(WAY))
    assert "“Limit Location” prevents it from following" in held.confirm()


def test_what_cannot_be_keyed_is_dragged_and_said(tmp_path: Path) -> None:
    rig, target = reaching()
    target.keyframe_insert("location", frame=1)
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {target.animation_data.action})
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.actions = [target.animation_data.action.name]
    target.animation_data.action = wanted.actions[0]
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    rigs.update()
    held = drag.begin(rig, "B1")
    before = rigs.world_location(target)
    held.move_by(tuple(WAY))
    with pytest.raises(ProblemError, match="is linked"):
        held.confirm()
    rigs.update()
    assert (rigs.world_location(target) - before - WAY).length < 1e-6


def test_outside_pose_mode_the_operator_says_what_to_do() -> None:
    rig, _ = reaching()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert not bpy.ops.fabrik.drag.poll()
    refuses(bpy.ops.fabrik.drag, "Enter Pose Mode", armature=rig.name, bone="B1", value=WAY)


# Selection


def test_the_selection_is_given_back() -> None:
    rig, target = reaching(4)
    select_bones(rig, "B1", "B3")
    rig.data.bones.active = rig.data.bones["B3"]
    kept = PoseSelection(bpy.context)
    assert kept.selected_bones(rig) == {"B1", "B3"}
    kept.clear_bones()
    assert not bpy.context.selected_pose_bones
    select_bone(rig, "B0")
    rig.data.bones.active = rig.data.bones["B0"]
    target.select_set(True)
    bpy.context.view_layer.objects.active = target
    kept.restore()
    assert {bone.name for bone in bpy.context.selected_pose_bones} == {"B1", "B3"}
    assert rig.data.bones.active.name == "B3"
    assert bpy.context.view_layer.objects.active == rig
    assert not target.select_get()


# The motion


SIGHT, UP = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
MOTION = (0.3, 0.0, 0.7)


def test_an_axis_takes_the_point_that_looks_nearest() -> None:
    assert locked(MOTION, Lock(0), WORLD, SIGHT, UP) == pytest.approx((0.3, 0, 0))
    slanted = Vector((1, 1, 0)).normalized()
    axes = Matrix((slanted, (0, 0, 1), (0, 0, 1))).transposed()
    flat = tuple(number for row in axes for number in row)
    x, y, z = locked(MOTION, Lock(0, is_local=True), flat, SIGHT, UP)
    assert (x, y, z) == pytest.approx((0.3, 0.3, 0))  # Seen from the front it is where X is 0.3.


def test_an_axis_that_points_at_the_viewer_goes_away_with_up() -> None:
    assert locked(MOTION, Lock(1), WORLD, SIGHT, UP) == pytest.approx((0, 0.7, 0))
    away = (0.0, -1.0, 0.0)
    assert locked(MOTION, Lock(1), WORLD, away, UP) == pytest.approx((0, -0.7, 0))


def test_a_plane_takes_what_is_seen_under_the_mouse() -> None:
    sight = tuple(Vector((0, 1, -1)).normalized())
    assert locked(MOTION, Lock(2, True), WORLD, sight, UP) == pytest.approx((0.3, 0.7, 0))
    assert locked(MOTION, Lock(2, True), WORLD, SIGHT, UP) == pytest.approx((0.3, 0, 0))


def test_keys_lock_to_the_world_then_to_the_own_axis_then_to_none() -> None:
    lock = pressed(None, 0, False)
    assert lock == Lock(0)
    assert pressed(lock, 1, False) == Lock(1)
    assert pressed(lock, 0, True) == Lock(0, is_plane=True)
    own = pressed(lock, 0, False)
    assert own == Lock(0, is_local=True)
    assert pressed(own, 0, False) is None
    assert Lock(1).free() == (1,)
    assert Lock(1, is_plane=True).free() == (0, 2)


def test_steps_are_counted_from_the_start_and_grid_points_from_the_origin() -> None:
    assert stepped((0.34, -0.06, 1.26), WORLD, 0.1) == pytest.approx((0.3, -0.1, 1.3))
    place = (0.25, 0.0, 0.5)
    assert on_grid(place, (0.3, 0.2, 0.1), 0.5) == pytest.approx((0.25, 0, 0))
    assert projected((1, 2, 3), Lock(1), WORLD) == (0, 2, 0)
    assert projected((1, 2, 3), Lock(1, True), WORLD) == (1, 0, 3)


def test_numbers_are_typed_for_the_free_axes_one_after_the_other() -> None:
    typed = Typed()
    assert typed.displacement(WORLD, (0, 1, 2)) is None
    for character in "1.5.":
        typed.type_character(character, 3)
    typed.type_character("-", 3)
    assert typed.displacement(WORLD, (0, 1, 2)) == (-1.5, 0, 0)
    assert typed.displacement(WORLD, (2,)) == (0, 0, -1.5)
    typed.next()
    typed.type_character("2", 3)
    typed.type_character("5", 3)
    typed.back(3)
    assert typed.displacement(WORLD, (0, 1, 2)) == (-1.5, 2, 0)
    assert typed.displacement(WORLD, (0, 2)) == (-1.5, 0, 2)
    typed.next()
    typed.type_character("-", 3)
    assert typed.displacement(WORLD, (0, 1, 2)) == (-1.5, 2, 0)


def test_surfaces_are_seen_through_what_the_armature_carries() -> None:
    rig = rigs.make_chain(3)
    for name, y in (("Skin", -2.0), ("Worn", -1.0), ("Wall", 3.0)):
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.mesh.primitive_plane_add(size=4, location=(0, y, 1), rotation=(pi / 2, 0, 0))
        bpy.context.object.name = name
    bpy.data.objects["Skin"].modifiers.new("Armature", "ARMATURE").object = rig
    bpy.data.objects["Worn"].parent = rig
    rigs.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    eye = (0.3, -5.0, 1.4)
    assert seen_point(depsgraph, rig, eye, SIGHT, False) == pytest.approx((0.3, 3, 1.4), abs=1e-5)
    assert seen_point(depsgraph, rig, eye, SIGHT, True) == pytest.approx((2, 3, 3), abs=1e-5)
    assert seen_point(depsgraph, rig, eye, (0.0, -1.0, 0.0), False) is None


# A bone that is itself a target or pole


CONTROLS = {
    "target": {"subtarget": "Control"},
    "target of a constraint that is off": {"subtarget": "Control", "enabled": False},
    "pole": {"solver": "TWO_BONE", "pole_subtarget": "Control"},
    "target to look at": {"solver": "LOOK_AT", "subtarget": "Control", "chain_count": 1},
}


@pytest.mark.parametrize("whole_body", (False, True))
@pytest.mark.parametrize("is_own", (True, False))
@pytest.mark.parametrize("kind", CONTROLS)
def test_a_control_moves_alone_and_keeps_its_orientation(
    kind: str, is_own: bool, whole_body: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the whole body too, unless it is the target of a limb of this body."""
    bones = {
        "Root": ((0, 0, 0), (0.1, 0.4, 0.3), ""),
        "Control": ((0.5, -0.6, 1.2), (0.5, -0.6, 1.5), "Root"),
        "Child": ((0.5, -0.6, 1.5), (0.5, -0.6, 1.7), "Control"),
    }
    chain = {"B0": ((0, 0, 0), (0, 0.2, 1), ""), "B1": ((0, 0.2, 1), (0, 0, 2), "B0")}
    rig = rigs.make_armature({**chain, **bones} if is_own else chain)
    controls = rig if is_own else rigs.make_armature(bones, "Controls")
    awkward(controls)
    values = dict(CONTROLS[kind])
    target = controls if "subtarget" in values else rigs.make_empty(location=(0.4, 0.1, 1.4))
    if "pole_subtarget" in values:
        values["pole_target"] = controls
    rigs.add_constraint(rig, "B1", target, **values)
    rigs.update()
    pose_mode(controls)
    posed, world = rigs.evaluated(controls).pose.bones, controls.matrix_world.copy()
    start = {bone.name: world @ bone.matrix for bone in posed}
    has_limb = is_own and kind in ("target", "target to look at")
    bpy.ops.fabrik.drag(bone="Control", value=WAY, whole_body=whole_body and not has_limb)
    rigs.update()
    assert "Dragged “Control” by 70.71 cm" in capfd.readouterr().out
    for bone in rigs.evaluated(controls).pose.bones:
        if bone.name not in chain:
            wanted = start[bone.name].copy()
            if bone.name != "Root":
                wanted.translation += WAY
            difference = world @ bone.matrix - wanted
            assert max(abs(x) for row in difference for x in row) < 1e-5, bone.name


def test_below_a_control_bones_turn_in_fk_and_the_report_is_how_far(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rig, _ = reaching()
    rigs.activate(rig, "EDIT")
    for name, parent in (("Root", ""), ("Control", "Root"), ("Toe", "Control")):
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail = (1, 0.3, 1.5), (1, 0.3, 1.8)
        bone.parent = rig.data.edit_bones.get(parent)
    pose_mode(rig)
    item = rig.fabrik.constraints[0]
    item.target, item.subtarget = rig, "Control"
    rigs.update()
    assert turned_by_drag(rig, "Toe", {"Root"}) == {"Toe"}
    held = drag.begin(rig, "Control", as_fk=True)
    assert isinstance(held, ChainDrag) and len(held.bones) == 1
    before = rigs.tip_world(rig, "Toe")
    drag_by(rig, "Toe")
    moved = 100.0 * (rigs.tip_world(rig, "Toe") - before).length
    assert f"Dragged “Toe” by {moved:.4g} cm" in capfd.readouterr().out
    rig.pose.bones["Control"].lock_location = (True, False, False)
    drag_by(rig, "Control", Vector((0.3, 0.0, 0.4)))
    assert "Dragged “Control” by 40 cm" in capfd.readouterr().out
    rig.pose.bones["Control"].lock_location = (True, True, True)
    assert "location of the target “Control” is locked" in refusal(rig, "Control")
    rig.pose.bones["Control"].driver_add("location")
    assert "location of the target “Control” is driven" in refusal(rig, "Control")


# A hand or foot at the tip of a chain


def arm_with_hand() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return an arm that reaches an Empty with its forearm; the hand has a finger and a thumb."""
    bones = {
        "Upper": ((0, 0, 0), (0, 0.2, 1), ""),
        "Fore": ((0, 0.2, 1), (0, 0, 2), "Upper"),
        "Twist": ((0, 0.1, 1.5), (0, 0, 2), "Fore"),
        "Hand": ((0, 0, 2), (0, 0, 2.3), "Fore"),
        "Finger": ((0, 0, 2.3), (0, 0, 2.5), "Hand"),
        "Thumb": ((0.05, 0, 2.1), (0.2, 0, 2.2), "Hand"),
    }
    rig, target = rigs.make_armature(bones), rigs.make_empty(location=(0.6, 0.3, 1.5))
    rigs.add_constraint(rig, "Fore", target)
    pose_mode(rig)
    return rig, target


def test_dragging_the_hand_at_the_tip_moves_the_target_and_alt_poses_it_in_fk() -> None:
    rig, target = arm_with_hand()
    before = rigs.world_location(target)
    drag_by(rig, "Hand", Vector((0.1, 0.05, -0.2)))
    assert (rigs.world_location(target) - before - Vector((0.1, 0.05, -0.2))).length < 1e-6
    assert rigs.tip_error(rig, "Fore", target) < 1e-4
    assert rigs.channels_bits(rig) == rigs.channels_bits(arm_with_hand()[0])


def test_what_else_hangs_at_a_chain_is_posed_in_fk() -> None:
    rig, _ = arm_with_hand()
    assert isinstance(drag.begin(rig, "Hand"), TargetDrag)
    for bone in ("Twist", "Finger", "Thumb"):
        assert isinstance(drag.begin(rig, bone), ChainDrag)
    assert isinstance(drag.begin(rig, "Hand", as_fk=True), ChainDrag)
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    assert isinstance(drag.begin(rig, "Hand"), ChainDrag)


def test_the_fingers_of_a_hand_that_is_oriented_are_posed_in_fk() -> None:
    rig, _ = arm_with_hand()
    item = rig.fabrik.constraints[0]
    item.bone, item.chain_count, item.use_rotation = "Hand", 3, True
    rigs.update()
    assert isinstance(drag.begin(rig, "Hand"), TargetDrag)
    assert isinstance(drag.begin(rig, "Finger"), ChainDrag)


def test_the_report_tells_how_far_the_tip_went() -> None:
    rig, _ = arm_with_hand()
    for bone in ("Upper", "Fore"):
        joint = rig.pose.bones[bone].fabrik_joint
        joint.limit_type, joint.hinge_min, joint.hinge_max = "HINGE", -0.1, 0.1
    rigs.update()
    held = drag.begin(rig, "Hand")
    held.move_by((0.0, 0.0, -0.5))
    assert drag.shortfall(held)[1] == "joint limits hold it back"
    held.cancel()
    for bone in ("Upper", "Fore"):
        rig.pose.bones[bone].fabrik_joint.limit_type = "NONE"
    rigs.update()
    start = rigs.tip_world(rig, "Fore")
    held = drag.begin(rig, "Hand")
    held.move_by((5.0, 0.0, 0.0))
    held.confirm()
    rigs.update()
    distance, why = drag.shortfall(held)
    assert why == "out of reach"
    assert abs(distance - (rigs.tip_world(rig, "Fore") - start).length) < 1e-5
    assert 0.3 < distance < 2.5


def test_the_state_is_that_of_where_the_target_is_now() -> None:
    rig, _ = arm_with_hand()
    held = drag.begin(rig, "Hand")
    states: list[str] = []
    for way in ((0.1, 0.0, -0.1), (5.0, 0.0, 0.0), (0.1, 0.0, -0.1)):
        held.move_by(way)
        states.append(held.state)
    held.cancel()
    assert states == ["REACHED", "OUT_OF_REACH", "REACHED"]


class View:
    """A 3D Viewport of 1000 by 1000 pixels that looks along Y, whose size shows as many meters."""

    width = height = 1000

    def __init__(self, meters: float) -> None:
        scale = 2.0 / meters
        self.view_matrix = Matrix.Rotation(-pi / 2, 4, "X")
        self.perspective_matrix = Matrix.Diagonal((scale, scale, -0.01, 1.0)) @ self.view_matrix

    def pixel(self, place: Vector) -> Vector:
        at = location_3d_to_region_2d(self, self, place)
        assert at is not None
        return at


def hand_of_fingers() -> bpy.types.Object:
    bones = {
        "Forearm": ((0.0, 0.0, 0.0), (0.25, 0.0, 0.0), ""),
        "Hand": ((0.25, 0.0, 0.0), (0.35, 0.0, 0.0), "Forearm"),
        "Twist": ((0.2, 0.0, 0.0), (0.25, 0.0, 0.0), "Forearm"),
    }
    for name, z in (("Thumb", -0.03), ("Index", 0.02)):
        bones[f"{name}1"] = ((0.35, 0.0, z), (0.38, 0.0, z), "Hand")
        bones[f"{name}2"] = ((0.38, 0.0, z), (0.41, 0.0, z), f"{name}1")
    rig = rigs.make_armature(bones)
    rigs.update()
    return rig


@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize(
    ("bone", "meters", "hand"),
    [
        ("Thumb1", 4.0, "Hand"),  # It is 8 pixels long, the hand 25.
        ("Thumb2", 4.0, "Hand"),
        ("Thumb1", 1.0, ""),  # Near enough to be aimed at.
        ("Hand", 4.0, ""),
        ("Hand", 20.0, ""),  # It is small, but no finger of the forearm.
        ("Thumb2", 2.2, ""),  # It is small, but too far from the hand for that to be meant.
    ],
)
def test_a_finger_that_is_too_small_to_be_aimed_at_is_its_hand(
    bone: str, meters: float, hand: str, scale: float
) -> None:
    rig = hand_of_fingers()
    rig.data.transform(Matrix.Scale(1.0 / scale, 4))
    rig.data.update_tag()
    rig.scale = (scale, scale, scale)
    rigs.update()
    view, posed = View(meters), rig.pose.bones[bone]
    pixel = view.pixel(rig.matrix_world @ posed.head)
    assert hand_meant(view, view, rig, bone, pixel) == hand
    posed.custom_shape = rigs.make_empty()  # What is seen of it then may have any size.
    assert hand_meant(view, view, rig, bone, pixel) == ""


@pytest.mark.parametrize(
    ("bone", "along", "meant"),
    [
        ("Thumb1", 0.0, "Hand"),  # Blender picks bones around the mouse: the thumb is near.
        ("Thumb1", 0.5, ""),
        ("Index2", 0.0, "Hand"),
        ("Twist", 0.0, ""),  # Beside the elbow, which has no bone to drag.
    ],
)
def test_at_the_wrist_the_hand_is_meant_whatever_blender_picks(
    bone: str, along: float, meant: str
) -> None:
    """Near enough that each finger could be aimed at."""
    rig, view = hand_of_fingers(), View(0.8)
    hand, picked = rig.pose.bones["Hand"], rig.pose.bones[bone]
    place = hand.head.lerp(picked.head.lerp(picked.tail, 0.5), 2.0 * along)
    assert hand_meant(view, view, rig, bone, view.pixel(place)) == meant


def test_a_finger_that_points_at_the_viewer_is_no_smaller_for_that() -> None:
    rig = hand_of_fingers()
    thumb = rig.pose.bones["Thumb1"]
    thumb.matrix = Matrix.Translation(thumb.head) @ Matrix.Rotation(pi, 4, "Z")
    rigs.update()
    view = View(1.0)
    pixel = view.pixel(thumb.head)
    assert (view.pixel(thumb.tail) - pixel).length < 0.1
    assert hand_meant(view, view, rig, "Thumb1", pixel) == ""


def test_a_free_chain_tells_it_as_well() -> None:
    rig, _ = arm_with_hand()
    held = drag.begin(rig, "Hand", as_fk=True)
    held.move_by((0.3, 0.01, 0.0))
    assert drag.shortfall(held)[1] == ""  # A single bone only points.
    held.cancel()
    held = drag.begin(rig, "Finger")
    held.move_by((0.01, 0.0, -0.05))
    assert drag.shortfall(held)[1] == ""
    held.move_by((9.0, 0.0, 0.0))
    distance, why = drag.shortfall(held)
    assert why == "out of reach"
    assert distance < 2.0
