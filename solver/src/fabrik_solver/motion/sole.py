"""The sole of a foot, and its orientation on ground that differs under heel and toes.

One end of a foot is below its goal, such as the ankle. The other is at the end of its bone, such as
the toes. The ground in between may be curved, or a stair.
"""

from typing import NamedTuple

from ..core.vectors import ORIGIN, Vec, across, add, cross, dot, length, scaled, sub, unit
from .ground import influence


class Sole(NamedTuple):
    """The points of a foot from its heel to the tip of its toes.

    They are relative to the foot's goal, in its axes; in `foot_roll`, relative to the heel.

    Attributes:
        heel: Where the heel touches the floor, or the joint above that.
        ball: The same for the ball.
        joint: The toe joint above the ball, or None if there is none.
        tip: The tip of the toes.
        edge: The distance from each edge to the line between heel and tip.
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
        """The point about which the foot rolls off: toes stay down and bend at their joint."""
        return self.ball if self.joint is None else self.joint

    @property
    def roundness(self) -> float:
        """The height of the pivot above the floor, which doesn't depend on the heel's height."""
        return length(sub(self.pivot, self.ball))


def resting_normal(near: Vec, far: Vec, end: Vec, rise: float, up: Vec) -> Vec:
    """Return the normal of a foot that rests on two faces, a unit vector.

    Along the foot, it slopes like the line between the two points, clamped to the slopes of the
    faces. So it is level over a stair or its edge. Sideways, it slopes like their mean.

    Args:
        near: The normal of the face below the goal, not perpendicular to up.
        far: The normal of the face below the other end, not perpendicular to up.
        end: The other end relative to the goal, on flat ground.
        rise: How far the ground below the other end is above that below the goal.
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


def counted(need: float, rise: float, reach: float) -> float:
    """Return how far to lift a foot for the ground below its other end, less for a higher wall.

    Args:
        need: How far that end is too low.
        rise: How far the ground below it is above that below the goal.
        reach: The rise up to which the full need counts. From twice this rise on, none of it
            counts.
    """
    return max(0.0, need) * influence(rise, reach)


def _slope(normal: Vec, along: Vec, up: Vec) -> float:
    return -dot(normal, along) / dot(normal, up)
