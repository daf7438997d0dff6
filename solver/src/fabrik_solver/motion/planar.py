"""Rigid motions over level ground, with Z up."""

from __future__ import annotations

from math import atan2, cos, sin
from typing import Final, NamedTuple

from ..core.vectors import Mat3, Vec


class Planar(NamedTuple):
    """A rotation about the Z axis through the origin, followed by a translation.

    Attributes:
        x: The translation along X.
        y: The translation along Y.
        angle: The angle in radians, which may exceed a full turn.
    """

    x: float
    y: float
    angle: float

    def moved(self, place: Vec) -> Vec:
        """Return a point moved."""
        c, s = cos(self.angle), sin(self.angle)
        x, y, z = place
        return (c * x - s * y + self.x, s * x + c * y + self.y, z)

    def after(self, other: Planar) -> Planar:
        """Return the motion that is another one followed by this one."""
        x, y, _ = self.moved((other.x, other.y, 0.0))
        return Planar(x, y, self.angle + other.angle)

    def inverse(self) -> Planar:
        """Return the motion back."""
        c, s = cos(self.angle), sin(self.angle)
        return Planar(-c * self.x - s * self.y, s * self.x - c * self.y, -self.angle)

    def share(self, share: float) -> Planar:
        """Return a fraction of the motion at constant speed: along a line, or about one center."""
        if abs(self.angle) < STRAIGHT:
            return Planar(share * self.x, share * self.y, share * self.angle)
        half = 0.5 * sin(self.angle) / (1.0 - cos(self.angle))
        center = (0.5 * self.x - half * self.y, half * self.x + 0.5 * self.y, 0.0)
        x, y, _ = Planar(0.0, 0.0, share * self.angle).moved(center)
        return Planar(center[0] - x, center[1] - y, share * self.angle)


STILL: Final = Planar(0.0, 0.0, 0.0)

STRAIGHT: Final = 1e-6
"""The angle below which a motion counts as straight, as its center is too far away."""


def planar_of(axes: Mat3, before: Vec, now: Vec, near: float) -> Planar:
    """Return the planar motion closest to a motion in space.

    Args:
        axes: Its rotation.
        before: A point.
        now: The point moved.
        near: An angle in radians; of all angles that differ by full turns, the nearest is returned.
    """
    angle = atan2(axes[3] - axes[1], axes[0] + axes[4])
    angle = near + atan2(sin(angle - near), cos(angle - near))
    x, y, _ = Planar(0.0, 0.0, angle).moved(before)
    return Planar(now[0] - x, now[1] - y, angle)
