"""Key reduction: choosing keys so that a smooth curve is within a tolerance at every frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from .rotation import LOCATION, SCALE
from .turns import Numbers, angles, quaternions

ROUNDING = 1e-5
"""The single-precision error of keys and handles, in radians."""


def errors(mode: int, values: Numbers, other: Numbers, reach: float) -> Numbers:
    """Return the differences between values of a channel as angles, in radians.

    A location difference is converted to the rotation that moves the end of the chain as far. A
    scale difference is converted to the rotation that moves the end of the bone as far.

    Args:
        mode: The rotation mode, or the constant for locations or scales.
        values: Values of the channel along the last axis.
        other: Values to compare with, of the same shape.
        reach: The length of the chain.
    """
    if mode in (LOCATION, SCALE):
        distance = np.linalg.norm(np.subtract(values, other, dtype=np.float64), axis=-1)
        return distance / reach if mode == LOCATION else distance
    return angles(quaternions(mode, values), quaternions(mode, other))


def slopes(column: Numbers) -> Numbers:
    """Return the slopes of a column, frames × components, by central differences, per frame."""
    if len(column) < 3:
        return np.gradient(column, axis=0) if len(column) == 2 else np.zeros_like(column)
    return np.gradient(column, axis=0, edge_order=2)


def between(column: Numbers, slope: Numbers, first: int, last: int) -> Numbers:
    """Return the cubic Hermite curve between two frames, at the whole frames in between.

    Args:
        column: The values at each frame, frames × components.
        slope: The slopes at each frame, per frame.
        first: The first frame.
        last: The last frame.
    """
    span = last - first
    t = (np.arange(1, span) / span)[:, None]
    a, b = column[first], column[last]
    u, v = slope[first] * span, slope[last] * span
    remaining = 1.0 - t
    return (
        (1.0 + 2.0 * t) * remaining * remaining * a
        + t * remaining * remaining * u
        + t * t * (3.0 - 2.0 * t) * b
        - t * t * remaining * v
    )


def with_halves(column: Numbers) -> Numbers:
    """Return a column, frames × components, with values of a smooth curve added at half frames."""
    ends = 2.0 * column[[0, -1]] - column[[1, -2]]
    padded = np.vstack([ends[:1], column, ends[1:]])
    halves = (9.0 * (padded[1:-2] + padded[2:-1]) - padded[:-3] - padded[3:]) / 16.0
    samples = np.empty((2 * len(column) - 1, column.shape[1]))
    samples[::2], samples[1::2] = column, halves
    return samples


def fitted(samples: Numbers, tolerances: Numbers, first: int, last: int) -> tuple[Numbers, Numbers]:
    """Return the cubic Hermite curve between two samples that best fits the samples in between.

    It passes through both end samples. Its slopes are fitted by least squares, which averages out
    noise (Schneider 1990, "An Algorithm for Automatically Fitting Digitized Curves").

    Args:
        samples: Samples × components.
        tolerances: The tolerance of each sample. Errors are weighted by its inverse.
        first: The first sample.
        last: The last sample.

    Returns:
        The curve at the samples in between, and its slopes at both ends, per sample, both with
        components along the last axis.
    """
    span, within = last - first, slice(first + 1, last)
    t = (np.arange(1, span) / span)[:, None]
    rise = samples[last] - samples[first]
    line = samples[first] + t * rise
    basis = span * np.hstack([t * (1.0 - t) ** 2, t * t * (t - 1.0)])
    weights = 1.0 / tolerances[within, None]
    more, *_ = np.linalg.lstsq(basis * weights, (samples[within] - line) * weights, rcond=None)
    return line + basis @ more, rise / span + more


def knots(
    key_frames: Sequence[int],
    errors_between: Callable[[int, int], Numbers],
    tolerance: float,
    required: Iterable[int],
) -> list[int]:
    """Return the frames that need keys.

    The curve is split at its largest error until all errors are within the tolerance, or no frame
    is left.

    Args:
        key_frames: The frames that may have keys, ascending. The first and the last always do.
        errors_between: Returns the errors of the curve at each frame between two keys.
        tolerance: The largest allowed error.
        required: The indices in ``key_frames`` that always have keys.
    """
    keyed = {0, len(key_frames) - 1, *required}
    spans = [*pairwise(sorted(keyed))]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        deviation = errors_between(key_frames[low], key_frames[high])
        if deviation.max() <= tolerance:
            continue
        worst = key_frames[low] + 1 + int(deviation.argmax())
        middle = int(np.searchsorted(key_frames, worst))
        middle = min(max(middle, low + 1), high - 1)
        keyed.add(middle)
        spans += [(low, middle), (middle, high)]
    return [key_frames[i] for i in sorted(keyed)]


def simplified(
    mode: int,
    column: Numbers,
    key_frames: Sequence[int],
    tolerance: float,
    reach: float,
    slope: Numbers | None = None,
    required: Iterable[int] = (),
) -> list[int]:
    """Return the frames at which a bone's channel needs keys.

    Args:
        mode: See `errors`.
        column: The values of the channel, frames × components.
        key_frames: The frames that may have keys, counted from 0, ascending.
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

    return knots(key_frames, errors_between, tolerance, required)
