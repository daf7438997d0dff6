"""Chains whose joints have random limits, and by how much a rotation breaks one."""

import math
import random
from collections.abc import Sequence

from strategies import random_direction, tip_of

from fabrik_solver import WHOLE, Bone, ChainInput, Cone, Hinge, Limit, Local, chain_frames, point_in
from fabrik_solver.core.vectors import (
    Mat3,
    Quat,
    Vec,
    across,
    cross,
    dot,
    length,
    mat_apply,
    mat_columns,
    mat_from_columns,
    quat_about,
    quat_exp,
    quat_matrix,
    quat_of,
    quat_product,
    scaled,
    unit,
)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

NEAR = 1e-3
"""Of the length: as near the tip should come to a target that the limits let it reach."""

BROKEN = 1e-4
"""In radians: by so much no limit may be broken."""

KINDS = ("hinge", "cone", "mixed")


def undone(q: Quat) -> Quat:
    return (q[0], -q[1], -q[2], -q[3])


def turn_from(start: Vec, end: Vec) -> Vec:
    """The rotation vector of the least turn from one direction to another."""
    side = cross(start, end)
    angle = math.atan2(length(side), dot(start, end))
    axis = unit(side)
    return scaled(axis, angle) if axis else (0.0, 0.0, 0.0)


def outside(angle: float, angles: tuple[float, float]) -> float:
    """How far an angle is out of a range, the short way round."""
    return min(
        max(angles[0] - angle - turn, angle + turn - angles[1], 0.0)
        for turn in (-2.0 * math.pi, 0.0, 2.0 * math.pi)
    )


def broken(limit: Limit, rotation: Quat) -> float:
    """By how many radians a rotation is out of a limit."""
    if isinstance(limit, Hinge):
        tilt = length(turn_from(limit.axis, mat_apply(quat_matrix(rotation), limit.axis)))
        side = unit(cross(limit.axis, X if abs(limit.axis[0]) < 0.7 else Y))
        assert side is not None
        image = mat_apply(quat_matrix(rotation), side)
        angle = math.atan2(dot(limit.axis, cross(side, image)), dot(side, image))
        return max(tilt, outside(angle, limit.turn))
    assert isinstance(limit, Cone)
    inner = quat_product(undone(limit.centre), rotation)
    swing = turn_from(Y, mat_apply(quat_matrix(inner), Y))
    x, _, z = swing
    a = limit.swing_x[x > 0.0] or 1e-12
    b = limit.swing_z[z > 0.0] or 1e-12
    # How much farther from the centre than the ellipse's edge in that direction.
    over = length(swing) * max(0.0, 1.0 - 1.0 / max(1.0, math.hypot(x / a, z / b)))
    twist = quat_matrix(quat_product(undone(quat_exp(swing)), inner))
    return max(over, outside(math.atan2(twist[2], twist[0]), limit.twist))


def random_hinge(rng: random.Random) -> Hinge:
    low = rng.uniform(-2.4, 0.5)
    axis = rng.choice([X, Z, random_direction(rng)])
    return Hinge(axis, (low, low + rng.uniform(0.5, 2.4)))


def random_cone(rng: random.Random) -> Cone:
    tilt = quat_about(
        unit((rng.gauss(0.0, 1.0), 0.0, rng.gauss(0.0, 1.0))) or X, rng.uniform(0, 0.6)
    )
    a, b, t = rng.uniform(0.2, 1.4), rng.uniform(0.2, 1.4), rng.uniform(0.1, 1.0)
    return Cone((-a, rng.uniform(0.2, 1.4)), (-b, b), (-t, 0.5 * t), tilt)


def random_limit(rng: random.Random, kind: str) -> Limit:
    is_hinge = kind == "hinge" or (kind == "mixed" and rng.random() < 0.5)
    return random_hinge(rng) if is_hinge else random_cone(rng)


def random_inside(rng: random.Random, limit: Limit) -> Quat:
    return limit.inside((rng.random(), rng.random(), rng.random()))


def straight_rig(rng: random.Random, bones: int) -> tuple[list[Bone], list[Local]]:
    """Bones of equal length, rolled, each a little off the direction of the one before."""
    size = 1.0 / bones
    found: list[Bone] = []
    for i in range(bones):
        roll = quat_about(Y, rng.uniform(-3.0, 3.0))
        lean = quat_about(
            unit((rng.gauss(0.0, 1.0), 0.0, rng.gauss(0.0, 1.0))) or X, rng.uniform(0, 0.4)
        )
        rest = quat_matrix(quat_product(roll, lean))
        found.append(Bone(rest, (0.0, size if i else 0.0, 0.0), size))
    return found, [Local() for _ in found]


def limited(rng: random.Random, bones: int, kind: str) -> tuple[ChainInput, list[Limit], Vec]:
    """A chain with limits, and a target that it reaches under them."""
    rig = straight_rig(rng, bones)
    limits = [random_limit(rng, kind) for _ in range(bones)]
    chain = ChainInput(*rig, tip_of(rig), WHOLE, None, limits)
    return chain, limits, tip_at(chain, [random_inside(rng, limit) for limit in limits])


def carried(bone: Bone, parent: Mat3) -> Quat:
    """The local rotation of a bone whose joint is unrotated, as Blender's IK sees joints."""
    if bone.inherit_rotation:
        return (1.0, 0.0, 0.0, 0.0)
    _, y, z = mat_columns(parent)
    along, up = unit(y) or Y, unit(across(z, unit(y) or Y)) or Z
    turn = quat_of(mat_from_columns(cross(along, up), along, up))
    above, rest = quat_of(bone.parent_rest), quat_of(bone.rest)
    return quat_product(undone(quat_product(above, rest)), quat_product(turn, rest))


def joint_turns(
    chain: ChainInput, rotations: Sequence[Quat], hand: Bone | None = None
) -> list[Quat]:
    """The rotations of a chain's joints: each is that of a bone relative to its posed parent."""
    bones = [link.bone for link in chain.links]
    frames = chain_frames(chain, rotations[: len(bones)])
    axes = [chain.parent[0], *[frame[0] for frame in frames]]
    if hand is not None:
        bones.append(hand)
    return [
        quat_product(undone(carried(bone, parent)), rotation)
        for bone, parent, rotation in zip(bones, axes, rotations, strict=False)
    ]


def jointed(chain: ChainInput, turns: Sequence[Quat]) -> list[Quat]:
    """The local rotations that give a chain's joints some rotations."""
    rotations = list(turns)
    for i in range(len(turns)):
        parent = chain_frames(chain, rotations)[i - 1][0] if i else chain.parent[0]
        rotations[i] = quat_product(carried(chain.links[i].bone, parent), turns[i])
    return rotations


def tip_at(chain: ChainInput, rotations: list[Quat]) -> Vec:
    return point_in(chain_frames(chain, rotations)[-1], chain.links[-1].arm)
