"""Feet on uneven ground: no slide at either end of a swing, nothing in the way, a smooth hip."""

from collections.abc import Callable
from itertools import pairwise
from math import cos, inf, isclose, pi, radians, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.core.vectors import Vec, add, dot, length, rotate, sub
from fabrik_solver.motion.easing import smoother
from fabrik_solver.motion.ground import (
    CALM,
    CarriedLeg,
    hip_lift,
    influence,
    is_ground,
    pitched,
    shared_jolt,
    smoothed,
    tilt_of,
    turn_of,
)
from fabrik_solver.motion.smoothest import Wish, smoothest

UP = (0.0, 0.0, 1.0)

shares = st.floats(0.01, 0.99)
vectors = st.tuples(*[st.floats(-1.0, 1.0)] * 3)


def over_a_swing(lacks: list[float], rate: float) -> list[float]:
    """Lifts in a swing, from a flat foot to the next. Two frames of each are at its ends."""
    count = len(lacks)
    wishes = [
        Wish(low=lack, high=inf if 1 < i < count - 2 else lack) for i, lack in enumerate(lacks)
    ]
    return smoothest(wishes, (CALM * rate) ** 4)


@given(st.lists(st.floats(0.0, 2.0), max_size=40))
def test_lift_clears_all_that_is_in_the_way(lacks: list[float]) -> None:
    lifts = over_a_swing([0.0, 0.0, 0.0, *lacks, 0.0, 0.0, 0.0], 60.0)
    assert lifts[:2] == lifts[-2:] == [0.0, 0.0]
    assert min(lifts) >= 0.0
    for i, lack in enumerate(lacks, 3):
        assert lifts[i] >= lack - 1e-6


def bends(heights: list[float], rate: float) -> list[float]:
    threes = zip(heights, heights[1:], heights[2:], strict=False)
    return [abs(a - 2.0 * b + c) * rate * rate for a, b, c in threes]


@pytest.mark.parametrize("rate", [30, 60, 120, 240])
def test_lift_is_smooth_over_the_whole_swing(rate: int) -> None:
    """Over a stair of 18 cm in a swing of half a second, at any number of frames a second.

    The least possible largest acceleration is that of four parabolas.
    """
    steps = range(rate // 2 + 1)
    lacks = [0.18 if 0.2 < i / rate < 0.3 else 0.0 for i in steps]
    lifts = over_a_swing([0.0, *lacks, 0.0], rate)
    assert max(bends(lifts, rate)) < 2.5 * 4.0 * 0.18 / 0.2**2


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_foot_that_rolls_gives_way_to_an_edge_right_beside_its_contact(is_reversed: bool) -> None:
    """Else it would have to rise in a thirtieth of a second."""
    lacks = [0.15 if 11 <= i <= 13 else 0.0 for i in range(50)]
    rolls, stays = (
        over_a_swing(part[::-1] if is_reversed else part, 60.0) for part in (lacks, lacks[8:])
    )
    assert max(bends(rolls, 60.0)) < 0.4 * max(bends(stays, 60.0))


def test_lift_begins_where_a_flat_foot_is() -> None:
    """Of a foot that stands on a bump between its ends: it does not drop as it leaves."""
    lifts = over_a_swing([0.01] * 3 + [0.0] * 44 + [0.02] * 3, 60.0)
    assert lifts[:2] == [0.01] * 2 and lifts[-2:] == [0.02] * 2
    assert max(bends(lifts, 60.0)) < 4.0


def test_walls_and_overhangs_are_no_ground() -> None:
    for angle, wanted in ((0, True), (59, True), (61, False), (90, False), (120, False)):
        assert is_ground((sin(radians(angle)), 0.0, cos(radians(angle))), UP) is wanted


@given(vectors.filter(lambda v: length(v) > 0.1), st.floats(0.0, 1.5))
def test_tilt_goes_to_the_normal_no_farther_than_allowed_and_keeps_the_heading(
    normal: Vec, most: float
) -> None:
    size = length(normal)
    normal = (normal[0] / size, normal[1] / size, abs(normal[2]) / size)
    tilt = tilt_of(normal, UP, most)
    assert tilt[2] == 0.0  # Nothing about up.
    assert length(tilt) <= most + 1e-12
    if length(tilt) < most - 1e-9:
        assert length(sub(rotate(turn_of(tilt), UP), normal)) < 1e-6


def test_ground_fades_above_the_blend_height() -> None:
    assert influence(5.0, 0.0) == 1.0
    assert [influence(h, 0.5) for h in (0.0, 0.5, 0.75, 1.0, 3.0)] == [1.0, 1.0, 0.5, 0.0, 0.0]


def hip_shift(legs: list[CarriedLeg], up: Vec, share: float, follow: float) -> float:
    return min(hip_lift(legs, up, share, follow))


def leg(goal: Vec, target: Vec | None = None, root: Vec = (0.0, 0.0, 0.9)) -> CarriedLeg:
    target = goal if target is None else target
    return CarriedLeg(root, target, goal, 1.0, goal[2] - target[2])


def test_hip_stays_where_all_feet_reach_and_are_not_moved() -> None:
    assert hip_shift([leg((0.1, 0, 0)), leg((-0.2, 0, 0.1))], UP, 0.98, 1.0) == 0.0


@given(
    st.lists(st.tuples(st.floats(-0.4, 0.4), st.floats(-0.3, 0.3)), min_size=1, max_size=8),
    st.floats(0.0, 1.0),
    st.floats(0.8, 0.99),
)
def test_all_feet_reach_from_the_shifted_hip(
    places: list[tuple[float, float]], follow: float, share: float
) -> None:
    legs = [leg((x, 0.0, z), target=(x, 0.0, 0.0)) for x, z in places]
    shift = hip_shift(legs, UP, share, follow)
    for one in legs:
        apart = length(sub(add(one.root, (0.0, 0.0, shift)), one.goal))
        assert apart <= 1.0 + 1e-9


def test_hip_only_lowers_if_it_does_not_follow() -> None:
    rising = [leg((0.1, 0, 0.2), target=(0.1, 0, 0)), leg((-0.1, 0, 0.15), target=(-0.1, 0, 0))]
    assert hip_shift(rising, UP, 0.98, 0.0) == 0.0
    assert isclose(hip_shift(rising, UP, 0.98, 1.0), 0.175, abs_tol=1e-3)
    falling = [leg((0.1, 0, -0.3), target=(0.1, 0, 0)), leg((-0.1, 0, 0.0))]
    assert hip_shift(falling, UP, 0.98, 0.0) < -0.2


def test_no_knee_is_straightened_beyond_the_share_but_by_the_animation() -> None:
    """A leg of 1 m bent by the animation; and one stretched farther by it, which may stay."""
    bent = CarriedLeg((0, 0, 0.8), (0, 0, 0), (0, 0, -0.3), 1.0, -0.3)
    for share in (0.9, 0.98):
        reach = 0.8 + 0.3 + hip_shift([bent], UP, share, 0.0)
        assert isclose(reach, share, abs_tol=0.005)
    stretched = CarriedLeg((0, 0, 0.99), (0, 0, 0), (0, 0, -0.2), 1.0, -0.2)
    assert 0.99 < 0.99 + 0.2 + hip_shift([stretched], UP, 0.9, 0.0) <= 1.0
    # One that does not reach in the animation does not reach here, and pulls nothing down.
    short = CarriedLeg((0, 0, 1.3), (0, 0, 0), (0.001, 0, 0), 1.0, 0.0)
    assert abs(hip_shift([short], UP, 0.98, 0.0)) < 1e-3


def test_hip_has_no_endless_slope_where_a_foot_is_far_aside() -> None:
    """Near the edge of its reach a leg would ask for a hip that falls endlessly fast."""
    shifts = [
        hip_shift([leg((0.9 + i / 1e4, 0, 0), target=(0.5, 0, 0))], UP, 0.98, 0.0)
        for i in range(1001)
    ]
    assert max(abs(b - a) for a, b in pairwise(shifts)) < 10 / 1e4


def test_hip_does_not_hang_on_the_order_of_its_legs() -> None:
    legs = [leg((0.1 * i, 0, 0.07 * i - 0.3), target=(0.1 * i, 0, 0)) for i in range(5)]
    assert hip_shift(legs, UP, 0.98, 1.0) == hip_shift(legs[::-1], UP, 0.98, 1.0)


def test_hip_goes_no_deeper_than_half_a_leg_for_a_foot_that_is_out_of_reach() -> None:
    assert hip_shift([leg((5.0, 0.0, -3.0), target=(0, 0, 0))], UP, 0.98, 0.0) >= -0.51


def test_hip_is_lowered_along_the_axis_whatever_it_is() -> None:
    up = (0.6, 0.0, 0.8)
    one = CarriedLeg((0.57, 0, 0.76), (0.0, 0, 0), (-0.12, 0, -0.16), 1.0, -0.2)
    upright = CarriedLeg((0, 0, 0.95), (0, 0, 0), (0, 0, -0.2), 1.0, -0.2)
    assert isclose(hip_shift([one], up, 0.98, 0.0), hip_shift([upright], UP, 0.98, 0.0))


def hills(x: float) -> float:
    return 0.15 * sin(1.9 * x) + 0.03 * sin(4.3 * x + 1.0)


def stairs(x: float) -> float:
    return -0.17 * ((x + 0.15) // 0.3)


Terrain = Callable[[float], float]


def walk(
    terrain: Terrain, follow: float, rate: int = 24, stride: float = 0.6
) -> list[tuple[list[Vec], float]]:
    """The feet, and how far the hip is lifted, of a biped on a terrain."""
    stand, flight = 14 * rate // 24, 10 * rate // 24
    cycle = stand + flight
    moments = []
    for frame in range(cycle, 6 * cycle):
        legs, feet = [], []
        for side in (0, 1):
            at = frame + side * cycle // 2
            step, phase = divmod(at, cycle)
            start = stride * (step - side / 2)
            low, high = terrain(start), terrain(start + stride)
            u = max(0.0, (phase - stand) / flight)
            share = smoother(u)
            target = (start + stride * share, 0.0, 0.08 + 0.1 * sin(pi * u) ** 2)
            shift = low + (high - low) * share
            base = []
            for k in range(max(1, flight)):
                v = k / max(1, flight)
                height = 0.1 * sin(pi * v) ** 2 + low + (high - low) * smoother(v)
                base.append(max(0.0, terrain(start + stride * smoother(v)) - height))
            lifts = over_a_swing([0.0, *base, 0.0, 0.0], rate)
            up = lifts[1 + max(0, phase - stand)]
            feet.append((target[0], 0.0, target[2] + shift + up))
            goal = (target[0], 0.0, target[2] + shift)
            hip = (stride * (frame - 0.5 * stand) / cycle, 0.0, 0.93)
            legs.append(CarriedLeg(hip, target, goal, 0.9, shift))
        moments.append((feet, hip_shift(legs, UP, 0.98, follow)))
    return moments


@pytest.mark.parametrize(("terrain", "follow"), [(hills, 0.0), (hills, 1.0), (stairs, 1.0)])
def test_hip_is_smooth_in_time_on_hills_and_stairs(terrain: Terrain, follow: float) -> None:
    """Finer steps in time make the second differences smaller: the curve has no corners.

    A corner would make them smaller in proportion to the step, and not to its square.
    """
    sizes = []
    for rate in (24, 240):
        moments = walk(terrain, follow, rate)
        heights, reach = [height for _, height in moments], round(0.5 * rate)
        wishes = [Wish(height, high=height) for height in heights]
        shifts = smoothest(wishes, (0.08 * rate) ** 4)[reach:-reach]
        pairs = zip(shifts, heights[reach:-reach], strict=True)
        assert all(shift <= height + 1e-9 for shift, height in pairs)
        sizes.append(
            max(abs(a - 2 * b + c) for a, b, c in zip(shifts, shifts[1:], shifts[2:], strict=False))
        )
    assert sizes[0] < 0.035  # Meters a frame, each frame.
    assert sizes[1] < sizes[0] / 30


@pytest.mark.parametrize("terrain", [hills, stairs])
def test_no_foot_goes_through_the_ground(terrain: Terrain) -> None:
    for feet, _ in walk(terrain, 1.0):
        for foot in feet:
            assert foot[2] >= terrain(foot[0]) + 0.08 - 1e-6


def test_walk_has_different_shifts() -> None:
    """Or the tests of smoothness could not fail."""
    shifts = [shift for _, shift in walk(hills, 0.0)]
    assert max(shifts) - min(shifts) > 0.05
    assert any(abs(dot((0, 0, b - a), UP)) > 1e-3 for a, b in pairwise(shifts))


def test_a_foot_that_goes_aside_does_not_make_the_hip_fall() -> None:
    """Where the leg comes to lie flat, it would be endlessly steep to keep it in reach."""

    def drop(aside: float) -> float:
        # A step aside and up, from below the hip.
        return -hip_shift([leg((aside, 0.0, 0.5), target=(0.0, 0.0, 0.0))], UP, 0.98, 0.0)

    drops = [drop(i / 1000) for i in range(1200)]
    steepest = max(b - a for a, b in pairwise(drops)) * 1000
    assert drops[-1] == pytest.approx(0.5)
    assert 2.0 < steepest < 6.0


def test_the_mean_of_places_is_smooth_in_time() -> None:
    """One frame that is higher by 10 cm, seen at a hundredth of a frame."""

    def peak(frame: int) -> Vec:
        return 0.0, 0.0, 0.1 * (frame == 0)

    found = [smoothed(peak, i / 100, 5, 1)[2] for i in range(-1500, 1501)]
    assert found[0] == found[-1] == 0.0 and max(found) == pytest.approx(0.02)
    assert max(abs(b - a) for a, b in pairwise(found)) < 1e-4
    assert smoothed(lambda _: (0.3, 0.0, 0.0), 0.37, 6, 2)[0] == pytest.approx(0.3)
    # A frame without a place doesn't count.
    assert smoothed(lambda frame: None if frame else UP, 0.5, 3, 1) == pytest.approx(UP)


def test_the_hip_follows_the_feet_that_stand() -> None:
    legs = [leg((0.0, 0.0, rise), target=(0.0, 0.0, 0.0)) for rise in (0.1, 0.3)]
    assert hip_lift(legs, UP, 0.98, 0.4)[0] == pytest.approx(0.08)
    low, high = ([one._replace(stands=one is legs[i]) for one in legs] for i in (0, 1))
    assert hip_lift(low, UP, 0.98, 1.0)[0] == pytest.approx(0.1)
    assert hip_lift(high, UP, 0.98, 0.4)[0] == pytest.approx(0.12)
    # The lower foot is reached by a straight leg at most.
    assert hip_lift(high, UP, 0.98, 1.0)[1] == pytest.approx(0.1 + 0.98 - 0.9)


def test_the_hip_rises_for_a_leg_that_would_be_folded_farther_than_its_knee_allows() -> None:
    """As far as the other one reaches, which stands on the floor, and steadily."""

    def lift(high: float) -> float:
        swings = leg((0.0, 0.0, high), target=(0.0, 0.0, 0.3))
        stands = leg((0.0, 0.0, 0.0), target=(0.0, 0.0, 0.0))._replace(stands=True)
        return min(hip_lift([stands, swings], UP, 0.98, 1.0))

    lifts = [lift(0.3 + i / 1000) for i in range(300)]
    assert lifts[0] == 0.0 and lifts[-1] == pytest.approx(0.08)
    assert all(-1e-12 < b - a < 1.1e-3 for a, b in pairwise(lifts))


@given(vectors, vectors, st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
def test_a_body_is_pitched_by_what_its_ends_are_lifted(
    hind: Vec, way: Vec, low: float, high: float
) -> None:
    """It stays as long, and its ends rise by so much in all, and one by so much more."""
    front = add(hind, way)
    if length((way[0], way[1], 0.0)) < 0.05:
        return
    move = pitched((hind, front), (low, high), UP)
    ends = [add(end, move.moved(end)) for end in (hind, front)]
    assert length(sub(*ends)) == pytest.approx(length(way))
    assert 0.5 * (ends[0][2] + ends[1][2] - hind[2] - front[2]) == pytest.approx(
        0.5 * (low + high), abs=1e-9
    )
    level = length((way[0], way[1], 0.0))
    new = sub(ends[1], ends[0])
    assert new[2] / length((new[0], new[1], 0.0)) == pytest.approx((way[2] + high - low) / level)
    for end, moved in zip((hind, front), ends, strict=True):
        assert length(sub(move.before(moved), end)) < 1e-9


@given(vectors, vectors)
def test_hip_never_jumps_more_for_its_feet(root: Vec, lock: Vec) -> None:
    """One foot is locked, the other swings with the capture."""
    shift = shared_jolt([(lock, root), ((0.0, 0.0, 0.0), root)])
    assert length(add(root, shift)) <= length(root) + 1e-12


def test_hip_takes_half_of_a_jolt_from_the_foot_that_stands() -> None:
    jolt = (0.0, 0.01, 0.02)
    legs = [((0.0, -0.01, -0.02), jolt), ((0.0, 0.0, 0.0), jolt)]
    assert shared_jolt(legs) == pytest.approx((0.0, -0.005, -0.01))
    assert shared_jolt([(jolt, jolt)]) == (0.0, 0.0, 0.0)
