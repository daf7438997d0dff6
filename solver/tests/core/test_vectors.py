"""Rotation vectors: the logarithm of a rotation is what its exponential takes back."""

from math import pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.core.vectors import (
    QUAT_IDENTITY,
    length,
    quat_angle,
    quat_exp,
    quat_inverse,
    quat_log,
    quat_product,
    scaled,
)

directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: length(v) > 1e-3)
angles = st.floats(0.0, 3.1415)


@given(directions, angles)
def test_the_logarithm_takes_back_the_exponential(direction: tuple, angle: float) -> None:
    vector = scaled(direction, angle / length(direction))
    w, x, y, z = turn = quat_exp(vector)
    for q in (turn, (-w, -x, -y, -z)):
        assert quat_log(q) == pytest.approx(vector, abs=1e-9)
    assert quat_angle(QUAT_IDENTITY, turn) == pytest.approx(angle, abs=1e-9)


@given(directions, angles)
def test_the_inverse_takes_a_rotation_back(direction: tuple, angle: float) -> None:
    turn = quat_exp(scaled(direction, angle / length(direction)))
    assert quat_product(turn, quat_inverse(turn)) == pytest.approx(QUAT_IDENTITY, abs=1e-12)


def test_the_logarithm_goes_the_short_way() -> None:
    assert length(quat_log((-0.8, -0.6, 0.0, 0.0))) < pi / 2
    assert length(quat_log((-1.0, 0.0, 0.0, 0.0))) == 0.0
