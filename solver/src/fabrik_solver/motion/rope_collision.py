"""Rope collision: joints that penetrate a surface are pushed out.

There is no friction and no history. The excess length on the ground bulges to one side, by as much
as the rope would hang below the ground there.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import fsum, sqrt
from typing import Final, final

from ..core.vectors import (
    Vec,
    across,
    add,
    any_perpendicular,
    cross,
    dot,
    length,
    scaled,
    sub,
    unit,
)
from .rope import landed
from .solid import Solid

ITERATIONS: Final = 30
"""The most iterations that restore the lengths of a rope in contact."""

NEAR: Final = 1e-5
"""The gap at the target, as a share of the length, at which these iterations end.

The rest is closed without regard to collision.
"""

FITTINGS: Final = 8
"""The Newton iterations that fit the bulge to the rope's length."""

LIFTS: Final = 3
"""The times that a joint is lifted out of a surface and its bone's length restored."""

FITTED: Final = 1e-4
"""The Newton step at which the bulge fits: the iterations do the rest."""

MAX_ASIDE: Final = 2.0
"""The largest sideways movement of a joint, as a multiple of its depth."""

ROUNDING: Final = 1e-6
"""The penetration depth to ignore, as a share of the rope's length."""


class Obstacle:
    """What a rope collides with."""

    def keep(self, before: Vec, size: float, place: Vec) -> Vec:
        """Push a joint out.

        Args:
            before: The position of the joint before it.
            size: The length of the bone between them, to be kept.
            place: The position to correct.
        """
        raise NotImplementedError


def on_plane(
    joints: Sequence[Vec],
    lengths: Sequence[float],
    target: Vec,
    plane: tuple[Vec, Vec],
    side: Vec,
) -> list[Vec]:
    """Return the joints of a rope that does not go below a plane.

    The part below it is folded onto it, to one side, about its intersection with the rope's plane.
    This keeps all lengths except those of the bones that cross the line, which a few iterations
    restore. If an end is below the plane, the plane is taken at the height of that end.

    Args:
        joints: The joints of the hanging rope.
        lengths: The lengths of its bones.
        target: The position of its end.
        plane: A point of the plane, and its unit normal on the side of the rope.
        side: The preferred side to bulge to.
    """
    point, normal = plane
    heights = [dot(sub(joint, point), normal) for joint in joints]
    level = min(0.0, heights[0], heights[-1])
    if min(heights) >= level:
        return [*joints]
    beside = _beside(joints, target, normal, side)
    depths = [max(0.0, level - height) for height in heights]
    risen = _lifted_aside(joints, depths, normal, beside, fsum(lengths))
    floor = _Floor(normal, dot(point, normal) + level, beside)
    return _pushed_out(risen, lengths, target, floor)


def on_surface(
    joints: Sequence[Vec],
    lengths: Sequence[float],
    target: Vec,
    solid: Solid,
    down: Vec,
    side: Vec,
    thickness: float = 0.0,
) -> list[Vec]:
    """Return the joints of a rope that lies over a surface.

    A joint is inside if a ray upward leaves the surface, and is then lifted there: ropes lie on
    things, and do not hang below them. The ends stay where they are.

    Args:
        joints: The joints of the hanging rope.
        lengths: The lengths of its bones.
        target: The position of its end.
        solid: The solid that the surface bounds.
        down: The direction of gravity, a unit vector.
        side: The preferred side to bulge to.
        thickness: The distance of the joints from the surface.
    """
    size = fsum(lengths)
    cover = _Cover(solid, scaled(down, -1.0), thickness, size)
    depths = [0.0, *[cover.depth(joint) for joint in joints[1:-1]], 0.0]
    if max(depths) <= 0.0:
        return [*joints]
    beside = _beside(joints, target, cover.up, side)
    return _pushed_out(
        _lifted_aside(joints, depths, cover.up, beside, size), lengths, target, cover
    )


@final
class _Floor(Obstacle):
    """A plane.

    Attributes:
        normal: Its unit normal.
        height: Its distance from the origin along the normal.
        beside: The direction in it of a rope that comes straight down.
    """

    __slots__ = ("beside", "height", "normal")
    normal: Vec
    height: float
    beside: Vec

    def __init__(self, normal: Vec, height: float, beside: Vec) -> None:
        self.normal = normal
        self.height = height
        self.beside = beside

    def keep(self, before: Vec, size: float, place: Vec) -> Vec:
        """Put a joint onto the plane, in the direction of its bone within it."""
        normal = self.normal
        if dot(place, normal) >= self.height:
            return place
        above = max(0.0, dot(before, normal) - self.height)
        flat = unit(across(sub(place, before), normal)) or self.beside
        foot = add(before, scaled(normal, -above))
        return add(foot, scaled(flat, sqrt(max(0.0, size * size - above * above))))


@final
class _Cover(Obstacle):
    """A solid that joints leave upward only.

    Attributes:
        solid: The solid.
        up: The direction against gravity, a unit vector.
        thickness: The distance of the joints from the surface.
        reach: The length of rays upward: that of the rope.
    """

    __slots__ = ("reach", "solid", "thickness", "up")
    solid: Solid
    up: Vec
    thickness: float
    reach: float

    def __init__(self, solid: Solid, up: Vec, thickness: float, reach: float) -> None:
        self.solid = solid
        self.up = up
        self.thickness = thickness
        self.reach = reach

    def depth(self, place: Vec) -> float:
        """Return the depth of a position below the surface, 0 if it is not."""
        start = add(place, scaled(self.up, -self.thickness))
        hit = self.solid.hit(start, self.up, self.reach)
        if hit is None or dot(hit[1], self.up) <= 0.0:
            return 0.0
        return dot(sub(hit[0], start), self.up)

    def keep(self, before: Vec, size: float, place: Vec) -> Vec:
        """Lift a joint out of the solid, and restore its bone's length."""
        for _ in range(LIFTS):
            lift = self.depth(place)
            if lift <= ROUNDING * self.reach:
                break
            place = add(place, scaled(self.up, lift))
            place = add(before, scaled(unit(sub(place, before)) or self.up, size))
        return place


def _beside(joints: Sequence[Vec], target: Vec, normal: Vec, side: Vec) -> Vec:
    """Return the unit vector, along the ground, to the side on which a rope bulges."""
    ahead = unit(across(sub(target, joints[0]), normal))
    if ahead is None:
        return unit(across(side, normal)) or any_perpendicular(normal)
    beside = cross(normal, ahead)
    return beside if dot(beside, side) >= 0.0 else scaled(beside, -1.0)


def _lifted_aside(
    joints: Sequence[Vec], depths: Sequence[float], up: Vec, beside: Vec, size: float
) -> list[Vec]:
    """Lift joints by their depths, and move them aside in proportion to these.

    The factor is the one that gives the rope its length, 0 if lifting alone makes it too long.
    """
    lifted = [add(joint, scaled(up, d)) for joint, d in zip(joints, depths, strict=True)]
    share = 1.0
    ways = [sub(after, before) for before, after in pairwise(lifted)]
    steps = [after - before for before, after in pairwise(depths)]
    parts = [
        (dot(way, way), dot(way, beside) * step, step * step)
        for way, step in zip(ways, steps, strict=True)
    ]
    for _ in range(FITTINGS):
        total, slope = -size, 0.0
        for square, mixed, aside in parts:
            now = sqrt(max(0.0, square + share * (2.0 * mixed + share * aside))) or 1e-300
            total += now
            slope += (mixed + share * aside) / now
        if slope <= 0.0:
            break
        step = total / slope
        share = min(max(0.0, share - step), MAX_ASIDE)
        if abs(step) < FITTED:
            break
    return [add(place, scaled(beside, share * d)) for place, d in zip(lifted, depths, strict=True)]


def _pushed_out(
    joints: list[Vec], lengths: Sequence[float], target: Vec, obstacle: Obstacle
) -> list[Vec]:
    """Return joints at their exact lengths, from the root to the target, without penetration.

    FABRIK that pushes out each joint as it is placed. The last pass is from the root on.
    """
    near = NEAR * fsum(lengths)
    root = joints[0]
    backward = [*reversed(lengths)]
    for _ in range(ITERATIONS):
        joints = _dragged(joints[::-1], target, backward, obstacle)[::-1]
        joints = _dragged(joints, root, lengths, obstacle)
        if length(sub(joints[-1], target)) <= near:
            break
    return landed(joints, lengths, target)


def _dragged(
    joints: list[Vec], start: Vec, lengths: Sequence[float], obstacle: Obstacle
) -> list[Vec]:
    """Put the first joint at the start, and drag the others behind it at their lengths."""
    x, y, z = start
    placed = [start]
    dx, dy, dz, distance = 1.0, 0.0, 0.0, 1.0
    for i, size in enumerate(lengths, start=1):
        nx, ny, nz = joints[i]
        nx -= x
        ny -= y
        nz -= z
        away = sqrt(nx * nx + ny * ny + nz * nz)
        if away > 1e-150:
            dx, dy, dz, distance = nx, ny, nz, away
        share = size / distance
        before = (x, y, z)
        x, y, z = obstacle.keep(before, size, (x + dx * share, y + dy * share, z + dz * share))
        placed.append((x, y, z))
    return placed
