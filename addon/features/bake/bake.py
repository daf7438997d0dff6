"""Baking: what the constraints pose becomes keys, and is played once more to prove it."""

from __future__ import annotations

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
from ...blender.rotation import channel_of
from ...blender.simplifying import ROUNDING, simplified, slopes
from ...blender.turns import Numbers
from ...editing import constraints as editing
from ...loop.muting import muting
from ...loop.properties import settings
from .options import DISABLE, LEAVE, REMOVE, BakeOptions, check
from .passes import Bake, Draft
from .picking import Picked, posing, working
from .proving import Proof, compare, moved_on
from .recording import Take, Track, record


@dataclass(frozen=True)
class Keys:
    """Keys of one channel of one bone.

    Attributes:
        bone: Its name.
        name: Of the channel.
        times: Where they stand.
        values: For each number that gets keys, by its index, the values.
        slopes: The same of how steep the curve is; empty if it runs straight from key to key.
    """

    bone: str
    name: str
    times: Sequence[float]
    values: dict[int, Sequence[float]]
    slopes: dict[int, Sequence[float]]


@dataclass(frozen=True)
class Outcome:
    """What a bake has done.

    Attributes:
        constraints: How many were baked.
        keys: How many keys there are.
        most: How many there are at most, without step and simplifying.
        proof: What playing it has shown.
        going_on: The names of constraints that go on from the baked pose to another one: they were
            left on, or can work only now, without those that were removed.
    """

    constraints: int
    keys: int
    most: int
    proof: Proof
    going_on: list[str]


def bake(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    picks: Sequence[Picked],
    options: BakeOptions,
    take: Take | None = None,
) -> Generator[float, None, Outcome]:
    """Record, write and prove (see `Bake.run`).

    Args:
        scene: The scene that is played.
        layer: What is evaluated.
        picks: What is baked.
        options: How.
        take: What was recorded elsewhere, which is not recorded again; None if nothing was.

    Yields:
        The share that is done.

    Raises:
        ProblemError: If `check` finds anything.
    """
    check(picks, options)
    return (yield from _PoseBake(scene, layer, picks, options, take).run())


class _PoseBake(Bake[Take, tuple[Proof, list[str]], Outcome]):
    """The bake of what constraints pose."""

    def __init__(
        self,
        scene: bpy.types.Scene,
        layer: bpy.types.ViewLayer,
        picks: Sequence[Picked],
        options: BakeOptions,
        take: Take | None,
    ) -> None:
        armatures = [picked.armature for picked in picks]
        super().__init__(scene, layer, options.frames, armatures, armatures)
        self.stays_on = options.afterwards == LEAVE
        self._picks, self._options, self._take = picks, options, take
        self._keys: list[list[Keys]] = []

    def _play(self) -> Generator[float, None, Take]:
        return record(self.scene, self.layer, self._picks, self.frames)

    def _record(self) -> Generator[float, None, Take]:
        return self._take or (yield from self._play())

    def _write(self, live: Take) -> Iterator[None]:
        for picked, track in zip(self._picks, live.tracks, strict=True):
            self._keys.append([])
            for one in _keys(picked, track, live, self._options):
                self._keys[-1].append(one)
                yield
        for picked, own in zip(self._picks, self._keys, strict=True):
            write(picked, own)

    @contextmanager
    def _off(self) -> Iterator[None]:
        with ExitStack() as off:
            for picked in self._picks:
                off.enter_context(muting(picked.armature, picked.items))
            yield

    def _compare(self, live: Take, played: Take, over: Take | None) -> tuple[Proof, list[str]]:
        picks, places, error = self._picks, self._options.places, self._options.error
        proof = compare(live, played, picks, places, error)
        if over is None:
            return proof, []
        pairs = zip(picks, moved_on(live, over, picks, places, error), strict=True)
        return proof, [name for picked, bones in pairs for name in posing(picked.armature, bones)]

    def _settle(
        self, live: Take, found: tuple[Proof, list[str]], drafts: Sequence[Draft]
    ) -> Outcome:
        before, (proof, going_on) = working(), found
        for picked, own, draft in zip(self._picks, self._keys, drafts, strict=True):
            if self._options.is_new or not draft.has_old:
                draft.keep()
            else:
                draft.drop()
                write(picked, own)
            settle(picked, self._options.afterwards, live.times[0])
        keys = [one for own in self._keys for one in own]
        return Outcome(
            sum(len(picked.items) for picked in self._picks),
            sum(len(one.times) * len(one.values) for one in keys),
            sum(len(live.frames) * len(one.values) for one in keys),
            proof,
            going_on or [name for key, name in working().items() if key not in before],
        )


def _keys(
    picked: Picked, track: Track, take: Take, options: BakeOptions
) -> Generator[Keys, None, None]:
    """Find the keys of one armature."""
    places = options.places
    is_straight = options.error == 0.0 and len(places) == len(take.frames)
    for channel, numbers in zip(picked.channels, track.numbers, strict=True):
        name, size = channel_of(channel.mode)
        driven = np.zeros((len(channel.bones), size), bool)
        for place, indices in enumerate(channel.driven):
            driven[place, list(indices)] = True
        numbers = continuous(channel.mode, numbers, driven)
        for place, bone in enumerate(channel.bones):
            column = numbers[:, place]
            standing = places
            if options.error > 0.0:
                most = max(0.0, options.error - ROUNDING)
                reach = picked.reaches[bone]
                standing = simplified(channel.mode, column, places, most, reach)
            free = [i for i in range(size) if not driven[place, i]]
            yield Keys(
                picked.names[bone],
                name,
                [take.times[i] for i in standing],
                _rows(column, free, standing),
                {} if is_straight else _rows(_per_time(column, take.times), free, standing),
            )


def _rows(column: Numbers, free: Sequence[int], standing: Sequence[int]) -> dict[int, Any]:
    return {i: column[standing, i].tolist() for i in free}


def _per_time(column: Numbers, times: Sequence[float]) -> Numbers:
    step = times[1] - times[0] if len(times) > 1 else 1.0
    return slopes(column.astype(np.float64)) / step


def write(picked: Picked, keys: Sequence[Keys]) -> None:
    """Write the keys of one armature into its active action."""
    curves = ActiveCurves(picked.armature)
    bones = pose_bones(picked.armature)
    for one in keys:
        path = bones[one.bone].path_from_id(one.name)
        for i, values in one.values.items():
            put_keys(curves.at(path, i, one.bone), one.times, values, one.slopes.get(i))


def settle(picked: Picked, afterwards: str, time: float) -> None:
    """Leave, disable or remove the constraints that were baked.

    What is disabled stays so, though keys or drivers may have turned it on and off: they are muted,
    and what comes from the NLA is outvoted by a key at a time.
    """
    if afterwards == REMOVE:
        for index in reversed(picked.items):
            editing.remove(picked.armature, index)
    elif afterwards == DISABLE:
        for index in picked.items:
            _disable(picked.armature, index, time)
    picked.armature.update_tag()


def _disable(armature: bpy.types.Object, index: int, time: float) -> None:
    item = settings(armature).constraints[index]
    path = item.path_from_id("enabled")
    animation.mute(armature, path)
    if any(found == path for found, _ in animation.animated(armature).keyed):
        curve = ActiveCurves(armature).at(path, 0, "FABRIK IK")
        curve.keyframe_points.clear()
        put_keys(curve, [time], [0.0])
    item.enabled = False
