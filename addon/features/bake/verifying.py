"""Comparing a baked range with the live one."""

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
"""Length of a chain with zero scale, to avoid a division by zero."""


@dataclass(frozen=True)
class Verification:
    """Differences between a live and a baked range.

    Attributes:
        distance: Largest distance of a head or tail from its live location, in metres.
        angle: Largest rotation of a bone from its live one, in radians.
        bone: Name of the bone with the largest error relative to its chain length.
        frame: The frame of that error.
        holds: Whether all errors are within the tolerance.
        tolerance: The tolerance, for the report.
        loss: How far files that store no shear are from the baked pose, in metres; 0 within
            `EXACT`.
        lost_bone: Name of the bone that is farthest.
        lost_frame: The frame where it is.
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
    """Compare a live range with the baked one.

    Args:
        live: The live range.
        baked: The baked range, played with the constraints off.
        selections: What was baked.
        keyed: Frames with keys before simplification, counted from 0.
        error: Maximum error of simplified channels, in radians; 0 if they are not simplified.
    """
    distance = angle = worst = 0.0
    where = (0, "")
    holds = True
    for selection, a, b in zip(selections, live.armatures, baked.armatures, strict=True):
        apart, chain_lengths = _distances(selection, a, b)
        turned = _differences(a, b, matrix_angles)
        share = np.maximum(apart / np.maximum(chain_lengths, NO_LENGTH), turned)
        frame, bone = np.unravel_index(int(share.argmax()), share.shape)
        if not where[1] or share[frame, bone] > worst:
            worst, where = float(share[frame, bone]), (int(frame), selection.names[int(bone)])
        distance, angle = max(distance, float(apart.max())), max(angle, float(turned.max()))
        if error > 0.0:
            most = max(float(off.max()) for _, off in _channel_errors(selection, a, b))
            holds &= most <= error + ROUNDING
        else:
            holds &= bool(share[list(keyed)].max() <= EXACT)
    tolerance = msg("{exact:g} of the chain's length", exact=EXACT)
    if error > 0.0:
        tolerance = msg("{angle:.3g}° in the channels", angle=degrees(error))
    lost = _lost(baked, selections)
    return Verification(distance, angle, where[1], live.frames[where[0]], holds, tolerance, *lost)


def _lost(baked: Recording, selections: Sequence[BakeSelection]) -> tuple[float, str, int]:
    """Return how much of a pose files cannot store, of which bone, and at which frame."""
    worst = (0.0, "", 0)
    for selection, recorded in zip(selections, baked.armatures, strict=True):
        scales = np.linalg.norm(recorded.worlds[:, :3, :3], axis=1).mean(axis=-1)
        names = pose_bones(selection.armature).keys()
        rows = zip(recorded.losses, scales, baked.frames, strict=False)  # There may be none.
        for (distance, bone), scale, frame in rows:
            if distance > max(worst[0], EXACT * max(selection.chain_lengths) * scale):
                worst = (distance, names[bone], frame)
    return worst


def is_part_of(some: Recording, whole: Recording) -> bool:
    """Return whether some frames were played bit for bit as in a recording of the whole range."""
    places = [whole.frames.index(frame) for frame in some.frames]
    for a, b in zip(some.armatures, whole.armatures, strict=True):
        pairs = ((a.matrices, b.matrices), (a.worlds, b.worlds))
        if any((part != all_[places]).any() for part, all_ in pairs):
            return False
    return True


def _differences(
    a: ArmatureRecording, b: ArmatureRecording, measured: Callable[[Numbers, Numbers], Numbers]
) -> Numbers:
    """Return the differences of bones at each frame; 0 where their matrices are equal.

    Args:
        a: One recording.
        b: The other one.
        measured: Returns the differences, given the matrices of some frames in world space.
    """
    differences = np.zeros(a.matrices.shape[:2])
    other = (a.matrices != b.matrices).any(axis=(1, 2, 3)) | (a.worlds != b.worlds).any(axis=(1, 2))
    if other.any():
        worlds = [t.worlds[other, None] @ t.matrices[other].astype(np.float64) for t in (a, b)]
        differences[other] = measured(*worlds)
    return differences


def _distances(
    selection: BakeSelection, a: ArmatureRecording, b: ArmatureRecording
) -> tuple[Numbers, Numbers]:
    """Return the distances of heads and tails, and the chain lengths, in world space."""
    bones = pose_bones(selection.armature)
    ends = np.zeros((len(selection.bones), 4, 2))
    ends[:, 3] = 1.0
    ends[:, 1, 1] = [bones[i].bone.length for i in selection.bones]

    def apart(x: Numbers, y: Numbers) -> Numbers:
        return np.linalg.norm(((x - y) @ ends)[:, :, :3], axis=2).max(axis=-1)

    scale = np.linalg.norm(a.worlds[:, :3, :3], axis=1).mean(axis=-1)
    return _differences(a, b, apart), np.array(selection.chain_lengths) * scale[:, None]


def still_posed(
    live: Recording,
    left: Recording,
    selections: Sequence[BakeSelection],
    keyed: Sequence[int],
    error: float,
) -> list[set[int]]:
    """Return by armature the bones that constraints change on top of the baked pose.

    Args:
        live: The live range.
        left: The baked range, played with the constraints on.
        selections: What was baked.
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
        for selection, a, b in zip(selections, live.armatures, left.armatures, strict=True)
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
            given = live[:, index]
            other = given.copy()
            other[:, free] = baked[:, index][:, free]
            yield bone, errors(channel.mode, given, other, selection.chain_lengths[bone])
