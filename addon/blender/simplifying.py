"""Key reduction: smooth curves through some frames, within an error at all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from .rotation import LOCATION, SCALE
from .turns import Numbers, angles, quaternions

ROUNDING = 1e-5
"""The error of single precision in keys and handles, in radians."""


def errors(mode: int, given: Numbers, other: Numbers, reach: float) -> Numbers:
    """Return the differences between values of a channel as angles, in radians.

    A location counts as the rotation that moves the end of the chain as far, a scale as the
    rotation that moves the end of the bone as far.

    Args:
        mode: The rotation mode, or the constant for locations or scales.
        given: Values of the channel along the last axis.
        other: Values to compare, of the same shape.
        reach: The length of the chain.
    """
    if mode in (LOCATION, SCALE):
        apart = np.linalg.norm(np.subtract(given, other, dtype=np.float64), axis=-1)
        return apart / reach if mode == LOCATION else apart
    return angles(quaternions(mode, given), quaternions(mode, other))


def slopes(column: Numbers) -> Numbers:
    """Return the slope at each frame, by central differences."""
    if len(column) < 3:
        return np.gradient(column, axis=0) if len(column) == 2 else np.zeros_like(column)
    return np.gradient(column, axis=0, edge_order=2)


def between(column: Numbers, slope: Numbers, first: int, last: int) -> Numbers:
    """Return the smooth curve from one frame to another, at the frames between them.

    It is the cubic with the column's values and slopes at both ends.
    """
    span = last - first
    t = (np.arange(1, span) / span)[:, None]
    a, b = column[first], column[last]
    u, v = slope[first] * span, slope[last] * span
    rest = 1.0 - t
    return (
        (1.0 + 2.0 * t) * rest * rest * a
        + t * rest * rest * u
        + t * t * (3.0 - 2.0 * t) * b
        - t * t * rest * v
    )


def knots(
    places: Sequence[int],
    misses: Callable[[int, int], Numbers],
    most: float,
    wanted: Iterable[int] = (),
) -> list[int]:
    """Return the frames that need keys.

    A curve is split at its largest error until all are within the bound or no frame is left.

    Args:
        places: The frames that may have keys, ascending; the first and the last always do.
        misses: Returns the errors of the curve at each frame between two of them.
        most: The largest error.
        wanted: Those, counted from 0, that have keys in any case.
    """
    kept = {0, len(places) - 1, *wanted}
    spans = [*pairwise(sorted(kept))]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        found = misses(places[low], places[high])
        if found.max() <= most:
            continue
        worst = places[low] + 1 + int(found.argmax())
        middle = int(np.searchsorted(places, worst))
        middle = min(max(middle, low + 1), high - 1)
        kept.add(middle)
        spans += [(low, middle), (middle, high)]
    return [places[i] for i in sorted(kept)]


def simplified(
    mode: int,
    column: Numbers,
    places: Sequence[int],
    most: float,
    reach: float,
    slope: Numbers | None = None,
    wanted: Iterable[int] = (),
) -> list[int]:
    """Return the frames at which one bone's channel needs keys.

    Args:
        mode: As in `errors`.
        column: The values of the channel, frames × components.
        places: The frames, counted from 0, that may have keys.
        most: The largest error at a frame, in radians.
        reach: As in `errors`.
        slope: How fast the numbers change at each frame; their `slopes` if None.
        wanted: As in `knots`.
    """
    column = column.astype(np.float64)
    steep = slopes(column) if slope is None else slope

    def misses(first: int, last: int) -> Numbers:
        curve = between(column, steep, first, last)
        return errors(mode, column[first + 1 : last], curve, reach)

    return knots(places, misses, most, wanted)
