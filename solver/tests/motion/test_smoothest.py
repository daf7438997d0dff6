"""The smoothest curve within bounds is the least of all that are."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.motion.smoothest import Wish, cubic, smoothest


def second(values: list[float]) -> list[float]:
    return [a - 2.0 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False)]


@st.composite
def asked(draw: st.DrawFn) -> list[Wish]:
    count = draw(st.integers(3, 40))

    def some(low: float, high: float) -> list[float]:
        return draw(st.lists(st.floats(low, high), min_size=count, max_size=count))

    targets, lows = some(-1.0, 1.0), some(-0.5, 0.3)
    highs = [low + wide for low, wide in zip(lows, some(0.0, 0.5), strict=True)]
    # As of a hip on level ground, bounds are often exactly what is wanted.
    if draw(st.booleans()):
        lows, highs = [-inf] * count, targets
    return list(map(Wish, targets, some(0.01, 2.0), some(-0.1, 0.1), lows, highs))


def gradient(wishes: list[Wish], stiffness: float, values: list[float]) -> list[float]:
    """By how much the sum of squares grows, halved, as each value does."""
    off = [bend - wish.bend for bend, wish in zip(second(values), wishes[1:-1], strict=True)]
    pulls = [
        wish.weight * (value - wish.target) for value, wish in zip(values, wishes, strict=True)
    ]
    for i, bend in enumerate(off):
        for j, share in ((i, 1.0), (i + 1, -2.0), (i + 2, 1.0)):
            pulls[j] += stiffness * share * bend
    return pulls


@given(asked(), st.floats(0.0, 1e4))
def test_no_value_can_be_moved_within_its_bounds_for_less(
    wishes: list[Wish], stiffness: float
) -> None:
    """Which is true of the least only, as the sum of squares is strictly convex."""
    values = smoothest(wishes, stiffness)
    near, steep = 1e-7, 1e-7 * (1.0 + 16.0 * stiffness)
    for value, pull, wish in zip(values, gradient(wishes, stiffness, values), wishes, strict=True):
        low, high = wish.low, wish.high
        assert low - near <= value <= high + near
        assert abs(pull) < steep or (pull < 0.0 and value > high - near) or value < low + near
        assert pull > -steep or value > high - near


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_frames(count: int) -> None:
    assert smoothest([Wish(0.3)] * count, 1.0) == pytest.approx([0.3] * count)


def test_line_stays_whatever_the_weights() -> None:
    places = [0.01 + 0.001 * i for i in range(30)]
    weights = [0.01 + 0.3 * (i % 3) for i in range(30)]
    assert smoothest(list(map(Wish, places, weights)), 2.0) == pytest.approx(places)


def test_curve_bends_below_a_bound_long_before_it_and_touches_it() -> None:
    values = smoothest([Wish(1.0, high=0.0 if i == 30 else inf) for i in range(61)], 5.0**4)
    assert values[30] == min(values) == 0.0
    assert 0.9 < values[15] < 1.0
    assert max(map(abs, second(values))) < 0.05


def test_cubic_passes_through_its_values() -> None:
    assert cubic([3.0, 1.0, 2.0, 5.0], 0.0) == 1.0
    assert cubic([3.0, 1.0, 2.0, 5.0], 1.0) == pytest.approx(2.0)
    assert cubic([0.0, 1.0, 2.0, 3.0], 0.25) == pytest.approx(1.25)
