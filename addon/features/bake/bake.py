"""Baking posed bones to keys, and verifying the keys by playing them back."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.continuity import continuous
from ...blender.keying import ActiveCurves, put_keys
from ...blender.rotation import QUATERNION, channel_of
from ...blender.simplifying import ROUNDING, simplified, slopes
from ...blender.turns import Numbers
from ...editing import constraints as editing
from ...editing.unused import remove_constraints
from ...settings.muting import muting
from .options import DISABLE, EXPORT, LEAVE, REMOVE, BakeOptions, check
from .passes import Bake, Draft
from .recording import ArmatureRecording, Recording, record
from .selecting import BakeSelection, acting, posing, working
from .verifying import Verification, compare, is_part_of, still_posed

SAMPLES = 8
"""Approximate number of frames to play back when the keys alone prove a bake."""


@dataclass(frozen=True)
class ChannelKeys:
    """The keys of a bone's channel, as written to its F-curves.

    Attributes:
        bone: Name of the bone.
        name: Name of the channel.
        times: Times of the keys, in frames.
        values: Values by array index.
        slopes: Slopes per frame by array index; empty for linear interpolation.
    """

    bone: str
    name: str
    times: Sequence[float]
    values: dict[int, Sequence[float]]
    slopes: dict[int, Sequence[float]]


@dataclass(frozen=True)
class BakeResult:
    """The result of a bake.

    Attributes:
        constraints: Number of baked constraints.
        keys: Number of keys.
        most: Number of keys without Step and Simplify.
        verification: Differences when played back.
        still_active: Names of constraints that still change the baked pose: they were kept enabled,
            or became valid because others were removed.
    """

    constraints: int
    keys: int
    most: int
    verification: Verification
    still_active: list[str]


def bake(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    selections: Sequence[BakeSelection],
    options: BakeOptions,
    recording: Recording | None = None,
) -> Generator[float, None, BakeResult]:
    """Bake constraints (see `Bake.run`).

    Args:
        scene: The scene to play.
        layer: The view layer to evaluate.
        selections: The constraints to bake.
        options: The options.
        recording: A recording to use; None plays the range.

    Yields:
        The progress, from 0 to 1.

    Raises:
        ProblemError: If `check` finds a problem.
    """
    check(selections, options)
    return (yield from _PoseBake(scene, layer, selections, options, recording).run())


class _PoseBake(Bake[Recording, tuple[Verification, list[str]], BakeResult]):
    """A bake of posed bones."""

    def __init__(
        self,
        scene: bpy.types.Scene,
        layer: bpy.types.ViewLayer,
        selections: Sequence[BakeSelection],
        options: BakeOptions,
        recording: Recording | None,
    ) -> None:
        armatures = [selection.armature for selection in selections]
        super().__init__(scene, layer, options.frames, armatures, armatures)
        self.stays_on = options.afterwards == LEAVE
        self._selections, self._options, self._recording = selections, options, recording
        self._keys: list[list[ChannelKeys]] = []

    def _play(self) -> Generator[float, None, Recording]:
        return record(self.scene, self.layer, self._selections, self.frames)

    def _play_again(self, live: Recording) -> Generator[float, None, Recording]:
        if self._are_keys_proven(live):
            sampled_frames = self.frames[:: len(self.frames) // SAMPLES]
            played = yield from record(self.scene, self.layer, self._selections, sampled_frames)
            if is_part_of(played, live):
                return live
        return (yield from self._play())

    def _are_keys_proven(self, live: Recording) -> bool:
        """Return whether the keys alone guarantee the recorded pose at each frame.

        Blender then evaluates the recorded channels bit for bit, and nothing else poses these
        bones.
        """
        if live.is_foreign or len(self.frames) <= 2 * SAMPLES:
            return False
        baked = {(s.armature.session_uid, i) for s in self._selections for i in s.items}
        if not acting([s.armature for s in self._selections]) <= baked:
            return False
        parts = zip(self._selections, live.armatures, self._keys, strict=True)
        return all(are_as_recorded(s, channels, live, keys) for s, channels, keys in parts)

    def _record(self) -> Generator[float, None, Recording]:
        return self._recording or (yield from self._play())

    def _write(self, live: Recording) -> Iterator[None]:
        for selection, recorded in zip(self._selections, live.armatures, strict=True):
            self._keys.append([])
            for key in _keys(selection, recorded, live, self._options):
                self._keys[-1].append(key)
                yield
        for selection, keys in zip(self._selections, self._keys, strict=True):
            write(selection, keys)

    @contextmanager
    def _off(self) -> Iterator[None]:
        with ExitStack() as off:
            for selection in self._selections:
                off.enter_context(muting(selection.armature, selection.items))
            yield

    def _compare(
        self, live: Recording, played: Recording, over: Recording | None
    ) -> tuple[Verification, list[str]]:
        selections, keyed, error = self._selections, self._options.places, self._options.error
        verification = compare(live, played, selections, keyed, error)
        if over is None:
            return verification, []
        pairs = zip(selections, still_posed(live, over, selections, keyed, error), strict=True)
        return verification, [
            name for selection, bones in pairs for name in posing(selection.armature, bones)
        ]

    def _settle(
        self, live: Recording, comparison: tuple[Verification, list[str]], drafts: Sequence[Draft]
    ) -> BakeResult:
        was_working, (verification, still_active) = working(), comparison
        for selection, channel_keys, draft in zip(
            self._selections, self._keys, drafts, strict=True
        ):
            if self._options.is_new or not draft.has_old:
                draft.keep(self._options.afterwards != EXPORT)
            else:
                draft.drop()
                write(selection, channel_keys)
            settle(selection, self._options.afterwards, live.times[0])
        keys = [channel for channel_keys in self._keys for channel in channel_keys]
        return BakeResult(
            sum(len(selection.items) for selection in self._selections),
            sum(len(channel.times) * len(channel.values) for channel in keys),
            sum(len(live.frames) * len(channel.values) for channel in keys),
            verification,
            still_active or [name for key, name in working().items() if key not in was_working],
        )


def _keys(
    selection: BakeSelection,
    recorded: ArmatureRecording,
    recording: Recording,
    options: BakeOptions,
) -> Generator[ChannelKeys, None, None]:
    """Yield the keys of each channel of an armature."""
    candidates = options.places
    is_straight = options.error == 0.0 and len(candidates) == len(recording.frames)
    for channel, numbers in zip(selection.channels, recorded.numbers, strict=True):
        name, size = channel_of(channel.mode)
        driven = np.zeros((len(channel.bones), size), bool)
        for index, indices in enumerate(channel.driven):
            driven[index, list(indices)] = True
        numbers = continuous(channel.mode, numbers, driven)
        for index, bone in enumerate(channel.bones):
            column = numbers[:, index]
            key_indices = candidates
            if options.error > 0.0:
                limit = max(0.0, options.error - ROUNDING)
                reach = selection.chain_lengths[bone]
                key_indices = simplified(channel.mode, column, candidates, limit, reach)
            free = [i for i in range(size) if not driven[index, i]]
            yield ChannelKeys(
                selection.names[bone],
                name,
                [recording.times[i] for i in key_indices],
                _rows(column, free, key_indices),
                {} if is_straight else _rows(_per_time(column, recording.times), free, key_indices),
            )


def _rows(column: Numbers, free: Sequence[int], key_indices: Sequence[int]) -> dict[int, Any]:
    # Via bytes: converting millions of numbers one by one is slow.
    key_values = column[key_indices].astype(np.float32).T
    return {i: array("f", key_values[i].tobytes()) for i in free}


def _per_time(column: Numbers, times: Sequence[float]) -> Numbers:
    step = times[1] - times[0] if len(times) > 1 else 1.0
    return slopes(column.astype(np.float64)) / step


def are_as_recorded(
    selection: BakeSelection,
    recorded: ArmatureRecording,
    recording: Recording,
    keys: Sequence[ChannelKeys],
) -> bool:
    """Return whether the F-curves have keys with exactly the recorded values at all frames.

    Quaternions may be negated: they rotate a bone identically to the last bit.
    """
    armature, pending = selection.armature, iter(keys)
    if animation.has_nla(armature) or recording.times != recording.frames:
        return False
    curves = ActiveCurves(armature)
    times = np.array(recording.times, np.float32)
    for channel, numbers in zip(selection.channels, recorded.numbers, strict=True):
        if any(channel.driven):
            return False
        for index in range(len(channel.bones)):
            channel_keys, column = next(pending), numbers[:, index]
            path = pose_bones(armature)[channel_keys.bone].path_from_id(channel_keys.name)
            played = np.empty_like(column)
            for i in range(column.shape[1]):
                points = curves.at(path, i, channel_keys.bone).keyframe_points
                if len(points) != len(times):
                    return False
                pairs = np.empty(2 * len(times), np.float32)
                points.foreach_get("co", pairs)
                if (pairs[::2] != times).any():
                    return False
                played[:, i] = pairs[1::2]
            is_same = (played == column).all(axis=1)
            if channel.mode == QUATERNION:
                is_same |= (played == -column).all(axis=1)
            if not is_same.all():
                return False
    return True


def write(selection: BakeSelection, keys: Sequence[ChannelKeys]) -> None:
    """Insert the keys of an armature into its active action."""
    curves = ActiveCurves(selection.armature)
    bones = pose_bones(selection.armature)
    for key in keys:
        path = bones[key.bone].path_from_id(key.name)
        for i, values in key.values.items():
            put_keys(curves.at(path, i, key.bone), key.times, values, key.slopes.get(i))


def settle(selection: BakeSelection, afterwards: str, time: float) -> None:
    """Keep, disable or remove the baked constraints.

    Args:
        selection: The baked constraints.
        afterwards: What to do with them.
        time: The frame of a key that disables them (see `editing.disable`).
    """
    if afterwards == REMOVE:
        editing.remove(selection.armature, *selection.items)
    elif afterwards == EXPORT:
        places = [(selection.armature, index) for index in selection.items]
        remove_constraints(places, keep_controls=False)
    elif afterwards == DISABLE:
        for index in selection.items:
            editing.disable(selection.armature, index, time)
    selection.armature.update_tag()
