"""Footfalls: when and where a foot lifts and lands, and so its location at any time.

A foot is in stance between two footfalls, and swings in an arc during one. Its foothold is stored
in the space of the ground, so that the ground carries it. Times are in frames, with fractions;
lengths are in meters.
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
from .easing import smoother

STILL = -1
"""The ground of a foot that is fixed in world space, or has no ground."""

Grounds = Callable[[int], Frame]
"""Returns a ground's frame in world space by index, at one time; never called with `STILL`."""


class Footfall(NamedTuple):
    """One step of a foot.

    Attributes:
        lift: The time of toe-off.
        land: The time of landing; equal to ``lift`` if the foot is placed without a step.
        place: The foothold, in the ground's space.
        normal: The ground's normal there, a unit vector in the ground's space.
        ahead: The body's forward direction there, perpendicular to the normal, in the same space.
        ground: The index of the ground, or `STILL`.
        height: The height of the arc above the line between the footholds.
        has_ground: Whether there is any ground; without it, the foot hangs in the air.
        late: The fraction of the step at its start in which the foot only rises.
        early: The fraction of the step at its end in which the foot only comes down.
    """

    lift: float
    land: float
    place: Vec
    normal: Vec
    ahead: Vec
    ground: int
    height: float
    has_ground: bool
    late: float = 0.0
    early: float = 0.0


def place_of(fall: Footfall, grounds: Grounds) -> Vec:
    """Return a footfall's location in world space."""
    return fall.place if fall.ground == STILL else point_in(grounds(fall.ground), fall.place)


def normal_of(fall: Footfall, grounds: Grounds) -> Vec:
    """Return the normal of a footfall's ground in world space."""
    if fall.ground == STILL:
        return fall.normal
    return unit(_normal_through(grounds(fall.ground), fall.normal)) or fall.normal


def in_ground_space(fall: Footfall, grounds: Grounds) -> Footfall:
    """Transform a footfall from world space to its ground's space.

    Raises:
        ValueError: If the ground has zero scale.
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
    """Transform a normal, which takes the inverse transpose."""
    m = frame[0]
    return inverse_direction((m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]), normal)


def in_world(fall: Footfall, grounds: Grounds) -> Footfall:
    """Transform a footfall from its ground's space to world space."""
    if fall.ground == STILL:
        return fall
    ahead = unit(mat_apply(grounds(fall.ground)[0], fall.ahead)) or fall.ahead
    foothold, normal = place_of(fall, grounds), normal_of(fall, grounds)
    return fall._replace(place=foothold, normal=normal, ahead=ahead, ground=STILL)


def foot_at(
    falls: Sequence[Footfall], time: float, grounds: Grounds
) -> tuple[Footfall, float | None]:
    """Return where a foot is at a time, from its footfalls in order.

    Before the first footfall, it is at the first foothold. Toe-off and landing are smooth, with
    zero velocity and acceleration.

    Returns:
        Its footfall in world space, moved to where the foot is. Also the progress of its step from
        0 to 1; None in stance.
    """
    at = max(bisect_right(falls, time, key=lambda fall: fall.lift) - 1, 0)
    end = in_world(falls[at], grounds)
    if at == 0 or time >= end.land:
        return end, None
    start = in_world(falls[at - 1], grounds)
    u = (time - end.lift) / (end.land - end.lift)
    fraction = smoother((u - end.late) / (1.0 - end.late - end.early))
    rise = unit(add(start.normal, end.normal)) or end.normal
    normal = unit(mix(start.normal, end.normal, fraction)) or end.normal
    ahead = unit(across(mix(start.ahead, end.ahead, fraction), normal))
    ahead = ahead or any_perpendicular(normal)
    position = add(mix(start.place, end.place, fraction), scaled(rise, end.height * hump(u)))
    return end._replace(place=position, normal=normal, ahead=ahead), u


def hump(u: float) -> float:
    """Return the height of an arc at time u, from 0 to 1: 1 in the middle.

    Velocity and acceleration are 0 at both ends.
    """
    w = 4.0 * u * (1.0 - u)
    return w * w * w
