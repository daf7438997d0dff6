"""Dragging a constraint's target in world space."""

from __future__ import annotations

from math import dist
from typing import Any

import bpy

from fabrik_solver import inverse, point_in
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    Vec,
    add,
    length,
    mat_apply,
    orthonormalize,
    sub,
)

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import auto_key
from ...blender.messages import msg
from ...blender.moving import location_axes_world, owner_of, place_of, refuse_held
from ...blender.refusals import linked_problem
from ...blender.relations import active_constraints
from ...blender.skeleton import Point, vector
from ...editing.lifting import lifts_of
from ...plan.chain_plan import ChainPlan
from ...settings.properties import settings

REACHED = 1e-4
"""Maximum error of an unconstrained target, as a fraction of the displacement."""


class TargetDrag:
    """A drag of a constraint's target or pole: an object or a bone.

    Attributes:
        place: Goal of the tip at the start of the drag, in world space. If no constraint follows
            the target, this is the target itself.
        axes: The target's unit axes in world space, in columns.
        name: Name of the target.
        tip_start: Start location of the tip that follows, in world space.
    """

    def __init__(
        self, depsgraph: bpy.types.Depsgraph, chain: ChainPlan | None, target: Point
    ) -> None:
        """Start dragging a target or pole.

        Args:
            depsgraph: The evaluated depsgraph.
            chain: The valid constraint whose tip follows it; None for a pole.
            target: The target or pole.

        Raises:
            ProblemError: If the target or pole can't be moved.
        """
        self._chain, self._target = chain, target
        self._owner: Any = owner_of(target)
        self.name = self._owner.name
        frame = self._frame = place_of(depsgraph, target)
        self.place = frame[1]
        if chain is not None:
            offset = chain.shown_offset(depsgraph)
            tip = frame[1] if offset is None else point_in(frame, offset[1])
            self.place = add(tip, lifts_of(depsgraph, chain)[0])
        self.axes = orthonormalize(frame[0]) or IDENTITY
        self._locked = self._locked_indices()
        try:
            self._to_location = inverse((location_axes_world(depsgraph, target), ORIGIN))[0]
        except ValueError:
            raise ProblemError(
                "The target “{name}” or one of its parents has zero scale: change its scale",
                name=self.name,
            ) from None
        self._start = vector(self._owner.location)
        self._motion = ORIGIN
        self.tip_start = self.tip()

    def _locked_indices(self) -> list[int]:
        """Return the indices of the location components that are locked or driven.

        Raises:
            ProblemError: If the target can't be moved at all.
        """
        owner = self._owner
        ob = self._target.object
        refuse_held(self._target)
        if problem := linked_problem(ob):
            raise ProblemError(problem)
        if self._target.skeleton is not None and owner.bone.use_connect:
            raise ProblemError(
                "The target “{name}” is connected to its parent and can't move: disable "
                "Connected in Edit Mode",
                name=self.name,
            )
        path = owner.path_from_id("location")
        drivers = animation.driven(ob)
        driven = [i for i in range(3) if (path, i) in drivers]
        locked = [i for i in range(3) if owner.lock_location[i] or i in driven]
        if len(locked) < 3:
            return locked
        if driven:
            raise ProblemError(
                "The location of the target “{name}” is driven: remove its drivers, or "
                "move what drives it",
                name=self.name,
            )
        raise ProblemError(
            "The location of the target “{name}” is locked: unlock it", name=self.name
        )

    def move_by(self, displacement: Vec) -> None:
        """Move the target in world space, relative to the start of the drag.

        Locked and driven components of its location are kept.
        """
        self._motion = displacement
        x, y, z = mat_apply(self._to_location, displacement)
        location = add(self._start, (x, y, z))
        for i in self._locked:
            location = (*location[:i], self._start[i], *location[i + 1 :])
        self._owner.location = location

    def confirm(self) -> str:
        """Keep the target's location, and key it if auto-keying is on.

        Returns:
            Why the tip didn't follow, for the user; empty if it did.

        Raises:
            ProblemError: If the target couldn't be keyed; it stays moved.
        """
        frame = place_of(bpy.context.evaluated_depsgraph_get(), self._target)
        missed = length(sub(frame[1], add(self._frame[1], self._motion)))
        auto_key(self._owner, "location")
        if self._locked or missed <= REACHED * length(self._motion):
            return ""
        for con in active_constraints(self._owner):
            return msg(
                "its own constraint “{constraint}” prevents it from following", constraint=con.name
            )
        return ""

    @property
    def state(self) -> str:
        """The constraint's state, solved for the target's current location."""
        if self._chain is None:
            return "REACHED"
        bpy.context.evaluated_depsgraph_get()
        return settings(self._chain.rig.object).constraints[self._chain.item].state

    def tip(self) -> Vec:
        """Return the evaluated tip of the chain, in world space; without a chain, the pole."""
        depsgraph = bpy.context.evaluated_depsgraph_get()
        if self._chain is None:
            return place_of(depsgraph, self._target)[1]
        armature = self._chain.rig.object.evaluated_get(depsgraph)
        return vector(armature.matrix_world @ self._chain.posed_tip(pose_bones(armature)))

    def moved(self) -> float:
        """Return how far the target has moved, in meters."""
        depsgraph = bpy.context.evaluated_depsgraph_get()
        return dist(self._frame[1], place_of(depsgraph, self._target)[1])

    def moves_same(self, other: object) -> bool:
        """Return whether another drag moves the same target."""
        return isinstance(other, TargetDrag) and other._owner == self._owner

    def cancel(self) -> None:
        """Restore the location from the start of the drag."""
        self._owner.location = self._start
