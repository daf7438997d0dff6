"""Swing: the chain turns as a whole toward its target before it bends."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import SOLVERS, Chain, Goal, solve
from fabrik_solver.core import vectors

LEG = ((0.0, 0.0, 0.34), (0.0, 0.3, 0.62), (0.0, 0.46, 0.37), (0.0, 0.55, 0.0))
"""A spider's leg: three bones in an upright plane, the knee up."""

SIZE = sum(math.dist(a, b) for a, b in pairwise(LEG))


def swung(
    target: vectors.Vec, swing: float = 1.0, solver: str = "FABRIK", leg=LEG
) -> list[vectors.Vec]:
    return list(solve(Chain(leg), Goal(target, swing=swing), solver, 1000).joints)


def around(azimuth: float, height: float, far: float) -> vectors.Vec:
    """A place around the hip; the azimuth is measured from where the leg rests."""
    flat = math.sqrt(max(0.0, far * far - height * height))
    return (-flat * math.sin(azimuth), flat * math.cos(azimuth), 0.34 + height)


places = st.builds(
    around, st.floats(-2.0, 2.0), st.floats(-0.3, 0.15), st.floats(0.35 * SIZE, 0.95 * SIZE)
)


@pytest.mark.parametrize("solver", SOLVERS)
@given(places)
def test_the_tip_arrives_and_the_bones_keep_their_lengths(solver: str, target: vectors.Vec) -> None:
    leg = LEG[:2] + LEG[3:] if solver == "TWO_BONE" else LEG
    joints = swung(target, 1.0, solver, leg)
    if math.dist(leg[0], target) < 0.95 * sum(math.dist(a, b) for a, b in pairwise(leg)):
        assert math.dist(joints[-1], target) <= 2e-4 * SIZE
    for (a, b), (c, d) in zip(pairwise(leg), pairwise(joints), strict=True):
        assert math.dist(c, d) == pytest.approx(math.dist(a, b))


@given(places)
def test_the_leg_stays_in_the_plane_in_which_it_bends(target: vectors.Vec) -> None:
    joints = swung(target)
    turn = vectors.quat_between(
        vectors.sub(LEG[-1], LEG[0]), vectors.sub(target, LEG[0]), (0.0, 0.0, 1.0)
    )
    across = vectors.rotate(turn, (1.0, 0.0, 0.0))
    bend = vectors.rotate(turn, vectors.cross((1.0, 0.0, 0.0), vectors.sub(LEG[-1], LEG[0])))
    for joint in joints[1:]:
        assert abs(vectors.dot(vectors.sub(joint, LEG[0]), across)) <= 1e-6
    assert vectors.dot(vectors.sub(joints[1], LEG[0]), bend) > 0.0


@given(places, st.floats(0.0, 2.0 * math.pi), st.floats(-1.0, 1.0))
def test_no_knee_moves_much_faster_than_its_foot(
    target: vectors.Vec, angle: float, rise: float
) -> None:
    """Dragged without a swing, knees of this leg move up to 15 times as fast as the foot."""
    step = vectors.scaled(
        vectors.unit((math.cos(angle), math.sin(angle), rise)) or (1.0, 0.0, 0.0), 1e-3
    )
    here, there = swung(target), swung(vectors.add(target, step))
    assert max(map(math.dist, here, there)) <= 2.5e-3


FORELEG = ((0.0, -0.69, 1.16), (0.0, -0.53, 0.84), (0.0, -0.54, 0.48), (0.0, -0.52, 0.22))
"""A horse's, nearly straight: elbow, knee and fetlock."""


def test_a_leg_folds_the_same_way_however_near_its_foot_comes() -> None:
    """At 0.76 of its length, its elbow used to snap straight and the knee below to fold."""
    size = sum(math.dist(a, b) for a, b in pairwise(FORELEG))
    way = vectors.unit(vectors.sub(FORELEG[-1], FORELEG[0])) or (0.0, 0.0, -1.0)
    step = 0.005 * size
    poses = [
        swung(vectors.add(FORELEG[0], vectors.scaled(way, 0.97 * size - step * i)), leg=FORELEG)
        for i in range(70)
    ]
    for here, there in pairwise(poses):
        assert max(map(math.dist, here, there)) <= 2.5 * step


def test_a_part_of_the_swing_is_between() -> None:
    target = around(1.0, -0.2, 0.6 * SIZE)
    none, some, whole = (swung(target, swing) for swing in (0.0, 0.5, 1.0))
    assert math.dist(some[1], none[1]) > 1e-3
    assert math.dist(some[1], whole[1]) > 1e-3


def test_a_target_behind_is_reached_with_the_knee_up() -> None:
    behind = vectors.sub(LEG[0], vectors.scaled(vectors.sub(LEG[-1], LEG[0]), 0.9))
    joints = solve(Chain(LEG, (0.0, 0.2, 0.3)), Goal(behind, swing=1.0)).joints
    assert math.dist(joints[-1], behind) <= 1e-4
    assert vectors.length(vectors.sub(joints[1], LEG[0])) > 0.0


@pytest.mark.parametrize("swing", [-0.1, 1.1, math.nan])
def test_a_swing_that_is_none_is_refused(swing: float) -> None:
    with pytest.raises(ValueError, match="swing must be"):
        Goal((0.0, 0.0, 0.0), swing=swing)
