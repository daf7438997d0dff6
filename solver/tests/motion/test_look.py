"""Looking at a place: exact, within limits, upright, and without a jump."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, ChainInput, Cone, Hinge, Limit, Local, bone_frame
from fabrik_solver.core.vectors import (
    IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mat_apply,
    mat_columns,
    quat_about,
    quat_angle,
    quat_matrix,
    quat_product,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.damping import mean, moments
from fabrik_solver.motion.look import Look, angle_between, gaze_angle, pose_look

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
AXES = (X, Y, Z, scaled(X, -1.0), scaled(Y, -1.0), scaled(Z, -1.0))
PAIRS = [(a, b) for a in AXES for b in AXES if dot(a, b) == 0.0]
PLANES = {"NONE": None, "POSE": None, "WORLD": Z}


def direction(rng: random.Random) -> Vec:
    way = unit((rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1)))
    assert way is not None
    return way


def turn(rng: random.Random, most: float) -> Quat:
    return quat_about(direction(rng), rng.uniform(0.0, most))


def vec(numbers: Sequence[float]) -> Vec:
    x, y, z = numbers
    return x, y, z


def bones(
    rng: random.Random,
    count: int,
    most: float = 0.6,
    uneven: bool = False,
    limits: Sequence[Limit | None] = (),
    stiffness: Sequence[float] = (),
) -> ChainInput:
    """A chain of bones of 0.1 to 0.5 m, turned at random at rest and in the pose."""
    found: list[Bone] = []
    channels: list[Local] = []
    before = 0.0
    for i in range(count):
        size = rng.uniform(0.1, 0.5)
        found.append(Bone(quat_matrix(turn(rng, most if i else math.pi)), (0, before, 0), size))
        scale = [rng.uniform(0.5, 2.0) * rng.choice((1.0, 1.0, -1.0)) for _ in X if uneven]
        channels.append(Local((0.0, 0.0, 0.0), turn(rng, most), vec(scale or (1.0, 1.0, 1.0))))
        before = size
    return ChainInput(found, channels, (0, before, 0), WHOLE, None, limits, stiffness)


def frame_of(chain: ChainInput, rotations: Sequence[Quat]) -> tuple[Mat3, Vec]:
    """Where the last bone stands, by the arithmetic that Blender's own was compared with."""
    frame = chain.parent
    for link, own, rotation in zip(chain.links, chain.channels, rotations, strict=True):
        frame = bone_frame(link.bone, Local(own.location, rotation, own.scale), frame)
    return frame


def gaze_of(chain: ChainInput, rotations: Sequence[Quat], axis: Vec) -> tuple[Vec, Vec]:
    """From where the last bone looks, and in which direction."""
    axes, head = frame_of(chain, rotations)
    ahead = unit(mat_apply(axes, axis))
    assert ahead is not None
    return head, ahead


def missed(chain: ChainInput, rotations: Sequence[Quat], axis: Vec, target: Vec) -> float:
    head, ahead = gaze_of(chain, rotations, axis)
    return angle_between(ahead, sub(target, head))


@settings(max_examples=300)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 6),
    pair=st.sampled_from(PAIRS),
    plane=st.sampled_from(sorted(PLANES)),
    share=st.sampled_from((0.0, 0.01, 0.3, 0.5, 1.0)),
    uneven=st.booleans(),
)
def test_the_gaze_meets_the_target_whatever_the_shares(
    seed: int, count: int, pair: tuple[Vec, Vec], plane: str, share: float, uneven: bool
) -> None:
    rng = random.Random(seed)
    chain = bones(rng, count, uneven=uneven)
    look = Look(pair[0], None if plane == "NONE" else pair[1], PLANES[plane], share)
    target = add(chain.joints[-2], scaled(direction(rng), rng.uniform(3.0, 9.0)))
    posture = pose_look(chain, target, look)
    assert missed(chain, posture.rotations, pair[0], target) < 1e-6
    assert posture.state == "REACHED"
    assert length(sub(posture.tip, target)) < 1e-6


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6), pair=st.sampled_from(PAIRS), plane=st.sampled_from(sorted(PLANES))
)
def test_the_up_axis_is_as_near_to_up_as_it_can_be(
    seed: int, pair: tuple[Vec, Vec], plane: str
) -> None:
    rng = random.Random(seed)
    chain = bones(rng, 3)
    target = add(chain.joints[-2], scaled(direction(rng), 5.0))
    look = Look(pair[0], pair[1], PLANES[plane], 0.5)
    up = PLANES[plane] or mat_apply(frame_of(chain, chain.rotations)[0], pair[1])
    axes, _ = frame_of(chain, pose_look(chain, target, look).rotations)
    ahead, side = mat_apply(axes, pair[0]), mat_apply(axes, pair[1])
    # Of all directions at right angles to the gaze it has the largest part along up.
    best = length(sub(up, scaled(ahead, dot(up, ahead))))
    assert dot(side, up) == pytest.approx(best, abs=1e-9)


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6))
def test_without_an_up_axis_a_single_bone_takes_the_least_turn(seed: int) -> None:
    rng = random.Random(seed)
    chain = bones(rng, 1)
    head, ahead = gaze_of(chain, chain.rotations, Z)
    target = add(head, scaled(direction(rng), 2.0))
    turned = pose_look(chain, target, Look(up_axis=None)).rotations[0]
    least = angle_between(ahead, sub(target, head))
    assert quat_angle(turned, chain.rotations[0]) == pytest.approx(least, abs=1e-9)


def test_shares_go_from_the_last_bone_alone_to_equal_parts() -> None:
    # Bones without length, so that none moves the head of another.
    chain = ChainInput([Bone(IDENTITY, (0, 0, 0), 0.0)] * 4, [Local()] * 4, (0, 1, 0), WHOLE)
    target = (math.sin(0.8), 0.0, math.cos(0.8))

    def parts(share: float) -> list[float]:
        look = Look(Z, Y, share=share)
        return [quat_angle(q, Local().rotation) for q in pose_look(chain, target, look).rotations]

    assert parts(0.0) == pytest.approx([0.0, 0.0, 0.0, 0.8], abs=1e-12)
    assert parts(1.0) == pytest.approx([0.2] * 4, abs=1e-9)
    between = parts(0.5)
    assert between == sorted(between) and sum(between) == pytest.approx(0.8)


def test_a_stiff_bone_takes_less_and_a_wholly_stiff_one_nothing() -> None:
    stack = [Bone(IDENTITY, (0, 0, 0), 0.0)] * 3
    target = (math.sin(0.9), 0.0, math.cos(0.9))

    def parts(*stiffness: float) -> list[float]:
        chain = ChainInput(stack, [Local()] * 3, (0, 1, 0), WHOLE, stiffness=stiffness)
        rotations = pose_look(chain, target, Look(Z, Y, share=1.0)).rotations
        return [quat_angle(q, Local().rotation) for q in rotations]

    assert parts(0.0, 0.5, 0.0) == pytest.approx([0.36, 0.18, 0.36])
    assert parts(0.0, 1.0, 0.0) == pytest.approx([0.45, 0.0, 0.45])
    assert parts(0.0, 0.0, 1.0)[2] == 0.0


# Limits of the gaze


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6),
    limit=st.floats(0.0, 3.1),
    softness=st.floats(0.0, 1.0),
    plane=st.sampled_from(sorted(PLANES)),
)
def test_the_gaze_never_leaves_its_limit(
    seed: int, limit: float, softness: float, plane: str
) -> None:
    rng = random.Random(seed)
    chain = bones(rng, 3)
    look = Look(Z, None if plane == "NONE" else Y, PLANES[plane], 0.7, limit, softness)
    target = add(chain.joints[-2], scaled(direction(rng), 4.0))
    rotations = pose_look(chain, target, look).rotations
    _, given_ahead = gaze_of(chain, chain.rotations, Z)
    _, ahead = gaze_of(chain, rotations, Z)
    assert angle_between(given_ahead, ahead) <= limit + 1e-9


def test_a_soft_limit_eases_in_with_the_same_slope() -> None:
    limit, softness = 1.2, 0.25
    start = limit * (1.0 - softness)
    assert gaze_angle(start, limit, softness) == start
    assert gaze_angle(start + 1e-4, limit, softness) == pytest.approx(start + 1e-4, abs=1e-7)
    assert gaze_angle(2.0, limit, softness) < limit
    assert gaze_angle(2.0, limit, 0.0) == limit
    assert gaze_angle(math.pi, limit, 0.0) == pytest.approx(0.0, abs=1e-12)
    assert gaze_angle(math.pi, math.pi, 0.0) == math.pi


def test_the_gaze_turns_at_most_so_much_faster_than_the_target() -> None:
    """The steepest is where it turns back: 1.5 times a limit on half of what is left behind."""
    for degrees in (30, 60, 90, 120, 150):
        limit = math.radians(degrees)
        angles = [gaze_angle(math.pi * i / 20000, limit, 0.1) for i in range(20001)]
        steepest = max(abs(a - b) for a, b in pairwise(angles)) / math.pi * 20000
        bound = max(1.0, 3.0 * limit / (math.pi - limit))
        assert 0.98 * bound <= steepest <= bound + 1e-3


# No jump


def behind(chain: ChainInput, aside: float, heading: float) -> Callable[[float], Vec]:
    """A circle about the head, in a plane through the gaze that is shifted aside by a distance."""
    head, ahead = gaze_of(chain, chain.rotations, Z)
    side = unit(cross(ahead, (0.36, 0.48, 0.8)))
    assert side is not None
    up = cross(ahead, side)
    first = add(scaled(side, math.cos(heading)), scaled(up, math.sin(heading)))
    second = cross(ahead, first)

    def place(t: float) -> Vec:
        a = 2.0 * math.pi * t
        way = add(scaled(ahead, 2.0 * math.cos(a)), scaled(first, 2.0 * math.sin(a)))
        return add(head, add(way, scaled(second, aside)))

    return place


def through(chain: ChainInput, aside: float, heading: float) -> Callable[[float], Vec]:
    """A straight line through the head, or past it at a distance."""
    head, _ = gaze_of(chain, chain.rotations, Z)
    way, other = direction(random.Random(heading)), direction(random.Random(heading + 1.0))
    return lambda t: add(head, add(scaled(way, 0.5 - t), scaled(other, aside)))


def steps(pose: Callable[[float], Sequence[Quat]], count: int) -> float:
    """The largest turn of a bone from one sample of a path to the next."""
    poses = [pose(i / count) for i in range(count + 1)]
    return max(
        quat_angle(a, b)
        for before, after in pairwise(poses)
        for a, b in zip(before, after, strict=True)
    )


LIMITED = [
    Look(Z, up_axis, up, share, limit, softness)
    for up_axis, up in ((None, None), (Y, None))
    for share in (0.0, 0.6)
    for limit, softness in ((1.2, 0.0), (0.7, 0.3))
]


FASTEST = {"behind": 15.0, "through": 110.0}
"""The most that a bone turned per path in any of them, in radians: 12 and 91 were measured."""


@pytest.mark.long
@pytest.mark.parametrize("way", [behind, through])
def test_a_limited_gaze_has_no_jump_wherever_the_target_goes(
    way: Callable[..., Callable[[float], Vec]],
) -> None:
    for number, look in enumerate(LIMITED):
        chain = bones(random.Random(number), 1 + number % 4)
        for aside in (0.0, 1e-3):
            path = way(chain, aside, 0.7 * number)
            rotations = lambda t, c=chain, k=look, p=path: pose_look(c, p(t), k).rotations  # noqa: E731
            coarse, fine = steps(rotations, 150), steps(rotations, 1200)
            # A jump stays as large however finely the path is sampled.
            assert fine <= 0.3 * coarse
            assert fine * 1200 <= FASTEST[way.__name__]


@pytest.mark.long
def test_without_limits_shared_turns_have_no_jump_behind() -> None:
    for number, up in enumerate((None, Y, None, Y)):
        chain = bones(random.Random(number), 4)
        look = Look(Z, up, None, 1.0)
        for aside in (0.0, 1e-3):
            path = behind(chain, aside, 0.7 * number)
            rotations = lambda t, c=chain, k=look, p=path: pose_look(c, p(t), k).rotations[:-1]  # noqa: E731
            assert steps(rotations, 1200) <= 0.3 * steps(rotations, 150)


def test_without_limits_shared_turns_have_no_jump_overhead() -> None:
    """Where the target passes straight above, only the last bone has to roll at once."""
    chain = bones(random.Random(3), 4, most=0.2)
    head, ahead = gaze_of(chain, chain.rotations, Z)
    up = unit(mat_apply(frame_of(chain, chain.rotations)[0], Y))
    assert up is not None
    level = cross(up, ahead)
    for aside in (1e-6, 1e-3):

        def place(t: float) -> Vec:
            a = math.pi * (t - 0.5)
            way = add(scaled(up, math.cos(a)), scaled(level, math.sin(a)))
            return add(head, add(scaled(way, 3.0), scaled(ahead, aside)))  # noqa: B023

        look = Look(Z, Y, None, 1.0)
        whole = lambda t: pose_look(chain, place(t), look).rotations  # noqa: E731, B023
        shared = lambda t: whole(t)[:-1]  # noqa: E731, B023
        assert steps(shared, 1200) <= 0.3 * steps(shared, 150)


def test_without_limits_the_gaze_itself_has_no_jump_behind() -> None:
    for number, up in enumerate((None, Y)):
        chain = bones(random.Random(number), 3)
        for aside in (0.0, 1e-9, 1e-3, 0.05):
            path = behind(chain, aside, 0.3)
            for i in range(501):
                target = path(i / 500)
                posture = pose_look(chain, target, Look(Z, up, None, 0.8))
                assert missed(chain, posture.rotations, Z, target) < 1e-6


def test_without_limits_the_whole_pose_has_no_jump_past_behind() -> None:
    """With an axis that stays up only straight up and down are left without an answer."""
    chain = bones(random.Random(3), 3, most=0.2)
    _, ahead = gaze_of(chain, chain.rotations, Z)
    for aside in (0.0, 1e-3, 0.05):
        head, _ = gaze_of(chain, chain.rotations, Z)
        up = mat_apply(frame_of(chain, chain.rotations)[0], Y)
        level = cross(up, ahead)

        def place(t: float) -> Vec:
            a = 2.0 * math.pi * t
            way = add(scaled(ahead, math.cos(a)), scaled(level, math.sin(a)))  # noqa: B023
            return add(head, add(scaled(way, 3.0), scaled(up, aside)))  # noqa: B023

        look = Look(Z, Y, None, 0.5)
        rotations = lambda t, k=look: pose_look(chain, place(t), k).rotations  # noqa: E731
        assert steps(rotations, 1200) <= 0.3 * steps(rotations, 150)


# Limits of the joints


def allowed(limit: Limit, rotation: Quat) -> bool:
    return quat_angle(limit.nearest(rotation), rotation) < 1e-6


@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), share=st.sampled_from((0.0, 0.5, 1.0)))
def test_every_joint_keeps_its_limit_and_says_so(seed: int, share: float) -> None:
    rng = random.Random(seed)
    limits: list[Limit | None] = [
        Cone((-0.3, 0.3), (-0.4, 0.2), (-0.2, 0.2)),
        Hinge(direction(rng), (-0.4, 0.5)),
        Cone((-0.5, 0.5), (-0.5, 0.5), (-0.6, 0.6)),
    ]
    chain = bones(rng, 3, most=0.15, limits=limits)
    target = add(chain.joints[-2], scaled(direction(rng), 4.0))
    posture = pose_look(chain, target, Look(Z, Y, share=share))
    for limit, rotation in zip(limits, posture.rotations, strict=True):
        assert limit is not None and allowed(limit, rotation)
    off = missed(chain, posture.rotations, Z, target)
    assert posture.orientation_error == pytest.approx(off, abs=1e-9)
    assert (posture.state == "LIMITED") == (off > 1e-4)


def test_later_bones_take_over_what_a_limited_one_leaves() -> None:
    stack = [Bone(IDENTITY, (0, 0, 0), 0.0)] * 2
    limits = [Cone((-0.1, 0.1), (-0.1, 0.1), (-0.1, 0.1)), None]
    chain = ChainInput(stack, [Local()] * 2, (0, 1, 0), WHOLE, limits=limits)
    target = (math.sin(0.8), 0.0, math.cos(0.8))
    posture = pose_look(chain, target, Look(Z, Y, share=1.0))
    first, second = (quat_angle(q, Local().rotation) for q in posture.rotations)
    assert first == pytest.approx(0.1) and second == pytest.approx(0.7)
    assert posture.state == "REACHED"


# What has no answer


@pytest.mark.parametrize("plane", sorted(PLANES))
@pytest.mark.parametrize("limit", [math.pi, 1.0, 0.0])
def test_there_is_always_an_answer(plane: str, limit: float) -> None:
    rng = random.Random(5)
    look = Look(Z, None if plane == "NONE" else Y, PLANES[plane], 0.5, limit, 0.2)
    for chain in (
        bones(rng, 1),
        bones(rng, 4),
        ChainInput([Bone(IDENTITY, (0, 0, 0), 0.0)], [Local()], (0, 0, 0), WHOLE),
        ChainInput([Bone(IDENTITY, (0, 0, 0), 1.0)], [Local(scale=(0, 0, 0))], (0, 1, 0), WHOLE),
        ChainInput(
            [Bone(IDENTITY, (0, 0, 0), 1.0), Bone(IDENTITY, (0, 1, 0), 1.0)],
            [Local(scale=(1, 0, 1)), Local()],
            (0, 1, 0),
            WHOLE,
        ),
        ChainInput([Bone(IDENTITY, (0, 0, 0), 1.0)], [Local(scale=(1, 1, 0))], (0, 1, 0), WHOLE),
    ):
        head = chain.joints[-2]
        ahead = mat_columns(frame_of(chain, chain.rotations)[0])[2]
        for way in (
            (0.0, 0.0, 0.0),
            *(scaled(axis, 1e-300) for axis in AXES),
            *(scaled(axis, 1e100) for axis in AXES),
            *AXES,
            ahead,
            scaled(ahead, -1.0),
        ):
            posture = pose_look(chain, add(head, way), look)
            assert all(math.isfinite(number) for number in posture.numbers)
            assert all(math.isfinite(number) for number in posture.tip)
            for rotation in posture.rotations:
                assert math.hypot(*rotation) == pytest.approx(1.0)


def test_a_place_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        pose_look(bones(random.Random(1), 2), (math.nan, 0.0, 0.0), Look())


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6), influence=st.floats(0.0, 1.0))
def test_influence_turns_each_bone_part_of_the_way(seed: int, influence: float) -> None:
    rng = random.Random(seed)
    chain = bones(rng, 3)
    target = add(chain.joints[-2], scaled(direction(rng), 4.0))
    whole = pose_look(chain, target, Look(limit=1.2)).rotations
    part = pose_look(chain, target, Look(limit=1.2), influence).rotations
    for given_, full, partly in zip(chain.rotations, whole, part, strict=True):
        angle = quat_angle(given_, full)
        assert quat_angle(given_, partly) == pytest.approx(influence * angle, abs=1e-7)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_turning_everything_turns_the_answer(seed: int) -> None:
    rng = random.Random(seed)
    chain = bones(rng, 3)
    target = add(chain.joints[-2], scaled(direction(rng), 4.0))
    whole = turn(rng, math.pi)
    first = chain.links[0].bone
    rest = quat_matrix(quat_product(whole, _quat(first.rest)))
    moved = [Bone(rest, first.head, first.length), *(link.bone for link in chain.links[1:])]
    other = ChainInput(moved, chain.channels, chain.links[-1].arm, WHOLE)
    look = Look(Z, Y, None, 0.5, 1.5, 0.2)
    here = pose_look(chain, target, look).rotations
    there = pose_look(other, mat_apply(quat_matrix(whole), target), look).rotations
    assert max(quat_angle(a, b) for a, b in zip(here, there, strict=True)) < 1e-9


def _quat(axes: Mat3) -> Quat:
    from fabrik_solver.core.vectors import quat_of

    return quat_of(axes)


# Damping


def test_damping_is_late_by_its_delay_and_never_overshoots() -> None:
    delay = 7.0
    weights = [weight for _, weight in moments(delay)]
    assert len(weights) <= 16 and min(weights) > 0.0
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)

    def eased(path: Callable[[float], Vec], now: float) -> Vec:
        return mean([(path(now - ago), weight) for ago, weight in moments(delay)])

    assert eased(lambda t: (3.0 * t, 0.0, 1.0), 50.0) == pytest.approx((129.0, 0.0, 1.0))
    # A target that is torn away is followed from 0 to 1, evenly, in two delays.
    torn = [eased(lambda t: (float(t > 0.0), 0.0, 0.0), 0.25 * i)[0] for i in range(80)]
    assert torn[0] == 0.0 and torn[int(4 * 2 * delay)] == pytest.approx(1.0)
    assert torn == sorted(torn)


@given(seed=st.integers(0, 10**6), count=st.integers(1, 4), influence=st.sampled_from((0.5, 1.0)))
def test_the_solution_has_the_joints_of_the_pose(seed: int, count: int, influence: float) -> None:
    rng = random.Random(seed)
    chain = bones(rng, count, uneven=True)
    target = add(chain.joints[-2], scaled(direction(rng), 3.0))
    posture = pose_look(chain, target, Look(), influence)
    places = chain.turned(posture.rotations).joints
    for joint, place in zip(posture.solution.joints, places, strict=True):
        assert math.dist(joint, place) < 1e-12
