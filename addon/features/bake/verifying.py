"""Comparing a baked range with the live range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import degrees

import numpy as np

from ...blender.access import pose_bones
from ...blender.messages import msg
from ...blender.rotation import channel_of
from ...blender.simplifying import ROUNDING, errors
from ...blender.turns import Numbers, matrix_angles
from .recording import ArmatureRecording, Recording
from .selecting import BakeSelection

EXACT = 1e-4
"""Maximum error of a bake at its keys: as a fraction of the chain length, and in radians."""

NO_LENGTH = 1e-30
"""Length of a chain with zero scale, to avoid dividing by zero."""


@dataclass(frozen=True)
class Verification:
    """Differences between a live and a baked range.

    Attributes:
        distance: Largest distance of a head or tail from its live location, in meters.
        angle: Largest rotation of a bone from its live rotation, in radians.
        bone: Name of the bone with the largest error relative to its chain length.
        frame: The frame of that error.
        holds: Whether all errors are within the tolerance.
        tolerance: The tolerance, for the report.
        loss: Distance from the baked pose in files that can't store shear, in meters; 0 within
            `EXACT`.
        lost_bone: Name of the bone with that distance.
        lost_frame: The frame of that distance.
    """

    distance: float
    angle: float
    bone: str
    frame: int
    holds: bool
    tolerance: str
    loss: float = 0.0
    lost_bone: str = ""
    lost_frame: int = 0


def compare(
    live: Recording,
    baked: Recording,
    selections: Sequence[BakeSelection],
    keyed: Sequence[int],
    error: float,
) -> Verification:
    """Compare a live range with the baked range.

    Args:
        live: The live range.
        baked: The baked range, played with the constraints off.
        selections: The baked selections.
        keyed: Frames with keys before simplification, counted from 0.
        error: Maximum error of simplified channels, in radians; 0 if they are not simplified.
    """
    distance = angle = worst = 0.0
    where = (0, "")
    holds = True
    for selection, a, b in zip(selections, live.armatures, baked.armatures, strict=True):
        distances, chain_lengths = _distances(selection, a, b)
        angles = _differences(a, b, matrix_angles)
        relative = np.maximum(distances / np.maximum(chain_lengths, NO_LENGTH), angles)
        frame, bone = np.unravel_index(int(relative.argmax()), relative.shape)
        if not where[1] or relative[frame, bone] > worst:
            worst, where = float(relative[frame, bone]), (int(frame), selection.names[int(bone)])
        distance, angle = max(distance, float(distances.max())), max(angle, float(angles.max()))
        if error > 0.0:
            largest = max(float(off.max()) for _, off in _channel_errors(selection, a, b))
            holds &= largest <= error + ROUNDING
        else:
            holds &= bool(relative[list(keyed)].max() <= EXACT)
    tolerance = msg("{exact:g} of the chain's length", exact=EXACT)
    if error > 0.0:
        tolerance = msg("{angle:.3g}° in a channel of a bone", angle=degrees(error))
    lost = _lost(baked, selections)
    return Verification(distance, angle, where[1], live.frames[where[0]], holds, tolerance, *lost)


def _lost(baked: Recording, selections: Sequence[BakeSelection]) -> tuple[float, str, int]:
    """Return the largest shear that files can't store, with the name of its bone and its frame.

    Returns:
        The shear as a distance, 0 if negligible; the bone's name; the frame.
    """
    worst = (0.0, "", 0)
    for selection, recorded in zip(selections, baked.armatures, strict=True):
        scales = np.linalg.norm(recorded.worlds[:, :3, :3], axis=1).mean(axis=-1)
        names = pose_bones(selection.armature).keys()
        rows = zip(recorded.losses, scales, baked.frames, strict=False)  # Losses may be empty.
        for (distance, bone), scale, frame in rows:
            if distance > max(worst[0], EXACT * max(selection.chain_lengths) * scale):
                worst = (distance, names[bone], frame)
    return worst


def is_part_of(sampled: Recording, whole: Recording) -> bool:
    """Return whether sampled frames equal those of a whole recording bit for bit."""
    indices = [whole.frames.index(frame) for frame in sampled.frames]
    for a, b in zip(sampled.armatures, whole.armatures, strict=True):
        pairs = ((a.matrices, b.matrices), (a.worlds, b.worlds))
        if any((part != all_[indices]).any() for part, all_ in pairs):
            return False
    return True


def _differences(
    a: ArmatureRecording, b: ArmatureRecording, measure: Callable[[Numbers, Numbers], Numbers]
) -> Numbers:
    """Return the differences of bones at each frame; 0 where their matrices are equal.

    Args:
        a: A recording.
        b: The recording to compare with.
        measure: Returns the differences of two arrays of world-space matrices.
    """
    differences = np.zeros(a.matrices.shape[:2])
    moved = (a.matrices != b.matrices).any(axis=(1, 2, 3)) | (a.worlds != b.worlds).any(axis=(1, 2))
    if moved.any():
        worlds = [t.worlds[moved, None] @ t.matrices[moved].astype(np.float64) for t in (a, b)]
        differences[moved] = measure(*worlds)
    return differences


def _distances(
    selection: BakeSelection, a: ArmatureRecording, b: ArmatureRecording
) -> tuple[Numbers, Numbers]:
    """Return each bone's largest distance of head or tail, and its chain length, in world space."""
    bones = pose_bones(selection.armature)
    ends = np.zeros((len(selection.bones), 4, 2))
    ends[:, 3] = 1.0
    ends[:, 1, 1] = [bones[i].bone.length for i in selection.bones]

    def distances(live_worlds: Numbers, baked_worlds: Numbers) -> Numbers:
        return np.linalg.norm(((live_worlds - baked_worlds) @ ends)[:, :, :3], axis=2).max(axis=-1)

    scale = np.linalg.norm(a.worlds[:, :3, :3], axis=1).mean(axis=-1)
    return _differences(a, b, distances), np.array(selection.chain_lengths) * scale[:, None]


def still_posed(
    live: Recording,
    played: Recording,
    selections: Sequence[BakeSelection],
    keyed: Sequence[int],
    error: float,
) -> list[set[int]]:
    """Return, for each armature, the bones that constraints change on top of the baked pose.

    Args:
        live: The live range.
        played: The baked range, played with the constraints on.
        selections: The baked selections.
        keyed: As for `compare`.
        error: As for `compare`.
    """
    frames = list(keyed)
    return [
        {
            selection.bones[index]
            for index, off in _channel_errors(selection, a, b)
            if off[frames].max() > error + EXACT
        }
        for selection, a, b in zip(selections, live.armatures, played.armatures, strict=True)
    ]


def _channel_errors(
    selection: BakeSelection, a: ArmatureRecording, b: ArmatureRecording
) -> Iterator[tuple[int, Numbers]]:
    """Yield each baked bone's index and the errors of its channels, in radians.

    Driven array elements are ignored.
    """
    for channel, live, baked in zip(selection.channels, a.numbers, b.numbers, strict=True):
        size = channel_of(channel.mode)[1]
        for index, bone in enumerate(channel.bones):
            free = [i for i in range(size) if i not in channel.driven[index]]
            values = live[:, index]
            mixed = values.copy()
            mixed[:, free] = baked[:, index][:, free]
            yield bone, errors(channel.mode, values, mixed, selection.chain_lengths[bone])
