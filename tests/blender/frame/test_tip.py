"""The tip bone takes the target's orientation, and keeps an offset to it, in the evaluated pose."""

from math import nan, pi

import bpy
import pytest
import rigs
from mathutils import Euler, Matrix, Quaternion, Vector

TURN = Euler((0.4, -0.7, 0.9))
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY")

both_ends = pytest.mark.parametrize("use_tail", [True, False])


@pytest.fixture
def rig(empty_file: None) -> bpy.types.Object:
    return rigs.make_chain(4)


@pytest.fixture
def target(empty_file: None) -> bpy.types.Object:
    target = rigs.make_empty(location=(0.9, 0.4, 2.2))
    target.rotation_euler = TURN
    return target


def oriented(rig, target, use_tail=True, **settings):
    item = rigs.add_constraint(
        rig, "B3", target, use_tail=use_tail, use_rotation=True, **{"iterations": 200, **settings}
    )
    rigs.update()
    return item


def upright(matrix: Matrix) -> Matrix:
    """The orientation that counts: Y, and what Z has at right angles to it."""
    y = matrix.to_3x3().col[1].normalized()
    z = matrix.to_3x3().col[2]
    z = (z - y * z.dot(y)).normalized()
    return Matrix((y.cross(z), y, z)).transposed()


def bone_world(rig: bpy.types.Object, bone: str) -> Matrix:
    shown = rigs.evaluated(rig)
    return shown.matrix_world @ shown.pose.bones[bone].matrix


def turn_between(a: Matrix, b: Matrix) -> float:
    """The angle between two orientations, by the longest way that an axis of length 1 is off."""
    return max((p - q).length for p, q in zip(upright(a).col, upright(b).col, strict=True))


def turn_error(rig: bpy.types.Object, target: bpy.types.Object, bone: str = "B3") -> float:
    return turn_between(bone_world(rig, bone), rigs.evaluated(target).matrix_world)


def assert_taken(rig, target, use_tail):
    item = rig.fabrik.constraints[0]
    assert (item.state, item.message) == ("REACHED", "")
    assert rigs.tip_error(rig, "B3", target, use_tail) <= 2e-5
    assert turn_error(rig, target, "B3") <= 2e-5


# Orientation


@both_ends
@pytest.mark.parametrize("mode", MODES)
def test_the_tip_bone_takes_the_targets_place_and_orientation(target, use_tail, mode):
    rig = rigs.make_chain(4, mode=mode)
    oriented(rig, target, use_tail)
    assert_taken(rig, target, use_tail)
    target.rotation_euler = (-0.3, 0.5, -1.2)
    rigs.update()
    assert_taken(rig, target, use_tail)


@both_ends
@pytest.mark.parametrize(
    "scale", [(1, 1, 1), (2, 2, 2), (-1, 1, 1), (1, 1, -0.5), (0.6, 1.4, 1.0)], ids=str
)
def test_it_does_in_an_armature_that_is_moved_turned_scaled_and_mirrored(
    rig, target, use_tail, scale
):
    rig.location, rig.rotation_euler, rig.scale = (0.2, -0.3, 0.4), (0.3, 0.2, 0.5), scale
    rigs.update()
    target.location = rigs.tip_world(rig, "B3") * 0.7
    oriented(rig, target, use_tail)
    item = rig.fabrik.constraints[0]
    if item.state == "REACHED":
        assert rigs.tip_error(rig, "B3", target, use_tail) <= 1e-3
    assert turn_error(rig, target) <= 1e-4
    assert item.error == pytest.approx(rigs.tip_error(rig, "B3", target, use_tail), abs=2e-5)


MIRRORING = [(-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)]
TURNS = [(0, 0, 0), (0.5 * pi, 0, 0), (0, 0, 0.5 * pi), (2.1, -0.8, 2.9), (-1.3, 0.7, -2.2)]


@pytest.mark.parametrize("turn", TURNS, ids=str)
@pytest.mark.parametrize("mirrored", ["itself", "its parent", "both"])
@pytest.mark.parametrize("scale", MIRRORING, ids=str)
def test_it_does_in_a_mirrored_armature_however_the_target_is_turned(
    rig, target, scale, mirrored, turn
):
    if mirrored != "itself":
        rig.parent = rigs.make_empty("Holder", (0.3, 0.1, -0.2))
        rig.parent.rotation_euler, rig.parent.scale = (0.2, 0.5, -0.4), scale
    if mirrored != "its parent":
        rig.scale = scale
    rigs.update()
    target.location, target.rotation_euler = rig.matrix_world @ target.location, turn
    oriented(rig, target, use_tail=False)
    assert_taken(rig, target, use_tail=False)


@both_ends
@pytest.mark.parametrize("use_offset", [True, False])
@pytest.mark.parametrize("scale", MIRRORING, ids=str)
def test_the_pose_stays_if_an_armature_is_mirrored_with_its_target(
    rig, target, scale, use_offset, use_tail
):
    holder = rigs.make_empty("Holder", (0, 0, 0))
    rig.parent = target.parent = holder
    item = oriented(rig, target, use_tail, use_offset=use_offset)
    if use_offset:
        item.offset_location, item.offset_rotation = (-0.2, 0.1, 0.3), TURN.to_quaternion()
        rigs.update()
    before = {bone.name: bone.matrix.copy() for bone in rigs.evaluated(rig).pose.bones}
    holder.scale = scale
    rigs.update()
    for bone in rigs.evaluated(rig).pose.bones:
        assert turn_between(before[bone.name], bone.matrix) <= 2e-5
        assert (before[bone.name].translation - bone.matrix.translation).length <= 2e-5


@pytest.mark.parametrize("of", ["rig", "target", "both"])
def test_the_offset_of_a_mirrored_hand_or_target_can_be_taken(rig, target, of):
    item = oriented(rig, target, use_offset=True)
    for name, ob in (("rig", rig), ("target", target)):
        if of in (name, "both"):
            ob.scale.x = -1.0
    item.enabled = False
    rigs.update()
    before = {bone.name: bone.matrix.copy() for bone in rigs.evaluated(rig).pose.bones}
    assert set_offset(rig) == {"FINISHED"}
    item.enabled = True
    rigs.update()
    assert item.state == "REACHED"
    for bone in rigs.evaluated(rig).pose.bones:
        assert turn_between(before[bone.name], bone.matrix) <= 2e-5
    turned, quarter = bone_world(rig, "B3"), Matrix.Rotation(0.4, 4, "Z")
    target.matrix_world = quarter @ target.matrix_world
    rig.matrix_world = quarter @ rig.matrix_world
    rigs.update()
    assert turn_between(bone_world(rig, "B3"), quarter @ turned) <= 2e-5


def test_a_scaled_sheared_or_mirrored_target_has_the_orientation_of_its_y_and_z(rig, target):
    holder = rigs.make_empty("Holder", (0, 0, 0))
    holder.scale = (1.5, 0.7, 1.0)
    target.parent, target.location = holder, (0.4, 0.3, 1.5)
    target.scale = (-1.0, 2.0, 0.5)
    oriented(rig, target)
    assert_taken(rig, target, use_tail=True)


@both_ends
def test_a_bone_can_be_the_target(rig, use_tail):
    other = rigs.make_armature({"Aim": ((0.9, 0.4, 2.2), (1.2, 0.9, 2.6), "")}, "Other")
    other.location.x = 0.1
    oriented(rig, other, use_tail, subtarget="Aim")
    wanted = bone_world(other, "Aim")
    assert (rigs.tip_world(rig, "B3", use_tail) - wanted.translation).length <= 2e-5
    assert turn_between(bone_world(rig, "B3"), wanted) <= 2e-5


@both_ends
def test_there_is_no_lag_behind_a_target_that_hangs_on_another_chain(rig, use_tail):
    lead = rigs.make_chain(3, "Lead", ((2, 0, 0), (2, 0.2, 1), (2, 0, 2), (2, 0.1, 3)))
    lead_target = rigs.make_empty("Lead target", (2.5, 0.5, 2))
    weapon = rigs.make_empty("Weapon", (-1.2, 0.1, 0.2))
    weapon.rotation_euler = TURN
    weapon.parent, weapon.parent_type, weapon.parent_bone = lead, "BONE", "B2"
    oriented(rig, weapon, use_tail)
    rigs.add_constraint(lead, "B2", lead_target)
    rigs.update()
    for place in ((2.2, 0.8, 2.1), (2.6, -0.3, 1.8), (2.4, 0.2, 2.3)):
        lead_target.location = place
        rigs.update()
        item = rig.fabrik.constraints[0]
        assert item.error == pytest.approx(rigs.tip_error(rig, "B3", weapon, use_tail), abs=2e-5)
        assert turn_error(rig, weapon) <= 5e-5


def test_a_two_bone_limb_carries_an_oriented_hand(rig, target):
    target.location = (0.9, 0.4, 2.8)
    hand = oriented(rig, target, use_tail=False, solver="TWO_BONE", chain_count=2)
    assert_taken(rig, target, use_tail=False)
    hand.use_tail, hand.chain_count = True, 3
    target.location = (0.4, 0.3, 1.9)
    rigs.update()
    assert_taken(rig, target, use_tail=True)


def test_a_limit_of_the_tip_bone_holds_and_is_said(rig, target):
    joint = rig.pose.bones["B3"].fabrik_joint
    joint.limit_type, joint.hinge_min, joint.hinge_max = "HINGE", 0.0, 0.3
    item = oriented(rig, target)
    assert item.state == "LIMITED"
    assert "orientation" in item.message
    assert rigs.tip_error(rig, "B3", target) <= 1e-3
    turn = rigs.shown_bones(rig)["B3"].rotation_quaternion
    assert max(abs(turn.y), abs(turn.z)) <= 1e-6
    assert -1e-6 <= turn.angle <= 0.3 + 1e-6


def test_the_bones_before_share_the_twist(rig, target):
    target.location = rigs.tip_world(rig, "B3", use_tail=False)
    axis = (rigs.tip_world(rig, "B2") - rigs.tip_world(rig, "B2", use_tail=False)).normalized()
    twisted = Quaternion(axis, 1.6) @ bone_world(rig, "B3").to_quaternion()
    target.rotation_euler = twisted.to_euler()
    item = oriented(rig, target, use_tail=False)
    heads = [bone.head.copy() for bone in rigs.evaluated(rig).pose.bones]
    own = rigs.shown_bones(rig)["B3"].rotation_quaternion.angle
    item.twist_spread = 1.0
    rigs.update()
    assert_taken(rig, target, use_tail=False)
    shared = rigs.shown_bones(rig)["B3"].rotation_quaternion.angle
    assert (own, shared) == (pytest.approx(1.6, abs=1e-4), pytest.approx(0.4, abs=1e-4))
    for head, bone in zip(heads, rigs.evaluated(rig).pose.bones, strict=True):
        assert (head - bone.head).length <= 1e-5


# Weight and influence


def test_a_keyed_weight_turns_the_tip_bone_from_frame_to_frame(rig, target):
    target.location = (0.6, 0.3, 1.5)  # However the tip bone turns, the others can reach.
    item = oriented(rig, target)
    rigs.key(item, "rotation_weight", {1: 0.0, 11: 1.0})
    errors = []
    for frame in (1, 4, 6, 8, 11):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B3", target) <= 1e-4
        errors.append(turn_error(rig, target))
    # At first the bones before it, which are blended as well, may carry it the other way.
    assert errors[1:] == sorted(errors[1:], reverse=True)
    assert errors[-1] <= 2e-5 < 0.1 < errors[0]


# The FK pose


# Offset


def positions(rig: bpy.types.Object) -> list[Vector]:
    return [col.copy() for bone in rigs.evaluated(rig).pose.bones for col in bone.matrix.copy().col]


def assert_still(before: list[Vector], rig: bpy.types.Object) -> None:
    worst = max((a - b).length for a, b in zip(before, positions(rig), strict=True))
    assert worst <= 1e-5


ORDERS = (
    ("bone", "target", "use_offset"),
    ("use_offset", "bone", "target"),
    ("target", "use_offset", "bone"),
)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@both_ends
def test_a_constraint_made_with_an_offset_moves_nothing(rig, target, order, use_tail):
    """In whichever order a script sets it up, and without any update between."""
    rig.pose.bones["B1"].rotation_quaternion = (0.9, 0.2, 0.1, 0.0)
    target.scale = (2.0, 2.0, 0.5)
    rig.location, rig.scale = (0.3, 0.1, 0.2), (1.5, 1.5, 1.5)
    rigs.update()
    before = positions(rig)
    item = rig.fabrik.constraints.add()
    values = {"bone": "B3", "target": target, "use_offset": True}
    for name in order:
        setattr(item, name, values[name])
    item.use_tail = use_tail
    item.use_rotation = True
    rigs.update()
    assert item.state == "REACHED"
    assert item.error <= 1e-5
    assert_still(before, rig)
    # And it follows the target.
    held = rigs.evaluated(target).matrix_world.inverted() @ rigs.tip_world(rig, "B3", use_tail)
    target.rotation_euler.z += 0.2
    target.location.x -= 0.2
    rigs.update()
    now = rigs.evaluated(target).matrix_world.inverted() @ rigs.tip_world(rig, "B3", use_tail)
    assert item.error > 0.01 or (now - held).length <= 1e-4


def test_an_offset_to_a_bone_is_taken_once_the_bone_is_named(rig):
    other = rigs.make_armature({"Aim": ((0.9, 0.4, 2.2), (1.2, 0.9, 2.6), "")}, "Other")
    rigs.update()
    before = positions(rig)
    item = rig.fabrik.constraints.add()
    item.use_offset = True
    item.bone, item.target, item.subtarget = "B3", other, "Aim"
    rigs.update()
    assert item.error <= 1e-5
    assert_still(before, rig)
    other.pose.bones["Aim"].location.y = -0.5
    rigs.update()
    assert item.error <= 1e-4
    assert max((a - b).length for a, b in zip(before, positions(rig), strict=True)) > 0.1


def test_turning_the_switch_on_keeps_the_pose_as_it_is_shown(rig, target):
    item = oriented(rig, target)
    target.rotation_euler.x += 0.3
    rigs.update()
    before = positions(rig)
    item.use_offset = True
    rigs.update()
    assert_still(before, rig)
    assert item.error <= 1e-5


def test_a_typed_offset_counts_in_the_targets_space(rig, target):
    target.scale = (2.0, 1.0, 1.0)
    item = oriented(rig, target, use_offset=True)
    item.offset_location = (-0.2, 0.1, 0.3)
    item.offset_rotation = Euler((0.2, 0.1, -0.3)).to_quaternion()
    rigs.update()
    world = rigs.evaluated(target).matrix_world
    wanted = world @ Vector((-0.2, 0.1, 0.3))
    assert (rigs.tip_world(rig, "B3") - wanted).length <= 2e-5
    turned = upright(world) @ Euler((0.2, 0.1, -0.3)).to_matrix()
    assert turn_between(bone_world(rig, "B3"), turned) <= 2e-5


def test_without_rotation_only_the_place_of_the_offset_counts(rig, target):
    item = rigs.add_constraint(rig, "B3", target)
    rigs.update()
    plain = rigs.pose_bits(rig)
    item.use_offset = True
    item.offset_location = (0, 0, 0)
    item.offset_rotation = Euler((0.2, 0.1, -0.3)).to_quaternion()
    rigs.update()
    assert rigs.pose_bits(rig) == plain


def set_offset(rig):
    rigs.activate(rig)
    return bpy.ops.fabrik.offset_set()


def test_the_button_takes_the_present_pose_and_does_nothing_twice(rig, target):
    item = oriented(rig, target, use_offset=True)
    item.offset_location = (0.1, 0.1, 0.1)
    target.location.z -= 0.1
    rigs.update()
    before = positions(rig)
    assert set_offset(rig) == {"FINISHED"}
    rigs.update()
    stored = (*item.offset_location, *item.offset_rotation)
    pose = rigs.pose_bits(rig)
    assert item.error <= 1e-5
    assert_still(before, rig)
    assert set_offset(rig) == {"FINISHED"}
    rigs.update()
    assert (*item.offset_location, *item.offset_rotation) == stored
    assert rigs.pose_bits(rig) == pose


def test_the_button_says_why_it_is_gray_and_what_went_wrong(rig, target):
    with pytest.raises(RuntimeError, match="No constraint"):
        set_offset(rig)
    item = rigs.add_constraint(rig, "", target)
    with pytest.raises(RuntimeError, match="No tip bone"):
        set_offset(rig)
    item.bone, item.target = "B3", None
    with pytest.raises(RuntimeError, match="No target"):
        set_offset(rig)
    item.target, target.scale = target, (0, 0, 0)
    rigs.update()
    with pytest.raises(RuntimeError, match="zero scale"):
        set_offset(rig)
    item.bone = "Nobody"
    with pytest.raises(RuntimeError, match="No tip bone"):
        set_offset(rig)


def test_adding_a_constraint_with_an_offset_moves_nothing(rig, target):
    rig.pose.bones["B1"].rotation_quaternion = (0.9, 0.2, 0.1, 0.0)
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones["B3"]
    target.select_set(True)
    rigs.update()
    before = positions(rig)
    assert bpy.ops.fabrik.constraint_add(use_offset=True) == {"FINISHED"}
    item = rig.fabrik.constraints[0]
    rigs.update()
    assert item.target == target
    assert item.use_offset
    assert item.state == "REACHED"
    assert_still(before, rig)
    assert bpy.ops.fabrik.constraint_add() == {"FINISHED"}
    assert not rig.fabrik.constraints[1].use_offset


# Bad input


def problem(item) -> str:
    rigs.update()
    assert item.state == "INVALID"
    return item.message


def test_a_chain_of_one_bone_has_none_left_to_reach_with(rig, target):
    item = oriented(rig, target, chain_count=1)
    assert "leaves no bone" in problem(item)
    item.chain_count = 2
    rigs.update()
    assert item.state != "INVALID"


def test_a_target_scaled_to_nothing_has_no_orientation(rig, target):
    item = oriented(rig, target)
    target.scale = (0, 0, 0)
    assert "orientation" in problem(item)
    item.use_rotation = False
    rigs.update()
    assert item.state == "REACHED"


def test_an_offset_that_is_no_number_is_said(rig, target):
    item = oriented(rig, target, use_offset=True)
    item.offset_location = (nan, 0, 0)
    assert "offset" in problem(item)
    item.offset_location = (0, 0, 0)
    rigs.update()
    assert item.state == "REACHED"


def test_two_bone_counts_the_bones_that_reach(rig, target):
    item = oriented(rig, target, solver="TWO_BONE", chain_count=4)
    assert "set Chain Length to 3" in problem(item)
    item.chain_count, item.use_tail = 3, False
    assert "set Chain Length to 2" in problem(item)


def test_a_target_on_the_tip_bone_is_a_cycle(rig, target):
    target.parent, target.parent_type, target.parent_bone = rig, "BONE", "B3"
    item = oriented(rig, target, use_tail=False)
    assert "depends on the chain itself" in problem(item)


# With the rest


def test_a_pole_for_an_oriented_limb_moves_nothing(rig, target):
    target.location = (0.4, 0.3, 1.5)
    oriented(rig, target, use_tail=False, swing=1.0)
    before = positions(rig)
    rigs.activate(rig)
    assert bpy.ops.fabrik.pole_add() == {"FINISHED"}
    rigs.update()
    assert rig.fabrik.constraints[0].pole_target is not None
    assert_still(before, rig)
    assert_taken(rig, target, use_tail=False)


def test_a_typed_offset_outlives_what_is_set_after_it(rig, target):
    item = rig.fabrik.constraints.add()
    item.use_offset = True
    item.offset_location = (0.1, 0.2, 0.3)
    item.bone, item.target = "B3", target
    rigs.update()
    assert tuple(item.offset_location) == pytest.approx((0.1, 0.2, 0.3))
    wanted = rigs.evaluated(target).matrix_world @ Vector((0.1, 0.2, 0.3))
    assert (rigs.tip_world(rig, "B3") - wanted).length <= 2e-5


def test_renaming_the_tip_bone_leaves_the_offset_alone(rig, target):
    item = oriented(rig, target, use_offset=True)
    stored = (*item.offset_location, *item.offset_rotation)
    target.location.z -= 0.2
    rig.data.bones["B3"].name = "Hand"
    rigs.update()
    assert item.bone == "Hand"
    assert (*item.offset_location, *item.offset_rotation) == stored
    assert item.state == "REACHED"
