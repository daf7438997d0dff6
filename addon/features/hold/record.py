"""The stored records of holds: how each bone is held after each event."""

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
"""Property path of the settings that store all records, from the armature object.

From 5.0 on, Blender drops values that a library override sets in a group that the linked file left
unset. It keeps items added to a list."""

SIZE = 26
"""How many numbers an event stores: its frame, its blend, and axes and origin of both offsets."""


class Recorded(NamedTuple):
    """An event, and how the bone is held after it.

    Attributes:
        frame: The frame of the event.
        holder: The number of the new holder; 0 for the bone's own parent.
        offset: The frame of the bone's own channels in the holder's space (see `held`). If its
            channels are ignored, the frame of the bone itself.
        blend: How many frames the blend to that holder takes.
        previous: The number of the previous holder.
        left: The offset in the previous holder's space, as if it still held the bone.
        is_fixed: Whether the bone's own channels are ignored from the event on.
        was_fixed: Whether they were ignored before the event.
    """

    frame: float
    holder: int
    offset: Frame
    blend: float = 0.0
    previous: int = 0
    left: Frame = WHOLE
    is_fixed: bool = False
    was_fixed: bool = False


UNHELD = Recorded(float("-inf"), 0, WHOLE)
"""The record before a bone's first event: it follows its parent and its channels."""


Kept = dict[int, list[Recorded]]
"""The records of an armature's holds, by the hold's index."""


class Records:
    """The records of an armature's holds, stored in the file or being made.

    They belong to a plan: storing records discards it.
    """

    def __init__(self, armature: bpy.types.Object) -> None:
        """Set the armature."""
        self._armature = armature

    def of(self, index: int) -> Sequence[Recorded]:
        """Return the events of a hold, in order of time."""
        return self._kept.get(index, ())

    @cached_property
    def _kept(self) -> Kept:
        if history.is_running(self._armature, OWNER):
            return history.found_so_far(self._armature, OWNER)
        stored = history.data(self._armature, OWNER)
        return {} if stored is None else unpacked(stored.blob)

    def at(self, index: int, time: float) -> Recorded:
        """Return the last event of a hold at or before a frame."""
        for event in reversed(self._kept.get(index, ())):
            if event.frame <= time + NEAR:
                return event
        return UNHELD


def packed(by_index: Kept) -> bytes:
    """Encode records."""
    integers: list[int] = []
    numbers: list[float] = []
    for index, records in by_index.items():
        for event in records:
            # A negative number means that the bone's own channels are ignored with this holder.
            holder = -event.holder if event.is_fixed else event.holder
            previous = -event.previous if event.was_fixed else event.previous
            integers += [index, holder, previous]
            numbers += [event.frame, event.blend, *_flat(event.offset), *_flat(event.left)]
    return FORM.packed(integers, (), numbers)


def unpacked(blob: bytes) -> Kept:
    """Decode records; empty if they are damaged."""
    try:
        integers, _, numbers = FORM.unpacked(blob)
    except ValueError:
        return {}
    by_index: Kept = {}
    if 3 * len(numbers) != SIZE * len(integers):
        return by_index
    for i in range(len(integers) // 3):
        index, holder, previous = integers[3 * i : 3 * i + 3]
        frame, blend, *frames = numbers[i * SIZE : (i + 1) * SIZE]
        offset, left = _frame(frames[:12]), _frame(frames[12:])
        offsets = offset, blend, abs(previous), left
        event = Recorded(frame, abs(holder), *offsets, holder < 0, previous < 0)
        by_index.setdefault(index, []).append(event)
    return by_index


def _flat(frame: Frame) -> list[float]:
    return [*frame[0], *frame[1]]


def _frame(numbers: Sequence[float]) -> Frame:
    a, b, c, d, e, f, g, h, k, x, y, z = numbers
    return (a, b, c, d, e, f, g, h, k), (x, y, z)
