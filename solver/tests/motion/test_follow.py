"""A free chain keeps its lengths, follows the way of its head, and knows no other history."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import COMPILED
from fabrik_solver.core.vectors import quat_about, rotate
from fabrik_solver.motion import follow
from fabrik_solver.motion.follow import FINENESS, Trail, curve_between, dragged

numbers = st.floats(-5.0, 5.0, allow_nan=False).map(lambda x: round(x, 6))
places = st.tuples(numbers, numbers, numbers)
chains = st.lists(places, min_size=2, max_size=8)
paths = st.lists(places, min_size=1, max_size=6)
kinds = st.booleans()


def lengths_of(joints):
    return [math.dist(a, b) for a, b in pairwise(joints)]


def straight(count, size=1.0):
    """A chain along X whose head is at the origin."""
    return [(-size * (count - i), 0.0, 0.0) for i in range(count + 1)]


def circle(radius, frames, turns=1.0):
    """A way round a circle that begins at the origin in the direction of X."""
    angles = (2.0 * math.pi * turns * i / (frames - 1) for i in range(frames))
    return [(radius * math.sin(a), radius * (1.0 - math.cos(a)), 0.0) for a in angles]


def distance_to(polyline, point):
    found = math.inf
    for a, b in pairwise(polyline):
        along = [y - x for x, y in zip(a, b, strict=True)]
        square = sum(x * x for x in along)
        share = 0.0
        if square > 0.0:
            share = sum((p - x) * y for p, x, y in zip(point, a, along, strict=True)) / square
        share = min(max(share, 0.0), 1.0)
        near = [x + y * share for x, y in zip(a, along, strict=True)]
        found = min(found, math.dist(near, point))
    return found


@given(chains, paths, kinds, st.floats(-1.0, 7.0))
def test_bones_keep_their_lengths(chain, path, is_on_path, time):
    joints = Trail(chain, path, is_on_path).joints(time)
    wanted = lengths_of(chain)
    assert lengths_of(joints) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@given(chains, paths, kinds)
def test_head_is_where_it_was_led(chain, path, is_on_path):
    trail = Trail(chain, path, is_on_path)
    for frame, place in enumerate(path):
        assert trail.joints(frame)[-1] == pytest.approx(place, abs=1e-12)


@given(chains, paths, kinds, places)
def test_head_is_put_elsewhere_if_asked(chain, path, is_on_path, place):
    joints = Trail(chain, path, is_on_path).joints(len(path) - 1, place)
    assert joints[-1] == place
    assert lengths_of(joints) == pytest.approx(lengths_of(chain), rel=1e-9, abs=1e-12)


@given(chains, paths, kinds, st.lists(st.floats(0.0, 6.0), min_size=1, max_size=5))
def test_answer_is_the_same_whichever_way_it_was_reached(chain, path, is_on_path, before):
    visited = Trail(chain, path, is_on_path)
    for time in before:
        visited.joints(time)
    for time in (*before, 2.5, 0.0):
        assert visited.joints(time) == Trail(chain, path, is_on_path).joints(time)


def test_what_is_not_cached_is_computed_again(monkeypatch):
    path = circle(3.0, 40)
    whole = Trail(straight(4), path).joints(37.25)
    monkeypatch.setattr("fabrik_solver.motion.follow.MAX_CACHED", 50)
    assert Trail(straight(4), path).joints(37.25) == whole


@pytest.mark.parametrize("is_on_path", [False, True])
def test_turning_the_world_turns_the_answer(is_on_path):
    shaken = random.Random(1)
    turn = quat_about((0.6, 0.0, 0.8), 1.0)

    def turned(points):
        return [rotate(turn, point) for point in points]

    for _ in range(20):
        chain, path = (
            [tuple(shaken.uniform(-2.0, 2.0) for _ in range(3)) for _ in range(count)]
            for count in (6, 5)
        )
        here = Trail(chain, path, is_on_path).joints(3.3)
        there = Trail(turned(chain), turned(path), is_on_path).joints(3.3)
        for a, b in zip(turned(here), there, strict=True):
            assert math.dist(a, b) < 1e-6


@pytest.mark.parametrize("is_on_path", [False, True])
def test_straight_ahead_nothing_turns(is_on_path):
    path = [(0.7 * i, 0.0, 0.0) for i in range(10)]
    trail = Trail(straight(5), path, is_on_path)
    for time in (0.0, 3.0, 5.4, 9.0):
        for i, joint in enumerate(trail.joints(time)):
            assert joint == pytest.approx((0.7 * time - 5 + i, 0.0, 0.0), abs=1e-9)


def test_dragged_round_a_circle_each_bone_runs_as_a_trailer_does():
    """A trailer of length L behind a circle of radius R settles on one of √(R² − L²)."""
    radius, count = 4.0, 5
    for frames, most in ((40, 0.06), (400, 0.006)):  # By nearly two bones a frame, and slow.
        joints = Trail(straight(count), circle(radius, frames, turns=3.0)).joints(frames - 1)
        worst = 0.0
        for i, joint in enumerate(joints[::-1]):
            wanted = math.sqrt(radius * radius - i)
            worst = max(worst, abs(math.dist(joint, (0.0, radius, 0.0)) - wanted))
        print(f"free chain, off the circle of a trailer, {frames} frames", f"{worst:.4f} bones")
        assert worst < most


@pytest.mark.long
@pytest.mark.parametrize(("frames", "fineness"), [(30, 50), (300, 5)])
def test_on_path_every_joint_stays_on_the_way_of_the_head(frames, fineness):
    """Round a figure of eight, slow and by more than a bone a frame."""
    path = [
        (4.0 * math.sin(a), 4.0 * math.sin(a) * math.cos(a), 0.5 * math.sin(3.0 * a))
        for a in (2.0 * math.pi * i / (frames - 1) for i in range(frames))
    ]
    chain = straight(8)
    trail = Trail(chain, path, is_on_path=True)
    line = [*chain]
    for i in range(frames - 1):
        curve, _ = curve_between(path, i)
        line += [curve(share / fineness) for share in range(fineness + 1)]
    shown = range(0, frames, frames // 15)
    worst = max(distance_to(line, joint) for i in shown for joint in trail.joints(i))
    print(f"train, off the way of its head, {frames} frames", f"{worst:.1e} bones")
    assert worst < 1e-2


def test_dragged_joints_come_no_farther_from_the_way_than_they_cut_its_corners():
    path = [(min(i, 10.0), max(0.0, i - 10.0), 0.0) for i in range(21)]  # Round a sharp corner.
    trail = Trail(straight(3), path)
    line = [*straight(3), *path]
    worst = max(distance_to(line, joint) for i in range(21) for joint in trail.joints(i))
    assert 0.1 < worst < 0.5 * 3


@pytest.mark.parametrize("is_on_path", [False, True])
def test_between_frames_nothing_jumps(is_on_path):
    path = circle(3.0, 30)
    trail = Trail(straight(6, 0.7), path, is_on_path)

    def largest(samples):
        steps = [trail.joints(29.0 * i / samples) for i in range(samples + 1)]
        return max(math.dist(a, b) for x, y in pairwise(steps) for a, b in zip(x, y, strict=True))

    assert largest(1600) < 0.4 * largest(400)


def test_fast_head_cuts_no_corner():
    """The same way in a tenth of the frames drags the chain to nearly the same place."""
    slow = Trail(straight(10, 0.3), circle(2.0, 241)).joints(240)
    fast = Trail(straight(10, 0.3), circle(2.0, 25)).joints(24)
    worst = max(math.dist(a, b) for a, b in zip(slow, fast, strict=True))
    print("free chain, ten times as fast", f"{worst / 0.3:.4f} bones off")
    assert worst < 0.03 * 0.3


def test_one_straight_step_is_as_good_as_many():
    """Which the backward pass itself comes to only in the limit."""
    chain = [(0.0, 0.0, 0.0), (0.3, 0.4, 0.0), (0.3, 1.0, 0.8)][::-1]
    size = [1.0]
    whole = dragged(chain[:2], size, (2.0, 3.0, 4.0))
    joints = chain[:2]
    for i in range(1, 1001):
        share = i / 1000
        place = tuple(a + (b - a) * share for a, b in zip(chain[0], (2.0, 3.0, 4.0), strict=True))
        joints = dragged(joints, size, place)
    assert math.dist(whole[1], joints[1]) < 1e-12
    joints = chain[:2]
    for i in range(1, 10_001):
        share = i / 10_000
        place = tuple(a + (b - a) * share for a, b in zip(chain[0], (2.0, 3.0, 4.0), strict=True))
        away = [b - a for a, b in zip(place, joints[1], strict=True)]
        joints = [place, tuple(a + b / math.hypot(*away) for a, b in zip(place, away, strict=True))]
    assert math.dist(whole[1], joints[1]) < 1e-3


def test_chain_that_is_pushed_straight_back_stays_straight_and_a_bent_one_turns_round():
    pushed = dragged([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [1.0], (0.5, 0.0, 0.0))
    assert pushed == ((0.5, 0.0, 0.0), (1.5, 0.0, 0.0))
    far = dragged([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [1.0], (1e6, 0.0, 0.0))
    assert math.dist(*far) == pytest.approx(1.0)
    turned = dragged([(0.0, 0.0, 0.0), (0.999, 0.0447, 0.0)], [1.0], (20.0, 0.0, 0.0))
    assert turned[1] == pytest.approx((19.0, 0.0, 0.0), abs=1e-3)


def test_head_that_stops_does_not_run_on():
    curve, _ = curve_between([(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (5.0, 0.0, 0.0)], 1)
    assert all(curve(i / 10)[0] == 5.0 for i in range(11))
    curve, _ = curve_between([(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (5.0, 0.0, 0.0)], 0)
    assert max(curve(i / 100)[0] for i in range(101)) <= 5.0


def test_degenerate_input_is_answered():
    stacked = [(0.0, 0.0, 0.0)] * 4
    for is_on_path in (False, True):
        for path in ([(0.0, 0.0, 0.0)] * 3, [(0.0, 0.0, 0.0), (1e9, 0.0, 0.0)]):
            assert (
                Trail(stacked, path, is_on_path).joints(0.5)[-1]
                == Trail(stacked, path, is_on_path).joints(0.5)[0]
            )
        folded = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
        joints = Trail(folded, [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)], is_on_path).joints(1.0)
        assert lengths_of(joints) == pytest.approx([1.0, 1.0, 1.0])
    assert dragged([(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)], [0.0], (1.0, 2.0, 3.0))[1] == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("chain", "path"),
    [
        ([(0, 0, 0)], [(0, 0, 0)]),
        ([(0, 0, 0), (1, 0, 0)], []),
        ([(0, 0, 0), (1, 0, 0)], [(0, math.nan, 0)]),
    ],
)
def test_what_cannot_be_is_refused(chain, path):
    with pytest.raises(ValueError):
        Trail(chain, path)


@pytest.mark.skipif(COMPILED, reason="what calls within a compiled module cannot be counted")
def test_a_frame_takes_as_many_steps_as_its_way_is_long_and_takes_them_once(monkeypatch):
    steps = 0

    def counted(*args):
        nonlocal steps
        steps += 1
        return dragged(*args)

    monkeypatch.setattr(follow, "dragged", counted)
    path = circle(10.0, 200)
    trail = Trail(straight(100, 0.1), path)
    trail.joints(199)
    # One at the start, and each frame's to the next whole one.
    assert steps <= 1 + sum(math.dist(a, b) / (FINENESS * 0.1) + 1.0 for a, b in pairwise(path))
    steps = 0
    trail.joints(199)
    trail.joints(150)
    assert steps == 0
    trail.joints(10.5)
    assert steps < 10
