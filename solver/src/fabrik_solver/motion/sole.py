"""The sole of a foot, and its orientation on ground that differs below its heel and its toes.

One end of a foot is below its goal, such as the ankle. The other is at the end of its bone, such as
the toes. The ground between them may be curved, or a stair.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.vectors import ORIGIN, Vec, across, add, cross, dot, length, scaled, sub, unit
from .ground import influence


class Sole(NamedTuple):
    """The points of a foot between its heel and the tip of its toes.

    They are relative to the goal of the foot, in its axes; in `foot_roll`, relative to the heel.

    Attributes:
        heel: The heel: where it touches the floor, or the joint above that.
        ball: The ball of the foot, likewise.
        joint: The joint of its toes above the ball, None if it has none.
        tip: The tip of its toes.
        edge: The distance of each edge from the line between heel and tip.
        ankle: The ankle joint.
        heel_rest: The height of ``heel`` above the floor at rest.
        ball_rest: The same for ``ball``.
    """

    heel: Vec = ORIGIN
    ball: Vec = ORIGIN
    joint: Vec | None = None
    tip: Vec = ORIGIN
    edge: float = 0.0
    ankle: Vec = ORIGIN
    heel_rest: float = 0.0
    ball_rest: float = 0.0

    @property
    def pivot(self) -> Vec:
        """The point about which it rolls off: toes lie on the floor, and bend at their joint."""
        return self.ball if self.joint is None else self.joint


def resting_normal(near: Vec, far: Vec, end: Vec, rise: float, up: Vec) -> Vec:
    """Return the normal, a unit vector, that a foot on two faces takes.

    Along the foot its slope is that of the line between the two points, clamped to the slopes of
    the two faces. Over a stair, or its edge, the foot is level. Sideways it is their mean.

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
        reach: The rise up to which the full need counts. From twice this rise on, none of it does.
    """
    return max(0.0, need) * influence(rise, reach)


def _slope(normal: Vec, along: Vec, up: Vec) -> float:
    return -dot(normal, along) / dot(normal, up)
