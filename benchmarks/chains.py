"""Chains and targets that the sections share, without Blender.

The root of a chain is the origin, and it extends along Z, in metres.
"""

from __future__ import annotations

from math import cos, dist, hypot, sin
from random import Random

Point = tuple[float, float, float]

TURN = 0.5
"""The angle between the first and the last bone of a chain at rest, in radians."""


def arc(count: int, total: float, turn: float = TURN) -> tuple[Point, ...]:
    """Return the joints of a slightly bent chain of equal bones, ``total`` long."""
    size = total / count
    joints = [(0.0, 0.0, 0.0)]
    for i in range(count):
        angle = turn * ((i + 0.5) / count - 0.5)
        _, y, z = joints[-1]
        joints.append((0.0, y + size * sin(angle), z + size * cos(angle)))
    return tuple(joints)


def direction(random: Random) -> Point:
    """Return a random unit vector, uniformly distributed."""
    x, y, z = (random.gauss(0.0, 1.0) for _ in range(3))
    size = hypot(x, y, z)
    return (x / size, y / size, z / size)


def near_tip(tip: Point, away: float, reach: float, count: int, seed: int) -> list[Point]:
    """Return random targets at one distance from the tip and less than ``reach`` from the root."""
    random = Random(seed)
    found: list[Point] = []
    while len(found) < count:
        x, y, z = direction(random)
        target = (tip[0] + away * x, tip[1] + away * y, tip[2] + away * z)
        if dist((0.0, 0.0, 0.0), target) < reach:
            found.append(target)
    return found


def on_sphere(radius: float, count: int, seed: int) -> list[Point]:
    """Return random targets at one distance from the root."""
    random = Random(seed)
    units = [direction(random) for _ in range(count)]
    return [(radius * x, radius * y, radius * z) for x, y, z in units]


def in_cube(half: float, count: int, seed: int) -> list[Point]:
    """Return random targets, uniform between −half and half on each axis."""
    random = Random(seed)

    def place() -> float:
        return random.uniform(-half, half)

    return [(place(), place(), place()) for _ in range(count)]
