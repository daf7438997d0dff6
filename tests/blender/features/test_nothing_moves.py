"""Setting up legs of any build moves nothing, and lets them reach all that they could reach."""

from collections.abc import Callable
from itertools import pairwise
from math import radians, sin
from typing import Any

import bpy
import pytest
from characters import ANIMALS, make_animal
from creatures import make_mech
from kept_files import new_file
from mathutils import Matrix, Vector
from operating import enter_pose_mode
from rigs import activate, evaluated, make_armature, update

pytestmark = pytest.mark.newest

BUILDS: dict[str, dict[str, Any]] = {
    "flat": {"aside": 0.0},
    "nearly flat": {"aside": 0.02},
    "skew": {},
    "two bones": {"bones": 2, "aside": 0.05},
    "tails near joints": {"tails": "NEAR"},
    "tails anywhere": {"tails": "ANYWHERE"},
    "scaled": {"aside": 0.02, "scale": (1.0, 1.5, 0.8)},
    "mirrored": {"aside": 0.02, "scale": (-1.0, 1.5, 0.8)},
    "posed": {"posed": 0.3},
    "posed, flat": {"aside": 0.0, "posed": 0.05},
    "posed, two bones": {"bones": 2, "aside": 0.05, "posed": 0.3},
    "posed, scaled": {"posed": 0.3, "scale": (1.0, 1.5, 0.8)},
}
SEEDS = range(6)


def set_up(rig: bpy.types.Object) -> None:
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}


def add_limbs(rig: bpy.types.Object) -> None:
    enter_pose_mode(rig, click="Foot.L")
    assert bpy.ops.fabrik.limb_add(use_both_sides=True) == {"FINISHED"}


def add_limbs_with_empties(rig: bpy.types.Object) -> None:
    enter_pose_mode(rig, click="Foot.L")
    assert bpy.ops.fabrik.limb_add(use_both_sides=True, controls="EMPTY") == {"FINISHED"}


TOOLS = (set_up, add_limbs, add_limbs_with_empties)


def shown(rig: bpy.types.Object) -> dict[str, Matrix]:
    update()
    posed = evaluated(rig)
    return {bone.name: posed.matrix_world @ bone.matrix for bone in posed.pose.bones}


def joints_of(rig: bpy.types.Object, item: Any) -> list[str]:
    """Return the bones of a leg, and its foot."""
    foot = rig.pose.bones[item.bone]
    return [bone.name for bone in reversed((foot, *foot.parent_recursive[: item.chain_count]))]


def length(places: list[Vector]) -> float:
    return sum((a - b).length for a, b in pairwise(places))


def legs(rig: bpy.types.Object) -> list[Any]:
    return [item for item in rig.fabrik.constraints if item.pole_target is not None]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("build", BUILDS)
def test_nothing_moves(build: str, tool: Callable[[bpy.types.Object], None]) -> None:
    for seed in SEEDS:
        new_file()
        rig = make_mech(seed, **BUILDS[build])
        before = shown(rig)
        tool(rig)
        after = shown(rig)
        assert len(legs(rig)) == 2
        for item in legs(rig):
            names = joints_of(rig, item)
            size = length([before[name].translation for name in names])
            for name in names:
                a, b = before[name], after[name]
                assert (a.translation - b.translation).length <= 5e-4 * size, (seed, name)
                for k in range(3):
                    one, two = a.col[k].to_3d(), b.col[k].to_3d()
                    assert (one - two).length <= radians(0.1) * one.length, (seed, name, k)


def test_a_body_without_height_is_measured_by_its_legs(capfd) -> None:
    bones = {"torso": ((0, 0, 0.522), (0, 0.5, 0.522), "")}
    for front, y in (("front", 1.0), ("back", -1.0)):
        for side, x in (("L", 1.0), ("R", -1.0)):
            joints = [
                (x * out, y * out, z)
                for out, z in ((0, 0.522), (0.2, 0.522), (0.4, 0.522), (0.621, -0.005))
            ]
            names = [f"{front}_{part}.{side}" for part in ("leg", "shin", "foot")]
            for name, parent, (head, tail) in zip(
                names, ("torso", *names), pairwise(joints), strict=False
            ):
                bones[name] = (head, tail, parent)
    rig = make_armature(bones)
    set_up(rig)
    assert len(legs(rig)) == 4
    assert "moved" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("is_posed", [False, True])
@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("name", ANIMALS)
def test_nothing_of_an_animal_moves(name: str, is_named: bool, is_posed: bool) -> None:
    rig = make_animal(name, is_named)
    for i, bone in enumerate(rig.pose.bones if is_posed else ()):
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = [0.1 * sin(3.0 * i + k) for k in range(3)]
    before = shown(rig)
    set_up(rig)
    after = shown(rig)
    assert len(legs(rig)) == 4
    size = max(matrix.translation.z for matrix in before.values())
    for bone, a in before.items():
        b = after[bone]
        assert (a.translation - b.translation).length <= 5e-4 * size, bone
        for k in range(3):
            assert (a.col[k] - b.col[k]).length <= radians(0.1), (bone, k)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("build", [name for name in BUILDS if "posed" not in name])
def test_targets_in_reach_are_reached(build: str, tool: Callable[[bpy.types.Object], None]) -> None:
    hinges = 0
    for seed in SEEDS:
        new_file()
        rig = make_mech(seed, **BUILDS[build])
        tool(rig)
        hinges += sum(bone.fabrik_joint.limit_type == "HINGE" for bone in rig.pose.bones)
        for item in legs(rig):
            places = [shown(rig)[name].translation for name in joints_of(rig, item)]
            sizes = [(a - b).length for a, b in pairwise(places)]
            nearest = max(0.0, 2.0 * max(sizes) - sum(sizes)) / sum(sizes)
            for share in (0.8, 0.5):
                goal = places[0].lerp(places[-1], share)
                if (goal - places[0]).length <= (nearest + 0.05) * sum(sizes):
                    continue
                move_target(item, goal)
                assert item.state == "REACHED", (seed, item.name, share, item.error)
    assert hinges > 0


def move_target(item: Any, goal: Vector) -> None:
    """Move a target in world space."""
    owner = item.target
    if item.subtarget:
        bone = owner.pose.bones[item.subtarget]
        matrix = bone.matrix.copy()
        matrix.translation = owner.matrix_world.inverted() @ goal
        bone.matrix = matrix
    else:
        owner.matrix_world = Matrix.LocRotScale(goal, *owner.matrix_world.decompose()[1:])
    update()


def test_a_pose_that_hinges_would_change_gets_none_and_is_told(capfd) -> None:
    rig = make_mech(0, posed=0.3)
    set_up(rig)
    assert all(bone.fabrik_joint.limit_type == "NONE" for bone in rig.pose.bones)
    assert "No hinge for “Meta.L”: its pose is outside the hinge's range" in capfd.readouterr().out
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
