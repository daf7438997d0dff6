"""Learning limits from actions."""

from collections.abc import Sequence
from math import pi, radians, sqrt
from typing import Any

import bpy
import pytest
from hinges import KEPT, hinge_angle, swing_and_twist
from mathutils import Euler, Quaternion, Vector
from operating import refuses, select_bones
from rigs import activate, as_strip, go, make_chain, update

MARGIN = radians(5)


@pytest.fixture
def rig(empty_file: None) -> bpy.types.Object:
    rig = make_chain(3)
    activate(rig, "POSE")
    select(rig, "B1")
    return rig


def select(rig: bpy.types.Object, *names: str) -> None:
    """Select bones, the last of them active."""
    select_bones(rig, *names)
    rig.data.bones.active = rig.data.bones[names[-1]] if names else None


def key(rig: bpy.types.Object, name: str, turns: Sequence[Any], step: int = 10) -> None:
    """Key turns of a bone, in its rotation mode, every few frames."""
    bone = rig.pose.bones[name]
    for i, turn in enumerate(turns):
        turn = turn if isinstance(turn, Quaternion) else Euler(turn).to_quaternion()
        if bone.rotation_mode == "QUATERNION":
            bone.rotation_quaternion = turn
            channel = "rotation_quaternion"
        elif bone.rotation_mode == "AXIS_ANGLE":
            axis, angle = turn.to_axis_angle()
            sign = -1 if sum(axis) < 0 else 1  # So that the axis does not swing from key to key.
            bone.rotation_axis_angle = (angle * sign, *(axis * sign))
            channel = "rotation_axis_angle"
        else:
            bone.rotation_euler = turn.to_euler(bone.rotation_mode)
            channel = "rotation_euler"
        bone.keyframe_insert(channel, frame=1 + i * step)


def seen(rig: bpy.types.Object, name: str, last: int) -> list[Quaternion]:
    """Return the turns out of the rest pose at each frame, as Blender plays them."""
    turns = []
    for frame in range(1, last + 1):
        go(frame)
        turns.append(rig.pose.bones[name].matrix_basis.to_quaternion())
    return turns


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "ZXY", "AXIS_ANGLE"])
@pytest.mark.parametrize(("index", "axis"), [(0, "X"), (2, "Z")])
def test_a_bone_that_turns_about_one_axis_becomes_a_hinge(
    rig: bpy.types.Object, mode: str, index: int, axis: str
) -> None:
    rig.pose.bones["B1"].rotation_mode = mode
    angles = [[angle if i == index else 0.0 for i in range(3)] for angle in (-0.2, 0.5, 1.1)]
    key(rig, "B1", angles)
    assert bpy.ops.fabrik.joint_learn() == {"FINISHED"}
    joint = rig.pose.bones["B1"].fabrik_joint
    assert (joint.limit_type, joint.hinge_axis) == ("HINGE", axis)
    assert joint.hinge_min == pytest.approx(-0.2 - MARGIN, abs=1e-3)
    assert joint.hinge_max == pytest.approx(1.1 + MARGIN, abs=1e-3)


def test_an_axis_between_those_of_the_bone_is_found(rig: bpy.types.Object) -> None:
    axis = Vector((0.5, 0.4, -0.6)).normalized()
    key(rig, "B1", [Quaternion(axis, angle) for angle in (0, 0.5, 1.2)])
    bpy.ops.fabrik.joint_learn(margin=0.1)
    joint = rig.pose.bones["B1"].fabrik_joint
    assert (joint.limit_type, joint.hinge_axis) == ("HINGE", "FREE")
    found = Vector(joint.hinge_vector)
    assert abs(found.dot(axis)) > 0.9999
    for turn in seen(rig, "B1", 21):
        angle, aside = hinge_angle(turn, found)
        assert joint.hinge_min + 0.099 <= angle <= joint.hinge_max - 0.099
        assert aside < 1e-3
    assert joint.hinge_max - joint.hinge_min == pytest.approx(1.4, abs=1e-2)


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "YZX", "AXIS_ANGLE"])
def test_a_bone_that_turns_every_way_becomes_a_cone_around_its_turns(
    rig: bpy.types.Object, mode: str
) -> None:
    rig.pose.bones["B1"].rotation_mode = mode
    key(rig, "B1", [(0.9, 0, 0.2), (1.3, 0.3, -0.4), (0.7, -0.5, 0.6), (0.2, 0.1, 0.1)])
    bpy.ops.fabrik.joint_learn(margin=0.02)
    joint = rig.pose.bones["B1"].fabrik_joint
    assert joint.limit_type == "CONE"
    back = Euler(joint.center).to_quaternion().inverted()
    sizes, twists = [], []
    for turn in seen(rig, "B1", 31):
        x, z, twist = swing_and_twist(back @ turn)
        sizes.append(sqrt((x / joint.swing_x) ** 2 + (z / joint.swing_z) ** 2))
        twists.append(twist)
    assert 0.85 < max(sizes) < 1, "all turns are in it, and it is no wider than they need"
    assert joint.twist_min == pytest.approx(min(twists) - 0.02, abs=1e-3)
    assert joint.twist_max == pytest.approx(max(twists) + 0.02, abs=1e-3)


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
@pytest.mark.parametrize("is_still", [False, True])
@pytest.mark.parametrize("size", [1.0, 0.5])
def test_what_does_not_inherit_rotation_is_learned_relative_to_its_parent(
    rig: bpy.types.Object, mode: str, is_still: bool, size: float
) -> None:
    """It may hold still while its parent rotates; both bones are read as they are played."""
    rig.pose.bones["B1"].rotation_mode = mode
    rig.data.bones["B1"].use_inherit_rotation = False
    rig.pose.bones["B0"].scale = (size, 1.0, 1.0)
    for frame in (1, 5):
        rig.pose.bones["B0"].keyframe_insert("scale", frame=frame)
    key(rig, "B0", [(0.1, 0, 0), (0.9, 0, 0), (0.4, 0, 0)])
    if not is_still:
        key(rig, "B1", [(0.2, 0, 0), (-0.3, 0, 0), (0.5, 0, 0)])
    assert bpy.ops.fabrik.joint_learn() == {"FINISHED"}
    joint, angles = rig.pose.bones["B1"].fabrik_joint, []
    for frame in range(1, 22):
        go(frame)
        parent, bone = (rig.pose.bones[name] for name in ("B0", "B1"))
        rest = parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
        turn = (rest.inverted() @ parent.matrix.inverted() @ bone.matrix).to_quaternion()
        angles.append(hinge_angle(turn, Vector((1, 0, 0)))[0])
    assert (joint.limit_type, joint.hinge_axis) == ("HINGE", "X")
    assert joint.hinge_min == pytest.approx(min(angles) - MARGIN, abs=1e-3)
    assert joint.hinge_max == pytest.approx(max(angles) + MARGIN, abs=1e-3)


@pytest.mark.parametrize("kind", ["HINGE", "CONE"])
def test_the_kind_can_be_chosen(rig: bpy.types.Object, kind: str) -> None:
    key(rig, "B1", [(0, 0, 0), (0.8, 0.3, 0.2), (0.3, 0.0, 0.4)])
    bpy.ops.fabrik.joint_learn(kind=kind)
    assert rig.pose.bones["B1"].fabrik_joint.limit_type == kind


def test_a_bone_that_is_keyed_but_never_turns_gets_only_the_margin(rig: bpy.types.Object) -> None:
    key(rig, "B1", [(0, 0, 0), (0, 0, 0)])
    bpy.ops.fabrik.joint_learn(margin=0.1)
    joint = rig.pose.bones["B1"].fabrik_joint
    assert joint.limit_type == "CONE"
    assert (joint.swing_x, joint.swing_z) == pytest.approx((0.1, 0.1))
    assert (joint.twist_min, joint.twist_max) == pytest.approx((-0.1, 0.1))


def test_turns_between_the_keys_count(rig: bpy.types.Object) -> None:
    """A curve overshoots between keys: here by its handles."""
    rig.pose.bones["B1"].rotation_mode = "XYZ"
    key(rig, "B1", [(0, 0, 0), (0.5, 0, 0), (0, 0, 0)])
    from rigs import curves

    for point in next(c for c in curves(rig) if c.array_index == 0).keyframe_points:
        point.interpolation = "BACK"
    highest = max(2 * abs(turn.x) for turn in seen(rig, "B1", 21))
    bpy.ops.fabrik.joint_learn(margin=0)
    assert highest > 0.51
    assert rig.pose.bones["B1"].fabrik_joint.hinge_max > highest - 1e-3


def test_turns_beyond_half_a_turn_stay_within_one(rig: bpy.types.Object) -> None:
    rig.pose.bones["B1"].rotation_mode = "XYZ"
    bone = rig.pose.bones["B1"]
    for frame, angle in ((1, 0.0), (41, 9.0)):
        bone.rotation_euler = (angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.fabrik.joint_learn()
    joint = bone.fabrik_joint
    assert joint.limit_type == "HINGE"
    assert (joint.hinge_min, joint.hinge_max) == pytest.approx((-pi, pi), abs=1e-5)


def test_a_hinge_may_turn_through_half_a_turn(rig: bpy.types.Object) -> None:
    rig.pose.bones["B1"].rotation_mode = "XYZ"
    for frame, angle in ((1, radians(150)), (21, radians(220))):
        rig.pose.bones["B1"].rotation_euler = (angle, 0, 0)
        rig.pose.bones["B1"].keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.fabrik.joint_learn()
    joint = rig.pose.bones["B1"].fabrik_joint
    ends = (joint.hinge_min - radians(145), joint.hinge_max - radians(225))
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)
    assert round(ends[0] / (2 * pi), 3) in (-1, 0)


def test_actions_of_the_nla_count_as_well(rig: bpy.types.Object) -> None:
    key(rig, "B1", [(0, 0, 0), (0.8, 0, 0)])
    as_strip(rig)
    key(rig, "B1", [(0, 0, 0), (-0.4, 0, 0)])
    bpy.ops.fabrik.joint_learn(margin=0)
    joint = rig.pose.bones["B1"].fabrik_joint
    assert (joint.hinge_min, joint.hinge_max) == pytest.approx((-0.4, 0.8), abs=1e-3)


def test_actions_that_the_armature_does_not_use_count_only_if_asked(rig: bpy.types.Object) -> None:
    key(rig, "B1", [(0, 0, 0), (0.8, 0, 0)])
    rig.animation_data.action = None
    joint = rig.pose.bones["B1"].fabrik_joint
    refuses(bpy.ops.fabrik.joint_learn, "enable All Actions")
    assert joint.limit_type == "NONE"
    bpy.ops.fabrik.joint_learn(everywhere=True)
    assert joint.limit_type == "HINGE"


def test_each_selected_bone_learns_its_own(rig: bpy.types.Object) -> None:
    key(rig, "B0", [(0, 0, 0), (0.3, 0, 0.4), (0.3, 0.5, -0.4)])
    key(rig, "B1", [(0, 0, 0), (0.8, 0, 0)])
    select(rig, "B2", "B1", "B0")
    bpy.ops.fabrik.joint_learn()
    kinds = [bone.fabrik_joint.limit_type for bone in rig.pose.bones]
    assert kinds == ["CONE", "HINGE", "NONE"]


def test_the_active_bone_is_enough(rig: bpy.types.Object) -> None:
    key(rig, "B1", [(0, 0, 0), (0.8, 0, 0)])
    select(rig)
    rig.data.bones.active = rig.data.bones["B1"]
    bpy.ops.fabrik.joint_learn()
    assert rig.pose.bones["B1"].fabrik_joint.limit_type == "HINGE"


def test_it_is_gray_outside_of_pose_mode(rig: bpy.types.Object) -> None:
    bpy.ops.object.mode_set(mode="OBJECT")
    refuses(bpy.ops.fabrik.joint_learn, "Enter Pose Mode")


def test_the_pose_during_learning_is_left_alone(rig: bpy.types.Object) -> None:
    key(rig, "B1", [(0, 0, 0), (0.8, 0, 0)])
    go(6)
    before = rig.pose.bones["B1"].rotation_quaternion[:]
    bpy.ops.fabrik.joint_learn()
    update()
    assert rig.pose.bones["B1"].rotation_quaternion[:] == pytest.approx(before, abs=KEPT)
