"""The reach of a chain, as a spherical shell around its root."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin, sqrt

from fabrik_solver import Frame, inverse, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    any_perpendicular,
    cross,
    length,
    mat_apply,
    scaled,
    unit,
)

PARTS = 64
ROUND = [(cos(2.0 * pi * i / PARTS), sin(2.0 * pi * i / PARTS)) for i in range(PARTS + 1)]
"""Points of a closed circle of radius 1."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The reachable space of a chain.

    Attributes:
        frame: Center in world space, and the axes in which the shell is round: those of the
            armature, which may be scaled non-uniformly.
        outer: Outer radius in these axes.
        inner: Inner radius, 0 if there is none.
    """

    frame: Frame
    outer: float
    inner: float

    def outline(self, radius: float, eye: Vec, is_far: bool) -> list[Vec]:
        """Return the silhouette of one of the two spheres.

        Args:
            radius: One of the two radii.
            eye: Location of the viewer in world space, or its direction.
            is_far: Whether it is a direction, as in an orthographic view.

        Returns:
            A closed line in world space; empty from inside, with radius 0, or if the armature has
            zero scale.
        """
        if radius == 0.0:
            return []
        try:
            undone = inverse(self.frame)
        except ValueError:
            return []
        seen = mat_apply(undone[0], eye) if is_far else point_in(undone, eye)
        ahead = unit(seen)
        if ahead is None or (not is_far and length(seen) <= radius):
            return []
        nearer = 0.0 if is_far else radius * radius / length(seen)
        return self._circle(
            scaled(ahead, nearer), ahead, sqrt(max(0.0, radius * radius - nearer * nearer))
        )

    def great_circles(self) -> list[list[Vec]]:
        """Return the three circles of the outer radius in the planes of the axes."""
        axes: tuple[Vec, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        return [self._circle(ORIGIN, axis, self.outer) for axis in axes]

    def _circle(self, middle: Vec, normal: Vec, radius: float) -> list[Vec]:
        x = any_perpendicular(normal)
        y = cross(normal, x)
        axes = self.frame[0]
        ax, ay, az = mat_apply(axes, scaled(x, radius))
        bx, by, bz = mat_apply(axes, scaled(y, radius))
        mx, my, mz = point_in(self.frame, middle)
        return [
            (mx + c * ax + s * bx, my + c * ay + s * by, mz + c * az + s * bz) for c, s in ROUND
        ]
