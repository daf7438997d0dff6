"""What is stored of a hold: how the bone is held from each event on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import bpy

from fabrik_solver import Frame
from fabrik_solver.motion import codec

from ...blender.keying import NEAR
from ...blender.session import part
from ..simulation import history
from .events import owner_of

FORM = codec.Form(b"FABE", 1)
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


class Recording(dict[tuple[int, int], list[Recorded]]):
    """What the simulation that runs has recorded up to now, by armature and hold."""


class Records:
    """The records of a hold, as they are stored in the file or being made."""

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Start with a hold of an armature."""
        self._armature, self._owner = armature, owner_of(index)
        self._key = armature.session_uid, index
        self._blob = b""
        self._kept: list[Recorded] = []

    def at(self, time: float) -> Recorded | None:
        """Return the last event up to a frame; None if there is none."""
        for one in reversed(self.all()):
            if one.frame <= time + NEAR:
                return one
        return None

    def all(self) -> Sequence[Recorded]:
        """Return all events, in the order of time."""
        if history.is_running(self._armature, self._owner):
            return part(Recording).get(self._key, ())
        kept = history.data(self._armature, self._owner)
        if kept is None:
            return ()
        if kept.blob is not self._blob:
            self._blob, self._kept = kept.blob, unpacked(kept.blob)
        return self._kept


def packed(records: Sequence[Recorded]) -> bytes:
    """Return records as bytes."""
    numbers: list[float] = []
    for one in records:
        axes, origin = one.offset
        numbers += [one.frame, *axes, *origin]
    return FORM.packed([one.holder for one in records], (), numbers)


def unpacked(blob: bytes) -> list[Recorded]:
    """Return the records from bytes; none if these are damaged."""
    try:
        holders, _, numbers = FORM.unpacked(blob)
    except ValueError:
        return []
    if len(numbers) != SIZE * len(holders):
        return []
    found: list[Recorded] = []
    for i, holder in enumerate(holders):
        frame, a, b, c, d, e, f, g, h, k, x, y, z = numbers[i * SIZE : (i + 1) * SIZE]
        found.append(Recorded(frame, holder, ((a, b, c, d, e, f, g, h, k), (x, y, z))))
    return found
