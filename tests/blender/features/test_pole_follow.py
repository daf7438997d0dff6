"""Poles follow the hand or foot, in part."""

from typing import Any

import bpy
import pytest
from humans import make_human
from mathutils import Matrix, Quaternion, Vector
from operating import add_limbs, click_bones
from rigs import evaluated, go, key, make_empty, update

TURN = Quaternion((0.2, 0.9, 0.4), 1.1)
SHIFT = Vector((0.03, -0.08, 0.12))


def followed(share: float) -> tuple[Any, Any]:
    """Return a human with IK on a leg, whose pole follows, and the constraint."""
    rig = make_human(False)
    add_limbs(rig, "foot.L")
    item = rig.fabrik.constraints[0]
    item.use_pole_follow, item.pole_follow = True, share
    update()
    return rig, item


def matrix(rig: Any, bone: str) -> Matrix:
    return evaluated(rig).pose.bones[bone].matrix.copy()


def joints(rig: Any) -> list[Vector]:
    posed = evaluated(rig).pose.bones
    return [posed[name].head.copy() for name in ("thigh.L", "shin.L", "foot.L", "foot Pole.L")]


def apart(a: list[Vector], b: list[Vector]) -> float:
    return max((p - q).length for p, q in zip(a, b, strict=True))


def move_target(rig: Any) -> None:
    target = rig.pose.bones["foot IK.L"]
    target.rotation_mode = "QUATERNION"
    rest = target.bone.matrix_local.to_3x3()
    target.rotation_quaternion, target.location = TURN, rest.inverted() @ SHIFT
    update()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_pole_moves_by_a_share_of_its_targets_motion(share: float) -> None:
    rig, item = followed(share)
    rig.pose.bones["foot Pole.L"].location = (0.02, 0.05, -0.04)
    update()
    pole, target = matrix(rig, "foot Pole.L"), matrix(rig, "foot IK.L")

    move_target(rig)

    motion = matrix(rig, "foot IK.L") @ target.inverted()
    if share == 1.0:
        wanted = motion @ pole
        assert (matrix(rig, "foot Pole.L").translation - wanted.translation).length < 1e-5
    turned = matrix(rig, "foot Pole.L").to_quaternion().rotation_difference(pole.to_quaternion())
    assert turned.angle == pytest.approx(share * motion.to_quaternion().angle, abs=1e-3)
    assert item.state == "REACHED"
    # The knee faces the pole where it is drawn.
    hip, knee, ankle, at = joints(rig)
    axis = (ankle - hip).normalized()
    sides = [v - axis * v.dot(axis) for v in (knee - hip, at - hip)]
    assert sides[0].angle(sides[1]) < 1e-3
    # What the channels hold is the animator's.
    assert tuple(rig.pose.bones["foot Pole.L"].location) == pytest.approx((0.02, 0.05, -0.04))


def test_the_root_moves_pole_and_target_once() -> None:
    rig, _ = followed(0.6)
    before = joints(rig)
    rig.pose.bones["root"].location = (0.4, 0.0, 0.2)
    update()
    shifts = [after - old for old, after in zip(before, joints(rig), strict=True)]
    assert max((shift - shifts[0]).length for shift in shifts) < 1e-5
    assert shifts[0].length > 0.4


def test_a_share_is_keyed_and_frames_are_the_same_however_reached() -> None:
    rig, item = followed(0.0)
    move_target(rig)
    key(item, "pole_follow", {1: 0.0, 11: 1.0})
    shown = []
    for frame in (1, 4, 11, 4):
        go(frame)
        shown.append(joints(rig))
    assert shown[1] == shown[3]
    assert apart(shown[0], shown[2]) > 0.02
    assert bpy.ops.fabrik.bake(frame_start=1, frame_end=11, afterwards="DISABLE") == {"FINISHED"}
    for frame, joint in zip((1, 4, 11), shown, strict=False):
        go(frame)
        assert apart(joint[:3], joints(rig)[:3]) < 1e-5


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_fk_is_matched(share: float) -> None:
    rig, item = followed(share)
    move_target(rig)
    item.influence = 0.0
    for name, turn in (("thigh.L", (0.4, 0.2, -0.1)), ("shin.L", (0.8, 0.0, 0.0))):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = turn
    update()
    before = joints(rig)
    click_bones(rig, "foot.L")
    assert bpy.ops.fabrik.snap_to_fk() == {"FINISHED"}
    item.influence = 1.0
    update()
    assert apart(before[:3], joints(rig)[:3]) < 1e-4


def test_it_is_mirrored_with_its_limb() -> None:
    rig, _ = followed(0.5)
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    left, right = rig.fabrik.constraints
    assert (right.use_pole_follow, right.pole_follow) == (True, 0.5)
    move_target(rig)
    target, other = (rig.pose.bones[f"foot IK.{side}"] for side in "LR")
    reflection = Matrix.Diagonal((-1.0, 1.0, 1.0, 1.0))
    other.rotation_mode = "QUATERNION"
    other.matrix_basis = reflection @ target.matrix_basis @ reflection
    update()
    assert left.state == right.state
    shown = evaluated(rig).pose.bones
    for name in ("foot Pole", "shin"):
        mirrored = shown[f"{name}.R"].head * Vector((-1, 1, 1))
        assert (shown[f"{name}.L"].head - mirrored).length < 1e-4


def test_a_followed_pole_is_dragged_where_the_mouse_goes() -> None:
    rig, _ = followed(0.5)
    move_target(rig)
    before, shift = rig.matrix_world @ joints(rig)[3], Vector((0.1, -0.05, 0.02))
    assert bpy.ops.fabrik.drag(bone="foot Pole.L", value=shift) == {"FINISHED"}
    update()
    assert (rig.matrix_world @ joints(rig)[3] - before - shift).length < 1e-5


@pytest.mark.parametrize("wrong", ["empty", "held", "child"])
def test_what_keeps_a_pole_from_following_is_said(wrong: str) -> None:
    rig, item = followed(1.0)
    if wrong == "empty":
        item.pole_target, item.pole_subtarget = make_empty(location=(0.1, -1.0, 0.5)), ""
    elif wrong == "held":
        click_bones(rig, "foot Pole.L")
        assert bpy.ops.fabrik.hold(by="WORLD") == {"FINISHED"}
    else:
        bpy.ops.object.mode_set(mode="EDIT")
        bones = rig.data.edit_bones
        bones["foot Pole.L"].parent = bones["foot IK.L"]
        bpy.ops.object.mode_set(mode="POSE")
    update()
    item = rig.fabrik.constraints[0]
    said = {"empty": "needs a target and a pole", "held": "is held", "child": "is parented to"}
    assert said[wrong] in item.message
    assert item.state == "REACHED"
