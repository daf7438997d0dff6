"""Transitions from 0 to 1."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.motion.easing import biased

share = st.floats(0.0, 1.0, allow_subnormal=False)


@given(share)
def test_an_even_bias_changes_no_bit(x: float) -> None:
    assert biased(x, 0.5) == x


@given(share)
def test_a_bias_has_its_value_halfway_and_keeps_the_ends(middle: float) -> None:
    assert biased(0.5, middle) == pytest.approx(middle)
    assert (biased(0.0, middle), biased(1.0, middle)) == (0.0, 1.0)


@given(share)
def test_a_bias_never_turns_back(middle: float) -> None:
    steps = [biased(i / 50, middle) for i in range(51)]
    rises = [b - a for a, b in pairwise(steps)]
    assert min(rises) > -1e-12
    order = sorted(rises, reverse=middle > 0.5)  # Steep at one end only.
    assert rises == pytest.approx(order, abs=1e-12)
