"""Rotation vectors: the logarithm of a rotation is what its exponential takes back."""

from math import pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.core import vectors

directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: vectors.length(v) > 1e-3)
angles = st.floats(0.0, 3.1415)


@given(directions, angles)
def test_the_logarithm_takes_back_the_exponential(direction: tuple, angle: float) -> None:
    vector = vectors.scaled(direction, angle / vectors.length(direction))
    w, x, y, z = turn = vectors.quat_exp(vector)
    for q in (turn, (-w, -x, -y, -z)):
        assert vectors.quat_log(q) == pytest.approx(vector, abs=1e-9)
    assert vectors.quat_angle(vectors.QUAT_IDENTITY, turn) == pytest.approx(angle, abs=1e-9)


@given(directions, angles)
def test_the_inverse_takes_a_rotation_back(direction: tuple, angle: float) -> None:
    turn = vectors.quat_exp(vectors.scaled(direction, angle / vectors.length(direction)))
    assert vectors.quat_product(turn, vectors.quat_inverse(turn)) == pytest.approx(
        vectors.QUAT_IDENTITY, abs=1e-12
    )


def test_the_logarithm_goes_the_short_way() -> None:
    assert vectors.length(vectors.quat_log((-0.8, -0.6, 0.0, 0.0))) < pi / 2
    assert vectors.length(vectors.quat_log((-1.0, 0.0, 0.0, 0.0))) == 0.0
