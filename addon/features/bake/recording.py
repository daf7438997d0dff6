"""Recording the posed channels and matrices of bones over a range."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ...blender.access import pose_bones
from ...blender.rotation import channel_of, floats
from ...blender.turns import Numbers
from ...editing.playing import play
from .selecting import BakeSelection
from .storing import Loss, Storing


@dataclass
class ArmatureRecording:
    """The recording of one armature.

    Attributes:
        numbers: For each of `BakeSelection.channels`, frames × bones × size, in single precision.
        matrices: Matrices of the bones in armature space, frames × bones × 4 × 4.
        worlds: Matrices of the armature in world space, frames × 4 × 4.
        losses: The shear at each frame that files can't store; empty if not measured.
    """

    numbers: list[Numbers]
    matrices: Numbers
    worlds: Numbers
    losses: list[Loss] = field(default_factory=list)


@dataclass
class Recording:
    """A recorded range.

    Attributes:
        frames: The frames.
        times: Times of their keys, equal to the frames unless the scene remaps time.
        armatures: The recording of each armature.
        is_foreign: Whether another computer may have recorded it.
    """

    frames: list[int]
    times: list[float]
    armatures: list[ArmatureRecording]
    is_foreign: bool = False


def record(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    selections: Sequence[BakeSelection],
    frames: range,
) -> Generator[float, None, Recording]:
    """Play frames and record the selected bones.

    Yields:
        The progress, from 0 to 1.
    """
    recorders = [_Recorder(selection, len(frames)) for selection in selections]

    def look(frame: int) -> float:
        depsgraph: Any = layer.depsgraph
        for recorder in recorders:
            recorder.record(frames.index(frame), depsgraph)
        return scene.frame_current_final

    times = yield from play(scene, frames, look)
    return Recording(list(frames), times, [recorder.recorded for recorder in recorders])


class _Recorder:
    """Records the bones of one armature."""

    def __init__(self, selection: BakeSelection, count: int) -> None:
        self._armature = selection.armature
        self._storing = Storing(selection.armature, selection.bones)
        self._places = np.array(selection.bones)
        self._channels = [
            (*channel_of(channel.mode), self._places[list(channel.bones)])
            for channel in selection.channels
        ]
        self.recorded = ArmatureRecording(
            [
                np.empty((count, len(indices), size), np.float32)
                for _, size, indices in self._channels
            ],
            np.empty((count, len(selection.bones), 4, 4), np.float32),
            np.empty((count, 4, 4), np.float64),
            [(0.0, -1)] * count,
        )

    def record(self, i: int, depsgraph: bpy.types.Depsgraph) -> None:
        """Record the current state as frame ``i``, counted from 0."""
        copy = self._armature.evaluated_get(depsgraph)
        bones = pose_bones(copy)
        for (name, size, indices), numbers in zip(
            self._channels, self.recorded.numbers, strict=True
        ):
            numbers[i] = _column(bones, name, size)[indices]
        # Blender returns matrices in column-major order.
        matrices = _column(bones, "matrix", 16).reshape(-1, 4, 4).transpose(0, 2, 1)
        self.recorded.matrices[i] = matrices[self._places]
        self.recorded.worlds[i] = copy.matrix_world
        self.recorded.losses[i] = self._storing.loss(matrices, copy.matrix_world)


def _column(bones: Any, name: str, size: int) -> Numbers:
    return np.frombuffer(floats(bones, name, size), np.float32).reshape(-1, size)
