"""Footfalls: when a foot is lifted and where it comes down, and from them its place at any time.

A foot stands still between two footfalls and swings in an arc during one. Where it stands is kept
in the space of the ground that it stands on, so that it travels along with moving ground. Times
are frames, with fractions; lengths are metres.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..core import Frame, inverse, point_in
from ..core.vectors import (
    Vec,
    across,
    add,
    any_perpendicular,
    inverse_direction,
    mat_apply,
    mix,
    scaled,
    unit,
)

STILL = -1
"""The ground of a foot that stands in the world, or on nothing."""

Grounds = Callable[[int], Frame]
"""The frames of the grounds in the world at one time, by their number; never asked for `STILL`."""


class Footfall(NamedTuple):
    """One step of a foot.

    Attributes:
        lift: When the foot leaves its last place.
        land: When it comes down; the same as ``lift`` if it is set down at once.
        place: Where it comes down, in the ground's space.
        normal: Which way the ground faces there, a unit vector in the ground's space.
        ahead: Which way the body's front is there, at right angles to the normal, likewise.
        ground: The number of the ground, or `STILL`.
        height: How high the arc rises over the line from place to place.
        is_held: Whether there is ground at all; without it the foot hangs in the air.
        late: The share of the step's time in which the foot only rises, before it goes ahead.
        early: That in which it has arrived over its place, and only comes down.
    """

    lift: float
    land: float
    place: Vec
    normal: Vec
    ahead: Vec
    ground: int
    height: float
    is_held: bool
    late: float = 0.0
    early: float = 0.0


class Foot(NamedTuple):
    """Where a foot is at one time.

    Attributes:
        place: In the world.
        normal: Which way the ground under it faces, a unit vector in the world.
        ahead: Which way the foot points, at right angles to the normal, a unit vector.
        swing: How far its step has come, from 0 to 1; None while it stands.
    """

    place: Vec
    normal: Vec
    ahead: Vec
    swing: float | None


def place_of(fall: Footfall, grounds: Grounds) -> Vec:
    """Return where a footfall's place is in the world."""
    return fall.place if fall.ground == STILL else point_in(grounds(fall.ground), fall.place)


def normal_of(fall: Footfall, grounds: Grounds) -> Vec:
    """Return which way the ground faces there in the world."""
    if fall.ground == STILL:
        return fall.normal
    return unit(_normal_through(grounds(fall.ground), fall.normal)) or fall.normal


def ahead_of(fall: Footfall, grounds: Grounds) -> Vec:
    """Return which way the foot points there in the world."""
    if fall.ground == STILL:
        return fall.ahead
    return unit(mat_apply(grounds(fall.ground)[0], fall.ahead)) or fall.ahead


def set_on(fall: Footfall, grounds: Grounds) -> Footfall:
    """Return a footfall, given as it is in the world, as it is in the space of its ground.

    Raises:
        ValueError: If the ground is scaled to nothing.
    """
    if fall.ground == STILL:
        return fall
    back = inverse(grounds(fall.ground))
    return fall._replace(
        place=point_in(back, fall.place),
        normal=unit(_normal_through(back, fall.normal)) or fall.normal,
        ahead=unit(mat_apply(back[0], fall.ahead)) or fall.ahead,
    )


def _normal_through(frame: Frame, normal: Vec) -> Vec:
    """A normal stays at right angles to its surface by the inverse transposed."""
    m = frame[0]
    return inverse_direction((m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]), normal)


def foot_at(falls: Sequence[Footfall], time: float, grounds: Grounds) -> Foot:
    """Return where a foot is at a time, from its footfalls in their order.

    Before the first footfall it stands where that one sets it down. The lift and the landing are
    smooth: the foot leaves and arrives with no speed and no acceleration.
    """
    at = max(bisect_right(falls, time, key=lambda fall: fall.lift) - 1, 0)
    fall = falls[at]
    place, normal, ahead = placed(fall, grounds)
    if at == 0 or time >= fall.land:
        return Foot(place, normal, ahead, None)
    start, start_normal, start_ahead = placed(falls[at - 1], grounds)
    u = (time - fall.lift) / (fall.land - fall.lift)
    share = gone(u, fall.late, fall.early)
    rise = unit(add(start_normal, normal)) or normal
    facing = unit(mix(start_normal, normal, share)) or normal
    pointing = unit(across(mix(start_ahead, ahead, share), facing)) or any_perpendicular(facing)
    line = mix(start, place, share)
    return Foot(add(line, scaled(rise, fall.height * hump(u))), facing, pointing, u)


def placed(fall: Footfall, grounds: Grounds) -> tuple[Vec, Vec, Vec]:
    """Return the place of a footfall, the ground's normal and the foot's way in the world."""
    return place_of(fall, grounds), normal_of(fall, grounds), ahead_of(fall, grounds)


def gone(u: float, late: float, early: float) -> float:
    """Return the share of the way after the share u of the time (see `Footfall`)."""
    return eased(min(max((u - late) / (1.0 - late - early), 0.0), 1.0))


def eased(u: float) -> float:
    """Return the share of the way after the share u of the time, with the least jerk.

    Flash and Hogan, “The coordination of arm movements”, Journal of Neuroscience 5 (1985): there is
    no speed and no acceleration at either end.
    """
    return u * u * u * (u * (6.0 * u - 15.0) + 10.0)


def hump(u: float) -> float:
    """Return the share of the height after the share u of the time: 1 in the middle.

    As little speed and acceleration is at either end.
    """
    w = 4.0 * u * (1.0 - u)
    return w * w * w
