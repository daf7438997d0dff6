"""Constraints, as Blender's own: tests of the extension compare them with Blender."""

from math import dist, nan, pi

from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, Frame, Local, bone_frame
from fabrik_solver.core import constraint_kinds as kinds
from fabrik_solver.core import constraints
from fabrik_solver.core.constrained_pose import (
    BoneConstraint,
    BoneOf,
    ConstrainedPose,
    FollowingBone,
    affected_by,
)
from fabrik_solver.core.deformation import Armature, DeformBone, Envelope, PosedBone
from fabrik_solver.core.frames import are_near, frame_in, inverse, mixed
from fabrik_solver.core.vectors import quat_matrix, quat_unit, scale_columns

ALL = (True, True, True)
PLAIN = (1.0, 1.0, 1.0)
numbers = st.floats(-2.0, 2.0)
places = st.tuples(numbers, numbers, numbers)
turns = st.tuples(st.floats(0.2, 1.0), numbers, numbers, numbers).map(quat_unit)
sizes = st.tuples(*[st.floats(0.5, 2.0)] * 3)
frames = st.builds(
    lambda q, size, at: (scale_columns(quat_matrix(q), size), at), turns, sizes, places
)
bones = st.builds(lambda q, at: Bone(quat_matrix(q), at, 1.0), turns, places)


def near(one: Frame, other: Frame) -> bool:
    return dist((*one[0], *one[1]), (*other[0], *other[1])) < 1e-9


@given(bones, frames, frames, frames, frames)
def test_what_is_seen_is_placed_where_it_was(bone, rest, parent, world, frame) -> None:
    spaces = constraints.ConstraintSpaces(bone, rest, parent, world)
    for space in ("WORLD", "POSE", "LOCAL", "LOCAL_WITH_PARENT"):
        assert near(spaces.placed(spaces.seen(frame, space), space), frame)


@given(frames, turns, places)
def test_all_of_a_rotation_is_copied_and_scale_and_place_are_kept(own, turn, at) -> None:
    for mix in ("REPLACE", "ADD"):
        start = own if mix == "REPLACE" else (scale_columns(WHOLE[0], (0.5, 1.0, 2.0)), own[1])
        axes, head = kinds.CopyRotation(ALL, PLAIN, mix, (0, 1)).apply(
            start, (quat_matrix(turn), at)
        )
        lengths = [dist(start[0][i::3], (0.0, 0.0, 0.0)) for i in range(3)]
        assert head == own[1]
        assert near((axes, at), (scale_columns(quat_matrix(turn), tuple(lengths)), at))


@given(frames, st.floats(-3.0, 3.0))
def test_a_range_of_all_angles_limits_nothing_and_a_fixed_one_leaves_none(own, angle) -> None:
    none = kinds.LimitRotation(ALL, (-pi,) * 3, (pi,) * 3, False, (0, 1)).apply(own, WHOLE)
    assert near(none, own)
    fixed = kinds.LimitRotation(ALL, (0.0,) * 3, (0.0,) * 3, False, (0, 1)).apply(own, WHOLE)
    lengths = tuple(dist(own[0][i::3], (0.0, 0.0, 0.0)) for i in range(3))
    assert near(fixed, (scale_columns(WHOLE[0], lengths), own[1]))
    some = kinds.LimitRotation((False, False, False), (0.0,) * 3, (0.0,) * 3, False, (0, 1))
    assert near(some.apply(own, WHOLE), own)


@given(st.lists(bones, min_size=3, max_size=3), frames, turns, turns)
def test_a_pose_is_that_of_its_bones_one_after_the_other(rests, world, first, second) -> None:
    """The last bone copies the location of the first, whose frame is given by something else."""
    base = (quat_matrix(second), (1.0, 2.0, 3.0))
    own = [BoneOf(i, rests[i], WHOLE, i - 1) for i in range(3)]
    copy = BoneConstraint(kinds.CopyLocation(ALL, PLAIN, False), "WORLD", own[0], "WORLD")
    local = Local((0.0, 0.0, 0.0), first)
    asked: list[int] = []

    def other(index: int) -> Frame:
        asked.append(index)
        return base

    known: dict[int, Frame] = {}
    followed = {
        1: FollowingBone(own[1], local, []),
        2: FollowingBone(own[2], local, [copy]),
    }
    axes, head = ConstrainedPose(followed, known, world, other).frame(2)
    middle = bone_frame(rests[1], local, base)
    assert known[1] == middle
    assert near((axes, head), (bone_frame(rests[2], local, middle)[0], base[1]))
    assert set(asked) == {0}


@given(bones, frames, turns, places)
def test_the_first_bone_may_have_constraints(rest, world, turn, at) -> None:
    """As the root of the armature it has no parent."""
    own, source = (
        BoneOf(0, rest, WHOLE, -1),
        BoneOf(1, rest, WHOLE, -1),
    )
    copy = BoneConstraint(kinds.CopyLocation(ALL, PLAIN, False), "WORLD", source, "WORLD")
    known: dict[int, Frame] = {1: (WHOLE[0], at)}
    followed = {0: FollowingBone(own, Local((0.0, 0.0, 0.0), turn), [copy])}
    axes, head = ConstrainedPose(followed, known, world, lambda _: WHOLE).frame(0)
    assert near((axes, head), (bone_frame(rest, Local((0.0, 0.0, 0.0), turn), WHOLE)[0], at))


def test_a_changed_bone_affects_its_children_and_what_aims_at_them() -> None:
    """The parent of a local target counts as well, and the target bones of Armature constraints."""
    parents = {0: -1, 1: 0, 2: 1, 3: 0, 4: 3, 5: -1, 6: -1}
    own = [BoneOf(i, Bone(WHOLE[0], (0.0, 0.0, 0.0), 1.0), WHOLE, parents[i]) for i in parents]
    copy = kinds.CopyLocation(ALL, PLAIN, False)
    armature = Armature([DeformBone(1.0, WHOLE, None)], False, None)
    constraints_of = {
        4: [BoneConstraint(copy, "WORLD", own[2], "LOCAL")],
        6: [BoneConstraint(armature, "WORLD", None, "WORLD", moving=[4])],
    }
    dependents: dict[int, set[int]] = {}
    for i in parents:
        bone = FollowingBone(own[i], Local((0.0, 0.0, 0.0)), constraints_of.get(i, []))
        for source in bone.sources():
            dependents.setdefault(source, set()).add(i)
    assert affected_by({2}, dependents) == {2, 4, 6}
    assert affected_by({1}, dependents) == {1, 2, 4, 6}
    assert affected_by({3}, dependents) == {3, 4, 6}
    assert affected_by({5, 6}, dependents) == {5, 6}


@given(st.lists(frames, min_size=1, max_size=4), st.integers(0, 11), st.sampled_from([1e-3, nan]))
def test_frames_are_near_others_unless_a_number_differs(own, number, by) -> None:
    """Origins are compared with the farthest of all, axes with their own size."""
    largest = max(abs(x) for _, at in own for x in at)
    axes, at = own[-1]
    assert are_near(own, [(axes, at) for axes, at in own], 0.0)
    numbers = [*axes, *at]
    size = max(map(abs, axes)) if number < 9 else largest
    numbers[number] += by * size
    other = [*own[:-1], (tuple(numbers[:9]), tuple(numbers[9:]))]
    assert are_near(own, other, 1.1e-3) == (by == by)
    assert not are_near(own, other, 0.9e-3) or size == 0.0


@given(bones, frames)
def test_what_has_zero_scale_is_left_out(bone, parent) -> None:
    flat = (scale_columns(WHOLE[0], (0.0, 0.0, 0.0)), (0.0, 0.0, 0.0))
    spaces = constraints.ConstraintSpaces(bone, WHOLE, flat, flat)
    copy = kinds.CopyLocation(ALL, PLAIN, False)
    for space in ("WORLD", "LOCAL"):
        assert spaces.constrained(copy, space, parent, WHOLE) == parent


@given(frames, st.tuples(*[st.floats(0.1, 3.0)] * 3))
def test_a_limited_scale_has_these_lengths_along_the_same_axes(own, wanted) -> None:
    axes, at = kinds.LimitScale(kinds.Range(wanted, wanted)).apply(own, WHOLE)
    assert at == own[1]
    for i in range(3):
        size = dist(own[0][i::3], (0.0, 0.0, 0.0))
        assert dist(axes[i::3], [x * wanted[i] / size for x in own[0][i::3]]) < 1e-9


def assert_same(one: Frame, other: Frame, near: float = 1e-9) -> None:
    assert dist(one[0], other[0]) < near
    assert dist(one[1], other[1]) < near


@given(frames, frames, st.floats(0.1, 2.0), st.booleans())
def test_one_bone_moves_as_a_parent_does(
    rest: Frame, posed: Frame, weight: float, keeps_volume: bool
) -> None:
    con = Armature([DeformBone(weight, rest, None)], keeps_volume, None)
    owner = WHOLE[0], (0.3, 0.2, 0.5)
    moved = con.apply(owner, con.motion([PosedBone(WHOLE, posed)], owner[1]))
    assert_same(moved, frame_in(posed, frame_in(inverse(rest), owner)))


@given(frames, frames)
def test_bones_that_move_alike_move_the_same_by_any_weights(rest: Frame, posed: Frame) -> None:
    for keeps_volume in (False, True):
        bones = [DeformBone(weight, rest, None) for weight in (0.2, 0.7)]
        con = Armature(bones, keeps_volume, None)
        there = con.motion([PosedBone(WHOLE, posed)] * 2, (0.1, 0.2, 0.3))
        assert_same(there, frame_in(posed, inverse(rest)))


def test_a_bone_acts_within_its_envelope() -> None:
    envelope = Envelope((0.0, 0.0, 0.0), (0.0, 0.0, 2.0), (0.5, 1.0), 1.0)
    assert envelope.share((0.2, 0.0, 1.0)) == 1.0
    assert envelope.share((1.25, 0.0, 1.0)) == 0.75
    assert envelope.share((0.0, 0.0, -1.0)) == 0.75
    assert envelope.share((0.0, 2.0, 2.0)) == 0.0
    outside = Armature([DeformBone(1.0, WHOLE, envelope)], False, None)
    moved = [PosedBone(WHOLE, (WHOLE[0], (1.0, 0.0, 0.0)))]
    assert outside.motion(moved, (9.0, 0.0, 0.0)) == WHOLE


@given(frames, frames, st.floats(0.0, 1.0))
def test_a_share_of_an_effect_begins_and_ends_with_it(a: Frame, b: Frame, share: float) -> None:
    assert_same(mixed(a, b, 0.0), a, 1e-6)
    assert_same(mixed(a, b, 1.0), b, 1e-6)
    assert_same(mixed(a, a, share), a, 1e-6)


def test_half_of_a_turn_and_of_a_scale() -> None:
    turn = quat_unit((1.0, 1.0, 0.0, 0.0))
    half = mixed(WHOLE, (scale_columns(quat_matrix(turn), (3.0, 1.0, 1.0)), (2.0, 0.0, 0.0)), 0.5)
    between = quat_matrix(quat_unit((turn[0] + 1.0, turn[1], 0.0, 0.0)))
    assert_same(half, (scale_columns(between, (2.0, 1.0, 1.0)), (1.0, 0.0, 0.0)))
