"""The body of a biped or quadruped, and recordings of its motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.anatomy import Limb, floor_below
from fabrik_solver.motion.planar import STILL, Planar, planar_of
from fabrik_solver.motion.travel import Steps

from ...blender.access import frame_rate, pose_bones
from ...blender.clip import Clip
from ...blender.errors import ProblemError
from ...blender.skeleton import matrix3, skeleton_of, vector
from ...body.looking import (
    Character,
    character_of,
    figures,
    meant_figure,
    standing_frames,
)
from ...editing.playing import go_to, updated

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


class Body(NamedTuple):
    """The bones of an armature that determine its travel.

    Attributes:
        armature: The armature object.
        hips: The bone that carries the body with its legs.
        root: The topmost parent of the hips, or the hips themselves.
        feet: The points of the sole of each foot.
        leg: The mean leg length in armature space.
        up: The up direction in armature space.
        others: The topmost bones of other figures in the armature, which do not travel.
    """

    armature: bpy.types.Object
    hips: str
    root: str
    feet: list[list[SolePoint]]
    leg: float
    up: Vector
    others: list[str]


def body_of(armature: bpy.types.Object) -> Body:
    """Return the body of an armature: the active bone's if it has several.

    Raises:
        ProblemError: If no legs are recognized.
    """
    figure = meant_figure(armature)
    character = character_of(armature, bone=figure)
    legs = [limb for limb in character.anatomy.limbs if limb.kind == "LEG" and limb.end >= 0]
    bones, rig = cast(bpy.types.Armature, armature.data).bones, skeleton_of(armature)
    trunk = rig.trunk_above([rig.index[character.names[leg.bones[0]]] for leg in legs])
    if not trunk:
        raise ProblemError(
            "No legs found in “{armature}”: it must stand on pairs of legs, at rest or in its "
            "action",
            armature=armature.name,
        )
    hips = bones[rig.names[trunk[-1]]]
    root = (hips, *hips.parent_recursive)[-1]
    lengths = [_length(_heads(armature, character, leg)) for leg in legs]
    return Body(
        armature,
        hips.name,
        root.name,
        _soles(armature, character, legs, max(lengths)),
        sum(lengths) / len(lengths),
        character.up,
        [root_name for root_name in figures(armature) if root_name != figure],
    )


def _heads(armature: bpy.types.Object, character: Character, leg: Limb) -> list[Vector]:
    bones = cast(bpy.types.Armature, armature.data).bones
    return [character.matrix(bones[character.names[i]]).translation for i in (*leg.bones, leg.end)]


def _length(heads: Sequence[Vector]) -> float:
    return sum((b - a).length for a, b in pairwise(heads))


def _soles(
    armature: bpy.types.Object, character: Character, legs: Sequence[Limb], leg_length: float
) -> list[list[SolePoint]]:
    """Return the heel, ball and toe tip of each leg, projected to its floor.

    Only joints are used, as the tails of imported bones are arbitrary.
    """
    bones = cast(bpy.types.Armature, armature.data).bones
    up, names = character.up, character.names
    joints = {leg: [bones[names[i]] for i in (leg.end, leg.toe) if i >= 0] for leg in legs}
    clip = None if character.has_rest_pose else Clip(armature)
    stands = {leg: _standing(foot, up, clip) for leg, foot in joints.items()}
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
            ball = heel + character.front * (FOOT_LENGTH * (ankle.translation - heel).length)
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


def _standing(foot: Sequence[bpy.types.Bone], up: Vector, clip: Clip | None) -> list[Matrix]:
    """Return the matrices of a standing foot's bones, in armature space.

    They are at rest, or at the frame of a clip at which its joints are lowest.
    """
    if clip is None:
        return [bone.matrix_local for bone in foot]
    pose = clip.matrices(standing_frames([bone.name for bone in foot], up, clip)[0])
    return [pose[bone.name] for bone in foot]


def _on_floor(point: Vector, up: Vector, floor: float) -> Vector:
    return point - up * (point.dot(up) - floor)


class Recording(NamedTuple):
    """A recorded range of frames.

    Attributes:
        frames: The frames.
        objects: The world matrix of the armature object at each frame.
        bases: The local matrix of the object's channels at each frame.
        poses: The evaluated matrices of bones in armature space, by name, at each frame.
        channels: The local matrices of bones' channels, by name, at each frame.
        level: The matrix from world space to a space with Z up and its origin near the body.
        rate: The frames per second.
    """

    frames: list[float]
    objects: list[Matrix]
    bases: list[Matrix]
    poses: list[dict[str, Matrix]]
    channels: list[dict[str, Matrix]]
    level: Matrix
    rate: float

    def track(self, bone: str) -> list[Matrix]:
        """Return the world matrix of a bone at each frame."""
        return [ob @ pose[bone] for ob, pose in zip(self.objects, self.poses, strict=True)]

    def moved(self, matrices: Sequence[Matrix], path: Sequence[Planar]) -> list[Matrix]:
        """Return world matrices moved along a path."""
        to_world = self.level.inverted()
        return [
            to_world
            @ Matrix.Translation((move.x, move.y, 0.0))
            @ Matrix.Rotation(move.angle, 4, "Z")
            @ self.level
            @ matrix
            for move, matrix in zip(path, matrices, strict=True)
        ]


def record(body: Body, frames: Iterable[float], keyed: Sequence[str]) -> Recording:
    """Play frames and record the body.

    Args:
        body: The body.
        frames: The frames, ascending.
        keyed: The names of bones whose channels are recorded as well.
    """
    rig = body.armature
    recording = Recording([*frames], [], [], [], [], Matrix(), frame_rate(bpy.context.scene))
    names = {body.hips, body.root, *keyed} | {p.bone for sole in body.feet for p in sole}
    for frame in recording.frames:
        go_to(frame)
        evaluated = rig.evaluated_get(updated())
        bones: Any = pose_bones(evaluated)
        recording.objects.append(evaluated.matrix_world.copy())
        recording.bases.append(rig.matrix_basis.copy())
        recording.poses.append({name: bones[name].matrix.copy() for name in names})
        posed = pose_bones(rig)
        recording.channels.append({name: posed[name].matrix_basis.copy() for name in keyed})
    first = recording.objects[0]
    turn = (first.to_3x3() @ body.up).rotation_difference(Vector((0.0, 0.0, 1.0)))
    origin = first @ recording.poses[0][body.hips].translation
    level = turn.to_matrix().to_4x4() @ Matrix.Translation(cast(Any, -origin))
    return recording._replace(level=level)


def steps_of(body: Body, recording: Recording) -> Steps:
    """Return the positions of the soles and the hips above level ground."""
    to_level = [recording.level @ ob for ob in recording.objects]
    feet: list[list[list[Vec]]] = []
    for sole in body.feet:
        feet.append(
            [
                [vector(matrix @ pose[point.bone] @ point.place) for point in sole]
                for matrix, pose in zip(to_level, recording.poses, strict=True)
            ]
        )
    hips = [vector((recording.level @ matrix).translation) for matrix in recording.track(body.hips)]
    times = [frame / recording.rate for frame in recording.frames]
    return Steps(times, feet, hips, body.leg * recording.objects[0].median_scale)


def planar_path(recording: Recording, matrices: Sequence[Matrix], use_turn: bool) -> list[Planar]:
    """Return the planar motion from the first world matrix to each."""
    first = recording.level @ matrices[0]
    path = [STILL]
    for matrix in matrices[1:]:
        end = recording.level @ matrix
        turn = end.to_quaternion() @ first.to_quaternion().inverted() if use_turn else Quaternion()
        axes = matrix3(turn.to_matrix())
        origin, position = vector(first.translation), vector(end.translation)
        path.append(planar_of(axes, origin, position, path[-1].angle))
    return path
