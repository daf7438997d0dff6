"""Bones that are laid along given joints."""

from math import dist, radians

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, ChainInput, Local, chain_frames, point_in
from fabrik_solver.core.vectors import (
    IDENTITY,
    Quat,
    Vec,
    add,
    quat_about,
    quat_angle,
    scaled,
    unit,
)
from fabrik_solver.motion.joint_fitting import fitted_to_joints

number = st.floats(-1.0, 1.0)
direction = st.tuples(number, number, number).filter(lambda way: dist(way, (0, 0, 0)) > 0.1)


def chain_of(lengths: list[float], scale: Vec = (1.0, 1.0, 1.0), mode: str = "FULL") -> ChainInput:
    bones, head = [], (0.3, -0.2, 0.1)
    for size in lengths:
        bones.append(Bone(IDENTITY, head, size, inherit_scale=mode))
        head = (0.0, size, 0.0)
    locals_ = [Local((0, 0, 0), quat_about((0.6, 0.0, 0.8), radians(7)), scale) for _ in lengths]
    return ChainInput(bones, locals_, head, WHOLE)


def joints_of(chain: ChainInput, ways: list[Vec], lengths: list[float]) -> list[Vec]:
    joints = [chain.root]
    for way, size in zip(ways, lengths, strict=True):
        joints.append(add(joints[-1], scaled(unit(way), size)))
    return joints


def places(chain: ChainInput, rotations: tuple[Quat, ...]) -> list[Vec]:
    frames = chain_frames(chain, rotations)
    return [*[head for _, head in frames], point_in(frames[-1], chain.links[-1].arm)]


@given(st.lists(direction, min_size=1, max_size=12), st.data())
def test_bones_come_to_lie_on_the_joints(ways: list[Vec], data: st.DataObject) -> None:
    sizes = st.lists(st.floats(0.05, 2.0), min_size=len(ways), max_size=len(ways))
    lengths = data.draw(sizes)
    chain = chain_of(lengths)
    joints = joints_of(chain, ways, lengths)
    posture = fitted_to_joints(chain, joints)
    for place, joint in zip(places(chain, posture.rotations), joints, strict=True):
        assert dist(place, joint) < 1e-12 * sum(lengths) * len(ways)
    assert posture.state == "REACHED"
    assert dist(posture.tip, joints[-1]) < 1e-12 * sum(lengths) * len(ways)


@given(st.lists(direction, min_size=2, max_size=8), st.sampled_from(["FULL", "NONE", "AVERAGE"]))
def test_bones_under_uneven_scale_take_the_directions(ways: list[Vec], mode: str) -> None:
    chain = chain_of([1.0] * len(ways), (0.7, 1.6, 1.1), mode)
    joints = joints_of(chain, ways, [1.0] * len(ways))
    posture = fitted_to_joints(chain, joints)
    at = places(chain, posture.rotations)
    for i, way in enumerate(ways):
        along = unit((at[i + 1][0] - at[i][0], at[i + 1][1] - at[i][1], at[i + 1][2] - at[i][2]))
        assert dist(along, unit(way)) < 1e-6
    assert dist(posture.tip, at[-1]) < 1e-9


def test_joints_of_the_fk_input_turn_nothing() -> None:
    chain = chain_of([1.0, 0.5, 2.0])
    posture = fitted_to_joints(chain, chain.joints)
    for rotation, own in zip(posture.rotations, chain.rotations, strict=True):
        assert quat_angle(rotation, own) < 1e-7


def test_influence_turns_each_bone_part_of_the_way() -> None:
    chain = chain_of([1.0, 1.0])
    joints = joints_of(chain, [(1, 0, 0), (0, 0, 1)], [1.0, 1.0])
    full, half = fitted_to_joints(chain, joints), fitted_to_joints(chain, joints, influence=0.5)
    for own, part, whole in zip(chain.rotations, half.rotations, full.rotations, strict=True):
        assert quat_angle(own, part) == pytest.approx(quat_angle(own, whole) / 2)


def test_the_state_tells_whether_the_tip_is_on_the_target() -> None:
    chain = chain_of([1.0, 1.0])
    joints = joints_of(chain, [(1, 0, 0), (0, 0, 1)], [1.0, 1.0])
    assert fitted_to_joints(chain, joints, add(joints[-1], (0, 0, 0.1))).state == "OUT_OF_REACH"
    assert fitted_to_joints(chain, joints, add(joints[-1], (0, 0, 1e-5))).state == "REACHED"


def test_joints_without_distance_turn_nothing() -> None:
    chain = chain_of([1.0, 1.0, 1.0])
    posture = fitted_to_joints(chain, [chain.root] * 4)
    assert posture.rotations == chain.rotations
