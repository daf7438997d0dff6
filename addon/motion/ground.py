"""Where a foot goes on uneven ground, and how far the hip goes down for it.

While a foot stands it stays at one place. What that takes from where the animation has it is the
correction, and in the swing it goes smoothly over from that of the last contact to that of the
next, so that the foot has no speed at either end. Where ground is in the way of that, the foot is
lifted over it in one arc. All of it is a function of the time, of the contacts, and of the ground.
"""

from collections.abc import Mapping, Sequence
from math import acos, ceil, cos, floor, fsum, pi, sqrt
from typing import NamedTuple

from ..core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    across,
    add,
    cross,
    dot,
    length,
    quat_exp,
    scaled,
    sub,
    unit,
)
from .easing import smooth, smoother

STEEPEST = 0.5
"""Cosine of the slope from which on a face is a wall and no ground: 60°."""

STEPS = 8
"""Which power mean stands for the highest of what is in a foot's way: the larger, the nearer."""

ROOM = 0.5
"""The share of what the animation leaves of a leg's length by which it may be stretched more."""

FLAT = 0.2
"""How much of a leg is left upright, as a share, where the hip begins to give up reaching."""

DEEPEST = 0.5
"""How far a hip goes down at most, in lengths of the leg."""


def is_ground(normal: Vec, up: Vec) -> bool:
    """Return whether a face is flat enough to stand on."""
    return dot(normal, up) > STEEPEST


def tilt_of(normal: Vec, up: Vec, most: float) -> Vec:
    """Return the turn from up to a normal, up to an angle: its axis, as long as its angle.

    It has no part about up, so that a foot keeps its heading.
    """
    axis = unit(cross(up, normal))
    if axis is None:
        return ORIGIN
    return scaled(axis, min(acos(min(1.0, dot(up, normal))), most))


def turn_of(tilt: Vec) -> Quat:
    """Return the turn of a tilt."""
    return QUAT_IDENTITY if tilt == ORIGIN else quat_exp(tilt)


def influence(height: float, blend: float) -> float:
    """Return how much of the ground counts: all up to the blend height, none from twice it on.

    Args:
        height: Of the animated foot above the floor of the animation.
        blend: The blend height; 0 if the ground always counts.
    """
    return 1.0 if blend <= 0.0 else 1.0 - smooth(height / blend - 1.0)


class Arc(NamedTuple):
    """The arc over an obstacle in the way of a swinging foot.

    Attributes:
        begin: The time at which the foot begins to rise.
        top: The time at which it passes the obstacle.
        end: The time from which on it is where it would be without the obstacle.
        height: By how much it would be too low; nothing is done below 0.
    """

    begin: float
    top: float
    end: float
    height: float


def lift(time: float, arcs: Sequence[Arc]) -> float:
    """Return how much higher a foot swings for the obstacles in its way.

    Together the arcs are at least as high as the highest of them, and as smooth as each.
    """
    high = max((arc.height for arc in arcs), default=0.0)
    if high <= 0.0:
        return 0.0
    total = 0.0
    for begin, top, end, height in arcs:
        if height > 0.0 and begin < time < end:
            share = (time - begin) / (top - begin) if time < top else (end - time) / (end - top)
            total += float((height / high * smoother(share)) ** STEPS)
    return high * float(total ** (1.0 / STEPS))


class Leg(NamedTuple):
    """A leg that a hip carries.

    Attributes:
        root: Where its first joint is, as the animation has it.
        target: Where the animation has the foot.
        goal: Where the foot goes, or would if nothing were in the way of its swing: what it is
            lifted over is no reason for the hip to rise.
        length: From the first joint to the tip of the straight leg.
        rise: How much higher the ground counts below it than the floor of the animation.
    """

    root: Vec
    target: Vec
    goal: Vec
    length: float
    rise: float


def hip_rise(legs: Sequence[Leg], follow: float) -> float:
    """Return how far a hip goes along with the ground below its feet.

    Args:
        legs: All that it carries, at least one.
        follow: How much of the ground's mean it takes: 1, or 0 to go down only.
    """
    return follow * fsum([leg.rise for leg in legs]) / len(legs)


def hip_drop(legs: Sequence[Leg], up: Vec, share: float, rise: float) -> float:
    """Return how far a hip goes down from there until all feet reach.

    No leg that the animation bends is stretched to more than a share of its length, so that no knee
    snaps. One that the animation stretches farther may stay so, and go half of the way to its
    length; and one that does not reach in the animation does not reach here.

    Args:
        legs: All that it carries, at least one.
        up: The direction of length 1 in which it moves.
        share: To which share of its length a leg is stretched at most.
        rise: How far it has gone along with the ground.
    """
    return max([0.0, *[_lack(leg, up, share, rise) for leg in legs if leg.length > 0.0]])


def peaks(drops: Mapping[int, float], known: dict[int, float], frames: range, ease: int) -> None:
    """Find how deep a hip has to be at frames for what it has to for a while before and after each.

    Args:
        drops: How far it has to go down at frames.
        known: What was found of that already; the rest is added.
        frames: The frames, a stride apart from one another as those of the drops.
        ease: The while, in frames.
    """
    beside = (ease // frames.step + 1) * frames.step
    for frame in frames:
        if frame not in known:
            around = range(frame - beside, frame + beside + 1, frames.step)
            known[frame] = max([drops.get(other, 0.0) for other in around])


def foreseen_drop(peaks: Mapping[int, float], time: float, ease: int, stride: int) -> float:
    """Return how far a hip goes down at a time, so that it does so calmly.

    That is how deep it has to be for a while before and after, smoothed over the same while: never
    less than what is asked for at the time itself.

    Args:
        peaks: What `peaks` has found for all multiples of the stride in that while.
        time: The frame, or a time between two.
        ease: The while, in frames, a multiple of the stride.
        stride: How many frames there are from one to the next at which it was looked.
    """
    total, weights = 0.0, 0.0
    for number in range(ceil((time - ease) / stride), floor((time + ease) / stride) + 1):
        weight = cos(0.5 * pi * (number * stride - time) / ease) ** 2
        total += weight * peaks[number * stride]
        weights += weight
    return total / weights


def _lack(leg: Leg, up: Vec, share: float, rise: float) -> float:
    """Return how far the hip has to go down for one leg, less than 0 if it could go up."""
    given = length(sub(leg.root, leg.target))
    reach = max(share * leg.length, given + ROOM * max(0.0, leg.length - given))
    apart = add(sub(leg.root, leg.goal), scaled(up, rise))
    aside = length(across(apart, up))
    lack = dot(apart, up) - _upright(reach * reach - aside * aside, FLAT * leg.length)
    return min(lack, DEEPEST * leg.length)


def _upright(square: float, least: float) -> float:
    """Return the root, which goes on as a line below a least value: it would be endlessly steep."""
    if square >= least * least:
        return sqrt(square)
    return 0.5 * (least + square / least)
