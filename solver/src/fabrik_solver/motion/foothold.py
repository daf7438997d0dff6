"""Find a foothold by casting rays.

The rays follow the shape of a leg: out from its root to above the foothold, down, and back
under the body. So a foot finds the floor, steps onto a wall ahead, or wraps around an edge.
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from ..core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    any_perpendicular,
    cross,
    dot,
    length,
    mix,
    scaled,
    sub,
    unit,
)
from .footfall import STILL
from .ground import is_ground


class GroundHit(NamedTuple):
    """A ray's hit: location and unit normal in world space, and the index of the ground."""

    place: Vec
    normal: Vec
    ground: int


Cast = Callable[[Vec, Vec, float], GroundHit | None]
"""Returns the first hit of a ray, from its origin, direction (a unit vector) and length."""


class Search(NamedTuple):
    """How to look for a foothold.

    Attributes:
        cast: Casts a ray.
        up: The body's up direction, a unit vector in world space.
        root: The leg's root, in world space.
        reach: The greatest distance from the root to a foothold.
        above: How far above the desired foothold the ray down starts.
        climbs: Whether walls ahead and faces under the body count.
    """

    cast: Cast
    up: Vec
    root: Vec
    reach: float
    above: float
    climbs: bool


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fractions by which the desired foothold is pulled back below the leg's root, tried in order until
one is within reach. Faces to wrap around are looked for as deep, as fractions of the reach."""

ROOM = 0.04
"""How far from a wall a foot stands, as a fraction of the reach. Walls are looked for half as high
above the ground."""


def foothold_at(search: Search, aim: Vec) -> tuple[GroundHit, bool]:
    """Return the foothold for a desired location, and whether it is on ground.

    A foot that doesn't climb stands on a steep face, such as a stair's riser, only if there is no
    other. Without any face, the foot hangs at the desired location, or as near as the leg reaches.
    """
    drop = dot(sub(search.root, aim), search.up)
    under = sub(search.root, scaled(search.up, drop))
    steep: GroundHit | None = None
    for fraction in SHARES:
        hit = _beside_steep(search, mix(aim, under, fraction))
        if hit is None or length(sub(hit.place, search.root)) > search.reach:
            continue
        if not _is_steep(search, hit):
            return _beside_walls(search, hit), True
        steep = steep or hit
    if steep is not None:
        return steep, True
    return GroundHit(within_reach(aim, search.root, search.reach), search.up, STILL), False


def _beside_steep(search: Search, point: Vec) -> GroundHit | None:
    """Return the hit of a ray at a location, or in front of a steep face there; None if none."""
    hit = _probe(search, point)
    if hit is None or not _is_steep(search, hit):
        return hit
    away = unit(across(hit.normal, search.up)) or ORIGIN
    top = add(hit.place, add(scaled(search.up, search.above), scaled(away, ROOM * search.reach)))
    other = search.cast(top, scaled(search.up, -1.0), search.above + search.reach)
    return hit if other is None or _is_steep(search, other) else other


def _beside_walls(search: Search, hit: GroundHit) -> GroundHit:
    """Return a foothold that leaves room between the sole and a wall."""
    if search.climbs:
        return hit
    room = ROOM * search.reach
    low = scaled(hit.normal, 0.5 * room)
    out = unit(across(sub(hit.place, search.root), hit.normal)) or any_perpendicular(hit.normal)
    aside = cross(hit.normal, out)
    for direction in (out, aside, scaled(out, -1.0), scaled(aside, -1.0)):
        wall = search.cast(add(hit.place, low), direction, room * sqrt(2.0))  # It may be oblique.
        if wall is None or not _is_steep(search, wall):
            continue
        away = unit(across(wall.normal, hit.normal)) or ORIGIN
        near = min(room, dot(sub(hit.place, wall.place), away))
        top = add(add(hit.place, low), scaled(away, room - near))
        other = search.cast(top, scaled(hit.normal, -1.0), room)
        if other is not None and not _is_steep(search, other):
            return other
    return hit


def _is_steep(search: Search, hit: GroundHit) -> bool:
    return not (search.climbs or is_ground(hit.normal, search.up))


def _probe(search: Search, point: Vec) -> GroundHit | None:
    up, above = search.up, search.above
    top = add(point, scaled(up, above))
    wall = _between(search.cast, search.root, top)
    if wall is not None:
        if search.climbs:
            return wall
        top = mix(wall.place, search.root, 0.05)
    deep = above + search.reach
    hit = search.cast(top, scaled(up, -1.0), deep)
    if hit is not None or not search.climbs:
        return hit
    for depth in SHARES[1:]:
        below = sub(point, scaled(up, depth * search.reach))
        inner = add(below, scaled(across(sub(search.root, below), up), 2.0))
        hit = _between(search.cast, below, inner)
        if hit is not None:
            return hit
    return None


def _between(cast: Cast, start: Vec, end: Vec) -> GroundHit | None:
    offset = sub(end, start)
    direction = unit(offset)
    return None if direction is None else cast(start, direction, length(offset))


def within_reach(point: Vec, root: Vec, reach: float) -> Vec:
    """Clamp a location to the leg's reach."""
    offset = sub(point, root)
    far = length(offset)
    return point if far <= reach else add(root, scaled(offset, reach / far))
