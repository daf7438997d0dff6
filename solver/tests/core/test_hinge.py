"""A limb bends about its own hinge, wherever its pole and target are."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from struct import pack, unpack
from typing import cast

import pytest
from strategies import Point, assert_no_jump, moved, random_direction

from fabrik_solver import (
    WHOLE,
    Bone,
    Chain,
    ChainInput,
    Cone,
    Frame,
    Goal,
    Local,
    Posture,
    RestBend,
    Stretch,
    chain_frames,
    pose_chain,
    solve,
)
from fabrik_solver.core import vectors
from fabrik_solver.core.bend import bend_of
from fabrik_solver.core.joint import Joint

OWN = math.radians(0.1)
"""How far off its own axis a joint may turn."""

OWN_ROUNDED = math.radians(2e-4)
"""The same for a chain rounded to single precision, and otherwise flat."""

Y: vectors.Vec = (0.0, 1.0, 0.0)
NORMAL: vectors.Vec = (1.0, 0.0, 0.0)
"""What the limbs of this module bend about, in armature space, under their FK pose."""


def limb(
    rng: random.Random,
    bones: int,
    is_straight: bool = False,
    frame: Frame = WHOLE,
    bends: tuple[float, float] = (0.2, 1.0),
    is_zigzag: bool = False,
) -> ChainInput:
    """A limb that is rolled anyhow, and under its FK pose lies in a plane in any direction.

    Joints of a straight one are rolled as well, but all bend about their own X.
    """
    roll = 0.0 if is_straight else rng.uniform(-math.pi, math.pi)
    rest: list[Bone] = []
    channels: list[Local] = []
    parent = vectors.IDENTITY
    angle = 0.0
    for i in range(bones):
        size = rng.uniform(0.5, 1.5)
        if i > 0 and not is_straight:
            # Unless it is a zigzag, all to one side, so that the pole has a bend to face.
            angle -= rng.uniform(*bends) * (-1.0 if is_zigzag and i % 2 == 0 else 1.0)
        upright = vectors.quat_product(
            vectors.quat_about(NORMAL, angle), vectors.quat_about(Y, roll)
        )
        axes = vectors.quat_matrix(upright)
        local = _transposed(parent)
        head = (0.0, rest[-1].length, 0.0) if rest else (0.0, 0.0, 0.0)
        rest.append(Bone(vectors.mat_product(local, axes), head, size))
        channels.append(Local())
        parent = axes
        roll += 0.0 if is_straight else rng.uniform(-1.0, 1.0)
    turn = _random_turn(rng)
    channels[0] = Local((0.0, 0.0, 0.0), _carried(rest[0], turn))
    return ChainInput(rest, channels, (0.0, rest[-1].length, 0.0), frame)


def _transposed(m: vectors.Mat3) -> vectors.Mat3:
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


def _random_turn(rng: random.Random) -> vectors.Quat:
    x, y, z = random_direction(rng)
    return vectors.quat_about((x, y, z), rng.uniform(-3.0, 3.0))


def _carried(bone: Bone, turn: vectors.Quat) -> vectors.Quat:
    """The local rotation that turns a bone of the root in its parent's space."""
    w, *axis = turn
    x, y, z = vectors.inverse_direction(bone.rest, (axis[0], axis[1], axis[2]))
    return (w, x, y, z)


def own_axes(chain: ChainInput) -> list[vectors.Vec]:
    """The normal of the FK pose's plane in each bone's own space."""
    frames = chain_frames(chain, chain.rotations)
    a, b = (vectors.unit(vectors.mat_apply(axes, Y)) for axes, _ in frames[:2])
    assert a is not None
    assert b is not None
    normal = vectors.unit(vectors.cross(a, b))
    if normal is None or math.hypot(*vectors.cross(a, b)) < 1e-6:
        normal = vectors.mat_columns(frames[0][0])[0]
    return [vectors.inverse_direction(axes, normal) for axes, _ in frames]


def off_hinge(chain: ChainInput, posture: Posture) -> float:
    """How far, in radians, joints have left the axis of their own about which they should bend.

    It is the angle between the axis as the bone before carries it, and as the bone itself does.
    """
    frames = chain_frames(chain, posture.rotations)
    own = own_axes(chain)
    normals = [
        vectors.unit(vectors.mat_apply(axes, axis))
        for (axes, _), axis in zip(frames, own, strict=True)
    ]
    worst = 0.0
    for before, after in pairwise(normals):
        assert before is not None
        assert after is not None
        worst = max(worst, math.asin(min(1.0, math.hypot(*vectors.cross(before, after)))))
        assert vectors.dot(before, after) > 0.0
    return worst


def poles(chain: ChainInput, count: int) -> list[vectors.Vec]:
    """Places all round the root."""
    rng = random.Random(3)
    found: list[vectors.Vec] = []
    for _ in range(count):
        x, y, z = moved(chain.root, random_direction(rng), 5.0 * chain.chain.scale)
        found.append((x, y, z))
    return found


def any_target(chain: ChainInput, rng: random.Random, most: float = 1.2) -> Point:
    """Near and far, beyond reach as well, and so near that a limb has to fold."""
    return moved(chain.root, random_direction(rng), rng.uniform(0.0, most) * chain.chain.scale)


@pytest.mark.parametrize("is_straight", [False, True], ids=["bent", "straight"])
@pytest.mark.parametrize(
    ("solver", "bones"),
    [("TWO_BONE", 2), *[(s, n) for s in ("FABRIK", "CCD") for n in (2, 3, 4, 5)]],
)
def test_with_a_pole_joints_bend_about_their_own_axis(
    solver: str, bones: int, is_straight: bool, figure: Callable[[str, str], None]
) -> None:
    rng = random.Random(1)
    worst = 0.0
    for _ in range(40):
        chain = limb(rng, bones, is_straight)
        for pole in poles(chain, 5):
            angle = rng.choice((0.0, rng.uniform(-3.0, 3.0)))
            goal = Goal(any_target(chain, rng), pole, angle, rng.choice((1.0, rng.random())))
            worst = max(worst, off_hinge(chain, pose_chain(chain, goal, solver)))
    kind = "straight" if is_straight else "bent"
    figure(f"hinge, {solver}, {bones} bones, {kind}", f"{math.degrees(worst):.1e}° off its axis")
    assert worst <= OWN


def in_single_precision(chain: ChainInput) -> ChainInput:
    """The chain as Blender stores it."""

    def rounded(numbers: Sequence[float]) -> tuple[float, ...]:
        return unpack(f"{len(numbers)}f", pack(f"{len(numbers)}f", *numbers))

    bones = [
        Bone(
            cast(vectors.Mat3, rounded(link.bone.rest)),
            cast(vectors.Vec, rounded(link.bone.head)),
            1.0,
        )
        for link in chain.links
    ]
    channels = [
        Local((0.0, 0.0, 0.0), vectors.quat_unit(cast(vectors.Quat, rounded(local.rotation))))
        for local in chain.channels
    ]
    return ChainInput(
        bones, channels, cast(vectors.Vec, rounded(chain.links[-1].arm)), chain.parent
    )


@pytest.mark.parametrize("bends", [(0.3, 0.9), (0.03, 0.09)])
@pytest.mark.parametrize("is_zigzag", [False, True])
@pytest.mark.parametrize("bones", range(3, 9))
def test_rounding_does_not_grow(
    bones: int, is_zigzag: bool, bends: tuple[float, float], figure: Callable[[str, str], None]
) -> None:
    """Neither by folding, nor where a bone swings round by half a turn."""
    worst = 0.0
    for seed in range(200):
        rng = random.Random(seed)
        chain = in_single_precision(limb(rng, bones, bends=bends, is_zigzag=is_zigzag))
        for pole in poles(chain, 2):
            goal = Goal(any_target(chain, rng), pole)
            posture = pose_chain(chain, goal)
            worst = max(worst, off_hinge(chain, posture))
            assert (posture.state == "REACHED") == posture.solution.in_reach
    kind = "zigzag" if is_zigzag else "arc"
    figure(f"hinge, rounded, {bones} bones, {kind}", f"{math.degrees(worst):.1e}° off its axis")
    assert worst <= OWN_ROUNDED


@pytest.mark.parametrize("is_straight", [False, True], ids=["bent", "straight"])
def test_two_bones_need_no_pole_for_that(is_straight: bool) -> None:
    rng = random.Random(2)
    for _ in range(200):
        chain = limb(rng, 2, is_straight)
        posture = pose_chain(chain, Goal(any_target(chain, rng)), "TWO_BONE")
        assert off_hinge(chain, posture) <= OWN


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_nor_does_a_chain_that_swings_wholly(solver: str) -> None:
    rng = random.Random(2)
    for _ in range(100):
        chain = limb(rng, rng.randint(2, 5))
        posture = pose_chain(chain, Goal(any_target(chain, rng), swing=1.0), solver)
        assert off_hinge(chain, posture) <= OWN


@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_on_parents_that_are_scaled_and_mirrored(mirror: float) -> None:
    rng = random.Random(4)
    for _ in range(50):
        turned = vectors.quat_matrix(_random_turn(rng))
        frame: Frame = (vectors.scale_columns(turned, (3.0 * mirror, 3.0, 3.0)), (1.0, 2.0, 3.0))
        chain = limb(rng, 2, frame=frame)
        for pole in (None, *poles(chain, 3)):
            posture = pose_chain(chain, Goal(any_target(chain, rng), pole), "TWO_BONE")
            assert off_hinge(chain, posture) <= OWN


@pytest.mark.parametrize("keeps_volume", [False, True])
def test_where_bones_stretch(keeps_volume: bool) -> None:
    rng = random.Random(5)
    for _ in range(100):
        chain = limb(rng, 2)
        for softness in (0.0, 0.2):
            goal = Goal(any_target(chain, rng, 2.0), poles(chain, 1)[0], softness=softness)
            stretch = Stretch(1.7, keeps_volume)
            posture = pose_chain(chain, goal, "TWO_BONE", stretch=stretch)
            grown = chain.with_scales(posture.scales) if posture.scales else chain
            assert off_hinge(grown, posture) <= OWN


def test_within_limits_that_leave_room() -> None:
    """A cone that is hardly a limit leaves the limb as it is without one."""
    rng = random.Random(6)
    for _ in range(50):
        free = limb(rng, 2)
        whole = (-math.pi, math.pi)
        cone = Cone(whole, whole, whole)
        constrained = ChainInput(
            [link.bone for link in free.links],
            free.channels,
            free.links[-1].arm,
            free.parent,
            limits=[cone, cone],
        )
        goal = Goal(any_target(free, rng), poles(free, 1)[0])
        assert off_hinge(constrained, pose_chain(constrained, goal, "TWO_BONE")) <= OWN


@pytest.mark.parametrize("solver", ["TWO_BONE", "FABRIK"])
def test_the_pole_decides_the_roll_of_a_limb_that_is_stretched_out(solver: str) -> None:
    """It rolls on as it did just before it was straight."""
    rng = random.Random(7)
    for _ in range(50):
        chain = limb(rng, 2)
        pole, way = poles(chain, 1)[0], random_direction(rng)
        short, beyond = [
            Goal(moved(chain.root, way, share * chain.chain.scale), pole)
            for share in (1.0 - 1e-9, 1.0 + 1e-9)
        ]
        before = pose_chain(chain, short, solver).rotations
        after = pose_chain(chain, beyond, solver).rotations
        assert max(map(vectors.quat_angle, before, after)) <= 1e-3


@pytest.mark.parametrize(("solver", "bones"), [("TWO_BONE", 2), ("FABRIK", 3)])
def test_axes_do_not_jump_where_a_pole_goes_round(solver: str, bones: int) -> None:
    chain = limb(random.Random(8), bones)
    a, b, c = chain.root
    size = chain.chain.scale

    def around(t: float) -> tuple[Point, ...]:
        turn = 2.0 * math.pi * t
        pole = (a + 3.0 * math.cos(turn), b + 3.0 * math.sin(turn), c)
        goal = Goal((a, b + 0.1, c + 0.6 * size), pole)
        posture = pose_chain(chain, goal, solver)
        frames = chain_frames(chain, posture.rotations)
        return tuple(axis for axes, _ in frames for axis in vectors.mat_columns(axes))

    assert_no_jump(around)


def test_a_limb_turned_by_hand_keeps_its_twist() -> None:
    """FK poses twist bones on purpose; what turns the chain as a whole carries that along."""
    rng = random.Random(9)
    chain = limb(rng, 2)
    twisted = [*chain.rotations]
    twisted[1] = vectors.quat_product(twisted[1], vectors.quat_about(Y, 0.7))
    other = chain.turned(twisted)
    goal = Goal(any_target(chain, rng, 0.9), poles(chain, 1)[0])
    plain, with_twist = (pose_chain(one, goal, "TWO_BONE").rotations for one in (chain, other))
    expected = vectors.quat_product(plain[1], vectors.quat_about(Y, 0.7))
    assert vectors.quat_angle(plain[0], with_twist[0]) <= 1e-9
    assert vectors.quat_angle(expected, with_twist[1]) <= 1e-9


def test_the_target_on_the_tip_and_the_pole_ahead_leave_the_fk_pose() -> None:
    rng = random.Random(10)
    for _ in range(50):
        bones = rng.randint(2, 5)
        chain = limb(rng, bones)
        pole = chain.chain.root
        joints = [Joint(*vectors.sub(joint, pole), 0.0) for joint in chain.joints]
        bend, _ = bend_of(joints, chain.chain.axis)
        pole = vectors.add(chain.joints[1], vectors.scaled(bend, 4.0))
        posture = pose_chain(chain, Goal(chain.joints[-1], pole))
        for given, solved in zip(chain.rotations, posture.rotations, strict=True):
            assert vectors.quat_angle(given, solved) <= 1e-6


def backward_leg(degrees: float) -> ChainInput:
    """A leg whose knee is bent by 20° at rest, and posed to be bent by so many degrees."""
    rest = math.radians(20.0)
    bones = [
        Bone(vectors.IDENTITY, (0.0, 0.0, 0.0), 1.0),
        Bone(vectors.quat_matrix(vectors.quat_about(NORMAL, -rest)), (0.0, 1.0, 0.0), 1.0),
    ]
    knee = vectors.quat_about(NORMAL, rest - math.radians(degrees))
    channels = [Local(), Local((0.0, 0.0, 0.0), knee)]
    return ChainInput(bones, channels, Y, WHOLE, RestBend((0.0, 0.0, 1.0)))


@pytest.mark.parametrize("backward", [0.01, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("pole", [None, (0.0, 1.0, 5.0)])
def test_a_knee_that_is_posed_slightly_backward_bends_forward(
    backward: float, pole: Point | None
) -> None:
    """As a captured one is; but with the target on its tip it stays as it is posed."""
    chain = backward_leg(-backward)
    assert chain.joints[1][2] < chain.joints[2][2]
    posed = pose_chain(chain, Goal(chain.joints[-1], pole), "TWO_BONE")
    for given, solved in zip(chain.rotations, posed.rotations, strict=True):
        assert vectors.quat_angle(given, solved) <= 1e-6
    for share in (0.99, 0.9, 0.5):
        target = vectors.scaled(chain.joints[-1], share * 2.0 / math.hypot(*chain.joints[-1]))
        knee = pose_chain(chain, Goal(target, pole), "TWO_BONE").solution.joints[1]
        axis = vectors.unit(target)
        assert axis is not None
        off = vectors.sub(
            (knee[0], knee[1], knee[2]),
            vectors.scaled(axis, vectors.dot((knee[0], knee[1], knee[2]), axis)),
        )
        assert off[2] > 0.01


@pytest.mark.parametrize("backward", [0.04, 0.06, 0.1])
@pytest.mark.parametrize("rounding", [-1e-7, 1e-7])
def test_it_stays_as_it_is_posed_where_its_target_is_rounded(
    backward: float, rounding: float
) -> None:
    chain = backward_leg(-backward)
    target = vectors.scaled(chain.joints[-1], 1.0 + rounding)
    knee = pose_chain(chain, Goal(target), "TWO_BONE").solution.joints[1]
    off = math.hypot(*vectors.sub((knee[0], knee[1], knee[2]), chain.joints[1]))
    # The bend is off by what the rounding makes of it; bent forward the knee were as far off again.
    assert off < 0.7 * math.sin(math.radians(backward))


def test_one_that_is_posed_clearly_backward_is_meant_so() -> None:
    chain = backward_leg(-15.0)
    knee = pose_chain(chain, Goal((0.0, 1.6, 0.0)), "TWO_BONE").solution.joints[1]
    assert knee[2] < -0.1


@pytest.mark.parametrize("moved", [1e-11, 1e-9, 1e-7, 1e-5, 1e-3])
def test_a_straight_limb_bends_to_its_side_however_little_it_has_to(moved: float) -> None:
    """The side is that of its joint, also where the knee hardly leaves the line."""
    straight = ((0.0, 0.0, 0.0), (0.3, 0.5, 0.1), (0.6, 1.0, 0.2))
    target = vectors.scaled(straight[2], 1.0 - moved)
    solution = solve(Chain(straight, (0.1, 0.2, 1.0)), Goal(target), "TWO_BONE")
    x, y, z = solution.joints[1]
    axis = vectors.unit(target)
    assert axis is not None
    side, knee = (
        vectors.unit(vectors.across((0.1, 0.2, 1.0), axis)),
        vectors.unit(vectors.across((x, y, z), axis)),
    )
    assert side is not None
    assert knee is not None
    assert vectors.dot(side, knee) > math.cos(OWN)
