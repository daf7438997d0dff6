"""TEXTBOOK is the published algorithm, at the published cost, and FABRIK begins with it."""

import math
import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest
import strategies

from fabrik_solver import COMPILED, Chain
from fabrik_solver.core.ccd import ccd
from fabrik_solver.core.fabrik import fabrik
from fabrik_solver.core.joint import copied


def published(
    p: list[strategies.Point], t: strategies.Point, tol: float, iterations: int = 1000
) -> tuple[list[strategies.Point], int]:
    """Algorithm 1 of Aristidou and Lasenby 2011, line by line with the paper's names."""

    def on_line(a: strategies.Point, b: strategies.Point, lam: float) -> strategies.Point:
        return tuple((1 - lam) * x + lam * y for x, y in zip(a, b, strict=True))

    n, p, d = len(p), list(p), strategies.lengths_of(p)
    if math.dist(p[0], t) > sum(d):
        for i in range(n - 1):
            r = math.dist(t, p[i])
            p[i + 1] = on_line(p[i], t, d[i] / r)
        return p, 0
    b = p[0]
    dif, used = math.dist(p[-1], t), 0
    while dif > tol and used < iterations:
        p[-1] = t
        for i in range(n - 2, -1, -1):
            r = math.dist(p[i + 1], p[i])
            p[i] = on_line(p[i + 1], p[i], d[i] / r)
        p[0] = b
        for i in range(n - 1):
            r = math.dist(p[i + 1], p[i])
            p[i + 1] = on_line(p[i], p[i + 1], d[i] / r)
        dif, used = math.dist(p[-1], t), used + 1
    return p, used


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("iterations", [1, 2, 5, 100])
def test_the_joints_are_those_of_the_published_algorithm(dimension: int, iterations: int) -> None:
    rng = random.Random(dimension)
    for bones in (2, 3, 4, 7, 12, 20):
        for _ in range(5):
            joints = strategies.random_chain(rng, bones, dimension)
            size = sum(strategies.lengths_of(joints))
            target = strategies.random_target(rng, joints, low=0.2, high=0.85)
            expected, used = published(
                list(joints), target, strategies.TOLERANCE * size, iterations
            )
            solution = strategies.answer(joints, target, "TEXTBOOK", iterations=iterations)
            assert solution.iterations_used == used
            assert strategies.farthest(solution.joints, expected) <= 1e-12 * size


def test_the_answer_to_an_unreachable_target_is_the_published_one() -> None:
    rng = random.Random(3)
    for dimension in (2, 3):
        for bones in (1, 2, 5, 20):
            joints = strategies.random_chain(rng, bones, dimension)
            size = sum(strategies.lengths_of(joints))
            target = strategies.moved(
                joints[0], strategies.random_direction(rng, dimension), 1.5 * size
            )
            expected, _ = published(list(joints), target, strategies.TOLERANCE)
            for solver in ("FABRIK", "TEXTBOOK"):
                assert (
                    strategies.farthest(strategies.answer(joints, target, solver).joints, expected)
                    <= 1e-12 * size
                )


def test_the_tolerance_decides_when_it_stops() -> None:
    joints = strategies.random_chain(random.Random(4), 6)
    target = strategies.random_target(random.Random(4), joints, low=0.3, high=0.6)
    taken = []
    for tolerance in (1e-1, 1e-3, 1e-6, 1e-9):
        solution = strategies.answer(
            joints, target, "TEXTBOOK", iterations=1000, tolerance=tolerance
        )
        assert solution.residual <= tolerance * sum(strategies.lengths_of(joints))
        taken.append(solution.iterations_used)
    assert taken == sorted(taken) and taken[0] < taken[-1]


def test_a_reachable_target_is_reached_within_a_hundred_iterations(
    figure: Callable[[str, str], None],
) -> None:
    rng = random.Random(5)
    rates, plain_rates = {}, {}
    for bones in range(2, 21):
        reached = plainly = 0
        chains = 150
        for _ in range(chains):
            joints = strategies.random_chain(rng, bones)
            target = strategies.random_target(rng, joints)
            size = sum(strategies.lengths_of(joints))
            solution = strategies.answer(joints, target, "TEXTBOOK", iterations=100)
            reached += solution.residual <= strategies.TOLERANCE * size
            plain, _ = published(list(joints), target, strategies.TOLERANCE * size, 100)
            plainly += math.dist(plain[-1], target) <= strategies.TOLERANCE * size
        rates[bones] = 100.0 * reached / chains
        plain_rates[bones] = 100.0 * plainly / chains
    overall = sum(rates.values()) / len(rates)
    plain_overall = sum(plain_rates.values()) / len(rates)
    figure("TEXTBOOK reaches a reachable target, 2–20 bones", f"{overall:.2f} %")
    figure("  by Algorithm 1 alone", f"{plain_overall:.2f} %")
    for name, these in (("  for each number of bones", rates), ("  by Algorithm 1", plain_rates)):
        figure(name, " ".join(f"{bones}:{rate:.4g}" for bones, rate in these.items()))
    assert overall >= 99.0
    assert min(rates.values()) >= 95.0


STEPS = {"FABRIK": fabrik, "CCD": ccd}


def lines_of_one_iteration(solver: str, bones: int) -> int:
    """How many lines of Python an iteration runs: a measure that no busy machine disturbs."""
    count = 0

    def counted(frame: FrameType, event: str, _: object) -> Callable[..., object]:
        nonlocal count
        count += event == "line"
        return counted

    joints = copied(Chain(strategies.arched([1.0 / bones] * bones)).start)
    tracer = sys.gettrace()
    sys.settrace(counted)
    try:
        STEPS[solver](joints, (0.5, 0.1, 0.2))
    finally:
        sys.settrace(tracer)
    return count


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_an_iteration_costs_as_much_as_there_are_bones(
    solver: str, figure: Callable[[str, str], None]
) -> None:
    if COMPILED:
        pytest.skip("a compiled solver runs no lines that could be counted")
    lines = lines_of_one_iteration(solver, 1000) / lines_of_one_iteration(solver, 100)
    figure(f"{solver}: an iteration of 1000 bones to one of 100", f"{lines:.2f} × the lines")
    assert lines == pytest.approx(10.0, rel=0.05)


def test_a_chain_of_a_thousand_bones_is_solved() -> None:
    joints = strategies.arched([0.001] * 1000)
    solution = strategies.answer(joints, (0.5, 0.1, 0.2))
    assert solution.state == "REACHED"
    assert strategies.lengths_of(solution.joints) == pytest.approx([0.001] * 1000, rel=1e-9)
