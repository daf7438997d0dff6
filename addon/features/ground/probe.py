"""Find the ground below a foot: its height along the axis, and its normal."""

from __future__ import annotations

from typing import NamedTuple

import bpy

from fabrik_solver.core.vectors import Vec, add, dot, scaled
from fabrik_solver.motion.ground import is_ground

from ...blender.rays import Cast

FARTHEST = 12.0
"""How far above and below the animation's floor to search by default, in leg lengths."""


class Under(NamedTuple):
    """The ground below a point.

    Attributes:
        height: Its height along the axis, in meters from the world's origin.
        normal: Its unit normal, in world space.
        ob: The object.
    """

    height: float
    normal: Vec
    ob: bpy.types.Object


class Probe(NamedTuple):
    """Finds the ground at one moment.

    Attributes:
        cast: Casts rays at the ground.
        up: The unit vector up, in world space; rays are cast in the opposite direction.
        floor: The height of the animation's floor.
        rest: The height of that floor above the armature's origin.
        leg: The length of the leg, in meters.
        above: How far above the floor to search, in meters; 0 for automatic.
        below: How far below the floor to search, in meters; 0 for automatic.
        most: The largest angle by which a foot is tilted, in radians.
        turns: Whether the foot is tilted at all.
        offset: How far above the ground the animation's floor is placed.
        lift_only: Whether that floor is never lowered.
    """

    cast: Cast
    up: Vec
    floor: float
    rest: float
    leg: float
    above: float
    below: float
    most: float
    turns: bool
    offset: float
    lift_only: bool

    def level(self, under: Under) -> float:
        """Return the height at which to place the animation's floor."""
        level = under.height + self.offset
        return max(level, self.floor) if self.lift_only else level

    def under(self, point: Vec) -> Under | None:
        """Return the ground above or below a point; None if there isn't any to stand on.

        With automatic distances, ground near the animation's floor comes first. So a character in a
        house doesn't climb the roof, and one walking uphill still finds the hill.
        """
        rise = self.floor - dot(point, self.up)
        near, reach = self.above or self.leg, (self.below or self.leg)
        surface = self._cast(add(point, scaled(self.up, rise + near)), near + reach)
        if surface is None and self.above == 0.0:
            far = FARTHEST * self.leg
            surface = self._cast(add(point, scaled(self.up, rise + far)), far - near)
        if surface is None and self.below == 0.0:
            far = FARTHEST * self.leg
            surface = self._cast(add(point, scaled(self.up, rise - reach)), far - reach)
        return surface

    def _cast(self, origin: Vec, distance: float) -> Under | None:
        down = scaled(self.up, -1.0)
        hit = self.cast(origin, down, distance)
        if hit is None or not is_ground(hit.normal, self.up):
            return None
        return Under(dot(hit.place, self.up), hit.normal, hit.ob)
