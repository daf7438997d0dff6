"""Conversion of files saved by version 0.1.

They store the FK pose in a record beside the solution, and joint settings on pose bones.
"""

from __future__ import annotations

import sys
from array import array
from binascii import Error, a2b_base64
from contextlib import suppress
from math import isfinite
from typing import Any

import bpy

from ..blender.access import pose_bones
from ..blender.refusals import joints_problem
from ..blender.rotation import KINDS, channel_of, mode_of
from .joint_properties import FabrikJoint
from .properties import NO_PLACE, settings

NO_INPUT = -100
"""The mode of a bone that is not in the record."""

SIZE = 4 + 16 + 16
"""Bytes per slot: its mode, four numbers of the FK pose and four of the solution."""

JOINT = "fabrik_joint"
"""The property group of pose bones in 0.1."""

COUNT = 4
"""Bytes of the bone count at the end, if the record has more than rotations."""


def convert() -> None:
    """Convert all armatures of a file: restore the FK pose and move joint settings."""
    for ob in bpy.data.objects:
        if ob.type != "ARMATURE" or ob.pose is None:
            continue
        if settings(ob).record:
            _restore_record(ob)
        # Linked data is only changed for this session.
        is_kept = joints_problem(ob) != ""
        for bone in ob.pose.bones:
            _move_joint(bone, is_kept)


def _restore_record(armature: bpy.types.Object) -> None:
    try:
        stored = a2b_base64(settings(armature).record)
    except Error:  # Not written by 0.1.
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
            _restore_channel(
                bone, KINDS[kind] if kind else mode_of(bone), modes[row], kept, written
            )
        if place != NO_PLACE:
            bone.fabrik_place = NO_PLACE
    settings(armature).record = b""
    armature.update_tag()


def _restore_channel(
    bone: Any, mode: int, recorded: int, kept: array[float], written: array[float]
) -> None:
    """Restore the FK pose of a bone, unless its channel differs from the recorded solution."""
    if recorded == NO_INPUT or recorded != mode:
        return
    name, size = channel_of(mode)
    if array("f", getattr(bone, name)) == written[:size] and all(map(isfinite, kept[:size])):
        setattr(bone, name, kept[:size])


def _move_joint(bone: Any, is_kept: bool) -> None:
    """Move the joint settings of a pose bone to its bone.

    Args:
        bone: The pose bone.
        is_kept: Whether the old settings are kept.
    """
    # Since 5.0 registered properties are stored apart from custom properties; those of older files
    # are in both places.
    registered = getattr(bone, "bl_system_properties_get", lambda: None)()
    for stored in (bone, registered):
        if stored and JOINT in stored:
            _set_joint(bone.fabrik_joint, stored[JOINT])
            if not is_kept:
                del stored[JOINT]


def _set_joint(joint: FabrikJoint, stored: Any) -> None:
    """Set the stored settings of a joint, skipping invalid ones."""
    for name, value in stored.items() if hasattr(stored, "items") else ():
        prop = joint.bl_rna.properties.get(name)
        if prop is None:
            continue
        with suppress(TypeError, ValueError):
            if prop.type == "ENUM":  # Stored as an index.
                value = dict(enumerate(prop.enum_items.keys())).get(value)
            setattr(joint, name, value)
