"""The FK input: the channels that the animator gave, which solving never overwrites for good.

The solution is written into the same channels that hold the input. A channel that is animated gets
its input back from Blender whenever its animation is evaluated. For all others the input is kept
in the armature's record, beside what was written last: a channel that holds anything else was set
by somebody, and that is the new input.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import acos, pi
from typing import Any

import bpy

from . import animation
from .access import pose_bones
from .record import NO_INPUT, Record
from .rotation import (
    KINDS,
    QUATERNION,
    PoseChannels,
    Run,
    channel_of,
    channel_values,
    quaternion,
    runs_of,
    taken,
    transfer,
)
from .skeleton import Skeleton

SAME_TURN = 1e-4
"""Rotations in two rotation modes that differ by less, in radians, are the same one converted."""

_animated: dict[int, tuple[tuple[object, ...], animation.Channels]] = {}

_earlier: dict[tuple[int, str, str], dict[tuple[float, ...], list[float]]] = {}
"""Solutions that were overwritten at this frame, and the inputs that they were solved from."""


def forget_animation() -> None:
    """Look again which channels are animated."""
    _animated.clear()


def forget_earlier() -> None:
    """Forget what was overwritten: at another frame nobody goes back to it."""
    _earlier.clear()


def _channels(rig: Skeleton) -> animation.Channels:
    signature = (*animation.signature(rig.object), rig.names)  # A new name makes new paths.
    known = _animated.get(rig.uid)
    if known is None or known[0] != signature:
        known = _animated[rig.uid] = (signature, animation.animated(rig.object))
    return known[1]


Animated = tuple[Sequence[int], Sequence[int]]
"""Which numbers of a bone's channel are keyed, and which are driven."""


@dataclass
class Group:
    """Bones of which the same channel is solved, and which are animated or not.

    Attributes:
        channel: The property.
        size: How many numbers it has.
        first: The slot of this kind of the armature's first bone.
        bones: The bones, ascending.
        runs: The same as runs of neighbours.
        animated: What of each bone is animated; empty if these are the bones that are not.
        left: What the channel held when our last write was done; None before that, and when
            something else was found there since.
    """

    channel: str
    size: int
    first: int
    bones: list[int]
    runs: list[Run]
    animated: dict[int, Animated]
    left: bytes | None = None

    @cached_property
    def is_keyed(self) -> bool:
        """Whether F-curves set all numbers of all the bones, and drivers none."""
        found = self.animated.values()
        return bool(found) and all(len(k) == self.size and not d for k, d in found)


class FkInput:
    """The FK input of the bones of one armature that chains pose, followed through updates.

    The record is read once. Only we write it; whatever else brings other values there (undo, files,
    Edit Mode) makes a new plan.

    Attributes:
        inputs: The FK input, four numbers a slot (see `KINDS`), in the channel of its mode.
        more: The slots that chains need besides rotations, ascending.
        stamp: Another number whenever an input may have changed.
        original: The channels as they were when they were looked at last.
        modes_now: The modes that count, by slot.
        has_only_quaternions: Whether all the bones are in quaternion mode.
    """

    def __init__(self, rig: Skeleton, posed: set[int], more: set[int]) -> None:
        """Read what is kept of the slots that chains pose, or posed.

        Args:
            rig: The armature.
            posed: The slots.
            more: Those of them that chains need besides rotations.
        """
        self.rig = rig
        self.count = len(rig.names)
        self.posed = sorted(posed)
        self.more = sorted(more)
        self.stamp = 0
        is_wide = self.posed[-1] >= self.count
        self.record = Record(rig.object, len(KINDS) if is_wide else 1)
        self._other_modes = array("i")
        self._others: dict[int, list[Run]] = {}
        for kind in KINDS[1:] if is_wide else ():
            self._other_modes.extend([kind] * self.count)
            first = self.first_slot(kind)
            slots = range(first, first + self.count)
            self._others[kind] = runs_of([slot - first for slot in self.posed if slot in slots])
        self.original = PoseChannels(self.bones)
        self.modes_now = self.original.modes + self._other_modes
        self.has_only_quaternions = False
        self.inputs = self.record.kept[:]
        self.groups: list[Group] = []
        self._sorted_by: tuple[object, ...] = ()
        self._turned: list[Run] = []
        self._turned_modes = self._kept_modes = array("i")

    @property
    def bones(self) -> bpy.types.bpy_prop_collection[Any]:
        """The armature's own pose bones."""
        return pose_bones(self.rig.object)

    def look(self, evaluated: PoseChannels, is_fresh: bool) -> None:
        """Look what the bones hold now.

        Args:
            evaluated: The channels of the armature's evaluated copy.
            is_fresh: Whether its animation was evaluated just now, so that the evaluated copy
                holds the values of its F-curves and not what we wrote since.
        """
        self.original = PoseChannels(self.bones)
        self._sort(evaluated)
        for group in self.groups:
            if not group.animated and self._is_left(group):
                continue
            group.left = None
            self.stamp += 1
            if is_fresh and group.is_keyed:
                buffer = evaluated.buffer(group.channel, group.size)
                for first, last, _ in group.runs:
                    run = (group.first + first, group.first + last, 0)
                    transfer(buffer, group.size, first, self.inputs, 4, run)
                continue
            for bone in group.bones:
                numbers = self._input(bone, group, evaluated, is_fresh)
                place = (group.first + bone) * 4
                self.inputs[place : place + group.size] = array("f", numbers)

    def _is_left(self, group: Group) -> bool:
        """Return whether the bones of a group hold what we wrote last."""
        return group.left == taken(
            self.original.buffer(group.channel, group.size), group.runs, group.size
        )

    def is_as_left(self) -> bool:
        """Return whether all bones hold what we wrote last, and none is animated."""
        self.original = PoseChannels(self.bones)
        # Without groups nothing was looked at yet.
        return bool(self.groups) and all(
            not group.animated and self._is_left(group) for group in self.groups
        )

    def _sort(self, evaluated: PoseChannels) -> None:
        """Sort the bones into groups, unless the modes and animated channels are as before."""
        animated = _channels(self.rig)
        source = evaluated if animated.has_modes else self.original
        modes = self.modes_now = source.modes + self._other_modes
        key = (animated, modes.tobytes())
        if key == self._sorted_by:
            return
        self._sorted_by = key
        groups: dict[tuple[str, int, int, bool], dict[int, Animated]] = {}
        for slot in self.posed:
            channel, size = channel_of(modes[slot])
            bone = slot % self.count
            found = animated.numbers(self.rig.names[bone], channel)
            groups.setdefault((channel, size, slot - bone, any(found)), {})[bone] = found
        self.groups = [
            Group(
                channel,
                size,
                first,
                list(bones),
                runs_of(list(bones)),
                bones if is_animated else {},
            )
            for (channel, size, first, is_animated), bones in groups.items()
        ]
        turned = [slot for slot in self.posed if slot < self.count]
        self.has_only_quaternions = all(modes[bone] == QUATERNION for bone in turned)

    def of(self, bone: int) -> list[float]:
        """Return the FK input of a bone's rotation, in the numbers of its rotation mode."""
        _, size = channel_of(self.modes_now[bone])
        return self.inputs[bone * 4 : bone * 4 + size].tolist()

    def first_slot(self, kind: int) -> int:
        """Return the slot of the armature's first bone for one of `KINDS`."""
        return KINDS.index(kind) * self.count

    def put_into(self, buffer: array[float], kind: int) -> None:
        """Replace what is solved of a channel of three numbers, of all bones, by the FK input."""
        first = self.first_slot(kind)
        for run in self._others.get(kind, ()):
            transfer(self.inputs, 4, first + run[0], buffer, 3, run)

    def _input(
        self, bone: int, group: Group, evaluated: PoseChannels, is_fresh: bool
    ) -> Sequence[float]:
        keyed, driven = group.animated.get(bone, ((), ()))
        size = group.size
        if is_fresh and len(keyed) == size and not driven:
            return evaluated.numbers(bone, group.channel, size)
        original = self.original.numbers(bone, group.channel, size)
        kept, written = self._recorded(group.first + bone, original)
        if not keyed and not driven:
            return self._unanimated(
                (self.rig.uid, self.rig.names[bone], group.channel),
                original,
                kept[:size],
                written and written[:size],
            )
        free = [i for i in range(size) if i not in keyed and i not in driven]
        now = evaluated.numbers(bone, group.channel, size)
        result = list(original)
        # Each kind is judged as a whole: a turn by hand changes some numbers of a quaternion and
        # may leave others, but it is all of them that make the new input.
        for indices, present in ((free, original), (keyed, original), (driven, now)):
            if indices is keyed and is_fresh:
                source: Sequence[float] = now
            elif written is not None and all(present[i] == written[i] for i in indices):
                source = kept
            else:
                source = present
            for i in indices:
                result[i] = source[i]
        return result

    def _unanimated(
        self,
        key: tuple[int, str, str],
        present: list[float],
        kept: list[float],
        written: list[float] | None,
    ) -> list[float]:
        """Return the input of a channel that only we and the animator set."""
        if written is None or present == written:
            return kept if written else present
        # While a bone is being turned it takes many values, and Escape gives back the one that
        # was there before: a solution, which stands for the input that it was solved from.
        earlier = _earlier.setdefault(key, {})
        earlier[tuple(written)] = kept
        return earlier.get(tuple(present), present)

    def _recorded(self, slot: int, original: list[float]) -> tuple[list[float], list[float] | None]:
        """Return the kept input and what was written with it, None if nothing was."""
        recorded, mode = self.record.modes[slot], self.modes_now[slot]
        if recorded == NO_INPUT:
            return original, None
        kept = self.record.kept[slot * 4 : slot * 4 + 4].tolist()
        written = self.record.written[slot * 4 : slot * 4 + 4].tolist()
        if recorded == mode:
            return kept, written
        if recorded > 0 and mode > 0 and written[:3] == original:
            return kept, written  # Between orders of Euler angles Blender keeps the numbers.
        # Blender converts a channel when the rotation mode is changed. If it converted what we
        # wrote, the input is converted as well; else the bone was turned besides.
        a, b = quaternion(recorded, written), quaternion(mode, original)
        cosine = min(1.0, abs(sum(x * y for x, y in zip(a, b, strict=True))))
        if min(2.0 * acos(cosine), pi) > SAME_TURN:
            return original, None
        return channel_values(mode, quaternion(recorded, kept), original), original

    def keep(self, turned: Sequence[Run], results: array[float]) -> None:
        """Keep the inputs beside what is written over them; forget those of other bones.

        Args:
            turned: The bones that get a solved rotation, as runs of neighbours. What else chains
                need of them is kept as well, be it solved at the moment or not: a value that is
                put back, as Escape does, is known by it.
            results: What all bones get, four numbers a slot.
        """
        if turned != self._turned or self.modes_now != self._turned_modes:
            self._turned, self._turned_modes = list(turned), self.modes_now
            modes = array("i", [NO_INPUT]) * len(self.modes_now)
            for first, last, _ in turned:
                modes[first:last] = self.modes_now[first:last]
            for slot in self.more:
                if modes[slot % self.count] != NO_INPUT:
                    modes[slot] = self.modes_now[slot]
            self._kept_modes = modes
        self.record.save(self._kept_modes, self.inputs, results)
