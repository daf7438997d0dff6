"""Following something: the place of the follower, and its path from one place to another."""

from math import dist

from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, Frame, Local, bone_frame, frame_in, inverse
from fabrik_solver.core.holding import between, held_channels, own_frame, rigid
from fabrik_solver.core.vectors import quat_matrix, quat_unit, scale_columns

numbers = st.floats(-2.0, 2.0)
places = st.tuples(numbers, numbers, numbers)
turns = st.tuples(st.floats(0.2, 1.0), numbers, numbers, numbers).map(quat_unit)
frames = st.builds(lambda q, at: (quat_matrix(q), at), turns, places)
bones = st.builds(lambda q, at: Bone(quat_matrix(q), at, 1.0), turns, places)


def near(one: Frame, other: Frame) -> bool:
    return dist((*one[0], *one[1]), (*other[0], *other[1])) < 1e-8


@given(frames, st.tuples(*[st.floats(0.5, 2.0)] * 3))
def test_a_rigid_frame_has_no_scale(frame, sizes) -> None:
    assert near(rigid((scale_columns(frame[0], sizes), frame[1])), frame)


@given(frames, frames, frames)
def test_between_begins_and_ends_where_both_are_whatever_is_fixed_to_them(one, two, fixed) -> None:
    assert near(between(one, two, 0.0), one)
    assert near(between(one, two, 1.0), two)
    half = between(one, two, 0.5)
    other = between(frame_in(one, fixed), frame_in(two, fixed), 0.5)
    if dist(one[0], two[0]) < 2.5:  # Half a turn may go either way.
        assert near(frame_in(half, fixed), other) or dist(one[0], two[0]) < 1e-6


@given(bones, turns, places, frames, frames, frames)
def test_a_held_bone_is_where_its_channels_count(bone, turn, at, parent, world, space) -> None:
    local = Local(at, turn)
    to_armature = inverse(world)
    rotation, place = held_channels(bone, local, parent, to_armature, space, WHOLE, 1.0)
    shown = frame_in(world, bone_frame(bone, Local(place, rotation), parent))
    assert near(shown, frame_in(space, own_frame(bone, local, parent)))


@given(bones, turns, places, frames, frames, frames, st.tuples(*[st.floats(0.5, 2.0)] * 3))
def test_what_a_bone_carries_is_where_its_channels_count_whatever_the_scale(
    bone, turn, at, parent, carried, space, sizes
) -> None:
    """The bone doesn't inherit it: it moves children far from it."""
    local = Local(at, turn)
    space = scale_columns(space[0], sizes), space[1]
    held = space, WHOLE, 1.0, carried
    rotation, place = held_channels(bone, local, parent, WHOLE, *held)
    shown = frame_in(bone_frame(bone, Local(place, rotation), parent), carried)
    wanted = frame_in(frame_in(space, own_frame(bone, local, parent)), carried)
    assert dist(shown[1], wanted[1]) < 1e-8
