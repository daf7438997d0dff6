"""Rotations of many bones at many frames at once, as arrays: frames × bones × numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rotation import AXIS_ANGLE, EULER_ORDERS, OF_NOTHING, QUATERNION

Numbers = Any
"""An array of any shape and type."""


def quaternions(mode: int, numbers: Numbers) -> Numbers:
    """Return the rotations of channel values, as unit quaternions.

    Args:
        mode: The rotation mode.
        numbers: The channel's values along the last axis.
    """
    numbers = np.asarray(numbers, np.float64)
    if mode == QUATERNION:
        return _unit(numbers)
    if mode == AXIS_ANGLE:
        # For Blender a zero axis is no rotation.
        size = np.linalg.norm(numbers[..., 1:], axis=-1, keepdims=True)
        axis = numbers[..., 1:] / np.where(size > 0.0, size, 1.0)
        return _about(axis, np.where(size[..., 0] > 0.0, numbers[..., 0], 0.0))
    first, middle, last = ("XYZ".index(axis) for axis in EULER_ORDERS[mode - 1])
    axes = np.eye(3)
    turn = _about(axes[last], numbers[..., last])
    turn = product(turn, _about(axes[middle], numbers[..., middle]))
    return product(turn, _about(axes[first], numbers[..., first]))


def _unit(numbers: Numbers) -> Numbers:
    size = np.linalg.norm(numbers, axis=-1, keepdims=True)
    return np.where(size > 0.0, numbers / np.where(size > 0.0, size, 1.0), OF_NOTHING)


def _about(axis: Numbers, angle: Numbers) -> Numbers:
    """Return the rotations by angles about unit axes."""
    half = 0.5 * angle[..., None]
    return np.concatenate((np.cos(half), np.sin(half) * axis), axis=-1)


def product(a: Numbers, b: Numbers) -> Numbers:
    """Return the rotations b followed by a."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        axis=-1,
    )


def angles(a: Numbers, b: Numbers) -> Numbers:
    """Return the angles between rotations given as unit quaternions, in radians."""
    apart, together = np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)
    return 4.0 * np.arctan2(np.minimum(apart, together), np.maximum(apart, together))


def matrix_angles(a: Numbers, b: Numbers) -> Numbers:
    """Return the angles between the rotations of matrices, whatever their scale, in radians.

    Args:
        a: Matrices along the last two axes, of which only the first three rows and columns count.
        b: Matrices to compare.
    """
    chord = np.linalg.norm(_directions(a) - _directions(b), axis=(-2, -1))
    return 2.0 * np.arcsin(np.minimum(chord / np.sqrt(8.0), 1.0))


def _directions(matrices: Numbers) -> Numbers:
    columns = matrices[..., :3, :3]
    size = np.linalg.norm(columns, axis=-2, keepdims=True)
    return columns / np.where(size > 0.0, size, 1.0)
