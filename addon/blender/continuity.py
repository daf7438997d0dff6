"""Making channels continuous from frame to frame without changing the pose at any frame.

Each frame is solved by itself, so the same rotation may be represented by other values than at the
frame before: a quaternion or its negative, angles that differ by whole turns, or the other one of
two equivalent sets of Euler angles.
"""

from __future__ import annotations

import numpy as np

from .rotation import AXIS_ANGLE, EULER_ORDERS, LOCATION, QUATERNION, SCALE
from .turns import Numbers

TURN = 2.0 * np.pi

CALM = 1.0
"""The largest change per frame, in radians, up to which Euler angles count as continuous."""

NO_ROTATION = 1e-6
"""The angle, in radians, below which the axis of a rotation is undefined."""


def continuous(mode: int, numbers: Numbers, driven: Numbers) -> Numbers:
    """Return equivalent values of a channel that change as little as possible between frames.

    Args:
        mode: The rotation mode, or the constant for locations or scales.
        numbers: The values in single precision, frames × bones × components.
        driven: Whether a driver sets the component, which is then left alone, bones × components.
    """
    if mode in (LOCATION, SCALE):
        return numbers
    result = numbers.copy()
    for bone in range(numbers.shape[1]):
        column, fixed = result[:, bone], driven[bone]
        if mode == QUATERNION:
            if not fixed.any():
                _align_quaternions(column)
        elif mode == AXIS_ANGLE:
            if not fixed.any():
                _align_axes(column)
        elif len(column) > 1 and np.abs(np.diff(column, axis=0)).max() > CALM:
            _align_eulers(column, EULER_ORDERS[mode - 1], fixed)
    return result


def _align_quaternions(column: Numbers) -> None:
    """Negate quaternions so that each is in the same hemisphere as the one before."""
    opposite = np.einsum("ij,ij->i", column[1:], column[:-1]) < 0.0
    column[1:][np.cumsum(opposite) % 2 == 1] *= -1.0


def _align_axes(column: Numbers) -> None:
    """Flip axes to the side of the one before, and shift angles to within half a turn of it."""
    before = column[0].astype(np.float64)
    for row in column[1:]:
        now = row.astype(np.float64)
        if np.dot(now[1:], before[1:]) < 0.0:
            now = -now
        if abs(now[0]) < NO_ROTATION:
            now[1:] = before[1:]
        now[0] += TURN * np.round((before[0] - now[0]) / TURN)
        row[:] = before = now


def _align_eulers(column: Numbers, order: str, fixed: Numbers) -> None:
    """Replace each set of Euler angles by the equivalent one nearest to the one before."""
    middle = "XYZ".index(order[1])
    before = column[0].astype(np.float64)
    for row in column[1:]:
        raw = row.astype(np.float64)
        now = _unwound(raw, before, fixed)
        if not fixed.any():
            other = raw + np.pi
            other[middle] = np.pi - raw[middle]
            other = _unwound(other, before, fixed)
            if np.abs(other - before).sum() < np.abs(now - before).sum():
                now = other
        row[:] = now
        before = row.astype(np.float64)


def _unwound(angles: Numbers, before: Numbers, fixed: Numbers) -> Numbers:
    """Return the angles, unless fixed, shifted by whole turns to be nearest to those before."""
    turns = np.round((before - angles) / TURN)
    return angles + TURN * np.where(fixed, 0.0, turns)
