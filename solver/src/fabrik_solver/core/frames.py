"""Frames: affine transforms, as a matrix of axes and the position of the origin."""

from .vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Vec,
    add,
    cross,
    dot,
    mat_apply,
    mat_columns,
    mat_from_columns,
    mat_product,
    mat_transposed,
    scaled,
    sub,
)

Frame = tuple[Mat3, Vec]
"""The columns of the matrix are the axes, with scale and shear, in the surrounding space."""

WHOLE: Frame = (IDENTITY, ORIGIN)
"""The identity."""


def point_in(frame: Frame, point: Vec) -> Vec:
    """Transform a point out of the frame's own space."""
    return add(frame[1], mat_apply(frame[0], point))


def frame_in(outer: Frame, inner: Frame) -> Frame:
    """Transform a frame given in the space of another one out of it."""
    return mat_product(outer[0], inner[0]), point_in(outer, inner[1])


def inverse(frame: Frame) -> Frame:
    """Return the inverse transform.

    Raises:
        ValueError: If the frame is singular or not finite.
    """
    x, y, z = mat_columns(frame[0])
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    volume = dot(x, yz)
    if not abs(volume) > 1e-30:
        raise ValueError("a frame scaled to zero cannot be undone")
    share = 1.0 / volume
    rows = mat_from_columns(scaled(yz, share), scaled(zx, share), scaled(xy, share))
    axes = mat_transposed(rows)
    return axes, mat_apply(axes, sub(ORIGIN, frame[1]))
