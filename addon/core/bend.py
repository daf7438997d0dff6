"""The side to which a chain bends: how a straight one starts, and how it faces its pole.

Everything here is measured from the root, which is the origin, and the chain is 1 long.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import cos, hypot, sin, sqrt

from .arc import arc
from .vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    any_across,
    cross,
    dot,
    length,
    mix,
    scaled,
    sub,
    turned_about,
    unit,
)

STRAIGHT = 1e-3
"""A chain whose joints all stay this near to its axis has no bend of its own to keep."""

ON_AXIS = 1e-6
"""A pole, or a bend, this near to the axis does not define a side."""


def chain_axis(joints: Sequence[Vec]) -> Vec:
    """Return the direction from the root to the tip, or of the first bone that has one."""
    axis = unit(sub(joints[-1], joints[0]))
    if axis is not None:
        return axis
    for a, b in pairwise(joints):
        axis = unit(sub(b, a))
        if axis is not None:
            return axis
    return (1.0, 0.0, 0.0)


def started(
    joints: Sequence[Vec],
    lengths: Sequence[float],
    target: Vec,
    bends: Sequence[Vec | None],
    tolerance: float,
) -> list[Vec]:
    """Return the pose to solve from: the input pose, unless that is straight.

    No sweep can bend a straight chain whose target lies on its axis, and one that nearly lies
    there is bent to a side by chance. A straight chain therefore starts as the arc of equal bends
    whose ends are as far apart as the target is from the root, towards the first of ``bends``
    that is not on the axis. The less straight the chain is, and the less its target has left its
    tip, the more it starts as it stands, so that the answer has no jump.
    """
    axis = chain_axis(joints)
    aside = _farthest_from(axis, joints)
    if aside >= STRAIGHT:
        return list(joints)
    moved = length(sub(target, joints[-1]))
    keep = aside / STRAIGHT
    if moved < tolerance:
        keep = max(keep, 1.0 - moved / tolerance)
    if keep >= 1.0:
        return list(joints)
    bow = arc(lengths, axis, _side(bends, axis), length(target))
    return with_lengths([mix(a, b, keep) for a, b in zip(bow, joints, strict=True)], lengths)


def _farthest_from(axis: Vec, joints: Sequence[Vec]) -> float:
    """Return how far the joints stand off the axis, at most `STRAIGHT`: then others do not matter.

    Nearly all chains are bent at their first joints already.
    """
    ax, ay, az = axis
    farthest = 0.0
    for x, y, z in joints:
        along = x * ax + y * ay + z * az
        dx, dy, dz = x - ax * along, y - ay * along, z - az * along
        farthest = max(farthest, dx * dx + dy * dy + dz * dz)
        if farthest >= STRAIGHT * STRAIGHT:
            return STRAIGHT
    return sqrt(farthest)


def with_lengths(joints: Sequence[Vec], lengths: Sequence[float]) -> list[Vec]:
    """Return the joints with the bones' directions kept and their lengths set."""
    axis = chain_axis(joints)
    placed = [joints[0]]
    for i, size in enumerate(lengths):
        direction = unit(sub(joints[i + 1], joints[i])) or axis
        placed.append(add(placed[i], scaled(direction, size)))
    return placed


def off_axis(direction: Vec, axis: Vec) -> Vec | None:
    """Return the part of the direction at right angles to the axis, None if it is on the axis."""
    side = across(unit(direction) or ORIGIN, axis)
    return side if length(side) > ON_AXIS else None


def _side(bends: Sequence[Vec | None], axis: Vec) -> Vec:
    """Return the unit vector across the axis towards the first bend that defines one."""
    for bend in bends:
        side = None if bend is None else off_axis(bend, axis)
        if side is not None:
            return unit(side) or side
    return any_across(axis)


def bend_direction(joints: Sequence[Vec], axis: Vec) -> Vec | None:
    """Return the side to which the joints stand off the axis on the whole, None if to none."""
    total = ORIGIN
    for joint in joints[1:-1]:
        total = add(total, across(joint, axis))
    return unit(total) if length(total) > ON_AXIS else None


def facing_pole(joints: list[Vec], axis: Vec, pole: Vec, pole_angle: float) -> list[Vec]:
    """Turn the chain about its axis until its bend faces the pole, and by ``pole_angle`` more.

    With the pole on the axis, or no bend to turn, the chain stays in the plane that it has.
    """
    to_pole = off_axis(pole, axis)
    bend = bend_direction(joints, axis)
    if bend is None or to_pole is None:
        return joints
    cosine, sine = dot(bend, to_pole), dot(axis, cross(bend, to_pole))
    # By rounding they are not quite those of an angle, and the bones would change their lengths.
    size = hypot(cosine, sine)
    cosine, sine = cosine / size, sine / size
    if pole_angle:
        c, s = cos(pole_angle), sin(pole_angle)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    return [turned_about(joint, axis, cosine, sine) for joint in joints]
