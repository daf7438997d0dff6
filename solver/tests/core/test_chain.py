"""What every solver promises of every chain, and which input is refused."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    Point,
    answer,
    arched,
    chains,
    farthest,
    lengths_of,
    moved,
    points,
    random_chain,
    random_direction,
    random_target,
    random_turn,
    shell_of,
    straight,
)

from fabrik_solver import SOLVERS, Chain, Goal, Solution, solve
from fabrik_solver.core.vectors import rotate

BENT = arched([1.0, 0.8])
solvers = st.sampled_from(sorted(SOLVERS))


def bones_for(solver: str, rng: random.Random) -> int:
    return 2 if solver == "TWO_BONE" else rng.randint(2, 12)


@given(chains(min_bones=2, max_bones=2), points(), solvers)
def test_root_and_lengths_are_kept(joints: tuple[Point, ...], target: Point, solver: str) -> None:
    solved = answer(joints, target, solver).joints
    assert solved[0] == joints[0]
    assert lengths_of(solved) == pytest.approx(lengths_of(joints), rel=1e-9, abs=1e-12)


@given(chains(), points(), st.sampled_from(("FABRIK", "TEXTBOOK", "CCD")), st.none() | points())
def test_root_and_lengths_are_kept_with_any_number_of_bones(
    joints: tuple[Point, ...], target: Point, solver: str, pole: Point | None
) -> None:
    solved = answer(joints, target, solver, pole).joints
    assert solved[0] == joints[0]
    assert lengths_of(solved) == pytest.approx(lengths_of(joints), rel=1e-9, abs=1e-12)


def test_bone_lengths_are_kept_to_a_billionth(figure: Callable[[str, str], None]) -> None:
    rng = random.Random(1)
    worst = 0.0
    for _ in range(300):
        for solver in SOLVERS:
            joints = random_chain(rng, bones_for(solver, rng))
            pole = rng.choice((None, random_direction(rng)))
            solved = answer(joints, random_target(rng, joints, high=1.2), solver, pole).joints
            pairs = zip(lengths_of(joints), lengths_of(solved), strict=True)
            worst = max(worst, *(abs(after / before - 1.0) for before, after in pairs))
    figure("bone lengths change by at most (relative)", f"{worst:.1e}")
    assert worst <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_flat_input_stays_flat_in_two_and_in_three_dimensions(solver: str) -> None:
    rng = random.Random(2)
    for i in range(200):
        count = bones_for(solver, rng)
        flat = straight([1.0] * count, (0.6, 0.8)) if i % 4 == 0 else random_chain(rng, count, 2)
        target = random_target(rng, flat, high=1.1)
        target = rng.choice((target, flat[0], moved(flat[0], (-1.2, -1.6), 0.3 * count)))
        pole = rng.choice((None, random_direction(rng, 2)))
        bend = rng.choice((None, random_direction(rng, 2)))
        in_plane = answer(flat, target, solver, pole, bend=bend).joints
        assert all(len(joint) == 2 for joint in in_plane)

        in_space = solve(
            Chain(tuple((*joint, 0.0) for joint in flat), (*bend, 0.0) if bend else None),
            Goal((*target, 0.0), (*pole, 0.0) if pole else None),
            solver,
        ).joints
        assert all(joint[2] == 0.0 for joint in in_space)
        assert farthest([joint[:2] for joint in in_space], in_plane) == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_beyond_reach_gets_a_straight_chain(solver: str) -> None:
    rng = random.Random(3)
    for _ in range(100):
        joints = random_chain(rng, bones_for(solver, rng))
        _, outer = shell_of(joints)
        direction = random_direction(rng)
        solution = answer(
            joints, moved(joints[0], direction, outer * rng.uniform(1.0001, 9)), solver
        )
        along = lengths_of([joints[0], *solution.joints[1:]])
        expected = [joints[0]]
        for size in along:
            expected.append(moved(expected[-1], direction, size))
        assert farthest(solution.joints, expected) <= 1e-9
        assert farthest(solution.joints[-1:], [moved(joints[0], direction, outer)]) <= 1e-9
        assert (solution.state, solution.in_reach) == ("OUT_OF_REACH", False)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_nearer_than_the_inner_radius_gets_the_nearest_point(solver: str) -> None:
    rng = random.Random(4)
    for _ in range(100):
        count = bones_for(solver, rng)
        joints = list(random_chain(rng, count))
        long = rng.randrange(count)
        away = random_direction(rng)
        joints[long + 1 :] = [moved(joint, away, 2.0 * count) for joint in joints[long + 1 :]]
        inner, _ = shell_of(joints)
        assert inner > 0.0
        direction = random_direction(rng)
        solution = answer(
            joints, moved(joints[0], direction, inner * rng.uniform(0.001, 0.999)), solver
        )
        assert math.dist(solution.joints[-1], moved(joints[0], direction, inner)) <= 1e-9
        assert (solution.state, solution.in_reach) == ("OUT_OF_REACH", False)

        on_root = answer(joints, joints[0], solver).joints[-1]
        assert math.dist(on_root, joints[0]) == pytest.approx(inner, abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_on_the_root_is_reached_if_the_chain_can_close(solver: str) -> None:
    rng = random.Random(5)
    for _ in range(50):
        bones = 2 if solver == "TWO_BONE" else rng.randint(2, 8)
        for joints in (straight([1.0] * bones), arched([1.0] * bones)):
            solution = answer(joints, joints[0], solver, iterations=100)
            assert solution.state == "REACHED"
            assert math.dist(solution.joints[-1], joints[0]) <= 1e-4 * bones


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_is_the_distance_from_tip_to_target(solver: str) -> None:
    rng = random.Random(6)
    for iterations in (0, 1, 3, 20):
        joints = random_chain(rng, bones_for(solver, rng))
        target = random_target(rng, joints, high=1.5)
        solution = answer(joints, target, solver, iterations=iterations)
        assert solution.residual == pytest.approx(math.dist(solution.joints[-1], target), abs=1e-12)
        reached = solution.residual <= 1e-4 * sum(lengths_of(joints))
        assert solution.state == ("REACHED" if reached else "OUT_OF_REACH")
        assert solution.iterations_used <= iterations


@pytest.mark.parametrize("solver", SOLVERS)
def test_turning_moving_and_scaling_the_world_does_so_to_the_answer(
    solver: str, figure: Callable[[str, str], None]
) -> None:
    rng = random.Random(7)
    worst = 0.0
    for i in range(150):
        count = bones_for(solver, rng)
        joints = straight([1.0] * count) if i % 5 == 0 else random_chain(rng, count)
        target = random_target(rng, joints, high=1.1)
        pole = rng.choice((None, random_direction(rng)))
        bend = random_direction(rng)
        angle = rng.uniform(-3.0, 3.0)
        turn, size = random_turn(rng, math.pi), 10.0 ** rng.uniform(-3.0, 3.0)
        offset = tuple(rng.uniform(-10.0, 10.0) * size for _ in range(3))

        def carried(point: Point) -> Point:
            x, y, z = rotate(turn, (point[0], point[1], point[2]))  # noqa: B023
            return moved(offset, (x, y, z), size)  # noqa: B023

        here = answer(joints, target, solver, pole, angle, bend)
        there = answer(
            [carried(joint) for joint in joints],
            carried(target),
            solver,
            carried(pole) if pole else None,
            angle,
            rotate(turn, (bend[0], bend[1], bend[2])),
        )
        error = farthest([carried(joint) for joint in here.joints], there.joints)
        worst = max(worst, error / (size * sum(lengths_of(joints))))
        assert here.iterations_used == there.iterations_used
    figure(f"{solver}: a turned, moved, scaled world changes the answer by", f"{worst:.1e}")
    assert worst <= 1e-6


def fields_of(solution: Solution) -> tuple[object, ...]:
    return (
        solution.joints,
        solution.state,
        solution.in_reach,
        solution.residual,
        solution.iterations_used,
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_answer_depends_on_nothing_but_the_input(solver: str) -> None:
    sizes = [1.0, 0.8] if solver == "TWO_BONE" else [1.0, 0.8, 0.6]
    goal = Goal((1.0, 0.3, 0.2), (0.0, 0.0, 1.0))
    for joints in (arched(sizes), straight(sizes)):
        chain = Chain(joints)
        first = fields_of(solve(chain, goal, solver))
        # To the other side, out of reach, and where it folds or is nearly straight.
        for target in ((-1.0, 0.3, 0.2), (9.0, 0.0, 0.0), (0.01, 0.0, 0.0), (0.0, 2.39, 0.0)):
            again = fields_of(solve(chain, Goal(target), solver))
            assert again == fields_of(solve(Chain(joints), Goal(target), solver))
        assert fields_of(solve(chain, goal, solver)) == first


def test_given_lengths_take_the_place_of_the_distances_between_the_joints() -> None:
    for solver in SOLVERS:
        chain = Chain(BENT, lengths=(2.0, 3.0))
        solved = solve(chain, Goal((2.0, 3.0, 1.0)), solver, 200).joints
        assert lengths_of(solved) == pytest.approx((2.0, 3.0))
        assert math.dist(solved[-1], (2.0, 3.0, 1.0)) <= 5e-4


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("refused", "advice"),
    [
        (lambda: answer(BENT, (1.0, 0.0, 0.0), "JACOBIAN"), "choose one of FABRIK, TWO_BONE, CCD"),
        (lambda: answer(arched([1.0] * 3), (1.0, 0.0, 0.0), "TWO_BONE"), "2 bones: choose"),
        (lambda: Chain(((0.0, 0.0, 0.0),)), "at least one bone, which is two joints"),
        (lambda: Chain(()), "at least one bone, which is two joints"),
        (lambda: Chain(((0.0, 0.0, 0.0), (1.0, 0.0))), "need 2 coordinates, or all need 3"),
        (lambda: Chain(((0.0,), (1.0,))), "need 2 coordinates, or all need 3"),
        (lambda: Chain(((0.0, 0.0, 0.0), (1.0, NAN, 0.0))), "not finite: give numbers"),
        (lambda: Chain(BENT, (NAN, 0.0, 0.0)), "bend of this chain needs 3 finite coordinates"),
        (lambda: Chain(BENT, (0.0, 1.0)), "bend of this chain needs 3 finite coordinates"),
        (lambda: Chain(BENT, lengths=(1.0,)), "one length a bone"),
        (lambda: Chain(BENT, lengths=(1.0, -1.0)), "finite and not below 0"),
        (lambda: Chain(BENT, lengths=(1.0, INFINITY)), "finite and not below 0"),
        (lambda: Goal((NAN, 0.0, 0.0)), "not finite: give numbers"),
        (lambda: Goal((0.0, 0.0, 0.0), (INFINITY, 0.0, 0.0)), "not finite: give numbers"),
        (lambda: Goal((0.0, 0.0, 0.0), pole_angle=NAN), "not finite: give radians"),
        (lambda: answer(BENT, (1.0, 0.0)), "need 3 coordinates"),
        (lambda: answer(BENT, (1.0, 0.0, 0.0), pole=(0.0, 1.0)), "need 3 coordinates"),
        (lambda: answer(((0.0, 0.0), (1.0, 0.0)), (1.0, 0.0, 0.0)), "need 2 coordinates"),
        (
            lambda: answer(((0.0, 0.0), (1.0, 0.0)), (0.0, 1.0), pole_angle=1.0),
            "pole_angle must be 0",
        ),
    ],
)
def test_bad_input_is_refused_with_a_sentence_that_says_what_to_do(
    refused: Callable[[], object], advice: str
) -> None:
    with pytest.raises(ValueError, match=advice):
        refused()
