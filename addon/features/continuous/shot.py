"""A shot: the poses of a chain or body whose frames are all solved together.

Each frame is solved again from its stored pose, or from an interpolated pose between frames, with
the smallest change. The tip therefore reaches a target that has moved since, and all features for
single frames work here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver.core.vectors import ORIGIN, Quat, Vec, mix, slerp
from fabrik_solver.motion import codec

from ...blender.messages import msg
from ...plan.chain_plan import ChainPlan, StartPose
from ...settings.definitions import stored
from ...settings.properties import FabrikConstraint
from ..simulation import history

FORM = codec.Form(b"FABC", 1)

MISMATCH = msg("The simulation doesn't match the chain: press Simulate")

NOT_SIMULATED = msg("Not simulated, so each frame is solved separately: press Simulate")


class FabrikShot(bpy.types.PropertyGroup):
    """The stored poses of a chain."""

    history: bytes = stored("History", "Simulated poses")


class StoredPose(NamedTuple):
    """The pose of a frame: the bones' local rotations, and the first bone's location."""

    rotations: tuple[Quat, ...]
    location: Vec


def packed(poses: Sequence[StoredPose]) -> bytes:
    """Return the poses of all frames as bytes."""
    count = len(poses[0].rotations)
    numbers: list[float] = []
    for pose in poses:
        numbers += pose.location
        for rotation in pose.rotations:
            numbers += rotation
    return FORM.packed([count], (), numbers)


def unpacked(blob: bytes) -> list[StoredPose]:
    """Return the poses of all frames from bytes.

    Raises:
        ValueError: If the bytes are damaged.
    """
    (count,), _, numbers = FORM.unpacked(blob)
    stride = 3 + 4 * count
    if count <= 0 or not numbers or len(numbers) % stride:
        raise ValueError(codec.DAMAGED)
    poses: list[StoredPose] = []
    for offset in range(0, len(numbers), stride):
        x, y, z = numbers[offset : offset + 3]
        turns = iter(numbers[offset + 3 : offset + stride])
        poses.append(StoredPose(tuple(zip(turns, turns, turns, turns, strict=True)), (x, y, z)))
    if not codec.are_units([rotation for pose in poses for rotation in pose.rotations]):
        raise ValueError(codec.DAMAGED)
    return poses


class Shot:
    """The stored poses of a continuous constraint, or of its body.

    Attributes:
        owner: Path of the settings that store them, relative to the armature object.
    """

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        self.owner = history.owner_path(index, "shot")
        self._armature = armature
        self._blob = b""
        self._poses: list[StoredPose] = []

    def start_pose(self, time: float, bones: int) -> StartPose | None:
        """Return the pose to solve from; None during the simulation.

        Args:
            time: The time in frames.
            bones: The number of posed bones.
        """
        record = history.data(self._armature, self.owner)
        if record is None:
            reason = history.why_missing(self._armature, self.owner, NOT_SIMULATED)
            return None if reason == history.RUNNING else StartPose((), ORIGIN, reason)
        if record.blob is not self._blob:
            try:
                self._poses = unpacked(record.blob)
            except ValueError:
                self._poses = []
            self._blob = record.blob
        poses = self._poses
        if len(poses) != len(record.frames) or len(poses[0].rotations) != bones:
            return StartPose((), ORIGIN, MISMATCH)
        offset = min(max(time - record.start, 0.0), float(record.end - record.start))
        index = min(int(offset), max(len(poses) - 2, 0))
        pose = _between(poses[index], poses[min(index + 1, len(poses) - 1)], offset - index)
        return StartPose(pose.rotations, pose.location, history.note(record, time))


def _between(a: StoredPose, b: StoredPose, factor: float) -> StoredPose:
    """Return the pose interpolated between two poses."""
    if factor == 0.0 or factor == 1.0:
        return b if factor else a
    pairs = zip(a.rotations, b.rotations, strict=True)
    rotations = tuple([slerp(first, second, factor) for first, second in pairs])
    return StoredPose(rotations, mix(a.location, b.location, factor))


def resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Plan a chain as a shot, if Continuous is enabled."""
    if is_continuous(item):
        chain.start_source = Shot(chain.rig.object, chain.item)
        chain.is_timed = True


def is_continuous(item: FabrikConstraint) -> bool:
    """Return whether a constraint is solved as a shot."""
    return cast(Any, item).use_continuous
