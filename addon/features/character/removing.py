"""Removing everything that setting up a character added."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

import bpy

from ...editing import constraints as editing
from ...editing.playing import staged
from ...editing.unused import remove_unused
from ...editing.uses import Control, named_controls
from ...settings.properties import settings
from .recognizing import restore_switches
from .settings import FabrikPart, character_settings, is_set_up


def index_of(armature: bpy.types.Object, part: FabrikPart) -> int | None:
    """Return the index of the constraint of a part; None if it has none."""
    for index, item in enumerate(settings(armature).constraints):
        if part.key and item.key == part.key:
            return index
    return None


def remove(armature: bpy.types.Object, keep_controls: bool = False) -> int:
    """Remove everything that setting up added; return the number of constraints removed.

    Keeps controls that something else uses.

    Args:
        armature: The armature.
        keep_controls: Whether to keep the other controls as well.

    Raises:
        ProblemError: If an armature with control bones can't be shown; nothing is changed.
    """
    character = character_settings(armature)
    ends = [end for part in character.parts for end in _ends_of(armature, part)]
    controls = character.controls
    edited = () if keep_controls else {ob for ob, bone in ends if bone and ob != controls}
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    with staged(layer, [*edited]) if edited else nullcontext():
        indices = {i for part in character.parts if (i := index_of(armature, part)) is not None}
        editing.remove(armature, *indices)
        for part in character.parts:
            _forget_part(part)
        _forget_rest(armature)
        if not keep_controls:
            remove_unused([end for end in ends if end[0] in edited])
        editing.changed(armature)
    if not keep_controls:
        remove_unused([end for end in ends if end[0] not in edited])
    return len(indices)


def _ends_of(armature: bpy.types.Object, part: FabrikPart) -> list[Control]:
    """Return the target, the pole and the other controls added for a part."""
    index = index_of(armature, part)
    item = None if index is None else settings(armature).constraints[index]
    named = [] if item is None else named_controls(armature, item)
    ends = (part.target, part.subtarget), (part.pole, part.pole_bone)
    return [
        *[(ob, bone) for ob, bone in ends if ob is not None],
        *[(armature, bone) for bone in named],
    ]


def forget_removed(armature: bpy.types.Object) -> None:
    """Forget the parts whose constraint was removed."""
    character = character_settings(armature)
    lost = [part for part in character.parts if part.key and index_of(armature, part) is None]
    for part in lost:
        _forget_part(part)
    if lost and not is_set_up(character):
        _forget_rest(armature)


def _forget_part(part: FabrikPart) -> None:
    part.key, part.target, part.pole = 0, None, None
    part.subtarget = part.pole_bone = ""


def _forget_rest(armature: bpy.types.Object) -> None:
    restore_switches(armature)
    character_settings(armature).controls = None
