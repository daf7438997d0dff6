"""Rotations of many bones at many frames, in NumPy arrays of frames × bones × components."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rotation import AXIS_ANGLE, EULER_ORDERS, QUATERNION, ZERO_QUATERNION

Numbers = Any
"""A NumPy array."""


def quaternions(mode: int, numbers: Numbers) -> Numbers:
    """Return the rotations that channel values represent, as unit quaternions.

    Args:
        mode: The rotation mode.
        numbers: The channel's values along the last axis.
    """
    numbers = np.asarray(numbers, np.float64)
    if mode == QUATERNION:
        return _unit(numbers)
    if mode == AXIS_ANGLE:
        # Blender doesn't rotate about a zero axis.
        size = np.linalg.norm(numbers[..., 1:], axis=-1, keepdims=True)
        axis = numbers[..., 1:] / np.where(size > 0.0, size, 1.0)
        return _about(axis, np.where(size[..., 0] > 0.0, numbers[..., 0], 0.0))
    first, middle, last = ("XYZ".index(axis) for axis in EULER_ORDERS[mode - 1])
    axes = np.eye(3)
    rotation = _about(axes[last], numbers[..., last])
    rotation = product(rotation, _about(axes[middle], numbers[..., middle]))
    return product(rotation, _about(axes[first], numbers[..., first]))


def _unit(numbers: Numbers) -> Numbers:
    """Return unit quaternions, as Blender normalizes them."""
    size = np.linalg.norm(numbers, axis=-1, keepdims=True)
    return np.where(size > 0.0, numbers / np.where(size > 0.0, size, 1.0), ZERO_QUATERNION)


def _about(axis: Numbers, angle: Numbers) -> Numbers:
    """Return rotations about unit axes by angles in radians, as unit quaternions."""
    half = 0.5 * angle[..., None]
    return np.concatenate((np.cos(half), np.sin(half) * axis), axis=-1)


def product(a: Numbers, b: Numbers) -> Numbers:
    """Return the products of quaternions: rotation ``b`` followed by ``a``."""
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
    """Return the angles between rotations, both unit quaternions, in radians."""
    minus, plus = np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)
    return 4.0 * np.arctan2(np.minimum(minus, plus), np.maximum(minus, plus))


def matrix_angles(a: Numbers, b: Numbers) -> Numbers:
    """Return the angles between the rotations of matrices, ignoring scale, in radians.

    Args:
        a: Matrices along the last two axes. Only their first three rows and columns are used.
        b: Matrices to compare with.
    """
    chord = np.linalg.norm(_directions(a) - _directions(b), axis=(-2, -1))
    return 2.0 * np.arcsin(np.minimum(chord / np.sqrt(8.0), 1.0))


def _directions(matrices: Numbers) -> Numbers:
    """Return the upper left 3 × 3 of matrices, with unit columns."""
    columns = matrices[..., :3, :3]
    size = np.linalg.norm(columns, axis=-2, keepdims=True)
    return columns / np.where(size > 0.0, size, 1.0)
