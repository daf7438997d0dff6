"""Selecting bones as users do, and operators that refuse."""

from typing import Any

import bpy
import pytest
from rigs import activate, update


def enter_pose_mode(*rigs: bpy.types.Object, click: str = "") -> None:
    """Enter Pose Mode with armatures, the first one active, and select one of its bones alone."""
    activate(rigs[0])
    for rig in rigs:
        rig.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    for rig in rigs:
        for bone in rig.pose.bones:
            select_bone(rig, bone.name, False)
    if click:
        click_bone(rigs[0], click)


def select_bone(rig: bpy.types.Object, name: str, on: bool = True) -> None:
    """Select or deselect a bone; since 5.0 the selection belongs to the pose."""
    pose_bone = rig.pose.bones[name]
    (pose_bone if hasattr(pose_bone, "select") else pose_bone.bone).select = on


def select_bones(rig: bpy.types.Object, *names: str) -> None:
    """Select bones and deselect all others of their armature."""
    for bone in rig.pose.bones:
        select_bone(rig, bone.name, bone.name in names)


def click_bone(rig: bpy.types.Object, name: str) -> None:
    """Select a bone and make it active, like a click."""
    select_bone(rig, name)
    rig.data.bones.active = rig.data.bones[name]


def click_bones(rig: Any, *names: str) -> None:
    """Select bones alone, and make the first one active, in Pose Mode."""
    if rig.mode != "POSE":
        enter_pose_mode(rig)
    select_bones(rig, *names)
    rig.data.bones.active = rig.data.bones[names[0]]
    update()


def add_limbs(rig: Any, *names: str, **options: object) -> None:
    """Add IK to the limbs of bones."""
    click_bones(rig, *names)
    assert bpy.ops.fabrik.limb_add(**options) == {"FINISHED"}
    update()


def refuses(operator: object, saying: str, **arguments: object) -> None:
    """Assert that an operator refuses with a matching message."""
    with pytest.raises(RuntimeError, match=saying):
        operator(**arguments)
