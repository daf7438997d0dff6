"""The body of a biped or quadruped, and recordings of its motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.planar import STILL, Planar, planar_of
from fabrik_solver.motion.travel import Steps

from ...blender.access import frame_rate, pose_bones
from ...blender.errors import ProblemError
from ...blender.skeleton import matrix3, vector
from ...body.foot import length_of
from ...body.looking import body_of, figures, meant_figure
from ...editing.playing import go_to, updated


class Traveler(NamedTuple):
    """The bones of an armature that determine how it travels.

    Attributes:
        armature: The armature object.
        hips: The bone that moves the body with its legs.
        root: The topmost parent of the hips, or the hips themselves.
        feet: The points of the sole of each foot.
        leg: The mean leg length in armature space.
        up: The up direction in armature space.
        others: The topmost bones of other characters in the armature, which don't travel.
    """

    armature: bpy.types.Object
    hips: str
    root: str
    feet: list[list[tuple[str, Vector]]]
    leg: float
    up: Vector
    others: list[str]


def traveler_of(armature: bpy.types.Object) -> Traveler:
    """Return the body that travels. If the armature has several, it is the active bone's.

    Raises:
        ProblemError: If no legs are recognized.
    """
    figure = meant_figure(armature)
    body = body_of(armature, figure)
    legs = [leg for leg in body.legs if leg.has_foot]
    carriers = body.carriers_of([leg.bones[0] for leg in legs])
    if not carriers:
        raise ProblemError(
            "No legs found in “{armature}”: it must stand on pairs of legs, at rest or in its "
            "action",
            armature=armature.name,
        )
    lengths = [length_of(leg) for leg in legs]
    return Traveler(
        armature,
        carriers[-1],
        carriers[0],
        [leg.foot.points for leg in legs if leg.foot],
        sum(lengths) / len(lengths),
        body.up,
        [root_name for root_name in figures(armature) if root_name != figure],
    )


class Recording(NamedTuple):
    """A recorded range of frames.

    Attributes:
        frames: The frames.
        objects: The armature object's world matrix at each frame.
        bases: The local matrix of the object's channels at each frame.
        poses: The evaluated matrices of bones in armature space, by name, at each frame.
        channels: The local matrices of bone channels, by name, at each frame.
        level: The matrix from world space to a space with Z up and its origin near the body.
        rate: Frames per second.
    """

    frames: list[float]
    objects: list[Matrix]
    bases: list[Matrix]
    poses: list[dict[str, Matrix]]
    channels: list[dict[str, Matrix]]
    level: Matrix
    rate: float

    def track(self, bone: str) -> list[Matrix]:
        """Return a bone's world matrix at each frame."""
        return [ob @ pose[bone] for ob, pose in zip(self.objects, self.poses, strict=True)]

    def moved(self, matrices: Sequence[Matrix], path: Sequence[Planar]) -> list[Matrix]:
        """Return world matrices, moved along a path."""
        to_world = self.level.inverted()
        return [
            to_world
            @ Matrix.Translation((move.x, move.y, 0.0))
            @ Matrix.Rotation(move.angle, 4, "Z")
            @ self.level
            @ matrix
            for move, matrix in zip(path, matrices, strict=True)
        ]


def record(body: Traveler, frames: Iterable[float], keyed: Sequence[str]) -> Recording:
    """Play frames and record the body.

    Args:
        body: The body.
        frames: The frames, in ascending order.
        keyed: The names of the bones whose channels are recorded too.
    """
    rig = body.armature
    recording = Recording([*frames], [], [], [], [], Matrix(), frame_rate(bpy.context.scene))
    names = {body.hips, body.root, *keyed} | {bone for sole in body.feet for bone, _ in sole}
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


def steps_of(body: Traveler, recording: Recording) -> Steps:
    """Return the positions of the soles and the hips above level ground."""
    to_level = [recording.level @ ob for ob in recording.objects]
    feet: list[list[list[Vec]]] = []
    for sole in body.feet:
        feet.append(
            [
                [vector(matrix @ pose[bone] @ point) for bone, point in sole]
                for matrix, pose in zip(to_level, recording.poses, strict=True)
            ]
        )
    hips = [vector((recording.level @ matrix).translation) for matrix in recording.track(body.hips)]
    times = [frame / recording.rate for frame in recording.frames]
    return Steps(times, feet, hips, body.leg * recording.objects[0].median_scale)


def planar_path(recording: Recording, matrices: Sequence[Matrix], use_turn: bool) -> list[Planar]:
    """Return the planar motion from the first world matrix to each one."""
    first = recording.level @ matrices[0]
    path = [STILL]
    for matrix in matrices[1:]:
        end = recording.level @ matrix
        turn = end.to_quaternion() @ first.to_quaternion().inverted() if use_turn else Quaternion()
        axes = matrix3(turn.to_matrix())
        origin, position = vector(first.translation), vector(end.translation)
        path.append(planar_of(axes, origin, position, path[-1].angle))
    return path
