"""Colliders of springs: spheres, capsules, planes and meshes that tails stay out of, or inside.

A bone has a fixed length, so its tail is on a sphere about its head. Where it touches a collider,
its direction lies on the boundary of a spherical cap: a single step rotates it there.
"""

from collections.abc import Sequence
from math import inf, sqrt
from typing import Final, final

from ..core.vectors import (
    Vec,
    add,
    any_perpendicular,
    dot,
    length,
    mix,
    scaled,
    sub,
    unit,
    unit_or,
)
from .solid import Solid

SWEEPS: Final = 64
"""The maximum number of passes over colliders, which may conflict or have edges that meet."""

TOUCHING: Final = 1e-9
"""The penetration at which a tail touches a collider, as a fraction of the bone's length."""


class Collider:
    """A sphere, capsule or plane.

    Attributes:
        start: The center of a sphere, or of a capsule's first end; or a point of a plane.
        end: The center of a capsule's other end; for a sphere, the same as ``start``.
        normal: The unit normal of a plane, toward its free side.
        radius: The radius of a sphere or capsule.
        is_plane: Whether it is a plane.
        is_inside: Whether tails stay inside a sphere or capsule, not outside.
    """

    def __init__(
        self,
        start: Vec,
        end: Vec,
        radius: float,
        is_plane: bool = False,
        is_inside: bool = False,
    ) -> None:
        """Set the shape; for a plane, ``end`` is a point straight above its start."""
        self.start = start
        self.end = end
        self.normal = (unit(sub(end, start)) or (0.0, 0.0, 1.0)) if is_plane else end
        self.radius = radius
        self.is_plane = is_plane
        self.is_inside = is_inside

    def toward(self, other: "Collider", t: float) -> "Collider":
        """Return the collider at a fraction ``t`` of the way to another collider of its kind."""
        radius = (1.0 - t) * self.radius + t * other.radius
        start, end = mix(self.start, other.start, t), mix(self.end, other.end, t)
        return Collider(start, end, radius, self.is_plane, self.is_inside)

    def gap(self, tail: Vec, radius: float) -> tuple[float, Vec]:
        """Return the distance from a tail to the surface, and the direction that increases it.

        The distance is negative on the wrong side. For a tail on the axis, the direction is
        arbitrary.

        Args:
            tail: The center of the tail.
            radius: The radius of the tail.
        """
        if self.is_plane:
            return dot(sub(tail, self.start), self.normal) - radius, self.normal
        away = sub(tail, self._nearest(tail))
        distance = length(away)
        outward = unit(away) or (0.0, 0.0, 1.0)
        if self.is_inside:
            return self.radius - radius - distance, scaled(outward, -1.0)
        return distance - self.radius - radius, outward

    def _nearest(self, position: Vec) -> Vec:
        """Return the nearest point of the axis."""
        along = sub(self.end, self.start)
        square = dot(along, along)
        if square == 0.0:
            return self.start
        part = dot(sub(position, self.start), along) / square
        return add(self.start, scaled(along, min(1.0, max(0.0, part))))

    def turned(self, head: Vec, direction: Vec, size: float, radius: float) -> Vec:
        """Return the nearest direction of a bone in which its tail touches the collider.

        Args:
            head: The bone's head.
            direction: Its current direction, with its tail on the wrong side.
            size: Its length.
            radius: The radius of its tail.
        """
        if self.is_plane:
            axis = self.normal
            cosine = (radius - dot(sub(head, self.start), axis)) / size
        else:
            to_center = sub(self._nearest(add(head, scaled(direction, size))), head)
            distance = length(to_center)
            axis = unit(to_center) or direction
            reach = self.radius - radius if self.is_inside else self.radius + radius
            # Law of cosines, for the angle at the head between the tail and the center.
            square = size * size + distance * distance - max(reach, 0.0) ** 2
            cosine = square / (2.0 * size * distance) if distance > 0.0 else 1.0
            if not self.is_inside:
                axis, cosine = scaled(axis, -1.0), -cosine
        return _leaning(direction, axis, cosine)


@final
class Ground(Collider):
    """A solid collider. A tail inside it is pushed out upward only, as for ropes.

    The tail moves onto the face that an upward ray hits.

    Attributes:
        solid: The solid.
        up: The direction against gravity, a unit vector.
        reach: The length of upward rays: the strand's length.
    """

    def __init__(self, solid: Solid, up: Vec, reach: float) -> None:
        super().__init__(up, up, 0.0)
        self.solid = solid
        self.up = up
        self.reach = reach

    def toward(self, other: Collider, t: float) -> Collider:
        """Return the ground at a fraction ``t`` of the way to another ground."""
        if not isinstance(other, Ground):
            return other
        solid = self.solid.toward(other.solid, t)
        if solid is other.solid and self.up == other.up:
            return other
        return Ground(solid, unit_or(mix(self.up, other.up, t), other.up), other.reach)

    def gap(self, tail: Vec, radius: float) -> tuple[float, Vec]:
        """Return the negative distance to the face above a tail, and the face's normal.

        Above the surface, the distance is infinite.
        """
        start = add(tail, scaled(self.up, -radius))
        out = self.solid.way_out(start, self.up, self.reach)
        if out is None:
            return inf, self.up
        depth = dot(sub(out[0], start), out[1])
        return (0.0 if depth <= self.solid.rounding else -depth), out[1]

    def turned(self, head: Vec, direction: Vec, size: float, radius: float) -> Vec:
        """Return the direction of a bone turned onto the face above its tail."""
        lift = scaled(self.up, radius)
        start = sub(add(head, scaled(direction, size)), lift)
        out = self.solid.way_out(start, self.up, self.reach)
        if out is None:
            return direction
        surface, normal = out
        return _leaning(direction, normal, dot(sub(add(surface, lift), head), normal) / size)


def _leaning(direction: Vec, axis: Vec, cosine: float) -> Vec:
    """Return a direction turned toward an axis until the cosine of their angle is large enough."""
    cosine = min(1.0, max(-1.0, cosine))
    along = dot(direction, axis)
    if along >= cosine:
        return direction
    side = unit(sub(direction, scaled(axis, along))) or any_perpendicular(axis)
    return add(scaled(axis, cosine), scaled(side, sqrt(1.0 - cosine * cosine)))


def cleared(
    head: Vec, direction: Vec, size: float, radius: float, colliders: Sequence[Collider]
) -> Vec:
    """Return a bone's direction, turned so that its tail doesn't penetrate any collider.

    If colliders conflict so that no direction is free, they are visited in turn a limited number of
    times. `penetration` returns what remains.

    Args:
        head: The bone's head.
        direction: Its direction, a unit vector.
        size: Its length.
        radius: The radius of its tail.
        colliders: The colliders.
    """
    for _ in range(SWEEPS):
        is_clear = True
        for collider in colliders:
            tail = add(head, scaled(direction, size))
            if collider.gap(tail, radius)[0] < -TOUCHING * size:
                direction = collider.turned(head, direction, size, radius)
                is_clear = False
        if is_clear:
            break
    return direction


def penetration(tail: Vec, radius: float, colliders: Sequence[Collider]) -> float:
    """Return the greatest depth of a tail in the colliders; 0 if it is free."""
    deepest = 0.0
    for collider in colliders:
        deepest = max(deepest, -collider.gap(tail, radius)[0])
    return deepest


def pushed(head: Vec, tail: Vec, size: float, radius: float, colliders: Sequence[Collider]) -> Vec:
    """Return a tail, pushed out of each collider in turn as in VRMC_springBone 1.0.

    The bone's length is restored after each push, so the tail may remain in a collider.

    Args:
        head: The bone's head.
        tail: Its tail.
        size: Its length.
        radius: The radius of its tail.
        colliders: The colliders.
    """
    for collider in colliders:
        gap, outward = collider.gap(tail, radius)
        if gap < 0.0:
            moved = sub(add(tail, scaled(outward, -gap)), head)
            tail = add(head, scaled(unit(moved) or outward, size))
    return tail
