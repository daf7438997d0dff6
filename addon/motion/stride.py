"""Strides: how a foot steps at the speed that its body has, so that its leg never loses it."""

from math import inf, sqrt
from typing import Final, NamedTuple

from ..core.vectors import ORIGIN, Vec, dot, length, scaled, sub
from .gait import WalkingLeg, WalkSettings

LAND: Final = 0.9
STAND: Final = 0.95
LOSE: Final = 0.97
"""Shares of a leg's reach: where a foot may land, how far the body lets it be, where it is lost."""


class Stride(NamedTuple):
    """How a foot steps at the speed that its body has.

    Attributes:
        middle: Where it is meant to be from its rest place, in the world: a leg that rests far
            behind its root cannot be left behind any more, and so works farther ahead.
        limit: How far from there it may be before it steps.
        lead: How far ahead of there it comes down, in the world.
        spare: How far the body may go on after the limit until the leg is stretched out.
    """

    middle: Vec
    limit: float
    lead: Vec
    spare: float


STANDING: Final = Stride(ORIGIN, inf, ORIGIN, inf)


def stride_of(
    leg: WalkingLeg, settings: WalkSettings, out: Vec, velocity: Vec, others: int
) -> Stride:
    """Return how a foot steps.

    Args:
        leg: Its leg.
        settings: How the body walks.
        out: The way from the root of the leg to the foot's rest place, in the world.
        velocity: How fast that goes away from where the foot stands, in a frame.
        others: How many other groups have to step in turn.
    """
    speed, far = length(velocity), settings.threshold * leg.reach
    if speed == 0.0:
        return Stride(ORIGIN, far, ORIGIN, inf)
    way = scaled(velocity, 1.0 / speed)
    step = speed * settings.duration
    back, front = _room(leg, settings, out, way)
    # The faster, the more: a body that hardly moves stands on its rest places.
    share = min(1.0, 4.0 * step / far)
    waiting = far + step * others
    middle = share * min(max(0.0, waiting - back), 0.9 * front)
    limit = max(min(far, 0.5 * (back + middle)), 1e-6 * leg.reach)
    lead = min(min(1.0, 2.0 * step / far) * settings.overshoot * limit, front - middle)
    return Stride(scaled(way, middle), limit, scaled(way, lead), back + middle - limit)


def _room(leg: WalkingLeg, settings: WalkSettings, out: Vec, way: Vec) -> tuple[float, float]:
    """Return how far behind and ahead of its rest place a foot is within the leg's reach."""
    along, square = dot(out, way), dot(out, out)
    reach, landing = losing_reach(leg, settings), LAND * leg.reach
    back = along * along + reach * reach - square
    front = along * along + landing * landing - square
    return (
        0.95 * max(0.0, along + sqrt(back)) if back > 0.0 else 0.0,
        0.95 * max(0.0, sqrt(front) - along) if front > 0.0 else 0.0,
    )


def losing_reach(leg: WalkingLeg, settings: WalkSettings) -> float:
    """Return how far from its root a leg loses its foot."""
    return (LOSE - settings.bob) * leg.reach


def time_left(place: Vec, root: Vec, away: Vec, reach: float) -> float:
    """Return in how many frames a leg loses its foot, if all goes on as it does.

    Args:
        place: Where the foot stands.
        root: Where the leg begins.
        away: How fast that moves, seen from the foot, in a frame.
        reach: How far it may be from there.
    """
    out = sub(root, place)
    square, along = dot(away, away), dot(out, away)
    room = reach * reach - dot(out, out)
    if room <= 0.0:
        return 0.0
    # |out + t away| = reach; the speed is that of a body that does not come back.
    return inf if square < 1e-24 * room else (sqrt(along * along + square * room) - along) / square
