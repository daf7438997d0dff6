"""Playing a range, and keeping what the constraints made of each frame."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...blender import animated_values, animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.rotation import AXIS_ANGLE, LOCATION, QUATERNION, SCALE, channel_of
from ...blender.turns import Numbers
from ...loop import plan
from .picking import Picked

CHEAP = {"EMPTY", "CAMERA", "LIGHT", "LIGHT_PROBE", "SPEAKER"}
"""Kinds of objects that cost nothing to evaluate, whether anything needs them or not."""


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
    times: list[float] = []
    recorders = [_Recorder(picked, len(frames)) for picked in picks]
    for i, frame in enumerate(frames):
        scene.frame_set(frame)
        times.append(scene.frame_current_final)
        depsgraph: Any = layer.depsgraph
        for recorder in recorders:
            recorder.keep(i, depsgraph)
        yield (i + 1) / len(frames)
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
    column = np.empty(len(bones) * size, np.float32)
    bones.foreach_get(name, column)
    return column.reshape(-1, size)


@contextmanager
def staged(
    layer: bpy.types.ViewLayer,
    armatures: Sequence[bpy.types.Object],
    needed: Collection[bpy.types.Object] = (),
) -> Iterator[None]:
    """Let Blender evaluate nothing but armatures, and what they need, for a while.

    What is disabled in viewports is evaluated only where something that is shown depends on it: the
    meshes of a character, which nothing here depends on, would cost more than all the rest.
    Armatures that are hidden are shown meanwhile. What was selected and hidden is so again
    afterwards.

    Args:
        layer: What is evaluated.
        armatures: The armatures that are looked at.
        needed: Objects of other kinds that are to be evaluated as well.

    Raises:
        ProblemError: If an armature stays hidden.
    """
    selected = [ob for ob in layer.objects if ob.select_get(view_layer=layer)]
    watched = {ob for chain in plan.current().chains for ob in chain.watched}
    kept = {*armatures, *needed, *watched}
    costly = [ob for ob in layer.objects if ob not in kept and _can_be_left_out(ob)]
    hidden = {ob: (ob.hide_get(view_layer=layer), ob.hide_viewport) for ob in armatures}
    try:
        for ob in armatures:
            _show(ob, layer)
        for ob in costly:
            ob.hide_viewport = True
        yield
    finally:
        for ob in costly:
            ob.hide_viewport = False
        for ob, (is_hidden, is_disabled) in hidden.items():
            if ob.hide_viewport != is_disabled:
                ob.hide_viewport = is_disabled
            if ob.hide_get(view_layer=layer) != is_hidden:
                ob.hide_set(is_hidden, view_layer=layer)
        for ob in selected:
            if not ob.select_get(view_layer=layer):
                ob.select_set(True, view_layer=layer)


def _can_be_left_out(ob: bpy.types.Object) -> bool:
    """Return whether leaving an object out saves anything, and can be taken back."""
    if ob.type in CHEAP or ob.mode != "OBJECT" or ob.hide_viewport or not ob.is_editable:
        return False
    return not animation.animated(ob).sets("hide_viewport")


def _show(ob: bpy.types.Object, layer: bpy.types.ViewLayer) -> None:
    if ob.hide_get(view_layer=layer):
        ob.hide_set(False, view_layer=layer)
    if ob.hide_viewport:
        ob.hide_viewport = False
    if not ob.visible_get(view_layer=layer):
        raise ProblemError(
            f"“{ob.name}” is hidden by its collection, so that Blender does not pose it: show it"
        )


class _FkPose:
    """What the bones of an armature hold."""

    def __init__(self, armature: bpy.types.Object) -> None:
        self._armature = armature
        bones = pose_bones(armature)
        self._columns = {
            name: _column(bones, name, size)
            for name, size in map(channel_of, (QUATERNION, AXIS_ANGLE, 1, LOCATION, SCALE))
        }

    def restore(self) -> None:
        for name, column in self._columns.items():
            pose_bones(self._armature).foreach_set(name, column.ravel())
        self._armature.update_tag()


@contextmanager
def returning(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, in_any_case: bool = False
) -> Iterator[None]:
    """Go back to the present frame afterwards, and after a failure to what was not keyed as well.

    At a frame change Blender gives each animated channel the value of its animation, and what was
    set there by hand and not keyed is lost.

    Args:
        scene: The scene that is played.
        layer: What is evaluated.
        in_any_case: Whether to go back to what was not keyed without a failure, too.
    """
    frame, subframe = scene.frame_current, scene.frame_subframe
    unkeyed = [(ob, animated_values.values(ob)) for ob in layer.objects if ob.animation_data]
    posed = [_FkPose(rig.object) for rig in plan.current().rigs.values()]

    def give_back() -> None:
        scene.frame_set(frame, subframe=subframe)
        for ob, values in unkeyed:
            animated_values.restore(ob, values)
        for one in posed:
            one.restore()
        plan.discard()
        layer.update()

    try:
        yield
    except BaseException:
        give_back()
        raise
    if in_any_case:
        give_back()
    else:
        scene.frame_set(frame, subframe=subframe)
