"""Feet that roll on their soles."""

from itertools import pairwise
from math import cos, dist, pi, radians, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import frame_in, inverse, point_in
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    mat_product,
    quat_about,
    quat_matrix,
    quat_product,
    quat_unit,
    sub,
)
from fabrik_solver.motion.foot_roll import Rolled, rolled, toes_of, unbent
from fabrik_solver.motion.sole import Sole

BARE = Sole(tip=(0.0, 0.25, 0.0), edge=0.05)
SOLE = BARE._replace(joint=(0.01, 0.17, -0.02))
ANKLE = (0.0, 0.03, -0.09)
BREAK = radians(45.0)

angles = st.floats(-80.0, 80.0)
quats = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: sum(x * x for x in q) > 0.01)


def control(roll: float, bank: float = 0.0, turn: float = 0.0):
    """Return the rotation of a control by angles in degrees."""
    q = quat_about((1.0, 0.0, 0.0), radians(roll))
    q = quat_product(quat_about((0.0, 1.0, 0.0), radians(bank)), q)
    return quat_matrix(quat_product(quat_about((0.0, 0.0, 1.0), radians(turn)), q))


def points_after(sole: Sole, result: Rolled):
    """Return the corners of the sole after a roll: those of the heel, the ball and the tip."""
    toe_axes = quat_matrix(toes_of(result.bend, (1.0, 0.0, 0.0, 0.0)))
    ball = sole.joint or sole.tip
    toes = frame_in(result.foot, (toe_axes, ball)) if sole.joint else result.foot
    sides = (-sole.edge, 0.0, sole.edge)
    heel = [point_in(result.foot, (x, 0.0, 0.0)) for x in sides]
    balls = [point_in(result.foot, (x, ball[1], 0.0)) for x in sides]
    to_toes = ball if sole.joint else ORIGIN
    tip = [point_in(toes, sub((x, sole.tip[1], 0.0), to_toes)) for x in sides]
    return heel, balls, tip


@pytest.mark.parametrize("sole", [SOLE, BARE])
def test_a_foot_without_a_roll_stays(sole):
    result = rolled(sole, IDENTITY, 0.17, BREAK)
    assert result == Rolled((IDENTITY, ORIGIN), 0.0)


@pytest.mark.parametrize("roll", range(-40, 81, 5))
def test_the_pivot_of_a_roll_stays(roll):
    result = rolled(SOLE, control(roll), 0.17, BREAK)
    heel, _, tip = points_after(SOLE, result)
    if roll <= 0:
        assert dist(heel[1], ORIGIN) < 1e-12
        assert result.bend == 0.0
    else:
        assert dist(tip[1], (0.0, 0.25, 0.0)) < 1e-12
    if 0 <= roll <= 45:
        assert dist(point_in(result.foot, SOLE.joint), SOLE.joint) < 1e-12
        assert result.bend == pytest.approx(radians(roll))
    if roll > 45:
        assert result.bend == BREAK


@given(angles, st.floats(-60.0, 60.0), angles, st.sampled_from([SOLE, BARE]))
def test_no_point_of_the_sole_sinks(roll, bank, turn, sole):
    """Also on a ball joint that is above the sole: Z points down."""
    result = rolled(sole, control(roll, bank, turn), 0.17, BREAK)
    assert max(z for row in points_after(sole, result) for _, _, z in row) < 1e-12


@given(angles, st.floats(-80.0, 80.0), angles)
def test_a_foot_turns_like_its_control(roll, bank, turn):
    q = control(roll, bank, turn)
    assert rolled(SOLE, q, 0.0, BREAK).foot[0] == q


@pytest.mark.parametrize("bank", [-30.0, -1.0, 1.0, 30.0])
def test_the_edge_of_a_bank_stays(bank):
    result = rolled(SOLE, control(0.0, bank), 0.17, BREAK)
    side = -SOLE.edge if bank > 0.0 else SOLE.edge
    for y in (0.0, 0.25):
        assert dist(point_in(result.foot, (side, y, 0.0)), (side, y, 0.0)) < 1e-12


@pytest.mark.parametrize("pivot", [0.0, 0.17, 0.25])
def test_the_pivot_of_a_turn_stays(pivot):
    result = rolled(SOLE, control(0.0, 0.0, 50.0), pivot, BREAK)
    assert dist(point_in(result.foot, (0.0, pivot, 0.0)), (0.0, pivot, 0.0)) < 1e-12


@pytest.mark.parametrize("sole", [SOLE, BARE])
def test_no_angle_jumps(sole):
    """At a degree a frame, an ankle's speed changes by the distance of two pivots at most."""

    def ankle(*turn: float):
        return point_in(rolled(sole, control(*turn), 0.17, BREAK).foot, ANKLE)

    for axis in range(3):
        turns = [[float(k) if i == axis else 7.0 for i in range(3)] for k in range(-40, 81)]
        path = [ankle(*turn) for turn in turns]
        speeds = [sub(b, a) for a, b in pairwise(path)]
        jumps = [dist(a, b) for a, b in pairwise(speeds)]
        assert max(jumps) < radians(1.0) * 0.25 + 1e-4
        assert max(jumps) < 0.01


@given(quats, quats, st.floats(0.0, 1.5), st.tuples(*[st.floats(-1.0, 1.0)] * 3))
def test_any_pose_of_foot_and_toes_has_a_roll(foot_turn, toe_turn, most_bend, ankle):
    """Matching controls to a pose, and posing by them, is the identity."""
    foot = quat_matrix(quat_unit(foot_turn)), ankle
    toes = quat_unit(toe_turn)
    bend, rest = unbent(toes, most_bend)
    result = rolled(SOLE, quat_matrix(quat_about((1.0, 0.0, 0.0), bend)), 0.17, most_bend)
    assert result.bend == pytest.approx(bend, abs=1e-12)
    standing = frame_in(foot, inverse(result.foot))
    again = frame_in(standing, result.foot)
    assert dist(again[1], foot[1]) < 1e-12
    assert max(map(abs, sub_all(again[0], foot[0]))) < 1e-12
    posed = mat_product(again[0], quat_matrix(toes_of(result.bend, rest)))
    expected = mat_product(foot[0], quat_matrix(toes))
    assert max(map(abs, sub_all(posed, expected))) < 1e-11


def sub_all(a, b):
    """Return the differences of two matrices."""
    return [x - y for x, y in zip(a, b, strict=True)]


def test_toes_that_bend_on_flat_ground_leave_the_rest_flat():
    """A heel that a capture lifts above flat toes is a roll, and the control stays on the floor."""
    for degrees in (0.0, 10.0, 44.0, 60.0):
        bend, rest = unbent(quat_about((1.0, 0.0, 0.0), -radians(degrees)), BREAK)
        assert bend == pytest.approx(min(radians(degrees), BREAK))
        excess = 0.5 * max(0.0, radians(degrees) - BREAK)
        assert rest == pytest.approx((cos(excess), -sin(excess), 0.0, 0.0))
    curled = quat_about((1.0, 0.0, 0.0), 0.3)
    assert unbent(curled, BREAK) == (0.0, curled)


@given(st.floats(-pi + 1e-6, pi - 1e-6))
def test_the_sign_of_a_quaternion_does_not_matter(angle):
    q = quat_about((1.0, 0.0, 0.0), angle)
    assert unbent(q, BREAK)[0] == pytest.approx(unbent(tuple(-x for x in q), BREAK)[0], abs=1e-12)
