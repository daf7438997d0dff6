"""A foot that stands does not slide, and comes and goes without a jump, at any frame rate."""

from itertools import pairwise
from math import cos, sin

import pytest
from steps import UP, Steps, smoother, steps

from fabrik_solver.core.vectors import (
    Vec,
    add,
    length,
    mix,
    quat_about,
    quat_angle,
    rotate,
    slerp,
    sub,
)
from fabrik_solver.motion import knee
from fabrik_solver.motion.contacts import BALL, FLAT, HEEL, Contact, Part, Thresholds, contacts_of
from fabrik_solver.motion.ground import Pose
from fabrik_solver.motion.planted import Planted, blend_of, pivoted, sole_of
from fabrik_solver.motion.sole import Sole


def contacts_in(walk: Steps) -> list[Contact]:
    return contacts_of(walk.heel(), walk.ball(), walk.turns(), walk.rate, walk.size, Thresholds())


def planted_in(walk: Steps, lock_time: float = 0.1, sole: Sole | None = None) -> Planted:
    return Planted(
        contacts_in(walk),
        lambda _: True,
        lambda frame: walk.poses[frame],
        len(walk.poses),
        walk.roots.__getitem__,
        walk.size,
        UP,
        sole or walk.sole(),
        walk.rate,
        lock_time,
    )


def played(walk: Steps, lock_time: float = 0.1) -> list[Pose]:
    planted = planted_in(walk, lock_time)
    return [planted.at(frame, pose) for frame, pose in enumerate(walk.poses)]


def point(pose: Pose, at: Vec) -> Vec:
    return add(pose.place, rotate(pose.turn, at))


def bends(places: list[Vec], rate: float) -> list[float]:
    """The accelerations, in meters a second each second."""
    return [
        length(add(sub(a, b), sub(c, b))) * rate * rate
        for a, b, c in zip(places, places[1:], places[2:], strict=False)
    ]


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("size", [0.1, 1.0, 24.0])
def test_what_stands_does_not_slide(rate: float, size: float) -> None:
    walk = steps(rate, size, creep=0.03, tremble=1e-3)
    feet, sole = played(walk), walk.sole()
    for contact in contacts_in(walk):
        for part in contact.parts:
            frames = range(part.first, part.last + 1)
            balls = [point(feet[frame], sole.ball) for frame in frames]
            if part.kind in (FLAT, BALL):
                assert max(length(sub(ball, balls[0])) for ball in balls) < 2e-3 * size
            if part.kind == FLAT:
                assert max(length(sub(feet[f].place, feet[frames[0]].place)) for f in frames) < (
                    1e-9 * size
                )
                assert max(quat_angle(feet[f].turn, feet[frames[0]].turn) for f in frames) < 1e-9


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_toes_stay_where_they_are_as_the_foot_rolls_off(rate: float) -> None:
    """They bend at their joint, which a foot without toes takes along."""
    walk = steps(rate, creep=0.03)
    joint = (0.15, 0.0, -0.05)
    ways: list[float] = []
    for sole in (walk.sole(), walk.sole()._replace(joint=joint)):
        planted = planted_in(walk, sole=sole)
        moved = 0.0
        for contact in contacts_in(walk):
            frames = [
                f for p in contact.parts if p.kind != HEEL for f in range(p.first, p.last + 1)
            ]
            places = [point(planted.at(f, walk.poses[f]), joint) for f in frames]
            moved = max(moved, *(length(sub(place, places[0])) for place in places))
        ways.append(moved)
    assert ways[0] > 0.01 and ways[1] < 1e-9


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_it_comes_and_goes_without_a_jump(rate: float) -> None:
    """What it takes besides the animation is that of a few centimeters in a tenth of a second.

    A lock in a single frame would take some hundreds.
    """
    walk = steps(rate, creep=0.03)
    given = max(bends([pose.place for pose in walk.poses], rate))
    taken = max(bends([pose.place for pose in played(walk)], rate))
    assert taken < given + 30.0


@pytest.mark.parametrize("rate", [24.0, 30.0, 60.0])
@pytest.mark.parametrize("creep", [0.0, 0.03])
def test_it_goes_from_frame_to_frame_without_a_jump(rate: float, creep: float) -> None:
    """At no time between two frames it is much faster than from one frame to the next there.

    A jump between two frames takes a 64th of one, in which it is up to 64 times as fast.
    """
    walk, parts = steps(rate, creep=creep), 64
    planted = planted_in(walk)
    heels: list[Vec] = []
    for frame, (here, then) in enumerate(pairwise(walk.poses)):
        for share in (i / parts for i in range(parts)):
            given = Pose(mix(here.place, then.place, share), slerp(here.turn, then.turn, share))
            heels.append(point(planted.at(frame + share, given), walk.sole().heel))
    ways = [length(sub(b, a)) for a, b in pairwise(heels)]
    whole = [length(sub(b, a)) for a, b in pairwise(heels[::parts])]
    for i, way in enumerate(ways):
        frame = i // parts
        assert way * parts < 3.0 * max(whole[max(0, frame - 1) : frame + 2]) + 1e-4, i / parts


def test_it_is_near_the_animation_halfway_between_two_contacts() -> None:
    """The locks move it by up to 15 mm."""
    walk = steps(120.0, creep=0.03)
    feet, contacts = played(walk), contacts_in(walk)
    for before, after in pairwise(contacts):
        offsets = [
            length(sub(feet[frame].place, walk.poses[frame].place))
            for frame in range(before.last, after.first + 1)
        ]
        assert max(offsets) > 0.01 and offsets[len(offsets) // 2] < 0.35 * max(offsets)


@pytest.mark.parametrize("rate", [60.0, 120.0])
@pytest.mark.parametrize("size", [0.01, 1.0])
def test_foot_that_has_slid_far_comes_back_gently(rate: float, size: float) -> None:
    """In more than the lock time, in which the acceleration would be several times as high."""
    end, last = round(rate), round(2.0 * rate)

    def pose(frame: int) -> Pose:
        return Pose((0.2 * size * smoother(2.0 * frame / rate - 1.0), 0.0, 0.09 * size))

    planted = Planted(
        [Contact((Part(FLAT, 0, end),))],
        lambda _: True,
        pose,
        last + 1,
        lambda _: (0.0, 0.0, 0.5 * size),
        size,
        UP,
        Sole((0.0, 0.0, -0.09 * size), (0.1 * size, 0.0, -0.09 * size)),
        rate,
        0.1,
    )
    places = [planted.at(frame, pose(frame)).place[0] / size for frame in range(last + 1)]
    assert places[end] < 0.08 and places[last] == pytest.approx(0.2, abs=1e-3)
    bends = [a - 2.0 * b + c for a, b, c in zip(places, places[1:], places[2:], strict=False)]
    assert max(map(abs, bends)) * rate * rate < 18.0


@pytest.mark.parametrize("rate", [60.0, 120.0])
@pytest.mark.parametrize("size", [0.01, 1.0])
def test_straight_knee_is_let_go_as_gently_as_an_ankle(rate: float, size: float) -> None:
    """It moves by 10 cm for the 3 cm of the ankle, and so takes longer."""
    end, last = round(rate), round(2.0 * rate)

    def pose(frame: int) -> Pose:
        sunk = 0.03 * smoother(frame / end)
        return Pose((0.0, 0.0, (0.09 - sunk) * size))

    planted = Planted(
        [Contact((Part(FLAT, 0, end),))],
        lambda frame: frame == 0,
        pose,
        last + 1,
        lambda _: (0.0, 0.0, 0.999 * size),
        size,
        UP,
        Sole((0.0, 0.0, -0.09 * size), (0.1 * size, 0.0, -0.09 * size)),
        rate,
        0.1,
    )
    knees = [
        knee.offset(
            0.999 - (planted.at(frame, pose(frame)).place[2] - pose(frame).place[2]) / size, 1.0
        )
        for frame in range(end, last + 1)
    ]
    assert knees[0] > 0.1 and knees[-1] == pytest.approx(knee.offset(0.999, 1.0), abs=1e-3)
    assert max(bends([(knee, 0.0, 0.0) for knee in knees], rate)) < 35.0


@pytest.mark.parametrize("rate", [60.0, 120.0])
def test_straight_knee_is_let_go_as_gently_where_the_foot_rolls(rate: float) -> None:
    """Its heel, which the animation has raised by 2 cm, takes longer to rise from the floor."""
    end, last = round(rate), round(2.0 * rate)
    sole = Sole((0.0, 0.0, -0.09), (0.13, 0.0, -0.09))
    raised = pose_on_ball(sole, 0.15)
    planted = Planted(
        [Contact((Part(FLAT, 0, end), Part(BALL, end + 1, last)))],
        lambda frame: frame == 0,
        lambda frame: raised if frame else pose_on_ball(sole, 0.0),
        last + 1,
        lambda _: (0.0, 0.0, 0.95),
        1.0,
        UP,
        sole,
        rate,
        0.05,
    )
    ankles = [planted.at(frame, raised).place for frame in range(end, last + 1)]
    assert ankles[0][2] == pytest.approx(0.09) and ankles[-1][2] == pytest.approx(raised.place[2])
    root = add(raised.place, (0.0, 0.0, 0.95))
    knees = [knee.offset(length(sub(root, ankle)), 1.0) for ankle in ankles]
    assert max(bends([(knee, 0.0, 0.0) for knee in knees], rate)) < 35.0


def pose_on_ball(sole: Sole, raised: float) -> Pose:
    """A foot that stands on its ball, with its heel raised by an angle."""
    turn = quat_about((0.0, 1.0, 0.0), raised)
    return Pose(add((0.0, 0.0, 0.09), sub(sole.ball, rotate(turn, sole.ball))), turn)


def test_foot_does_not_jump_where_turning_it_ceases_to_bring_it_nearer() -> None:
    """As the hip passes the direction in which the ankle moves about the ball."""
    sole = Sole((0.0, 0.0, -0.09), (0.13, 0.0, -0.09))
    foot, places = Pose((0.0, 0.0, 0.09)), []
    for i in range(601):
        angle = 0.2 - 0.0025 * i
        root = (0.9 * sin(angle), 0.0, 0.09 + 0.9 * cos(angle))
        places.append(pivoted(foot, root, sole, UP, 0.89).place)
    assert length(sub(places[0], foot.place)) > 5e-3 and places[-1] == foot.place
    assert max(length(sub(b, a)) for a, b in pairwise(places)) < 1e-3


def test_foot_rolls_as_the_animation_does() -> None:
    """Heel off: it has turned almost as far as animated by the time that it leaves the ground."""
    walk = steps(120.0)
    feet = played(walk)
    for contact in contacts_in(walk)[:2]:
        flat = next(part for part in contact.parts if part.kind == FLAT)
        turned = quat_angle(feet[flat.last].turn, feet[contact.last].turn)
        left = quat_angle(feet[contact.last].turn, walk.poses[contact.last].turn)
        assert left < 0.2 * turned


def test_lock_takes_the_same_time_at_any_frame_rate() -> None:
    """At the same moments of a walk, the foot is where it is at another rate."""
    coarse, fine = played(steps(60.0, creep=0.03)), played(steps(120.0, creep=0.03))
    frames = range(20, len(coarse) - 20)  # What is before and after the clip nobody knows.
    assert max(length(sub(coarse[i].place, fine[2 * i].place)) for i in frames) < 8e-3


def test_longer_lock_time_is_calmer() -> None:
    walk = steps(240.0, creep=0.06)
    offsets = []
    for lock_time in (0.05, 0.1, 0.2):
        pairs = zip(played(walk, lock_time), walk.poses, strict=True)
        offsets.append([sub(foot.place, given.place) for foot, given in pairs])
    first, last = contacts_in(walk)[0].last + 1, contacts_in(walk)[1].first
    worst = [max(bends(one[first:last], 240.0)) for one in offsets]
    assert worst[0] > worst[1] > worst[2]


def standing(stretch: float, slide: float) -> Steps:
    """A foot that stands flat and creeps ahead, under a leg stretched behind it as far as given."""
    poses = [Pose((slide * smoother(i / 60), 0.0, 0.09)) for i in range(61)]
    roots = [sub((0.35, 0.0, 0.09 + (stretch**2 - 0.35**2) ** 0.5), (0.0, 0.0, 0.09))] * 61
    return Steps(poses, roots, 60.0, 1.0)


def test_heel_rises_where_the_leg_would_be_stretched_for_the_lock() -> None:
    """The ball stays, and the knee does not snap: it keeps a part of the bend that it has."""
    walk = standing(0.99, 0.04)
    planted = Planted(
        [Contact((Part(FLAT, 0, 60),))],
        lambda _: True,
        lambda frame: walk.poses[frame],
        61,
        walk.roots.__getitem__,
        walk.size,
        UP,
        walk.sole(),
        60.0,
        0.1,
    )
    ball = walk.sole().ball
    stretched, balls = [], []
    for frame, pose in enumerate(walk.poses):
        foot = planted.at(frame, pose)
        stretched.append(length(sub(add(pose.place, walk.roots[frame]), foot.place)))
        balls.append(point(foot, ball))
    assert max(length(sub(place, balls[0])) for place in balls) < 1e-9
    assert max(stretched) < 0.99 + 0.65 * 0.01
    raised = planted.at(60, walk.poses[60])
    assert raised.place[2] > 0.0905 and quat_angle(raised.turn, walk.poses[60].turn) > 3e-3


def test_foot_of_a_bent_leg_stays_flat() -> None:
    walk = standing(0.9, 0.04)
    feet = played(walk)
    assert feet[0] == feet[30] == feet[60]


def test_toes_stand_alone_in_a_run() -> None:
    """The foot turns about the ball, which stays; its heel never stands."""
    turned = [Pose((0.0, 0.0, 0.12), (0.99, 0.0, 0.141, 0.0))] * 40
    ball = (0.15, 0.0, -0.06)
    planted = Planted(
        [Contact((Part(BALL, 10, 20),))],
        lambda _: True,
        lambda frame: turned[frame],
        40,
        lambda _: (0.0, 0.0, 0.8),
        0.9,
        UP,
        Sole((0.0, 0.0, -0.09), ball),
        60.0,
        0.1,
    )
    places = [point(planted.at(f, turned[f]), ball) for f in range(10, 21)]
    assert max(length(sub(a, b)) for a, b in pairwise(places)) < 1e-12


SOLES = {
    # Its contacts, how high the foot is, where its ball is, and where the sole has it.
    "is that of most frames": ((0, 20, 40, 60), [0.09] * 60 + [0.15] * 10, 10, 0.0, -0.09),
    "is not thinner where a foot sinks before it rolls off": (
        (0,),
        [0.09] * 9 + [0.085, 0.075, 0.067],
        12,
        0.0,
        -0.09,
    ),
    "is not above the joint": ((0,), [0.09] * 10, 10, -0.1, -0.1),
}
"""One contact of four is on a step: the foot's sole is as thick there as elsewhere.

A short contact has few frames: a quarter of them isn't a level of its own. Where the capture has
the ball in the floor, the foot is on it and not as deep in it.
"""


@pytest.mark.rows("row")
@pytest.mark.parametrize("row", SOLES)
def test_sole(row: str) -> None:
    starts, heights, length, ball, expected = SOLES[row]
    contacts = [Contact((Part(FLAT, first, first + length - 1),)) for first in starts]
    foot = Sole((0.0, 0.0, 0.0), (0.14, 0.0, ball))
    sole = sole_of(foot, contacts, heights, [UP] * len(heights))
    assert sole.heel == pytest.approx((0.0, 0.0, -0.09))
    assert sole.ball == pytest.approx((0.14, 0.0, expected))


def landed(rate: float, lasts: int) -> tuple[list[Pose], list[Pose]]:
    """A foot before it lands in a run: as animated, and so that it is locked for some frames.

    On its ball and at speed, with a nearly straight leg, far away before that.
    """
    first, size = 20, 0.85
    poses: list[Pose] = []
    roots: list[Vec] = []
    for frame in range(2 * first):
        early, late = (far * 120.0 / rate for far in (min(0, frame - first), max(0, frame - first)))
        y, z = -0.025 * early - 0.012 * late, 0.38 - 0.02 * early - 0.002 * late
        poses.append(Pose((0.0, y, z)))
        stretch = 0.827 - 0.0015 * early - 0.01 * late
        roots.append((0.0, -stretch * sin(0.1), stretch * cos(0.1)))
    planted = Planted(
        [Contact((Part(BALL, first, first + lasts),))],
        lambda _: True,
        poses.__getitem__,
        len(poses),
        roots.__getitem__,
        size,
        UP,
        Sole((0.0, 0.0, 0.0), (0.0, -0.14, -0.38)),
        rate,
        0.1,
    )
    given = poses[: first + lasts]
    return given, [planted.at(frame, pose) for frame, pose in enumerate(given)]


def test_foot_that_lands_in_a_run_does_not_lunge() -> None:
    given, feet = landed(120.0, 5)
    most = max(bends([pose.place for pose in given], 120.0))
    assert max(bends([pose.place for pose in feet], 120.0)) < 1.2 * most


def test_foot_that_stands_for_a_moment_of_a_run_hardly_sinks_before_that() -> None:
    """One frame of a contact doesn't show how fast its heel comes down: the hip would sink too."""
    lasts = 1
    given, feet = landed(60.0, lasts)
    pairs = list(zip(feet, given, strict=True))[: len(given) - lasts]
    fall = given[0].place[2] - given[1].place[2]
    assert max([b.place[2] - a.place[2] for a, b in pairs]) < 0.6 * fall


def test_offset_goes_on_at_the_speed_at_which_one_lock_ends_and_the_next_begins() -> None:
    def offset(frame: int) -> Vec:
        return (0.002 * (frame - 10), 0.0, 0.0) if frame <= 10 else (0.0, 0.003 * (frame - 40), 0.0)

    blend = blend_of(offset, (0, 10), (40, 60), (0, 60), 12.0, 120.0)
    assert length(blend.at(10)) < 1e-9 and length(blend.at(40)) < 1e-9
    assert blend.at(11)[0] == pytest.approx(0.002, rel=0.2)
    assert blend.at(39)[1] == pytest.approx(-0.003, rel=0.2)
    assert max(map(abs, blend.at(25))) < 0.01
