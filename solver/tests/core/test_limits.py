"""Joints stay in their limits, and the tip comes as near to the target as these allow.

What a limit allows is measured here from matrices, not by the code that keeps it.
"""

import math
import random
from collections.abc import Callable

import limited
import pytest
from strategies import PARENT, SCALE_MODES, random_direction, random_rig, tip_of

from fabrik_solver import (
    SOLVERS,
    WHOLE,
    Bone,
    ChainInput,
    Cone,
    Frame,
    Goal,
    Hinge,
    Limit,
    Local,
    Posture,
    chain_frames,
    pose_chain,
)
from fabrik_solver.core.vectors import (
    QUAT_IDENTITY,
    Quat,
    Vec,
    cross,
    dot,
    length,
    mat_apply,
    mat_columns,
    quat_about,
    quat_angle,
    quat_exp,
    quat_matrix,
    quat_product,
    scaled,
    sub,
    unit,
)


def missed(chain: ChainInput, posture: Posture, target: Vec) -> float:
    """How far the tip is from the target, measured from the rotations."""
    return math.dist(limited.tip_at(chain, list(posture.rotations)), target)


def most_broken(limits: list[Limit], posture: Posture) -> float:
    return max(map(limited.broken, limits, posture.rotations))


# The limits themselves


@pytest.mark.parametrize("kind", ["hinge", "cone"])
def test_any_rotation_is_taken_into_the_limit_and_an_allowed_one_stays(kind: str) -> None:
    rng = random.Random(1)
    for _ in range(2000):
        limit = limited.random_limit(rng, kind)
        wild = quat_about(random_direction(rng), rng.uniform(-math.pi, math.pi))
        tame = limit.nearest(wild)
        assert limited.broken(limit, tame) <= 1e-6
        inside = limited.random_inside(rng, limit)
        assert limited.broken(limit, inside) <= 1e-6
        for allowed in (tame, inside):
            same = limit.nearest(allowed)
            assert abs(sum(a * b for a, b in zip(same, allowed, strict=True))) >= 1.0 - 1e-9


def test_the_measure_of_this_file_sees_what_is_broken() -> None:
    knee = Hinge(limited.X, (0.0, 2.0))
    assert limited.broken(knee, quat_about(limited.X, 2.1)) == pytest.approx(0.1)
    assert limited.broken(knee, quat_about(limited.X, -0.3)) == pytest.approx(0.3)
    assert limited.broken(knee, quat_about(limited.Z, 0.2)) == pytest.approx(0.2)
    hip = Cone((-0.5, 1.0), (-0.4, 0.4), (-0.2, 0.3))
    assert limited.broken(hip, quat_about(limited.X, 0.9)) == 0.0
    assert limited.broken(hip, quat_about(limited.X, -0.9)) == pytest.approx(0.4)
    assert limited.broken(hip, quat_about(limited.Y, 0.5)) == pytest.approx(0.2)


@pytest.mark.parametrize("kind", ["hinge", "cone"])
def test_no_allowed_rotation_is_much_nearer_than_the_nearest(kind: str) -> None:
    rng = random.Random(2)
    for _ in range(300):
        limit = limited.random_limit(rng, kind)
        wild = quat_about(random_direction(rng), rng.uniform(0.0, 1.5))

        def away(rotation: Quat, wild: Quat = wild) -> float:
            cosine = abs(sum(a * b for a, b in zip(rotation, wild, strict=True)))
            return 2.0 * math.acos(min(1.0, cosine))

        best = min(away(limited.random_inside(rng, limit)) for _ in range(300))
        # Swing and twist are each taken to their nearest, which is not the nearest of both.
        assert away(limit.nearest(wild)) <= 1.5 * best + 0.05


@pytest.mark.parametrize("kind", ["hinge", "cone"])
def test_the_normals_lead_out_and_their_opposites_in(kind: str) -> None:
    rng = random.Random(3)
    small = 1e-4
    seen = 0
    for _ in range(400):
        limit = limited.random_limit(rng, kind)
        edge = limit.nearest(quat_about(random_direction(rng), rng.uniform(0.5, 2.0)))
        normals = limit.normals(edge)
        for normal in normals:
            seen += 1
            assert length(normal) == pytest.approx(1.0)
            out = quat_product(quat_exp(scaled(normal, small)), edge)
            assert limited.broken(limit, out) >= 0.2 * small
        if kind == "cone" and len(normals) == 1:
            # Across the only normal, and inwards, nothing is broken but by the second order.
            side = unit(cross(normals[0], random_direction(rng)))
            assert side is not None
            for turn in (side, scaled(side, -1.0), scaled(normals[0], -1.0)):
                beside = quat_product(quat_exp(scaled(turn, small)), edge)
                assert limited.broken(limit, beside) <= 20.0 * small * small
    assert seen > 200


NO_TURN = (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("limit", "axis", "end"),
    [
        (Hinge(limited.X, (-1.0, 0.5)), limited.X, 0.5),
        (Hinge(limited.X, (-1.0, 0.5)), limited.X, -1.0),
        (Cone((-0.4, 0.4), (-0.7, 0.7), (-0.3, 0.3), NO_TURN), limited.X, 0.4),
        (Cone((-0.4, 0.4), (-0.7, 0.7), (-0.3, 0.3), NO_TURN), limited.Z, -0.7),
        (Cone((-0.4, 0.4), (-0.7, 0.7), (-0.3, 0.3), NO_TURN), limited.Y, 0.3),
        (Cone((-0.4, 0.4), (0.0, 0.0), (-0.3, 0.3), NO_TURN), limited.X, -0.4),
    ],
)
def test_only_a_joint_at_its_end_has_a_normal_there(limit: Limit, axis: Vec, end: float) -> None:
    """What has a little way to go still may go it: rounding alone counts as the end."""
    out = scaled(axis, math.copysign(1.0, end))

    def is_held(angle: float) -> bool:
        return any(dot(normal, out) > 0.9 for normal in limit.normals(quat_about(axis, angle)))

    assert is_held(end)
    assert is_held(end * (1.0 - 1e-9))
    assert not is_held(end * (1.0 - 1e-4))


def test_a_locked_axis_has_normals_to_both_sides() -> None:
    locked = Cone((0.0, 0.0), (-0.5, 0.5), (0.0, 0.0))
    normals = locked.normals((1.0, 0.0, 0.0, 0.0))
    assert sorted(normals) == sorted(
        [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]
    )


# What is drawn of the limits


def direction(rotation: Quat) -> Vec:
    return mat_apply(quat_matrix(rotation), limited.Y)


def least_over(limit: Limit, wanted: Vec, twists: int = 120) -> float:
    """By how much a limit is broken at the least by a bone that points in a direction."""
    swing = quat_exp(limited.turn_from(limited.Y, wanted))
    angles = [2.0 * math.pi * i / twists for i in range(twists)]
    return min(
        limited.broken(limit, quat_product(swing, quat_about(limited.Y, angle))) for angle in angles
    )


def test_a_cone_is_drawn_along_its_edge() -> None:
    rng = random.Random(11)
    for _ in range(40):
        limit = limited.random_cone(rng)
        outline = limit.outline()
        middle = direction(limit.center)
        assert quat_angle(outline[0], outline[-1]) < 1e-9
        for rotation in outline:
            assert limited.broken(limit, rotation) < 1e-9
            away = limited.turn_from(middle, direction(rotation))
            over = quat_product(quat_about(unit(away) or limited.X, 1e-3), rotation)
            under = quat_product(quat_about(unit(away) or limited.X, -1e-3), rotation)
            assert limited.broken(limit, over) > 5e-4
            assert limited.broken(limit, under) < 1e-6
        for over in (1e-3, 0.1):
            rotation = rng.choice(outline)
            away = unit(limited.turn_from(middle, direction(rotation))) or limited.X
            beyond = direction(quat_product(quat_about(away, over), rotation))
            assert least_over(limit, beyond) > 0.5 * over, "no twist allows what lies beyond"


def test_a_hinge_is_drawn_from_end_to_end() -> None:
    rng = random.Random(12)
    for _ in range(40):
        limit = limited.random_hinge(rng)
        low, high = limit.turn
        outline = limit.outline()
        assert quat_angle(outline[0], quat_about(limit.axis, low)) < 1e-9
        assert quat_angle(outline[-1], quat_about(limit.axis, high)) < 1e-9
        assert max(limited.broken(limit, rotation) for rotation in outline) < 1e-9
        side = unit(cross(limit.axis, limited.Y)) or limited.X
        for rotation in outline:
            assert limited.broken(limit, quat_product(quat_about(side, 1e-3), rotation)) > 5e-4
        for end, step in ((outline[0], -1e-3), (outline[-1], 1e-3)):
            assert limited.broken(limit, quat_product(quat_about(limit.axis, step), end)) > 5e-4
    around = Hinge(limited.X, (-4.0, 4.0)).outline()
    assert quat_angle(around[0], around[-1]) == pytest.approx(0.0, abs=1e-6), "once, not twice"


def test_twists_are_drawn_from_end_to_end_about_the_bone_as_it_points() -> None:
    rng = random.Random(13)
    for _ in range(40):
        limit = limited.random_cone(rng)
        rotation = limited.random_inside(rng, limit)
        twists = limit.twists(rotation)
        for twist in twists:
            assert math.dist(direction(twist), direction(rotation)) < 1e-9
            assert limited.broken(limit, twist) < 1e-6
        for end, step in ((twists[0], -1e-3), (twists[-1], 1e-3)):
            assert limited.broken(limit, quat_product(end, quat_about(limited.Y, step))) > 5e-4


def test_what_is_free_or_locked_has_nothing_drawn() -> None:
    free, still = (-math.pi, math.pi), (0.0, 0.0)
    assert not Cone(free, free, (-0.1, 0.1)).outline()
    assert not Cone((-1.0, 1.0), (-1.0, 1.0), free).twists(QUAT_IDENTITY)
    assert not Cone((-1.0, 1.0), (-1.0, 1.0), still).twists(QUAT_IDENTITY)
    twisting = Hinge(limited.Y, (-0.5, 1.0))
    assert not twisting.outline(), "it leaves the bone's direction"
    assert len(twisting.twists(QUAT_IDENTITY)) == len(Hinge(limited.X, (-0.5, 1.0)).outline())
    assert not Hinge(limited.X, (-0.5, 1.0)).twists(QUAT_IDENTITY)


@pytest.mark.parametrize("kind", ["hinge", "cone"])
def test_a_joint_is_at_its_end_near_the_edge_and_nowhere_else(kind: str) -> None:
    rng = random.Random(14)
    margin, seen = math.radians(0.5), {True: 0, False: 0}
    for _ in range(250):
        limit = limited.random_limit(rng, kind)
        rotation = limited.random_inside(rng, limit)
        if rng.random() < 0.5:
            wild = quat_about(random_direction(rng), rng.uniform(-math.pi, math.pi))
            rotation = limit.nearest(wild)
        room = min(farthest_inside(limit, rotation, axis) for axis in around(limit, rotation))
        if 0.7 * margin < room < 1.4 * margin:
            continue
        assert limit.is_at_end(rotation, margin) == (room < margin)
        seen[room < margin] += 1
    assert min(seen.values()) > 50


def around(limit: Limit, rotation: Quat) -> list[Vec]:
    """Axes of the turns that a joint can make from a rotation, to all sides."""
    if isinstance(limit, Hinge):
        return [limit.axis, scaled(limit.axis, -1.0)]
    d = direction(rotation)
    side = unit(cross(d, limited.X if abs(d[0]) < 0.7 else limited.Z)) or limited.X
    sides = [mat_apply(quat_matrix(quat_about(d, i * math.pi / 8)), side) for i in range(16)]
    return [d, scaled(d, -1.0), *sides]


def farthest_inside(limit: Limit, rotation: Quat, axis: Vec) -> float:
    """How far a joint can turn about an axis until a swing or twist of its limit ends."""
    low, high = 0.0, 0.1
    for _ in range(10):
        middle = 0.5 * (low + high)
        turned = quat_product(quat_about(axis, middle), rotation)
        low, high = (middle, high) if limited.broken(limit, turned) < 1e-7 else (low, middle)
    return low


def test_what_is_locked_has_no_end_to_come_to() -> None:
    margin = math.radians(0.5)
    assert not Hinge(limited.X, (0.3, 0.3)).is_at_end(quat_about(limited.X, 0.3), margin)
    assert not Hinge(limited.X, (-4.0, 4.0)).is_at_end(quat_about(limited.X, 4.0), margin)
    locked = Cone((0.0, 0.0), (-0.5, 0.5), (0.0, 0.0))
    assert not locked.is_at_end(quat_about(limited.Z, 0.3), margin)
    assert locked.is_at_end(quat_about(limited.Z, -0.495), margin)
    elbow = Cone((0.0, 2.5), (0.0, 0.0), (-math.pi, math.pi))
    assert [elbow.is_at_end(quat_about(limited.X, x), margin) for x in (0.0, 0.3, 2.5)] == [
        True,
        False,
        True,
    ]
    half = Cone((0.0, 2.5), (-1.0, 1.0), (-1.0, 1.0))
    assert half.is_at_end(quat_about(limited.Z, 0.5), margin), "its flat side"
    assert not half.is_at_end(
        quat_product(quat_about(limited.X, 0.1), quat_about(limited.Z, 0.5)), margin
    )


def test_ranges_that_hold_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="least angle"):
        Hinge(limited.X, (1.0, 0.5))
    with pytest.raises(ValueError, match="least angle"):
        Cone((-1.0, 1.0), (-1.0, 1.0), (0.3, 0.2))
    with pytest.raises(ValueError, match="include 0"):
        Cone((0.1, 1.0), (-1.0, 1.0), (-1.0, 1.0))
    with pytest.raises(ValueError, match="least angle"):
        Hinge(limited.X, (math.nan, 1.0))


# Chains


@pytest.mark.long
@pytest.mark.parametrize("bones", [3, 5, 10])
@pytest.mark.parametrize("kind", limited.KINDS)
def test_targets_that_the_limits_let_it_reach_are_reached(
    kind: str, bones: int, figure: Callable[[str, str], None]
) -> None:
    rng = random.Random(f"{kind}{bones}")
    count, reached, worst = 200, 0, 0.0
    for _ in range(count):
        chain, limits, target = limited.limited(rng, bones, kind)
        posture = pose_chain(chain, Goal(target))
        away = missed(chain, posture, target)
        reached += away <= limited.NEAR
        assert (posture.state == "REACHED") == (away <= 1e-4 * (1.0 + 1e-6))
        worst = max(worst, most_broken(limits, posture))
    share = 100.0 * reached / count
    figure(
        f"{bones} bones, {kind}: tip within 1e-3 under limits", f"{share:.1f} %, broken {worst:.0e}"
    )
    assert share >= 95.0
    assert worst <= limited.BROKEN


@pytest.mark.long
@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_hold_wherever_the_target_and_the_pole_are(solver: str) -> None:
    rng = random.Random(4)
    states: set[str] = set()
    for i in range(120):
        bones = 2 if solver == "TWO_BONE" else rng.randint(1, 8)
        rig = limited.straight_rig(rng, bones)
        limits = [limited.random_limit(rng, rng.choice(limited.KINDS)) for _ in range(bones)]
        chain = ChainInput(*rig, tip_of(rig), WHOLE, None, limits)
        target = scaled(random_direction(rng), rng.choice([0.0, 1e-9, 0.3, 0.7, 1.0, 5.0, 1e6]))
        pole = scaled(random_direction(rng), 3.0) if i % 2 else None
        posture = pose_chain(chain, Goal(target, pole, rng.uniform(-3.0, 3.0)), solver)
        states.add(posture.state)
        assert most_broken(limits, posture) <= limited.BROKEN
        assert all(math.isfinite(number) for number in posture.numbers)
        assert math.dist(posture.tip, limited.tip_at(chain, list(posture.rotations))) <= 1e-9
        assert posture.solution.residual == pytest.approx(
            missed(chain, posture, target), rel=1e-6, abs=1e-9
        )
    assert states >= {"LIMITED", "OUT_OF_REACH"}


@pytest.mark.long
def test_where_limits_keep_it_away_no_small_turn_of_a_joint_brings_it_nearer() -> None:
    rng = random.Random(5)
    seen = 0
    while seen < 60:
        chain, limits, _ = limited.limited(rng, rng.randint(2, 6), rng.choice(limited.KINDS))
        target = scaled(random_direction(rng), rng.uniform(0.2, 0.95))
        posture = pose_chain(chain, Goal(target))
        if posture.state != "LIMITED":
            continue
        seen += 1
        left = missed(chain, posture, target)
        for i, limit in enumerate(limits):
            for _ in range(20):
                turn = quat_exp(scaled(random_direction(rng), 0.02))
                rotations = list(posture.rotations)
                rotations[i] = limit.nearest(quat_product(turn, rotations[i]))
                assert math.dist(limited.tip_at(chain, rotations), target) >= 0.995 * left


def test_limits_that_exclude_the_rest_pose() -> None:
    rng = random.Random(6)
    rig = limited.straight_rig(rng, 3)
    limits: list[Limit] = [
        Hinge(limited.X, (0.5, 1.5)),
        Hinge(limited.X, (-1.2, -0.7)),
        Hinge(limited.Z, (0.4, 0.9)),
    ]
    chain = ChainInput(*rig, tip_of(rig), WHOLE, None, limits)
    target = limited.tip_at(
        chain, [quat_about(limited.X, 1.0), quat_about(limited.X, -0.9), quat_about(limited.Z, 0.6)]
    )
    posture = pose_chain(chain, Goal(target))
    assert posture.state == "REACHED"
    assert most_broken(limits, posture) <= limited.BROKEN


@pytest.mark.long
@pytest.mark.parametrize("mode", SCALE_MODES)
def test_limits_hold_and_targets_are_reached_under_any_parent_and_scale(mode: str) -> None:
    rng = random.Random(7)
    reached = count = 0
    for i in range(60):
        rig = random_rig(rng, rng.randint(3, 6), mode, i % 3 > 0, i % 2 > 0, 1.2)
        limits = [limited.random_limit(rng, "mixed") for _ in rig[0]]
        chain = ChainInput(*rig, tip_of(rig), PARENT, None, limits)
        turns = [limited.random_inside(rng, limit) for limit in limits]
        target = limited.tip_at(chain, limited.jointed(chain, turns))
        posture = pose_chain(chain, Goal(target))
        assert (
            max(map(limited.broken, limits, limited.joint_turns(chain, posture.rotations)))
            <= limited.BROKEN
        )
        count += 1
        reached += missed(chain, posture, target) <= limited.NEAR * chain.chain.scale
    assert reached >= 0.9 * count


def test_a_chain_without_limits_is_solved_as_if_there_were_none() -> None:
    rng = random.Random(8)
    for _ in range(50):
        rig = random_rig(rng, 5, "FULL", True, True, 1.0)
        target = scaled(random_direction(rng), 1.5)
        plain = pose_chain(ChainInput(*rig, tip_of(rig), PARENT), Goal(target))
        none = [None] * 5
        other = ChainInput(*rig, tip_of(rig), PARENT, None, none, [0.0] * 5)
        assert pose_chain(other, Goal(target)).numbers == plain.numbers
        wide = [Cone((-4.0, 4.0), (-4.0, 4.0), (-4.0, 4.0))] * 5
        loose = ChainInput(*rig, tip_of(rig), PARENT, None, wide)
        assert pose_chain(loose, Goal(target)).numbers == plain.numbers


def test_quaternions_are_on_the_side_of_the_fk_input() -> None:
    rng = random.Random(13)
    for _ in range(60):
        rig = random_rig(rng, 5, "FULL", True, True, 1.0)
        limits = [Hinge(random_direction(rng), (-5.0, 5.0)) for _ in rig[0]]
        chain = ChainInput(*rig, tip_of(rig), PARENT, None, limits)
        posture = pose_chain(chain, Goal(scaled(random_direction(rng), rng.uniform(0.2, 3.0))))
        for given, q in zip(chain.rotations, posture.rotations, strict=True):
            assert sum(a * b for a, b in zip(given, q, strict=True)) >= 0.0


def test_influence_mixes_the_fk_input_with_the_limited_pose() -> None:
    rng = random.Random(10)
    chain, _, target = limited.limited(rng, 4, "mixed")
    none = pose_chain(chain, Goal(target), influence=0.0)
    assert all(abs(q[0]) >= 1.0 - 1e-12 for q in none.rotations)
    half = pose_chain(chain, Goal(target), influence=0.5)
    assert half.state == pose_chain(chain, Goal(target)).state


# A leg


def leg(thigh: Limit | None, knee: Limit | None) -> ChainInput:
    """A leg that hangs down, 1 m long; its knee bends backwards (−Y) about X."""
    hang = quat_about(limited.X, -0.5 * math.pi)  # The bones' Y axis down, their Z axis forwards.
    bones = [
        Bone(quat_matrix(hang), (0.0, 0.0, 0.0), 0.5),
        Bone(quat_matrix((1.0, 0.0, 0.0, 0.0)), (0.0, 0.5, 0.0), 0.5),
    ]
    tip = (0.0, 0.5, 0.0)
    return ChainInput(bones, [Local(), Local()], tip, WHOLE, None, [thigh, knee])


def knee_side(chain: ChainInput, posture: Posture) -> Vec:
    """The direction from the line between hip and foot to the knee."""
    frames = chain_frames(chain, list(posture.rotations))
    knee, foot = frames[1][1], posture.tip
    axis = unit(foot)
    assert axis is not None
    side = unit(sub(knee, scaled(axis, dot(knee, axis))))
    assert side is not None
    return side


def test_a_hinge_knee_faces_the_pole_when_the_hip_is_free_to_twist() -> None:
    chain = leg(None, Hinge(limited.X, (0.0, 2.6)))
    for degrees in range(0, 360, 15):
        angle = math.radians(degrees)
        pole = (2.0 * math.cos(angle), 2.0 * math.sin(angle), -0.4)
        posture = pose_chain(chain, Goal((0.05, 0.1, -0.8), pole))
        assert posture.state == "REACHED"
        assert limited.broken(Hinge(limited.X, (0.0, 2.6)), posture.rotations[1]) <= limited.BROKEN
        axis = unit((0.05, 0.1, -0.8))
        assert axis is not None
        wanted = unit(sub(pole, scaled(axis, dot(pole, axis))))
        assert wanted is not None
        assert dot(knee_side(chain, posture), wanted) >= math.cos(math.radians(1.0))


# Stiffness


def test_a_stiff_bone_turns_less_and_one_of_stiffness_1_not_at_all() -> None:
    rng = random.Random(11)
    for _ in range(20):
        rig = limited.straight_rig(rng, 5)
        target = scaled(random_direction(rng), 0.6)
        turns = []
        for stiffness in (0.0, 0.5, 0.9, 1.0):
            stiff = [0.0, 0.0, stiffness, 0.0, 0.0]
            chain = ChainInput(*rig, tip_of(rig), WHOLE, None, (), stiff)
            posture = pose_chain(chain, Goal(target))
            assert posture.state == "REACHED"
            turns.append(2.0 * math.acos(min(1.0, abs(posture.rotations[2][0]))))
        assert turns[3] <= 1e-9
        assert turns[2] <= turns[0] + 1e-3
        assert turns[2] <= 0.35 * turns[0] + 0.05


def frame_is_plain(frame: Frame) -> bool:
    return all(abs(length(column) - 1.0) < 1e-9 for column in mat_columns(frame[0]))


def test_limits_never_stretch_a_bone() -> None:
    rng = random.Random(12)
    for _ in range(30):
        chain, _, target = limited.limited(rng, 5, "mixed")
        posture = pose_chain(chain, Goal(target))
        assert all(map(frame_is_plain, chain_frames(chain, list(posture.rotations))))
