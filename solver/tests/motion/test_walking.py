"""Walking legs: what a walk promises, whatever way the body takes and over whatever ground."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Frame, inverse, point_in
from fabrik_solver.core.vectors import Vec, dot, mat_columns, quat_about, quat_matrix, sub
from fabrik_solver.motion.footfall import STILL, Footfall, foot_at, in_ground_space
from fabrik_solver.motion.foothold import GroundHit
from fabrik_solver.motion.gait import RecordedWalk, WalkingLeg, WalkSettings, bob_at, lean_at
from fabrik_solver.motion.packing import packed, unpacked
from fabrik_solver.motion.pattern import groups_of
from fabrik_solver.motion.stance import (
    UPRIGHT,
    Lean,
    LeanState,
    bend_of_ground,
    eased_to,
    leaned,
    plane_through,
)
from fabrik_solver.motion.swing import arc_over
from fabrik_solver.motion.walking import StepPlanner

Box = tuple[Vec, Vec]
Body = Callable[[float], Frame]

FLOOR: Box = ((-1e3, -1e3, -1.0), (1e3, 1e3, 0.0))
FRAMES = 120
ALONG_Y = (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
"""From where to where a foot steps, and its way up."""


def ground(*boxes: Box, number: int = STILL, shift: Vec = (0.0, 0.0, 0.0)):
    """Rays against boxes, given by two corners each, from outside and inside."""

    def cast(origin: Vec, direction: Vec, distance: float) -> GroundHit | None:
        start = sub(origin, shift)
        hits = [hit for box in boxes if (hit := _slab(box, start, direction, distance))]
        if not hits:
            return None
        far, normal = min(hits)
        place = tuple(o + far * d for o, d in zip(origin, direction, strict=True))
        return GroundHit(place, normal, number)

    return cast


def _slab(box: Box, start: Vec, direction: Vec, distance: float) -> tuple[float, Vec] | None:
    near, far, side = -math.inf, math.inf, (0.0, 0.0, 1.0)
    for axis in range(3):
        if abs(direction[axis]) < 1e-12:
            if not box[0][axis] <= start[axis] <= box[1][axis]:
                return None
            continue
        a = (box[0][axis] - start[axis]) / direction[axis]
        b = (box[1][axis] - start[axis]) / direction[axis]
        if min(a, b) > near:
            near = min(a, b)
            side = tuple(-math.copysign(float(i == axis), direction[axis]) for i in range(3))
        far = min(far, max(a, b))
    return (near, side) if near <= far and 0.0 <= near <= distance else None


def legs_of(count: int, pattern: str, height: float = 0.5, reach: float = 1.1) -> list[WalkingLeg]:
    """Legs in rows left and right; the last one of an odd number is at the right."""
    rows = (count + 1) // 2
    rests = []
    for leg in range(count):
        ahead = 0.0 if rows == 1 else 0.9 - 1.8 * (leg // 2) / (rows - 1)
        rests.append((0.7 if leg % 2 else -0.7, 0.7 * ahead, -height))
    groups = groups_of(rests, pattern)
    return [
        WalkingLeg(rest, (0.2 * rest[0], 0.6 * rest[1], 0.0), reach, group)
        for rest, group in zip(rests, groups, strict=True)
    ]


def standing(place: Vec = (0.0, 0.0, 0.5), turn: float = 0.0) -> Frame:
    return quat_matrix(quat_about((0.0, 0.0, 1.0), turn)), place


def walked(
    legs: Sequence[WalkingLeg], settings: WalkSettings, body: Body, cast=None, frames: int = FRAMES
) -> RecordedWalk:
    cast = cast or ground(FLOOR)
    walk = StepPlanner(legs, settings, 0, body(0), cast, still)
    for frame in range(1, frames + 1):
        walk.step(settings, body(frame), cast, still)
    return walk.record()


def still(number: int) -> Frame:
    raise AssertionError(f"nothing stands on ground {number}")


def ahead(speed: float, until: float = math.inf) -> Body:
    return lambda time: standing((0.0, speed * min(time, until), 0.5))


def farthest(
    legs: Sequence[WalkingLeg], record: RecordedWalk, body: Body, frames: int = FRAMES
) -> float:
    """How far a standing foot is from its leg's root at most, as a share of its reach."""
    most = 0.0
    for quarter in range(4 * frames + 1):
        at = quarter / 4
        frame = leaned(body(at), lean_at(record, at))
        for leg, falls in zip(legs, record.falls, strict=True):
            foot, swing = foot_at(falls, at, still)
            if swing is None:
                most = max(most, math.dist(foot.place, point_in(frame, leg.root)) / leg.reach)
    return most


def assert_groups_take_turns(legs: Sequence[WalkingLeg], record: RecordedWalk) -> None:
    spans = [
        (fall.lift, fall.land, leg.group)
        for leg, falls in zip(legs, record.falls, strict=True)
        for fall in falls
        if fall.land > fall.lift
    ]
    spans.sort()
    for i, (_, land, group) in enumerate(spans):
        for lift, _, other in spans[i + 1 :]:
            if lift >= land - 1e-9:  # The end of one share of a frame is the next one's begin.
                break
            assert other == group, f"groups {group} and {other} are in the air at {lift}"


PATTERNS = st.sampled_from(["ALTERNATING", "PAIRS", "WAVE"])


@st.composite
def ways(draw: st.DrawFn) -> Body:
    """A smooth way over the floor, with turns, rising and falling."""
    size = st.floats(-1.0, 1.0)
    speed, side, rise, spin = draw(size) * 0.12, draw(size) * 0.8, draw(size) * 0.1, draw(size)
    rate = draw(st.floats(0.02, 0.2))

    def body(time: float) -> Frame:
        swing = math.sin(rate * time)
        place = (side * swing, speed * time, 0.5 + rise * math.sin(2.0 * rate * time))
        return standing(place, 1.5 * spin * swing)

    return body


@st.composite
def manners(draw: st.DrawFn) -> WalkSettings:
    return WalkSettings(
        threshold=draw(st.floats(0.05, 0.6)),
        step_height=draw(st.floats(0.0, 0.4)),
        duration=draw(st.floats(1.0, 15.0)),
        overshoot=draw(st.floats(0.0, 1.0)),
        bob=draw(st.floats(0.0, 0.05)),
    )


@pytest.mark.long
@given(st.integers(2, 16), PATTERNS, manners(), ways())
@hypothesis_settings(max_examples=40)
def test_no_leg_loses_its_foot_and_groups_take_turns(
    count: int, pattern: str, settings: WalkSettings, body: Body
) -> None:
    legs = legs_of(count, pattern)
    record = walked(legs, settings, body, frames=60)
    assert farthest(legs, record, body, 60) <= 1.0
    assert_groups_take_turns(legs, record)
    for falls in record.falls:
        assert all(a.land <= b.lift <= b.land for a, b in pairwise(falls))


def test_groups_take_turns_where_several_are_lost_and_the_next_substep_is_shorter() -> None:
    settings = WalkSettings(
        threshold=0.21046986333928286,
        step_height=0.14266443387376349,
        duration=9.124200644175072,
        overshoot=0.6755073617148551,
        bob=0.00034418479702776896,
    )

    def body(time: float) -> Frame:
        swing = math.sin(0.1701072457766175 * time)
        rise = -0.08281491679256033 * math.sin(2.0 * 0.1701072457766175 * time)
        place = (0.3663494920599167 * swing, -0.01840913041062697 * time, 0.5 + rise)
        return standing(place, 1.5 * -0.8147153367970019 * swing)

    legs = legs_of(7, "PAIRS")
    record = walked(legs, settings, body, frames=60)
    assert_groups_take_turns(legs, record)


@pytest.mark.parametrize("speed", [0.02, 0.04, 0.1, 0.2])
@pytest.mark.parametrize(("count", "pattern"), [(8, "ALTERNATING"), (4, "PAIRS"), (6, "WAVE")])
def test_at_a_steady_pace_no_leg_is_stretched_out(count: int, pattern: str, speed: float) -> None:
    """The last 3 % are kept, in which a knee would snap."""
    legs, body = legs_of(count, pattern), ahead(speed)
    record = walked(legs, WalkSettings(), body, frames=60)
    assert farthest(legs, record, body, 60) <= 0.97


@given(manners(), ways(), st.integers(2, 12), st.integers(0, 3))
@hypothesis_settings(max_examples=10)
def test_a_turned_and_moved_world_walks_the_same(
    settings: WalkSettings, body: Body, count: int, seed: int
) -> None:
    legs = legs_of(count, "ALTERNATING")
    turn = quat_matrix(quat_about((0.6, 0.0, 0.8), 1.0 + seed))
    world: Frame = (turn, (3.0, -2.0, 1.0))
    back = inverse(world)
    flat = ground(FLOOR)

    def cast(origin: Vec, direction: Vec, distance: float) -> GroundHit | None:
        hit = flat(point_in(back, origin), _turned(back, direction), distance)
        return hit and GroundHit(point_in(world, hit.place), _turned(world, hit.normal), hit.ground)

    def moved(time: float) -> Frame:
        axes, place = body(time)
        columns = [_turned(world, column) for column in mat_columns(axes)]
        return tuple(c[i] for i in range(3) for c in columns), point_in(world, place)

    here = walked(legs, settings, body, frames=24)
    there = walked(legs, settings, moved, cast, frames=24)
    for a, b in zip(here.falls, there.falls, strict=True):
        # Until rounding decides a tie the other way.
        for fall, other in list(zip(a, b, strict=False))[:2]:
            assert math.dist(point_in(world, fall.place), other.place) <= 1e-3
            assert abs(fall.land - other.land) <= 1e-3


def _turned(frame: Frame, direction: Vec) -> Vec:
    return sub(point_in(frame, direction), frame[1])


@pytest.mark.parametrize("pattern", ["ALTERNATING", "WAVE"])
@pytest.mark.parametrize("speed", [0.001, 0.02, 0.2])
def test_a_body_that_stops_gets_its_feet_to_rest(pattern: str, speed: float) -> None:
    legs = legs_of(8, pattern)
    body = ahead(speed, 60.0)
    record = walked(legs, WalkSettings(), body, frames=150)
    for leg, falls in zip(legs, record.falls, strict=True):
        assert falls[-1].land < 130.0
        rest = point_in(leaned(body(150), lean_at(record, 150)), leg.rest)
        assert math.dist(falls[-1].place, rest) <= 0.05 * 0.25 * leg.reach + 1e-6


def test_a_body_that_stands_never_steps() -> None:
    record = walked(legs_of(8, "ALTERNATING"), WalkSettings(), ahead(0.0))
    assert all(len(falls) == 1 for falls in record.falls)
    assert all(state.lean == pytest.approx(UPRIGHT, abs=1e-12) for state in record.lean_states)


def test_turning_on_the_spot_steps_around() -> None:
    legs = legs_of(6, "ALTERNATING")

    def body(time: float) -> Frame:
        return standing(turn=0.05 * min(time, 80.0))

    record = walked(legs, WalkSettings(), body, frames=200)
    assert farthest(legs, record, body, 200) <= 1.0
    for leg, falls in zip(legs, record.falls, strict=True):
        assert len(falls) > 5
        assert math.dist(falls[-1].place, point_in(body(200), leg.rest)) <= 0.02 * leg.reach


def test_a_jump_of_the_body_sets_all_feet_down_anew() -> None:
    legs = legs_of(8, "ALTERNATING")

    def body(time: float) -> Frame:
        return standing((0.0, 0.01 * time + (50.0 if time >= 30.0 else 0.0), 0.5))

    record = walked(legs, WalkSettings(), body)
    for leg, falls in zip(legs, record.falls, strict=True):
        for frame in (30, 31):
            foot, swing = foot_at(falls, frame, still)
            root = point_in(body(frame), leg.root)
            assert math.dist(foot.place, root) <= leg.reach
            assert swing is None
        assert foot_at(falls, 29, still)[0].place[1] < 5.0


def test_steps_are_shorter_the_faster_the_body_and_as_set_if_it_is_slow() -> None:
    def longest_step(speed: float) -> float:
        record = walked(legs_of(8, "WAVE"), WalkSettings(duration=6.0), ahead(speed))
        spans = [b.land - b.lift for falls in record.falls for b in falls[2:-1]]
        return sorted(spans)[len(spans) // 2]

    assert longest_step(0.002) == pytest.approx(6.0)
    assert longest_step(0.3) < longest_step(0.06) < 6.0


def test_steps_start_and_end_between_frames() -> None:
    record = walked(legs_of(8, "ALTERNATING"), WalkSettings(duration=4.5), ahead(0.13))
    later = [fall for falls in record.falls for fall in falls[1:]]
    for times in ([fall.lift for fall in later], [fall.land for fall in later]):
        assert any(0.1 < time % 1.0 < 0.9 for time in times)


@pytest.mark.parametrize("pattern", ["ALTERNATING", "PAIRS", "WAVE"])
@pytest.mark.parametrize("count", [4, 6, 8])
@pytest.mark.parametrize("speed", [0.02, 0.06, 0.13])
def test_no_step_is_cut_short_at_a_steady_pace(pattern: str, count: int, speed: float) -> None:
    record = walked(legs_of(count, pattern), WalkSettings(), ahead(speed))
    spans = sorted(b.land - b.lift for falls in record.falls for b in falls[1:])
    assert spans[0] >= 0.5 * spans[len(spans) // 2]
    if pattern == "ALTERNATING":
        assert spans[len(spans) // 2] == pytest.approx(6.0)


def straight_legs(extension: float, aft: float = 0.0) -> list[WalkingLeg]:
    """Four legs of length 1 under their roots, or behind these, at rest that far stretched."""
    rests = [(side, along, -extension) for along in (0.7, -0.7) for side in (-0.15, 0.15)]
    high = math.sqrt(extension**2 - aft**2) - extension
    return [
        WalkingLeg((x, y, z), (x, y + aft, high), 1.0, group)
        for (x, y, z), group in zip(rests, groups_of(rests, "ALTERNATING"), strict=True)
    ]


def swung(falls: Sequence[Footfall], frames: int) -> dict[int, float]:
    """How high each step of a foot is seen at whole frames, by its place among the footfalls."""
    tops: dict[int, float] = {}
    for frame in range(frames + 1):
        foot, swing = foot_at(falls, frame, still)
        step = max(i for i, fall in enumerate(falls) if i == 0 or fall.lift <= frame)
        tops[step] = max(tops.get(step, 0.0), foot.place[2] if swing is not None else 0.0)
    return tops


@pytest.mark.parametrize("aft", [0.0, 0.2])
@pytest.mark.parametrize("speed", [0.01, 0.03, 0.06, 0.12])
@pytest.mark.parametrize("extension", [0.8, 0.9, 0.95, 0.97, 0.99, 0.999])
def test_feet_lift_however_straight_their_legs_rest(
    extension: float, speed: float, aft: float
) -> None:
    legs = straight_legs(extension, aft)

    def body(time: float) -> Frame:
        return standing((0.0, speed * time, extension))

    frames = max(60, round(7.0 / speed))
    record = walked(legs, WalkSettings(), body, frames=frames)
    assert farthest(legs, record, body, frames) <= 0.97
    for leg, falls in zip(legs, record.falls, strict=True):
        assert all(fall.has_ground for fall in falls)
        tops = swung(falls, frames)
        # The last one is not done; three quarters are seen of one that takes four frames.
        assert all(tops[i] >= 0.75 * 0.15 for i in range(1, len(falls) - 1))
        knees = []
        for frame in range(frames + 1):
            foot, swing = foot_at(falls, frame, still)
            root = point_in(leaned(body(frame), lean_at(record, frame)), leg.root)
            far = math.dist(root, foot.place)
            assert far <= (1.0 if swing is None else 1.02)
            knees.append(2.0 * math.asin(min(far, 1.0)))
        bends = [a - 2.0 * b + c for a, b, c in zip(knees, knees[1:], knees[2:], strict=False)]
        assert max(map(abs, bends)) <= math.radians(25.0 + 300.0 * speed)


def test_a_body_that_cannot_sink_takes_shorter_steps() -> None:
    def walk(leans: bool) -> tuple[RecordedWalk, float]:
        legs, body = straight_legs(0.94), lambda time: standing((0.0, 0.05 * time, 0.94))
        record = walked(legs, WalkSettings(leans=leans), body, frames=200)
        assert farthest(legs, record, body, 200) <= 0.97
        ways = [b.place[1] - a.place[1] for falls in record.falls for a, b in pairwise(falls[1:])]
        return record, sorted(ways)[len(ways) // 2]

    (stiff, short), (_, long) = walk(leans=False), walk(leans=True)
    assert all(state.lean == UPRIGHT for state in stiff.lean_states)
    assert 0.1 < short < 0.75 * long


@pytest.mark.parametrize("pattern", ["ALTERNATING", "WAVE"])
def test_a_walk_begins_in_mid_stride_where_the_body_moves_at_once(pattern: str) -> None:
    """As where a cycle is repeated: the first steps are like those that come later."""
    legs, body = legs_of(4, pattern), ahead(0.08)
    record = walked(legs, WalkSettings(), body)
    for falls in record.falls:
        spans = [b.land - b.lift for b in falls[1:-1]]
        assert spans[0] == pytest.approx(spans[3], rel=0.1)
    offsets = {
        leg.group: falls[0].place[1] - leg.rest[1]
        for leg, falls in zip(legs, record.falls, strict=True)
        if leg.rest[1] > 0.0
    }
    assert max(offsets.values()) - min(offsets.values()) > 0.1


def test_overshoot_lands_a_foot_ahead_of_its_rest_place() -> None:
    legs, body = legs_of(4, "ALTERNATING"), ahead(0.04)
    for overshoot in (0.0, 1.0):
        settings = WalkSettings(threshold=0.2, duration=4.0, overshoot=overshoot)
        record = walked(legs, settings, body)
        fall = record.falls[0][4]
        rest = point_in(leaned(body(fall.land), lean_at(record, fall.land)), legs[0].rest)
        lead = fall.place[1] - rest[1]
        assert lead == pytest.approx(overshoot * 0.2 * 1.1, abs=0.06)


def test_a_step_rises_by_its_height_and_leaves_and_arrives_without_a_jerk() -> None:
    record = walked(legs_of(4, "ALTERNATING"), WalkSettings(step_height=0.2), ahead(0.02))
    fall = record.falls[0][2]
    middle, _ = foot_at(record.falls[0], 0.5 * (fall.lift + fall.land), still)
    assert middle.place[2] == pytest.approx(0.2 * 1.1, abs=1e-9)
    for at in (fall.lift, fall.land):
        # No speed and no acceleration: only the third power of the time is left.
        for e in (1e-2, 1e-3):
            near = [foot_at(record.falls[0], at + way, still)[0].place for way in (-e, e)]
            assert math.dist(*near) <= 1.0 * e**3


def test_a_step_clears_what_stands_between() -> None:
    kerb: Box = ((-9.0, 0.45, 0.0), (9.0, 0.55, 0.3))
    arc = arc_over(ground(FLOOR, kerb), *ALONG_Y, 0.1, 1.0)
    assert (arc.late, arc.early) == (0.0, 0.0)
    assert 0.3 + 0.05 <= arc.height <= 0.36


@pytest.mark.parametrize("sole", [0.0, 0.01, 0.03])
def test_neither_middle_nor_ends_of_a_sole_cut_the_edges_of_stairs(sole: float) -> None:
    """Stairs up and down, with edges anywhere between rays and right beside footholds."""
    rng = random.Random(1)
    up = (0.0, 0.0, 1.0)
    for _ in range(400):
        deep, high = rng.uniform(0.2, 0.5), rng.uniform(0.05, 0.2)
        steps = [((-9.0, deep * (i + 1), -1.0), (9.0, 99.0, high * (i + 1))) for i in range(3)]

        def height(y: float, deep: float = deep, high: float = high) -> float:
            return high * min(3, max(0, math.floor(y / deep)))

        a = rng.uniform(-0.3, 1.2)
        b = a + rng.uniform(0.1, 0.6) * rng.choice((1.0, -1.0))
        if any(height(y - sole) != height(y + sole) for y in (a, b)):
            continue  # It stands in a stair already.
        start, end = (0.0, a, height(a)), (0.0, b, height(b))
        wide = (sole,) if sole else ()
        arc = arc_over(ground(FLOOR, *steps), start, end, up, 0.06, 0.5, *wide)
        ahead = (0.0, 1.0, 0.0)
        falls = [
            Footfall(-1.0, -1.0, start, up, ahead, STILL, 0.0, True),
            Footfall(0.0, 1.0, end, up, ahead, STILL, arc.height, True, arc.late, arc.early),
        ]
        for i in range(101):
            _, y, z = foot_at(falls, i / 100, still)[0].place
            # Of a leg of 1 m; before, its middle went 42 mm deep, and its ends 103 mm.
            assert max(height(y + by) for by in (-sole, 0.0, sole)) - z <= 0.015


def test_before_an_edge_a_foot_rises_first_and_behind_it_comes_down_last() -> None:
    stair: Box = ((-9.0, 0.05, 0.0), (9.0, 9.0, 0.3))
    start, end = (0.0, 0.0, 0.0), (0.0, 0.6, 0.3)
    rise = (0.0, 0.0, 1.0)
    up = arc_over(ground(FLOOR, stair), start, end, rise, 0.1, 1.0)
    down = arc_over(ground(FLOOR, stair), end, start, rise, 0.1, 1.0)
    assert (up.late, up.early) == (down.early, down.late)
    assert up.late > up.early == 0.0
    assert 0.1 < up.height < 0.6


def test_what_is_beyond_a_roof_is_not_stepped_over() -> None:
    roof: Box = ((-9.0, -9.0, 0.5), (9.0, 9.0, 0.6))
    arc = arc_over(ground(FLOOR, roof), *ALONG_Y, 0.1, 1.0)
    assert arc == (0.1, 0.0, 0.0)


@pytest.mark.parametrize("speed", [0.03, 0.06])
def test_no_swinging_foot_cuts_through_stairs(speed: float) -> None:
    legs = legs_of(8, "ALTERNATING")
    steps = [((-9.0, 1.0 + 0.4 * i, -1.0), (9.0, 99.0, 0.15 * (i + 1))) for i in range(12)]
    frames = round(5.0 / speed)
    record = walked(legs, WalkSettings(), ahead(speed), ground(FLOOR, *steps), frames)
    for falls in record.falls:
        for before, fall in pairwise(falls):
            for i in range(1, 20):
                time = fall.lift + (fall.land - fall.lift) * i / 20
                _, y, z = foot_at([before, fall], time, still)[0].place
                inside = [min(y - low[1], high[2] - z) for low, high in steps]
                assert max(inside) <= 0.01 * legs[0].reach


def test_feet_travel_with_moving_ground() -> None:
    legs = legs_of(8, "ALTERNATING")
    deck: Box = ((-20.0, -20.0, -1.0), (20.0, 20.0, 0.0))

    def deck_at(time: float) -> Frame:
        return quat_matrix(quat_about((0.0, 0.0, 1.0), 0.01 * time)), (0.9 * time, 0.0, 0.0)

    def carried(time: float, own: float) -> Frame:
        axes = quat_about((0.0, 0.0, 1.0), 0.01 * time)
        return quat_matrix(axes), point_in(deck_at(time), (0.0, own * time, 0.5))

    for own in (0.0, 0.03):
        walk = None
        for frame in range(60):
            at = deck_at(frame)
            back = inverse(at)

            def cast(
                origin: Vec, direction: Vec, distance: float, at=at, back=back
            ) -> GroundHit | None:
                flat = ground(deck, number=3)
                hit = flat(point_in(back, origin), _turned(back, direction), distance)
                return hit and GroundHit(point_in(at, hit.place), _turned(at, hit.normal), 3)

            if walk is None:
                walk = StepPlanner(
                    legs, WalkSettings(), 0, carried(0, own), cast, lambda _, at=at: at
                )
            else:
                walk.step(WalkSettings(), carried(frame, own), cast, lambda _, at=at: at)
        record = walk.record()
        for leg, falls in zip(legs, record.falls, strict=True):
            assert (len(falls) == 1) == (own == 0.0)
            for frame in range(60):
                foot, swing = foot_at(falls, frame, lambda _, frame=frame: deck_at(frame))
                root = point_in(leaned(carried(frame, own), lean_at(record, frame)), leg.root)
                assert swing is not None or math.dist(foot.place, root) <= leg.reach


def test_stairs_are_climbed() -> None:
    legs = legs_of(8, "ALTERNATING")
    steps = [((-9.0, 1.0 + 0.4 * i, -1.0), (9.0, 99.0, 0.15 * (i + 1))) for i in range(12)]

    def body(time: float) -> Frame:
        return standing((0.0, 0.03 * time, 0.5))

    record = walked(legs, WalkSettings(tilt=1.0), body, ground(FLOOR, *steps), frames=200)
    assert farthest(legs, record, body, 200) <= 1.0
    assert all(fall.has_ground for falls in record.falls for fall in falls)
    assert lean_at(record, 200).lift == pytest.approx(0.15 * 12, abs=0.25)
    assert lean_at(record, 160).ahead > 0.2


def test_a_wall_is_climbed_where_the_body_turns_up() -> None:
    legs = legs_of(8, "ALTERNATING")
    wall: Box = ((-9.0, 3.0, -1.0), (9.0, 4.0, 30.0))

    def body(time: float) -> Frame:
        if time < 60:
            return standing((0.0, 0.03 * time, 0.5))
        if time < 120:
            part = (time - 60) / 60
            turn = quat_matrix(quat_about((1.0, 0.0, 0.0), 0.5 * math.pi * part))
            return turn, (0.0, 1.8 + 0.7 * part, 0.5 + 0.6 * part)
        turn = quat_matrix(quat_about((1.0, 0.0, 0.0), 0.5 * math.pi))
        return turn, (0.0, 2.5, 1.1 + 0.03 * (time - 120))

    record = walked(legs, WalkSettings(climbs=True), body, ground(FLOOR, wall), frames=240)
    assert farthest(legs, record, body, 240) <= 1.0
    assert all(fall.has_ground for falls in record.falls for fall in falls)
    for falls in record.falls:
        assert falls[0].normal == (0.0, 0.0, 1.0)
        assert falls[-1].normal == (0.0, -1.0, 0.0)
        assert falls[-1].place[1] == pytest.approx(3.0)


def test_a_ceiling_is_walked_on_upside_down() -> None:
    legs = legs_of(8, "ALTERNATING")
    roof: Box = ((-99.0, -99.0, 5.0), (99.0, 99.0, 6.0))

    def body(time: float) -> Frame:
        return quat_matrix(quat_about((0.0, 1.0, 0.0), math.pi)), (0.0, 0.03 * time, 4.5)

    record = walked(legs, WalkSettings(), body, ground(FLOOR, roof))
    assert farthest(legs, record, body) <= 1.0
    places = [fall.place[2] for falls in record.falls for fall in falls]
    assert places == pytest.approx([5.0] * len(places))


def test_an_edge_is_wrapped_around_by_climbers() -> None:
    legs = legs_of(8, "ALTERNATING")
    cliff: Box = ((-9.0, -9.0, -5.0), (9.0, 0.3, 0.0))
    record = walked(legs, WalkSettings(climbs=True), ahead(0.0), ground(cliff), frames=2)
    assert all(falls[0].has_ground for falls in record.falls)
    assert {falls[0].normal for falls in record.falls} >= {(0.0, 0.0, 1.0), (0.0, 1.0, 0.0)}


def test_without_ground_the_feet_hang_within_reach() -> None:
    legs, body = legs_of(6, "ALTERNATING"), ahead(0.05)
    record = walked(legs, WalkSettings(), body, ground())
    assert not any(fall.has_ground for falls in record.falls for fall in falls)
    assert farthest(legs, record, body) <= 1.0


def test_legs_of_different_length_walk_together() -> None:
    legs = [
        leg._replace(reach=0.8 + 0.15 * i, rest=(leg.rest[0] * (0.7 + 0.1 * i), *leg.rest[1:]))
        for i, leg in enumerate(legs_of(6, "ALTERNATING"))
    ]
    record = walked(legs, WalkSettings(), ahead(0.04))
    assert farthest(legs, record, ahead(0.04)) <= 1.0
    assert_groups_take_turns(legs, record)


@given(manners(), ways(), st.floats(-0.4, 0.4))
@hypothesis_settings(max_examples=10)
def test_the_body_leans_without_a_jerk(settings: WalkSettings, body: Body, slope: float) -> None:
    """The spring's own bound: the acceleration is what the way to the plane asks for, and less."""
    legs = legs_of(8, "ALTERNATING")
    steps = [((-9.0, 0.8 * i, -1.0), (9.0, 99.0, slope * i)) for i in range(1, 9)]
    record = walked(legs, settings, body, ground(FLOOR, *steps), frames=80)
    rate = 4.0 / settings.duration
    leans = [lean_at(record, i / 2) for i in range(160)]
    most = 4.0 * max(abs(lean.lift) for lean in leans) + 0.5
    for a, b, c in zip(leans, leans[1:], leans[2:], strict=False):
        assert abs(a.lift - 2.0 * b.lift + c.lift) <= most * min(1.0, rate * rate)


def test_a_twist_is_that_of_the_feet_at_both_ends_of_a_spine() -> None:
    rests = [(x, y, 0.0) for y in (0.0, 1.0) for x in (-1.0, 1.0)]
    spines = [0.0, 0.0, 1.0, 1.0]
    feet = [(x, y, 0.1 + x * (0.2 - 0.3 * y) + 0.1 * y) for x, y, _ in rests]
    lean = plane_through(feet, rests, spines)
    # By a twentieth of the variance, 4 + 1, it is less than that.
    shrunk = 4.0 / (4.0 + 0.05 * 5.0)
    assert lean.right_at(0.0) + lean.right_at(1.0) == pytest.approx(0.1 * shrunk)
    assert lean.twist == pytest.approx(-0.3 * shrunk)
    assert leaned(WHOLE, lean, spine=1.0)[0] != leaned(WHOLE, lean)[0]
    # All at one end, or none on a spine: there is nothing to twist.
    assert plane_through(feet, rests).twist == 0.0
    assert plane_through(feet, rests, [0.0] * 4) == plane_through(feet, rests)


def test_a_bend_is_that_of_the_ground_under_the_feet_at_both_ends_of_a_spine() -> None:
    hind, front, level = (0.0, 0.2, 1.0), (0.3, -0.4, 2.0), (0.0, 0.0, 1.0)
    spines = [0.0, 1.0, 1.0]
    assert bend_of_ground([hind, front, front], spines) == pytest.approx(0.2 + 0.2)
    assert bend_of_ground([hind, front, level], spines) == pytest.approx(0.2 + 0.1)
    assert bend_of_ground([hind, hind, hind], spines) == pytest.approx(0.0)
    # A wall bends it no further than a stone, and an overhang does not.
    assert bend_of_ground([hind, (0.0, -1.0, 1e-9)], [0.0, 1.0]) == pytest.approx(0.7)
    assert bend_of_ground([hind, (0.0, -1.0, -0.5)], [0.0, 1.0]) == pytest.approx(0.2)
    # All at one end, or none on a spine: there is nothing to bend.
    assert bend_of_ground([hind, front], [0.0, 0.0]) == bend_of_ground([], []) == 0.0
    lean = Lean(0.0, 0.0, 0.1, 0.0, 0.4)
    assert (lean.ahead_at(0.0), lean.ahead_at(1.0)) == (0.1, 0.5)
    up = mat_columns(leaned(standing(), lean, spine=1.0)[0])[2]
    assert dot(up, (0.0, 1.0, lean.climb_at(1.0))) == pytest.approx(0.0, abs=1e-9)


def test_a_lean_is_the_plane_through_the_feet() -> None:
    rests = [leg.rest for leg in legs_of(8, "WAVE")]
    feet = [(x, y, z + 0.3 + 0.2 * x - 0.1 * y) for x, y, z in rests]
    lean = plane_through(feet, rests)
    assert lean.lift == pytest.approx(0.3, abs=0.01)
    assert lean.right == pytest.approx(0.2, rel=0.15)
    assert lean.ahead == pytest.approx(-0.1, rel=0.15)
    up = mat_columns(leaned(standing(), lean)[0])[2]
    assert dot(up, (1.0, 0.0, lean.right)) == pytest.approx(0.0, abs=1e-9)


@given(st.floats(0.1, 50.0), st.integers(1, 20))
def test_a_lean_that_eases_is_the_same_in_one_step_or_in_many(time: float, steps: int) -> None:
    start, target = LeanState(Lean(1.0, -0.5, 0.2), Lean(0.1, 0.0, -0.3)), Lean(-1.0, 0.3, 0.0)
    once, many = eased_to(start, target, 2.0, time), start
    for _ in range(steps):
        many = eased_to(many, target, 2.0 / steps, time)
    assert many.lean == pytest.approx(once.lean, abs=1e-9)


def test_the_body_bobs_once_with_each_step() -> None:
    legs = legs_of(6, "ALTERNATING")
    record = walked(legs, WalkSettings(), ahead(0.03))
    groups = [leg.group for leg in legs]
    bobs = [bob_at(record, groups, i / 4) for i in range(4 * FRAMES)]
    assert max(bobs) == pytest.approx(1.0, abs=0.05)
    assert min(bobs) == 0.0
    assert max(abs(a - b) for a, b in pairwise(bobs)) <= 0.25


def test_patterns_are_those_of_animals() -> None:
    def groups(count: int, pattern: str) -> list[int]:
        return [leg.group for leg in legs_of(count, pattern)]

    # Rows from the front, left before right.
    assert groups(2, "ALTERNATING") == [0, 1]
    assert groups(4, "ALTERNATING") == [0, 1, 1, 0]  # trot
    assert groups(6, "ALTERNATING") == [0, 1, 1, 0, 0, 1]  # tripod
    assert groups(8, "ALTERNATING") == [0, 1, 1, 0, 0, 1, 1, 0]  # alternating tetrapod
    assert groups(4, "PAIRS") == [0, 1, 1, 0]
    assert sorted(groups(8, "PAIRS")) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert groups(8, "WAVE") == [3, 7, 2, 6, 1, 5, 0, 4]


@pytest.mark.parametrize("pattern", ["ALTERNATING", "PAIRS", "WAVE"])
@pytest.mark.parametrize("count", range(2, 17))
def test_no_pattern_lets_both_legs_of_a_row_go(pattern: str, count: int) -> None:
    groups = [leg.group for leg in legs_of(count, pattern)]
    for left, right in zip(groups[::2], groups[1::2], strict=False):
        assert left != right


def test_a_place_on_stretched_ground_comes_back() -> None:
    deck: Frame = ((2.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0))
    axes = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    fall = in_ground_space(Footfall(0.0, 0.0, (0.3, 0.4, 0.5), *axes, 0, 0.0, True), lambda _: deck)
    foot, _ = foot_at([fall], 5.0, lambda _: deck)
    assert foot.place == pytest.approx((0.3, 0.4, 0.5))
    assert foot.normal == pytest.approx(axes[0])
    assert foot.ahead == pytest.approx(axes[1])


def test_a_walk_casts_few_rays_and_no_more_the_longer_it_is() -> None:
    legs, floor = legs_of(8, "ALTERNATING"), ground(FLOOR)
    rays = 0

    def cast(origin: Vec, direction: Vec, distance: float) -> GroundHit | None:
        nonlocal rays
        rays += 1
        return floor(origin, direction, distance)

    def rays_of(frames: int) -> int:
        nonlocal rays
        rays = 0
        walked(legs, WalkSettings(), ahead(0.04), cast, frames)
        return rays

    start = rays_of(1)
    for frames in (100, 1000):
        each = (rays_of(frames) - start) / (len(legs) * frames)
        assert 1.5 < each < 3.0


def test_a_walk_comes_back_from_its_bytes_to_the_last_bit() -> None:
    record = walked(legs_of(5, "WAVE"), WalkSettings(), ahead(0.05), frames=40)
    blob = packed(record, ["Rock", "Déjà vu"])
    assert unpacked(blob) == (record, ["Rock", "Déjà vu"])
    for broken in (b"", b"walk1", blob[:-5], b"x" + blob[1:]):
        with pytest.raises(ValueError, match="damaged"):
            unpacked(broken)
