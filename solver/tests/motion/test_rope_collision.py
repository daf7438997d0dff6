"""Ropes that rest on a plane, or lie over a surface."""

from itertools import pairwise
from math import dist, fsum, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import WHOLE
from fabrik_solver.core.vectors import Vec, add, dot, scaled, sub, unit
from fabrik_solver.motion.rope import hang
from fabrik_solver.motion.rope_collision import on_plane, on_surface
from fabrik_solver.motion.solid import Solid

DOWN = (0.0, 0.0, -1.0)
UP = (0.0, 0.0, 1.0)
SIDE = (0.0, 1.0, 0.0)
ROOT = (0.0, 0.0, 0.0)
DEPTH = 1e-4
"""How deep a joint may be in what the rope lies on, as a share of its length."""

number = st.floats(-1.0, 1.0)


def wrong_by(joints: list[Vec], lengths: list[float]) -> float:
    return max(
        abs(dist(a, b) - part) for (a, b), part in zip(pairwise(joints), lengths, strict=True)
    )


def sphere(center: Vec, radius: float) -> Solid:
    def cast(origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
        way = sub(origin, center)
        along = dot(way, direction)
        square = along * along - dot(way, way) + radius * radius
        if square < 0.0:
            return None
        near, far = -along - sqrt(square), -along + sqrt(square)
        at = near if near >= 0.0 else far
        if not 0.0 <= at <= distance:
            return None
        place = add(origin, scaled(direction, at))
        return place, scaled(sub(place, center), 1.0 / radius)

    size = (radius, radius, radius)
    return Solid(cast, (sub(center, size), add(center, size)), WHOLE)


@given(
    st.lists(st.floats(0.05, 0.3), min_size=8, max_size=40),
    st.tuples(number, number, number),
    st.floats(-0.6, -0.05),
    st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3)),
)
def test_nothing_of_a_rope_is_below_the_plane(
    lengths: list[float], way: Vec, level: float, slope: tuple[float, float]
) -> None:
    size = fsum(lengths)
    target = scaled(way, 0.5 * size)
    normal = unit((*slope, 1.0))
    assert normal is not None
    point = (0.0, 0.0, level * size)
    joints = on_plane(
        hang(ROOT, target, lengths, DOWN, SIDE), lengths, target, (point, normal), SIDE
    )
    lowest = min(0.0, *[dot(sub(end, point), normal) for end in (ROOT, target)])
    assert joints[0] == ROOT
    assert wrong_by(joints, lengths) < 1e-12 * size
    assert dist(joints[-1], target) < 1e-6 * size
    assert min(dot(sub(joint, point), normal) for joint in joints) >= lowest - DEPTH * size


def test_a_rope_above_the_plane_does_not_change() -> None:
    lengths = [0.1] * 20
    free = hang(ROOT, (1.5, 0.0, 0.0), lengths, DOWN, SIDE)
    assert on_plane(free, lengths, (1.5, 0.0, 0.0), ((0.0, 0.0, -2.0), UP), SIDE) == free


def test_what_is_left_of_a_rope_lies_to_its_side() -> None:
    lengths = [0.05] * 40
    target = (1.0, 0.0, 0.0)
    joints = hang(ROOT, target, lengths, DOWN, SIDE)
    joints = on_plane(joints, lengths, target, ((0.0, 0.0, -0.4), UP), SIDE)
    assert max(joint[1] for joint in joints) > 0.2
    assert min(joint[1] for joint in joints) > -0.01


@pytest.mark.parametrize("count", [20, 100])
def test_it_comes_to_rest_without_a_jump(count: int) -> None:
    lengths = [2.0 / count] * count
    target = (1.0, 0.0, 0.1)
    free = hang(ROOT, target, lengths, DOWN, SIDE)
    before, worst, steps = free, 0.0, 400
    for i in range(steps):
        level = -0.9 + 0.85 * i / steps
        now = on_plane(free, lengths, target, ((0.0, 0.0, level), UP), SIDE)
        worst = max(worst, max(map(dist, before, now)))
        before = now
    assert worst < 0.03  # The plane rises by 0.002 at a time, and joints swing aside at first.


@pytest.mark.parametrize("count", [30, 100])
@pytest.mark.parametrize("across", [0.0, 0.3])
def test_a_rope_lies_over_a_ball(count: int, across: float) -> None:
    lengths = [3.0 / count] * count
    target = (2.0, 0.0, 0.0)
    solid = sphere((1.0, across, -1.0), 0.7)
    free = hang(ROOT, target, lengths, DOWN, SIDE)
    inside = [joint for joint in free if dist(joint, (1.0, across, -1.0)) < 0.7]
    joints = on_surface(free, lengths, target, solid, DOWN, SIDE)
    assert inside
    assert wrong_by(joints, lengths) < 1e-12
    assert dist(joints[-1], target) < 3e-6
    assert min(dist(joint, (1.0, across, -1.0)) for joint in joints) > 0.7 - DEPTH * 3.0


def test_a_thick_rope_keeps_its_distance() -> None:
    lengths = [0.05] * 60
    target = (2.0, 0.0, 0.0)
    solid = sphere((1.0, 0.0, -1.0), 0.7)
    joints = on_surface(
        hang(ROOT, target, lengths, DOWN, SIDE), lengths, target, solid, DOWN, SIDE, 0.05
    )
    above = [j for j in joints if abs(j[0] - 1.0) < 0.2 and abs(j[1]) < 0.2]
    assert above
    assert min(joint[2] for joint in above) > -1.0 + 0.7


def test_a_roof_is_nothing_to_lie_on() -> None:
    lengths = [0.1] * 20
    free = hang(ROOT, (1.0, 0.0, 0.0), lengths, DOWN, SIDE)
    assert (
        on_surface(free, lengths, (1.0, 0.0, 0.0), sphere((0.5, 0.0, 2.0), 1.0), DOWN, SIDE) == free
    )
