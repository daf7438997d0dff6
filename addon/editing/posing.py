"""Posing a bone in FK: its joint limit and locks, and the rotation channel that keeps them."""

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
    """The rotation of a pose bone, from which posing starts.

    Locked and driven components are kept; the joint rotates about its remaining axes.

    Attributes:
        turn: The rotation at the start.
        locks: The axes that the bone must not rotate about.
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
        """Whether the bone cannot rotate at all."""
        return len(self.locks) == 3

    def _locked_axes(self) -> list[int]:
        bone = self._bone
        if animation.has_driver(bone.id_data, bone, "rotation"):
            return [0, 1, 2]
        locks = [i for i in range(3) if bone.lock_rotation[i]]
        if not self._is_locked_by_number:
            return locks
        # With W locked too, a quaternion is fixed, and so is the axis of an axis-angle rotation.
        is_locked = bone.lock_rotation_w or (locks and self._mode == AXIS_ANGLE)
        return [0, 1, 2] if is_locked else locks

    @property
    def _is_locked_by_number(self) -> bool:
        """Whether the locks apply to the four elements of the channel (the default)."""
        return self._mode <= 0 and self._bone.lock_rotations_4d

    def limited(self, limit: Limit | None) -> Limit | None:
        """Return the limit of the joint including its locks; it replaces partial locks."""
        return limited(limit, self.locks, self.turn)

    def write(self, turn: Quat) -> None:
        """Set the rotation, keeping locked elements."""
        setattr(self._bone, self.channel, self._values(turn))

    def restore(self) -> None:
        """Set the rotation of the start."""
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
    """Return the limit of a joint including its locks; it replaces partial locks.

    Args:
        limit: The limit without them.
        locks: The axes that the bone must not rotate about.
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
    """Return a quaternion with locked elements and the norm of ``start``."""
    kept = [i + 1 for i in locks]
    free = [i for i in range(4) if i not in kept]
    room = sum(number * number for number in start) - sum(start[i] * start[i] for i in kept)
    size = sum(quaternion[i] * quaternion[i] for i in free)
    if size == 0.0:
        return [*start]
    share = sqrt(max(room, 0.0) / size)
    return [start[i] if i in kept else quaternion[i] * share for i in range(4)]
