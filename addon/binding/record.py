"""The record of an armature: the FK input of its solved bones, and what was written over it.

It is one property of the object and not some of each bone, because it is written at every frame:
Blender copies much less for it, and does not take the armature for changed. Each bone carries its
place in the record, so that it is found when bones are renamed, added, removed, copied or sorted.
"""

from __future__ import annotations

from array import array
from binascii import Error, a2b_base64, b2a_base64

import bpy

from .access import pose_bones, settings
from .rotation import integers

NO_INPUT = -100
"""The mode of a bone that holds its own pose and no solved one."""

NO_PLACE = -1
"""`PoseBone.fabrik_place` of a bone that is not in the record."""

SIZE = 4 + 16 + 16
"""The bytes of a bone: its rotation mode, four numbers of input, four numbers written."""


class Record:
    """What is kept of the bones of one armature, by index in its pose.

    Attributes:
        modes: The rotation modes that the numbers belong to, `NO_INPUT` where nothing is kept.
        kept: The FK input, four numbers a bone.
        written: What was written over it, four numbers a bone.
    """

    def __init__(self, armature: bpy.types.Object) -> None:
        """Read it."""
        self.armature = armature
        bones = pose_bones(armature)
        self.modes = array("i", [NO_INPUT]) * len(bones)
        self.kept = array("f", bytes(16 * len(bones)))
        self.written = self.kept[:]
        self._places = integers(bones, "fabrik_place")
        try:
            stored = a2b_base64(settings(armature).record)
        except Error:  # Somebody else wrote there.
            stored = b""
        count = len(stored) // SIZE
        modes, numbers = array("i"), array("f")
        modes.frombytes(stored[: count * 4])
        numbers.frombytes(stored[count * 4 : count * SIZE])
        for bone, place in enumerate(self._places):
            if 0 <= place < count:
                self.modes[bone] = modes[place]
                for buffer, start in ((self.kept, place), (self.written, count + place)):
                    buffer[bone * 4 : bone * 4 + 4] = numbers[start * 4 : start * 4 + 4]
        self._saved = stored
        self._placed: array[int] | None = None

    def save(self, modes: array[int], kept: array[float], written: array[float]) -> None:
        """Keep other values, and write them if they are not the same."""
        self.modes, self.kept, self.written = modes, kept[:], written[:]
        now = modes.tobytes() + kept.tobytes() + written.tobytes()
        if now == self._saved:
            return
        self._saved = now
        # Without zeros among the bytes: a library override would compare up to the first of them.
        settings(self.armature).record = b2a_base64(now, newline=False)
        if modes == self._placed:
            return
        self._placed = modes
        places = array("i", [NO_PLACE if m == NO_INPUT else i for i, m in enumerate(modes)])
        if places != self._places:
            self._places = places
            pose_bones(self.armature).foreach_set("fabrik_place", places)
