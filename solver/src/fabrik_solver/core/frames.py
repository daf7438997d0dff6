"""Frames: affine transforms, as a matrix of axes and the position of the origin."""

from collections.abc import Sequence
from math import acos, sin
from typing import Final

from .vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    dot,
    mat_apply,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_inverse,
    mat_product,
    mat_transposed,
    mix,
    quat_compatible,
    quat_matrix,
    quat_of,
    scaled,
    sub,
)

Frame = tuple[Mat3, Vec]
"""The matrix columns are the axes, with scale and shear, in the surrounding space."""

WHOLE: Frame = (IDENTITY, ORIGIN)
"""The identity."""


def point_in(frame: Frame, point: Vec) -> Vec:
    """Transform a point from the frame's space to the surrounding space."""
    return add(frame[1], mat_apply(frame[0], point))


def frame_in(outer: Frame, inner: Frame) -> Frame:
    """Transform an inner frame from an outer frame's space to the surrounding space."""
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
    factor = 1.0 / volume
    rows = mat_from_columns(scaled(yz, factor), scaled(zx, factor), scaled(xy, factor))
    axes = mat_transposed(rows)
    return axes, mat_apply(axes, sub(ORIGIN, frame[1]))


def are_near(frames: Sequence[Frame], others: Sequence[Frame], precision: float) -> bool:
    """Return whether two lists of frames are equal, up to rounding.

    Args:
        frames: The frames.
        others: The same number of frames, in the same space.
        precision: The tolerance. For origins, it is relative to the largest coordinate in
            ``frames``; for axes, to the largest number in their matrix.
    """
    farthest = 0.0
    for _, origin in frames:
        farthest = max(farthest, _largest(origin))
    for (axes, origin), (other_axes, other_origin) in zip(frames, others, strict=True):
        x, y, z = mat_columns(axes)
        u, v, w = mat_columns(other_axes)
        near = precision * max(_largest(x), max(_largest(y), _largest(z)))
        if not _is_near(origin, other_origin, precision * farthest):
            return False
        if not (_is_near(x, u, near) and _is_near(y, v, near) and _is_near(z, w, near)):
            return False
    return True


def _largest(v: Vec) -> float:
    return max(abs(v[0]), max(abs(v[1]), abs(v[2])))


def _is_near(a: Vec, b: Vec, near: float) -> bool:
    """Return whether two vectors are equal up to a tolerance; False if any number is NaN."""
    return abs(a[0] - b[0]) <= near and abs(a[1] - b[1]) <= near and abs(a[2] - b[2]) <= near


def mixed(a: Frame, b: Frame, factor: float) -> Frame:
    """Interpolate as Blender does, from frame ``a`` at a factor of 0 to ``b`` at 1.

    Rotations are interpolated spherically, the rest linearly (Shoemake & Duff, "Matrix animation
    and polar decomposition", 1992).

    Raises:
        ValueError: If a frame is singular or not finite.
    """
    turn_a, stretch_a = _polar(a[0])
    turn_b, stretch_b = _polar(b[0])
    turn = quat_matrix(_slerp(quat_of(turn_a), quat_of(turn_b), factor))
    return mat_product(turn, _mixed(stretch_a, stretch_b, factor)), mix(a[1], b[1], factor)


def _slerp(a: Quat, b: Quat, factor: float) -> Quat:
    """Interpolate like Blender's ``interp_qt_qtqt``: linearly if nearly equal, unnormalized."""
    w, x, y, z = quat_compatible(a, b)
    p, q, r, s = b
    cosine = w * p + x * q + y * r + z * s
    keep, take = 1.0 - factor, factor
    if cosine < 1.0 - 1e-4:
        angle = acos(cosine)
        keep, take = sin(keep * angle) / sin(angle), sin(take * angle) / sin(angle)
    return (keep * w + take * p, keep * x + take * q, keep * y + take * r, keep * z + take * s)


NEARLY: Final = 1e-30
"""The squared change per iteration below which another iteration wouldn't change anything."""


def _polar(m: Mat3) -> tuple[Mat3, Mat3]:
    """Return the nearest rotation to a matrix and the remaining stretch; both negated if mirrored.

    Newton's iteration (Higham, "Computing the polar decomposition", 1986).

    Raises:
        ValueError: If the matrix is singular or not finite.
    """
    turn = m
    for _ in range(100):
        other = mat_transposed(mat_inverse(turn))
        sizes = _square(turn), _square(other)
        if sizes[0] == 0.0 or sizes[1] == 0.0:  # They underflowed.
            raise ValueError("the matrix is singular")
        scale = (sizes[1] / sizes[0]) ** 0.25
        averaged = _mixed(_scaled(turn, scale), _scaled(other, 1.0 / scale), 0.5)
        change = _square(_mixed(averaged, _scaled(turn, -1.0), 0.5))
        turn = averaged
        if change < NEARLY:
            break
    if mat_determinant(turn) < 0.0:
        turn = _scaled(turn, -1.0)
    return turn, mat_product(mat_transposed(turn), m)


def _scaled(m: Mat3, factor: float) -> Mat3:
    x, y, z = mat_columns(m)
    return mat_from_columns(scaled(x, factor), scaled(y, factor), scaled(z, factor))


def _mixed(a: Mat3, b: Mat3, factor: float) -> Mat3:
    x, y, z = mat_columns(a)
    u, v, w = mat_columns(b)
    return mat_from_columns(mix(x, u, factor), mix(y, v, factor), mix(z, w, factor))


def _square(m: Mat3) -> float:
    x, y, z = mat_columns(m)
    return dot(x, x) + dot(y, y) + dot(z, z)
