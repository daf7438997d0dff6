"""What is stored of holds: how each bone is held from each event on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import bpy

from fabrik_solver import Frame
from fabrik_solver.motion import codec

from ...blender.keying import NEAR
from ..simulation import history

FORM = codec.Form(b"FABE", 1)
OWNER = "fabrik.holds[0]"
"""The path of the settings that store all records, relative to the armature object.

From 5.0 on Blender loses what a library override sets in a group that the linked file has not set,
but not what it adds to a list.
"""

SIZE = 13
"""The numbers of an event: its frame, and the columns of the offset and its origin."""


class Recorded(NamedTuple):
    """An event, and how the bone is held from there on.

    Attributes:
        frame: The frame of the event.
        holder: The number of what holds the bone from there on, 0 for its own parent.
        offset: The frame of the bone's own channels in the space of that (see `held`).
    """

    frame: float
    holder: int
    offset: Frame


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

    def at(self, index: int, time: float) -> Recorded | None:
        """Return the last event of a hold up to a frame; None if there is none."""
        for one in reversed(self.of(index)):
            if one.frame <= time + NEAR:
                return one
        return None


def packed(kept: Kept) -> bytes:
    """Return records as bytes."""
    integers: list[int] = []
    numbers: list[float] = []
    for index, records in kept.items():
        for one in records:
            axes, origin = one.offset
            integers += [index, one.holder]
            numbers += [one.frame, *axes, *origin]
    return FORM.packed(integers, (), numbers)


def unpacked(blob: bytes) -> Kept:
    """Return the records from bytes; none if these are damaged."""
    try:
        integers, _, numbers = FORM.unpacked(blob)
    except ValueError:
        return {}
    found: Kept = {}
    if 2 * len(numbers) != SIZE * len(integers):
        return found
    for i in range(len(integers) // 2):
        index, holder = integers[2 * i : 2 * i + 2]
        frame, a, b, c, d, e, f, g, h, k, x, y, z = numbers[i * SIZE : (i + 1) * SIZE]
        offset = (a, b, c, d, e, f, g, h, k), (x, y, z)
        found.setdefault(index, []).append(Recorded(frame, holder, offset))
    return found
