"""The orientation of a foot on ground that differs below its heel and its toes.

One end of a foot is below its goal, such as the ankle, and the other at the end of its bone, such
as the toes. The ground between them may be curved, or a stair.
"""

from __future__ import annotations

from ..core.vectors import Vec, across, add, cross, dot, length, scaled, sub, unit
from .ground import influence


def resting_normal(near: Vec, far: Vec, end: Vec, rise: float, up: Vec) -> Vec:
    """Return the normal, a unit vector, that a foot on two faces takes.

    Along the foot its slope is that of the line between the two points, clamped to the slopes of
    the two faces: over a stair, or its edge, the foot is level. Sideways it is their mean.

    Args:
        near: The normal of the face below the goal, not perpendicular to up.
        far: That of the face below the other end, not perpendicular to up.
        end: The other end relative to the goal, on flat ground.
        rise: How much higher the ground is below it.
        up: The unit vector up.
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
    """Return whether the ground below the other end is too high or too low for both ends to stand.

    Args:
        rise: How much higher it is.
        reach: The horizontal distance of the two ends.
    """
    return abs(rise) > reach


def counted(need: float, rise: float, reach: float) -> float:
    """Return how far a foot is lifted for ground below its other end; less and less for walls.

    Args:
        need: By how much that end is too low.
        rise: How much higher the ground is there than below the goal.
        reach: The rise up to which all of the need counts; from twice that on none does.
    """
    return max(0.0, need) * influence(rise, reach)


def _slope(normal: Vec, along: Vec, up: Vec) -> float:
    return -dot(normal, along) / dot(normal, up)
