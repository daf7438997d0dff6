"""Ropes that hang between two points, and what they rest on."""

from itertools import pairwise
from math import asin, atanh, cosh, dist, fsum, hypot, pi, sin, sinh, sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, Chain, ChainInput, Goal, Local, solve
from fabrik_solver.core.vectors import IDENTITY, Vec, add, dot, scaled, sub, unit
from fabrik_solver.motion.rope import hang, pose_rope

DOWN = (0.0, 0.0, -1.0)
SIDE = (0.0, 1.0, 0.0)
number = st.floats(-1.0, 1.0)
point = st.tuples(number, number, number)
lengths_of_bones = st.lists(st.one_of(st.floats(0.1, 1.0), st.just(0.0)), min_size=2, max_size=30)


def reach(lengths: list[float]) -> tuple[float, float]:
    size = fsum(lengths)
    return max(0.0, 2.0 * max(lengths) - size), size


def wrong_by(joints: list[Vec], lengths: list[float]) -> float:
    return max(
        abs(dist(a, b) - part) for (a, b), part in zip(pairwise(joints), lengths, strict=True)
    )


def energy(joints: list[Vec], lengths: list[float], down: Vec = DOWN) -> float:
    """The potential energy of bones that are as heavy as they are long."""
    middles = [scaled(add(a, b), 0.5) for a, b in pairwise(joints)]
    return -fsum(part * dot(at, down) for part, at in zip(lengths, middles, strict=True))


@given(lengths_of_bones.filter(lambda parts: fsum(parts) > 0.0), point, point)
@example([1.0, 1.0, 1.0], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
@example([0.3] * 10, (0.0, 0.0, 0.0), (0.0, 0.0, 0.4))
@example([0.3] * 10, (0.0, 0.0, 0.0), (0.0, 0.0, -2.999999))
@example([0.3] * 10, (0.0, 0.0, 0.0), (1e-9, 0.0, 0.5))
@example([0.3, 0.0, 0.0, 0.3, 0.3], (0.0, 0.0, 0.0), (0.5, 0.0, 0.0))
def test_a_rope_keeps_its_lengths_and_ends_on_its_target(
    lengths: list[float], root: Vec, target: Vec
) -> None:
    joints = hang(root, target, lengths, DOWN, SIDE)
    inner, size = reach(lengths)
    away = dist(root, target)
    assert joints[0] == root
    assert wrong_by(joints, lengths) < 1e-12 * max(1.0, size)
    missed = max(0.0, away - size, inner - away)
    assert dist(joints[-1], target) == pytest.approx(missed, abs=1e-6 * size)


@given(lengths_of_bones, point, point, st.floats(0.0, 2.0 * pi), st.floats(-0.05, 0.05))
def test_a_rope_hangs_where_its_energy_is_least(
    lengths: list[float], root: Vec, way: Vec, angle: float, turn: float
) -> None:
    # Not where it is folded: there rigid bones are in each other's way (see `hang`).
    lengths = [max(part, 0.1) for part in lengths]
    size = fsum(lengths)
    target = add(root, scaled(way, 0.55 * size))
    if hypot(way[0], way[1]) * 0.55 * size < 3.0 * max(lengths):
        return
    joints = hang(root, target, lengths, DOWN, SIDE)
    other = moved(joints, lengths, target, angle, turn)
    if other is not None:
        assert energy(other, lengths) >= energy(joints, lengths) - 1e-9 * size


def moved(
    joints: list[Vec], lengths: list[float], target: Vec, angle: float, turn: float
) -> list[Vec] | None:
    """The joints with each bone turned a little, and its end brought back onto the target."""
    places = [joints[0]]
    for i, (a, b) in enumerate(pairwise(joints)):
        way = sub(b, a)
        aside = (sin(angle + 2.4 * i), sin(2.0 * angle + 1.7 * i), sin(3.0 * angle + i))
        toward = unit(add(way, scaled(aside, turn * lengths[i])))
        assert toward is not None
        places.append(add(places[-1], scaled(toward, lengths[i])))
    solution = solve(Chain(tuple(places)), Goal(target), "FABRIK", 60, 1e-12)
    return list(solution.joints) if solution.residual < 1e-12 else None


def test_a_rope_of_many_bones_hangs_as_the_catenary() -> None:
    count, x, y = 2000, 0.6, 0.2
    joints = hang((0.0, 0.0, 0.0), (x, 0.0, y), [1.0 / count] * count, DOWN, SIDE)
    # y = a cosh((x - b) / a) + c, of length 1, by bisection of sinh(u) / u.
    low, high = 1e-6, 20.0
    for _ in range(200):
        u = 0.5 * (low + high)
        low, high = (u, high) if sinh(u) / u < sqrt(1.0 - y * y) / x else (low, u)
    a = 0.5 * x / u
    b = 0.5 * x - a * atanh(y)
    for px, _, pz in joints:
        assert pz == pytest.approx(a * (cosh((px - b) / a) - cosh(b / a)), abs=1e-6)


def test_it_hangs_whichever_way_gravity_points() -> None:
    down = unit((1.0, -2.0, 0.5))
    assert down is not None
    lengths = [0.1, 0.2, 0.3, 0.2, 0.1, 0.4]
    joints = hang((0.1, 0.2, 0.3), (0.6, 0.4, 0.1), lengths, down, SIDE)
    assert energy(joints, lengths, down) < energy(
        hang((0.1, 0.2, 0.3), (0.6, 0.4, 0.1), lengths, DOWN, SIDE), lengths, down
    )


@pytest.mark.long
@pytest.mark.parametrize("count", [5, 20, 100])
def test_it_moves_smoothly_with_its_target(count: int) -> None:
    """Also through where its ends meet, and along the line above and below the root."""
    lengths = [1.0 / count] * count
    for path in (
        lambda s: (1e-9 + 0.9 * s, 0.0, 0.1),
        lambda s: (0.0, 0.0, 1.98 * s - 0.99),
        lambda s: (1e-9 + 0.4 * s, 0.0, 0.9 - 1.8 * s),
        lambda s: (0.6, 0.0, 1.5 * s - 0.75),
    ):
        steps = 4000
        before = hang((0.0, 0.0, 0.0), path(0.0), lengths, DOWN, SIDE)
        worst = 0.0
        for i in range(1, steps + 1):
            now = hang((0.0, 0.0, 0.0), path(i / steps), lengths, DOWN, SIDE)
            worst = max(worst, max(map(dist, before, now)))
            before = now
        # The target moves by 0.0005 at a time; a fold passes from bone to bone the fastest.
        assert worst < 0.04


def test_in_line_with_gravity_it_hangs_to_the_side() -> None:
    joints = hang((0.0, 0.0, 0.0), (0.0, 0.0, 0.2), [0.1] * 10, DOWN, SIDE)
    assert max(abs(joint[0]) for joint in joints) < 1e-12
    assert max(joint[1] for joint in joints) > 0.05


def test_passing_the_line_above_the_root_it_turns_over_by_few_bones() -> None:
    lengths = [0.01] * 100
    left = hang((0.0, 0.0, 0.0), (-1e-7, 0.0, 0.2), lengths, DOWN, SIDE)
    right = hang((0.0, 0.0, 0.0), (1e-7, 0.0, 0.2), lengths, DOWN, SIDE)
    assert max(map(dist, left, right)) < 5.0 * 0.01


def test_a_rope_without_length_is_all_at_its_root() -> None:
    assert hang((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), [0.0, 0.0], DOWN, SIDE) == [(1.0, 2.0, 3.0)] * 3


def chain_of(lengths: list[float], scale: Vec = (1.0, 1.0, 1.0), mode: str = "FULL") -> ChainInput:
    bones, head = [], (0.3, -0.2, 0.1)
    for size in lengths:
        bones.append(Bone(IDENTITY, head, size, inherit_scale=mode))
        head = (0.0, size, 0.0)
    return ChainInput(bones, [Local(scale=scale) for _ in lengths], head, WHOLE)


@pytest.mark.parametrize("mode", ["FULL", "NONE", "AVERAGE", "ALIGNED", "FIX_SHEAR"])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (1.1, 1.0, 0.9), (0.9, 1.2, 1.0)])
def test_a_chain_hangs_on_its_target_however_it_is_scaled(mode: str, scale: Vec) -> None:
    chain = chain_of([0.3] * 6, scale, mode)
    size = chain.chain.scale
    target = add(chain.root, (0.3 * size, 0.2 * size, 0.1 * size))
    posture = pose_rope(chain, target, DOWN)
    assert posture.state == "REACHED"
    assert dist(posture.tip, target) < 1e-5 * size


def test_beyond_its_length_a_chain_is_straight_and_says_so() -> None:
    chain = chain_of([0.3] * 6)
    posture = pose_rope(chain, add(chain.root, (3.0, 0.0, 0.0)), DOWN)
    assert posture.state == "OUT_OF_REACH"
    assert dist(posture.tip, add(chain.root, (1.8, 0.0, 0.0))) < 1e-9


def test_a_bone_alone_points_at_its_target() -> None:
    posture = pose_rope(chain_of([1.0]), (0.3, -0.2, 0.7), DOWN)
    assert dist(posture.tip, (0.3, -0.2, 1.1)) < 1e-9


def test_angles_of_a_two_bone_rope() -> None:
    joints = hang((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), [1.0, 1.0], DOWN, SIDE)
    assert dist(joints[1], (0.5, 0.0, -sin(pi / 3.0))) < 1e-8
    assert asin(-joints[1][2]) == pytest.approx(pi / 3.0)
