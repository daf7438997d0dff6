"""Where the root of a body may move: a prismatic joint along any of its axes."""

from collections.abc import Sequence
from typing import Final, final

from .vectors import Vec, add, dot, length, scaled, sub

ROUNDS: Final = 100
"""The most projections onto all slabs. One is exact where these are perpendicular."""

ROUNDING: Final = 1e-15
"""The distance from a slab, as a share of the displacement, that is rounding."""

AT_EDGE: Final = 1e-9
"""The distance from the end of a slab, as a share of the body's reach, that counts as at it."""

Slab = tuple[Vec, float, float]
"""A unit vector, and the least and the greatest component of a displacement along it."""


def slab(gradient: Vec, least: float, most: float) -> list[Slab]:
    """Return the slab of displacements that keep a linear coordinate within a range, if it has one.

    Args:
        gradient: How the coordinate grows with the displacement.
        least: The least change of the coordinate.
        most: The greatest.
    """
    size = length(gradient)
    return [(scaled(gradient, 1.0 / size), least / size, most / size)] if size > 0.0 else []


@final
class Slide:
    """The places where a root may be: an intersection of slabs.

    Attributes:
        origin: The root under the FK pose, in armature space.
        slabs: What its displacements from there are within. A locked axis has no width.
    """

    __slots__ = ("origin", "slabs")
    origin: Vec
    slabs: Sequence[Slab]

    def __init__(self, origin: Vec, slabs: Sequence[Slab]) -> None:
        """Take the slabs."""
        self.origin = origin
        self.slabs = slabs

    def nearest(self, place: Vec) -> Vec:
        """Return the place in the slabs nearest to one, or one near it.

        By cyclic projection (L. Bregman, “The method of successive projection for finding a common
        point of convex sets”, 1965).
        """
        moved = sub(place, self.origin)
        for _ in range(ROUNDS):
            most_over = 0.0
            for normal, least, most in self.slabs:
                along = dot(normal, moved)
                over = along - min(most, max(least, along))
                moved = sub(moved, scaled(normal, over))
                most_over = max(most_over, abs(over))
            if most_over <= ROUNDING * length(moved):
                break
        return add(self.origin, moved)

    def normals(self, place: Vec, reach: float) -> list[Vec]:
        """Return the outward normals at a place on the boundary.

        Args:
            place: A place in the slabs.
            reach: The reach of the body.
        """
        moved, near = sub(place, self.origin), AT_EDGE * reach
        found: list[Vec] = []
        for normal, least, most in self.slabs:
            along = dot(normal, moved)
            if along >= most - near:
                found.append(normal)
            if along <= least + near:
                found.append(scaled(normal, -1.0))
        return found
