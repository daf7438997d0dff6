"""Strides: how a foot steps at its body's speed so that it stays within reach."""

from math import hypot, inf, sqrt
from typing import Final, NamedTuple

from ..core.vectors import ORIGIN, Vec, dot, length, scaled, sub
from .gait import WalkingLeg, WalkSettings
from .ground import FLAT

SPARE: Final = 0.03
"""The last fraction of a leg's reach, in which a knee would snap."""

LAND, LOSE = 1.0 - 2.0 * SPARE, 1.0 - SPARE
"""Fractions of a leg's reach: a foot lands within the first, and must step beyond the second."""

SPRAWL: Final = 0.45
"""Sine of the largest fore-and-aft angle of a leg for which the body sinks: 27°, as in running
animals. Longer strides take quicker steps instead."""


class Stride(NamedTuple):
    """How a foot steps at its body's speed.

    Attributes:
        middle: The offset from the foot's rest position to the middle of the stride, in world
            space. A leg that rests far behind its root can't trail any farther, so it steps farther
            ahead.
        limit: The distance from the middle at which it steps.
        lead: How far ahead of the middle it lands, in world space.
        spare: How far the body can move beyond the limit before the leg is straight.
    """

    middle: Vec
    limit: float
    lead: Vec
    spare: float


STANDING: Final = Stride(ORIGIN, inf, ORIGIN, inf)


def stride_of(
    leg: WalkingLeg, settings: WalkSettings, out: Vec, inward: Vec, velocity: Vec, others: int
) -> Stride:
    """Return a foot's stride, within reach and on its own side of the body.

    Args:
        leg: Its leg.
        settings: The settings of the walk.
        out: The vector from the leg's root to the foot's rest position, in world space.
        inward: The vector from there to the plane between the left and right feet.
        velocity: The velocity of that position relative to the foothold, per frame.
        others: The number of other groups that step in turn.
    """
    speed, far = length(velocity), settings.threshold * leg.reach
    if speed == 0.0:
        return Stride(ORIGIN, far, ORIGIN, inf)
    direction = scaled(velocity, 1.0 / speed)
    step = speed * settings.duration
    back, front = _room(leg, settings, out, direction)
    waiting = far + step * others
    # Stepping sideways, a leg would cross the opposite one. It only does so if the body is too
    # fast.
    slope, wide = dot(inward, direction), dot(inward, inward)
    if slope > 0.0:
        front = min(front, max(0.95 * wide / slope, waiting - back))
    elif slope < 0.0:
        back = min(back, max(-0.95 * wide / slope, waiting - front))
    # In proportion to speed: a body that hardly moves stands in its rest positions.
    fraction = min(1.0, 4.0 * step / far)
    middle = fraction * min(max(0.0, waiting - back), 0.9 * front)
    limit = max(min(far, 0.5 * (back + middle)), 1e-6 * leg.reach)
    lead = min(min(1.0, 2.0 * step / far) * settings.overshoot * limit, front - middle)
    return Stride(scaled(direction, middle), limit, scaled(direction, lead), back + middle - limit)


def _room(leg: WalkingLeg, settings: WalkSettings, out: Vec, direction: Vec) -> tuple[float, float]:
    """Return how far behind and ahead of its rest position a foot stays within reach.

    Args:
        leg: The leg.
        settings: The settings of the walk.
        out: The vector from the leg's root to the foot's rest position.
        direction: The unit direction ahead.
    """
    along, square = dot(out, direction), dot(out, out)
    reach, landing = losing_reach(leg, settings), landing_reach(leg, settings)
    back = along * along + reach * reach - square
    front = along * along + landing * landing - square
    return (
        0.95 * max(0.0, along + sqrt(back)) if back > 0.0 else 0.0,
        0.95 * max(0.0, sqrt(front) - along) if front > 0.0 else 0.0,
    )


def root_height(leg: WalkingLeg, settings: WalkSettings, speed: float, others: int) -> float:
    """Return the greatest height of a leg's root above its foot that keeps the stride within reach.

    Args:
        leg: The leg.
        settings: The settings of the walk.
        speed: The speed of its root relative to the foothold, per frame.
        others: The number of other groups that step in turn.
    """
    reach = 0.5 * (landing_reach(leg, settings) + losing_reach(leg, settings))
    far = settings.threshold * leg.reach
    aside = hypot(leg.rest[0] - leg.root[0], leg.rest[1] - leg.root[1])
    tall = sqrt(max(reach * reach - aside * aside, 0.0))
    stride = (1.0 + settings.overshoot) * far + speed * settings.duration * others
    half = max(far, min(0.5 * stride, SPRAWL * tall))
    return max(sqrt(max(tall * tall - half * half, 0.0)), least_height(leg))


def least_height(leg: WalkingLeg) -> float:
    """Return the least height of a leg's root above its foot, whatever its reach requires.

    A leg may rest lower.
    """
    return min(FLAT * leg.reach, max(leg.root[2] - leg.rest[2], 0.0))


def landing_reach(leg: WalkingLeg, settings: WalkSettings) -> float:
    """Return the largest distance from a leg's root at which its foot may land."""
    return (LAND - settings.bob) * leg.reach


def losing_reach(leg: WalkingLeg, settings: WalkSettings) -> float:
    """Return the distance from its leg's root at which a foot is out of reach."""
    return (LOSE - settings.bob) * leg.reach


def time_left(foothold: Vec, root: Vec, away: Vec, reach: float) -> float:
    """Return how many frames remain until a foot is out of reach, at constant velocity.

    Args:
        foothold: The foothold.
        root: The leg's root.
        away: The velocity of the root relative to the foothold, per frame.
        reach: The greatest distance between them.
    """
    out = sub(root, foothold)
    square, along = dot(away, away), dot(out, away)
    room = reach * reach - dot(out, out)
    if room <= 0.0:
        return 0.0
    # Solves |out + t away| = reach for t > 0.
    return inf if square < 1e-24 * room else (sqrt(along * along + square * room) - along) / square
