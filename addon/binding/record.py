"""The record of an armature: the FK input of its solved bones, and what was written over it.

It is one property of the object and not some of each bone, because it is written at every frame:
Blender copies much less for it, and does not take the armature for changed. Each bone carries its
place in the record, so that it is found when bones are renamed, added, removed, copied or sorted.
"""

from __future__ import annotations

import sys
from array import array
from binascii import Error, a2b_base64, b2a_base64

import bpy

from .access import pose_bones, set_of_all, settings
from .rotation import KINDS, integers

NO_INPUT = -100
"""The mode of a bone that holds its own pose and no solved one."""

NO_PLACE = -1
"""`PoseBone.fabrik_place` of a bone that is not in the record."""

SIZE = 4 + 16 + 16
"""The bytes of a slot: its mode, four numbers of input, four numbers written."""

COUNT = 4
"""The bytes at the end that say how many bones there were, if more than rotations are kept."""


class Record:
    """What is kept of the bones of one armature, by slot (see `KINDS`).

    Attributes:
        modes: The modes that the numbers belong to, `NO_INPUT` where nothing is kept.
        kept: The FK input, four numbers a slot.
        written: What was written over it, four numbers a slot.
    """

    def __init__(self, armature: bpy.types.Object, kinds: int) -> None:
        """Read as many kinds of channels of it."""
        self.armature = armature
        bones = pose_bones(armature)
        self.bones = len(bones)
        self.modes = array("i", [NO_INPUT]) * (kinds * len(bones))
        self.kept = array("f", bytes(16 * len(self.modes)))
        self.written = self.kept[:]
        self._places = integers(bones, "fabrik_place")
        try:
            stored = a2b_base64(settings(armature).record)
        except Error:  # Somebody else wrote there.
            stored = b""
        for kind in range(kinds):
            self._read(stored, kind)
        self._saved = stored
        self._placed: array[int] | None = None

    def _read(self, stored: bytes, kind: int) -> None:
        """Find what is stored of one kind of channel; the bones may have other places now."""
        count = len(stored) // SIZE
        bones = count
        if len(stored) % SIZE == COUNT:
            bones = int.from_bytes(stored[-COUNT:], sys.byteorder)
        if kind > 0 and count != len(KINDS) * bones:
            return
        modes, numbers = array("i"), array("f")
        modes.frombytes(stored[: count * 4])
        numbers.frombytes(stored[count * 4 : count * SIZE])
        for bone, place in enumerate(self._places):
            if 0 <= place < min(bones, count):
                slot, row = kind * self.bones + bone, kind * bones + place
                self.modes[slot] = modes[row]
                for buffer, start in ((self.kept, row), (self.written, count + row)):
                    buffer[slot * 4 : slot * 4 + 4] = numbers[start * 4 : start * 4 + 4]

    def save(self, modes: array[int], kept: array[float], written: array[float]) -> None:
        """Keep other values, and write them if they are not the same."""
        self.modes, self.kept, self.written = modes, kept[:], written[:]
        now = modes.tobytes() + kept.tobytes() + written.tobytes()
        if len(modes) > self.bones:
            now += self.bones.to_bytes(COUNT, sys.byteorder)
        if now == self._saved:
            return
        self._saved = now
        # Without zeros among the bytes: a library override would compare up to the first of them.
        settings(self.armature).record = b2a_base64(now, newline=False)
        if modes == self._placed:
            return
        self._placed = modes
        turned = modes[: self.bones]
        places = array("i", [NO_PLACE if m == NO_INPUT else i for i, m in enumerate(turned)])
        if places != self._places:
            self._places = places
            set_of_all(self.armature, "fabrik_place", places)
