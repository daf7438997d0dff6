"""The orientation of a tip bone: the chain reaches with it, and shares its twist."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from strategies import SCALE_MODES, Rig, farthest, random_rig, random_turn, tip_of

from fabrik_solver import (
    WHOLE,
    ChainInput,
    Cone,
    Frame,
    Goal,
    Hinge,
    Local,
    Posture,
    Stretch,
    Tip,
    bone_frame,
    frame_in,
    inverse,
    point_in,
    pose_chain,
    pose_in_world,
)
from fabrik_solver.core import vectors

Figure = Callable[[str, str], None]

PLAIN: Frame = (vectors.quat_matrix(vectors.quat_about((0.6, 0.0, 0.8), 0.7)), (1.0, 2.0, 3.0))
"""Turned and moved, not scaled."""

MIRRORED: Frame = (vectors.scale_columns(PLAIN[0], (-1.5, 1.5, 1.5)), (1.0, 2.0, 3.0))

UNEVEN: Frame = ((1.2, 0.1, 0.0, 0.0, 0.8, 0.2, 0.1, 0.0, 1.0), (1.0, 2.0, 3.0))

PARENTS = {"whole": WHOLE, "turned": PLAIN, "mirrored": MIRRORED}

both_ends = pytest.mark.parametrize("use_tail", [True, False])
solvers = pytest.mark.parametrize("solver", ["FABRIK", "TWO_BONE", "TEXTBOOK", "CCD"])


def handed(rig: Rig, use_tail: bool = True, parent: Frame = WHOLE, **joints: object) -> ChainInput:
    tip = tip_of(rig) if use_tail else vectors.ORIGIN
    return ChainInput(*rig, tip, parent, has_hand=True, **joints)  # type: ignore[arg-type]


def bent(rng: random.Random, bones: int, mode: str = "FULL", inherits: bool = True) -> Rig:
    """Bones in a pose that is not near full reach, the last of them short as a hand is."""
    while True:
        rig = random_rig(rng, bones, mode, inherits)
        chain = handed(rig, use_tail=False)
        reach = math.dist(chain.joints[0], chain.joints[-1])
        if bones < 3 or reach < 0.8 * chain.chain.scale:
            return rig


def frames_of(rig: Rig, rotations: Sequence[vectors.Quat], parent: Frame = WHOLE) -> list[Frame]:
    """Where Blender puts the bones under some rotations."""
    frames: list[Frame] = []
    for bone, local, q in zip(*rig, rotations, strict=True):
        parent = bone_frame(bone, Local(local.location, q, local.scale), parent)
        frames.append(parent)
    return frames


def goal_near(
    rng: random.Random, rig: Rig, use_tail: bool, parent: Frame
) -> tuple[vectors.Vec, vectors.Mat3]:
    """Target and orientation of a pose of the rig that is turned from its FK pose."""
    turned = [vectors.quat_product(random_turn(rng, 0.6), local.rotation) for local in rig[1]]
    axes, head = frames_of(rig, turned, parent)[-1]
    return (point_in((axes, head), tip_of(rig)) if use_tail else head), axes


def off(axes: vectors.Mat3, wanted: vectors.Mat3) -> float:
    """The angle between two orientations by their Y axes, and by Z as seen along these."""
    (_, ya, za), (_, yb, zb) = vectors.mat_columns(axes), vectors.mat_columns(wanted)
    ya, yb = vectors.unit(ya) or ya, vectors.unit(yb) or yb
    za, zb = vectors.unit(vectors.across(za, ya)) or za, vectors.unit(vectors.across(zb, yb)) or zb
    return max(angle(ya, yb), angle(za, zb))


def angle(a: vectors.Vec, b: vectors.Vec) -> float:
    return math.atan2(vectors.length(vectors.cross(a, b)), vectors.dot(a, b))


def posed(
    chain: ChainInput,
    target: vectors.Vec,
    axes: vectors.Mat3,
    weight: float = 1.0,
    spread: float = 0.0,
    **more: object,
) -> Posture:
    return pose_chain(chain, Goal(target), tip=Tip(axes, weight, spread), **more)  # type: ignore[arg-type]


# Orientation


@pytest.mark.long
@both_ends
@pytest.mark.parametrize("mode", SCALE_MODES)
@pytest.mark.parametrize("kind", PARENTS)
def test_the_tip_is_on_the_target_and_its_bone_has_the_orientation(
    use_tail: bool, mode: str, kind: str, figure: Figure
) -> None:
    rng = random.Random(f"{use_tail} {mode} {kind}")
    parent = PARENTS[kind]
    judged = 0
    worst = turn = 0.0
    for inherits in (True, False):
        for bones in (3, 3, 4, 5, 8, 10):
            rig = bent(rng, bones, mode, inherits)
            target, axes = goal_near(rng, rig, use_tail, parent)
            chain = handed(rig, use_tail, parent)
            posture = posed(chain, target, axes)
            if not posture.solution.in_reach:
                continue
            judged += 1
            last = frames_of(rig, posture.rotations, parent)[-1]
            tip = point_in(last, tip_of(rig)) if use_tail else last[1]
            assert posture.state == "REACHED"
            assert math.dist(tip, posture.tip) <= 1e-12
            worst = max(worst, math.dist(tip, target) / chain.chain.scale)
            turn = max(turn, off(last[0], axes))
    figure(f"oriented tip, {mode}, tail {use_tail}, {kind}", f"{worst:.1e} {turn:.1e} rad")
    assert judged >= 6
    assert worst <= 1e-6
    assert turn <= 1e-6


@both_ends
def test_under_uneven_scale_the_tip_arrives_and_points_as_wanted(use_tail: bool) -> None:
    rng = random.Random(2)
    for _ in range(30):
        rig = bent(rng, rng.randint(3, 6))
        target, axes = goal_near(rng, rig, use_tail, UNEVEN)
        chain = handed(rig, use_tail, UNEVEN)
        posture = posed(chain, target, axes, spread=rng.choice((0.0, 1.0)), iterations=200)
        if not posture.solution.in_reach:
            continue
        last = frames_of(rig, posture.rotations, UNEVEN)[-1]
        tip = point_in(last, tip_of(rig)) if use_tail else last[1]
        assert math.dist(tip, target) <= 1e-4 * chain.chain.scale
        assert angle(vectors.mat_columns(last[0])[1], vectors.mat_columns(axes)[1]) <= 1e-6
        assert off(last[0], axes) <= 1e-6


@solvers
@both_ends
def test_all_solvers_reach_with_an_oriented_tip(solver: str, use_tail: bool) -> None:
    rng = random.Random(3)
    for weight in (1.0, 0.4):
        rig = bent(rng, 3)
        target, axes = goal_near(rng, rig, use_tail, WHOLE)
        posture = posed(handed(rig, use_tail), target, axes, weight, solver=solver, iterations=500)
        assert posture.state == "REACHED"
        assert math.dist(posture.tip, target) <= 1e-4 * 6.0


def test_only_y_and_what_z_has_beside_it_count() -> None:
    rng = random.Random(4)
    rig = bent(rng, 4)
    target, axes = goal_near(rng, rig, True, WHOLE)
    x, y, z = vectors.mat_columns(axes)
    chain = handed(rig)
    plain = posed(chain, target, axes)
    odd = vectors.mat_from_columns(
        tuple(-3.0 * n for n in x), y, vectors.add(z, tuple(0.3 * n for n in y))
    )
    other = posed(chain, target, vectors.scale_columns(odd, (1.0, 7.0, 0.1)))
    assert other.numbers == pytest.approx(plain.numbers, abs=1e-12)


@both_ends
def test_a_negative_scale_of_the_hand_is_no_turn(use_tail: bool) -> None:
    rng = random.Random(5)
    for scale in ((1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (-1.0, 1.0, 1.0), (1.0, -2.0, -1.0)):
        bones, channels = bent(rng, 4)
        local = channels[-1]
        rig = (bones, [*channels[:-1], Local(local.location, local.rotation, scale)])
        target, axes = goal_near(rng, rig, use_tail, WHOLE)
        for weight in (1.0, 0.5):
            posture = posed(handed(rig, use_tail), target, axes, weight)
            assert posture.state in ("REACHED", "OUT_OF_REACH")
            frame = frames_of(rig, posture.rotations)[-1]
            if weight == 1.0:
                assert off(frame[0], axes) <= 1e-6
            if posture.solution.in_reach:
                assert math.dist(posture.tip, target) <= 1e-6 * 6.0


@both_ends
def test_the_world_goal_is_the_armatures_seen_from_it(use_tail: bool) -> None:
    rng = random.Random(6)
    for place in (PLAIN, MIRRORED, UNEVEN):
        rig = bent(rng, 4)
        target, axes = goal_near(rng, rig, use_tail, WHOLE)
        world_axes = vectors.mat_product(place[0], axes)
        goal = Goal(point_in(place, target))
        posture, error = pose_in_world(
            handed(rig, use_tail), (place, inverse(place)), goal, "FABRIK", 50, 1e-4, 1.0,
            Tip(world_axes),
        )  # fmt: skip
        if posture.state == "REACHED":
            last = frame_in(place, frames_of(rig, posture.rotations)[-1])
            assert error <= 1e-5
            assert off(last[0], world_axes) <= 1e-6


def test_solved_from_another_pose_it_is_near_that_and_stays_there() -> None:
    rng = random.Random(9)
    for _ in range(4):
        rig = bent(rng, 4)
        target, axes = goal_near(rng, rig, True, WHOLE)
        alone = posed(handed(rig), target, axes, tolerance=1e-6)
        start = [vectors.quat_product(random_turn(rng, 0.8), q) for q in alone.rotations]
        near = posed(handed(rig), target, axes, tolerance=1e-6, start=start)
        again = posed(handed(rig), target, axes, tolerance=1e-6, start=near.rotations)
        assert near.state == again.state == "REACHED"
        numbers = [x for q in again.rotations for x in q]
        assert numbers == pytest.approx([x for q in near.rotations for x in q], abs=1e-12)
        assert numbers != pytest.approx([x for q in alone.rotations for x in q], abs=0.1)


def test_out_of_reach_the_bone_keeps_the_orientation() -> None:
    rng = random.Random(7)
    rig = bent(rng, 4)
    _, axes = goal_near(rng, rig, True, WHOLE)
    posture = posed(handed(rig), (50.0, 3.0, 2.0), axes)
    assert posture.state == "OUT_OF_REACH"
    assert off(frames_of(rig, posture.rotations)[-1][0], axes) <= 1e-6


# Weight


@both_ends
def test_weight_0_is_the_plain_answer_to_the_last_bit(use_tail: bool) -> None:
    rng = random.Random(8)
    for bones in (2, 3, 6):
        bones_, channels = bent(rng, max(3, bones))
        rig = (bones_, channels)
        target, axes = goal_near(rng, rig, use_tail, WHOLE)
        posture = posed(handed(rig, use_tail), target, axes, 0.0, 1.0)
        if use_tail:
            plain = pose_chain(ChainInput(*rig, tip_of(rig), WHOLE), Goal(target))
            assert posture.numbers == plain.numbers
        else:
            chain = handed(rig, use_tail=False)
            plain = pose_chain(chain, Goal(target))
            assert posture.numbers == [*plain.numbers, *channels[-1].rotation]
        assert posture.tip == plain.tip


@pytest.mark.long
@both_ends
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_pose_is_continuous_in_the_weight_and_arrives_at_each(
    use_tail: bool, spread: float, figure: Figure
) -> None:
    rng = random.Random(9)
    most = 0.0
    for _ in range(12):
        rig = bent(rng, rng.randint(3, 6))
        target, axes = goal_near(rng, rig, use_tail, WHOLE)
        chain = handed(rig, use_tail)
        full = posed(chain, target, axes, 1.0, spread)
        plain = posed(chain, target, axes, 0.0, spread)
        if full.state != "REACHED" or plain.state != "REACHED":
            continue
        weights = [0.0, 1e-9, *(i / 40 for i in range(1, 40)), 1.0 - 1e-9, 1.0]
        postures = [posed(chain, target, axes, weight, spread) for weight in weights]
        assert farthest_turn(postures[0], postures[1]) <= 1e-6
        assert farthest_turn(postures[-2], postures[-1]) <= 1e-6
        span = farthest_turn(plain, full) + 0.1
        for a, b in pairwise(postures):
            most = max(most, farthest_turn(a, b) / span)
        # Half-way turned, the hand may hold its head where the limb does not reach.
        for posture in (p for p in postures if p.solution.in_reach):
            assert math.dist(posture.tip, target) <= 1e-6 * chain.chain.scale
    figure(f"turn in a fortieth of the weight, tail {use_tail}, spread {spread}", f"{most:.3f}")
    assert most <= 0.2


def farthest_turn(a: Posture, b: Posture) -> float:
    return max(vectors.quat_angle(p, q) for p, q in zip(a.rotations, b.rotations, strict=True))


@both_ends
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_pose_is_continuous_as_the_target_turns(use_tail: bool, spread: float) -> None:
    rng = random.Random(10)
    for _ in range(6):
        rig = bent(rng, rng.randint(3, 5))
        chain = handed(rig, use_tail)
        target, start = goal_near(rng, rig, use_tail, WHOLE)
        axis = vectors.unit((rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1))) or (1.0, 0.0, 0.0)
        turns = [
            vectors.mat_product(vectors.quat_matrix(vectors.quat_about(axis, i * 0.01)), start)
            for i in range(-30, 31)
        ]
        postures = [posed(chain, target, axes, 1.0, spread) for axes in turns]
        if any(p.state != "REACHED" for p in postures):
            continue
        steps = [farthest_turn(a, b) for a, b in pairwise(postures)]
        assert max(steps) <= 0.15  # for 0.01 rad of the target


# Limits


def within(limit: Hinge | Cone, rotation: vectors.Quat) -> bool:
    return vectors.quat_angle(limit.nearest(rotation), rotation) <= 1e-5


@both_ends
def test_influence_blends_the_scale_of_a_limb_that_stretches_with_its_hand(use_tail: bool) -> None:
    rig = bent(random.Random(1), 3)
    chain = handed(rig, use_tail)
    far = Goal((0.0, 3.0 * chain.chain.scale, 0.0))
    tip, stretch = Tip(vectors.IDENTITY), Stretch(5.0, keeps_volume=False)
    full = pose_chain(chain, far, tip=tip, stretch=stretch)
    half = pose_chain(chain, far, influence=0.5, tip=tip, stretch=stretch)
    assert len(half.scales) == len(full.scales) == 3
    for local, scale, solved in zip(rig[1], half.scales, full.scales, strict=True):
        assert math.dist(scale, vectors.scaled(vectors.add(local.scale, solved), 0.5)) <= 1e-12
    assert full.scales[-1] == rig[1][-1].scale


@both_ends
def test_limits_hold_and_the_tip_comes_first(use_tail: bool, figure: Figure) -> None:
    rng = random.Random(12)
    states: list[str] = []
    worst = 0.0
    for i in range(60):
        rig = bent(rng, rng.randint(3, 5))
        target, axes = goal_near(rng, rig, use_tail, WHOLE)
        size = rng.uniform(0.1, 1.0)
        own = Cone((-size, size), (-size, size), (-size, size), rig[1][-1].rotation)
        limits = [None] * (len(rig[0]) - 1) + [rng.choice((own, Hinge((1.0, 0.0, 0.0), (-1, 1))))]
        if i % 2:
            wide = Cone((-1.5, 1.5), (-1.5, 1.5), (-1.0, 1.0), rig[1][1].rotation)
            limits[1] = wide
        chain = handed(rig, use_tail, limits=limits)
        weight = rng.choice((1.0, 1.0, 0.5))
        posture = posed(chain, target, axes, weight, rng.choice((0.0, 1.0)))
        states.append(posture.state)
        for limit, rotation in zip(limits, posture.rotations, strict=True):
            assert limit is None or within(limit, rotation)
        last = frames_of(rig, posture.rotations)[-1]
        if (
            posture.orientation_error <= math.radians(0.1)
            and posture.state == "REACHED"
            and weight == 1.0
        ):
            assert off(last[0], axes) <= math.radians(0.3)
        if limits[1] is None and posture.solution.in_reach:
            worst = max(worst, math.dist(posture.tip, target) / chain.chain.scale)
            assert posture.state == (
                "LIMITED" if posture.orientation_error > math.radians(0.1) else "REACHED"
            )
    figure(f"tip with a limited hand, tail {use_tail}", f"{worst:.1e}")
    assert worst <= 1e-4
    assert {"REACHED", "LIMITED"} <= set(states)


def test_a_stiff_hand_stays_and_says_so() -> None:
    rng = random.Random(13)
    rig = bent(rng, 3)
    target, axes = goal_near(rng, rig, False, WHOLE)
    posture = posed(handed(rig, False, stiffness=[0.0, 0.0, 1.0]), target, axes)
    assert vectors.quat_angle(posture.rotations[-1], rig[1][-1].rotation) <= 1e-12
    assert posture.state == "LIMITED"
    assert math.dist(posture.tip, target) <= 1e-6


# Twist


def twisted_hand(
    rng: random.Random, bones: int, twist: float
) -> tuple[Rig, vectors.Vec, vectors.Mat3]:
    """A chain whose tip is on its target, and the FK orientation turned about the last bone."""
    rig = bent(rng, bones)
    frames = frames_of(rig, [local.rotation for local in rig[1]])
    axis = vectors.unit(vectors.sub(frames[-1][1], frames[-2][1])) or (0.0, 1.0, 0.0)
    axes = vectors.mat_product(vectors.quat_matrix(vectors.quat_about(axis, twist)), frames[-1][0])
    return rig, frames[-1][1], axes


def turns_of(before: list[Frame], after: list[Frame]) -> list[tuple[vectors.Vec, float]]:
    """Axis and angle by which each bone was turned."""
    found: list[tuple[vectors.Vec, float]] = []
    for (old, _), (new, _) in zip(before, after, strict=True):
        w, x, y, z = vectors.quat_of(vectors.mat_product(new, transposed(old)))
        sign = -1.0 if w < 0.0 else 1.0
        sine = vectors.length((x, y, z))
        axis = vectors.unit((sign * x, sign * y, sign * z)) or vectors.ORIGIN
        found.append((axis, 2.0 * math.atan2(sine, abs(w))))
    return found


def transposed(m: vectors.Mat3) -> vectors.Mat3:
    x, y, z = vectors.mat_columns(m)
    return (*x, *y, *z)


@pytest.mark.parametrize("twist", [-2.5, -0.5, 0.0, 1.0, 3.0])
def test_each_joint_takes_an_equal_part_of_the_twist_and_none_moves(twist: float) -> None:
    rng = random.Random(14)
    for bones in (2, 3, 4, 7):
        rig, head, axes = twisted_hand(rng, bones, twist)
        chain = handed(rig, use_tail=False)
        given = frames_of(rig, [local.rotation for local in rig[1]])
        for spread in (0.0, 0.5, 1.0):
            posture = posed(chain, head, axes, 1.0, spread)
            frames = frames_of(rig, posture.rotations)
            assert farthest([f[1] for f in frames], [f[1] for f in given]) <= 1e-9
            assert off(frames[-1][0], axes) <= 1e-9
            for i, (axis, turn) in enumerate(turns_of(given, frames)[:-1]):
                own = vectors.unit(vectors.sub(given[i + 1][1], given[i][1])) or vectors.ORIGIN
                part = spread * twist * (i + 1) / bones
                assert turn == pytest.approx(abs(part), abs=1e-7)
                if abs(part) > 1e-6:
                    assert vectors.dot(axis, own) == pytest.approx(
                        math.copysign(1.0, part), abs=1e-6
                    )


def test_spread_leaves_the_joints_where_they_are_without_it() -> None:
    rng = random.Random(15)
    for use_tail in (True, False):
        for _ in range(20):
            rig = bent(rng, rng.randint(3, 6))
            target, axes = goal_near(rng, rig, use_tail, PLAIN)
            chain = handed(rig, use_tail, PLAIN)
            plain = frames_of(rig, posed(chain, target, axes).rotations, PLAIN)
            spread = frames_of(rig, posed(chain, target, axes, 1.0, 0.8).rotations, PLAIN)
            assert farthest([f[1] for f in plain], [f[1] for f in spread]) <= 1e-9
            assert off(plain[-1][0], spread[-1][0]) <= 1e-9


def test_in_a_mirrored_armature_the_twist_goes_the_same_way() -> None:
    rng = random.Random(16)
    rig = bent(rng, 4)
    target, axes = goal_near(rng, rig, False, MIRRORED)
    chain = handed(rig, False, MIRRORED)
    plain = frames_of(rig, posed(chain, target, axes).rotations, MIRRORED)
    last = [
        vectors.quat_angle(
            posed(chain, target, axes, 1.0, spread).rotations[-1], rig[1][-1].rotation
        )
        for spread in (0.0, 0.5, 1.0)
    ]
    assert last[0] > last[1] > last[2]  # The hand's own share becomes less.
    spread = frames_of(rig, posed(chain, target, axes, 1.0, 1.0).rotations, MIRRORED)
    assert farthest([f[1] for f in plain], [f[1] for f in spread]) <= 1e-9


def test_the_twist_stops_where_a_limit_of_a_bone_before_does() -> None:
    rng = random.Random(17)
    for _ in range(10):
        rig, head, axes = twisted_hand(rng, 4, 2.0)
        free = posed(handed(rig, False), head, axes, 1.0, 1.0)
        tight = Cone((-3.0, 3.0), (-3.0, 3.0), (-0.2, 0.2), rig[1][1].rotation)
        limits = [None, tight, None, None]
        posture = posed(handed(rig, False, limits=limits), head, axes, 1.0, 1.0)
        assert within(tight, posture.rotations[1])
        assert not within(tight, free.rotations[1])
        turned = vectors.quat_angle(posture.rotations[0], rig[1][0].rotation)
        assert 0.02 < turned < vectors.quat_angle(free.rotations[0], rig[1][0].rotation) - 0.02
        assert posture.state == "REACHED"
        assert off(frames_of(rig, posture.rotations)[-1][0], axes) <= 1e-6


def test_a_stiff_bone_takes_no_twist() -> None:
    rng = random.Random(18)
    rig, head, axes = twisted_hand(rng, 3, 1.5)
    posture = posed(handed(rig, False, stiffness=[0.0, 1.0, 0.0]), head, axes, 1.0, 1.0)
    for local, rotation in zip(rig[1][:2], posture.rotations, strict=False):
        assert vectors.quat_angle(rotation, local.rotation) <= 1e-9


def test_the_twist_only_jumps_at_half_a_turn() -> None:
    rng = random.Random(19)
    rig, head, _ = twisted_hand(rng, 3, 0.0)
    frames = frames_of(rig, [local.rotation for local in rig[1]])
    axis = vectors.unit(vectors.sub(frames[-1][1], frames[-2][1])) or vectors.ORIGIN
    chain = handed(rig, False)

    def elbow(twist: float) -> vectors.Quat:
        axes = vectors.mat_product(
            vectors.quat_matrix(vectors.quat_about(axis, twist)), frames[-1][0]
        )
        return posed(chain, head, axes, 1.0, 1.0).rotations[0]

    turns = [elbow(math.pi * (i + 0.5) / 100) for i in range(-100, 100)]
    steps = [vectors.quat_angle(a, b) for a, b in pairwise(turns)]
    assert max(steps) <= math.pi / 100 / 3 + 1e-6
    assert vectors.quat_angle(turns[0], turns[-1]) > 1.9  # 2 · π / 3, but for a step


# Bad input


def test_what_has_no_meaning_is_refused() -> None:
    flat = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    endless = (1.0, math.inf, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    unknown = (1.0, 0.0, math.nan, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    aligned = (1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    for axes in (flat, endless, unknown, aligned, (0.0,) * 9):
        with pytest.raises(ValueError, match="no orientation"):
            Tip(axes)
    for numbers in ((1.5, 0.0), (-0.1, 0.0), (1.0, 2.0), (math.nan, 0.0), (1.0, math.nan)):
        with pytest.raises(ValueError, match="from 0 to 1"):
            Tip(vectors.IDENTITY, *numbers)
    rig = bent(random.Random(20), 5)
    with pytest.raises(ValueError, match="hand"):
        pose_chain(
            ChainInput(*rig, tip_of(rig), WHOLE), Goal((1.0, 0.0, 0.0)), tip=Tip(vectors.IDENTITY)
        )
    with pytest.raises(ValueError, match="TWO_BONE"):
        pose_chain(handed(rig), Goal((1.0, 0.0, 0.0)), "TWO_BONE", tip=Tip(vectors.IDENTITY))
    for use_tail in (True, False):
        with pytest.raises(ValueError, match="at least one bone"):
            handed((rig[0][:1], rig[1][:1]), use_tail)
