"""An armature's body at the start of a drag, to be posed in FK."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import bpy

from fabrik_solver import (
    WHOLE,
    Frame,
    Local,
    head_in_parent,
    inherited_axes,
    inverse,
    moved_location,
    point_in,
)
from fabrik_solver.core.vectors import ORIGIN, Quat, Vec, length, quat_inverse, quat_product, sub
from fabrik_solver.core.whole_body import Support, WholeBody, WholeBodyGoal, WholeBodyPose

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.relations import active_constraints
from ...blender.skeleton import skeleton_of, vector
from ...body.carriers import Carriers
from ...editing.playing import updated
from ...editing.posing import PosedRotation
from ...frame.armature import Evaluated
from .body import Body, Turning, bones_between, rotation_of
from .facts import facts_of
from .response import Response
from .roles import Roles

MEASURED: Final = 5
"""Maximum number of solutions where constraints carry the bones, so that Blender evaluates each."""

TURNING: Final = {
    "COPY_ROTATION",
    "LIMIT_ROTATION",
    "DAMPED_TRACK",
    "LOCKED_TRACK",
    "TRACK_TO",
    "COPY_SCALE",
    "LIMIT_SCALE",
    "MAINTAIN_VOLUME",
}
"""Blender's constraints that leave a bone where its channels put it."""


class PosedBody(Body):
    """The bones from a body's root to everything being pulled.

    Attributes:
        is_exact: Whether only channels pose it, so that it shows the solver's pose.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        armature: bpy.types.Object,
        roles: Roles,
        carriers: Carriers,
        root: int,
        pulled: Iterable[int],
        clavicle: float,
        posed: Collection[int] = (),
        kept: Collection[int] = (),
    ) -> None:
        """Read the pose of the bones from the body's root to those being pulled.

        ``posed`` are bones whose channels don't show their pose, because constraints pose them. Of
        these, ``kept`` follow their parent.

        Raises:
            ProblemError: If the body can't be posed.
        """
        rig = skeleton_of(armature)
        self._armature, self._is_posed = armature, posed
        evaluated = self._now = Evaluated(armature.evaluated_get(depsgraph))
        ends = [*pulled, *(rig.index[name] for name in roles.ends if name in rig.index)]
        bones = bones_between(carriers, root, ends)
        facts = {
            bone: facts_of(armature, roles, carriers, bone, root, posed, kept) for bone in bones
        }
        frames = {bone: evaluated.frame(bone) for bone in bones}
        above = WHOLE if rig.parents[root] < 0 else evaluated.frame(rig.parents[root])
        if not all(_is_finite(frames[bone]) for bone in bones):
            raise ProblemError(
                "“{name}” can't be dragged, because “{armature}” has zero scale or an invalid "
                "bone transform: fix it first",
                name=rig.names[root],
                armature=armature.name,
            )
        self.rig = rig
        self._rotations = {bone: PosedRotation(self._bone(bone)) for bone in bones}
        self._start = vector(self._bone(root).location)
        locals_ = {
            bone: Local(
                self._shown_location(bone, root, frames, above),
                self._shown_turn(bone, frames),
                vector(self._bone(bone).scale),
            )
            for bone in bones
        }
        is_fixed = self._is_location_fixed(root)
        super().__init__(rig, facts, frames, locals_, above, not is_fixed, clavicle)
        self.is_exact = self._follows_channels()

    def _shown_turn(self, bone: int, frames: Mapping[int, Frame]) -> Quat:
        """Return a bone's shown rotation as a channel value."""
        if bone not in self._is_posed:
            return self._rotations[bone].turn
        parent = self.rig.parents[bone]
        above = WHOLE if parent < 0 else self._now.frame(parent)
        inherited = rotation_of(inherited_axes(self.rig.bone(bone), above[0])[0])
        turned = rotation_of(frames[bone][0], vector(self._bone(bone).scale))
        return quat_product(quat_inverse(inherited), turned)

    def _shown_location(
        self, bone: int, root: int, frames: Mapping[int, Frame], above: Frame
    ) -> Vec:
        """Return a bone's shown location as a channel value.

        Args:
            bone: The bone.
            root: The first bone of the body.
            frames: The shown frames of the bones.
            above: The frame of the first bone's parent.
        """
        if bone != root:
            return ORIGIN if bone in self.rig.connected else vector(self._bone(bone).location)
        if bone not in self._is_posed:
            return self._start
        rest = self.rig.bone(bone)
        offset = sub(frames[bone][1], point_in(above, head_in_parent(rest, Local(self._start))))
        return moved_location(rest, self._start, above[0], offset)

    def _bone(self, bone: int) -> Any:
        return pose_bones(self._armature)[self.rig.names[bone]]

    def holder(self, bone: int) -> str:
        """Return the name of the constraint that places a bone; empty if there is none."""
        constraints = active_constraints(self._bone(bone))
        return next((con.name for con in constraints if con.type not in TURNING), "")

    def _is_location_fixed(self, root: int) -> bool:
        bone = self._bone(root)
        if root in self.rig.connected or self.holder(root):
            return True
        return any(bone.lock_location) or animation.has_driver(self._armature, bone, "location")

    def _follows_channels(self) -> bool:
        """Return whether only channels pose the body, as in most skeletons.

        Constraints that agree with the channels at the start of the drag may not do so in other
        poses.
        """
        parents = self.rig.parents
        if any(active_constraints(self._bone(bone)) for bone in self.bones):
            return False
        if any(self._facts[bone].carrier != parents[bone] for bone in self.bones[1:]):
            return False
        composed = self.composed({}, self._locals[self.root].location)
        return all(
            length(sub(point_in(composed[bone], end), point_in(self._frames[bone], end)))
            <= 1e-4 * self.size
            for bone in self.bones
            for end in (ORIGIN, (0.0, self.rig.bone(bone).length, 0.0))
        )

    def pose(
        self,
        solver: WholeBody,
        wanted: Sequence[WholeBodyGoal],
        support: Support | None,
        write: Callable[[WholeBodyPose], None],
        response: Response,
        near: float,
        turning: Turning | None,
    ) -> WholeBodyPose:
        """Write the pose that meets the goals as Blender computes it, and return it.

        Args:
            solver: The body in the form of the solver.
            wanted: The goals.
            support: See `solve`.
            write: Writes a pose to the channels.
            response: See `solve`.
            near: Maximum miss of dragged points, as a fraction of the body's size.
            turning: See `solve`.
        """
        written: WholeBodyPose | None = None

        def shown(pose: WholeBodyPose) -> Callable[[int], Frame]:
            nonlocal written
            written = pose
            write(pose)
            self._armature.update_tag()
            return Evaluated(self._armature.evaluated_get(updated())).frame

        if self.is_exact:
            pose = self.solve(solver, wanted, support, turning=turning)
        else:
            rounds = 1 + MEASURED
            pose = self.solve(solver, wanted, support, shown, rounds, response, near, turning)
        if pose is not written:  # Writing again would evaluate it again.
            write(pose)
        return pose

    # Writing

    def write(self, pose: WholeBodyPose, without: Collection[int] = ()) -> None:
        """Pose the bones in FK.

        Args:
            pose: The pose.
            without: The bones to leave unchanged, because something else poses them.
        """
        for bone, turn in self.turned(pose).items():
            if bone not in without:
                self._rotations[bone].write(turn)
        if self.can_move and self.root not in without:
            self._bone(self.root).location = self.moved(pose)

    def restore(self) -> None:
        """Restore the pose from the start of the drag."""
        for bone in self.joints:
            self._rotations[bone].restore()
        if self.can_move:
            self._bone(self.root).location = self._start

    def channels(self, bones: Collection[int]) -> list[tuple[Any, str]]:
        """Return the channels that posing the bones sets: pose bones and channel names."""
        channels = [
            (self._bone(bone), self._rotations[bone].channel)
            for bone in self.joints
            if bone in bones and not self._rotations[bone].is_fixed
        ]
        if self.can_move and self.root in bones:
            channels.append((self._bone(self.root), "location"))
        return channels


def _is_finite(frame: Frame) -> bool:
    try:
        inverse(frame)
    except ValueError:
        return False
    return True
