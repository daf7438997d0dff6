"""Dragging a chain without a constraint, by changing its FK pose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import dist
from typing import Any

import bpy

from fabrik_solver import (
    WHOLE,
    ChainInput,
    Goal,
    Limit,
    Local,
    inverse,
    point_in,
    pose_in_world,
)
from fabrik_solver.core.vectors import IDENTITY, ORIGIN, Mat3, Quat, Vec, add, orthonormalize

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import auto_key
from ...blender.rotation import PoseChannels, floats
from ...blender.skeleton import matrix3, matrix_frame, skeleton_of, vector
from ...body.flexion import bend_side
from ...editing.posing import PosedRotation
from ...frame.armature import Evaluated
from ...settings.joint_limits import joint_problem, posed_joint

SOLVER, ITERATIONS, TOLERANCE = "FABRIK", 20, 1e-5


class ChainDrag:
    """A drag of a bone's tail that rotates the bone and its parents.

    It is solved like a constraint's chain, with joint limits, but written to the FK pose. Locked
    and driven rotation channels are kept; the joint rotates about its remaining axes.

    Attributes:
        place: Location of the tail at the start of the drag, in world space.
        axes: The bone's unit axes in world space, in columns.
        name: Name of the bone.
        tip_start: The tail at the start of the drag, in world space.
        state: The state of the solved chain.
    """

    def __init__(
        self, depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, bones: list[int]
    ) -> None:
        """Start dragging the tail of the last bone; each bone is the parent of the next.

        Raises:
            ProblemError: If the bones can't be posed.
        """
        rig = self.rig = skeleton_of(armature)
        self.object, self.bones = armature, bones
        self.name = rig.names[bones[-1]]
        evaluated = Evaluated(armature.evaluated_get(depsgraph))
        channels = PoseChannels(pose_bones(armature))
        self._rotations = {bone: PosedRotation(self._bone(bone)) for bone in bones}
        world = evaluated.object.matrix_world
        self._world = matrix_frame(world)
        try:
            self._frames = self._world, inverse(self._world)
            self._input = self._chain(channels, evaluated)
        except ValueError:
            raise ProblemError(
                "“{name}” can't be dragged, because “{armature}” has zero scale or an invalid "
                "bone transform: fix it first",
                name=self.name,
                armature=armature.name,
            ) from None
        tip = self._input.joints[-1]
        self.place = self.tip_start = point_in(self._world, tip)
        self.state = "REACHED"
        tip_bone = pose_bones(evaluated.object)[self.name]
        self.axes = orthonormalize(matrix3(world @ tip_bone.matrix)) or IDENTITY

    def _chain(self, channels: PoseChannels, evaluated: Evaluated) -> ChainInput:
        """Return the chain in its FK pose.

        Raises:
            ValueError: If a number is not finite.
            ProblemError: If a joint is invalid.
        """
        rig, bones = self.rig, self.bones
        locations = floats(channels.bones, "location", 3)
        scales = floats(channels.bones, "scale", 3)
        locals_: list[Local] = []
        for bone in bones:
            xyz = slice(bone * 3, bone * 3 + 3)
            location = ORIGIN if bone in rig.connected else vector(locations[xyz])
            locals_.append(Local(location, self._rotations[bone].turn, vector(scales[xyz])))
        root_parent = rig.parents[bones[0]]
        limits, stiffness = self._joints()
        return ChainInput(
            [rig.bone(bone) for bone in bones],
            locals_,
            (0.0, rig.bone(bones[-1]).length, 0.0),
            WHOLE if root_parent < 0 else evaluated.frame(root_parent),
            bend_side(rig, bones, -1),
            limits,
            stiffness,
        )

    def _joints(self) -> tuple[list[Limit | None], list[float]]:
        """Return the limit and stiffness of each bone.

        Raises:
            ProblemError: If a joint is invalid.
        """
        bones = [self._bone(bone) for bone in self.bones]
        for problem in map(joint_problem, bones):
            if problem:
                raise ProblemError(problem)
        limits, stiffness = zip(*map(posed_joint, bones), strict=True)
        starts = self._rotations.values()
        return [rotation.limited(limit) for rotation, limit in zip(starts, limits, strict=True)], [
            *stiffness
        ]

    def _bone(self, bone: int) -> Any:
        return pose_bones(self.object)[self.rig.names[bone]]

    def move_by(self, displacement: Vec) -> None:
        """Drag the tail in world space, relative to the start of the drag.

        Raises:
            ProblemError: If the movement overflows.
        """
        if displacement == ORIGIN:
            self.cancel()
            return
        goal = Goal(add(self.place, displacement))
        try:
            posture, _ = pose_in_world(
                self._input, self._frames, goal, SOLVER, ITERATIONS, TOLERANCE, influence=1.0
            )
        except (ValueError, ArithmeticError):
            raise ProblemError(
                "Too far away (single precision overflows): drag a shorter distance"
            ) from None
        if len(self.bones) > 1:  # A single bone only points at the mouse.
            self.state = posture.state
        self._turns = dict(zip(self.bones, posture.rotations, strict=True))
        for bone, rotation in self._rotations.items():
            rotation.write(self._turns[bone])

    def turn_with(
        self,
        other: ChainDrag,
        pairs: Mapping[int, tuple[int, Mat3]],
        turned: Callable[[Mat3, tuple[Quat, Quat], Quat], Quat],
    ) -> None:
        """Mirror the rotations of a drag on the other side.

        Args:
            other: The other drag, which has moved.
            pairs: For each bone of the other drag: this drag's bone, and the reflection to its rest
                axes.
            turned: Returns a bone's rotation from the reflection, the start rotations of the other
                bone and of this bone, and the other bone's rotation.
        """
        self.state = other.state
        for bone, (mirrored, axes) in pairs.items():
            rotation = self._rotations[mirrored]
            starts = other._rotations[bone].turn, rotation.turn
            rotation.write(turned(axes, starts, other._turns[bone]))

    def confirm(self) -> str:
        """Keep the pose, and key it if auto-keying is on; return an empty note.

        Raises:
            ProblemError: If the pose couldn't be keyed; it is kept.
        """
        for bone, rotation in self._rotations.items():
            if not rotation.is_fixed:
                auto_key(self._bone(bone), rotation.channel)
        return ""

    def tip(self) -> Vec:
        """Return the evaluated tail, in world space."""
        armature = self.object.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return vector(armature.matrix_world @ pose_bones(armature)[self.bones[-1]].tail)

    def moved(self) -> float:
        """Return how far the tail has moved, in meters."""
        return dist(self.tip_start, self.tip())

    def cancel(self) -> None:
        """Restore the FK pose from the start of the drag."""
        for rotation in self._rotations.values():
            rotation.restore()
