"""Roots that slide within slabs, and joints that keep parts of their rotation."""

import itertools
import math
import random

import pytest
from strategies import random_direction, random_turn

from fabrik_solver import Cone, Hinge, Limit, euler_angles
from fabrik_solver.core import vectors
from fabrik_solver.core.euler import euler_matrix
from fabrik_solver.core.locks import LimitedLock, LockedAngles, LockedNumbers
from fabrik_solver.core.slide import Slide, slab

ORDERS = ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))
SUBSETS = [list(flags) for flags in itertools.product((False, True), repeat=3)][1:]


def frame(rng: random.Random) -> list[vectors.Vec]:
    """Three perpendicular axes."""
    x = random_direction(rng)
    y = vectors.unit(vectors.cross(x, random_direction(rng))) or x
    return [x, y, vectors.cross(x, y)]


@pytest.mark.parametrize("locked", SUBSETS, ids=str)
def test_a_slide_is_the_nearest_place_along_its_free_axes(locked: list[bool]) -> None:
    rng = random.Random(str(locked))
    for _ in range(20):
        axes, origin = frame(rng), vectors.scaled(random_direction(rng), 5.0)
        slabs = [
            s
            for axis, lock in zip(axes, locked, strict=True)
            if lock
            for s in slab(vectors.scaled(axis, 3.0), 0.0, 0.0)
        ]
        slide, place = Slide(origin, slabs), vectors.scaled(random_direction(rng), 7.0)
        nearest = slide.nearest(place)
        moved, left = vectors.sub(nearest, origin), vectors.sub(place, nearest)
        for axis, lock in zip(axes, locked, strict=True):
            assert abs(vectors.dot(moved if lock else left, axis)) < 1e-12
        assert len(slide.normals(nearest, 1.0)) == 2 * sum(locked)


def test_a_slide_in_oblique_slabs_is_within_all() -> None:
    rng = random.Random(1)
    for _ in range(50):
        slabs = [s for _ in range(4) for s in slab(random_direction(rng), -0.3, 0.2)]
        slabs += slab(random_direction(rng), 0.0, 0.0)
        nearest = Slide(vectors.ORIGIN, slabs).nearest(vectors.scaled(random_direction(rng), 2.0))
        for normal, least, most in slabs:
            assert least - 1e-3 <= vectors.dot(normal, nearest) <= most + 1e-3


def test_a_coordinate_without_a_gradient_is_no_slab() -> None:
    assert slab(vectors.ORIGIN, 0.0, 0.0) == []


def locks(rng: random.Random, locked: list[bool]) -> list[Limit]:
    turn = random_turn(rng, math.pi)
    order = rng.choice(ORDERS)
    return [
        LockedAngles(euler_angles(turn, *order, vectors.ORIGIN), order, locked),
        LockedNumbers(turn, [False, *locked]),
    ]


def brute(lock: LockedAngles, wanted: vectors.Quat) -> float:
    """Return the least angle from a rotation to those of a grid that the lock allows."""
    steps = [math.tau * i / 40 for i in range(40)]
    first, second, _ = lock.order
    least = math.pi
    ranges = [[a] if k else steps for a, k in zip(lock.angles, lock.locked, strict=True)]
    for x, y, z in itertools.product(*ranges):
        turn = vectors.quat_of(euler_matrix((x, y, z), first, second))
        least = min(least, vectors.quat_angle(turn, wanted))
    return least


@pytest.mark.parametrize("locked", SUBSETS, ids=str)
def test_the_nearest_rotation_keeps_what_is_locked_and_none_is_nearer(locked: list[bool]) -> None:
    rng = random.Random(str(locked))
    for _ in range(4):
        by_angle, by_number = locks(rng, locked)
        wanted = random_turn(rng, math.pi)
        assert isinstance(by_angle, LockedAngles) and isinstance(by_number, LockedNumbers)
        nearest = by_angle.nearest(wanted)
        assert vectors.quat_angle(by_angle.nearest(nearest), nearest) < 1e-7
        assert vectors.quat_angle(nearest, wanted) <= brute(by_angle, wanted) + 1e-6
        nearest = by_number.nearest(wanted)
        kept = zip(nearest[1:], by_number.rotation[1:], locked, strict=True)
        assert all(abs(a - b) < 1e-15 or not lock for a, b, lock in kept)
        assert math.hypot(*nearest) == pytest.approx(1.0)


@pytest.mark.parametrize("locked", SUBSETS, ids=str)
def test_normals_are_perpendicular_to_all_that_is_allowed(locked: list[bool]) -> None:
    rng = random.Random(str(locked))
    for lock in locks(rng, locked) + locks(rng, locked):
        here = lock.nearest(random_turn(rng, math.pi))
        normals = lock.normals(here)
        assert all(vectors.length(normal) == pytest.approx(1.0) for normal in normals)
        # What is left of a step leads to a rotation that is allowed to second order.
        perpendicular = _perpendicular_part(vectors.scaled(random_direction(rng), 1e-4), normals)
        moved = vectors.quat_product(vectors.quat_exp(perpendicular), here)
        assert vectors.quat_angle(lock.nearest(moved), moved) < 1e-6


def _perpendicular_part(step: vectors.Vec, normals: list[vectors.Vec]) -> vectors.Vec:
    known: list[vectors.Vec] = []
    for normal in normals:
        for one in known:
            normal = vectors.sub(normal, vectors.scaled(one, vectors.dot(one, normal)))
        if vectors.length(normal) > 1e-6:
            known.append(vectors.scaled(normal, 1.0 / vectors.length(normal)))
    for one in known:
        step = vectors.sub(step, vectors.scaled(one, vectors.dot(one, step)))
    return step


def test_a_limit_holds_together_with_a_lock() -> None:
    rng = random.Random(3)
    lock = LockedAngles(vectors.ORIGIN, (0, 1), [False, False, True])
    both = LimitedLock(Cone((-0.5, 0.5), (-0.5, 0.5), (-0.3, 0.3)), lock)
    hinged = LimitedLock(Hinge((1.0, 0.0, 0.0), (0.0, 1.0)), lock)
    for _ in range(50):
        for one in (both, hinged):
            nearest = one.nearest(random_turn(rng, math.pi))
            assert vectors.quat_angle(one.limit.nearest(nearest), nearest) < 1e-5
            assert vectors.quat_angle(lock.nearest(nearest), nearest) < 1e-7
    assert len(hinged.normals(both.nearest(vectors.quat_exp((0.2, 0.0, 0.0))))) >= 6
