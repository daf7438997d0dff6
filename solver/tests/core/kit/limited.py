"""Chains whose joints have random limits, and by how much a rotation breaks one."""

import math
import random
from collections.abc import Sequence

from strategies import random_direction, tip_of

from fabrik_solver import WHOLE, Bone, ChainInput, Cone, Hinge, Limit, Local, chain_frames, point_in
from fabrik_solver.core import vectors

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

NEAR = 1e-3
"""Of the length: as near the tip should come to a target that the limits let it reach."""

BROKEN = 1e-4
"""In radians: by so much no limit may be broken."""

KINDS = ("hinge", "cone", "mixed")


def undone(q: vectors.Quat) -> vectors.Quat:
    return (q[0], -q[1], -q[2], -q[3])


def turn_from(start: vectors.Vec, end: vectors.Vec) -> vectors.Vec:
    """The rotation vector of the least turn from one direction to another."""
    side = vectors.cross(start, end)
    angle = math.atan2(vectors.length(side), vectors.dot(start, end))
    axis = vectors.unit(side)
    return vectors.scaled(axis, angle) if axis else (0.0, 0.0, 0.0)


def outside(angle: float, angles: tuple[float, float]) -> float:
    """How far an angle is out of a range, the short way round."""
    return min(
        max(angles[0] - angle - turn, angle + turn - angles[1], 0.0)
        for turn in (-2.0 * math.pi, 0.0, 2.0 * math.pi)
    )


def broken(limit: Limit, rotation: vectors.Quat) -> float:
    """By how many radians a rotation is out of a limit."""
    if isinstance(limit, Hinge):
        tilt = vectors.length(
            turn_from(limit.axis, vectors.mat_apply(vectors.quat_matrix(rotation), limit.axis))
        )
        side = vectors.unit(vectors.cross(limit.axis, X if abs(limit.axis[0]) < 0.7 else Y))
        assert side is not None
        image = vectors.mat_apply(vectors.quat_matrix(rotation), side)
        angle = math.atan2(
            vectors.dot(limit.axis, vectors.cross(side, image)), vectors.dot(side, image)
        )
        return max(tilt, outside(angle, limit.turn))
    assert isinstance(limit, Cone)
    inner = vectors.quat_product(undone(limit.center), rotation)
    swing = turn_from(Y, vectors.mat_apply(vectors.quat_matrix(inner), Y))
    x, _, z = swing
    a = limit.swing_x[x > 0.0] or 1e-12
    b = limit.swing_z[z > 0.0] or 1e-12
    # How much farther from the center than the ellipse's edge in that direction.
    over = vectors.length(swing) * max(0.0, 1.0 - 1.0 / max(1.0, math.hypot(x / a, z / b)))
    twist = vectors.quat_matrix(vectors.quat_product(undone(vectors.quat_exp(swing)), inner))
    return max(over, outside(math.atan2(twist[2], twist[0]), limit.twist))


def random_hinge(rng: random.Random) -> Hinge:
    low = rng.uniform(-2.4, 0.5)
    axis = rng.choice([X, Z, random_direction(rng)])
    return Hinge(axis, (low, low + rng.uniform(0.5, 2.4)))


def random_cone(rng: random.Random) -> Cone:
    tilt = vectors.quat_about(
        vectors.unit((rng.gauss(0.0, 1.0), 0.0, rng.gauss(0.0, 1.0))) or X, rng.uniform(0, 0.6)
    )
    a, b, t = rng.uniform(0.2, 1.4), rng.uniform(0.2, 1.4), rng.uniform(0.1, 1.0)
    return Cone((-a, rng.uniform(0.2, 1.4)), (-b, b), (-t, 0.5 * t), tilt)


def random_limit(rng: random.Random, kind: str) -> Limit:
    is_hinge = kind == "hinge" or (kind == "mixed" and rng.random() < 0.5)
    return random_hinge(rng) if is_hinge else random_cone(rng)


def random_inside(rng: random.Random, limit: Limit) -> vectors.Quat:
    return limit.inside((rng.random(), rng.random(), rng.random()))


def straight_rig(rng: random.Random, bones: int) -> tuple[list[Bone], list[Local]]:
    """Bones of equal length, rolled, each a little off the direction of the one before."""
    size = 1.0 / bones
    found: list[Bone] = []
    for i in range(bones):
        roll = vectors.quat_about(Y, rng.uniform(-3.0, 3.0))
        lean = vectors.quat_about(
            vectors.unit((rng.gauss(0.0, 1.0), 0.0, rng.gauss(0.0, 1.0))) or X, rng.uniform(0, 0.4)
        )
        rest = vectors.quat_matrix(vectors.quat_product(roll, lean))
        found.append(Bone(rest, (0.0, size if i else 0.0, 0.0), size))
    return found, [Local() for _ in found]


def limited(
    rng: random.Random, bones: int, kind: str
) -> tuple[ChainInput, list[Limit], vectors.Vec]:
    """A chain with limits, and a target that it reaches under them."""
    rig = straight_rig(rng, bones)
    limits = [random_limit(rng, kind) for _ in range(bones)]
    chain = ChainInput(*rig, tip_of(rig), WHOLE, None, limits)
    return chain, limits, tip_at(chain, [random_inside(rng, limit) for limit in limits])


def carried(bone: Bone, parent: vectors.Mat3) -> vectors.Quat:
    """The local rotation of a bone whose joint is unrotated, as Blender's IK sees joints."""
    if bone.inherit_rotation:
        return (1.0, 0.0, 0.0, 0.0)
    _, y, z = vectors.mat_columns(parent)
    along, up = vectors.unit(y) or Y, vectors.unit(vectors.across(z, vectors.unit(y) or Y)) or Z
    turn = vectors.quat_of(vectors.mat_from_columns(vectors.cross(along, up), along, up))
    above, rest = vectors.quat_of(bone.parent_rest), vectors.quat_of(bone.rest)
    return vectors.quat_product(
        undone(vectors.quat_product(above, rest)), vectors.quat_product(turn, rest)
    )


def joint_turns(
    chain: ChainInput, rotations: Sequence[vectors.Quat], hand: Bone | None = None
) -> list[vectors.Quat]:
    """The rotations of a chain's joints: each is that of a bone relative to its posed parent."""
    bones = [link.bone for link in chain.links]
    frames = chain_frames(chain, rotations[: len(bones)])
    axes = [chain.parent[0], *[frame[0] for frame in frames]]
    if hand is not None:
        bones.append(hand)
    return [
        vectors.quat_product(undone(carried(bone, parent)), rotation)
        for bone, parent, rotation in zip(bones, axes, rotations, strict=False)
    ]


def jointed(chain: ChainInput, turns: Sequence[vectors.Quat]) -> list[vectors.Quat]:
    """The local rotations that give a chain's joints some rotations."""
    rotations = list(turns)
    for i in range(len(turns)):
        parent = chain_frames(chain, rotations)[i - 1][0] if i else chain.parent[0]
        rotations[i] = vectors.quat_product(carried(chain.links[i].bone, parent), turns[i])
    return rotations


def tip_at(chain: ChainInput, rotations: list[vectors.Quat]) -> vectors.Vec:
    return point_in(chain_frames(chain, rotations)[-1], chain.links[-1].arm)
