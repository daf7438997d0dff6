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
    mix,
    quat_exp,
    scaled,
    sub,
    unit,
)
from .easing import smooth

STEEPEST = 0.5
"""Cosine of the slope from which on a face is a wall and no ground: 60°."""

EASE = 4.0
"""For how many frames a foot is slowed down before a contact, and after one."""

STEPS = 8
"""Which power mean stands for the highest of what is in a foot's way: the larger, the nearer."""

SLACK = 0.06
"""Over which share of the leg the hip begins to go down, and one leg takes over from another."""

MOVED = 0.05
"""By which share of the leg its foot is moved where all of the slack is there."""

FLAT = 0.2
"""How much of a leg is left upright, as a share, where the hip begins to give up reaching."""

DEEPEST = 0.5
"""How far a hip goes down at most, in lengths of the leg."""


class Stance(NamedTuple):
    """A while in which a foot stands, as the ground is now.

    Attributes:
        first: The frame at which it begins.
        last: The frame at which it ends.
        entry: What takes the animated foot to its place at the first frame.
        exit: The same at the last.
        entry_rate: How far the animation moves the foot in a frame, at the first.
        exit_rate: The same at the last.
        tilt: The turn of the foot with the ground: its axis, as long as its angle.
        rise: How much higher the ground is than the floor of the animation.
    """

    first: float
    last: float
    entry: Vec
    exit: Vec
    entry_rate: Vec
    exit_rate: Vec
    tilt: Vec
    rise: float


class Swing(NamedTuple):
    """A moment between two contacts.

    Attributes:
        shift: The correction of the foot.
        tilt: Its turn with the ground.
        rise: How much higher the ground counts than the floor of the animation.
    """

    shift: Vec
    tilt: Vec
    rise: float


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


def raised(height: float, tilt: Vec) -> float:
    """Return how high a foot is above a slope that it stands on with its whole sole.

    Args:
        height: How high it is above flat ground.
        tilt: How it is turned with the slope.
    """
    return height / cos(length(tilt)) if height > 0.0 else height


def influence(height: float, blend: float) -> float:
    """Return how much of the ground counts: all up to the blend height, none from twice it on.

    Args:
        height: Of the animated foot above the floor of the animation.
        blend: The blend height; 0 if the ground always counts.
    """
    return 1.0 if blend <= 0.0 else 1.0 - smooth(height / blend - 1.0)


def swing(before: Stance, after: Stance, frame: float) -> Swing:
    """Return a moment between two contacts.

    The correction goes smoothly from that of one to that of the other. For a few frames at both
    ends it also stops the animated foot: what speed the animation has left when a contact begins
    is no slide, and what it has when one ends does not come at once.
    """
    gone, left = frame - before.last, after.first - frame
    span = gone + left
    share = smooth(gone / span)
    shift = mix(before.exit, after.entry, share)
    ease = min(span, EASE)
    leave = scaled(before.exit_rate, -_started(gone, ease))
    arrive = scaled(after.entry_rate, _started(left, ease))
    rise = before.rise + (after.rise - before.rise) * share
    return Swing(add(shift, add(leave, arrive)), mix(before.tilt, after.tilt, share), rise)


def _started(x: float, most: float) -> float:
    """Return what begins as x does at 0, and has gone back to 0 at a most."""
    rest = max(0.0, 1.0 - x / most)
    return x * rest * rest


def lift(u: float, needs: Sequence[tuple[float, float]]) -> float:
    """Return how much higher a foot swings for what is in its way.

    Each obstacle asks for an arc over the whole swing, with its height above it; together they are
    at least as high as the highest of them, and as smooth as each.

    Args:
        u: How much of the swing is over.
        needs: For times of the swing, in the same share, by how much the foot would be too low.
    """
    high = max((need for _, need in needs), default=0.0)
    if high <= 0.0 or not 0.0 < u < 1.0:
        return 0.0
    total = 0.0
    for at, need in needs:
        if need > 0.0:
            arc = smooth(u / at) if u < at else smooth((1.0 - u) / (1.0 - at))
            total += float((need / high * arc) ** STEPS)
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
    snaps; one that the animation stretches farther may stay so, and one that does not reach in the
    animation does not reach here.

    Args:
        legs: All that it carries, at least one.
        up: The direction of length 1 in which it moves.
        share: To which share of its length a leg is stretched at most.
        rise: How far it has gone along with the ground.
    """
    size = min(leg.length for leg in legs)
    if size <= 0.0:
        return 0.0
    # None for feet that are not moved, or all by the same: their legs are as in the animation.
    moved = sqrt(
        fsum([length(sub(sub(leg.goal, leg.target), scaled(up, rise))) ** 2 for leg in legs])
    )
    slack = SLACK * size * smooth(moved / (MOVED * size))
    drop = 0.0
    for lack in sorted([_lack(leg, up, share, rise) for leg in legs]):  # Whatever their order is.
        drop = _smooth_max(drop, lack, slack)
    return drop


def foreseen_drop(drops: Mapping[int, float], time: float, ease: int) -> float:
    """Return how far a hip goes down at a time, so that it does so calmly.

    It is as deep for a while before and after as it has to be, and that is smoothed over the same
    while: never less than what is asked for at the time itself.

    Args:
        drops: How far it has to at each frame, at least for twice the while to both sides.
        time: The frame, or a time between two.
        ease: The while, in frames.
    """
    total, weights = 0.0, 0.0
    for frame in range(ceil(time - ease), floor(time + ease) + 1):
        weight = cos(0.5 * pi * (frame - time) / ease) ** 2
        around = range(frame - ease - 1, frame + ease + 2)
        total += weight * max([drops.get(other, 0.0) for other in around])
        weights += weight
    return total / weights


def _lack(leg: Leg, up: Vec, share: float, rise: float) -> float:
    """Return how far the hip has to go down for one leg, less than 0 if it could go up."""
    given = length(sub(leg.root, leg.target))
    stretched = given / leg.length
    # As far as the animation stretches it, and smoothly so.
    allowed = share + (1.0 - share) * smooth(
        0.5 * (stretched - share) / max(1.0 - share, 1e-6) + 0.5
    )
    reach = max(leg.length * allowed, given)
    apart = add(sub(leg.root, leg.goal), scaled(up, rise))
    aside = length(across(apart, up))
    lack = dot(apart, up) - _upright(reach * reach - aside * aside, FLAT * leg.length)
    return min(lack, DEEPEST * leg.length)


def _upright(square: float, least: float) -> float:
    """Return the root, which goes on as a line below a least value: it would be endlessly steep."""
    if square >= least * least:
        return sqrt(square)
    return 0.5 * (least + square / least)


def _smooth_max(a: float, b: float, width: float) -> float:
    """Return the larger of two numbers, or a little more where they differ by less than a width."""
    apart = abs(a - b)
    if apart >= width:
        return max(a, b)
    return max(a, b) + 0.25 * (width - apart) * (width - apart) / width
