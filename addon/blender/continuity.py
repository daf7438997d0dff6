"""Numbers of channels made continuous from frame to frame, without another pose at any frame.

Each frame is solved for itself, so that what stands for a rotation may be another set of numbers
than at the frame before: a quaternion or its opposite, angles that differ by whole turns, or the
other one of the two ways in which Euler angles say the same.
"""

from __future__ import annotations

import numpy as np

from .rotation import AXIS_ANGLE, EULER_ORDERS, LOCATION, QUATERNION, SCALE
from .turns import Numbers

TURN = 2.0 * np.pi

CALM = 1.0
"""Euler angles that change by less from frame to frame, in radians, are continuous as they are."""

QUAT_IDENTITY = 1e-6
"""A turn by less, in radians, has no axis worth the name."""


def continuous(mode: int, numbers: Numbers, driven: Numbers) -> Numbers:
    """Return the numbers that mean the same at each frame and jump as little as they can.

    Args:
        mode: The rotation mode, or what stands for locations and scales.
        numbers: Frames × bones × numbers, in single precision.
        driven: Bones × numbers: what a driver sets, so that it cannot be another one.
    """
    if mode in (LOCATION, SCALE):
        return numbers
    result = numbers.copy()
    for bone in range(numbers.shape[1]):
        column, fixed = result[:, bone], driven[bone]
        if mode == QUATERNION:
            if not fixed.any():
                _one_sign(column)
        elif mode == AXIS_ANGLE:
            if not fixed.any():
                _one_axis(column)
        elif len(column) > 1 and np.abs(np.diff(column, axis=0)).max() > CALM:
            _one_way(column, EULER_ORDERS[mode - 1], fixed)
    return result


def _one_sign(column: Numbers) -> None:
    """Let each quaternion be on the side of the one before."""
    opposite = np.einsum("ij,ij->i", column[1:], column[:-1]) < 0.0
    column[1:][np.cumsum(opposite) % 2 == 1] *= -1.0


def _one_axis(column: Numbers) -> None:
    """Let each axis be on the side of the one before, and the angle within half a turn of it."""
    before = column[0].astype(np.float64)
    for row in column[1:]:
        now = row.astype(np.float64)
        if np.dot(now[1:], before[1:]) < 0.0:
            now = -now
        if abs(now[0]) < QUAT_IDENTITY:
            now[1:] = before[1:]
        now[0] += TURN * np.round((before[0] - now[0]) / TURN)
        row[:] = before = now


def _one_way(column: Numbers, order: str, fixed: Numbers) -> None:
    """Let each set of Euler angles be the nearest to the one before that means the same turn."""
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
    whole = np.round((before - angles) / TURN)
    return angles + TURN * np.where(fixed, 0.0, whole)
