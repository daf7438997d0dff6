"""Rope collision: joints that penetrate a surface are pushed out.

The model has neither friction nor history. On the ground, the excess length bulges to one side, by
as much as the rope would hang below the ground.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import fsum, sqrt
from typing import Final, final

from ..core import landed
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
from .solid import Solid

ITERATIONS: Final = 30
"""The maximum number of iterations that restore the lengths of a rope in contact."""

NEAR: Final = 1e-5
"""The gap at the target, as a fraction of the length, at which these iterations end.

The remaining gap is closed ignoring collisions.
"""

FITTINGS: Final = 8
"""The maximum number of Newton iterations that fit the bulge to the rope's length."""

LIFTS: Final = 3
"""How often a joint is lifted out of a surface and its bone's length restored."""

FITTED: Final = 1e-4
"""The Newton step at which the bulge fits. The collision iterations correct the remaining error."""

MAX_ASIDE: Final = 2.0
"""The largest sideways movement of a joint, as a multiple of its depth."""

ROUNDING: Final = 1e-6
"""The penetration depth to ignore, as a fraction of the rope's length."""


class Obstacle:
    """An obstacle with which a rope collides."""

    def keep(self, previous: Vec, size: float, position: Vec) -> Vec:
        """Return the position of a joint, pushed out of the obstacle.

        Args:
            previous: The position of the previous joint.
            size: The length of the bone between them, which doesn't change.
            position: The position to correct.
        """
        raise NotImplementedError


def on_plane(
    joints: Sequence[Vec],
    lengths: Sequence[float],
    target: Vec,
    plane: tuple[Vec, Vec],
    side: Vec,
) -> list[Vec]:
    """Return the joints of a rope that stays above a plane.

    The part below the plane is folded onto the plane, to one side, about the line where the rope
    crosses it. This keeps all lengths except those of bones crossing the line, which a few
    iterations restore. If an end is below the plane, the plane is lowered to that end.

    Args:
        joints: The joints of the hanging rope.
        lengths: The lengths of its bones.
        target: The position of its end.
        plane: A point of the plane, and its unit normal, toward the rope.
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
    """Return the joints of a rope that lies on a surface.

    A joint is inside if an upward ray leaves the surface; the joint is then lifted to that point.
    So ropes lie on objects and never hang below them. The ends stay in place.

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
        beside: The direction in the plane of a rope that comes straight down.
    """

    def __init__(self, normal: Vec, height: float, beside: Vec) -> None:
        self.normal = normal
        self.height = height
        self.beside = beside

    def keep(self, previous: Vec, size: float, position: Vec) -> Vec:
        """Move a joint onto the plane, in the horizontal direction of its bone."""
        normal = self.normal
        if dot(position, normal) >= self.height:
            return position
        above = max(0.0, dot(previous, normal) - self.height)
        flat = unit(across(sub(position, previous), normal)) or self.beside
        foot = add(previous, scaled(normal, -above))
        return add(foot, scaled(flat, sqrt(max(0.0, size * size - above * above))))


@final
class _Cover(Obstacle):
    """A solid that joints leave only upward.

    Attributes:
        solid: The solid.
        up: The direction against gravity, a unit vector.
        thickness: The distance of the joints from the surface.
        reach: The length of upward rays, which is that of the rope.
    """

    def __init__(self, solid: Solid, up: Vec, thickness: float, reach: float) -> None:
        self.solid = solid
        self.up = up
        self.thickness = thickness
        self.reach = reach

    def depth(self, position: Vec) -> float:
        """Return the depth of a position below the surface; 0 above it."""
        start = add(position, scaled(self.up, -self.thickness))
        out = self.solid.way_out(start, self.up, self.reach)
        return 0.0 if out is None else dot(sub(out[0], start), self.up)

    def keep(self, previous: Vec, size: float, position: Vec) -> Vec:
        """Lift a joint out of the solid, and restore its bone's length."""
        for _ in range(LIFTS):
            lift = self.depth(position)
            if lift <= ROUNDING * self.reach:
                break
            position = add(position, scaled(self.up, lift))
            position = add(previous, scaled(unit(sub(position, previous)) or self.up, size))
        return position


def _beside(joints: Sequence[Vec], target: Vec, normal: Vec, side: Vec) -> Vec:
    """Return the direction along the ground in which a rope bulges, a unit vector.

    Args:
        joints: The joints of the hanging rope.
        target: The position of its end.
        normal: The unit normal of the ground.
        side: The preferred side.
    """
    ahead = unit(across(sub(target, joints[0]), normal))
    if ahead is None:
        return unit(across(side, normal)) or any_perpendicular(normal)
    beside = cross(normal, ahead)
    return beside if dot(beside, side) >= 0.0 else scaled(beside, -1.0)


def _lifted_aside(
    joints: Sequence[Vec], depths: Sequence[float], up: Vec, beside: Vec, size: float
) -> list[Vec]:
    """Lift joints by their depths, and move them aside in proportion to their depths.

    The factor makes the rope keep its length; it is 0 if lifting alone makes the rope too long.

    Args:
        joints: The joints of the hanging rope.
        depths: The depth of each joint.
        up: The direction against gravity, a unit vector.
        beside: The unit direction in which they move aside.
        size: The length of the rope.
    """
    lifted = [add(joint, scaled(up, d)) for joint, d in zip(joints, depths, strict=True)]
    factor = 1.0
    vectors = [sub(b, a) for a, b in pairwise(lifted)]
    steps = [b - a for a, b in pairwise(depths)]
    parts = [
        (dot(vector, vector), dot(vector, beside) * step, step * step)
        for vector, step in zip(vectors, steps, strict=True)
    ]
    for _ in range(FITTINGS):
        total, slope = -size, 0.0
        for square, mixed, aside in parts:
            size_aside = sqrt(max(0.0, square + factor * (2.0 * mixed + factor * aside))) or 1e-300
            total += size_aside
            slope += (mixed + factor * aside) / size_aside
        if slope <= 0.0:
            break
        step = total / slope
        factor = min(max(0.0, factor - step), MAX_ASIDE)
        if abs(step) < FITTED:
            break
    return [add(point, scaled(beside, factor * d)) for point, d in zip(lifted, depths, strict=True)]


def _pushed_out(
    joints: list[Vec], lengths: Sequence[float], target: Vec, obstacle: Obstacle
) -> list[Vec]:
    """Return joints at their exact lengths, from the root to the target, without penetration.

    This is FABRIK, except that each joint is pushed out as soon as it is placed. The last pass
    starts at the root.
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
    """Move the first joint to the start, and drag the others behind it at their lengths."""
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
        factor = size / distance
        previous = (x, y, z)
        x, y, z = obstacle.keep(previous, size, (x + dx * factor, y + dy * factor, z + dz * factor))
        placed.append((x, y, z))
    return placed
