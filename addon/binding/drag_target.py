"""Moving the target of a constraint in world space, whatever it is and hangs on."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..core import inverse, point_in
from ..core.vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Vec,
    add,
    length,
    mat_apply,
    mat_product,
    mat_upright,
    sub,
)
from . import animation
from .access import pose_bones, settings
from .chain_plan import ProblemError
from .keying import auto_key
from .native import active_constraints
from .offset import target_frame
from .skeleton import matrix3, skeleton_of, vector

ARRIVED = 1e-4
"""A target that is farther from where it was dragged, as a share of the way, is held there."""


class TargetDrag:
    """The target of a constraint, an object or a bone, that is being dragged.

    Attributes:
        place: Where the tip was wanted when the drag began, in world space.
        axes: The target's own axes, of length 1, in columns.
        name: What to call it.
    """

    def __init__(
        self, depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
    ) -> None:
        """Take hold of the target of a constraint that works.

        Raises:
            ProblemError: If it cannot be moved.
        """
        item = settings(armature).constraints[index]
        self.object = cast(bpy.types.Object, item.target)
        self.bone = item.subtarget if self.object.type == "ARMATURE" else ""
        self.name = self.bone or self.object.name
        self.armature, self.item = armature, index
        frame = self._frame = target_frame(item, depsgraph)
        self.place = point_in(frame, vector(item.offset_location)) if item.use_offset else frame[1]
        self.axes = mat_upright(frame[0]) or IDENTITY
        self._held = self._held_numbers()
        self._undone = self._world_to_channel(depsgraph)
        self._start = vector(self._owner.location)
        self._motion = ORIGIN

    @property
    def _owner(self) -> Any:
        return pose_bones(self.object)[self.bone] if self.bone else self.object

    def _held_numbers(self) -> list[int]:
        """Return which numbers of the location stay: locked ones, and those that a driver sets.

        Raises:
            ProblemError: If nothing of it can be moved.
        """
        owner = self._owner
        if not self.object.is_editable:
            raise ProblemError(
                f"The target “{self.object.name}” is linked from another file: make a library "
                "override of it"
            )
        if self.bone and owner.bone.use_connect:
            raise ProblemError(
                f"The target “{self.name}” is connected to its parent and cannot leave it: turn "
                "off its Connected in Edit Mode"
            )
        path = owner.path_from_id("location") if self.bone else "location"
        drivers = animation.driven(self.object)
        driven = [i for i in range(3) if (path, i) in drivers]
        held = [i for i in range(3) if owner.lock_location[i] or i in driven]
        if len(held) < 3:
            return held
        if driven:
            raise ProblemError(
                f"The location of the target “{self.name}” has drivers: remove them, or move "
                "what drives it"
            )
        raise ProblemError(f"The location of the target “{self.name}” is locked: unlock it")

    def _world_to_channel(self, depsgraph: bpy.types.Depsgraph) -> Mat3:
        """Return what takes a motion in world space to one of the location channel.

        Raises:
            ProblemError: If something is flat, so that there is none.
        """
        ob = self.object.evaluated_get(depsgraph)
        axes = matrix3(ob.matrix_world)
        try:
            if not self.bone:
                # What is left of the object's place without its own channels is its parent's.
                own = inverse((matrix3(ob.matrix_basis), ORIGIN))[0]
                return inverse((mat_product(axes, own), ORIGIN))[0]
            bone = skeleton_of(self.object).bone(skeleton_of(self.object).index[self.bone])
            parent = pose_bones(ob)[self.bone].parent
            if parent is not None:
                axes = mat_product(axes, matrix3(parent.matrix))
            channel = bone.rest if bone.local_location else IDENTITY
            return inverse((mat_product(axes, channel), ORIGIN))[0]
        except ValueError:
            raise ProblemError(
                f"The target “{self.name}”, or what it hangs on, is scaled to zero: give it a scale"
            ) from None

    def move_by(self, motion: Vec) -> None:
        """Move the target in world space, from where it was when the drag began.

        What is locked or driven of its location stays.
        """
        self._motion = motion
        x, y, z = mat_apply(self._undone, motion)
        there = add(self._start, (x, y, z))
        for i in self._held:
            there = (*there[:i], self._start[i], *there[i + 1 :])
        self._owner.location = there

    def confirm(self) -> str:
        """Leave the target where it is, keyed if auto keying is on.

        Returns:
            What the user should know besides, empty if nothing.

        Raises:
            ProblemError: If it could not be keyed; it has been moved all the same.
        """
        item = settings(self.armature).constraints[self.item]
        frame = target_frame(item, bpy.context.evaluated_depsgraph_get())
        missed = length(sub(frame[1], add(self._frame[1], self._motion)))
        auto_key(self._owner, "location")
        if self._held or missed <= ARRIVED * length(self._motion):
            return ""
        for con in active_constraints(self._owner):
            return f"its own constraint “{con.name}” keeps it from following"
        return ""

    def cancel(self) -> None:
        """Put the target back."""
        self._owner.location = self._start
