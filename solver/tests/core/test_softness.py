"""Softness: the chain eases into its full reach."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from strategies import TOLERANCE, arched, farthest

from fabrik_solver import SOLVERS, Chain, Goal, Solution, solve

solvers = pytest.mark.parametrize("solver", SOLVERS)


def softly(solver: str, distance: float, softness: float, bones: int = 2) -> Solution:
    """Solve a chain, 1 m long, for a target at a distance."""
    goal = Goal((0.8 * distance, 0.6 * distance, 0.0), softness=softness)
    count = 2 if solver == "TWO_BONE" else bones
    return solve(Chain(arched([1.0 / count] * count)), goal, solver, 200, 1e-9)


def distance_of(solution: Solution) -> float:
    return math.dist(solution.joints[0], solution.joints[-1])


@solvers
def test_below_the_soft_share_nothing_changes(solver: str) -> None:
    for distance in (0.2, 0.5, 0.89):
        assert softly(solver, distance, 0.1).joints == softly(solver, distance, 0.0).joints


@solvers
def test_the_tip_falls_back_smoothly_and_never_comes_to_full_reach(solver: str) -> None:
    last = 0.0
    for i in range(60):
        distance = 0.85 + 0.01 * i
        solution = softly(solver, distance, 0.1)
        span = distance_of(solution)
        wanted = distance if distance <= 0.9 else 0.9 + 0.1 * (1 - math.exp(9.0 - 10.0 * distance))
        assert span == pytest.approx(wanted, abs=1e-6)
        assert last < span < 1.0
        assert solution.residual == pytest.approx(distance - span, abs=1e-6)
        assert (solution.state == "REACHED") == (distance <= 0.9 + 1e-9)
        assert solution.in_reach == (distance <= 1.0)
        last = span


@pytest.mark.long
@pytest.mark.parametrize("bones", [2, 3, 10])
def test_the_elbow_keeps_its_speed_where_the_target_passes_full_reach(
    bones: int, figure: Callable[[str, str], None]
) -> None:
    """In steps of the target; without softness the speed grows without bound at full reach."""

    def fastest(softness: float, samples: int) -> float:
        step = 0.4 / samples
        poses = [softly("FABRIK", 0.8 + i * step, softness, bones) for i in range(samples + 1)]
        return max(farthest(a.joints, b.joints) for a, b in pairwise(poses)) / step

    hard = [fastest(0.0, samples) for samples in (400, 1600)]
    soft = [fastest(0.1, samples) for samples in (400, 1600)]
    figure(
        f"{bones} bones: elbow past full reach", f"{hard[1]:.0f} × the target, soft {soft[1]:.1f}"
    )
    assert hard[1] > 1.6 * hard[0]
    assert soft[1] <= 1.05 * soft[0]
    assert soft[1] <= 3.0


def test_a_softness_that_leaves_nothing_is_refused() -> None:
    for softness in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="softness"):
            Goal((0.0, 0.0, 0.0), softness=softness)


def test_softness_holds_at_any_size_and_place() -> None:
    small = softly("FABRIK", 0.97, 0.2, 4)
    chain = Chain(tuple((5.0 + 100.0 * x, 100.0 * y, 100.0 * z) for x, y, z in arched([0.25] * 4)))
    large = solve(chain, Goal((5.0 + 77.6, 58.2, 0.0), softness=0.2), "FABRIK", 200, 1e-9)
    for a, b in zip(small.joints, large.joints, strict=True):
        assert (5.0 + 100.0 * a[0], 100.0 * a[1]) == pytest.approx(b[:2], abs=100.0 * TOLERANCE)
