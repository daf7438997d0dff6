"""The support area of a body, and how far its center of mass is outside."""

from collections.abc import Sequence
from typing import final

from .vectors import ORIGIN, Vec, add, any_perpendicular, cross, dot, scaled, sub

Point = tuple[float, float]


@final
class Support:
    """The area on which a body stands: the convex hull of some corners, seen along ``up``.

    Attributes:
        corners: The input corners, in any order.
        up: The unit direction along which everything is projected.
        force: Maximum force that holds the center of mass, in radians² per body size.
        lifted: Corners that the body also stood on at the start.
    """

    def __init__(
        self, corners: Sequence[Vec], up: Vec, force: float = 20.0, lifted: Sequence[Vec] = ()
    ) -> None:
        self.force = force
        self.lifted = lifted
        self.corners = list(corners)
        self.up = up
        self._across = any_perpendicular(up)
        self._along = cross(up, self._across)
        self._hull = _convex_hull([self._seen(corner) for corner in self.corners])
        heights = [dot(corner, up) for corner in self.corners]
        self._level = min(heights) if heights else 0.0

    def outside(self, point: Vec) -> Vec:
        """Return the vector from the area to a point, perpendicular to ``up``.

        Zero above and below the area, or without corners.
        """
        return self.beside(point)[0]

    def beside(self, point: Vec) -> tuple[Vec, bool]:
        """Return the result of `outside`, and whether it starts at a corner instead of an edge."""
        hull = self._hull
        if not hull:
            return ORIGIN, False
        x, y = self._seen(point)
        nearest, is_corner = hull[0], True
        least = (x - nearest[0]) ** 2 + (y - nearest[1]) ** 2
        is_inside = len(hull) > 2
        for index, (ax, ay) in enumerate(hull):
            bx, by = hull[(index + 1) % len(hull)]
            ex, ey = bx - ax, by - ay
            if ex * (y - ay) - ey * (x - ax) < 0.0:
                is_inside = False
            square = ex * ex + ey * ey
            fraction = 0.0
            if square > 0.0:
                fraction = min(1.0, max(0.0, (ex * (x - ax) + ey * (y - ay)) / square))
            px, py = ax + fraction * ex, ay + fraction * ey
            distance = (x - px) ** 2 + (y - py) ** 2
            if distance < least:
                least, nearest, is_corner = distance, (px, py), not 0.0 < fraction < 1.0
        if is_inside:
            return ORIGIN, False
        return self._across_and_along(x - nearest[0], y - nearest[1]), is_corner

    def including(self, center: Vec) -> "Support":
        """Return the area, extended so that the center of mass may stay as far out as at the start.

        Args:
            center: The center of mass at the start.
        """
        start_support = Support([*self.corners, *self.lifted], self.up)
        nearest = sub(center, self.outside(center))
        allowed = add(nearest, start_support.outside(center))
        return Support([*self.corners, allowed], self.up, self.force)

    def level(self, vector: Vec) -> Vec:
        """Return a vector without its component along ``up``."""
        return sub(vector, scaled(self.up, dot(vector, self.up)))

    def area(self) -> list[Vec]:
        """Return the corners of the area, counter-clockwise, at the height of the lowest corner."""
        level = scaled(self.up, self._level)
        return [add(level, self._across_and_along(x, y)) for x, y in self._hull]

    def below(self, point: Vec) -> Vec:
        """Return the point's projection along ``up`` onto the level of the area."""
        return add(point, scaled(self.up, self._level - dot(point, self.up)))

    def _seen(self, point: Vec) -> Point:
        return dot(point, self._across), dot(point, self._along)

    def _across_and_along(self, x: float, y: float) -> Vec:
        return add(scaled(self._across, x), scaled(self._along, y))


def _convex_hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    hull: list[Point] = []
    for ordering in (ordered, ordered[::-1]):
        first = len(hull)
        for point in ordering:
            while len(hull) - first > 1 and _turn(hull[-2], hull[-1], point) <= 0.0:
                hull.pop()
            hull.append(point)
        hull.pop()
    return hull


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
