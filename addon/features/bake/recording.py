"""Playing a range, and keeping what the constraints made of each frame."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...blender.access import pose_bones
from ...blender.rotation import channel_of, floats
from ...blender.turns import Numbers
from ...editing.playing import play
from .picking import Picked


@dataclass
class Track:
    """What was recorded of one armature.

    Attributes:
        numbers: For each of `Picked.channels`, frames × bones × numbers, in single precision.
        matrices: Where the bones are in armature space, frames × bones × 4 × 4.
        worlds: Where the armature is in world space, frames × 4 × 4.
    """

    numbers: list[Numbers]
    matrices: Numbers
    worlds: Numbers


@dataclass
class Take:
    """A range that was recorded.

    Attributes:
        frames: The frames.
        times: Where keys have to stand for them: the frames, unless the scene remaps time.
        tracks: What was recorded of each armature.
    """

    frames: list[int]
    times: list[float]
    tracks: list[Track]


def record(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, picks: Sequence[Picked], frames: range
) -> Generator[float, None, Take]:
    """Play frames and keep what the bones hold and where they are.

    Yields:
        The share that is done, after each frame.
    """
    recorders = [_Recorder(picked, len(frames)) for picked in picks]

    def look(frame: int) -> float:
        depsgraph: Any = layer.depsgraph
        for recorder in recorders:
            recorder.keep(frame - frames[0], depsgraph)
        return scene.frame_current_final

    times = yield from play(scene, frames, look)
    return Take(list(frames), times, [recorder.track for recorder in recorders])


class _Recorder:
    """What keeps the bones of one armature, frame by frame."""

    def __init__(self, picked: Picked, count: int) -> None:
        """Make room for as many frames."""
        self._armature = picked.armature
        self._places = np.array(picked.bones)
        self._channels = [
            (*channel_of(channel.mode), self._places[list(channel.bones)])
            for channel in picked.channels
        ]
        self.track = Track(
            [
                np.empty((count, len(places), size), np.float32)
                for _, size, places in self._channels
            ],
            np.empty((count, len(picked.bones), 4, 4), np.float32),
            np.empty((count, 4, 4), np.float64),
        )

    def keep(self, i: int, depsgraph: bpy.types.Depsgraph) -> None:
        """Keep what there is now as a frame, counted from 0."""
        copy = self._armature.evaluated_get(depsgraph)
        bones = pose_bones(copy)
        for (name, size, places), numbers in zip(self._channels, self.track.numbers, strict=True):
            numbers[i] = _column(bones, name, size)[places]
        # Blender hands matrices over column by column.
        matrices = _column(bones, "matrix", 16)[self._places].reshape(-1, 4, 4)
        self.track.matrices[i] = matrices.transpose(0, 2, 1)
        self.track.worlds[i] = copy.matrix_world


def _column(bones: Any, name: str, size: int) -> Numbers:
    return np.frombuffer(floats(bones, name, size), np.float32).reshape(-1, size)
