"""How a foot lies on ground that is not the same below its two ends, and is kept out of it.

One end of a foot is where its goal is, as the ankle, and the other where its bone ends, as the
toes. The ground below them may be bent, or a stair.
"""

from __future__ import annotations

from math import asin

from ..core.vectors import ORIGIN, Vec, across, add, cross, dot, length, scaled, sub, unit
from .ground import influence


def resting_normal(near: Vec, far: Vec, end: Vec, rise: float, up: Vec) -> Vec:
    """Return the direction of length 1 to which a foot on two faces is turned.

    Along the foot the slope is that from one place to the other where the ground bends between
    them, and it is never beyond the slopes of the two faces themselves: over a stair, or the edge
    of one, the foot is level. Sideways it is the mean of both.

    Args:
        near: The normal of the face below the goal, not at right angles to up.
        far: That of the face below the other end, not so either.
        end: Where that is, seen from the goal, above flat ground.
        rise: How much higher the ground is below it.
        up: The direction of length 1 against which is looked.
    """
    level = across(end, up)
    along = unit(level)
    if along is None:
        return near
    aside = cross(up, along)
    slopes = sorted((_slope(near, along, up), rise / length(level), _slope(far, along, up)))
    roll = 0.5 * (_slope(near, aside, up) + _slope(far, aside, up))
    normal = sub(up, add(scaled(along, slopes[1]), scaled(aside, roll)))
    return scaled(normal, 1.0 / length(normal))


def is_beside(rise: float, reach: float) -> bool:
    """Return whether ground is so much higher, or lower, that it is no ground for the same foot.

    Args:
        rise: By how much.
        reach: How far the two ends of the foot are apart, seen from above.
    """
    return abs(rise) > reach


def counted(need: float, rise: float, reach: float) -> float:
    """Return how much a foot yields to ground below its other end, before which walls fade.

    Args:
        need: By how much that end is too low.
        rise: How much higher the ground is there than below the goal.
        reach: How far the two ends are apart, seen from above.
    """
    return max(0.0, need) * influence(rise, reach)


def turn_out(end: Vec, need: float, up: Vec, most: float) -> Vec:
    """Return the turn that brings the other end of a foot up: its axis, as long as its angle.

    Args:
        end: Where it is, seen from the goal.
        need: By how much it is too low.
        up: The direction of length 1 in which it is.
        most: The largest angle.
    """
    size = length(end)
    axis = unit(cross(end, up))
    if axis is None or not need > 0.0:
        return ORIGIN
    sine = dot(end, up) / size
    angle = asin(min(1.0, sine + need / size)) - asin(max(-1.0, min(1.0, sine)))
    return scaled(axis, min(angle, most))


def _slope(normal: Vec, along: Vec, up: Vec) -> float:
    return -dot(normal, along) / dot(normal, up)
