"""Presets of joints bend a limb as it bends at rest, whatever the roll of its bones."""

from collections.abc import Iterator
from math import cos, degrees, radians, sin
from pathlib import Path
from typing import Any

import bpy
import pytest
from mathutils import Matrix, Quaternion, Vector
from operating import click_bones, enter_pose_mode
from popovers import listed
from rigs import add_constraint, evaluated, make_armature, make_empty, tip_error, update

ROLLS = (0, 90, 180, -90, 33)
FLEXION = Vector((0, 1, 0))
"""The axis, in armature space, about which the limb bends further."""

ONE_WAY = ("Elbow", "Knee", "Finger", "Spider Tibia")


@pytest.fixture(autouse=True)
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let Blender keep the user's presets in a folder of the test."""
    monkeypatch.setenv("BLENDER_USER_SCRIPTS", str(tmp_path))
    yield tmp_path


def make_limb(roll: float, bend: float = 20.0) -> Any:
    """Make a body with a limb along X that bends down, and enter Pose Mode."""
    joints = [Vector((-1, 0, 0)), Vector((0, 0, 0))]
    for angle in (10.0, 10.0 + bend, 10.0 + 2 * bend):
        a = radians(angle)
        joints.append(joints[-1] + Vector((cos(a), 0, -sin(a))))
    names = ["Body", "Upper", "Lower", "End"]
    rig: Any = make_armature(
        {
            name: (tuple(joints[i]), tuple(joints[i + 1]), names[i - 1] if i else "")
            for i, name in enumerate(names)
        }
    )
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.align_roll((bone.head - bone.tail).cross(FLEXION))  # Now X is the axis of flexion.
        bone.roll += radians(roll)
    enter_pose_mode(rig)
    return rig


def apply(rig: Any, preset: str, *names: str, **more: object) -> None:
    click_bones(rig, *names)
    path = listed("joint")[preset]
    assert bpy.ops.fabrik.joint_preset_apply(filepath=path, **more) == {"FINISHED"}


def allows(rig: Any, name: str, axis: Vector, angle: float) -> bool:
    """Return whether a joint may rotate about an axis of armature space from its rest pose."""
    from addon.settings.joint_limits import joints_of

    bone = rig.pose.bones[name]
    (limit,) = joints_of([bone.fabrik_joint], [0]).limits
    rest = bone.bone.matrix_local.to_3x3()
    turn = rest.transposed() @ Matrix.Rotation(radians(angle), 3, axis) @ rest
    wanted = turn.to_quaternion()
    nearest = Quaternion(limit.nearest(tuple(wanted)))
    return degrees(nearest.rotation_difference(wanted).angle) % 360 < 0.1


def across(rig: Any, name: str) -> Vector:
    bone = rig.data.bones[name]
    return FLEXION.cross(bone.tail_local - bone.head_local).normalized()


@pytest.mark.parametrize("roll", ROLLS)
@pytest.mark.parametrize("preset", ONE_WAY)
def test_a_hinge_bends_as_the_limb_does_from_straight_on(preset: str, roll: float) -> None:
    rig = make_limb(roll)
    apply(rig, preset, "Lower")
    for angle, may in ((0, True), (60, True), (-19, True), (-30, False), (-60, False)):
        assert allows(rig, "Lower", FLEXION, angle) == may, angle
    assert not allows(rig, "Lower", across(rig, "Lower"), 30)


@pytest.mark.parametrize("roll", ROLLS)
def test_a_femur_goes_both_ways_from_rest_and_a_coxa_to_the_sides(roll: float) -> None:
    rig = make_limb(roll)
    apply(rig, "Spider Femur", "Lower")
    assert allows(rig, "Lower", FLEXION, 55)
    assert allows(rig, "Lower", FLEXION, -75)
    assert not allows(rig, "Lower", across(rig, "Lower"), 30)
    apply(rig, "Spider Coxa", "Upper")
    assert allows(rig, "Upper", across(rig, "Upper"), 35)
    assert allows(rig, "Upper", across(rig, "Upper"), -35)
    assert not allows(rig, "Upper", FLEXION, 20)


@pytest.mark.parametrize("roll", ROLLS)
@pytest.mark.parametrize(("preset", "wide", "narrow"), [("Hip", 95, 60), ("Shoulder", 107, 106)])
def test_a_cone_is_wide_as_the_limb_bends(
    preset: str, wide: float, narrow: float, roll: float
) -> None:
    rig = make_limb(roll)
    apply(rig, preset, "Upper")
    for sign in (1, -1):
        assert allows(rig, "Upper", FLEXION, sign * wide)
        assert not allows(rig, "Upper", across(rig, "Upper"), sign * narrow)
        assert allows(rig, "Upper", across(rig, "Upper"), sign * 40)


@pytest.mark.parametrize("roll", ROLLS)
def test_a_round_cone_is_the_same_everywhere(roll: float) -> None:
    rig = make_limb(roll, 0.0)
    apply(rig, "Tail Segment", "Lower")
    joint = rig.pose.bones["Lower"].fabrik_joint
    assert (joint.limit_type, tuple(joint.center)) == ("CONE", (0, 0, 0))
    assert joint.swing_x == joint.swing_z == pytest.approx(radians(30))


def test_a_hinge_about_an_axis_of_the_bone_is_named_so() -> None:
    found = []
    for roll in (0, 90, 180, -90):
        rig = make_limb(roll)
        apply(rig, "Elbow", "Lower")
        joint = rig.pose.bones["Lower"].fabrik_joint
        ends = (round(degrees(joint.hinge_min)), round(degrees(joint.hinge_max)))
        found.append((joint.hinge_axis, ends))
    assert {axis for axis, _ in found} == {"X", "Z"}
    assert {ends for _, ends in found} == {(-20, 130), (-130, 20)}


def test_each_selected_bone_bends_its_own_way() -> None:
    """Fingers, and the arms of both sides, at once."""
    rig = make_limb(0.0)
    apply(rig, "Finger", "Lower", "End")
    for name in ("Lower", "End"):
        assert allows(rig, name, FLEXION, 60)
        assert not allows(rig, name, FLEXION, -40)


@pytest.mark.parametrize("roll", ROLLS)
def test_an_arm_with_any_roll_reaches_with_an_elbow(roll: float) -> None:
    """The preset once bent all elbows about X, and an arm that bends about Z not at all."""
    rig = make_limb(roll)
    target = make_empty(location=(1.0, 0.0, -0.6))
    item = add_constraint(rig, "Lower", target, chain_count=2, solver="TWO_BONE", swing=1.0)
    apply(rig, "Elbow", "Lower")
    update()
    assert item.state == "REACHED"
    assert tip_error(rig, "Lower", target) < 1e-3
    bones = evaluated(rig).pose.bones
    way = bones["Upper"].matrix.to_3x3().col[1].cross(bones["Lower"].matrix.to_3x3().col[1])
    assert way.normalized().dot(FLEXION) > 0.99


# Straight limbs


def test_a_straight_limb_without_a_pole_asks_and_changes_nothing() -> None:
    rig = make_limb(33, 0.0)
    joint = rig.pose.bones["Lower"].fabrik_joint
    joint.limit_type, joint.stiffness = "CONE", 0.25
    with pytest.raises(RuntimeError, match="pole target: “Lower”"):
        apply(rig, "Elbow", "Lower")
    assert (joint.limit_type, joint.stiffness) == ("CONE", 0.25)
    with pytest.raises(RuntimeError, match="pole target: “Lower” and “Upper”"):
        apply(rig, "Hip", "Lower", "Upper")
    for axis, low, high in (("X", 0, 150), ("-X", -150, 0), ("Z", 0, 150), ("-Z", -150, 0)):
        apply(rig, "Elbow", "Lower", axis=axis)
        assert (joint.limit_type, joint.hinge_axis) == ("HINGE", axis[-1])
        assert degrees(joint.hinge_min) == pytest.approx(low, abs=1e-4)
        assert degrees(joint.hinge_max) == pytest.approx(high, abs=1e-4)


@pytest.mark.parametrize("roll", ROLLS)
@pytest.mark.parametrize("angle", [0.0, 90.0])
@pytest.mark.parametrize("is_posed", [False, True])
def test_a_straight_limb_bends_to_its_pole(roll: float, angle: float, is_posed: bool) -> None:
    rig = make_limb(roll, 0.0)
    rig.matrix_world = Matrix.LocRotScale((1, 2, 3), Quaternion((0, 0, 1), 0.7), (2, 2, 2))
    if is_posed:
        rig.pose.bones["Body"].rotation_quaternion = Quaternion((1, 2, 3), 0.5)
    update()
    posed = evaluated(rig)
    root, elbow, tip = (
        posed.matrix_world @ place
        for place in (
            posed.pose.bones["Upper"].head,
            posed.pose.bones["Lower"].head,
            posed.pose.bones["Lower"].tail,
        )
    )
    along = (tip - root).normalized()
    side = along.orthogonal().normalized()
    item = add_constraint(rig, "Lower", make_empty("Target", tip), chain_count=2, solver="TWO_BONE")
    item.pole_target = make_empty("Pole", elbow + 3 * side)
    item.pole_angle = radians(angle)
    update()
    bent = pose_of(rig, item.target, root + 0.7 * (tip - root))
    elbow = bent[1][3].to_3d() - root
    out = (elbow - elbow.dot(along) * along).normalized()
    assert out.dot(Matrix.Rotation(radians(angle), 3, along) @ side) > 0.999
    pose_of(rig, item.target, tip)

    apply(rig, "Elbow", "Lower")

    # With the wrong axis the arm would bend to its pole as well, but twisted at the shoulder.
    assert off(bent, pose_of(rig, item.target, root + 0.7 * (tip - root))) < 1e-3
    apply(rig, "Elbow", "Lower", axis="X")
    assert off(bent, pose_of(rig, item.target, root + 0.7 * (tip - root))) > 0.5


def pose_of(rig: Any, target: Any, place: Vector) -> list[Matrix]:
    """Move a target, and return the world matrices of the limb, by columns."""
    target.location = place
    update()
    posed = evaluated(rig)
    names = ("Upper", "Lower")
    return [(posed.matrix_world @ posed.pose.bones[name].matrix).transposed() for name in names]


def off(a: list[Matrix], b: list[Matrix]) -> float:
    rows = [(r, s) for m, n in zip(a, b, strict=True) for r, s in zip(m, n, strict=True)]
    return max((r - s).length for r, s in rows)


# Presets of users


def test_presets_of_users_are_applied_as_saved_unless_an_axis_is_chosen(scripts: Path) -> None:
    rig = make_limb(33)
    joint = rig.pose.bones["Lower"].fabrik_joint
    joint.limit_type, joint.hinge_axis, joint.hinge_max = "HINGE", "Z", radians(80)
    rig.data.bones.active = rig.data.bones["Lower"]
    assert bpy.ops.fabrik.joint_preset_add(name="Mine") == {"FINISHED"}
    apply(rig, "Mine", "Upper", "End")
    for name in ("Upper", "End"):
        own = rig.pose.bones[name].fabrik_joint
        assert (own.hinge_axis, round(degrees(own.hinge_max))) == ("Z", 80)
    apply(rig, "Mine", "End", axis="-X")
    own = rig.pose.bones["End"].fabrik_joint
    assert (own.hinge_axis, round(degrees(own.hinge_min))) == ("X", -80)
