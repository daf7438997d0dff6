"""Constraints that share bones are solved together, and keep every promise of a single one."""

from collections.abc import Callable
from math import degrees
from typing import Any

import bpy
import pytest
import rigs
from mathutils import Vector

pytestmark = pytest.mark.usefixtures("silent")

Rig = bpy.types.Object

Y_BONES = {
    "A": ((0, 0, 0), (0, 0.05, 1), ""),
    "B": ((0, 0.05, 1), (0, 0, 2), "A"),
    "C.L": ((0, 0, 2), (0.7, 0, 2.7), "B"),
    "D.L": ((0.7, 0, 2.7), (0.7, 0.1, 3.7), "C.L"),
    "C.R": ((0, 0, 2), (-0.7, 0, 2.7), "B"),
    "D.R": ((-0.7, 0, 2.7), (-0.7, 0.1, 3.7), "C.R"),
}
HUMANOID = {
    "Pelvis": ((0, 0, 1), (0, 0, 1.15), ""),
    "Spine": ((0, 0, 1.15), (0, 0, 1.35), "Pelvis"),
    "Chest": ((0, 0, 1.35), (0, 0, 1.55), "Spine"),
    "Head": ((0, 0, 1.55), (0, 0, 1.8), "Chest"),
    **{
        f"{name}.{side}": (
            (sign * head[0], *head[1:]),
            (sign * tail[0], *tail[1:]),
            f"{parent}.{side}" if parent in ("Upper", "Thigh") else parent,
        )
        for side, sign in (("L", 1), ("R", -1))
        for name, head, tail, parent in (
            ("Upper", (0.2, 0, 1.5), (0.5, 0.02, 1.5), "Chest"),
            ("Lower", (0.5, 0.02, 1.5), (0.78, 0, 1.5), "Upper"),
            ("Thigh", (0.1, 0, 1), (0.1, -0.02, 0.55), "Pelvis"),
            ("Shin", (0.1, -0.02, 0.55), (0.1, 0, 0.1), "Thigh"),
        )
    },
}
TIPS = {"Y": ("D.L", "D.R"), "humanoid": ("Head", "Lower.L", "Lower.R", "Shin.L", "Shin.R")}
MOVES = ((0.1, -0.1, -0.05), (-0.2, -0.15, 0.1), (0.1, 0.2, -0.2), (0, -0.05, 0.1), (0.05, 0, 0.05))


def make(kind: str, **settings: object) -> Rig:
    """An armature with a constraint for each tip, its target near the tip; turned by hand."""
    rig = rigs.make_armature(Y_BONES if kind == "Y" else HUMANOID)
    modes = ("QUATERNION", "XYZ", "AXIS_ANGLE")
    for i, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = modes[i % 3]
    rig.pose.bones[1].rotation_euler = (0.05, 0.02, -0.1)
    rig.pose.bones[3].rotation_quaternion = (0.97, 0.1, 0.2, 0)
    rigs.update()
    for tip, move in zip(TIPS[kind], MOVES, strict=False):
        at = Vector(rig.data.bones[tip].tail_local)
        target = rigs.make_empty(f"To {tip}", at + Vector(move))
        rigs.add_constraint(rig, tip, target, name=tip, **settings)
    return rig


def target_of(rig: Rig, tip: str) -> bpy.types.Object:
    return bpy.data.objects[f"To {tip}"]


def item_of(rig: Rig, tip: str):
    return next(item for item in rig.fabrik.constraints if item.name == tip)


def worst(rig: Rig, tips=None) -> float:
    return max(rigs.tip_error(rig, tip, target_of(rig, tip)) for tip in tips or names(rig))


def names(rig: Rig) -> list[str]:
    return [item.name for item in rig.fabrik.constraints]


def states(rig: Rig) -> list[str]:
    return [item.state for item in rig.fabrik.constraints]


@pytest.fixture(params=["Y", "humanoid"])
def rig(empty_file: None, request: pytest.FixtureRequest) -> Rig:
    return make(request.param)


# Arriving


def test_all_tips_are_on_their_targets(rig: Rig) -> None:
    rigs.update()
    assert states(rig) == ["REACHED"] * len(states(rig))
    assert worst(rig) < 1e-4
    for item in rig.fabrik.constraints:
        assert item.message == ""
        assert item.error == pytest.approx(rigs.tip_error(rig, item.bone, item.target), abs=5e-6)


def test_under_a_turned_and_unevenly_scaled_armature(rig: Rig) -> None:
    rig.rotation_euler, rig.location, rig.scale = (0.3, 1, 2), (5, -3, 1), (1.5, 0.7, -1.1)
    for item in rig.fabrik.constraints:
        item.target.parent = rig
    rigs.update()
    assert states(rig) == ["REACHED"] * len(states(rig))
    assert worst(rig) < 2e-4


def test_poles_and_two_bone_solvers_on_branches() -> None:
    rig = make("humanoid")
    for tip, pole in (("Lower.L", (0.5, 1, 0.5)), ("Shin.R", (0, -2, 0.5))):
        item = item_of(rig, tip)
        item.pole_target = rigs.make_empty(f"Pole {tip}", pole)
    for tip in TIPS["humanoid"][1:]:
        item_of(rig, tip).solver = "FABRIK"
    limb = rigs.add_constraint(
        rig, "Lower.R", target_of(rig, "Lower.R"), name="limb", chain_count=2
    )
    limb.solver = "TWO_BONE"
    limb.pole_target = rigs.make_empty("Pole", (-0.5, 1, 0.5))
    target_of(rig, "Lower.L").location = (0.5, -0.1, 1.4)
    target_of(rig, "Shin.R").location = (-0.15, 0, 0.3)
    rigs.update()
    assert states(rig) == ["REACHED"] * 6
    for upper, lower, pole in (
        ("Upper.L", "Lower.L", "Pole Lower.L"),
        ("Thigh.R", "Shin.R", "Pole Shin.R"),
    ):
        root, middle, tip = (
            rigs.tip_world(rig, upper, False),
            rigs.tip_world(rig, lower, False),
            rigs.tip_world(rig, lower),
        )
        axis = (tip - root).normalized()
        bend, wanted = (
            (p - root) - axis * (p - root).dot(axis)
            for p in (middle, rigs.world_location(bpy.data.objects[pole]))
        )
        assert degrees(bend.angle(wanted)) < 1.0


# The FK pose


@pytest.mark.parametrize("influence", [1.0, 0.4])
@pytest.mark.parametrize("off", ["enabled", "influence", "target", "weight", "removed"])
def test_the_last_one_at_work_is_a_plain_chain_to_the_last_bit(
    rig: Rig, off: str, influence: float
) -> None:
    *others, mine = list(rig.fabrik.constraints)
    mine.influence = influence
    name, count = mine.name, len(others)
    for item in others:
        if off == "enabled":
            item.enabled = False
        elif off == "influence":
            item.influence = 0.0
        elif off == "target":
            item.target = None
        elif off == "weight":
            item.weight = 0.0
    for _ in range(count if off == "removed" else 0):
        rig.fabrik.constraints.remove(0)
    rigs.update(rig)
    together = rigs.pose_bits(rig)
    state, error, sweeps = (
        getattr(item_of(rig, name), k) for k in ("state", "error", "iterations_used")
    )
    while len(rig.fabrik.constraints) > 1:
        rig.fabrik.constraints.remove(0)
    rigs.update(rig)
    assert rigs.pose_bits(rig) == together
    alone = item_of(rig, name)
    assert (alone.state, alone.error, alone.iterations_used) == (state, error, sweeps)


# No lag


def test_what_hangs_on_a_body_and_what_a_body_hangs_on(rig: Rig) -> None:
    lead = rigs.make_chain(4, "Lead")
    moved = rigs.make_empty("Moved", (1, 0, 3))
    rigs.add_constraint(lead, "B3", moved)
    tip = rig.fabrik.constraints[0].name
    held = target_of(rig, tip)
    held.parent, held.parent_type, held.parent_bone = lead, "BONE", "B1"
    held.location = (0, 0, 0)
    held.matrix_parent_inverse.identity()
    grip = rigs.make_empty("Grip", (0.1, 0.1, 0))
    grip.parent, grip.parent_type, grip.parent_bone = rig, "BONE", names(rig)[-1]
    follower = rigs.make_chain(4, "Follower")
    rigs.add_constraint(follower, "B3", grip, iterations=200)
    for k in range(4):
        moved.location = (0.5 + 0.2 * k, 0.3 - 0.2 * k, 2.5)
        rigs.update()
        for item in rig.fabrik.constraints:
            error = rigs.tip_error(rig, item.bone, item.target)
            assert item.error == pytest.approx(error, abs=5e-6)
        assert rigs.tip_error(follower, "B3", grip) < 1e-3
        before = rigs.everything_bits()
        for ob in (lead, rig, follower):
            ob.update_tag()
        rigs.update()
        assert rigs.everything_bits() == before


# What is said


def test_contradicting_targets_are_said_with_the_names_of_the_others(rig: Rig) -> None:
    a, b, *_ = rig.fabrik.constraints
    a.target.location, b.target.location = (5, 0, 1), (-5, 0, 1)
    rigs.update()
    for item, other in ((a, b), (b, a)):
        assert item.state == "OUT_OF_REACH"
        assert f"“{other.name}”" in item.message
        assert f"“{item.name}”" not in item.message
        assert "Weight" in item.message
        assert item.error == pytest.approx(rigs.tip_error(rig, item.bone, item.target), abs=5e-6)
    left = a.error
    a.weight = 10.0
    rigs.update()
    assert a.error < left


def test_only_those_that_share_bones_with_it_are_named() -> None:
    rig = rigs.make_chain(6)
    for tip, count, place in (("B5", 2, (5, 0.5, 4)), ("B4", 3, (0, 1, 3)), ("B2", 2, (0.3, 1, 1))):
        rigs.add_constraint(
            rig, tip, rigs.make_empty(f"To {tip}", place), name=tip, chain_count=count
        )
    rigs.update()
    item = item_of(rig, "B5")
    assert item.state == "OUT_OF_REACH"
    assert "“B4”" in item.message
    assert "“B2”" not in item.message


BROKEN: dict[str, Callable[[Rig, Any], object]] = {
    "Weight is 0": lambda _rig, item: setattr(item, "weight", 0.0),
    "depends on the chain itself": lambda rig, item: aim_at_its_own_body(rig, item),
    "No target": lambda _rig, item: setattr(item, "target", None),
    "invalid position": lambda _rig, item: setattr(item.target.location, "x", float("nan")),
}
"""What keeps one constraint of a body from working, by its message."""


def aim_at_its_own_body(rig: Rig, item: Any) -> None:
    item.target, item.subtarget = rig, rig.fabrik.constraints[-1].bone


@pytest.mark.parametrize("words", BROKEN)
def test_one_that_cannot_work_is_said_and_the_others_go_on(rig: Rig, words: str) -> None:
    first, *others = rig.fabrik.constraints
    target, place = first.target, first.target.location.copy()
    BROKEN[words](rig, first)
    rigs.update()
    assert first.state == "INVALID"
    assert words in first.message
    assert {item.state for item in others} == {"REACHED"}
    assert worst(rig, [item.name for item in others]) < 1e-4
    first.weight, first.target, first.subtarget, target.location = 1.0, target, "", place
    rigs.update()
    assert worst(rig) < 1e-4


def test_far_targets_and_none_between_leave_the_rig_finite(rig: Rig) -> None:
    for far in (1e6, 1e18, 3e38):
        rig.fabrik.constraints[0].target.location = (far, -far, far)
        rigs.update()
        assert all(abs(x) < 10.0 for bone in rig.pose.bones for x in bone.tail)


def test_one_that_is_off_says_so_while_a_bone_of_the_body_is_nowhere(rig: Rig) -> None:
    rig.fabrik.constraints[0].enabled = False
    rig.pose.bones[0].scale = (float("nan"), 1, 1)
    rigs.update()
    assert states(rig)[0] == "DISABLED"
    assert set(states(rig)[1:]) == {"INVALID"}
    rig.pose.bones[0].scale = (1, 1, 1)
    rig.fabrik.constraints[0].enabled = True
    rigs.update()
    assert worst(rig) < 1e-4


# Editing


def test_a_pole_is_added_where_the_chain_of_a_body_bends_already(rig: Rig) -> None:
    rig.fabrik.constraints[-1].swing = 1.0
    rigs.update()
    before = [tuple(row) for bone in rigs.evaluated(rig).pose.bones for row in bone.matrix]
    rigs.activate(rig)
    rig.fabrik.active_index = len(rig.fabrik.constraints) - 1
    assert bpy.ops.fabrik.pole_add() == {"FINISHED"}
    rigs.update()
    after = [tuple(row) for bone in rigs.evaluated(rig).pose.bones for row in bone.matrix]
    for a, b in zip(before, after, strict=True):
        assert a == pytest.approx(b, abs=1e-3)
    assert rig.fabrik.constraints[-1].pole_target is not None
    assert worst(rig) < 1e-4


def test_adding_and_removing_constraints_makes_and_parts_bodies() -> None:
    rig = make("Y")
    rig.fabrik.constraints.remove(1)
    rigs.update()
    one = rigs.pose_bits(rig)
    rigs.add_constraint(rig, "D.R", target_of(rig, "D.R"), name="D.R")
    rigs.update()
    both = rigs.pose_bits(rig)
    assert both != one
    assert worst(rig) < 1e-4
    rig.fabrik.constraints.remove(1)
    rigs.update(rig)
    assert rigs.pose_bits(rig) == one
    item_of(rig, "D.L").chain_count = 2
    rigs.add_constraint(rig, "D.R", target_of(rig, "D.R"), name="D.R", chain_count=2)
    rigs.update()
    assert worst(rig) > 0.0, "they share nothing now"
    for item in rig.fabrik.constraints:
        item.chain_count = 0
    rigs.update()
    assert rigs.pose_bits(rig) == both


def make_arms(parts: int) -> Rig:
    """Make two arms on a spine, whose forearms are split into parts in order to twist."""
    bones = {"Spine": ((0, 0, 1.2), (0, 0.02, 1.45), "")}
    for side, x in (("L", 1), ("R", -1)):
        elbow, wrist = Vector((0.5 * x, 0.02, 1.4)), Vector((0.76 * x, 0, 1.4))
        bones[f"Upper.{side}"] = ((0.2 * x, 0, 1.4), elbow, "Spine")
        parent = f"Upper.{side}"
        for i in range(parts):
            name = "Lower" if i == 0 else f"Twist{i}"
            head, tail = elbow.lerp(wrist, i / parts), elbow.lerp(wrist, (i + 1) / parts)
            bones[f"{name}.{side}"] = (head, tail, parent)
            parent = f"{name}.{side}"
    rig = rigs.make_armature(bones)
    for side, x in (("L", 1), ("R", -1)):
        for i in range(1, parts):
            joint = rig.pose.bones[f"Twist{i}.{side}"].fabrik_joint
            joint.hinge_axis, joint.hinge_vector, joint.limit_type = "FREE", (0, 1, 0), "HINGE"
            joint.hinge_min = joint.hinge_max = 0.0
        elbow = rig.pose.bones[f"Lower.{side}"]
        axis = elbow.bone.matrix_local.to_3x3().inverted() @ Vector((0, 0, x))
        elbow.fabrik_joint.hinge_axis, elbow.fabrik_joint.hinge_vector = "FREE", axis
        elbow.fabrik_joint.limit_type = "HINGE"
        elbow.fabrik_joint.hinge_min, elbow.fabrik_joint.hinge_max = 0.0, 2.8
    return rig


@pytest.mark.parametrize("parts", [2, 3])
def test_a_split_forearm_in_a_body_bends_as_one_that_is_whole(parts: int) -> None:
    places: list[list[Vector]] = []
    targets = [Vector(to) for to in ((0.5, -0.3, 1.5), (0.3, -0.2, 1.2), (0.15, -0.25, 1.5))]
    for count in (1, parts):
        rig = make_arms(count)
        tips = [f"{'Lower' if count == 1 else f'Twist{count - 1}'}.{side}" for side in "LR"]
        hands = [rigs.make_empty(f"Hand {tip}", rigs.tip_world(rig, tip)) for tip in tips]
        for tip, hand in zip(tips, hands, strict=True):
            rigs.add_constraint(rig, tip, hand, chain_count=count + 2, solver="FABRIK", swing=1.0)
        elbows: list[Vector] = []
        last = hands[0].location.copy()
        for target in targets:
            for i in range(20):
                hands[0].location = last.lerp(target, (i + 1) / 20)
                rigs.update()
                elbows.append(rigs.evaluated(rig).pose.bones["Lower.L"].head.copy())
            last = target
        assert rigs.tip_error(rig, tips[0], hands[0]) < 1e-4
        places.append(elbows)
    assert max((a - b).length for a, b in zip(*places, strict=True)) < 1e-3
