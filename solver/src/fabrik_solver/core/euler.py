"""Euler angles of rotations in double precision, as precise in gimbal lock as elsewhere."""

from math import atan2, hypot, pi, tau
from typing import Final

from .vectors import Quat, Vec

LOCKED: Final = 2.0**-24
"""The sine of the half angle to gimbal lock below which the outer angles are free to share their
turn: it changes the rotation by less than single precision can tell."""


def euler_angles(rotation: Quat, first: int, second: int, near: Vec) -> Vec:
    """Return the angles about X, Y and Z that make a rotation, and are nearest to ``near``.

    The sum of the outer angles and their difference come from a pair of numbers each, of which one
    pair vanishes in gimbal lock. There its angle, which is lost in rounding then, does not matter.

    Args:
        rotation: The rotation, as a unit quaternion.
        first: The axis of the first turn: 0, 1 or 2 for X, Y or Z. Turns are about the axes of the
            parent.
        second: The axis of the second turn.
        near: Angles about X, Y and Z, in radians.
    """
    third = 3 - first - second
    sign = 1.0 if (second - first) % 3 == 1 else -1.0
    w, parts = rotation[0], rotation[1:]
    i, j, k = parts[first], parts[second], sign * parts[third]
    far_plus, far_minus = hypot(i + k, w - j), hypot(i - k, w + j)
    near_first, near_third = near[first], sign * near[third]
    plus = 0.5 * (near_first + near_third)
    minus = 0.5 * (near_first - near_third)
    if far_plus > LOCKED:
        plus = atan2(i + k, w - j)
    if far_minus > LOCKED:
        minus = atan2(i - k, w + j)
    a, b, c = plus + minus, 0.5 * pi - 2.0 * atan2(far_plus, far_minus), sign * (plus - minus)
    one = _nearest(a, b, c, near[first], near[second], near[third])
    two = _nearest(a + pi, pi - b, c + pi, near[first], near[second], near[third])
    nearest = one if one[3] <= two[3] else two
    if first == 0:
        return (
            (nearest[0], nearest[1], nearest[2])
            if second == 1
            else (nearest[0], nearest[2], nearest[1])
        )
    if first == 1:
        return (
            (nearest[1], nearest[0], nearest[2])
            if second == 0
            else (nearest[2], nearest[0], nearest[1])
        )
    return (
        (nearest[1], nearest[2], nearest[0])
        if second == 0
        else (nearest[2], nearest[1], nearest[0])
    )


def _nearest(
    a: float, b: float, c: float, near_a: float, near_b: float, near_c: float
) -> tuple[float, float, float, float]:
    """Return angles shifted by whole turns to be nearest to others, and how far they are."""
    a += tau * round((near_a - a) / tau)
    b += tau * round((near_b - b) / tau)
    c += tau * round((near_c - c) / tau)
    return a, b, c, abs(a - near_a) + abs(b - near_b) + abs(c - near_c)
