"""Easing after a moving target without remembering anything: a mean of where it was before.

The weights are a raised cosine, 1 − cos, over twice the delay. It begins and ends without a corner,
so that the eased motion begins, turns and stops softly and never overshoots; and its sum over few
places is as good as its integral.
"""

from math import cos, pi
from typing import Final

from ..core.vectors import ORIGIN, Vec, add, scaled

SAMPLES: Final = 16
"""Into so many parts the time is cut. Of the places between them the mean is taken."""


def moments(delay: float) -> list[tuple[float, float]]:
    """Return how long ago the target is looked at, and the weight of each of these moments.

    The weights sum up to 1. A target that moves evenly is followed by exactly the delay.

    Args:
        delay: By how much the mean is late, in any unit of time; that of the answer.
    """
    parts = [i / SAMPLES for i in range(1, SAMPLES)]
    return [(2.0 * delay * part, (1.0 - cos(2.0 * pi * part)) / SAMPLES) for part in parts]


def mean(places: list[tuple[Vec, float]]) -> Vec:
    """Return the sum of places times their weights."""
    total = ORIGIN
    for place, weight in places:
        total = add(total, scaled(place, weight))
    return total
