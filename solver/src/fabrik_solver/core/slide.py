"""Where the root of a body may move: a prismatic joint along any of its axes."""

from collections.abc import Sequence
from typing import Final, final

from .vectors import Vec, add, dot, length, scaled, sub

ROUNDS: Final = 100
"""Maximum number of projections onto all slabs. If they are perpendicular, one is exact."""

ROUNDING: Final = 1e-15
"""The rounding error of the distance from a slab, relative to the displacement."""

AT_EDGE: Final = 1e-9
"""Maximum distance from a slab's boundary at which a point is on it, relative to the body's
reach."""

Slab = tuple[Vec, float, float]
"""A unit vector, and the minimum and maximum component of a displacement along it."""


def slab(gradient: Vec, least: float, most: float) -> list[Slab]:
    """Return the slab of displacements that keep a linear coordinate in a range, if any.

    Args:
        gradient: How the coordinate grows with the displacement.
        least: The minimum change of the coordinate.
        most: The maximum change of the coordinate.
    """
    size = length(gradient)
    return [(scaled(gradient, 1.0 / size), least / size, most / size)] if size > 0.0 else []


@final
class Slide:
    """The positions allowed for a root: an intersection of slabs.

    Attributes:
        origin: The root in the FK pose, in armature space.
        slabs: The bounds of the displacement from the origin. For a locked axis the slab has zero
            width.
    """

    def __init__(self, origin: Vec, slabs: Sequence[Slab]) -> None:
        self.origin = origin
        self.slabs = slabs

    def nearest(self, position: Vec) -> Vec:
        """Return the allowed position nearest to a position, or one close to it.

        By cyclic projection (L. Bregman, “The method of successive projection for finding a common
        point of convex sets”, 1965).
        """
        displacement = sub(position, self.origin)
        for _ in range(ROUNDS):
            most_over = 0.0
            for normal, least, most in self.slabs:
                along = dot(normal, displacement)
                over = along - min(most, max(least, along))
                displacement = sub(displacement, scaled(normal, over))
                most_over = max(most_over, abs(over))
            if most_over <= ROUNDING * length(displacement):
                break
        return add(self.origin, displacement)

    def normals(self, position: Vec, reach: float) -> list[Vec]:
        """Return the outward normals at a position on the boundary.

        Args:
            position: A position in the slabs.
            reach: The reach of the body.
        """
        displacement, near = sub(position, self.origin), AT_EDGE * reach
        outward: list[Vec] = []
        for normal, least, most in self.slabs:
            along = dot(normal, displacement)
            if along >= most - near:
                outward.append(normal)
            if along <= least + near:
                outward.append(scaled(normal, -1.0))
        return outward
