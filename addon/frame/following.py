"""What Blender's own constraints make of a bone that follows something solved."""

from __future__ import annotations

from typing import Any

from fabrik_solver import Frame
from fabrik_solver.core.vectors import (
    Mat3,
    Vec,
    any_perpendicular,
    dot,
    length,
    mat_apply,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_product,
    quat_between,
    quat_matrix,
    scale_columns,
    sub,
    unit,
)

TRACKS: dict[str, Vec] = {
    "TRACK_X": (1.0, 0.0, 0.0),
    "TRACK_Y": (0.0, 1.0, 0.0),
    "TRACK_Z": (0.0, 0.0, 1.0),
    "TRACK_NEGATIVE_X": (-1.0, 0.0, 0.0),
    "TRACK_NEGATIVE_Y": (0.0, -1.0, 0.0),
    "TRACK_NEGATIVE_Z": (0.0, 0.0, -1.0),
}
"""The axes of a bone that Damped Track points at its target."""


def followed(con: Any, own: Frame, source: Frame) -> Frame | None:
    """Return the frame of a bone after a constraint that `is_predictable`; None if it is unknown.

    Args:
        con: The constraint.
        own: The frame of the bone before it, in world space.
        source: The frame of its target, in world space.
    """
    axes, head = own
    if con.type == "COPY_LOCATION":
        return axes, source[1]
    if con.type == "COPY_ROTATION":
        turned = _copied_rotation(axes, source[0])
        return None if turned is None else (turned, head)
    if con.type == "DAMPED_TRACK":
        return _tracked(axes, TRACKS[con.track_axis], sub(source[1], head)), head
    return source if con.type == "COPY_TRANSFORMS" else None


def _tracked(axes: Mat3, track: Vec, towards: Vec) -> Mat3:
    """Return axes turned on the shortest way so that one of them points somewhere."""
    ahead, wanted = unit(mat_apply(axes, track)), unit(towards)
    if ahead is None or wanted is None:
        return axes
    return mat_product(quat_matrix(quat_between(ahead, wanted, any_perpendicular(ahead))), axes)


def _copied_rotation(axes: Mat3, source: Mat3) -> Mat3 | None:
    """Return axes with the rotation of others and their own scale; None if it is unknown."""
    turn = _rotation(source)
    if turn is None or mat_determinant(axes) == 0.0:
        return None
    x, y, z = (length(column) for column in mat_columns(axes))
    sign = -1.0 if mat_determinant(axes) < 0.0 else 1.0
    return scale_columns(turn, (x * sign, y * sign, z * sign))


def _rotation(axes: Mat3) -> Mat3 | None:
    """Return the rotation of axes; None if they are sheared, mirrored or have zero scale."""
    x, y, z = (unit(column) for column in mat_columns(axes))
    if x is None or y is None or z is None or mat_determinant(axes) <= 0.0:
        return None
    if max(abs(dot(x, y)), abs(dot(y, z)), abs(dot(z, x))) > 1e-5:
        return None
    return mat_from_columns(x, y, z)
