"""Finding a foothold by casting rays.

The rays follow the shape of a leg: out from its root to above the desired foothold, down, and back
under the body. So a foot finds the floor, steps onto a wall ahead, and wraps around an edge.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..core.vectors import Vec, across, add, dot, length, mix, scaled, sub, unit
from .footfall import STILL


class GroundHit(NamedTuple):
    """The hit of a ray: place and unit normal in the world, and the number of the ground."""

    place: Vec
    normal: Vec
    ground: int


Cast = Callable[[Vec, Vec, float], GroundHit | None]
"""The first hit of a ray from an origin in a direction (a unit vector) over a distance."""


class Search(NamedTuple):
    """How to look for a foothold.

    Attributes:
        cast: Casts a ray.
        up: The body's up direction, a unit vector in the world.
        root: The leg's root, in the world.
        reach: The greatest distance of a foothold from there.
        above: The height over the place at which the ray down starts.
        climbs: Whether walls ahead and faces under the body count.
    """

    cast: Cast
    up: Vec
    root: Vec
    reach: float
    above: float
    climbs: bool


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far to pull a place in under the leg's root, until there is a foothold within reach."""

DEPTHS = (0.2, 0.5)
"""How far under a place to look for faces to wrap around, as shares of the reach."""


def foothold_at(search: Search, aim: Vec) -> tuple[GroundHit, bool]:
    """Return the foothold for a desired place, and whether there is one.

    Without one the foot hangs at the place itself, as near as the leg reaches.
    """
    drop = dot(sub(search.root, aim), search.up)
    under = sub(search.root, scaled(search.up, drop))
    for share in SHARES:
        hit = _probe(search, mix(aim, under, share))
        if hit is not None and length(sub(hit.place, search.root)) <= search.reach:
            return hit, True
    return GroundHit(within_reach(aim, search.root, search.reach), search.up, STILL), False


def _probe(search: Search, place: Vec) -> GroundHit | None:
    up, above = search.up, search.above
    top = add(place, scaled(up, above))
    wall = _between(search.cast, search.root, top)
    if wall is not None:
        if search.climbs:
            return wall
        top = mix(wall.place, search.root, 0.05)
    deep = above + search.reach
    hit = search.cast(top, scaled(up, -1.0), deep)
    if hit is not None or not search.climbs:
        return hit
    for depth in DEPTHS:
        below = sub(place, scaled(up, depth * search.reach))
        inner = add(below, scaled(across(sub(search.root, below), up), 2.0))
        hit = _between(search.cast, below, inner)
        if hit is not None:
            return hit
    return None


def _between(cast: Cast, start: Vec, end: Vec) -> GroundHit | None:
    way = sub(end, start)
    direction = unit(way)
    return None if direction is None else cast(start, direction, length(way))


def within_reach(place: Vec, root: Vec, reach: float) -> Vec:
    """Clamp the place to the leg's reach."""
    way = sub(place, root)
    far = length(way)
    return place if far <= reach else add(root, scaled(way, reach / far))
