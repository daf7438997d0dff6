"""Where a root that may move is free to: Blender's locks of its channels, and Limit Location."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any, NamedTuple

from fabrik_solver import (
    Bone,
    Cone,
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

from ..blender.relations import is_predictable
from ..blender.rotation import AXIS_ANGLE, EULER_AXES, mode_of
from .following import range_of

FIXED = (0.0, 0.0)
AXES: list[Vec] = [*mat_columns(IDENTITY)]

Ranges = tuple[tuple[float, float], ...]
"""The least and the greatest value of each coordinate of a location."""


class RootLocks(NamedTuple):
    """The locks of a bone, as inputs of a solution; there is no notification of their changes.

    Attributes:
        location: Which components of its location are locked.
        rotation: W, X, Y and Z of its rotation.
        by_number: Whether those are of the four numbers of its channel, and not of Euler angles.
        mode: Its rotation mode.
        limits: Space and ranges of its Limit Location constraints.
    """

    location: tuple[bool, ...]
    rotation: tuple[bool, ...]
    by_number: bool
    mode: int
    limits: tuple[tuple[str, Ranges], ...]

    def joint(self, limit: Limit | None, turn: Quat) -> Limit | None:
        """Return a joint limit with the locks of the rotation, which keep that of the FK pose."""
        lock = self._lock(turn)
        if lock is None or limit is None:
            return lock or limit
        return LimitedLock(limit, lock)

    def _lock(self, turn: Quat) -> Limit | None:
        locked = [*self.rotation]
        is_axis_fixed = self.by_number and self.mode == AXIS_ANGLE and any(locked[1:])
        if not any(locked if self.by_number else locked[1:]):
            return None
        if is_axis_fixed or all(locked[1:]):
            return Cone(FIXED, FIXED, FIXED, turn)
        if self.by_number:
            return LockedNumbers(turn, locked)
        # For other modes, Blender's locks apply to XYZ Euler angles.
        order = EULER_AXES[max(self.mode, 1) - 1]
        return LockedAngles(euler_angles(turn, *order, ORIGIN), order, locked[1:])

    def kept(self, location: Vec, fk: Vec) -> Vec:
        """Return a location with the locked components of the FK pose, bit for bit."""
        x, y, z = [
            before if lock else now
            for lock, now, before in zip(self.location, location, fk, strict=True)
        ]
        return (x, y, z)

    def slabs(self, bone: Bone, local: Local, spaces: ConstraintSpaces) -> list[Slab]:
        """Return what the bone's head may move within, in armature space.

        Args:
            bone: The bone.
            local: Its FK pose.
            spaces: The spaces of its constraints.
        """
        head = point_in(spaces.parent, head_in_parent(bone, local))
        found: list[Slab] = []
        locks: list[tuple[float, float]] = []
        for value, lock in zip(local.location, self.location, strict=True):
            locks.append((value, value) if lock else (-inf, inf))
        for space, ranges in (("LOCAL", tuple(locks)), *self.limits):
            try:
                found += _slabs(spaces, space, ranges, head)
            except ValueError:  # The space has zero scale.
                continue
        return found


def _slabs(spaces: ConstraintSpaces, space: str, ranges: Ranges, head: Vec) -> list[Slab]:
    """Return the slabs of ranges of a location in a space, which is affine in the bone's head."""

    def seen(place: Vec) -> Vec:
        return spaces.seen((IDENTITY, place), space)[1]

    here = seen(head)
    columns = [sub(seen(add(head, axis)), here) for axis in AXES]
    gradients = mat_columns(mat_transposed(mat_from_columns(*columns)))
    return [
        one
        for value, (least, most), gradient in zip(here, ranges, gradients, strict=True)
        if least > -inf or most < inf
        for one in slab(gradient, least - value, most - value)
    ]


def root_locks(bone: Any, limits: Collection[str]) -> RootLocks:
    """Return the locks of a pose bone, and the ranges of its Limit Location constraints.

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
        tuple([(con.owner_space, _ranges(con)) for con in present if not con.mute]),
    )


def _ranges(con: Any) -> Ranges:
    limits = range_of(con)
    return tuple(zip(limits.least, limits.most, strict=True))
