"""The reach of a chain: a spherical shell around its root."""

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
        frame: Center in world space, and the axes in which the shell is spherical: those of the
            armature, which may be scaled non-uniformly.
        outer: Outer radius in these axes.
        inner: Inner radius; 0 without an inner sphere.
    """

    frame: Frame
    outer: float
    inner: float

    def outline(self, radius: float, eye: Vec, is_orthographic: bool) -> list[Vec]:
        """Return the silhouette of the outer or inner sphere.

        Args:
            radius: The outer or inner radius.
            eye: Location of the viewer in world space, or its direction.
            is_orthographic: Whether the view is orthographic, so that `eye` is a direction.

        Returns:
            A closed line in world space. It is empty if the viewer is inside the sphere, the radius
            is 0, or the armature has zero scale.
        """
        if radius == 0.0:
            return []
        try:
            to_shell = inverse(self.frame)
        except ValueError:
            return []
        eye_local = mat_apply(to_shell[0], eye) if is_orthographic else point_in(to_shell, eye)
        sight = unit(eye_local)
        if sight is None or (not is_orthographic and length(eye_local) <= radius):
            return []
        offset = 0.0 if is_orthographic else radius * radius / length(eye_local)
        return self._circle(
            scaled(sight, offset), sight, sqrt(max(0.0, radius * radius - offset * offset))
        )

    def great_circles(self) -> list[list[Vec]]:
        """Return the three circles with the outer radius in the planes of the axes."""
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
