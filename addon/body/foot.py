"""Feet: where the heel, the ball and the tip of the toes of a standing foot are, and the floor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.motion.anatomy import Limb, floor_below

from ..blender.clip import Clip
from .body import Body

TOE_LENGTH = 0.5
"""The distance from the ball to the tip of the toes, relative to that from heel to ball."""

FOOT_LENGTH = 2.0
"""The length of a foot without a toe joint, as a multiple of the height of its ankle."""


class SolePoint(NamedTuple):
    """A point of a sole.

    Attributes:
        bone: The bone to which it is attached.
        place: Its position in the space of that bone.
    """

    bone: str
    place: Vector


def standing_frames(foot: Iterable[str], up: Vector, clip: Clip) -> list[float]:
    """Return the frames of a clip, first that at which a foot stands: its joints are lowest there.

    Args:
        foot: The names of its bones.
        up: The direction up, in armature space.
        clip: The clip.
    """
    names = [*foot]
    return sorted(
        clip.frames,
        key=lambda frame: sum(clip.matrices(frame)[name].translation.dot(up) for name in names),
    )


def length_of(body: Body, leg: Limb) -> float:
    """Return the length of a leg down to its foot, in armature space."""
    bones = cast(bpy.types.Armature, body.armature.data).bones
    heads = [body.matrix(bones[body.names[i]]).translation for i in (*leg.bones, leg.end)]
    return sum([(b - a).length for a, b in pairwise(heads)])


def soles_of(body: Body, legs: Sequence[Limb]) -> list[list[SolePoint]]:
    """Return the heel, ball and toe tip of each leg, projected to its floor.

    Only joints are used, as the tails of imported bones are arbitrary.
    """
    leg_length = max(length_of(body, leg) for leg in legs)
    bones = cast(bpy.types.Armature, body.armature.data).bones
    up, names = body.up, body.names
    joints = {leg: [bones[names[i]] for i in (leg.end, leg.toe) if i >= 0] for leg in legs}
    clip = None if body.has_rest_pose else Clip(body.armature)
    stands = {leg: standing_pose(foot, up, clip) for leg, foot in joints.items()}
    heights = [pose.translation.dot(up) for foot in stands.values() for pose in foot]
    floor = floor_below(heights, (), leg_length)
    soles: list[list[SolePoint]] = []
    for leg, (foot, *toes) in joints.items():
        ankle, *rest = stands[leg]
        heel = _on_floor(ankle.translation, up, floor)
        if toes:
            ball = _on_floor(rest[0].translation, up, floor)
            tip, last, pose = ball + (ball - heel) * TOE_LENGTH, toes[0], rest[0]
        else:
            ball = heel + body.front * (FOOT_LENGTH * (ankle.translation - heel).length)
            tip, last, pose = ball, foot, ankle
        to_foot = ankle.inverted()
        soles.append(
            [
                SolePoint(foot.name, to_foot @ heel),
                SolePoint(foot.name, to_foot @ ball),
                SolePoint(last.name, pose.inverted() @ tip),
            ]
        )
    return soles


def standing_pose(foot: Sequence[bpy.types.Bone], up: Vector, clip: Clip | None) -> list[Matrix]:
    """Return the matrices of a standing foot's bones, in armature space.

    They are at rest, or at the frame of a clip at which its joints are lowest.
    """
    if clip is None:
        return [bone.matrix_local for bone in foot]
    pose = clip.matrices(standing_frames([bone.name for bone in foot], up, clip)[0])
    return [pose[bone.name] for bone in foot]


def _on_floor(point: Vector, up: Vector, floor: float) -> Vector:
    return point - up * (point.dot(up) - floor)
