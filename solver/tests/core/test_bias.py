"""Bones near the root, or near the tip, turn more than the others."""

import math
import random
from collections.abc import Callable

import pytest

import fabrik_solver
from fabrik_solver.core import vectors

BIASES = (-1.0, -0.5, 0.5, 1.0)


def some_turn(rng: random.Random, most: float) -> vectors.Quat:
    axis = vectors.unit((rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1)))
    assert axis
    return vectors.quat_about(axis, rng.uniform(-most, most))


def some_chain(
    rng: random.Random, bones: int, bias: float, limits: tuple[fabrik_solver.Limit | None, ...] = ()
) -> fabrik_solver.ChainInput:
    size = 1.0 / bones
    rests = [
        fabrik_solver.Bone(
            vectors.quat_matrix(some_turn(rng, 0.5)), (0.0, size if i else 0.0, 0.0), size
        )
        for i in range(bones)
    ]
    channels = [fabrik_solver.Local()] * bones
    return fabrik_solver.ChainInput(
        rests, channels, (0.0, size, 0.0), fabrik_solver.WHOLE, None, limits, bias=bias
    )


def some_target(rng: random.Random, chain: fabrik_solver.ChainInput) -> tuple[float, float, float]:
    turns = [some_turn(rng, 0.5) for _ in chain.links]
    return fabrik_solver.point_in(fabrik_solver.chain_frames(chain, turns)[-1], chain.links[-1].arm)


def center_of_turning(posture: fabrik_solver.Posture) -> float:
    """Return where along the chain its bones turn on average: 0 at the root, 1 at the tip."""
    turns = [2.0 * math.acos(min(1.0, abs(turn[0]))) for turn in posture.rotations]
    return sum(turn * i for i, turn in enumerate(turns)) / sum(turns) / (len(turns) - 1)


@pytest.mark.parametrize("bones", [3, 5, 10, 30])
def test_the_turning_moves_along_the_chain(bones: int, figure: Callable[[str, str], None]) -> None:
    centers: list[float] = []
    for bias in (-1.0, -0.5, 0.0, 0.5, 1.0):
        rng = random.Random(bones)
        found: list[float] = []
        for _ in range(25):
            chain = some_chain(rng, bones, bias)
            posture = fabrik_solver.pose_chain(chain, fabrik_solver.Goal(some_target(rng, chain)))
            assert posture.state == "REACHED"
            found.append(center_of_turning(posture))
        centers.append(sum(found) / len(found))
    assert centers[0] < centers[1] < centers[2]
    assert centers[2] - centers[0] > 0.14
    # A short chain turns mostly at its tip as it is.
    assert centers[4] - centers[2] > (0.05 if bones >= 10 else -0.02)
    text = ", ".join(f"{center:.2f}" for center in centers)
    figure(f"{bones} bones, bias -1 to 1: center of turning", text)


@pytest.mark.parametrize("bias", BIASES)
def test_the_tip_arrives_and_the_pole_is_faced(bias: float) -> None:
    rng = random.Random(7)
    for _ in range(20):
        chain = some_chain(rng, rng.choice((2, 3, 5, 10)), bias)
        target = some_target(rng, chain)
        pole = vectors.add(target, (rng.uniform(-2, 2), rng.uniform(-2, 2), 2.0))
        posture = fabrik_solver.pose_chain(chain, fabrik_solver.Goal(target, pole))
        assert math.dist(posture.tip, target) < 2e-7
        axis = vectors.unit(vectors.sub(target, chain.root))
        assert axis
        heads = [head for _, head in fabrik_solver.chain_frames(chain, posture.rotations)][1:]
        bend = (0.0, 0.0, 0.0)
        for head in heads:
            bend = vectors.add(bend, vectors.across(vectors.sub(head, chain.root), axis))
        to_pole = vectors.across(vectors.sub(pole, chain.root), axis)
        if min(vectors.length(bend), vectors.length(to_pole)) > 0.3:
            assert vectors.dot(bend, to_pole) > 0.999 * vectors.length(bend) * vectors.length(
                to_pole
            )


@pytest.mark.parametrize("bias", BIASES)
def test_out_of_reach_the_chain_is_straight_whatever_its_bias(bias: float) -> None:
    rng = random.Random(3)
    for bones in (2, 5, 30):
        chain = some_chain(rng, bones, bias)
        target = vectors.scaled(some_target(rng, chain), 20.0)
        posture = fabrik_solver.pose_chain(chain, fabrik_solver.Goal(target))
        assert posture.state == "OUT_OF_REACH"
        assert vectors.length(posture.tip) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("bias", BIASES)
def test_limits_hold(bias: float) -> None:
    rng = random.Random(5)
    cone = fabrik_solver.Cone((-0.6, 0.6), (-0.6, 0.6), (-0.4, 0.4))
    for bones in (3, 6):
        chain = some_chain(rng, bones, bias, (cone,) * bones)
        for _ in range(10):
            posture = fabrik_solver.pose_chain(chain, fabrik_solver.Goal(some_target(rng, chain)))
            for turn in posture.rotations:
                kept = cone.nearest(turn)
                assert abs(sum(a * b for a, b in zip(kept, turn, strict=True))) > 1.0 - 1e-12


def test_nothing_jumps_as_the_bias_is_moved() -> None:
    """The largest step of a joint is at most so many times that of the slider, of width 2."""
    rng = random.Random(11)
    worst = 0.0
    for _ in range(8):
        bones = rng.choice((2, 3, 5, 10))
        state = rng.getstate()
        before: list[tuple[float, float, float]] | None = None
        for i in range(81):
            rng.setstate(state)
            chain = some_chain(rng, bones, i / 40.0 - 1.0)
            posture = fabrik_solver.pose_chain(chain, fabrik_solver.Goal(some_target(rng, chain)))
            heads = [head for _, head in fabrik_solver.chain_frames(chain, posture.rotations)]
            if before:
                worst = max(worst, *(math.dist(a, b) for a, b in zip(heads, before, strict=True)))
            before = heads
    assert worst < 2.0 / 40.0
