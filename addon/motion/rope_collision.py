"""A rope that rests on something: joints that would be in it are brought out.

Neither friction nor other moments count, so what is left of the rope's length on the ground has to
lie somewhere: it bulges to one side, as the rope would hang there below the ground.
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

SWEEPS: Final = 30
"""The most sweeps that bring a rope which lies on something back to its lengths."""

NEAR: Final = 1e-5
"""The gap at the hook, as a share of the length, at which these sweeps are over.

What is left of it is closed without regard to what the rope lies on.
"""

FITTINGS: Final = 8
"""The steps of Newton's method that fit the bulge to the rope's length."""

LIFTS: Final = 3
"""How often a joint is lifted out of a surface and brought back to its bone's length."""

FITTED: Final = 1e-4
"""The step at which the bulge fits: the sweeps put the rest right."""

MOST_ASIDE: Final = 2.0
"""The most that a joint is moved aside, in its depths."""

ROUNDING: Final = 1e-6
"""How deep in a surface a joint counts as out of it, as a share of the rope's length."""


class Obstacle:
    """What a rope rests on."""

    def keep(self, before: Vec, size: float, place: Vec) -> Vec:
        """Return where a joint comes to be instead of a place.

        Args:
            before: Where the joint before it is.
            size: How far from there it is, and has to stay.
            place: Where it would be.
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

    What hangs below it is folded onto it, to one side, about the line in which the rope meets it.
    That keeps all distances but those of the bones that cross this line, which a few sweeps put
    right. Where an end is below the plane, the plane counts as being there.

    Args:
        joints: Of the hanging rope.
        lengths: The lengths of its bones.
        target: Where it ends.
        plane: A point of the plane, and its normal of length 1 on the side of the rope.
        side: To which side it bulges; the plane and the rope's own say what is left to choose.
    """
    point, normal = plane
    heights = [dot(sub(joint, point), normal) for joint in joints]
    level = min(0.0, heights[0], heights[-1])
    if min(heights) >= level:
        return [*joints]
    beside = _beside(joints, target, normal, side)
    depths = [max(0.0, level - height) for height in heights]
    risen = _risen(joints, depths, normal, beside, fsum(lengths))
    floor = _Floor(normal, dot(point, normal) + level, beside)
    return _swept(risen, lengths, target, floor)


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

    A joint is in what the surface bounds if the way up from it leaves that, and then is lifted
    to there: ropes lie on things, and do not hang below them. The ends stay where they are.

    Args:
        joints: Of the hanging rope.
        lengths: The lengths of its bones.
        target: Where it ends.
        solid: What the surface bounds.
        down: The direction of gravity, of length 1.
        side: To which side it bulges.
        thickness: How far above the surface the joints stay.
    """
    size = fsum(lengths)
    cover = _Cover(solid, scaled(down, -1.0), thickness, size)
    depths = [0.0, *[cover.depth(joint) for joint in joints[1:-1]], 0.0]
    if max(depths) <= 0.0:
        return [*joints]
    beside = _beside(joints, target, cover.up, side)
    return _swept(_risen(joints, depths, cover.up, beside, size), lengths, target, cover)


@final
class _Floor(Obstacle):
    """A plane.

    Attributes:
        normal: Its normal, of length 1.
        height: How far it is from the origin along the normal.
        beside: Where a rope goes that comes straight down on it.
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
        """Let a joint lie on the plane, in the direction that its bone has along it."""
        normal = self.normal
        if dot(place, normal) >= self.height:
            return place
        above = max(0.0, dot(before, normal) - self.height)
        flat = unit(across(sub(place, before), normal)) or self.beside
        foot = add(before, scaled(normal, -above))
        return add(foot, scaled(flat, sqrt(max(0.0, size * size - above * above))))


@final
class _Cover(Obstacle):
    """A solid that is only left upwards.

    Attributes:
        solid: The solid.
        up: The direction against gravity, of length 1.
        thickness: How far above the solid joints stay.
        reach: How far up they are looked for: the length of the rope.
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
        """Return how far below the surface a place is, 0 if it is not."""
        start = add(place, scaled(self.up, -self.thickness))
        hit = self.solid.hit(start, self.up, self.reach)
        if hit is None or dot(hit[1], self.up) <= 0.0:
            return 0.0
        return dot(sub(hit[0], start), self.up)

    def keep(self, before: Vec, size: float, place: Vec) -> Vec:
        """Lift a joint out of the solid, and bring it back to its bone's length."""
        for _ in range(LIFTS):
            lift = self.depth(place)
            if lift <= ROUNDING * self.reach:
                break
            place = add(place, scaled(self.up, lift))
            place = add(before, scaled(unit(sub(place, before)) or self.up, size))
        return place


def _beside(joints: Sequence[Vec], target: Vec, normal: Vec, side: Vec) -> Vec:
    """Return the direction in the ground in which a rope lies to one side, of length 1."""
    ahead = unit(across(sub(target, joints[0]), normal))
    if ahead is None:
        return unit(across(side, normal)) or any_perpendicular(normal)
    beside = cross(normal, ahead)
    return beside if dot(beside, side) >= 0.0 else scaled(beside, -1.0)


def _risen(
    joints: Sequence[Vec], depths: Sequence[float], up: Vec, beside: Vec, size: float
) -> list[Vec]:
    """Return joints that are lifted by their depths, and moved aside by a share of these.

    The share is the one with which they are as far apart as the rope is long, 0 if lifting alone
    makes it too long.
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
        share = min(max(0.0, share - step), MOST_ASIDE)
        if abs(step) < FITTED:
            break
    return [add(place, scaled(beside, share * d)) for place, d in zip(lifted, depths, strict=True)]


def _swept(
    joints: list[Vec], lengths: Sequence[float], target: Vec, obstacle: Obstacle
) -> list[Vec]:
    """Return joints at their exact lengths, from the root to the target, out of what they are in.

    FABRIK, in which each joint that is placed is brought out at once. The last pass is from the
    root on.
    """
    near = NEAR * fsum(lengths)
    root = joints[0]
    backward = [*reversed(lengths)]
    for _ in range(SWEEPS):
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
