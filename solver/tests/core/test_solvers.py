"""The closed-form limb of two bones, and cyclic coordinate descent."""

import math
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from strategies import answer, arched, lengths_of, random_chain, random_target

from fabrik_solver import SOLVERS, Chain
from fabrik_solver.core.ccd import ccd
from fabrik_solver.core.chain import measured
from fabrik_solver.core.joint import copied


def test_two_bones_reach_every_reachable_target_in_one_iteration(
    figure: Callable[[str, str], None],
) -> None:
    rng = random.Random(1)
    worst, reached, limbs = 0.0, 0, 2000
    for i in range(limbs):
        joints = random_chain(rng, 2, 2 + i % 2)
        solution = answer(joints, random_target(rng, joints, low=0.0, high=1.0), "TWO_BONE")
        worst = max(worst, solution.residual)
        reached += solution.state == "REACHED"
        assert solution.iterations_used <= 1
    figure("TWO_BONE reaches a reachable target", f"{100 * reached / limbs:.2f} %, to {worst:.1e}")
    assert reached == limbs
    assert worst <= 1e-9


def test_the_elbow_has_the_angle_of_the_law_of_cosines() -> None:
    rng = random.Random(2)
    for _ in range(200):
        joints = random_chain(rng, 2)
        a, b = lengths_of(joints)
        target = random_target(rng, joints, low=0.05)
        root, elbow, tip = answer(joints, target, "TWO_BONE").joints
        c = math.dist(root, target)
        to_root = [p - q for p, q in zip(root, elbow, strict=True)]
        to_tip = [p - q for p, q in zip(tip, elbow, strict=True)]
        cosine = sum(p * q for p, q in zip(to_root, to_tip, strict=True)) / (a * b)
        assert cosine == pytest.approx((a * a + b * b - c * c) / (2.0 * a * b), abs=1e-9)


def test_ccd_turns_from_the_tip_to_the_root() -> None:
    """The last bone turns first and has the tip on the line to the target: the arm rests."""
    limb = ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.5, 0.5, 0.0))
    joints = copied(Chain(limb).start)
    ccd(joints, (1.2, 0.0, 0.0))
    assert joints[1].at() == pytest.approx((0.5, 0.0, 0.0), abs=1e-12)
    assert joints[2].at() == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)


def test_ccd_comes_nearer_with_every_iteration() -> None:
    rng = random.Random(4)
    for _ in range(50):
        joints = random_chain(rng, rng.randint(3, 10))
        target = random_target(rng, joints, low=0.1, high=0.9)
        swept = copied(Chain(joints).start)
        goal = measured(target, joints[0], sum(lengths_of(joints)))
        misses: list[float] = []
        for _ in range(6):
            ccd(swept, goal)
            misses.append(math.dist(swept[-1].at(), goal))
        assert all(b <= a + 1e-12 for a, b in pairwise(misses))


@pytest.mark.parametrize("bones", [2, 3, 5, 10, 20])
def test_ccd_lands_on_every_reachable_target(bones: int) -> None:
    """Its iterations alone come to 62 % of them with two bones, and to 14 % with ten."""
    rng = random.Random(5)
    for _ in range(300):
        joints = random_chain(rng, bones)
        target = random_target(rng, joints)
        solution = answer(joints, target, "CCD")
        assert solution.residual <= 2e-7 * sum(lengths_of(joints))


@pytest.mark.parametrize("bones", [3, 4, 5, 8])
def test_a_zigzag_whose_target_is_on_its_axis_stays_in_its_plane(bones: int) -> None:
    zigzag = [(0.5 * i, 0.2 * (-1) ** i * (0 < i < bones), 0.0) for i in range(bones + 1)]
    for share in (0.1, 0.3, 0.6, 0.9, 1.03):
        solved = answer(zigzag, (share * zigzag[-1][0], 0.0, 0.0), "CCD").joints
        assert all(joint[2] == 0.0 for joint in solved)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_single_bone_or_limb_points_at_its_target(solver: str) -> None:
    joints = arched([1.0, 1.0]) if solver == "TWO_BONE" else arched([2.0])
    solved = answer(joints, (0.0, 0.0, 3.0), solver).joints
    assert solved[-1] == pytest.approx((0.0, 0.0, 2.0), abs=1e-12)
