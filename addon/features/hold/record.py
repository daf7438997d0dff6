"""What is stored of holds: how each bone is held from each event on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import bpy

from fabrik_solver import WHOLE, Frame
from fabrik_solver.motion import codec

from ...blender.keying import NEAR
from ..simulation import history

FORM = codec.Form(b"FABE", 2)
OWNER = "fabrik.holds[0]"
"""The path of the settings that store all records, relative to the armature object.

From 5.0 on Blender loses what a library override sets in a group that the linked file has not set,
but not what it adds to a list.
"""

SIZE = 26
"""The numbers of an event: its frame, how long it blends, and axes and origin of both offsets."""


class Recorded(NamedTuple):
    """An event, and how the bone is held from there on.

    Attributes:
        frame: The frame of the event.
        holder: The number of what holds the bone from there on, 0 for its own parent.
        offset: The frame of the bone's own channels in the space of that (see `held`), or that of
            the bone itself if these do not count.
        blend: For how many frames the bone goes over to that.
        before: The number of what held the bone up to there.
        left: As the offset, in the space of that: where the bone would be if it held on.
        is_fixed: Whether the bone's own channels do not count from there on.
        was_fixed: Whether they did not count up to there.
    """

    frame: float
    holder: int
    offset: Frame
    blend: float = 0.0
    before: int = 0
    left: Frame = WHOLE
    is_fixed: bool = False
    was_fixed: bool = False


UNHELD = Recorded(float("-inf"), 0, WHOLE)
"""How a bone is held before its first event: by its own parent, where its channels put it."""


Kept = dict[int, list[Recorded]]
"""The records of the holds of an armature, by index."""


class Records:
    """The records of an armature's holds, as they are stored in the file or being made.

    It belongs to a plan: whatever stores records discards that.
    """

    def __init__(self, armature: bpy.types.Object) -> None:
        """Start with an armature."""
        self._armature = armature

    def of(self, index: int) -> Sequence[Recorded]:
        """Return the events of a hold, in the order of time."""
        return self._kept.get(index, ())

    @cached_property
    def _kept(self) -> Kept:
        if history.is_running(self._armature, OWNER):
            return history.found_so_far(self._armature, OWNER)
        kept = history.data(self._armature, OWNER)
        return {} if kept is None else unpacked(kept.blob)

    def at(self, index: int, time: float) -> Recorded:
        """Return the last event of a hold up to a frame."""
        for one in reversed(self._kept.get(index, ())):
            if one.frame <= time + NEAR:
                return one
        return UNHELD


def packed(kept: Kept) -> bytes:
    """Return records as bytes."""
    integers: list[int] = []
    numbers: list[float] = []
    for index, records in kept.items():
        for one in records:
            # Negative numbers are of those within which own channels do not count.
            holder = -one.holder if one.is_fixed else one.holder
            before = -one.before if one.was_fixed else one.before
            integers += [index, holder, before]
            numbers += [one.frame, one.blend, *_flat(one.offset), *_flat(one.left)]
    return FORM.packed(integers, (), numbers)


def unpacked(blob: bytes) -> Kept:
    """Return the records from bytes; none if these are damaged."""
    try:
        integers, _, numbers = FORM.unpacked(blob)
    except ValueError:
        return {}
    found: Kept = {}
    if 3 * len(numbers) != SIZE * len(integers):
        return found
    for i in range(len(integers) // 3):
        index, holder, before = integers[3 * i : 3 * i + 3]
        frame, blend, *frames = numbers[i * SIZE : (i + 1) * SIZE]
        offset, left = _frame(frames[:12]), _frame(frames[12:])
        offsets = offset, blend, abs(before), left
        one = Recorded(frame, abs(holder), *offsets, holder < 0, before < 0)
        found.setdefault(index, []).append(one)
    return found


def _flat(frame: Frame) -> list[float]:
    return [*frame[0], *frame[1]]


def _frame(numbers: Sequence[float]) -> Frame:
    a, b, c, d, e, f, g, h, k, x, y, z = numbers
    return (a, b, c, d, e, f, g, h, k), (x, y, z)
