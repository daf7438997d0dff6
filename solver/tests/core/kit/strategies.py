"""Chains, goals and rigs to test with, and what is measured on them."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from hypothesis import strategies as st

import fabrik_solver
from fabrik_solver.core import vectors

Point = tuple[float, ...]
Path = Callable[[float], Sequence[Point]]
"""Joints that depend on a time from 0 to 1."""

TOLERANCE = 1e-4
SCALE_MODES = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


# What is measured


def lengths_of(joints: Sequence[Point]) -> list[float]:
    return [math.dist(a, b) for a, b in pairwise(joints)]


def farthest(a: Sequence[Point], b: Sequence[Point]) -> float:
    """The largest distance between joints of the same number."""
    return max(math.dist(p, q) for p, q in zip(a, b, strict=True))


def moved(point: Point, direction: Point, distance: float) -> Point:
    return tuple(a + b * distance for a, b in zip(point, direction, strict=True))


def largest_step(path: Path, samples: int) -> float:
    """The largest distance that a joint moves from one sample of the path to the next."""
    return max(farthest(a, b) for a, b in pairwise(path(i / samples) for i in range(samples + 1)))


def assert_no_jump(path: Path, samples: int = 80, allowed: float = 3.0 * TOLERANCE) -> None:
    """A jump stays as large however finely the path is sampled; anything else becomes smaller.

    Eight times the samples make a smooth path's steps 8 times smaller. Those of a square root, like
    a straightening limb, become nearly 3 times smaller. A solver that stops within a tolerance may
    step by about as much. Where the chain is nearly straight, it may step by up to the tolerance's
    square root.
    """
    coarse, fine = largest_step(path, samples), largest_step(path, 8 * samples)
    assert fine <= 0.6 * coarse + allowed, f"steps of {coarse} only became {fine}"


# Chains


def straight(lengths: Sequence[float], direction: Point = (1.0, 0.0, 0.0)) -> tuple[Point, ...]:
    origin = (0.0,) * len(direction)
    return tuple(moved(origin, direction, at) for at in accumulate(lengths, initial=0.0))


def arched(lengths: Sequence[float], angle: float = 1.0) -> tuple[Point, ...]:
    """A chain along +X that turns by ``angle`` on the whole, with its bend toward +Y."""
    joints: list[Point] = [(0.0, 0.0, 0.0)]
    turn = angle / max(1, len(lengths) - 1)
    for i, size in enumerate(lengths):
        heading = 0.5 * angle - i * turn
        joints.append(moved(joints[-1], (math.cos(heading), math.sin(heading), 0.0), size))
    return tuple(joints)


def random_direction(rng: random.Random, dimension: int = 3) -> Point:
    numbers = [rng.gauss(0.0, 1.0) for _ in range(dimension)]
    size = math.hypot(*numbers)
    return tuple(number / size for number in numbers)


def random_chain(rng: random.Random, bones: int, dimension: int = 3) -> tuple[Point, ...]:
    """Bones of 0.5 to 1.5 in any directions, from a root that is not the origin."""
    joints = [tuple(rng.uniform(-1.0, 1.0) for _ in range(dimension))]
    for _ in range(bones):
        joints.append(moved(joints[-1], random_direction(rng, dimension), rng.uniform(0.5, 1.5)))
    return tuple(joints)


def shell_of(joints: Sequence[Point]) -> tuple[float, float]:
    """The radii between which the tip can be, written down once more."""
    lengths = lengths_of(joints)
    return max(0.0, 2.0 * max(lengths) - sum(lengths)), sum(lengths)


def random_target(
    rng: random.Random, joints: Sequence[Point], low: float = 0.02, high: float = 0.95
) -> Point:
    """A point between two shares of the way from the inner to the outer radius."""
    inner, outer = shell_of(joints)
    nearest = max(inner + low * (outer - inner), low * outer)
    distance = rng.uniform(nearest, max(nearest, high * outer))
    return moved(joints[0], random_direction(rng, len(joints[0])), distance)


def answer(
    joints: Sequence[Point],
    target: Point,
    solver: str = "FABRIK",
    pole: Point | None = None,
    pole_angle: float = 0.0,
    bend: Point | None = None,
    iterations: int = 20,
    tolerance: float = TOLERANCE,
    swing: float = 0.0,
) -> fabrik_solver.Solution:
    goal = fabrik_solver.Goal(target, pole, pole_angle, swing=swing)
    return fabrik_solver.solve(
        fabrik_solver.Chain(tuple(joints), bend), goal, solver, iterations, tolerance
    )


numbers = st.floats(-10.0, 10.0, allow_subnormal=False)


def points(dimension: int = 3) -> st.SearchStrategy[Point]:
    return st.tuples(*[numbers] * dimension)


def chains(
    dimension: int = 3, min_bones: int = 1, max_bones: int = 8
) -> st.SearchStrategy[tuple[Point, ...]]:
    """Any joints, coinciding and collinear ones among them."""
    return st.lists(points(dimension), min_size=min_bones + 1, max_size=max_bones + 1).map(tuple)


# The degenerate input of all kinds

Case = tuple[fabrik_solver.Chain, fabrik_solver.Goal, str]


def _random_joints(rng: random.Random, bones: int, dimension: int) -> list[Point]:
    kind = rng.choice(
        ("any", "straight", "nearly straight", "folded", "coincident", "zero", "uneven", "flat")
    )
    joints = list(random_chain(rng, bones, dimension))
    if kind in ("straight", "nearly straight", "folded"):
        direction = rng.choice((random_direction(rng, dimension), (1.0, 0.0, 0.0)[:dimension]))
        sizes = [rng.choice((1.0, 1.0, rng.uniform(0.1, 2.0))) for _ in range(bones)]
        if kind == "folded":
            sizes = [rng.choice((-1, 1)) * size for size in sizes]
        joints = [moved(joints[0], direction, at) for at in accumulate(sizes, initial=0.0)]
    if kind == "nearly straight":
        off = 10.0 ** rng.uniform(-12.0, -1.0)
        joints = [moved(joint, random_direction(rng, dimension), off) for joint in joints]
    elif kind == "coincident":
        for _ in range(rng.randint(1, bones)):
            joints[rng.randrange(len(joints))] = rng.choice(joints)
    elif kind == "zero":
        joints = [joints[0]] * len(joints)
    elif kind == "uneven":
        for i in range(1, len(joints)):
            size = 10.0 ** rng.uniform(-6.0, 0.0)
            joints[i] = moved(joints[i - 1], random_direction(rng, dimension), size)
    elif kind == "flat":
        joints = [(joint[0], joint[1], 0.0)[:dimension] for joint in joints]
    return joints


def _random_point(rng: random.Random, joints: Sequence[Point]) -> Point:
    """A point that is special for the chain, or any."""
    root, tip = joints[0], joints[-1]
    inner, outer = shell_of(joints)
    along = tuple(b - a for a, b in zip(root, tip, strict=True))
    direction = random_direction(rng, len(root))
    return rng.choice(
        (
            root,
            tip,
            rng.choice(joints),
            moved(root, along, rng.uniform(-1.5, 1.5)),
            moved(root, along, -1.0),
            moved(tip, direction, 10.0 ** rng.uniform(-15.0, 0.0)),
            moved(root, direction, 10.0 ** rng.uniform(-15.0, 0.0)),
            moved(root, direction, outer),
            moved(root, direction, inner),
            moved(root, direction, outer * (1.0 + 10.0 ** rng.uniform(-16.0, 0.0))),
            moved(root, direction, outer * rng.uniform(0.0, 1.2)),
            moved(root, direction, outer * rng.uniform(0.0, 1.0)),
            moved(root, direction, 1e6),
        )
    )


def random_case(rng: random.Random) -> Case:
    """A chain, a goal and a solver, of all degenerate kinds, in all sizes and both dimensions."""
    dimension = 2 if rng.random() < 0.2 else 3
    solver = rng.choice(("FABRIK", "FABRIK", "TEXTBOOK", "CCD", "TWO_BONE"))
    bones = 2 if solver == "TWO_BONE" else rng.choice((1, 2, 2, 3, 3, 3, 4, 5, 8))
    joints = _random_joints(rng, bones, dimension)
    target = _random_point(rng, joints)
    pole = _random_point(rng, joints) if rng.random() < 0.5 else None
    angle = rng.uniform(-7.0, 7.0) if dimension == 3 and rng.random() < 0.3 else 0.0
    bend = rng.choice(
        (None, (0.0,) * dimension, random_direction(rng, dimension), joints[-1], (0.0, 1e-9, 0.0))
    )
    power = rng.choice((0.0, 0.0, rng.uniform(-9.0, 9.0), rng.uniform(-30.0, 30.0)))

    def sized(point: Point) -> Point:
        return tuple(number * 10.0**power for number in point)

    joints = [sized(joint) for joint in joints]
    goal = fabrik_solver.Goal(sized(target), sized(pole) if pole else None, angle)
    chain = fabrik_solver.Chain(tuple(joints), bend[:dimension] if bend else None)
    if rng.random() < 0.2:
        shares = [rng.choice((0.0, 1.0, rng.uniform(0.5, 2.0))) for _ in range(bones)]
        sizes = zip(shares, lengths_of(joints), strict=True)
        chain = fabrik_solver.Chain(
            chain.joints, chain.bend, tuple(share * size for share, size in sizes)
        )
    return chain, goal, solver


# Rigs

PARENT: fabrik_solver.Frame = ((1.2, 0.1, 0.0, 0.0, 0.8, 0.2, 0.1, 0.0, 1.0), (1.0, 2.0, 3.0))
"""Stretched and sheared."""

Rig = tuple[list[fabrik_solver.Bone], list[fabrik_solver.Local]]


def random_turn(rng: random.Random, most: float) -> vectors.Quat:
    axis = random_direction(rng)
    return vectors.quat_about((axis[0], axis[1], axis[2]), rng.uniform(-most, most))


def random_rig(
    rng: random.Random,
    bones: int,
    mode: str = "FULL",
    inherit_rotation: bool = True,
    local_location: bool = True,
    scale: float = 1.0,
) -> Rig:
    """Bones of which every other has its head off its parent's tail, scaled up to ``scale``."""
    chain: list[fabrik_solver.Bone] = []
    parent_rest, tail = vectors.IDENTITY, 0.0
    for _ in range(bones):
        rest = vectors.quat_matrix(random_turn(rng, 0.5))
        offset = rng.choice((0.0, 0.3))
        head = (rng.uniform(-offset, offset), tail, rng.uniform(-offset, offset))
        tail = rng.uniform(0.5, 1.5)
        chain.append(
            fabrik_solver.Bone(
                rest, head, tail, parent_rest, mode, inherit_rotation, local_location
            )
        )
        parent_rest = vectors.mat_product(parent_rest, rest)
    channels = [
        fabrik_solver.Local(
            tuple(rng.uniform(-0.1, 0.1) for _ in range(3)),
            random_turn(rng, 1.0),
            tuple(scale ** rng.uniform(-1.0, 1.0) for _ in range(3)),
        )
        for _ in range(bones)
    ]
    return chain, channels


def tip_of(rig: Rig) -> tuple[float, float, float]:
    """The last bone's tail in its own space."""
    return (0.0, rig[0][-1].length, 0.0)


def joints_of(rig: Rig, parent: fabrik_solver.Frame = fabrik_solver.WHOLE) -> list[Point]:
    """The heads and the tip as Blender places them."""
    heads: list[Point] = []
    for bone, local in zip(*rig, strict=True):
        parent = fabrik_solver.bone_frame(bone, local, parent)
        heads.append(parent[1])
    return [*heads, fabrik_solver.point_in(parent, tip_of(rig))]


def turned(rng: random.Random, rig: Rig, most: float) -> Rig:
    """The rig in another pose."""
    bones, channels = rig
    return bones, [
        fabrik_solver.Local(
            c.location, vectors.quat_product(random_turn(rng, most), c.rotation), c.scale
        )
        for c in channels
    ]
