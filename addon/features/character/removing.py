"""Removing what was made of a character, and what is known of that."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from ...editing import constraints as editing
from ...loop.properties import settings
from .controls import remove_bones
from .generated import give_back_fk
from .settings import FabrikCharacter, FabrikPart, character_settings


def index_of(armature: bpy.types.Object, part: FabrikPart) -> int | None:
    """Return the place of the constraint of a part in the list; None if there is none."""
    for index, item in enumerate(settings(armature).constraints):
        if part.key and item.key == part.key:
            return index
    return None


def remove(armature: bpy.types.Object) -> int:
    """Remove all that setting up made; return how many constraints that were."""
    held = character_settings(armature)
    count = 0
    for part in held.parts:
        index = index_of(armature, part)
        if index is not None:
            editing.remove(armature, index)
            count += 1
        for name in filter(None, part.hinges.split("\n")):
            if name in pose_bones(armature):
                cast(Any, pose_bones(armature)[name]).fabrik_joint.limit_type = "NONE"
    _remove_controls(held)
    for part in held.parts:
        part.key, part.hinges = 0, ""
        part.target = part.pole = None
        part.subtarget = part.pole_bone = ""
    give_back_fk(armature)
    editing.changed(armature)
    return count


def _remove_controls(held: FabrikCharacter) -> None:
    """Remove targets and poles, what control bones look like, and the armature made for them."""
    bones: dict[bpy.types.Object, list[str]] = {}
    gone: list[bpy.types.Object] = []
    for part in held.parts:
        for ob, name in ((part.target, part.subtarget), (part.pole, part.pole_bone)):
            if ob is not None and name:
                bones.setdefault(ob, []).append(name)
            elif ob is not None:
                gone.append(ob)
    for holder, names in bones.items():
        found = [pose_bones(holder)[name] for name in names if name in pose_bones(holder)]
        gone += [bone.custom_shape for bone in found if bone.custom_shape is not None]
        if holder == held.controls:
            gone.append(holder)
        else:
            remove_bones(holder, names)
    held.controls = None
    for ob in dict.fromkeys(gone):
        data = ob.data
        bpy.data.objects.remove(ob)
        if isinstance(data, bpy.types.Armature) and not data.users:
            bpy.data.armatures.remove(data)
