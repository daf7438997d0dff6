"""Euler angles make the rotation that they come from, next to gimbal lock as well."""

from itertools import permutations
from math import asin, cos, hypot, pi, sin, tau

from hypothesis import example, given
from hypothesis import strategies as st

from fabrik_solver.core import vectors
from fabrik_solver.core.euler import euler_angles, euler_matrix, euler_pair

ORDERS = tuple(permutations(range(3)))
angles = st.floats(-4.0, 4.0)
triples = st.tuples(angles, angles, angles)


def turned(turns: vectors.Vec, order: tuple[int, ...]) -> vectors.Quat:
    """Return the rotation about the parent's axes, one after the other."""
    result = vectors.QUAT_IDENTITY
    for axis in order:
        half = 0.5 * turns[axis]
        x, y, z = (sin(half) if axis == i else 0.0 for i in range(3))
        result = vectors.quat_product((cos(half), x, y, z), result)
    return result


def apart(a: vectors.Quat, b: vectors.Quat) -> float:
    w, x, y, z = a
    _, *rest = vectors.quat_product((w, -x, -y, -z), b)
    return 2.0 * asin(min(1.0, hypot(*rest)))


@given(st.sampled_from(ORDERS), triples, triples)
def test_angles_make_the_rotation_and_are_near(order, turns, near) -> None:
    rotation = turned(turns, order)
    found = euler_angles(rotation, order[0], order[1], near)
    assert apart(turned(found, order), rotation) < 2e-7
    second = order[1]
    other = [angle + pi for angle in turns]
    other[second] = pi - turns[second]

    def distance(one) -> float:
        return sum(abs((a - b + pi) % tau - pi) for a, b in zip(one, near, strict=True))

    assert sum(abs(a - b) for a, b in zip(found, near, strict=True)) <= (
        min(distance(turns), distance(other)) + 1e-3
    )


@given(
    st.sampled_from(ORDERS),
    triples,
    st.floats(-9.0, -1.0),
    st.sampled_from((-0.5 * pi, 0.5 * pi, 1.5 * pi)),
)
@example((0, 1, 2), (0.3, 0.0, -0.4), -4.2, 0.5 * pi)
def test_next_to_gimbal_lock_they_are_as_exact(order, turns, power, lock) -> None:
    near = list(turns)
    near[order[1]] = lock + 10.0**power
    rotation = turned((near[0], near[1], near[2]), order)
    found = euler_angles(rotation, order[0], order[1], turns)
    assert apart(turned(found, order), rotation) < 2e-7


@given(st.sampled_from(ORDERS), triples, triples)
def test_in_gimbal_lock_they_stay_near(order, turns, near) -> None:
    first, second, third = order
    locked = list(turns)
    locked[second] = 0.5 * pi
    rotation = turned((locked[0], locked[1], locked[2]), order)
    found = euler_angles(rotation, first, second, near)
    assert apart(turned(found, order), rotation) < 2e-7
    # Only their sum or difference is given, which each of them makes up for by a half.
    assert max(abs(found[i] - near[i]) for i in (first, third)) <= 0.5 * pi + 1e-6


@given(st.sampled_from(ORDERS), triples, st.tuples(*[st.floats(0.1, 3.0)] * 3))
def test_both_triples_make_the_rotation_whatever_its_scale(order, turns, scale) -> None:
    rotation = vectors.quat_matrix(turned(turns, order))
    assert far(euler_matrix(turns, order[0], order[1]), rotation) < 1e-14
    for found in euler_pair(vectors.scale_columns(rotation, scale), order[0], order[1]):
        # Where the middle angle is next to gimbal lock, the last one is left out.
        assert far(euler_matrix(found, order[0], order[1]), rotation) < 4e-6


@given(st.sampled_from(ORDERS), angles, st.sampled_from((-0.5 * pi, 0.5 * pi)))
def test_in_gimbal_lock_the_last_angle_is_left_out(order, angle, lock) -> None:
    turns = [0.0, 0.0, 0.0]
    turns[order[0]], turns[order[1]], turns[order[2]] = angle, lock, 0.7
    rotation = vectors.quat_matrix(turned((turns[0], turns[1], turns[2]), order))
    one, two = euler_pair(rotation, order[0], order[1])
    assert one == two
    assert one[order[2]] == 0.0
    assert far(euler_matrix(one, order[0], order[1]), rotation) < 1e-7


def far(a, b) -> float:
    return max(abs(x - y) for x, y in zip(a, b, strict=True))
