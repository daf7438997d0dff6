"""Knees that are nearly straight move smoothly, and their ankles give little for it."""

from itertools import pairwise
from math import sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.motion import knee
from fabrik_solver.motion.smoothest import Wish, smoothest

RATE, LEG = 60.0, 0.85


def bends(places: list[float]) -> list[float]:
    threes = zip(places, places[1:], places[2:], strict=False)
    return [a - 2.0 * b + c for a, b, c in threes]


def steadied(before: list[float], after: list[float], lies: float = 0.0) -> list[float]:
    weights = [knee.weight(a, b, LEG, lies) for a, b in zip(before, after, strict=True)]
    kept = [knee.clear(b, LEG) * bend for b, bend in zip(before[1:], bends(before), strict=False)]
    wishes = list(map(Wish, after, weights, [0.0, *kept, 0.0]))
    return smoothest(wishes, (knee.CALM * RATE) ** 4)


@given(st.floats(0.0, 0.4))
def test_distance_and_offset_of_a_knee_are_inverse(aside: float) -> None:
    assert knee.offset(knee.distance(aside, LEG), LEG) == pytest.approx(aside, abs=1e-7)


def test_clear_knee_that_is_as_animated_stays() -> None:
    before = [0.2 + 0.05 * sin(0.3 * i) for i in range(40)]
    found = steadied(before, before)
    assert max(abs(a - b) for a, b in zip(found, before, strict=True)) < 1e-12


def test_ankle_that_is_let_go_within_a_tenth_of_a_second_does_not_jolt_a_straight_knee() -> None:
    """It gives less than 2 mm for that."""
    before = [0.012] * 60
    shorter = [0.003 * min(1.0, max(0.0, (33 - i) / 6)) for i in range(60)]
    after = [knee.offset(knee.distance(0.012, LEG) - more, LEG) for more in shorter]
    found = steadied(before, after)
    worst = [max(map(abs, bends(places))) * RATE * RATE for places in (after, found)]
    assert worst[0] > 18.0
    assert worst[1] < 0.05 * worst[0]
    pairs = zip(found, after, strict=True)
    assert max(abs(knee.distance(a, LEG) - knee.distance(b, LEG)) for a, b in pairs) < 2e-3


def test_knee_above_a_flat_foot_is_kept_the_more_the_more_it_is_bent() -> None:
    loose, firm = (knee.weight(0.15, 0.15, LEG, lies) for lies in (0.0, 1.0))
    assert firm > 20.0 * loose
    assert knee.weight(0.0, 0.0, LEG, 1.0) == knee.weight(0.0, 0.0, LEG, 0.0) > 0.0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_knee_of_a_leg_without_length_is_where_it_is_asked_to_be(count: int) -> None:
    wish = Wish(0.2, knee.weight(0.0, 0.0, 0.0, 1.0))
    assert smoothest([wish] * count, 1.0) == pytest.approx([0.2] * count)


def test_ankle_gives_what_is_wanted_up_to_a_hundredth_of_the_leg() -> None:
    assert knee.softened(0.0, LEG) == knee.softened(0.01, 0.0) == 0.0
    assert knee.softened(2e-6, LEG) == pytest.approx(2e-6)  # Its knee moves by 18 times as much.
    assert knee.softened(2e-3, LEG) == pytest.approx(2e-3, rel=0.05)
    wide = [knee.softened(0.01 * i, LEG) for i in range(-50, 50)]
    assert all(a < b for a, b in pairwise(wide))
    assert max(map(abs, wide)) < knee.MOST * LEG


def test_leg_that_swings_does_not_fold_onto_itself() -> None:
    """It is as it is until half of what its bones allow is left, and never folded wholly."""
    wide = [knee.folded(0.01 * i, 0.5, 0.1) for i in range(-50, 80)]
    assert all(a < b for a, b in pairwise(wide))
    assert min(wide) > 0.2
    assert knee.folded(0.31, 0.5, 0.1) == 0.31
    assert knee.folded(0.3 - 1e-4, 0.5, 0.1) == pytest.approx(0.3 - 1e-4, abs=1e-6)
    assert knee.folded(0.1, 0.05, 0.1) == 0.1
    assert knee.folded(0.02, 0.05, 0.1) == 0.05  # No farther than animated.
