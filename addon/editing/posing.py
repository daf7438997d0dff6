"""Posing a bone in FK: its joint limit and locks, and the rotation channel that respects them."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any, Final

from fabrik_solver import Cone, Limit
from fabrik_solver.core.vectors import Quat

from ..blender import animation
from ..blender.rotation import (
    AXIS_ANGLE,
    channel_of,
    channel_values,
    mode_of,
    quaternion,
)

LOCKED: Final = (0.0, 0.0)
FREE: Final = (-pi, pi)


class PosedRotation:
    """A pose bone's rotation at the start of posing.

    Locked and driven components are kept; the joint rotates about its remaining axes.

    Attributes:
        turn: The rotation at the start.
        locks: The axes about which the bone must not rotate.
    """

    def __init__(self, bone: Any) -> None:
        """Read the channel and the locks of a pose bone."""
        self._bone = bone
        self._mode = mode_of(bone)
        self.channel, _ = channel_of(self._mode)
        self._start: list[float] = list(getattr(bone, self.channel))
        self.turn = quaternion(self._mode, self._start)
        self.locks = self._locked_axes()

    @property
    def is_fixed(self) -> bool:
        """Whether the bone can't rotate at all."""
        return len(self.locks) == 3

    def _locked_axes(self) -> list[int]:
        bone = self._bone
        if animation.has_driver(bone.id_data, bone, "rotation"):
            return [0, 1, 2]
        locks = [i for i in range(3) if bone.lock_rotation[i]]
        if not self._is_locked_by_number:
            return locks
        # Locking W as well fixes a quaternion, and the axis of an axis-angle rotation.
        is_locked = bone.lock_rotation_w or (locks and self._mode == AXIS_ANGLE)
        return [0, 1, 2] if is_locked else locks

    @property
    def _is_locked_by_number(self) -> bool:
        """Whether the locks apply to the four components of the channel (the default)."""
        return self._mode <= 0 and self._bone.lock_rotations_4d

    def limited(self, limit: Limit | None) -> Limit | None:
        """Return the joint limit combined with the locks; None if neither restricts the joint.

        A limit replaces partial locks.
        """
        return limited(limit, self.locks, self.turn)

    def write(self, turn: Quat) -> None:
        """Set the rotation, keeping locked components."""
        setattr(self._bone, self.channel, self._values(turn))

    def restore(self) -> None:
        """Restore the rotation from the start."""
        setattr(self._bone, self.channel, self._start)

    def _values(self, turn: Quat) -> list[float]:
        mode, start = self._mode, self._start
        if turn == self.turn or self.is_fixed:
            return start
        if not self.locks:
            return channel_values(mode, turn, start)
        if self._is_locked_by_number:
            return _with_locked(channel_values(mode, turn, start), start, self.locks)
        euler = max(mode, 1)  # For other modes, Blender's locks apply to XYZ Euler angles.
        near = start if mode > 0 else channel_values(euler, self.turn, [0.0] * 3)
        angles = channel_values(euler, turn, near)
        for i in self.locks:
            angles[i] = near[i]
        return angles if mode > 0 else channel_values(mode, quaternion(euler, angles), start)


def limited(limit: Limit | None, locks: Sequence[int], turn: Quat) -> Limit | None:
    """Return a joint limit combined with locks; None if neither restricts the joint.

    A limit replaces partial locks.

    Args:
        limit: The limit without locks.
        locks: The axes about which the bone must not rotate.
        turn: The rotation of the bone, which the locks keep.
    """
    if not locks or (limit is not None and len(locks) < 3):
        return limit
    if len(locks) == 3:
        return fixed(turn)
    x, y, z = (LOCKED if i in locks else FREE for i in range(3))
    return Cone(x, z, y, turn)


def fixed(turn: Quat) -> Limit:
    """Return the limit of a joint that keeps its rotation."""
    return Cone(LOCKED, LOCKED, LOCKED, turn)


def _with_locked(
    quaternion: list[float], start: Sequence[float], locks: Sequence[int]
) -> list[float]:
    """Return a quaternion with locked components and the norm of ``start``."""
    locked = [i + 1 for i in locks]
    free = [i for i in range(4) if i not in locked]
    free_sq = sum(number * number for number in start) - sum(start[i] * start[i] for i in locked)
    norm_sq = sum(quaternion[i] * quaternion[i] for i in free)
    if norm_sq == 0.0:
        return [*start]
    scale = sqrt(max(free_sq, 0.0) / norm_sq)
    return [start[i] if i in locked else quaternion[i] * scale for i in range(4)]
