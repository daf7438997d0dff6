"""Files saved by 0.1, whose channels hold the solution and a record beside them the FK pose."""

from __future__ import annotations

import sys
from array import array
from binascii import Error, a2b_base64
from math import isfinite
from typing import Any

import bpy

from .access import pose_bones, settings
from .rotation import KINDS, channel_of, mode_of

NO_PLACE = -1
"""`PoseBone.fabrik_place` of a bone that is not in the record."""

NO_INPUT = -100
"""The mode of a bone of which the record keeps nothing."""

SIZE = 4 + 16 + 16
"""The bytes of a slot: its mode, four numbers of the FK pose, four numbers of the solution."""

COUNT = 4
"""The bytes at the end that say how many bones there were, if more than rotations are kept."""


def bring_over() -> None:
    """Give the armatures of a file their FK pose where their channels hold what 0.1 wrote."""
    for ob in bpy.data.objects:
        if ob.type == "ARMATURE" and ob.pose is not None and settings(ob).record:
            _bring_over(ob)


def _bring_over(armature: bpy.types.Object) -> None:
    try:
        stored = a2b_base64(settings(armature).record)
    except Error:  # Somebody else wrote there.
        stored = b""
    count = bones = len(stored) // SIZE
    if len(stored) % SIZE == COUNT:
        bones = int.from_bytes(stored[-COUNT:], sys.byteorder)
    modes, numbers = array("i"), array("f")
    modes.frombytes(stored[: count * 4])
    numbers.frombytes(stored[count * 4 : count * SIZE])
    kinds = len(KINDS) if count == len(KINDS) * bones else 1
    for bone in pose_bones(armature):
        place = bone.fabrik_place
        for kind in range(kinds) if 0 <= place < min(bones, count) else ():
            row = kind * bones + place
            kept, written = numbers[row * 4 : row * 4 + 4], numbers[(count + row) * 4 :][:4]
            _give(bone, KINDS[kind] if kind else mode_of(bone), modes[row], kept, written)
        if place != NO_PLACE:
            bone.fabrik_place = NO_PLACE
    settings(armature).record = b""
    armature.update_tag()


def _give(bone: Any, mode: int, recorded: int, kept: array[float], written: array[float]) -> None:
    """Give a bone its FK pose, unless its channel holds anything else than what was written."""
    if recorded == NO_INPUT or recorded != mode:
        return
    name, size = channel_of(mode)
    if array("f", getattr(bone, name)) == written[:size] and all(map(isfinite, kept[:size])):
        setattr(bone, name, kept[:size])
