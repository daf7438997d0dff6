"""Locks and limits that bones have for Blender's IK hold wherever IK is added, and in drags."""

import itertools
from collections.abc import Callable
from math import asin, radians
from pathlib import Path
from typing import Any

import bpy
import pytest
from mathutils import Vector
from operating import click_bones, enter_pose_mode
from rigs import add_constraint, make_armature, make_empty, shown_bones, update

GOALS = ((0.2, 0.3, 1.0), (-0.3, -0.2, 0.9), (0.0, 0.4, 0.9))
COUNTS = (2, 3, 7)


def arm(count: int) -> Any:
    """Return an arm above a base, slightly bent about X, with a hand."""
    zigzag = [(0.0, 0.03 * (i % 2), 0.3 + 1.2 * i / count) for i in range(count + 1)]
    bones = {"Base": ((0, 0, 0), (0, 0, 0.3), "")}
    above = "Base"
    for i, (head, tail) in enumerate(itertools.pairwise(zigzag)):
        bones[f"A{i}"] = (head, tail, above)
        above = f"A{i}"
    bones["Hand"] = (zigzag[-1], (0, 0.02, 1.7), above)
    rig = make_armature(bones)
    enter_pose_mode(rig)
    return rig


def axes_of(count: int) -> list[str]:
    """Return the axis that each joint of the arm rotates about; in a long one they alternate."""
    return ["XZ"[i % 2] if count > 3 else "X" for i in range(count)]


def lock(bone: Any, axis: str) -> None:
    for other in {"X", "Y", "Z"} - {axis}:
        setattr(bone, f"lock_ik_{other.lower()}", True)


def limit(bone: Any, axis: str) -> None:
    for other in {"x", "y", "z"} - {axis.lower()}:
        setattr(bone, f"use_ik_limit_{other}", True)
        setattr(bone, f"ik_min_{other}", 0.0)
        setattr(bone, f"ik_max_{other}", 0.0)


RESTRICTIONS: dict[str, Callable[[Any, str], None]] = {"lock": lock, "limit": limit}


def restricted(count: int, kind: str) -> Any:
    rig = arm(count)
    for i, axis in enumerate(axes_of(count)):
        RESTRICTIONS[kind](rig.pose.bones[f"A{i}"], axis)
    return rig


def most_turned(rig: Any, count: int) -> float:
    """Return the largest rotation from rest about an axis that a bone must not rotate about."""
    shown, most = shown_bones(rig), 0.0
    for i, axis in enumerate(axes_of(count)):
        bone = shown[f"A{i}"]
        rest = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
        turn = (rest.inverted() @ bone.parent.matrix.inverted() @ bone.matrix).to_quaternion()
        aside = [x for x, name in zip(turn[1:], "XYZ", strict=True) if name != axis]
        most = max(most, 2.0 * asin(min(1.0, Vector((*aside, 0.0)).length)))
    return most


def constraint_add(rig: Any, count: int) -> None:
    click_bones(rig, f"A{count - 1}")
    assert bpy.ops.fabrik.constraint_add(controls="EMPTY", chain_count=count) == {"FINISHED"}


def limb_add(rig: Any, count: int) -> None:
    click_bones(rig, "Hand")
    options = {"controls": "EMPTY", "use_both_sides": False, "chain_count": count}
    assert bpy.ops.fabrik.limb_add(**options) == {"FINISHED"}


ADDERS: dict[str, Callable[[Any, int], None]] = {"constraint": constraint_add, "limb": limb_add}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", RESTRICTIONS)
@pytest.mark.parametrize("adder", ADDERS)
def test_what_is_locked_stays_after_adding(adder: str, kind: str, count: int) -> None:
    rig = restricted(count, kind)
    ADDERS[adder](rig, count)
    (item,) = rig.fabrik.constraints
    bones = [rig.pose.bones[f"A{i}"] for i in range(count)]
    assert {bone.fabrik_joint.limit_type for bone in bones} == {"BLENDER"}
    for goal in GOALS:
        item.target.location = goal
        update()
        assert most_turned(rig, count) < radians(0.01)


@pytest.mark.parametrize("adder", ADDERS)
def test_removing_restores_the_joints_that_adding_has_set(adder: str) -> None:
    rig = restricted(2, "lock")
    rig.pose.bones["A1"].fabrik_joint.limit_type = "CONE"
    ADDERS[adder](rig, 2)
    joints = [rig.pose.bones[f"A{i}"].fabrik_joint for i in range(2)]
    assert [joint.limit_type for joint in joints] == ["BLENDER", "CONE"]
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert [joint.limit_type for joint in joints] == ["NONE", "CONE"]


def test_a_joint_stays_as_it_is_while_another_constraint_poses_its_bone() -> None:
    rig = restricted(3, "lock")
    constraint_add(rig, 3)
    add_constraint(rig, "A0", make_empty("Other"), chain_count=1)
    rig.fabrik.active_index = 0
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    kinds = [rig.pose.bones[f"A{i}"].fabrik_joint.limit_type for i in range(3)]
    assert kinds == ["BLENDER", "NONE", "NONE"]


def test_stiffness_counts_and_bones_without_anything_are_left_alone() -> None:
    rig = arm(3)
    rig.pose.bones["A1"].ik_stiffness_x = 0.5
    constraint_add(rig, 3)
    kinds = [rig.pose.bones[f"A{i}"].fabrik_joint.limit_type for i in range(3)]
    assert kinds == ["NONE", "BLENDER", "NONE"]


def test_a_gaze_keeps_what_is_locked() -> None:
    rig = restricted(2, "lock")
    click_bones(rig, "A1")
    assert bpy.ops.fabrik.look_add(controls="EMPTY", chain_count=2) == {"FINISHED"}
    (item,) = rig.fabrik.constraints
    item.target.location = (2.0, 1.0, 1.0)
    update()
    assert most_turned(rig, 2) < radians(0.01)


def test_linked_armature_data_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rig = restricted(2, "lock")
    path = str(tmp_path / "rig.blend")
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.data.libraries.write(path, {rig.data})
    with bpy.data.libraries.load(path, link=True) as (source, target):
        target.armatures = source.armatures
    rig.data = target.armatures[0]
    update()
    enter_pose_mode(rig)
    constraint_add(rig, 2)
    assert "Blender's IK limits of “A0” and “A1” aren't used" in capfd.readouterr().out


@pytest.mark.parametrize("kind", RESTRICTIONS)
@pytest.mark.parametrize("count", COUNTS)
def test_a_dragged_bone_keeps_what_is_locked(count: int, kind: str) -> None:
    rig = restricted(count, kind)
    rig.pose.bones["Base"].lock_rotation = (True, True, True)
    rig.pose.bones["Base"].lock_rotation_w = True
    tip = f"A{count - 1}"
    before = shown_bones(rig)[tip].tail.copy()
    for way in ((0.3, 0.2, -0.3), (-0.2, 0.3, -0.2)):
        arguments = {"armature": rig.name, "bone": tip, "value": way}
        assert bpy.ops.fabrik.drag(**arguments) == {"FINISHED"}
        update()
        assert most_turned(rig, count) < radians(0.01)
    assert (shown_bones(rig)[tip].tail - before).length > 0.05
