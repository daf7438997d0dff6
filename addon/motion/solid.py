"""A solid as rays from another space find it."""

from collections.abc import Callable
from typing import Final, final

from ..core import Frame, inverse, point_in
from ..core.vectors import Vec, add, dot, length, mat_apply, mat_columns, scaled, sub, unit

Cast = Callable[[Vec, Vec, float], tuple[Vec, Vec] | None]
"""A ray: from an origin, in a direction of any length, not farther than a distance.

It tells where it first meets a surface, and the normal there, outward; None if it does not.
"""

MARGIN: Final = 1e-4
"""The share of a solid's size by which rays miss its bounds: they may be of single precision."""


@final
class Solid:
    """What a surface bounds, at a place.

    Asking whether a ray passes its bounds is much cheaper than casting it.
    """

    __slots__ = ("_back", "_cast", "_columns", "_high", "_low", "_there")
    _cast: Cast
    _low: Vec
    _high: Vec
    _there: Frame
    _back: Frame
    _columns: tuple[Vec, Vec, Vec]

    def __init__(self, cast: Cast, bounds: tuple[Vec, Vec], there: Frame) -> None:
        """Take a solid.

        Args:
            cast: Casts rays at it, in its own space.
            bounds: The least and the largest of its coordinates there.
            there: The frame of the space that it is seen from, in its own space.

        Raises:
            ValueError: If the frame is flat.
        """
        low, high = bounds
        room = MARGIN * length(sub(high, low))
        self._cast = cast
        self._low = add(low, (-room, -room, -room))
        self._high = add(high, (room, room, room))
        self._there = there
        self._back = inverse(there)
        self._columns = mat_columns(there[0])

    def hit(self, origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
        """Return where a ray first meets the surface, and the normal there, outward.

        Args:
            origin: Where it begins.
            direction: Where it goes, of length 1.
            distance: How far.
        """
        start, along = point_in(self._there, origin), mat_apply(self._there[0], direction)
        low, high = self._low, self._high
        span = _narrowed((0.0, distance), start[0], along[0], low[0], high[0])
        span = _narrowed(span, start[1], along[1], low[1], high[1])
        span = _narrowed(span, start[2], along[2], low[2], high[2])
        if span[0] > span[1]:
            return None
        found = self._cast(start, along, distance * length(along))
        if found is None:
            return None
        place, facing = found
        x, y, z = self._columns
        normal = unit((dot(x, facing), dot(y, facing), dot(z, facing)))
        return point_in(self._back, place), normal or scaled(direction, -1.0)


def _narrowed(
    span: tuple[float, float], at: float, step: float, low: float, high: float
) -> tuple[float, float]:
    """Return the part of a span of a ray in which one of its coordinates is within bounds."""
    if step == 0.0:
        return span if low <= at <= high else (1.0, 0.0)
    enter, leave = (low - at) / step, (high - at) / step
    return max(span[0], min(enter, leave)), min(span[1], max(enter, leave))
