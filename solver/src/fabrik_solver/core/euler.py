"""Euler angles of rotations in double precision, accurate even in gimbal lock."""

from math import atan2, hypot, pi, tau
from typing import Final

from .vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    mat_columns,
    quat_about,
    quat_matrix,
    quat_product,
    unit_or,
)

LOCKED: Final = 2.0**-24
"""The sine of the half angle from gimbal lock below which only the sum or difference of the
outer angles matters. Trading them changes the rotation by less than single precision resolves."""

BLENDER_LOCKED: Final = 16.0 * 2.0**-23
"""The cosine of the middle angle below which Blender sets the last angle to 0."""


def euler_angles(rotation: Quat, first: int, second: int, near: Vec) -> Vec:
    """Return the angles about X, Y and Z that make a rotation, nearest to ``near``.

    The sum and the difference of the first and third angles are each computed from a pair of
    numbers. In gimbal lock one pair vanishes, so that sum or difference is lost in rounding, but
    then it doesn't matter.

    Args:
        rotation: The rotation, as a unit quaternion.
        first: The axis of the first rotation: 0, 1 or 2 for X, Y or Z. Rotations are about the
            parent's axes.
        second: The axis of the second rotation.
        near: Angles about X, Y and Z, in radians.
    """
    third = 3 - first - second
    sign = 1.0 if (second - first) % 3 == 1 else -1.0
    w, x, y, z = rotation
    i, j, k = _of((x, y, z), first), _of((x, y, z), second), sign * _of((x, y, z), third)
    far_plus, far_minus = hypot(i + k, w - j), hypot(i - k, w + j)
    near_first, near_second, near_third = _of(near, first), _of(near, second), _of(near, third)
    plus = 0.5 * (near_first + sign * near_third)
    minus = 0.5 * (near_first - sign * near_third)
    if far_plus > LOCKED:
        plus = atan2(i + k, w - j)
    if far_minus > LOCKED:
        minus = atan2(i - k, w + j)
    a, b, c = plus + minus, 0.5 * pi - 2.0 * atan2(far_plus, far_minus), sign * (plus - minus)
    candidate = _nearest(a, b, c, near_first, near_second, near_third)
    flipped = _nearest(a + pi, pi - b, c + pi, near_first, near_second, near_third)
    nearest = candidate if candidate[3] <= flipped[3] else flipped
    return _by_axis(first, second, nearest[0], nearest[1], nearest[2])


def _of(a: Vec, axis: int) -> float:
    """Return ``a[axis]``; when compiled, a variable index would box the tuple."""
    return a[0] if axis == 0 else a[1] if axis == 1 else a[2]


def _by_axis(first: int, second: int, a: float, b: float, c: float) -> Vec:
    """Return the angles of the first, second and third rotation as angles about X, Y and Z."""
    if first == 0:
        return (a, b, c) if second == 1 else (a, c, b)
    if first == 1:
        return (b, a, c) if second == 0 else (c, a, b)
    return (b, c, a) if second == 0 else (c, b, a)


def _nearest(
    a: float, b: float, c: float, near_a: float, near_b: float, near_c: float
) -> tuple[float, float, float, float]:
    """Return angles shifted by whole turns to be closest to others, and their distance."""
    a += tau * round((near_a - a) / tau)
    b += tau * round((near_b - b) / tau)
    c += tau * round((near_c - c) / tau)
    return a, b, c, abs(a - near_a) + abs(b - near_b) + abs(c - near_c)


def euler_pair(axes: Mat3, first: int, second: int) -> tuple[Vec, Vec]:
    """Return both triples of angles about X, Y and Z for a rotation, as Blender computes them.

    The triples are equivalent, and equal in gimbal lock, where the last angle is 0.

    Args:
        axes: The rotated axes; scale and shear are ignored. Mirrored axes aren't a rotation, and
            give the angles that Blender assigns to them.
        first: The axis of the first rotation, as in `euler_angles`.
        second: The axis of the second rotation.
    """
    i, j, k = first, second, 3 - first - second
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    turned = unit_or(_column(axes, i), ORIGIN)
    ii, ji, ki = _of(turned, i), _of(turned, j), _of(turned, k)
    cosine = hypot(ii, ji)
    middle = sign * atan2(-ki, cosine)
    turned_j, turned_k = unit_or(_column(axes, j), ORIGIN), unit_or(_column(axes, k), ORIGIN)
    if cosine <= BLENDER_LOCKED:
        locked = _by_axis(i, j, sign * atan2(-_of(turned_k, j), _of(turned_j, j)), middle, 0.0)
        return locked, locked
    kj, kk = _of(turned_j, k), _of(turned_k, k)
    return (
        _by_axis(i, j, sign * atan2(kj, kk), middle, sign * atan2(ji, ii)),
        _by_axis(i, j, sign * atan2(-kj, -kk), sign * atan2(-ki, -cosine), sign * atan2(-ji, -ii)),
    )


def euler_matrix(angles: Vec, first: int, second: int) -> Mat3:
    """Return the rotation by angles about X, Y and Z, in the order of `euler_angles`."""
    third = 3 - first - second
    first_turn = quat_about(_axis(first), _of(angles, first))
    second_turn = quat_about(_axis(second), _of(angles, second))
    third_turn = quat_about(_axis(third), _of(angles, third))
    return quat_matrix(quat_product(third_turn, quat_product(second_turn, first_turn)))


def _column(m: Mat3, axis: int) -> Vec:
    x, y, z = mat_columns(m)
    return x if axis == 0 else y if axis == 1 else z


def _axis(i: int) -> Vec:
    return (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
