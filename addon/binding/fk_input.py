"""The FK input: the rotations that the animator gave, which solving never overwrites for good.

The solution is written into the same channels that hold the input. A channel that is animated gets
its input back from Blender whenever its animation is evaluated. For all others the input is kept
in the armature's record, beside what was written last: a channel that holds anything else was set
by somebody, and that is the new input.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import acos, pi
from typing import Any

import bpy

from . import animation
from .access import pose_bones
from .record import NO_INPUT, Record
from .rotation import (
    QUATERNION,
    RotationChannels,
    Run,
    channel_of,
    channel_values,
    quaternion,
    runs_of,
    taken,
)
from .skeleton import Skeleton

SAME_TURN = 1e-4
"""Rotations in two rotation modes that differ by less, in radians, are the same one converted."""

_animated: dict[int, tuple[tuple[object, ...], animation.Channels]] = {}

_earlier: dict[tuple[int, str], dict[tuple[float, ...], list[float]]] = {}
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
"""Which numbers of a bone's rotation channel are keyed, and which are driven."""


@dataclass(slots=True)
class Group:
    """Bones whose rotation is in the same channel, and which are animated or not.

    Attributes:
        channel: The property.
        size: How many numbers it has.
        bones: The bones, ascending.
        runs: The same as runs of neighbours.
        animated: What of each bone is animated; empty if these are the bones that are not.
        left: What the channel held when our last write was done; None before that, and when
            something else was found there since.
    """

    channel: str
    size: int
    bones: list[int]
    runs: list[Run]
    animated: dict[int, Animated]
    left: bytes | None = None


class FkInput:
    """The FK input of the bones of one armature that chains pose, followed through updates.

    The record is read once. Only we write it; whatever else brings other values there (undo, files,
    Edit Mode) makes a new plan.

    Attributes:
        inputs: The FK input, four numbers a bone, in the channel of its rotation mode.
        stamp: Another number whenever an input may have changed.
        original: The rotation channels as they were when they were looked at last.
        modes_now: The rotation modes that count.
        has_only_quaternions: Whether all the bones are in quaternion mode.
    """

    def __init__(self, rig: Skeleton, posed: set[int]) -> None:
        """Read what is kept of the bones that chains pose, or posed."""
        self.rig = rig
        self.posed = sorted(posed)
        self.stamp = 0
        self.record = Record(rig.object)
        self.original = RotationChannels(self.bones)
        self.modes_now = self.original.modes
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

    def look(self, evaluated: RotationChannels, is_fresh: bool) -> None:
        """Look what the bones hold now.

        Args:
            evaluated: The rotation channels of the armature's evaluated copy.
            is_fresh: Whether its animation was evaluated just now, so that the evaluated copy
                holds the values of its F-curves and not what we wrote since.
        """
        self.original = RotationChannels(self.bones)
        self._sort(evaluated)
        for group in self.groups:
            if not group.animated and self._is_left(group):
                continue
            group.left = None
            self.stamp += 1
            for bone in group.bones:
                numbers = self._input(bone, group, evaluated, is_fresh)
                self.inputs[bone * 4 : bone * 4 + group.size] = array("f", numbers)

    def _is_left(self, group: Group) -> bool:
        """Return whether the bones of a group hold what we wrote last."""
        return group.left == taken(
            self.original.buffer(group.channel, group.size), group.runs, group.size
        )

    def is_as_left(self) -> bool:
        """Return whether all bones hold what we wrote last, and none is animated."""
        self.original = RotationChannels(self.bones)
        # Without groups nothing was looked at yet.
        return bool(self.groups) and all(
            not group.animated and self._is_left(group) for group in self.groups
        )

    def _sort(self, evaluated: RotationChannels) -> None:
        """Sort the bones into groups, unless the modes and animated channels are as before."""
        animated = _channels(self.rig)
        modes = self.modes_now = (evaluated if animated.has_modes else self.original).modes
        key = (animated, modes.tobytes())
        if key == self._sorted_by:
            return
        self._sorted_by = key
        groups: dict[tuple[str, int, bool], dict[int, Animated]] = {}
        for bone in self.posed:
            channel, size = channel_of(modes[bone])
            found = animated.rotation(self.rig.names[bone], channel)
            groups.setdefault((channel, size, any(found)), {})[bone] = found
        self.groups = [
            Group(channel, size, list(bones), runs_of(list(bones)), bones if is_animated else {})
            for (channel, size, is_animated), bones in groups.items()
        ]
        self.has_only_quaternions = all(modes[bone] == QUATERNION for bone in self.posed)

    def of(self, bone: int) -> list[float]:
        """Return the FK input of a bone, in the numbers of its rotation mode."""
        _, size = channel_of(self.modes_now[bone])
        return self.inputs[bone * 4 : bone * 4 + size].tolist()

    def _input(
        self, bone: int, group: Group, evaluated: RotationChannels, is_fresh: bool
    ) -> Sequence[float]:
        keyed, driven = group.animated.get(bone, ((), ()))
        if is_fresh and len(keyed) == group.size and not driven:
            return evaluated.values(bone)
        mode, size = self.modes_now[bone], group.size
        values = self.original.buffer(group.channel, size)
        original = values[bone * size : bone * size + size].tolist()
        kept, written = self._recorded(bone, mode, original)
        if not keyed and not driven:
            return self._unanimated(bone, original, kept[:size], written and written[:size])
        free = [i for i in range(size) if i not in keyed and i not in driven]
        now = evaluated.values(bone)
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
        self, bone: int, present: list[float], kept: list[float], written: list[float] | None
    ) -> list[float]:
        """Return the input of a channel that only we and the animator set."""
        if written is None or present == written:
            return kept if written else present
        # While a bone is being turned it takes many values, and Escape gives back the one that
        # was there before: a solution, which stands for the input that it was solved from.
        earlier = _earlier.setdefault((self.rig.uid, self.rig.names[bone]), {})
        earlier[tuple(written)] = kept
        return earlier.get(tuple(present), present)

    def _recorded(
        self, bone: int, mode: int, original: list[float]
    ) -> tuple[list[float], list[float] | None]:
        """Return the kept input and what was written with it, None if nothing was."""
        recorded = self.record.modes[bone]
        if recorded == NO_INPUT:
            return original, None
        kept = self.record.kept[bone * 4 : bone * 4 + 4].tolist()
        written = self.record.written[bone * 4 : bone * 4 + 4].tolist()
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
            turned: The bones that get a solved rotation, as runs of neighbours.
            results: What all bones get, four numbers a bone.
        """
        if turned != self._turned or self.modes_now != self._turned_modes:
            self._turned, self._turned_modes = list(turned), self.modes_now
            modes = array("i", [NO_INPUT]) * len(self.modes_now)
            for first, last, _ in turned:
                modes[first:last] = self.modes_now[first:last]
            self._kept_modes = modes
        self.record.save(self._kept_modes, self.inputs, results)
