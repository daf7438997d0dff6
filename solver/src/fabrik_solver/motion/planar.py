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
        angle: The angle in radians. It may exceed a full turn.
    """

    x: float
    y: float
    angle: float

    def moved(self, point: Vec) -> Vec:
        """Return the moved point."""
        c, s = cos(self.angle), sin(self.angle)
        x, y, z = point
        return (c * x - s * y + self.x, s * x + c * y + self.y, z)

    def after(self, other: Planar) -> Planar:
        """Return the other motion followed by this one."""
        x, y, _ = self.moved((other.x, other.y, 0.0))
        return Planar(x, y, self.angle + other.angle)

    def inverse(self) -> Planar:
        """Return the inverse motion."""
        c, s = cos(self.angle), sin(self.angle)
        return Planar(-c * self.x - s * self.y, s * self.x - c * self.y, -self.angle)

    def share(self, fraction: float) -> Planar:
        """Return a fraction of the motion at constant speed: along a line, or about a center."""
        if abs(self.angle) < STRAIGHT:
            return Planar(fraction * self.x, fraction * self.y, fraction * self.angle)
        half = 0.5 * sin(self.angle) / (1.0 - cos(self.angle))
        center = (0.5 * self.x - half * self.y, half * self.x + 0.5 * self.y, 0.0)
        x, y, _ = Planar(0.0, 0.0, fraction * self.angle).moved(center)
        return Planar(center[0] - x, center[1] - y, fraction * self.angle)


STILL: Final = Planar(0.0, 0.0, 0.0)

STRAIGHT: Final = 1e-6
"""The angle below which a motion counts as straight, because its center is too far away."""


def planar_of(axes: Mat3, point: Vec, moved_point: Vec, near: float) -> Planar:
    """Return the planar motion closest to a motion in space.

    Args:
        axes: The rotation of the motion in space.
        point: A point.
        moved_point: The moved point.
        near: An angle in radians. Of the angles that differ by full turns, the result has the
            nearest one.
    """
    angle = atan2(axes[3] - axes[1], axes[0] + axes[4])
    angle = near + atan2(sin(angle - near), cos(angle - near))
    x, y, _ = Planar(0.0, 0.0, angle).moved(point)
    return Planar(moved_point[0] - x, moved_point[1] - y, angle)
