"""Rays at a solid, seen from another space."""

from math import dist, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Frame, inverse, point_in
from fabrik_solver.core.vectors import Vec, add, dot, length, mat_apply, scaled, unit
from fabrik_solver.motion.solid import Solid

RADIUS = 0.5
BOUNDS = ((-RADIUS,) * 3, (RADIUS,) * 3)
FAR = ((-1e6,) * 3, (1e6,) * 3)

number = st.floats(-1.0, 1.0)
places = st.tuples(number, number, number)


def ball(origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
    """A ball about the origin, whose rays may have any length, as Blender's."""
    way = unit(direction)
    assert way is not None
    along = dot(origin, way)
    square = along * along - dot(origin, origin) + RADIUS * RADIUS
    if square < 0.0:
        return None
    near, far = -along - sqrt(square), -along + sqrt(square)
    at = near if near >= 0.0 else far
    if not 0.0 <= at <= distance:
        return None
    place = add(origin, scaled(way, at))
    return place, scaled(place, 1.0 / RADIUS)


def seen_from(frame: Frame, bounds: tuple[Vec, Vec] = BOUNDS) -> Solid:
    """The ball from a space, given by its frame in that of the ball."""
    return Solid(ball, bounds, frame)


TILTED: Frame = ((0.6, -0.8, 0.0, 0.8, 0.6, 0.0, 0.0, 0.0, 2.0), (0.1, -0.2, 0.3))


@pytest.mark.parametrize("frame", [WHOLE, TILTED], ids=["the same space", "a stretched one"])
@given(places, places, st.floats(0.0, 2.0))
def test_its_bounds_change_no_answer(
    frame: Frame, origin: Vec, direction: Vec, distance: float
) -> None:
    way = unit(direction)
    if way is not None:
        answer = seen_from(frame).hit(origin, way, distance)
        assert answer == seen_from(frame, FAR).hit(origin, way, distance)


@given(places, places)
def test_a_hit_is_on_the_ray_and_on_the_surface_wherever_it_is_seen_from(
    origin: Vec, direction: Vec
) -> None:
    way = unit(direction)
    hit = way and seen_from(TILTED).hit(origin, way, 2.0)
    if way is None or hit is None:
        return
    place, normal = hit
    far = dist(place, origin)
    assert dist(place, add(origin, scaled(way, far))) <= 1e-9
    assert abs(length(point_in(TILTED, place)) - RADIUS) <= 1e-9
    # What lies in the surface there is at right angles to the normal here.
    x, y, z = point_in(TILTED, place)
    for tangent in ((y, -x, 0.0), (0.0, z, -y)):
        assert abs(dot(normal, mat_apply(inverse(TILTED)[0], tangent))) <= 1e-9


def test_rays_past_its_bounds_are_not_cast() -> None:
    cast: list[Vec] = []

    def counted(origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
        cast.append(origin)
        return ball(origin, direction, distance)

    solid = Solid(counted, BOUNDS, WHOLE)
    up = (0.0, 0.0, 1.0)
    for origin in ((0.6, 0.0, -1.0), (0.0, -0.6, -1.0), (0.0, 0.0, 0.6)):
        assert solid.hit(origin, up, 9.0) is None
    assert solid.hit((0.0, 0.0, -1.0), up, 0.4) is None
    assert not cast
    assert solid.hit((0.1, 0.0, -1.0), up, 9.0) is not None
    assert len(cast) == 1
