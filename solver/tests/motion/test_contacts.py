"""When a foot stands, and with what: at any size, frame rate, and as captures tremble."""

import itertools
from math import cos, sin, tau

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from steps import BALL as BALL_JOINT
from steps import FLAT as FLAT_TIME
from steps import STAND, STEP, Steps, steps

from fabrik_solver.core.vectors import QUAT_IDENTITY, Vec, length, quat_about, sub
from fabrik_solver.motion.contacts import (
    BALL,
    BALL_HEIGHT,
    BALL_SPEED,
    FLAT,
    HEEL,
    HEEL_HEIGHT,
    HEEL_SPEED,
    Contact,
    Thresholds,
    Trajectory,
    contacts_of,
    floor_drifts,
    quantile,
    strikes_and_offs,
)

AUTOMATIC = Thresholds()


def found(walk: Steps, thresholds: Thresholds = AUTOMATIC) -> list[Contact]:
    return contacts_of(walk.heel(), walk.ball(), walk.turns(), walk.rate, walk.size, thresholds)


def of_point(
    path: list[Vec], rate: float = 24.0, leg: float = 0.9, thresholds: Thresholds = AUTOMATIC
) -> list[Contact]:
    """The contacts of a foot of which but one point is known."""
    way = Trajectory(path, [place[2] for place in path])
    return contacts_of(way, way, [QUAT_IDENTITY] * len(path), rate, leg, thresholds)


def labels(walk: Steps) -> list[bool]:
    """The published labels, frame by frame: both heel and ball are slow and low."""
    marks = []
    for way, speed, height in (
        (walk.heel(), HEEL_SPEED, HEEL_HEIGHT),
        (walk.ball(), BALL_SPEED, BALL_HEIGHT),
    ):
        window, last = max(1, round(walk.rate / 30)), len(way.path) - 1
        low = quantile(way.heights, 0.05)
        marks.append(
            [
                length(sub(way.path[min(last, i + window)], way.path[max(0, i - window)]))
                * walk.rate
                / (min(last, i + window) - max(0, i - window))
                < speed * walk.size
                and way.heights[i] - low < height * walk.size
                for i in range(last + 1)
            ]
        )
    return [a and b for a, b in zip(*marks, strict=True)]


@pytest.mark.parametrize("size", [0.1, 1.0, 24.0])
@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("tremble", [0.0, 1e-3])
def test_frames_that_are_flat_are_those_that_are_labelled(
    size: float, rate: float, tremble: float
) -> None:
    walk = steps(rate, size, tremble=tremble, creep=0.02)
    contacts = found(walk)
    flat = sum(p.last - p.first + 1 for c in contacts for p in c.parts if p.kind == FLAT)
    assert sum(labels(walk)) > 0.8 * rate
    assert abs(flat - sum(labels(walk))) <= 0.1 * sum(labels(walk))


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_contact_goes_from_heel_strike_to_toe_off(rate: float) -> None:
    """Within a few hundredths of a second of when it really does."""
    contacts = found(steps(rate))
    assert len(contacts) >= 3
    for i, contact in enumerate(contacts[:3]):
        kinds = [part.kind for part in contact.parts]
        assert kinds in ([FLAT, BALL], [HEEL, FLAT, BALL])
        flat = contact.parts[kinds.index(FLAT)]
        assert abs(flat.last / rate - i * STEP - FLAT_TIME[1]) < 0.09
        assert contact.last / rate - i * STEP < STAND + 0.04
        assert flat.first / rate - i * STEP < FLAT_TIME[1] / 2
        for a, b in itertools.pairwise(contact.parts):
            assert b.first == a.last + 1


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("tremble", [0.0, 5e-4])
def test_foot_is_on_the_ground_from_heel_strike_to_toe_off(rate: float, tremble: float) -> None:
    """Its joints are fast as it lands and leaves, so that it is locked for less time."""
    walk = steps(rate, tremble=tremble)
    contacts = found(walk)
    size = length(BALL_JOINT)
    spans = strikes_and_offs(contacts, walk.heel(), walk.ball(), walk.turns(), rate, size)
    for i, (first, last) in enumerate(spans[:3]):
        assert abs(first / rate - i * STEP) < 0.05
        assert abs(last / rate - i * STEP - STAND) < 0.05


CLIMBS = {
    "not level": ([0.0, 0.04, 0.08, 0.12], [0.0, 0.04, 0.08, 0.12]),
    "level, with a step": ([0.0, 0.0, 0.3, 0.0], [0.0, 0.0, 0.0, 0.0]),
    "level, after a cut": ([-0.9, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
}
"""Floors of captures: where a foot stands step by step, and how high the floor is there."""


@pytest.mark.parametrize("climb", CLIMBS)
def test_floor_drifts_from_stance_to_stance(climb: str) -> None:
    """What is a step higher, or far below, isn't floor."""
    stands, floors = CLIMBS[climb]
    heights: list[float] = []
    for level in stands:
        heights += [level + 0.2, *[level] * 20, level + 0.2]
    ball, heel = ([(0.0, 0.0, h + more) for h in heights] for more in (0.0, 0.08))
    points = [Trajectory(path, [place[2] for place in path]) for path in (heel, ball)]
    drifts = floor_drifts(*points, 0.85)
    assert [drifts[22 * i + 10] for i in range(4)] == pytest.approx(
        [floor - min(floors) for floor in floors], abs=1e-9
    )


@pytest.mark.parametrize("raised", range(4))
def test_ball_stands_as_long_as_it_is_low_in_its_own_stance(raised: int) -> None:
    """A marker of it is higher in one stance than in the others, in which it rises as well."""
    heel, ball = [], []
    for more in [0.033 * (i == raised) for i in range(4)]:
        heel += [(0.0, 0.0, 0.3), *[(0.0, 0.0, 0.08)] * 20, (0.0, 0.0, 0.3)]
        rolled = [(0.0, 0.0, more + 0.015 * max(0, i - 14) / 5) for i in range(20)]
        ball += [(0.0, 0.0, 0.3), *rolled, (0.0, 0.0, 0.3)]
    points = [Trajectory(path, [place[2] for place in path]) for path in (heel, ball)]
    turns = [QUAT_IDENTITY] * len(heel)
    contacts = contacts_of(points[0], points[1], turns, 30.0, 0.85, AUTOMATIC)
    lasts = [part.last % 22 for c in contacts for part in c.parts if part.kind == FLAT]
    assert len(lasts) == 4 and len(set(lasts)) == 1


def test_size_and_units_make_no_difference() -> None:
    wanted = found(steps(60.0))
    for size in (0.01, 100.0):
        assert found(steps(60.0, size)) == wanted


def test_foot_that_stands_all_the_time_has_one_contact() -> None:
    path = [(0.001 * sin(i), 0.0, 0.08) for i in range(50)]
    assert [(c.first, c.last) for c in of_point(path)] == [(0, 49)]


def test_foot_of_a_single_frame_neither_strikes_nor_leaves() -> None:
    """A shot may be a single frame long."""
    way = Trajectory([(0.0, 0.0, 0.0)], [0.0])
    contacts = contacts_of(way, way, [QUAT_IDENTITY], 24.0, 0.9, AUTOMATIC)
    assert contacts == []
    assert strikes_and_offs(contacts, way, way, [QUAT_IDENTITY], 24.0, 0.2) == []


def test_foot_that_flies_has_no_contact() -> None:
    path = [(0.1 * i, 0.0, 0.5) for i in range(50)]
    assert of_point(path) == []


def test_slow_foot_high_up_does_not_stand() -> None:
    """At the top of a kick the foot is still."""
    path = [(0.0, 0.0, 0.4 - 0.4 * cos(tau * i / 48)) for i in range(97)]
    for contact in of_point(path):
        assert max(place[2] for place in path[contact.first : contact.last + 1]) < 0.1


def test_gap_of_a_frame_or_two_is_none() -> None:
    """One wild frame is slow neither at itself nor next to it; the foot stands on."""
    path = [(0.0, 0.0, 0.08)] * 60
    path[30] = (0.02, 0.0, 0.08)
    assert [(c.first, c.last) for c in of_point(path, rate=120.0)] == [(0, 59)]


def test_t_pose_at_the_first_frame_does_not_matter() -> None:
    """Captures begin with one, far from where the motion goes on."""
    walk = steps(120.0)
    wanted = found(walk)
    first = walk.poses[0]._replace(place=(5.0, 3.0, 0.02))
    moved = walk._replace(poses=[first] * 1 + walk.poses[1:])
    assert found(moved)[1:] == wanted[1:]


def test_thresholds_of_yours_count() -> None:
    walk = steps(60.0)
    assert found(walk, Thresholds(speed=1e-9, height=1e-9)) == []
    assert found(walk, Thresholds(shortest=60)) == []
    wide = found(walk, Thresholds(speed=1.5, height=0.3))
    frames = [sum(c.last - c.first for c in one) for one in (wide, found(walk))]
    assert frames[0] > 1.1 * frames[1]


def test_height_threshold_of_yours_counts() -> None:
    """A foot that is set down from 6 cm, slowly: it stands once it is as low as you say."""
    path = [(0.0, 0.0, 0.08 + max(0.0, 0.06 - 0.002 * i)) for i in range(60)]
    for height in (0.01, 0.03):
        (contact,) = of_point(path, thresholds=Thresholds(speed=1.0, height=height))
        assert path[contact.first][2] <= 0.08 + height <= path[contact.first - 1][2] + 1e-9


def test_foot_that_creeps_on_is_not_held_for_long() -> None:
    path = [(0.002 * i, 0.0, 0.08) for i in range(800)]
    contacts = of_point(path)
    assert len(contacts) > 2
    for contact in contacts:
        assert path[contact.last][0] - path[contact.first][0] <= 2 * HEEL_HEIGHT * 0.9 + 1e-9
    for a, b in itertools.pairwise(contacts):
        assert b.first - a.last >= 2


@pytest.mark.parametrize("rate", [25.0, 60.0, 120.0])
@pytest.mark.parametrize("is_before", [False, True])
def test_toes_that_creep_as_the_foot_rolls_off_or_lands_stay_in_one_contact(
    rate: float, is_before: bool
) -> None:
    """They creep farther than a foot may in the middle of it, but not for long."""
    path = [(max(0.0, 0.28 * (i / rate - 1.5)), 0.0, 0.02) for i in range(int(1.9 * rate))]
    assert path[-1][0] > 1.5 * HEEL_HEIGHT
    away = [(path[-1][0] + 0.2, 0.0, 0.3)] * 10
    path = away + path[::-1] if is_before else path + away
    (contact,) = of_point(path, rate, 0.9)
    assert contact.last - contact.first > 1.75 * rate


def test_foot_that_slips_stands_on() -> None:
    """No swing takes less than a tenth of a second."""
    path = [(min(max(0.0, 0.011 * (i - 60)), 0.055), 0.0, 0.02) for i in range(90)]
    contacts = of_point(path, 60.0, 0.9)
    assert [(contact.first, contact.last) for contact in contacts] == [(0, 89)]


@pytest.mark.parametrize("rate", [24.0, 30.0, 60.0, 120.0])
def test_foot_that_runs_stands_for_a_short_time(rate: float) -> None:
    """It comes down, and leaves, at three legs a second, and swings several times as fast."""
    stride, low = 0.8, 0.04
    path: list[Vec] = []
    for i in range(int(3 * stride * rate) + 1):
        cycle, t = divmod(i / rate, stride)
        t -= 0.5 * stride
        place = stride * 10.0 * cycle
        if abs(t) > 0.06:
            share = (abs(t) - 0.06) / (0.5 * stride - 0.06)
            place += 5.0 * stride * share * (1 if t > 0 else -1)
        path.append((place, 0.0, low + 2.5 * max(0.0, abs(t) - 0.02)))
    contacts = of_point(path, rate, 0.85)
    assert len(contacts) == 3
    for number, contact in enumerate(contacts):
        middle = 0.5 * (contact.first + contact.last) / rate - (number + 0.5) * stride
        assert abs(middle) < 0.04


def test_foot_that_turns_on_the_spot_is_flat_only_for_a_while() -> None:
    """While it turns on, it pivots on its ball."""
    heel = [(-0.01 * cos(0.02 * i), -0.01 * sin(0.02 * i), 0.08) for i in range(90)]
    turns = [quat_about((0.0, 0.0, 1.0), 0.02 * i) for i in range(90)]
    still = [(0.0, 0.0, 0.02)] * 90
    (contact,) = contacts_of(
        Trajectory(heel, [0.08] * 90), Trajectory(still, [0.02] * 90), turns, 60.0, 0.9, AUTOMATIC
    )
    assert [part.kind for part in contact.parts] == [BALL, FLAT, BALL]
    flat = contact.parts[1]
    assert 0.02 * (flat.last - flat.first) < 0.75


@example([0.0, 0.0, 1.0], 0)
@given(st.lists(st.floats(-1.0, 1.0), min_size=0, max_size=40), st.integers(0, 9))
def test_contacts_are_apart_and_long_enough(moves: list[float], shortest: int) -> None:
    path, x = [], 0.0
    for move in moves:
        x += 0.1 * move
        path.append((x, 0.0, abs(move)))
    contacts = of_point(path, thresholds=Thresholds(shortest=shortest))
    for contact in contacts:
        assert contact.last - contact.first >= shortest  # A runner may stand for a frame.
    for a, b in itertools.pairwise(contacts):
        assert b.first - a.last >= 2


def test_contacts_are_the_same_played_backwards() -> None:
    path = [(0.5 * sin(tau * i / 200) ** 3, 0.0, 0.1 * cos(tau * i / 200) ** 2) for i in range(401)]
    last = len(path) - 1
    back = [(last - c.last, last - c.first) for c in of_point(path[::-1], 60.0)]
    assert back and back[::-1] == [(c.first, c.last) for c in of_point(path, 60.0)]


def test_no_track_has_no_contacts() -> None:
    assert of_point([]) == [] and of_point([(0.0, 0.0, 0.0)]) == []
    assert of_point([(0.0, 0.0, 0.0)] * 9, rate=0.0) == []
    assert of_point([(0.0, 0.0, 0.0)] * 9, leg=0.0) == []
