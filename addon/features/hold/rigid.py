"""Places without scale, and going over from one to another."""

from __future__ import annotations

from math import atan2, sqrt, tan

from fabrik_solver import Frame, facing
from fabrik_solver.core.vectors import (
    IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    mat_columns,
    quat_about,
    quat_inverse,
    quat_matrix,
    quat_product,
    rotate,
    scaled,
    sub,
)

Y_AXIS: Vec = (0.0, 1.0, 0.0)
Z_AXIS: Vec = (0.0, 0.0, 1.0)

STRAIGHT = 1e-9
"""The half angle in radians below which the axis of a turn has no digits, and the way is a line."""


def rigid(frame: Frame) -> Frame:
    """Return a frame without scale and shear, whose Y axis counts most."""
    return quat_matrix(_rotation(frame)), frame[1]


def between(first: Frame, second: Frame, share: float) -> Frame:
    """Return a frame on the way from one to another: a turn about an axis and a slide along it.

    It is the same for whatever is fixed to the frame, such as an object that hangs on a bone far
    from its origin. Scale and shear are left out.

    Args:
        first: The frame at a share of 0.
        second: The frame at a share of 1.
        share: How far it is.
    """
    start, end = _rotation(first), _rotation(second)
    w, x, y, z = quat_product(end, quat_inverse(start))
    if w < 0.0:  # The short way round.
        w, x, y, z = -w, -x, -y, -z
    size = sqrt(x * x + y * y + z * z)
    half = atan2(size, w)
    way = sub(second[1], first[1])
    if half < STRAIGHT:
        return quat_matrix(start), add(first[1], scaled(way, share))
    axis = (x / size, y / size, z / size)
    slide = scaled(axis, dot(way, axis))
    side = sub(way, slide)
    # From the origin to the axis that both places have in common.
    arm = scaled(add(side, scaled(cross(axis, side), 1.0 / tan(half))), 0.5)
    turn = quat_about(axis, 2.0 * half * share)
    head = add(add(first[1], scaled(slide, share)), sub(arm, rotate(turn, arm)))
    return quat_matrix(quat_product(turn, start)), head


def _rotation(frame: Frame) -> Quat:
    """Return the rotation of a frame, whose Y axis counts most."""
    _, y, z = mat_columns(frame[0])
    return facing(IDENTITY, (Y_AXIS, Z_AXIS), (y, z)) or (1.0, 0.0, 0.0, 0.0)
