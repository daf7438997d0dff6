"""Deferred writes of planning: followed renames, keys and unique names of constraints.

Planning itself writes nothing, because renders and draw handlers may need a plan. The writes are
collected here and applied in the next update of a viewport.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import bpy

from ..blender.access import pose_bones
from ..blender.listeners import on_invalidate
from ..settings import notifications
from ..settings.properties import free_name, keys_of, settings
from .registry import LISTS

_noted: dict[tuple[int, str, str], tuple[bpy.types.ID, object, object]] = {}
"""By data-block, RNA path of the owner and name of the setting: the block, the old and new value.
References to the owners could become invalid."""

_new: dict[int, bpy.types.Object] = {}
"""The armatures that were planned since the last write."""


@on_invalidate
def forget() -> None:
    """Drop all deferred writes."""
    _noted.clear()
    _new.clear()


def note(owner: Any, name: str, value: object) -> None:
    """Set a property of a bone or property group in the next update."""
    before = getattr(owner, name)
    if before != value:
        block = owner.id_data
        _noted[block.session_uid, owner.path_from_id(), name] = block, before, value


def note_new(armature: bpy.types.Object) -> None:
    """Assign keys and unique names in the lists of an armature in the next update."""
    _new[armature.session_uid] = armature


def is_due() -> bool:
    """Return whether there are deferred writes."""
    return bool(_noted or _new)


def planned() -> set[int]:
    """Return the armatures that were planned since the last write."""
    return set(_new)


def apply() -> set[int]:
    """Apply the deferred writes; return the armatures with renamed list items."""
    renamed: set[int] = set()
    with notifications.following():
        while _noted:
            (_, path, name), (block, before, value) = _noted.popitem()
            with suppress(ReferenceError, ValueError):  # It was removed.
                owner: Any = block.path_resolve(path)
                if getattr(owner, name) == before:
                    setattr(owner, name, value)
        while _new:
            uid, armature = _new.popitem()
            with suppress(ReferenceError):
                _assign_keys(armature)
                if _make_names_unique(armature):
                    renamed.add(uid)
                _clear_copied_names(armature)
    return renamed


def _assign_keys(armature: bpy.types.Object) -> None:
    """Assign a unique key to each constraint."""
    keys = keys_of(settings(armature))
    for i, key in enumerate(keys):
        if key == 0 or key in keys[:i]:
            settings(armature).constraints[i].key = keys[i] = max(keys) + 1


def _make_names_unique(armature: bpy.types.Object) -> bool:
    """Store unique names of all list items; return whether any was renamed.

    Library overrides identify list items by name alone, and up to 4.5 Blender only finds items by
    names that were set.
    """
    if armature.library is not None or armature.override_library is not None:
        return False
    found = False
    for collection in ("constraints", *LISTS):
        items = getattr(settings(armature), collection)
        names = [item.name for item in items]
        for i, name in enumerate(names):
            if not items[i].is_property_set("name"):
                items[i].name = name
            if name in names[:i]:
                names[i] = items[i].name = free_name(armature, name, collection)
                found = True
    return found


def _clear_copied_names(armature: bpy.types.Object) -> None:
    """Clear the known name of duplicated bones, which constraints do not refer to."""
    bones = pose_bones(armature)
    for bone in bones:
        if bone.fabrik_name != bone.name and bone.fabrik_name in bones:
            bone.fabrik_name = ""
