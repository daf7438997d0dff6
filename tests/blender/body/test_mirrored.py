"""The two limbs of a pair bend as mirror images, whatever the evidence for their bend."""

from math import radians, sin
from typing import Any

import pytest
from characters import FAMILIES, make_capture
from families import ARM, Joints, about_x, standing, walking
from mathutils import Matrix, Vector
from operating import add_limbs
from rigs import evaluated, go

from addon.body.looking import body_of

pytestmark = pytest.mark.newest

BEHIND = 0.012
"""How far the elbows are behind the line from shoulder to wrist."""


def arms_in_a(phase: float, yaw: float) -> Joints:
    """Return a walking figure, with arms held away from it that hardly move."""
    legs, stand = walking(phase, 0.0), standing(45.0)
    turn = Matrix.Rotation(yaw, 3, "Z")

    def place(name: str, side: int) -> Any:
        if name not in ARM[2:]:
            x, y, z = legs(name, side)
        else:
            x, y, z = about_x(stand(name, side), radians(0.2 * side * (phase % 1.0)))
            y += BEHIND * (name == "elbow") - 0.2 * phase
        return tuple(turn @ Vector((x, y, z)))

    return place


def arms_that_stretch(phase: float, yaw: float) -> Joints:
    """Return such a figure whose elbows swing without their shoulders: they bend anywhere."""
    held = arms_in_a(phase, yaw)

    def place(name: str, side: int) -> Any:
        point = held(name, side)
        return about_x(point, radians(12.0 * side * sin(phase))) if name in ARM[2:] else point

    return place


@pytest.mark.parametrize("name", ["meta", "mixamo", "vroid", "xsens bvh", "genesis 9", "synty"])
def test_joints_of_a_pair_get_one_answer_even_if_they_bend_anywhere(name: str) -> None:
    rig = make_capture(name, yaw=0.0, walk=arms_that_stretch)
    body = body_of(rig)
    sides: list[Vector | None] = []
    for limb in body.limbs:
        joints = [joint for joint in limb.joints[1:] if joint.source != "TWIST"]
        if limb.kind == "ARM" and len(joints) == 1:
            axes = body.matrix(rig.data.bones[joints[0].bone]).to_3x3().normalized()
            sides.append(axes @ joints[0].axis if joints[0].source else None)
    left, right = sides
    assert (left is None) == (right is None)
    if left is not None and right is not None:
        across = body.turn @ Vector(body.anatomy.left)
        assert (2.0 * right.dot(across) * across - right).angle(left) < 1e-3


@pytest.mark.parametrize("yaw", [0.0, 0.8])
@pytest.mark.parametrize("name", FAMILIES)
def test_joints_of_a_pair_bend_mirrored(name: str, yaw: float) -> None:
    rig = make_capture(name, yaw=yaw, walk=arms_in_a)
    body = body_of(rig)
    bends: dict[str, list[Vector]] = {}
    sources: list[str] = []
    for limb in body.limbs:
        joints = [joint for joint in limb.joints[1:] if joint.source != "TWIST"]
        if len(joints) != 1:
            continue
        bone = rig.data.bones[joints[0].bone]
        assert joints[0].source, bone.name
        sources.append(joints[0].source)
        # The end of a leg without its foot is inconclusive: it leads down.
        end = None if limb.end.at_tail else rig.data.bones[limb.end.bone]
        along = body.matrix(end).translation - body.matrix(bone).translation if end else -body.up
        axis = body.matrix(bone).to_3x3().normalized() @ joints[0].axis
        bends.setdefault(limb.kind, []).append(axis.cross(along).normalized())
    for kind, sides in bends.items():
        ahead = [side.dot(body.front) > 0.0 for side in sides]
        assert ahead == [kind == "ARM"] * len(sides), (kind, sides, sources)


@pytest.mark.parametrize("name", ["mmd", "genesis 8", "makehuman", "cmu"])
def test_poles_of_arms_are_behind_and_of_legs_ahead(name: str) -> None:
    rig = make_capture(name, yaw=0.0, walk=arms_in_a)
    go(1)
    for limb in body_of(rig).limbs:
        add_limbs(rig, limb.end.bone, controls="EMPTY")
        item = rig.fabrik.constraints[-1]
        shown = evaluated(rig).pose.bones
        middle = 0.5 * (shown[limb.bones[0]].head + shown[limb.hand].head)
        behind = (item.pole_target.matrix_world.translation - middle).normalized().y
        assert (behind > 0.5) if limb.kind == "ARM" else (behind < -0.5), limb
