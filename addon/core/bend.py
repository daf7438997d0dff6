"""The side to which a chain bends: how a straight one starts, and how it faces its pole.

Everything here is measured from the root, which is the origin, and the chain is 1 long.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import cos, sin, sqrt
from typing import Final

from .arc import arc
from .joint import Joint, points_of, sizes_of
from .vectors import (
    NO_TURN,
    ORIGIN,
    Vec,
    across,
    add,
    any_across,
    cross,
    dot,
    length,
    mix,
    quat_between,
    quat_mix,
    quat_turn,
    sub,
    turned_about,
    unit,
)

STRAIGHT: Final = 1e-3
"""A chain whose joints all stay this near to its axis has no bend of its own to keep."""

ON_AXIS: Final = 1e-6
"""A pole, or a bend, this near to the axis does not define a side."""

NEAR_AXIS: Final = 0.1
"""The sine of the angle between the pole and the axis below which the pole has less weight."""

UNCLEAR: Final = 0.1
"""The share of the joints' distances from the axis that does not cancel out, below which the side
to which the chain bends is so unclear that the pole has less weight."""

PAST: Final = 1.0
"""By so many radians at most the chain aims past a pole that has less weight."""


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


def axis_of(joints: list[Joint]) -> Vec:
    """Return the `chain_axis` of joints whose root is the origin."""
    return unit(joints[-1].at()) or chain_axis(points_of(joints))


def swung(
    joints: list[Joint], axis: Vec, bend: Vec | None, target: Vec, share: float
) -> tuple[Vec, Vec | None]:
    """Turn the chain as a whole towards the target, by a share of the least turn.

    A chain that is dragged to a target beside it leaves the plane in which it bends, and one of
    three bones or more may fold another way there. Turned first, it has only its tip's distance
    to change: it folds in its plane, in one way, and its joints move hardly faster than its tip.

    Where the target is behind, no turn is the least: it turns about its bend.

    Returns:
        The axis of the turned chain, and the bend.
    """
    turn = quat_between(axis, target, bend or any_across(axis))
    if share < 1.0:
        turn = quat_mix(NO_TURN, turn, share)
    for joint in joints:
        joint.move(quat_turn(turn, joint.at()))
    return quat_turn(turn, axis), None if bend is None else quat_turn(turn, bend)


def bow(
    joints: list[Joint],
    axis: Vec,
    aside: float,
    target: Vec,
    bends: Sequence[Vec | None],
    tolerance: float,
) -> None:
    """Bend a straight chain, whose joints are ``aside`` of its axis by less than `STRAIGHT`.

    No sweep can bend a straight chain whose target lies on its axis, and one that nearly lies
    there is bent to a side by chance. A straight chain therefore starts as the arc of equal bends
    whose ends are as far apart as the target is from the root, towards the first of ``bends``
    that is not on the axis. The less straight the chain is, and the less its target has left its
    tip, the more it starts as it stands, so that the answer has no jump.
    """
    moved = length(sub(target, joints[-1].at()))
    keep = aside / STRAIGHT
    if moved < tolerance:
        keep = max(keep, 1.0 - moved / tolerance)
    if keep >= 1.0:
        return
    on_arc = arc(sizes_of(joints), axis, _side(bends, axis), length(target))
    for i, joint in enumerate(joints):
        joint.move(mix(on_arc[i], joint.at(), keep))
    set_lengths(joints)


def farthest_from(axis: Vec, joints: list[Joint]) -> float:
    """Return how far the joints stand off the axis, at most `STRAIGHT`: then others do not matter.

    Nearly all chains are bent at their first joints already.
    """
    ax, ay, az = axis
    farthest = 0.0
    for joint in joints:
        along = joint.x * ax + joint.y * ay + joint.z * az
        dx, dy, dz = joint.x - ax * along, joint.y - ay * along, joint.z - az * along
        farthest = max(farthest, dx * dx + dy * dy + dz * dz)
        if farthest >= STRAIGHT * STRAIGHT:
            return STRAIGHT
    return sqrt(farthest)


def set_lengths(joints: list[Joint]) -> None:
    """Give the bones their lengths and keep their directions; one without any takes the axis."""
    ax, ay, az = axis_of(joints)
    before = joints[0]
    ox, oy, oz = before.at()
    x, y, z = ox, oy, oz
    for i in range(1, len(joints)):
        joint = joints[i]
        dx = joint.x - ox
        dy = joint.y - oy
        dz = joint.z - oz
        distance = length((dx, dy, dz))
        ox, oy, oz = joint.at()
        if distance < 1e-300:
            dx, dy, dz, distance = ax, ay, az, 1.0
        size = before.size
        x += dx / distance * size
        y += dy / distance * size
        z += dz / distance * size
        joint.move((x, y, z))
        before = joint


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


def face_pole(joints: list[Joint], axis: Vec, pole: Vec, pole_angle: float, weight: float) -> None:
    """Turn the chain about its axis until its bend faces the pole, and by ``pole_angle`` more.

    With a weight below 1 it turns part of the way: to the mean of the two directions, so that
    nothing jumps where the pole comes round from behind. Where it cannot be told to which side
    the pole is, or the chain bends, the weight fades to nothing, and the chain stays in the plane
    that it has, instead of jumping from one side to the other.

    There is no rule that jumps nowhere (it would map a disc onto its rim). This one does where
    weight and fading come to a half and the pole is behind; but while it fades the chain aims
    past the pole, so that a limb which moves in its own plane goes round. Only what is flat to
    the last bit stays flat, and has to turn over.
    """
    to_pole = across(unit(pole) or ORIGIN, axis)
    bend, spread = ORIGIN, 0.0
    for i in range(1, len(joints) - 1):
        aside = across(joints[i].at(), axis)
        bend = add(bend, aside)
        spread += length(aside)
    off_pole, off_bend = length(to_pole), length(bend)
    if off_pole <= ON_AXIS or off_bend <= ON_AXIS:
        return
    clear = eased(off_pole / NEAR_AXIS) * eased(off_bend / spread / UNCLEAR)
    weight *= clear
    cosine, sine = dot(bend, to_pole), dot(axis, cross(bend, to_pole))
    # By rounding they are not quite those of an angle, and the bones would change their lengths.
    size = sqrt(cosine * cosine + sine * sine)
    cosine, sine = cosine / size, sine / size
    aim = pole_angle
    if sine != 0.0:
        aim += aimed_past(clear)
    if aim != 0.0:
        c, s = cos(aim), sin(aim)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    if weight < 1.0:
        cosine, sine = 1.0 - weight + weight * cosine, weight * sine
        size = sqrt(cosine * cosine + sine * sine)
        if size <= ON_AXIS:  # The pole is just behind.
            return
        cosine, sine = cosine / size, sine / size
    for joint in joints:
        joint.move(turned_about(joint.at(), axis, cosine, sine))


def aimed_past(clear: float) -> float:
    """Return by how much a chain aims past a pole of which so much counts (see `face_pole`)."""
    return PAST * 4.0 * clear * (1.0 - clear)


def eased(share: float) -> float:
    """Return 0 at 0, 1 from 1 on, and what is smooth between them."""
    return share * share * (3.0 - 2.0 * share) if share < 1.0 else 1.0
