"""A solid at which rays are cast from another space."""

from collections.abc import Callable
from typing import Final, final

from ..core import Frame, inverse, point_in
from ..core.vectors import (
    Mat3,
    Vec,
    add,
    dot,
    length,
    mat_apply,
    mat_columns,
    mix,
    scaled,
    sub,
    unit,
)

Cast = Callable[[Vec, Vec, float], tuple[Vec, Vec] | None]
"""Casts a ray from an origin in a direction of any length, up to a distance.

It returns the first hit and the outward normal there, or None.
"""

MARGIN: Final = 1e-4
"""The margin of the bounds, as a fraction of their size, because they may be in single
precision."""

SINGLE: Final = 2.0**-22
"""The error of a hit in single precision, as a fraction of its coordinates."""


@final
class Solid:
    """A solid bounded by a surface.

    Rays are tested against its bounding box first, which is much cheaper than casting them.

    Attributes:
        rounding: The error of hits in single precision, in the space of the rays.
    """

    def __init__(self, cast: Cast, bounds: tuple[Vec, Vec], space: Frame) -> None:
        """Set up the solid.

        Args:
            cast: Casts rays at the solid, in its local space.
            bounds: The corners of its bounding box, in its local space.
            space: The frame of the space of the rays, in the solid's local space.

        Raises:
            ValueError: If the frame is singular.
        """
        self._bounds = bounds
        low, high = bounds
        room = MARGIN * length(sub(high, low))
        self._cast = cast
        self._low = add(low, (-room, -room, -room))
        self._high = add(high, (room, room, room))
        self._there = space
        self._back = inverse(space)
        self._columns = mat_columns(space[0])
        far = max([abs(x) for corner in bounds for x in corner])
        self.rounding = (
            SINGLE * far * max([length(column) for column in mat_columns(self._back[0])])
        )

    def placed(self, frame: Frame) -> "Solid":
        """Return the solid with another frame in the space of the rays.

        Raises:
            ValueError: If the frame is singular.
        """
        return Solid(self._cast, self._bounds, inverse(frame))

    def toward(self, other: "Solid", t: float) -> "Solid":
        """Return the other solid with a frame between this solid's frame and the other's."""
        axes, origin = self._there
        other_axes, other_origin = other._there
        if t == 1.0 or self._there == other._there:
            return other
        a, b, c = [mix(x, y, t) for x, y in zip(_rows(axes), _rows(other_axes), strict=True)]
        space = (*a, *b, *c), mix(origin, other_origin, t)
        return Solid(other._cast, other._bounds, space)

    def way_out(self, start: Vec, up: Vec, reach: float) -> tuple[Vec, Vec] | None:
        """Return where an upward ray leaves the solid, and the outward unit normal there.

        None if it doesn't leave, because the start is outside or farther below the surface.

        Args:
            start: The origin of the ray.
            up: The direction of the ray, a unit vector.
            reach: The length of the ray.
        """
        hit = self.hit(start, up, reach)
        return None if hit is None or dot(hit[1], up) <= 0.0 else hit

    def hit(self, origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
        """Return the first hit of a ray, and the outward unit normal there; None without a hit.

        Args:
            origin: The origin of the ray.
            direction: The direction of the ray, a unit vector.
            distance: The length of the ray.
        """
        start, along = point_in(self._there, origin), mat_apply(self._there[0], direction)
        low, high = self._low, self._high
        span = _narrowed((0.0, distance), start[0], along[0], low[0], high[0])
        span = _narrowed(span, start[1], along[1], low[1], high[1])
        span = _narrowed(span, start[2], along[2], low[2], high[2])
        if span[0] > span[1]:
            return None
        surface = self._cast(start, along, distance * length(along))
        if surface is None:
            return None
        position, facing = surface
        x, y, z = self._columns
        normal = unit((dot(x, facing), dot(y, facing), dot(z, facing)))
        return point_in(self._back, position), normal or scaled(direction, -1.0)


def _rows(axes: Mat3) -> tuple[Vec, Vec, Vec]:
    a, b, c, d, e, f, g, h, i = axes
    return (a, b, c), (d, e, f), (g, h, i)


def _narrowed(
    span: tuple[float, float], at: float, step: float, low: float, high: float
) -> tuple[float, float]:
    """Return a span of a ray, clipped to the bounds of one coordinate (slab test).

    Args:
        span: The distances along the ray at which the span starts and ends.
        at: The coordinate of the ray's origin.
        step: The same component of its direction.
        low: The minimum of the coordinate.
        high: The maximum of the coordinate.
    """
    if step == 0.0:
        return span if low <= at <= high else (1.0, 0.0)
    enter, leave = (low - at) / step, (high - at) / step
    return max(span[0], min(enter, leave)), min(span[1], max(enter, leave))
