"""Moving the target of a constraint in world space, whatever it is and hangs on."""

from __future__ import annotations

from typing import Any

import bpy

from ...blender import animation
from ...blender.errors import ProblemError
from ...blender.keying import auto_key
from ...blender.moving import location_axes_world, owner_of, place_of
from ...blender.refusals import linked_problem
from ...blender.relations import active_constraints
from ...blender.skeleton import Point, vector
from ...core import Frame, inverse, point_in
from ...core.vectors import IDENTITY, ORIGIN, Vec, add, length, mat_apply, orthonormalize, sub

ARRIVED = 1e-4
"""A target that is farther from where it was dragged, as a share of the way, is held there."""


class TargetDrag:
    """The target of a constraint, an object or a bone, that is being dragged.

    Attributes:
        place: Where the tip was wanted when the drag began, in world space.
        axes: The target's own axes, of length 1, in columns.
        name: What to call it.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph, target: Point, offset: Frame | None) -> None:
        """Take hold of the target of a constraint that works.

        Args:
            depsgraph: Up to date.
            target: What is to be moved.
            offset: What its frame is multiplied by for the tip, None if nothing.

        Raises:
            ProblemError: If it cannot be moved.
        """
        self._target = target
        self._owner: Any = owner_of(target)
        self.name = self._owner.name
        frame = self._frame = place_of(depsgraph, target)
        self.place = frame[1] if offset is None else point_in(frame, offset[1])
        self.axes = orthonormalize(frame[0]) or IDENTITY
        self._held = self._held_numbers()
        try:
            self._undone = inverse((location_axes_world(depsgraph, target), ORIGIN))[0]
        except ValueError:
            raise ProblemError(
                f"The target “{self.name}” or one of its parents has zero scale: change its scale"
            ) from None
        self._start = vector(self._owner.location)
        self._motion = ORIGIN

    def _held_numbers(self) -> list[int]:
        """Return which numbers of the location stay: locked ones, and those that a driver sets.

        Raises:
            ProblemError: If nothing of it can be moved.
        """
        owner = self._owner
        ob = self._target.object
        if problem := linked_problem(ob):
            raise ProblemError(f"The target {problem}")
        if self._target.skeleton is not None and owner.bone.use_connect:
            raise ProblemError(
                f"The target “{self.name}” is connected to its parent and cannot be moved: "
                "disable its Connected option in Edit Mode"
            )
        path = owner.path_from_id("location")
        drivers = animation.driven(ob)
        driven = [i for i in range(3) if (path, i) in drivers]
        held = [i for i in range(3) if owner.lock_location[i] or i in driven]
        if len(held) < 3:
            return held
        if driven:
            raise ProblemError(
                f"The location of the target “{self.name}” is driven: remove its drivers, or "
                "move what drives it"
            )
        raise ProblemError(f"The location of the target “{self.name}” is locked: unlock it")

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
        frame = place_of(bpy.context.evaluated_depsgraph_get(), self._target)
        missed = length(sub(frame[1], add(self._frame[1], self._motion)))
        auto_key(self._owner, "location")
        if self._held or missed <= ARRIVED * length(self._motion):
            return ""
        for con in active_constraints(self._owner):
            return f"its own constraint “{con.name}” prevents it from following"
        return ""

    def cancel(self) -> None:
        """Put the target back."""
        self._owner.location = self._start
