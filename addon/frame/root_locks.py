"""Locks of a root that may move: Blender's channel locks and Limit Location constraints."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any, NamedTuple

import bpy

from fabrik_solver import (
    Bone,
    Cone,
    Frame,
    Limit,
    LimitedLock,
    Local,
    LockedAngles,
    LockedNumbers,
    Slab,
    euler_angles,
    head_in_parent,
    point_in,
    slab,
)
from fabrik_solver.core.constraint_kinds import LimitLocation, Range
from fabrik_solver.core.constraints import ConstraintSpaces
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    Quat,
    Vec,
    add,
    mat_columns,
    mat_from_columns,
    mat_transposed,
    sub,
)

from ..blender.native_constraints import is_predictable, range_of
from ..blender.rotation import AXIS_ANGLE, EULER_AXES, mode_of
from ..blender.skeleton import Skeleton
from ..blender.updates import is_foreign
from ..plan.chain_plan import Snapshot

FIXED = (0.0, 0.0)
AXES: list[Vec] = [*mat_columns(IDENTITY)]

Ranges = tuple[tuple[float, float], ...]
"""The minimum and maximum of each coordinate of a location."""


class RootLocks(NamedTuple):
    """A bone's locks, as inputs of a solution. Blender doesn't notify of changes to them.

    Attributes:
        location: Whether X, Y and Z of its location are locked.
        rotation: Whether W, X, Y and Z of its rotation are locked.
        by_number: Whether these lock the channel's four numbers instead of Euler angles.
        mode: Its rotation mode.
        limits: Space, ranges and influence of its Limit Location constraints.
    """

    location: tuple[bool, ...]
    rotation: tuple[bool, ...]
    by_number: bool
    mode: int
    limits: tuple[tuple[str, Ranges, float], ...]

    def joint(self, limit: Limit | None, fk_rotation: Quat) -> Limit | None:
        """Return a joint limit combined with the rotation locks; None if neither applies.

        The locks hold the FK rotation.
        """
        lock = self._lock(fk_rotation)
        if lock is None or limit is None:
            return lock or limit
        return LimitedLock(limit, lock)

    def _lock(self, fk_rotation: Quat) -> Limit | None:
        locked = [*self.rotation]
        is_axis_fixed = self.by_number and self.mode == AXIS_ANGLE and any(locked[1:])
        if not any(locked if self.by_number else locked[1:]):
            return None
        if is_axis_fixed or all(locked[1:]):
            return Cone(FIXED, FIXED, FIXED, fk_rotation)
        if self.by_number:
            return LockedNumbers(fk_rotation, locked)
        # In other modes, Blender's locks apply to XYZ Euler angles.
        order = EULER_AXES[max(self.mode, 1) - 1]
        return LockedAngles(euler_angles(fk_rotation, *order, ORIGIN), order, locked[1:])

    def kept(self, location: Vec, fk: Vec) -> Vec:
        """Return a location with locked components taken from the FK pose, bit for bit."""
        x, y, z = [
            fk_value if lock else solved
            for lock, solved, fk_value in zip(self.location, location, fk, strict=True)
        ]
        return (x, y, z)

    def slabs(self, bone: Bone, local: Local, spaces: ConstraintSpaces) -> list[Slab]:
        """Return the limits of the bone's head in armature space.

        Args:
            bone: The bone.
            local: Its FK pose.
            spaces: The spaces of its constraints.
        """
        head = point_in(spaces.parent, head_in_parent(bone, local))
        slabs: list[Slab] = []
        locks: list[tuple[float, float]] = []
        for value, lock in zip(local.location, self.location, strict=True):
            locks.append((value, value) if lock else (-inf, inf))
        for space, ranges, _ in (("LOCAL", tuple(locks), 1.0), *self.limits):
            try:
                slabs += _slabs(spaces, space, ranges, head)
            except ValueError:  # The space has zero scale.
                continue
        return slabs

    def displaced(self, frame: Frame, spaces: ConstraintSpaces) -> Vec:
        """Return how far the limits move the bone, in armature space.

        They apply to locked components too.

        Args:
            frame: The bone's frame before its constraints.
            spaces: Their spaces.
        """
        limited = frame
        for space, ranges, influence in self.limits:
            (a, d), (b, e), (c, f) = ranges
            limit = LimitLocation(Range((a, b, c), (d, e, f)))
            limited = spaces.constrained(limit, space, limited, limited, influence)
        return sub(limited[1], frame[1])


def _slabs(spaces: ConstraintSpaces, space: str, ranges: Ranges, head: Vec) -> list[Slab]:
    """Return the slabs of location ranges, in a space that is affine in the bone's head."""

    def seen(location: Vec) -> Vec:
        return spaces.seen((IDENTITY, location), space)[1]

    seen_head = seen(head)
    columns = [sub(seen(add(head, axis)), seen_head) for axis in AXES]
    gradients = mat_columns(mat_transposed(mat_from_columns(*columns)))
    return [
        part
        for value, (least, most), gradient in zip(seen_head, ranges, gradients, strict=True)
        if least > -inf or most < inf
        for part in slab(gradient, least - value, most - value)
    ]


def with_locks(scene: Snapshot, rig: Skeleton) -> bpy.types.Object:
    """Return whichever of an armature and its evaluated copy has this frame's locks and limits.

    Blender doesn't notify of edits to these, so the evaluated copy may lack them. The original has
    animated values only if Blender flushes them.
    """
    has_flushed = scene.depsgraph is None or not is_foreign(scene.depsgraph)
    return rig.object if has_flushed else scene.rigs[rig.uid]


def root_locks(bone: Any, limits: Collection[str]) -> RootLocks:
    """Return a pose bone's locks, and the ranges of its Limit Location constraints.

    Args:
        bone: The bone.
        limits: The names of these constraints.
    """
    present = [con for con in bone.constraints if con.name in limits and is_predictable(con, True)]
    return RootLocks(
        tuple(bone.lock_location),
        (bone.lock_rotation_w, *bone.lock_rotation),
        bone.lock_rotations_4d and mode_of(bone) <= 0,
        mode_of(bone),
        tuple([(con.owner_space, _ranges(con), con.influence) for con in present if not con.mute]),
    )


def _ranges(con: Any) -> Ranges:
    limits = range_of(con)
    return tuple(zip(limits.least, limits.most, strict=True))
