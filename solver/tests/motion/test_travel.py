"""How far a body travels is found from feet of which it is known."""

import random
from collections.abc import Callable
from itertools import pairwise
from math import cos, dist, hypot, pi, radians, sin, tau

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.planar import STILL, Planar, planar_of
from fabrik_solver.motion.travel import (
    Steps,
    is_loop,
    slides_of,
    stances_of,
    travel_of,
)

LEG = 0.85
SOLE = ((0.0, 0.0), (-0.17, 0.08), (-0.24, 0.08))
"""Along the foot: below the ankle, below the toe joint, and the tip. It rolls about the second one,
whose position and height below the ankle are given."""

Way = Callable[[float], Planar]


def forward(speed: float) -> Way:
    return lambda time: Planar(0.0, -speed * time, 0.0)


def foot_at(frame: Planar, rise: float, pitch: float) -> list[Vec]:
    """A foot that points along −Y and rolls about its ball by an angle."""
    ball = SOLE[1][0]
    points: list[Vec] = []
    for along, _ in SOLE:
        back = max(0.0, along - ball)  # The toes stay flat.
        y = ball + back * cos(pitch) + (along - ball - back)
        points.append(frame.moved((0.0, y, rise + back * sin(pitch))))
    return points


def steps_of(
    way: Way,
    seconds: float,
    rate: float = 24.0,
    cycle: float = 1.0,
    stance: float = 0.6,
    lift: float = 0.12,
    noise: float = 0.0,
    size: float = 1.0,
) -> tuple[Steps, list[Planar]]:
    """Feet of a body on the spot that steps as for a path, and its position on that.

    Args:
        way: Where it is at a time in seconds.
        seconds: How long.
        rate: Samples a second.
        cycle: Seconds from step to step of one foot.
        stance: The share of it in which the foot stands.
        lift: How high a foot is lifted, in meters.
        noise: How far measured places are off, in meters.
        size: Of all lengths.
    """
    chance = random.Random(1)
    times = [i / rate for i in range(round(seconds * rate) + 1)]
    feet: list[list[list[Vec]]] = []
    for side, phase in ((0.1, 0.0), (-0.1, 0.5)):
        home = Planar(side, 0.0, 0.0)
        feet.append([])
        for time in times:
            step, u = divmod(time / cycle - phase, 1.0)
            stand = [way((step + k + phase + 0.5 * stance) * cycle).after(home) for k in (0, 1)]
            if u <= stance:
                pitch = radians(40.0) * max(0.0, u / stance - 0.7) / 0.3
                points = foot_at(stand[0], 0.0, pitch)
            else:
                s = (u - stance) / (1.0 - stance)
                share = s * s * (3.0 - 2.0 * s)
                between = stand[0].after(stand[0].inverse().after(stand[1]).share(share))
                points = foot_at(between, lift * sin(pi * s), radians(40.0) * (1.0 - s))
            back = way(time).inverse()
            feet[-1].append(
                [
                    tuple(size * (x + chance.gauss(0.0, noise)) for x in back.moved(p))
                    for p in points
                ]
            )
    body = [(0.0, 0.02 * size * sin(tau * time / cycle), 0.9 * size) for time in times]
    return Steps(times, feet, body, LEG * size), [way(time) for time in times]


def error(found: list[Planar], known: list[Planar]) -> float:
    return max(hypot(a.x - b.x, a.y - b.y) for a, b in zip(found, known, strict=True))


def worst_slide(steps: Steps, path: list[Planar], cycle: float = 1.0, stance: float = 0.6) -> float:
    """How far the ball of a foot slides in a contact, by when `steps_of` lets it stand."""
    worst = 0.0
    for foot, phase in zip(steps.feet, (0.0, 0.5), strict=True):
        places: dict[float, list[Vec]] = {}
        for time, move, points in zip(steps.times, path, foot, strict=True):
            step, u = divmod(time / cycle - phase, 1.0)
            if u <= stance:
                places.setdefault(step, []).append(move.moved(points[1]))
        worst = max(
            worst, *(dist(a[:2], b[:2]) for one in places.values() for a in one for b in one)
        )
    return worst


WAYS: dict[str, Way] = {
    "walk": forward(1.3),
    "backward": forward(-0.9),
    "strafe": lambda time: Planar(1.1 * time, 0.0, 0.0),
    "aslant": lambda time: Planar(0.6 * time, -1.0 * time, 0.0),
    "uneven": lambda time: Planar(0.0, -1.3 * time - 0.1 * sin(tau * time), 0.0),
    "hardly": forward(0.15),
}


@pytest.mark.parametrize("rate", [24.0, 30.0, 120.0])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_walk_on_the_spot_travels_as_its_feet_have_walked(way: Way, rate: float) -> None:
    steps, known = steps_of(way, 3.0, rate)
    path = travel_of(steps, False, True)
    assert path[0] == STILL
    assert error(path, known) < 0.02
    assert worst_slide(steps, path) < 0.005 < worst_slide(steps, [STILL] * len(known))


@pytest.mark.parametrize("speed", [2.5, 4.0])
def test_run_keeps_its_speed_in_flight(speed: float) -> None:
    steps, known = steps_of(forward(speed), 2.1, cycle=0.7, stance=0.35, lift=0.3)
    path = travel_of(steps, False, True)
    assert error(path, known) < 0.05 * speed * 2.1
    assert worst_slide(steps, path, 0.7, 0.35) < 0.005
    speeds = [24.0 * dist(a[:2], b[:2]) for a, b in pairwise(path)]
    assert min(speeds) > 0.85 * speed
    assert max(speeds) < 1.15 * speed


@pytest.mark.parametrize("angle", [90.0, -200.0])
def test_turn_in_place_turns(angle: float) -> None:
    def way(time: float) -> Planar:
        return Planar(0.0, 0.0, radians(angle) * time / 3.0)

    steps, _ = steps_of(way, 3.0, cycle=0.75, stance=0.7, lift=0.06)
    path = travel_of(steps, False, True)
    assert path[-1].angle == pytest.approx(radians(angle), abs=radians(5.0))
    assert hypot(path[-1].x, path[-1].y) < 0.05
    assert worst_slide(steps, path, 0.75, 0.7) < 0.005
    assert all(move.angle == 0.0 for move in travel_of(steps, False, False))


def test_walk_in_a_circle_comes_back() -> None:
    def way(time: float) -> Planar:
        angle = tau * time / 6.0
        return Planar(1.2 * (1.0 - cos(angle)), -1.2 * sin(angle), -angle).after(STILL)

    steps, known = steps_of(way, 6.0)
    path = travel_of(steps, False, True)
    assert path[-1].angle == pytest.approx(known[-1].angle, abs=radians(4.0))
    assert error(path, known) < 0.1
    assert worst_slide(steps, path) < 0.008


def test_noise_is_no_turn_and_makes_nothing_jump() -> None:
    steps, known = steps_of(forward(1.3), 4.0, rate=60.0, noise=0.001)
    path = travel_of(steps, False, True)
    assert all(move.angle == 0.0 for move in path)
    assert error(path, known) < 0.05 * 1.3 * 4.0
    assert worst_slide(steps, path) < 0.01
    changes = [
        dist((c.x - b.x, c.y - b.y), (b.x - a.x, b.y - a.y))
        for (a, b), c in zip(pairwise(path), path[2:], strict=False)
    ]
    assert max(changes) < 0.008


def test_loop_goes_on_at_its_end_as_at_its_start() -> None:
    """The clip begins in the middle of a flight; each end alone is inconclusive."""
    steps, _ = steps_of(forward(3.0), 0.7, cycle=0.7, stance=0.35, lift=0.3)
    first = 6  # In the flight.
    order = [*range(first, len(steps.times)), *range(1, first + 1)]
    steps = steps._replace(
        feet=[[foot[i] for i in order] for foot in steps.feet],
        body=[steps.body[i] for i in order],
    )
    assert is_loop(steps)
    path = travel_of(steps, True, True)
    first_step, last_step = -path[1].y, path[-2].y - path[-1].y
    assert last_step == pytest.approx(first_step, rel=0.02)
    assert -path[-1].y == pytest.approx(3.0 * steps.times[-1], rel=0.05)


def test_what_does_not_come_back_is_no_loop() -> None:
    steps, _ = steps_of(forward(1.3), 1.3)
    assert not is_loop(steps)
    steps, _ = steps_of(forward(1.3), 2.0)
    assert is_loop(steps)


def test_feet_that_stand_already_need_no_travel() -> None:
    steps, known = steps_of(forward(1.3), 3.0)
    moved = steps._replace(
        feet=[
            [[move.moved(p) for p in points] for move, points in zip(known, foot, strict=True)]
            for foot in steps.feet
        ],
        body=[move.moved(p) for move, p in zip(known, steps.body, strict=True)],
    )
    assert error(travel_of(moved, False, True), [STILL] * len(known)) < 0.03


def test_a_turn_there_and_back_is_found() -> None:
    """As in a blow: the body winds up, strikes, and ends as it began."""

    def wound(time: float) -> Planar:
        return Planar(0.0, -0.2 * sin(tau * time / 3.0), radians(35.0) * sin(tau * time / 3.0))

    steps, known = steps_of(wound, 3.0, cycle=3.0, stance=0.99)
    path = travel_of(steps, True, True)
    assert abs(path[-1].angle) < radians(1.0)
    assert worst_slide(steps, path, 3.0, 0.99) < 0.01
    assert max(abs(a.angle - b.angle) for a, b in zip(path, known, strict=True)) < radians(2.0)


def test_a_foot_that_is_dragged_over_the_floor_moves_no_body_that_stands() -> None:
    """One foot stands, and the other is put aside close to the floor, and back."""
    times = [i / 24.0 for i in range(49)]
    feet: list[list[list[Vec]]] = [[], []]
    for time in times:
        aside = 0.5 * (1.0 - cos(tau * min(max((time - 0.5) / 1.0, 0.0), 1.0)))
        for foot, x, far in ((0, 0.1, 0.03), (1, -0.1, 0.45)):
            feet[foot].append(foot_at(Planar(x, -far * aside, 0.0), 0.0, 0.0))
    steps = Steps(times, feet, [(0.0, 0.0, 0.9)] * len(times), LEG)
    path = travel_of(steps, True, True)
    slides = slides_of(steps, path, stances_of(steps, [STILL] * len(path)))
    before = slides_of(steps, [STILL] * len(path), stances_of(steps, [STILL] * len(path)))
    assert max(slides) < 1.2 * max(before)


def test_a_toe_that_swings_past_close_to_the_floor_holds_nothing_back() -> None:
    steps, known = steps_of(forward(1.3), 3.0, rate=60.0, lift=0.02)
    path = travel_of(steps, False, True)
    assert error(path, known) < 0.05 * 1.3 * 3.0


def pitched(steps: Steps, depth: float, cycle: float = 1.0, stance: float = 0.6) -> Steps:
    """Let the estimated tip of each foot, that is too long, dip into the floor after lift-off."""
    feet: list[list[list[Vec]]] = []
    for foot, phase in zip(steps.feet, (0.0, 0.5), strict=True):
        feet.append([])
        for time, points in zip(steps.times, foot, strict=True):
            u = ((time / cycle - phase) % 1.0 - stance) / (1.0 - stance)
            x, y, _ = points[2]
            dips = 0.0 < u < 0.4
            feet[-1].append(
                [*points[:2], (x, y, -depth * sin(pi * u / 0.4)) if dips else points[2]]
            )
    return steps._replace(feet=feet)


@pytest.mark.parametrize("depth", [0.05, 0.1])
def test_a_tip_that_dips_into_the_floor_in_the_swing_is_not_the_floor(depth: float) -> None:
    """It is where it is estimated to be, beyond what was modeled: as in a paw without toes."""
    steps, known = steps_of(forward(1.3), 3.0)
    dipping = pitched(steps, depth)
    assert min(p[2] for foot in dipping.feet for points in foot for p in points) < -0.8 * depth
    path = travel_of(dipping, False, True)
    assert error(path, known) < 0.05 * 1.3 * 3.0
    assert worst_slide(steps, path) < 0.01
    assert len(stances_of(dipping, path)) == 7


def test_slide_is_said_of_what_stands_and_not_of_what_swings() -> None:
    steps, known = steps_of(forward(1.3), 3.0)
    stances = stances_of(steps, known)
    assert len(stances) == 7  # Of one foot the first stance began before the clip.
    for foot, stood in stances:
        phase = 0.5 * foot
        for i in stood[1:]:
            assert (steps.times[i] - phase) % 1.0 <= 0.65
    assert max(slides_of(steps, known, stances)) < 0.03
    slow = [Planar(0.9 * move.x, 0.9 * move.y, 0.0) for move in known]
    found = sorted(slides_of(steps, slow, stances))[3]
    assert found == pytest.approx(0.1 * 1.3 * 0.6, rel=0.2)


def test_floor_that_rises_on_the_way_makes_no_difference() -> None:
    """Captures drift: by 7 % of a leg in two steps."""
    steps, known = steps_of(forward(1.3), 4.0, rate=60.0)
    tilted = steps._replace(
        feet=[
            [
                [(x, y, z + 0.03 * time) for x, y, z in points]
                for time, points in zip(steps.times, foot, strict=True)
            ]
            for foot in steps.feet
        ]
    )
    assert error(travel_of(tilted, False, True), known) < 0.05 * 1.3 * 4.0


@settings(max_examples=15)
@given(st.floats(0.01, 100.0), st.floats(-pi, pi))
def test_size_and_direction_make_no_difference(size: float, angle: float) -> None:
    plain, _ = steps_of(WAYS["aslant"], 1.0, size=1.0)
    path = travel_of(plain, True, False)
    turn = Planar(0.0, 0.0, angle)

    def moved(p: Vec) -> Vec:
        x, y, z = turn.moved(p)
        return (size * x, size * y, size * z)

    other = travel_of(
        plain._replace(
            feet=[[[moved(p) for p in points] for points in foot] for foot in plain.feet],
            body=[moved(p) for p in plain.body],
            leg=size * plain.leg,
        ),
        True,
        False,
    )
    for a, b in zip(path, other, strict=True):
        assert (b.x, b.y, 0.0) == pytest.approx(moved((a.x, a.y, 0.0)), abs=1e-6 * size)


moves = st.builds(Planar, st.floats(-9.0, 9.0), st.floats(-9.0, 9.0), st.floats(-3.0, 3.0))


@given(moves, moves)
def test_moves_make_a_group(a: Planar, b: Planar) -> None:
    place = (0.3, -0.7, 1.1)
    assert a.after(b).moved(place) == pytest.approx(a.moved(b.moved(place)), abs=1e-9)
    assert a.inverse().moved(a.moved(place)) == pytest.approx(place, abs=1e-9)


@given(moves, st.integers(1, 7))
def test_equal_shares_make_the_whole(move: Planar, count: int) -> None:
    part, whole = move.share(1.0 / count), STILL
    for _ in range(count):
        whole = whole.after(part)
    assert whole == pytest.approx(move, abs=1e-5)


@given(moves)
def test_move_of_what_only_moves_over_the_ground_is_that_move(move: Planar) -> None:
    c, s = cos(move.angle), sin(move.angle)
    place = (1.0, 2.0, 3.0)
    found = planar_of((c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0), place, move.moved(place), move.angle)
    assert found == pytest.approx(move, abs=1e-9)
