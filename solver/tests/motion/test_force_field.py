"""Force fields push smoothly; the tests of springs compare them with Blender."""

from itertools import pairwise
from math import dist
from random import Random
from statistics import mean, pstdev

import pytest

from fabrik_solver.motion.force_field import (
    Falloff,
    ForceField,
    accelerations,
    fields_at,
    perlin,
)

UP = (0.0, 0.0, 1.0)


def some_points(count, size=5.0, seed=1):
    rng = Random(seed)
    return [tuple(rng.uniform(-size, size) for _ in range(3)) for _ in range(count)]


def test_noise_is_smooth_and_differs_by_seed():
    points = some_points(500)
    for point in points:
        near = (point[0] + 1e-6, point[1] - 1e-6, point[2] + 1e-6)
        assert abs(perlin(point) - perlin(near)) < 2e-5
        assert perlin(tuple(float(round(x)) for x in point)) == 0.0
    values, others = [perlin(p) for p in points], [perlin(p, 1) for p in points]
    assert abs(mean(values)) < 0.05 and 0.2 < pstdev(values) < 0.35
    assert pstdev([a - b for a, b in zip(values, others, strict=True)]) > pstdev(values)
    assert max(map(abs, values)) <= 1.0


def test_turbulence_is_as_strong_as_blenders():
    """Blender's particles are pushed by 0.171 m/s², in the root mean square of 360 components."""
    field = ForceField("TURBULENCE", "POINT", (0.0, 0.0, 0.0), UP, 1.0, size=0.7, is_global=True)
    values = [x for point in some_points(2000) for x in field.acceleration(point)]
    assert abs(mean(values)) < 0.02
    assert pstdev(values) == pytest.approx(0.171, rel=0.1)
    moved = field._replace(location=(1.0, 2.0, 3.0))
    assert moved.acceleration((0.1, 0.2, 0.3)) == field.acceleration((0.1, 0.2, 0.3))
    own = field._replace(is_global=False)
    carried = own._replace(location=(1.0, 2.0, 3.0))
    pairs = own.acceleration((0.1, 0.2, 0.3)), carried.acceleration((1.1, 2.2, 3.3))
    assert dist(*pairs) < 1e-12


def test_a_gust_lasts_about_a_second():
    wind = ForceField("WIND", "POINT", (0.0, 0.0, 0.0), UP, 5.0, noise=2.0, seed=3)
    speeds = [wind._replace(time=0.05 * i).acceleration((1.0, 2.0, 3.0))[2] for i in range(2000)]
    assert mean(speeds) == pytest.approx(5.0, abs=0.2)
    assert max(abs(b - a) for a, b in pairwise(speeds)) < 0.3
    signs = [speed > 5.0 for speed in speeds]
    changes = sum(a != b for a, b in pairwise(signs))
    assert 50 < changes < 200  # In 100 s.


def test_between_frames_a_field_is_between():
    start = ForceField("WIND", "POINT", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 2.0)
    end = start._replace(location=(2.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), strength=4.0)
    (middle,) = fields_at([start], [end], 0.5)
    assert middle.location == (1.0, 0.0, 0.0) and middle.strength == 3.0
    assert middle.axis == pytest.approx((0.5**0.5, 0.5**0.5, 0.0))
    assert fields_at([start], [end], 1.0) == [end]
    assert accelerations([start, end], (9.0, 9.0, 9.0)) == pytest.approx((2.0, 4.0, 0.0))
    assert accelerations([], (0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


def test_nothing_is_infinite_at_the_origin_of_a_field():
    for kind in ("FORCE", "WIND", "VORTEX", "TURBULENCE"):
        for reach in ("SPHERE", "TUBE", "CONE"):
            field = ForceField(
                kind,
                "POINT",
                (1.0, 1.0, 1.0),
                UP,
                1.0,
                has_gravitation=True,
                reach=reach,
                fall=Falloff(2.0),
                radial=Falloff(2.0),
            )
            assert all(abs(x) <= 1.0 for x in field.acceleration((1.0, 1.0, 1.0)))
