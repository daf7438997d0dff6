"""Removing everything that setting up a character added."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

import bpy

from ...blender.access import pose_bones
from ...editing import constraints as editing
from ...editing.controls import remove_bones, remove_empty_action
from ...editing.limb_adding import remove_hinges
from ...editing.playing import staged
from ...loop.properties import settings
from .recognizing import restore_switches
from .settings import FabrikCharacter, FabrikPart, character_settings


def index_of(armature: bpy.types.Object, part: FabrikPart) -> int | None:
    """Return the index of the constraint of a part; None if it has none."""
    for index, item in enumerate(settings(armature).constraints):
        if part.key and item.key == part.key:
            return index
    return None


def remove(armature: bpy.types.Object) -> int:
    """Remove everything that setting up added; return the number of constraints removed.

    Raises:
        ProblemError: If an armature with control bones cannot be shown; then nothing has changed.
    """
    character = character_settings(armature)
    controls = [part.target for part in character.parts if part.target and part.subtarget]
    edited = {*controls} - {character.controls}
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    with staged(layer, [*edited]) if edited else nullcontext():
        return _remove(armature, character)


def _remove(armature: bpy.types.Object, character: FabrikCharacter) -> int:
    count = 0
    for part in character.parts:
        index = index_of(armature, part)
        if index is not None:
            editing.remove(armature, index)
            count += 1
        remove_hinges(armature, list(filter(None, part.hinges.split("\n"))))
    _remove_controls(character)
    for part in character.parts:
        part.key, part.hinges = 0, ""
        part.target = part.pole = None
        part.subtarget = part.pole_bone = ""
    restore_switches(armature)
    editing.changed(armature)
    return count


def _remove_controls(character: FabrikCharacter) -> None:
    """Remove targets and poles, custom shapes, and the armature that was added for controls."""
    bones: dict[bpy.types.Object, list[str]] = {}
    objects: list[bpy.types.Object] = []
    for part in character.parts:
        for ob, name in ((part.target, part.subtarget), (part.pole, part.pole_bone)):
            if ob is not None and name:
                bones.setdefault(ob, []).append(name)
            elif ob is not None:
                objects.append(ob)
    for holder, names in bones.items():
        existing = [pose_bones(holder)[name] for name in names if name in pose_bones(holder)]
        objects += [bone.custom_shape for bone in existing if bone.custom_shape is not None]
        if holder == character.controls:
            objects.append(holder)
        else:
            remove_bones(holder, names)
            remove_empty_action(holder)
    character.controls = None
    for ob in dict.fromkeys(objects):
        data, action = ob.data, ob.animation_data and ob.animation_data.action
        bpy.data.objects.remove(ob)
        if isinstance(data, bpy.types.Armature) and not data.users:
            bpy.data.armatures.remove(data)
        if action is not None and not action.users:
            bpy.data.actions.remove(action)
