"""The parts of an armature that stand and travel, and their positions at each frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from ...blender.access import frame_rate, pose_bones
from ...blender.character import Character, character_of
from ...blender.errors import ProblemError
from ...blender.skeleton import matrix3, vector
from ...core.vectors import Vec
from ...editing.playing import go_to, updated
from ...motion.anatomy import Limb
from ...motion.planar import STILL, Planar, planar_of
from ...motion.travel import Steps

TIP = 0.5
"""The distance from the toe joint to the tip, as a share of that from the ankle."""

TOELESS = 2.0
"""The length of a foot without a toe joint, in heights of its ankle."""


class SolePoint(NamedTuple):
    """A point of a sole.

    Attributes:
        bone: The bone that it is attached to.
        place: Its rest position in armature space.
    """

    bone: str
    place: Vector


class Body(NamedTuple):
    """The parts of an armature that stand and travel.

    Attributes:
        armature: The armature object.
        hips: The bone that carries the legs.
        root: The topmost parent of the hips, or the hips themselves.
        feet: For each foot, the points of its sole.
        leg: The mean length of the legs in armature space.
        up: The up direction in armature space.
    """

    armature: bpy.types.Object
    hips: str
    root: str
    feet: list[list[SolePoint]]
    leg: float
    up: Vector


def body_of(armature: bpy.types.Object) -> Body:
    """Return the body of an armature.

    Raises:
        ProblemError: If no legs are found.
    """
    character = character_of(armature)
    legs = [limb for limb in character.anatomy.limbs if limb.kind == "LEG" and limb.end >= 0]
    if not legs or character.anatomy.hips < 0:
        raise ProblemError(
            f"No legs were found in “{armature.name}”: its rest pose has to stand on legs in pairs"
        )
    bones = cast(bpy.types.Armature, armature.data).bones
    hips = bones[character.names[character.anatomy.hips]]
    root = (hips, *hips.parent_recursive)[-1]
    lengths = [_length(_heads(armature, character, leg)) for leg in legs]
    return Body(
        armature,
        hips.name,
        root.name,
        _soles(armature, character, legs),
        sum(lengths) / len(lengths),
        character.up,
    )


def _heads(armature: bpy.types.Object, character: Character, leg: Limb) -> list[Vector]:
    bones = cast(bpy.types.Armature, armature.data).bones
    return [bones[character.names[i]].head_local for i in (*leg.bones, leg.end)]


def _length(heads: Sequence[Vector]) -> float:
    return sum((b - a).length for a, b in pairwise(heads))


def _soles(
    armature: bpy.types.Object, character: Character, legs: Sequence[Limb]
) -> list[list[SolePoint]]:
    """Return for each leg three points on the floor of the rest pose: heel, ball and tip.

    They are below the joints, as the tails of imported bones are arbitrary. The floor is at the
    lowest joint.
    """
    bones = cast(bpy.types.Armature, armature.data).bones
    up, names = character.up, character.names
    joints = {leg: [bones[names[i]] for i in (leg.end, leg.toe) if i >= 0] for leg in legs}
    floor = min(bone.head_local.dot(up) for found in joints.values() for bone in found)
    soles: list[list[SolePoint]] = []
    for foot, *toes in joints.values():
        heel = _lowered(foot.head_local, up, floor)
        if toes:
            ball = _lowered(toes[0].head_local, up, floor)
            tip = SolePoint(toes[0].name, ball + (ball - heel) * TIP)
        else:
            ball = heel + character.front * (TOELESS * (foot.head_local - heel).length)
            tip = SolePoint(foot.name, ball)
        soles.append([SolePoint(foot.name, heel), SolePoint(foot.name, ball), tip])
    return soles


def _lowered(place: Vector, up: Vector, floor: float) -> Vector:
    return place - up * (place.dot(up) - floor)


class Take(NamedTuple):
    """A recorded range of frames.

    Attributes:
        frames: The frames.
        worlds: The world matrix of the armature object at each frame.
        bases: The matrix of the object's own channels at each frame.
        poses: At each frame the evaluated matrices of bones in armature space, by name.
        channels: At each frame the matrices of the own channels of bones, by name.
        level: The matrix from world space to a space with Z up and its origin near the body.
        rate: The frames per second.
    """

    frames: list[float]
    worlds: list[Matrix]
    bases: list[Matrix]
    poses: list[dict[str, Matrix]]
    channels: list[dict[str, Matrix]]
    level: Matrix
    rate: float


def play(body: Body, frames: Iterable[float], keyed: Sequence[str]) -> Take:
    """Play frames and record the body.

    Args:
        body: The body.
        frames: The frames, ascending.
        keyed: The names of bones whose channels are recorded as well.
    """
    rig = body.armature
    take = Take([*frames], [], [], [], [], Matrix(), frame_rate(bpy.context.scene))
    shown = {body.hips, body.root, *keyed} | {p.bone for sole in body.feet for p in sole}
    for frame in take.frames:
        go_to(frame)
        evaluated = rig.evaluated_get(updated())
        bones: Any = pose_bones(evaluated)
        take.worlds.append(evaluated.matrix_world.copy())
        take.bases.append(rig.matrix_basis.copy())
        take.poses.append({name: bones[name].matrix.copy() for name in shown})
        own = pose_bones(rig)
        take.channels.append({name: own[name].matrix_basis.copy() for name in keyed})
    turn = (take.worlds[0].to_3x3() @ body.up).rotation_difference(Vector((0.0, 0.0, 1.0)))
    origin = take.worlds[0] @ take.poses[0][body.hips].translation
    return take._replace(level=turn.to_matrix().to_4x4() @ Matrix.Translation(cast(Any, -origin)))


def steps_of(body: Body, take: Take) -> Steps:
    """Return the feet over level ground."""
    bones = cast(bpy.types.Armature, body.armature.data).bones
    size = take.worlds[0].median_scale
    feet: list[list[list[Vec]]] = []
    for sole in body.feet:
        own = [(p.bone, bones[p.bone].matrix_local.inverted() @ p.place) for p in sole]
        feet.append(
            [
                [vector(take.level @ world @ pose[name] @ place) for name, place in own]
                for world, pose in zip(take.worlds, take.poses, strict=True)
            ]
        )
    hips = [
        vector((take.level @ world @ pose[body.hips]).translation)
        for world, pose in zip(take.worlds, take.poses, strict=True)
    ]
    times = [frame / take.rate for frame in take.frames]
    return Steps(times, feet, hips, body.leg * size)


def way_of(take: Take, worlds: Sequence[Matrix], may_turn: bool) -> list[Planar]:
    """Return the planar motion from the first frame to each, given world matrices."""
    first = take.level @ worlds[0]
    way = [STILL]
    for world in worlds[1:]:
        now = take.level @ world
        turn = now.to_quaternion() @ first.to_quaternion().inverted() if may_turn else Quaternion()
        axes = matrix3(turn.to_matrix())
        before, after = vector(first.translation), vector(now.translation)
        way.append(planar_of(axes, before, after, way[-1].angle))
    return way


def in_world(take: Take, move: Planar) -> Matrix:
    """Return the world-space matrix of a planar motion."""
    turn = Matrix.Rotation(move.angle, 4, "Z")
    shift = Matrix.Translation((move.x, move.y, 0.0))
    return take.level.inverted() @ shift @ turn @ take.level
