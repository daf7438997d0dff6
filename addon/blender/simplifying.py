"""Key reduction: choosing keys so that a smooth curve stays within an error at every frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from .rotation import LOCATION, SCALE
from .turns import Numbers, angles, quaternions

ROUNDING = 1e-5
"""The error of single precision in keys and handles, in radians."""


def errors(mode: int, values: Numbers, other: Numbers, reach: float) -> Numbers:
    """Return the differences between values of a channel as angles, in radians.

    A location counts as the rotation that moves the end of the chain as far, a scale as the
    rotation that moves the end of the bone as far.

    Args:
        mode: The rotation mode, or the constant for locations or scales.
        values: Values of the channel along the last axis.
        other: Values to compare with, of the same shape.
        reach: The length of the chain.
    """
    if mode in (LOCATION, SCALE):
        apart = np.linalg.norm(np.subtract(values, other, dtype=np.float64), axis=-1)
        return apart / reach if mode == LOCATION else apart
    return angles(quaternions(mode, values), quaternions(mode, other))


def slopes(column: Numbers) -> Numbers:
    """Return the slopes of a column, frames × components, by central differences, per frame."""
    if len(column) < 3:
        return np.gradient(column, axis=0) if len(column) == 2 else np.zeros_like(column)
    return np.gradient(column, axis=0, edge_order=2)


def between(column: Numbers, slope: Numbers, first: int, last: int) -> Numbers:
    """Return the cubic Hermite curve between two frames, evaluated at the frames between them."""
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
    errors_between: Callable[[int, int], Numbers],
    tolerance: float,
    required: Iterable[int],
) -> list[int]:
    """Return the frames that need keys.

    The curve is split at its largest error until that is within the tolerance, or no frame is left.

    Args:
        places: The frames that may have keys, ascending; the first and the last always do.
        errors_between: Returns the errors of the curve at each frame between two keys.
        tolerance: The largest allowed error.
        required: The indices in ``places`` that always have keys.
    """
    keyed = {0, len(places) - 1, *required}
    spans = [*pairwise(sorted(keyed))]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        deviation = errors_between(places[low], places[high])
        if deviation.max() <= tolerance:
            continue
        worst = places[low] + 1 + int(deviation.argmax())
        middle = int(np.searchsorted(places, worst))
        middle = min(max(middle, low + 1), high - 1)
        keyed.add(middle)
        spans += [(low, middle), (middle, high)]
    return [places[i] for i in sorted(keyed)]


def simplified(
    mode: int,
    column: Numbers,
    places: Sequence[int],
    tolerance: float,
    reach: float,
    slope: Numbers | None = None,
    required: Iterable[int] = (),
) -> list[int]:
    """Return the frames at which one bone's channel needs keys.

    Args:
        mode: See `errors`.
        column: The values of the channel, frames × components.
        places: The frames that may have keys, counted from 0, ascending.
        tolerance: The largest allowed error at a frame, in radians.
        reach: See `errors`.
        slope: The slopes of the column; None computes them by `slopes`.
        required: See `knots`.
    """
    column = column.astype(np.float64)
    slope = slopes(column) if slope is None else slope

    def errors_between(first: int, last: int) -> Numbers:
        curve = between(column, slope, first, last)
        return errors(mode, column[first + 1 : last], curve, reach)

    return knots(places, errors_between, tolerance, required)
