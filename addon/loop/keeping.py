"""What planning finds out and the file is to keep: names that were followed, keys, names apart.

Planning writes nothing, as a render or a drawing may ask for a plan. What is to be written is noted
here, and written in the next update of a viewport.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import bpy

from ..blender.access import pose_bones
from ..blender.forgetting import forgets
from . import changes
from .properties import free_name, keys_of, settings
from .registry import LISTS

_noted: dict[tuple[int, str, str], tuple[bpy.types.ID, object, object]] = {}
"""By data-block, path of the owner and name of the setting: the block, what it held, and the new
value. References to what is within a block would not outlive it."""

_new: dict[int, bpy.types.Object] = {}
"""The armatures that were planned since."""


@forgets
def forget() -> None:
    """Keep nothing of the file."""
    _noted.clear()
    _new.clear()


def note(owner: Any, name: str, value: object) -> None:
    """Have a setting, of a bone or of something that settings hold, set to a value."""
    before = getattr(owner, name)
    if before != value:
        block = owner.id_data
        _noted[block.session_uid, owner.path_from_id(), name] = block, before, value


def note_new(armature: bpy.types.Object) -> None:
    """Have the lists of an armature put in order, which has settings and was planned."""
    _new[armature.session_uid] = armature


def is_due() -> bool:
    """Return whether there is anything to be written."""
    return bool(_noted or _new)


def planned() -> set[int]:
    """Return the armatures that were planned since."""
    return set(_new)


def keep() -> set[int]:
    """Write what was noted; return the armatures of which anything listed got another name."""
    renamed: set[int] = set()
    with changes.following():
        while _noted:
            (_, path, name), (block, before, value) = _noted.popitem()
            with suppress(ReferenceError, ValueError):  # It is there no longer.
                owner: Any = block.path_resolve(path)
                if getattr(owner, name) == before:
                    setattr(owner, name, value)
        while _new:
            uid, armature = _new.popitem()
            with suppress(ReferenceError):
                _give_keys(armature)
                if _name_apart(armature):
                    renamed.add(uid)
                _let_copies_go(armature)
    return renamed


def _give_keys(armature: bpy.types.Object) -> None:
    """Give a key to each constraint that has none of its own."""
    keys = keys_of(settings(armature))
    for i, key in enumerate(keys):
        if key == 0 or key in keys[:i]:
            settings(armature).constraints[i].key = keys[i] = max(keys) + 1


def _name_apart(armature: bpy.types.Object) -> bool:
    """Let all that is listed have names of its own; return whether anything had not.

    By nothing else does a library override know later which of them a value is for.
    """
    if armature.library is not None or armature.override_library is not None:
        return False
    found = False
    for collection in ("constraints", *LISTS):
        items = getattr(settings(armature), collection)
        names = [item.name for item in items]  # Up to 4.5 keys are empty of names never set.
        for i, name in enumerate(names):
            if name in names[:i]:
                names[i] = items[i].name = free_name(armature, name, collection)
                found = True
    return found


def _let_copies_go(armature: bpy.types.Object) -> None:
    """Let copies of bones remember no name: they are not what settings mean by it."""
    bones = pose_bones(armature)
    for bone in bones:
        if bone.fabrik_name != bone.name and bone.fabrik_name in bones:
            bone.fabrik_name = ""
