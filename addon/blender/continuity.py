"""Making channels continuous from frame to frame without changing the pose at any frame.

Each frame is solved independently, so its values may represent the same rotation differently from
those of the previous frame. A quaternion may be negated, angles may differ by whole turns, and
Euler angles have a second, equivalent solution.
"""

from __future__ import annotations

import numpy as np

from .rotation import AXIS_ANGLE, EULER_ORDERS, LOCATION, QUATERNION, SCALE
from .turns import Numbers

TURN = 2.0 * np.pi

CALM = 1.0
"""The largest change per frame, in radians, of continuous Euler angles."""

NO_ROTATION = 1e-6
"""The angle, in radians, below which the axis of a rotation is undefined."""


def continuous(mode: int, numbers: Numbers, driven: Numbers) -> Numbers:
    """Return equivalent values of a channel that change as little as possible between frames.

    Args:
        mode: The rotation mode, or the constant for locations or scales.
        numbers: The values in single precision, frames × bones × components.
        driven: Whether a driver sets the component, bones × components. Those stay unchanged.
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
    """Negate quaternions so that each is in the same hemisphere as its predecessor."""
    opposite = np.einsum("ij,ij->i", column[1:], column[:-1]) < 0.0
    column[1:][np.cumsum(opposite) % 2 == 1] *= -1.0


def _align_axes(column: Numbers) -> None:
    """Flip axes to the side of the previous axis, and shift angles to within half a turn of it."""
    previous = column[0].astype(np.float64)
    for row in column[1:]:
        current = row.astype(np.float64)
        if np.dot(current[1:], previous[1:]) < 0.0:
            current = -current
        if abs(current[0]) < NO_ROTATION:
            current[1:] = previous[1:]
        current[0] += TURN * np.round((previous[0] - current[0]) / TURN)
        row[:] = previous = current


def _align_eulers(column: Numbers, order: str, fixed: Numbers) -> None:
    """Replace each set of Euler angles with the equivalent set nearest to the previous one."""
    middle = "XYZ".index(order[1])
    previous = column[0].astype(np.float64)
    for row in column[1:]:
        raw = row.astype(np.float64)
        current = _unwound(raw, previous, fixed)
        if not fixed.any():
            other = raw + np.pi
            other[middle] = np.pi - raw[middle]
            other = _unwound(other, previous, fixed)
            if np.abs(other - previous).sum() < np.abs(current - previous).sum():
                current = other
        row[:] = current
        previous = row.astype(np.float64)


def _unwound(angles: Numbers, previous: Numbers, fixed: Numbers) -> Numbers:
    """Return the angles shifted by whole turns toward the previous ones, except fixed angles."""
    turns = np.round((previous - angles) / TURN)
    return angles + TURN * np.where(fixed, 0.0, turns)
