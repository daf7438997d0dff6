"""Degenerate input has an answer that is defined and does not jump."""

import math
import random
import time
from collections.abc import Callable

import pytest
from strategies import (
    TOLERANCE,
    Point,
    answer,
    arched,
    assert_no_jump,
    largest_step,
    lengths_of,
    random_case,
    random_direction,
    random_target,
    straight,
)

from fabrik_solver import SOLVERS, Chain, Goal, solve

LIMBS = [
    ("TWO_BONE", 2),
    *[("FABRIK", n) for n in (2, 3, 5, 10)],
    *[(solver, n) for solver in ("TEXTBOOK", "CCD") for n in (2, 3)],
]
solvers_and_bones = pytest.mark.parametrize(("solver", "bones"), LIMBS)
UP = (0.0, 0.0, 1.0)


def even(bones: int) -> list[float]:
    return [1.0 / bones] * bones


def all_finite(joints: tuple[Point, ...]) -> bool:
    return all(math.isfinite(number) for joint in joints for number in joint)


@pytest.mark.long
def test_a_hundred_thousand_inputs_have_finite_answers_with_kept_lengths(
    figure: Callable[[str, str], None],
) -> None:
    rng = random.Random(1)
    cases = 100_000
    start = time.perf_counter()
    worst = 0.0
    for _ in range(cases):
        chain, goal, solver = random_case(rng)
        solution = solve(chain, goal, solver)
        assert all_finite(solution.joints), (chain, goal, solver)
        assert math.isfinite(solution.residual), (chain, goal, solver)
        assert solution.joints[0] == chain.joints[0], (chain, goal, solver)
        sizes = chain.bone_lengths()
        # Coordinates far from the origin are rounded more than a short bone is long.
        largest = max(abs(number) for joint in chain.joints for number in joint)
        unit = sum(sizes) + 1e-6 * largest
        changes = zip(sizes, lengths_of(solution.joints), strict=True)
        error = max(abs(after - before) for before, after in changes)
        assert error <= 1e-9 * unit, (chain, goal, solver)
        worst = max(worst, error / unit if unit else 0.0)
    seconds = time.perf_counter() - start
    figure(f"{cases} random and degenerate inputs without a finite answer", "0")
    figure("  lengths change by at most (of the chain's length)", f"{worst:.1e}")
    figure("  time", f"{seconds:.0f} s")


@solvers_and_bones
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_straight_chain_bends_to_the_side_of_its_bend(
    solver: str, bones: int, share: float
) -> None:
    rng = random.Random(3)
    for _ in range(10):
        axis, bend = random_direction(rng), random_direction(rng)
        joints = straight(even(bones), axis)
        target = tuple(share * number for number in axis)
        solution = answer(joints, target, solver, bend=bend)
        assert solution.state == "REACHED"
        along = sum(a * b for a, b in zip(axis, bend, strict=True))
        side = [b - along * a for a, b in zip(axis, bend, strict=True)]
        bulge = [sum(joint[i] for joint in solution.joints[1:-1]) for i in range(3)]
        assert sum(a * b for a, b in zip(side, bulge, strict=True)) > 0.0


@solvers_and_bones
def test_a_straight_chain_without_a_bend_still_bends(solver: str, bones: int) -> None:
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, -0.8)):
        joints = straight(even(bones), axis)
        for bend in (None, (0.0, 0.0, 0.0), axis):
            target = tuple(0.6 * number for number in axis)
            assert answer(joints, target, solver, bend=bend).state == "REACHED"


def test_the_size_of_the_bend_makes_no_difference() -> None:
    joints = straight([0.5, 0.5])
    small = answer(joints, (0.6, 0.0, 0.0), bend=(0.0, 0.0, 1e-12)).joints
    assert small == answer(joints, (0.6, 0.0, 0.0), bend=(0.0, 0.0, 1e12)).joints


def test_a_straight_chain_of_uneven_bones_bends_to_its_side_at_every_distance() -> None:
    """Long end bones and short ones between. The ends of an arc of equal angles come nearer and
    part again, which must not be mistaken for the other side.
    """
    for lengths in ([1.0, 0.01, 0.01, 0.01, 1.0], [1.0, 0.2, 0.2, 0.2, 0.2, 1.0], [1.0, 0.1, 1.0]):
        joints, outer = straight(lengths), sum(lengths)

        def path(t: float) -> tuple[Point, ...]:
            target = ((0.3 + 0.6 * t) * outer, 0.0, 0.0)  # noqa: B023
            return answer(joints, target, bend=UP).joints  # noqa: B023

        assert all(joint[2] > 0.0 for t in range(11) for joint in path(0.1 * t)[1:-1])
        assert_no_jump(path)


def test_joints_that_all_coincide_stay_where_they_are() -> None:
    joints = ((1.0, 2.0, 3.0),) * 3
    for solver in SOLVERS:
        away = answer(joints, (5.0, 0.0, 0.0), solver)
        assert away.joints == joints
        assert (away.state, away.iterations_used) == ("OUT_OF_REACH", 0)
        assert answer(joints, (1.0, 2.0, 3.0), solver).state == "REACHED"


def test_given_lengths_of_zero_draw_the_chain_into_its_root() -> None:
    chain = Chain(((0.0, 0.0), (1.0, 0.0), (2.0, 0.0)), lengths=(0.0, 0.0))
    assert solve(chain, Goal((1.0, 1.0))).joints == ((0.0, 0.0),) * 3


# No jump


@pytest.mark.long
@solvers_and_bones
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_no_jump_where_the_target_crosses_the_axis_of_a_straight_chain(
    solver: str, bones: int, share: float
) -> None:
    joints = straight(even(bones))

    def path(t: float) -> tuple[Point, ...]:
        return answer(joints, (share, 0.4 * (t - 0.5), 0.1 * (t - 0.5)), solver, bend=UP).joints

    assert_no_jump(path)
    assert largest_step(path, 80) <= 2.0 * math.hypot(0.4, 0.1) / 80 + TOLERANCE


@pytest.mark.long
@solvers_and_bones
@pytest.mark.parametrize("pose", ["straight", "bent"])
def test_no_jump_where_the_target_crosses_the_outer_reach(
    solver: str, bones: int, pose: str
) -> None:
    joints = straight(even(bones)) if pose == "straight" else arched(even(bones))

    def path(t: float) -> tuple[Point, ...]:
        return answer(joints, (0.8 + 0.4 * t, 0.1, 0.05), solver, bend=UP).joints

    assert_no_jump(path)
    assert largest_step(path, 400) <= math.sqrt(0.4 / 400)


@pytest.mark.long
@solvers_and_bones
@pytest.mark.parametrize("pose", ["straight", "bent"])
def test_no_jump_where_the_target_crosses_the_inner_radius(
    solver: str, bones: int, pose: str
) -> None:
    lengths = [0.7] + [0.3 / (bones - 1)] * (bones - 1)
    joints = straight(lengths) if pose == "straight" else arched(lengths)

    def path(t: float) -> tuple[Point, ...]:
        return answer(joints, (0.6 - 0.4 * t, 0.05, 0.05), solver, bend=UP).joints

    assert_no_jump(path)
    assert largest_step(path, 400) <= math.sqrt(0.4 / 400)


@pytest.mark.long
@solvers_and_bones
@pytest.mark.parametrize("target", [(0.8, 0.0, 0.0), (0.7, 0.3, 0.2), (1.0, 0.0, 0.0)])
def test_no_jump_where_the_input_pose_goes_from_straight_to_bent(
    solver: str, bones: int, target: Point
) -> None:
    def path(t: float) -> tuple[Point, ...]:
        return answer(arched(even(bones), 0.02 * t), target, solver, bend=(0.0, 1.0, 0.0)).joints

    assert_no_jump(path, 200, 0.5 * math.sqrt(TOLERANCE))


@pytest.mark.long
@solvers_and_bones
def test_no_jump_where_the_target_leaves_the_tip_of_a_nearly_straight_chain(
    solver: str, bones: int
) -> None:
    joints = arched(even(bones), 0.002)

    def path(t: float) -> tuple[Point, ...]:
        return answer(joints, (joints[-1][0] - 4e-4 * t, 0.0, 0.0), solver, bend=UP).joints

    assert_no_jump(path, allowed=0.5 * math.sqrt(TOLERANCE))


@solvers_and_bones
def test_no_jump_where_the_target_comes_to_the_root_along_the_axis(solver: str, bones: int) -> None:
    joints = straight(even(bones))

    def path(t: float) -> tuple[Point, ...]:
        return answer(joints, (0.3 * (1.0 - t), 0.0, 0.0), solver, bend=UP).joints

    assert_no_jump(path, allowed=10.0 * TOLERANCE)


def test_no_jump_along_a_random_path_of_a_bent_chain() -> None:
    rng = random.Random(4)
    for _ in range(5):
        joints = arched([rng.uniform(0.1, 0.3) for _ in range(5)])
        start = random_target(rng, joints, low=0.5, high=0.8)
        heading = random_direction(rng)

        def path(t: float) -> tuple[Point, ...]:
            target = tuple(a + 0.1 * t * b for a, b in zip(start, heading, strict=True))  # noqa: B023
            return answer(joints, target).joints  # noqa: B023

        assert_no_jump(path)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_chain_without_length_stays_at_its_root(solver: str) -> None:
    root = (1.0, -2.0, 3.0)
    for target, state in ((root, "REACHED"), ((2.0, 0.0, 1.0), "OUT_OF_REACH")):
        solution = solve(Chain((root,) * 3), Goal(target), solver)
        assert solution.joints == (root,) * 3
        assert (solution.state, solution.residual) == (state, math.dist(root, target))
