"""Chains with joint limits, targets that they can reach, and the violation of limits.

Violations are measured independently of the solvers, by each system's own definition of limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import asin, atan2, cos, hypot, pi, sin
from random import Random

from fabrik_solver import Cone, Hinge
from fabrik_solver.core.vectors import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    quat_about,
    quat_exp,
    quat_matrix,
    quat_product,
    rotate,
    scaled,
    unit,
)

from .scenes import BLENDERS, OURS

THREE = "three.js"

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

KINDS = ("hinges", "cones", "mixed")


@dataclass(frozen=True)
class Case:
    """A chain of equal bones, 1 m in total, its limits, and a target within reach.

    Attributes:
        rests: The rest rotation of each bone, relative to its parent.
        limits: The limit of each bone; cones are symmetric about the rest pose.
        target: The target in armature space; the root is the origin.
    """

    rests: tuple[Quat, ...]
    limits: tuple[Hinge | Cone, ...]
    target: Vec

    @property
    def size(self) -> float:
        """The length of a bone."""
        return 1.0 / len(self.rests)


def draw(kind: str, bones: int, count: int, seed: int) -> list[Case]:
    """Return random cases, the same ones for the same seed."""
    random = Random(f"{seed} {kind} {bones}")
    return [_case(random, kind, bones) for _ in range(count)]


def _case(random: Random, kind: str, bones: int) -> Case:
    rests = tuple(_rest(random) for _ in range(bones))
    limits = tuple(_limit(random, kind) for _ in range(bones))
    pose = [_allowed(random, limit) for limit in limits]
    return Case(rests, limits, tip_of(rests, pose))


def _rest(random: Random) -> Quat:
    """Return a rest rotation: a random roll, and up to 0.4 rad off the parent's direction."""
    heading = random.uniform(0.0, 2.0 * pi)
    lean = quat_about((cos(heading), 0.0, sin(heading)), random.uniform(0.0, 0.4))
    return quat_product(quat_about(Y, random.uniform(-pi, pi)), lean)


def _limit(random: Random, kind: str) -> Hinge | Cone:
    if kind == "hinges" or (kind == "mixed" and random.random() < 0.5):
        back, forth = random.uniform(0.0, 0.8), random.uniform(0.5, 2.2)
        turn = (-back, forth) if random.random() < 0.5 else (-forth, back)
        return Hinge(random.choice((X, Z)), turn)
    x, z, twist = (random.uniform(*ends) for ends in ((0.2, 1.4), (0.2, 1.4), (0.1, 1.0)))
    return Cone((-x, x), (-z, z), (-twist, twist))


def _allowed(random: Random, limit: Hinge | Cone) -> Quat:
    """Return a rotation within the limit by the definitions of all systems."""
    if isinstance(limit, Hinge):
        return quat_about(limit.axis, random.uniform(*limit.turn))
    while True:
        heading, size = random.uniform(0.0, 2.0 * pi), random.random() ** 0.5
        swing = quat_exp(
            (size * cos(heading) * limit.swing_x[1], 0.0, size * sin(heading) * limit.swing_z[1])
        )
        rotation = quat_product(swing, quat_about(Y, random.uniform(*limit.twist)))
        if not any(measure(limit, rotation) for measure in CONES.values()):
            return rotation


def tip_of(rests: Sequence[Quat], pose: Sequence[Quat]) -> Vec:
    """Return the tip of a pose, given by rotations relative to rest."""
    axes: Quat = (1.0, 0.0, 0.0, 0.0)
    tip: Vec = (0.0, 0.0, 0.0)
    for rest, rotation in zip(rests, pose, strict=True):
        axes = quat_product(axes, quat_product(rest, rotation))
        tip = add(tip, scaled(rotate(axes, Y), 1.0 / len(rests)))
    return tip


# What is broken, in radians: a joint's limit, and its rotation relative to rest.


def _of_hinge(limit: Hinge, rotation: Quat) -> float:
    """Return the tilt of the axis or the excess of the angle about it, if larger, in radians."""
    tilt = length(_least_turn(limit.axis, rotate(rotation, limit.axis)))
    # Y is at right angles to X and Z.
    image = rotate(rotation, Y)
    angle = atan2(dot(limit.axis, cross(Y, image)), dot(Y, image))
    return max(tilt, _outside(angle, limit.turn))


def _of_cone(limit: Cone, rotation: Quat, half: bool) -> float:
    """Return by how many radians the swing exceeds its ellipse, or the twist its range.

    Args:
        limit: The limit.
        rotation: The rotation of the bone.
        half: Whether the ellipse is one of the sines of half the angles.
    """
    swing = _least_turn(Y, rotate(rotation, Y))
    angle = length(swing)
    a, b = limit.swing_x[1], limit.swing_z[1]
    x, z = (swing[0] / angle, swing[2] / angle) if angle > 0.0 else (1.0, 0.0)
    if half:
        edge = 2.0 * asin(1.0 / hypot(x / sin(0.5 * a), z / sin(0.5 * b)))
    else:
        edge = 1.0 / hypot(x / a, z / b)
    twist = quat_matrix(quat_product(quat_exp(scaled(swing, -1.0)), rotation))
    return max(angle - edge, _outside(atan2(twist[2], twist[0]), limit.twist), 0.0)


def _of_box(limit: Cone, rotation: Quat) -> float:
    """Return by how much an Euler angle exceeds its range; the order is twist, Z, X."""
    m = quat_matrix(rotation)
    x, y, z = atan2(m[7], m[4]), atan2(m[2], m[0]), asin(max(-1.0, min(1.0, -m[1])))
    ranges = (limit.swing_x, limit.twist, limit.swing_z)
    return max(_outside(angle, ends) for angle, ends in zip((x, y, z), ranges, strict=True))


CONES: dict[str, Callable[[Cone, Quat], float]] = {
    OURS: lambda limit, rotation: _of_cone(limit, rotation, half=False),
    BLENDERS: lambda limit, rotation: _of_cone(limit, rotation, half=True),
    THREE: _of_box,
}
"""The violation of a cone by a rotation, as each system defines it, in radians."""


def broken(system: str, limit: Hinge | Cone, rotation: Quat) -> float:
    """Return by how many radians a rotation exceeds a limit; all define hinges alike."""
    if isinstance(limit, Hinge):
        return _of_hinge(limit, rotation)
    return CONES[system](limit, rotation)


def _least_turn(start: Vec, end: Vec) -> Vec:
    """Return the rotation vector of the smallest rotation from one direction to another."""
    side = cross(start, end)
    axis = unit(side)
    return scaled(axis, atan2(length(side), dot(start, end))) if axis else (0.0, 0.0, 0.0)


def _outside(angle: float, ends: tuple[float, float]) -> float:
    """Return by how much an angle exceeds a range, modulo whole turns."""
    return min(
        max(ends[0] - angle - turn, angle + turn - ends[1], 0.0)
        for turn in (-2.0 * pi, 0.0, 2.0 * pi)
    )
