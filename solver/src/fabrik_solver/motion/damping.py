"""Stateless damping: a weighted mean of a target's earlier positions.

The weights are a raised cosine, 1 − cos, over twice the delay. It starts and ends smoothly, so the
damped motion starts, turns and stops smoothly, and never overshoots. The sum over a few samples is
as accurate as the integral.
"""

from math import cos, pi
from typing import Final

from ..core.vectors import ORIGIN, Vec, add, scaled

SAMPLES: Final = 16
"""Number of intervals into which the time is divided, with samples between them."""


def moments(delay: float) -> list[tuple[float, float]]:
    """Return the ages of the samples, and their weights.

    The weights add up to 1. A target with constant velocity is followed with exactly the delay.

    Args:
        delay: The delay of the mean, in the unit of time of the result.
    """
    parts = [i / SAMPLES for i in range(1, SAMPLES)]
    return [(2.0 * delay * part, (1.0 - cos(2.0 * pi * part)) / SAMPLES) for part in parts]


def mean(weighted_positions: list[tuple[Vec, float]]) -> Vec:
    """Return the weighted sum of positions, each with its weight."""
    total = ORIGIN
    for position, weight in weighted_positions:
        total = add(total, scaled(position, weight))
    return total
