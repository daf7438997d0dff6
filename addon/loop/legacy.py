"""Files saved by 0.1: the FK pose lay in a record beside the solution, joints on pose bones."""

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
"""The mode of a bone of which the record keeps nothing."""

SIZE = 4 + 16 + 16
"""The bytes of a slot: its mode, four numbers of the FK pose, four numbers of the solution."""

JOINT = "fabrik_joint"
"""The group of settings that pose bones had."""

COUNT = 4
"""The bytes at the end that say how many bones there were, if more than rotations are kept."""


def bring_over() -> None:
    """Give the armatures of a file their FK pose where their channels hold what 0.1 wrote."""
    for ob in bpy.data.objects:
        if ob.type != "ARMATURE" or ob.pose is None:
            continue
        if settings(ob).record:
            _bring_over(ob)
        # To linked data they are given for this session alone.
        is_kept = joints_problem(ob) != ""
        for bone in ob.pose.bones:
            _bring_joint(bone, is_kept)


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


def _bring_joint(bone: Any, is_kept: bool) -> None:
    """Give a bone the joint that its pose had.

    Args:
        bone: The pose bone.
        is_kept: Whether what the pose had stays there.
    """
    # From 5.0 on Blender keeps what extensions register beside what users do, from files of
    # earlier versions in both places.
    registered = getattr(bone, "bl_system_properties_get", lambda: None)()
    for stored in (bone, registered):
        if stored and JOINT in stored:
            _give_joint(bone.fabrik_joint, stored[JOINT])
            if not is_kept:
                del stored[JOINT]


def _give_joint(joint: FabrikJoint, stored: Any) -> None:
    """Give a joint the settings that are stored, but for what somebody else wrote there."""
    for name, value in stored.items() if hasattr(stored, "items") else ():
        prop = joint.bl_rna.properties.get(name)
        if prop is None:
            continue
        with suppress(TypeError, ValueError):
            if prop.type == "ENUM":  # A choice is stored by its place.
                value = dict(enumerate(prop.enum_items.keys())).get(value)
            setattr(joint, name, value)
