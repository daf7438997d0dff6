"""The area on which a body stands, and how far its centre of mass is outside of it."""

from collections.abc import Sequence

from .vectors import ORIGIN, Vec, add, any_perpendicular, cross, dot, scaled

Point = tuple[float, float]


def outside(place: Vec, corners: Sequence[Vec], up: Vec) -> Vec:
    """Return the way from the area between some corners to a point, seen along ``up``.

    Args:
        place: The point.
        corners: The corners in any order; their convex hull is the area.
        up: The unit direction along which everything is projected.

    Returns:
        A vector perpendicular to ``up``: zero above and below the area, or without corners.
    """
    if not corners:
        return ORIGIN
    across = any_perpendicular(up)
    along = cross(up, across)
    x, y = dot(place, across), dot(place, along)
    hull = convex_hull([(dot(corner, across), dot(corner, along)) for corner in corners])
    nearest = hull[0]
    least = (x - nearest[0]) ** 2 + (y - nearest[1]) ** 2
    is_inside = len(hull) > 2
    for index, (ax, ay) in enumerate(hull):
        bx, by = hull[(index + 1) % len(hull)]
        ex, ey = bx - ax, by - ay
        if ex * (y - ay) - ey * (x - ax) < 0.0:
            is_inside = False
        square = ex * ex + ey * ey
        share = 0.0
        if square > 0.0:
            share = min(1.0, max(0.0, (ex * (x - ax) + ey * (y - ay)) / square))
        px, py = ax + share * ex, ay + share * ey
        distance = (x - px) ** 2 + (y - py) ** 2
        if distance < least:
            least, nearest = distance, (px, py)
    if is_inside:
        return ORIGIN
    return add(scaled(across, x - nearest[0]), scaled(along, y - nearest[1]))


def convex_hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    hull: list[Point] = []
    for way in (ordered, ordered[::-1]):
        first = len(hull)
        for point in way:
            while len(hull) - first > 1 and _turn(hull[-2], hull[-1], point) <= 0.0:
                hull.pop()
            hull.append(point)
        hull.pop()
    return hull


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
