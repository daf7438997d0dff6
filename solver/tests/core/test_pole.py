"""The pole turns the plane of the bend, and nothing else."""

import math
import random
from collections.abc import Callable

import pytest
from poles import bend_of, direction, has_less_weight, vec
from strategies import (
    Point,
    answer,
    arched,
    assert_no_jump,
    farthest,
    largest_step,
    moved,
    random_chain,
    random_direction,
    random_target,
    shell_of,
    straight,
)

from fabrik_solver import SOLVERS, Chain, Goal, solve
from fabrik_solver.core.vectors import across, cross, dot, length, sub

solvers = pytest.mark.parametrize("solver", SOLVERS)


def angle_from_pole(joints: tuple[Point, ...], target: Point, pole: Point) -> float:
    """From the pole to the bend about root → target, by the right-hand rule."""
    axis = direction(joints[0], target)
    to_pole = across(sub(vec(pole), vec(joints[0])), axis)
    bend = bend_of(joints, axis)
    assert length(bend) > 1e-6
    return math.atan2(dot(axis, cross(to_pole, bend)), dot(to_pole, bend))


def limb(solver: str, rng: random.Random) -> tuple[Point, ...]:
    bones = 2 if solver == "TWO_BONE" else rng.randint(2, 12)
    return straight([1.0] * bones) if rng.random() < 0.3 else random_chain(rng, bones)


@solvers
def test_the_bend_faces_the_pole_plus_the_angle(solver: str) -> None:
    rng = random.Random(1)
    for _ in range(200):
        joints = limb(solver, rng)
        target = random_target(rng, joints, low=0.1, high=0.9)
        pole = moved(joints[0], random_direction(rng), 10.0 ** rng.uniform(-3.0, 6.0))
        angle = rng.choice((0.0, rng.uniform(-math.pi, math.pi)))
        solved = answer(joints, target, solver, pole, angle).joints
        if has_less_weight(solved, target, pole):
            continue
        miss = angle_from_pole(solved, target, pole) - angle
        assert math.remainder(miss, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-6)


@solvers
def test_the_tip_stays_where_it_is_when_the_pole_turns(solver: str) -> None:
    rng = random.Random(2)
    for _ in range(100):
        bones = 2 if solver == "TWO_BONE" else rng.randint(2, 12)
        joints = random_chain(rng, bones)
        target = random_target(rng, joints, low=0.0, high=1.1)
        residual = solve(Chain(joints), Goal(target, swing=1.0), solver).residual
        for angle in (0.0, 1.0, 3.0):
            turned = answer(joints, target, solver, random_direction(rng), angle)
            assert turned.residual == pytest.approx(residual, abs=1e-12)


@solvers
def test_a_target_on_the_root_stays_reached_when_the_pole_turns(solver: str) -> None:
    joints = arched([1.0, 1.0])
    for angle in (0.0, 1.0, 3.0):
        solution = answer(joints, joints[0], solver, (0.3, -0.4, 1.0), angle)
        assert solution.state == "REACHED"


@solvers
def test_a_pole_on_the_axis_leaves_the_chain_as_it_turns_toward_the_target(solver: str) -> None:
    rng = random.Random(3)
    for _ in range(50):
        joints = random_chain(rng, 2 if solver == "TWO_BONE" else rng.randint(2, 8))
        target = random_target(rng, joints, low=0.1, high=0.9)
        axis = direction(joints[0], target)
        kept = solve(Chain(joints), Goal(target, swing=1.0), solver).joints
        for along in (-1e9, -1.0, 0.0, 0.5, 2.0, 1e9):
            pole = moved(joints[0], axis, along)
            assert farthest(answer(joints, target, solver, pole).joints, kept) <= 1e-12


@solvers
def test_a_straight_chain_whose_pole_is_on_the_axis_bends_to_its_own_side(solver: str) -> None:
    joints, target, up = straight([1.0, 1.0]), (1.2, 0.0, 0.0), (0.0, 0.0, 1.0)
    expected = answer(joints, target, solver, bend=up).joints
    assert expected[1][2] > 0.5
    for pole in ((-3.0, 0.0, 0.0), (0.0, 0.0, 0.0), (5.0, 0.0, 0.0)):
        assert answer(joints, target, solver, pole, bend=up).joints == expected


@solvers
def test_a_straight_chain_bends_toward_its_pole_before_its_own_side(solver: str) -> None:
    joints = straight([1.0, 1.0])
    solved = answer(joints, (1.2, 0.0, 0.0), solver, (1.0, -2.0, 0.0), bend=(0.0, 0.0, 1.0)).joints
    assert solved[1] == pytest.approx((0.6, -0.8, 0.0), abs=1e-4)


@solvers
def test_in_two_dimensions_the_pole_chooses_the_side(solver: str) -> None:
    for joints in (((0.0, 0.0), (0.8, 0.6), (1.6, 0.0)), ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0))):
        for side in (-1.0, 1.0):
            solved = answer(joints, (1.2, 0.0), solver, (0.6, side)).joints
            assert solved[1] == pytest.approx((0.6, 0.8 * side), abs=1e-3)


def test_a_pole_far_away_and_near_the_axis_does_not_change_the_lengths() -> None:
    """Rounding leaves of such a pole's side little that is at right angles to the axis."""
    joints, target = arched([0.5, 0.5]), (0.48, 0.64, 0.0)
    for aside in (1e-3, 1.0, 1e3):
        pole = (0.6e12, 0.8e12, aside)
        solved = answer(joints, target, "TWO_BONE", pole).joints
        assert math.dist(solved[0], solved[1]) == pytest.approx(0.5, rel=1e-9)
        assert math.dist(solved[2], target) <= 1e-9


@pytest.mark.long
@pytest.mark.parametrize(
    ("solver", "bones"), [("TWO_BONE", 2), *[("FABRIK", n) for n in (2, 3, 5, 10)], ("CCD", 3)]
)
@pytest.mark.parametrize("pose", ["straight", "bent"])
def test_no_jump_where_the_pole_goes_around(solver: str, bones: int, pose: str) -> None:
    lengths = [1.0 / bones] * bones
    joints = straight(lengths) if pose == "straight" else arched(lengths)

    def around(t: float) -> tuple[Point, ...]:
        pole = (0.5, math.cos(2.0 * math.pi * t), math.sin(2.0 * math.pi * t))
        return answer(joints, (0.6, 0.05, 0.1), solver, pole).joints

    def angle(t: float) -> tuple[Point, ...]:
        turn = 2.0 * math.pi * t
        return answer(joints, (0.6, 0.05, 0.1), solver, (0.5, 0.5, 0.6), turn).joints

    assert_no_jump(around)
    assert_no_jump(angle)
    assert farthest(around(0.0), around(1.0)) <= 1e-6


@solvers
def test_no_jump_where_a_chain_with_a_pole_stretches_out(solver: str) -> None:
    joints = arched([0.5, 0.5])

    def path(t: float) -> tuple[Point, ...]:
        return answer(joints, (0.8 + 0.4 * t, 0.1, 0.0), solver, (0.5, -0.3, 1.0)).joints

    assert_no_jump(path)


def s_shaped(bones: int, lean: float) -> tuple[Point, ...]:
    """A chain along X whose halves bend to opposite sides, a little more to one of them."""
    at = [i / bones for i in range(bones + 1)]
    return tuple((x, 0.3 * math.sin(2.0 * math.pi * x) + lean * x * (1.0 - x), 0.0) for x in at)


@pytest.mark.long
@pytest.mark.parametrize(
    ("solver", "bones", "fastest"),
    [
        ("TWO_BONE", 2, 50),
        ("FABRIK", 2, 50),
        ("FABRIK", 3, 50),
        ("FABRIK", 5, 50),
        ("FABRIK", 10, 200),
    ],
)
def test_no_jump_where_the_target_passes_the_axis_of_the_pole(
    solver: str, bones: int, fastest: float, figure: Callable[[str, str], None]
) -> None:
    """A limb that moves in its own plane goes round by half a turn, in many steps of the target.

    Any rule jumps in some direction. Here it is some hundredths of the length away from the plane,
    to one side of it.
    """
    joints = arched([1.0 / bones] * bones)
    for aside in (1e-9, 1e-6, 1e-3, 0.01, 0.04, 0.1, -0.04, -0.1):

        def path(t: float, aside: float = aside) -> tuple[Point, ...]:
            target = (0.6, 0.5 * (t - 0.5), aside)
            return answer(joints, target, solver, (3.0, 0.0, 0.0), tolerance=1e-9).joints

        assert_no_jump(path, samples=250)
        speed = largest_step(path, 2000) / (0.5 / 2000)
        if aside == 1e-9:
            what = f"{bones} bones, {solver}: speed of a joint passing the pole's axis"
            figure(what, f"{speed:.0f} × the target's")
        assert speed <= fastest


def test_no_jump_where_the_side_of_the_bend_changes() -> None:
    """An S bends to neither side; a little more to one of them, and the pole would turn it over."""
    bones, pole = 8, (0.5, 1.0, 0.3)

    def path(t: float) -> tuple[Point, ...]:
        joints = s_shaped(bones, 0.4 * (t - 0.5))
        return answer(joints, joints[-1], "FABRIK", pole).joints

    assert_no_jump(path, samples=400)


def weighed(weight: float, pole: Point, angle: float = 0.0) -> tuple[Point, ...]:
    goal = Goal((0.6, 0.05, 0.1), pole, angle, weight)
    return solve(Chain(arched([0.3, 0.3, 0.3])), goal).joints


def test_the_weight_turns_the_bend_part_of_the_way() -> None:
    target, pole = (0.6, 0.05, 0.1), (0.5, 0.4, 0.9)
    none, full = weighed(0.0, pole), weighed(1.0, pole)
    assert none == solve(Chain(arched([0.3, 0.3, 0.3])), Goal(target, swing=1.0)).joints
    assert angle_from_pole(full, target, pole) == pytest.approx(0.0, abs=1e-9)
    whole = abs(angle_from_pole(none, target, pole))
    left = [abs(angle_from_pole(weighed(w, pole), target, pole)) for w in (0.1, 0.5, 0.9)]
    assert left == sorted(left, reverse=True)
    assert left[1] == pytest.approx(0.5 * whole, abs=1e-9)
    assert all(0.0 < angle < whole for angle in left)


def test_no_jump_where_the_weight_or_a_pole_of_any_other_weight_than_a_half_changes() -> None:
    assert_no_jump(lambda t: weighed(t, (0.5, 0.4, 0.9), 0.3))
    for weight in (0.2, 0.4, 0.6, 0.8):

        def around(t: float, weight: float = weight) -> tuple[Point, ...]:
            turn = 2.0 * math.pi * t
            return weighed(weight, (0.5, math.cos(turn), math.sin(turn)))

        assert_no_jump(around, samples=200)
        assert farthest(around(0.0), around(1.0)) <= 1e-6


def test_a_weight_that_is_none_is_refused() -> None:
    for weight in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="weight of the pole"):
            Goal((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.0, weight)


def test_the_pole_of_a_chain_out_of_reach_moves_no_joint() -> None:
    """It only rolls the chain, so that it goes on rolled as it is where it comes into reach."""
    joints = arched([1.0, 1.0, 1.0])
    target = (0.0, 2.0 * shell_of(joints)[1], 0.0)
    faced = answer(joints, target, pole=(1.0, 0.0, 5.0)).joints
    assert farthest(faced, answer(joints, target).joints) <= 1e-12
