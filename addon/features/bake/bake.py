"""Baking: what the constraints pose becomes keys, and is played once more to prove it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
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
from ...editing.playing import returning, staged
from ...loop.muting import muting
from ...loop.properties import settings
from .options import DISABLE, LEAVE, REMOVE, BakeOptions, check
from .picking import Picked, posing, working
from .proving import Proof, compare, moved_on
from .recording import Take, Track, record

PLAYED = 0.5
"""The share of the work that is done when the range is recorded."""

PROVED = 0.75
"""The share that is done when it is proved, if it is played once more with the constraints on."""


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
    """Record, write and prove.

    If it is closed before its end, or fails, everything is as it was. Its last frame change is to
    the frame that was shown.

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
    armatures = [picked.armature for picked in picks]
    with returning(scene, layer), staged(layer, armatures):
        playing = record(scene, layer, picks, options.frames)
        live = take or (yield from _share_of(playing, 0.0, PLAYED))
        return (yield from _written(scene, layer, picks, live, options))


def _share_of(
    work: Generator[float, None, Any], start: float, end: float
) -> Generator[float, None, Any]:
    """Do a part of the whole work, and return what it returns."""
    while True:
        try:
            done = next(work)
        except StopIteration as finished:
            return finished.value
        yield start + (end - start) * done


def _written(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    picks: Sequence[Picked],
    take: Take,
    options: BakeOptions,
) -> Generator[float, None, Outcome]:
    keys: list[list[Keys]] = []
    for picked, track in zip(picks, take.tracks, strict=True):
        keys.append([])
        for one in _keys(picked, track, take, options):
            keys[-1].append(one)
            yield PLAYED
    with drafted([picked.armature for picked in picks]) as drafts:
        for picked, own in zip(picks, keys, strict=True):
            write(picked, own)
        proof, going_on = yield from _proved(scene, layer, picks, take, options)
    before = working()
    for picked, own, draft in zip(picks, keys, drafts, strict=True):
        if options.is_new or not draft.has_old:
            draft.keep()
        else:
            draft.drop()
            write(picked, own)
        settle(picked, options.afterwards, take.times[0])
    return Outcome(
        sum(len(picked.items) for picked in picks),
        sum(len(one.times) * len(one.values) for own in keys for one in own),
        sum(len(take.frames) * len(one.values) for own in keys for one in own),
        proof,
        going_on or [name for key, name in working().items() if key not in before],
    )


def _proved(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    picks: Sequence[Picked],
    live: Take,
    options: BakeOptions,
) -> Generator[float, None, tuple[Proof, list[str]]]:
    """Play the keys, and if the constraints are left on once more with these.

    Returns:
        How far the keys are from what was live, and the names of the constraints that take bones on
        from where their own keys have them.
    """
    is_left = options.afterwards == LEAVE
    with ExitStack() as off:
        for picked in picks:
            off.enter_context(muting(picked.armature, picked.items))
        playing = record(scene, layer, picks, options.frames)
        played = yield from _share_of(playing, PLAYED, PROVED if is_left else 1.0)
    proof = compare(live, played, picks, options.places, options.error)
    if not is_left:
        return proof, []
    playing = record(scene, layer, picks, options.frames)
    left = yield from _share_of(playing, PROVED, 1.0)
    moved = moved_on(live, left, picks, options.places, options.error)
    pairs = zip(picks, moved, strict=True)
    return proof, [name for picked, bones in pairs for name in posing(picked.armature, bones)]


class Draft:
    """A copy of an armature's action, which it uses until it is known to be right."""

    def __init__(self, armature: bpy.types.Object) -> None:
        """Let the armature use a copy, or a new action if it has none."""
        data: Any = armature.animation_data
        self.armature = armature
        self._had_data = data is not None
        self._old = data.action if data else None
        self._slot = getattr(data, "action_slot_handle", 0)
        # By their paths: those by which armatures depend on targets may come and go meanwhile.
        drivers: Any = data.drivers if data else ()
        self._driven = {(one.data_path, one.array_index) for one in drivers if not one.mute}
        name = self._old.name if self._old else armature.name
        animation.copy_action(armature, f"{name} Baked")

    @property
    def has_old(self) -> bool:
        """Whether the armature had an action."""
        return self._old is not None

    def drop(self) -> None:
        """Let the armature use the action that it had, and the drivers that were on."""
        data: Any = self.armature.animation_data
        for driver in data.drivers:
            if (driver.data_path, driver.array_index) in self._driven:
                driver.mute = False
        draft = data.action
        animation.use_action(self.armature, self._old, self._slot)
        bpy.data.actions.remove(draft)
        if not self._had_data:
            self.armature.animation_data_clear()

    def keep(self) -> None:
        """Keep the copy, and the action that it was made of as well, though nobody may use it."""
        if self._old is not None and self._old.users == 0:
            self._old.use_fake_user = True


@contextmanager
def drafted(owners: Iterable[bpy.types.Object]) -> Iterator[list[Draft]]:
    """Give objects drafts of their actions, and drop these if what follows fails or is closed."""
    drafts: list[Draft] = []
    try:
        for owner in owners:
            drafts.append(Draft(owner))
        yield drafts
    except BaseException:
        for draft in reversed(drafts):
            draft.drop()
        raise


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
