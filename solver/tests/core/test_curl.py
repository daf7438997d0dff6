"""A chain whose target comes nearer shares its bend; a flat one stays flat; none jumps."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import pytest
from poles import has_less_weight
from strategies import Point, answer, farthest

from fabrik_solver.core.arc import arc
from fabrik_solver.core.vectors import Vec, add, cross, dot, rotate, scaled, sub, unit_or

PLANES = {
    "XY": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "XZ": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "YZ": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "turned": ((2 / 3, -1 / 3, 2 / 3), (2 / 3, 2 / 3, -1 / 3)),
}
SINGLE = 3e-8
"""By how much single precision moves a coordinate of a chain 1 long."""


def headings(shape: str, bones: int, rng: random.Random) -> list[float]:
    """The direction of each bone in the plane of the chain."""
    turn = {
        "straight": lambda i: 0.0,
        "slight": lambda i: 0.02 * (i / max(1, bones - 1) - 0.5),
        "arc": lambda i: 0.9 * (i / max(1, bones - 1) - 0.5),
        "zigzag": lambda i: 0.44 * (-1) ** i,
        "irregular": lambda i: rng.uniform(-1.0, 1.0),
    }[shape]
    return [turn(i) for i in range(bones)]


def flat(turns: Sequence[float]) -> list[tuple[float, float]]:
    """The joints of a chain 1 long of equal bones."""
    size = 1.0 / len(turns)
    xs = accumulate((size * math.cos(turn) for turn in turns), initial=0.0)
    ys = accumulate((size * math.sin(turn) for turn in turns), initial=0.0)
    return list(zip(xs, ys, strict=True))


def angles(joints: Sequence[Point]) -> list[float]:
    ways = [tuple(b - a for a, b in zip(p, q, strict=True)) for p, q in pairwise(joints)]
    return [
        math.atan2(math.hypot(*cross(a, b)), dot(a, b))  # type: ignore[arg-type]
        for a, b in pairwise(ways)
    ]


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
@pytest.mark.parametrize("shape", ["straight", "slight", "arc"])
@pytest.mark.parametrize("bones", [4, 6, 14, 40])
def test_a_chain_that_is_pulled_nearer_bends_at_all_its_joints(
    bones: int, shape: str, solver: str, figure: Callable[[str, str], None]
) -> None:
    """By FABRIK alone one joint of a tentacle folded by 150°."""
    joints = [(x, y, 0.0) for x, y in flat(headings(shape, bones, random.Random(0)))]
    worst = 0.0
    for swing in (0.0, 1.0):
        for share in (0.99, 0.95, 0.85, 0.7, 0.4):
            target = tuple(share * number for number in joints[-1])
            solved = answer(joints, target, solver, swing=swing, bend=(0.0, 1.0, 0.0))
            assert solved.residual <= 2e-7
            even = arc([1.0 / bones] * bones, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), math.hypot(*target))
            worst = max(worst, max(angles(solved.joints)) / angles(even)[0])
    figure(f"{solver}, {shape}, {bones} bones: largest angle to an arc's", f"{worst:.2f}")
    assert worst <= 1.25


@pytest.mark.parametrize("shape", ["slight", "arc", "zigzag", "irregular"])
@pytest.mark.parametrize("bones", [3, 6, 14])
def test_a_chain_on_its_target_stays_and_one_beside_it_hardly_moves(bones: int, shape: str) -> None:
    joints = [(x, y, 0.0) for x, y in flat(headings(shape, bones, random.Random(bones)))]
    assert farthest(answer(joints, joints[-1]).joints, joints) <= 1e-9
    near = tuple((1.0 - 1e-5) * number for number in joints[-1])
    assert farthest(answer(joints, near).joints, joints) <= 2e-3


@pytest.mark.parametrize(
    ("solver", "iterations"), [("CCD", 20), ("CCD", 300), ("FABRIK", 20), ("TWO_BONE", 20)]
)
@pytest.mark.parametrize("goal", ["free", "swung", "pole"])
@pytest.mark.parametrize("plane", PLANES)
def test_a_flat_chain_stays_in_its_plane(
    plane: str, goal: str, solver: str, iterations: int
) -> None:
    """As Blender stores it, and wherever in the plane its target and its pole are.

    Where its bend is unclear or its pole nearly on its line, and the pole is behind, it may turn as
    a whole. The only other answer is a flip, within rounding of that plane (see `test_pole`).
    """
    u, v = PLANES[plane]
    rng = random.Random(4)

    def put(x: float, y: float) -> Vec:
        noise = (rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-1, 1))
        return add(add(scaled(u, x), scaled(v, y)), scaled(noise, SINGLE))

    for shape in ("straight", "arc", "zigzag", "irregular"):
        for bones in (2,) if solver == "TWO_BONE" else (3, 4, 6, 12):
            joints = [put(x, y) for x, y in flat(headings(shape, bones, rng))]
            for distance in (0.0, 0.05, 0.3, 0.6, 0.9, 0.99, 1.2):
                way = rng.choice((math.pi, rng.uniform(-math.pi, math.pi)))
                target = put(distance * math.cos(way), distance * math.sin(way))
                pole = put(rng.uniform(-1, 1), rng.uniform(-1, 1)) if goal == "pole" else None
                solution = answer(
                    joints,
                    target,
                    solver,
                    pole,
                    iterations=iterations,
                    swing=float(goal == "swung"),
                    bend=put(0.0, 1.0),
                )
                solved, normal = solution.joints, cross(u, v)
                if pole and (distance == 0.0 or has_less_weight(solved, target, pole)):
                    normal = rotate(solution.turn, normal)
                off = max(abs(dot(normal, joint)) for joint in solved)  # type: ignore[arg-type]
                assert off <= 2e-6, (shape, bones, distance, way)


@pytest.mark.parametrize("bones", [2, 3, 5, 8, 12])
def test_a_chain_that_is_flat_but_for_a_share_bends_in_its_plane(bones: int) -> None:
    """Joints posed 0.1 mm off the plane of a chain of 1 m hardly bend off their hinges."""
    worst = 0.0
    for seed in range(30):
        rng = random.Random(seed)
        joints = [
            (x, 1e-4 * rng.uniform(-1, 1) * (0 < i < bones), y)
            for i, (x, y) in enumerate(flat(headings("arc", bones, rng)))
        ]
        target, pole = ([rng.uniform(-r, r) for _ in range(3)] for r in (0.6, 2.0))
        solution = answer(joints, tuple(target), pole=tuple(pole), bend=(0.0, 0.0, 1.0))
        normal = rotate(solution.turn, (0.0, 1.0, 0.0))
        for a, b in pairwise(solution.joints):
            way = sub(b, a)  # type: ignore[arg-type]
            worst = max(worst, abs(math.asin(dot(way, normal) / math.hypot(*way))))
    assert math.degrees(worst) <= 0.2


@pytest.mark.parametrize(("solver", "most"), [("FABRIK", 4.0), ("CCD", 10.0)])
@pytest.mark.parametrize("bones", [4, 6, 12])
def test_joints_move_little_faster_than_the_target(
    solver: str, most: float, bones: int, figure: Callable[[str, str], None]
) -> None:
    """In all directions but that into the plane of the chain, where the tip passes its joints."""
    worst = 0.0
    for shape in ("slight", "arc"):
        joints = [(x, y, 0.0) for x, y in flat(headings(shape, bones, random.Random(0)))]
        axis = unit_or(joints[-1], (1.0, 0.0, 0.0))
        for share in (0.3, 0.667, 0.95):
            for step in (1e-5, 1e-3):
                for i in range(-17, 18):
                    poses = []
                    for angle in (i * 0.1745, i * 0.1745 + step / share):
                        c, s = share * math.cos(angle), share * math.sin(angle)
                        target = add(scaled(axis, c), (0.0, 0.0, s))
                        poses.append(answer(joints, target, solver).joints)
                    moved = math.hypot(*sub(poses[0][-1], poses[1][-1]))  # type: ignore[arg-type]
                    worst = max(worst, farthest(*poses) / moved)
    figure(f"{solver}, {bones} bones: joints to target", f"{worst:.1f} × as fast")
    assert worst <= most
