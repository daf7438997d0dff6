"""Groups of settings, and what these point to, in library overrides.

In Blender 5.2, not in 4.2, an override that stores a group of settings, while its library does not,
overrides the group as a whole. That cannot be applied: all settings in it are lost when the file is
opened. Reading a group stores it, also in linked data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bpy

from . import notifications
from .values import pointed


def complete_references() -> None:
    """Have the libraries of all overrides store the groups of settings that these store."""
    for block in (*bpy.data.objects, *bpy.data.armatures):
        complete_reference(block)


def complete_reference(block: bpy.types.ID) -> None:
    """Have the library of an object or armature store the groups that it stores as an override."""
    override = block.override_library
    if override is None or override.reference is None:
        return
    if isinstance(block, bpy.types.Armature):
        known = cast("bpy.types.Armature", override.reference).bones
        for bone in block.bones:
            if bone.name in known:
                _complete(bone, known[bone.name], "fabrik_joint")
    else:
        _complete(block, override.reference, "fabrik")


def _complete(mine: Any, its: Any, name: str) -> None:
    """Have the second owner of a group store what the first one stores of it."""
    group = pointed(mine, name)
    if isinstance(group, bpy.types.PropertyGroup):
        _complete_within(group, getattr(its, name))


def _complete_within(group: Any, other: Any) -> None:
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if not prop.is_runtime:  # As the type itself.
            continue
        if prop.type == "POINTER":
            _complete(group, other, name)
        elif prop.type == "COLLECTION":
            items = getattr(other, name)
            for item in getattr(group, name):
                if item.name in items:
                    _complete_within(item, items[item.name])


def point_to_overrides() -> None:
    """Have the settings of overrides point to overrides of what those of the library point to.

    Of a list item that is new or renamed in the library, Blender only does so when the file is
    opened again, after it was saved.
    """
    overrides = {
        (override.reference, override.hierarchy_root): block
        for block in (*bpy.data.objects, *bpy.data.collections)
        for override in (block.override_library,)
        if override is not None
    }
    for ob in bpy.data.objects:
        if ob.override_library is None or not ob.is_property_set("fabrik"):
            continue
        root = ob.override_library.hierarchy_root
        with notifications.following():
            for group, name, linked in [*_linked(cast(Any, ob).fabrik)]:
                if (linked, root) in overrides:
                    setattr(group, name, overrides[linked, root])


def _linked(group: Any) -> Iterator[tuple[Any, str, bpy.types.ID]]:
    """Yield the groups within a group that point to linked data, each with the pointer's name."""
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if prop.type == "COLLECTION" and prop.is_runtime:
            for item in getattr(group, name):
                yield from _linked(item)
        elif prop.type == "POINTER" and prop.is_runtime:
            value = pointed(group, name)
            if isinstance(value, bpy.types.PropertyGroup):
                yield from _linked(value)
            elif value is not None and value.library is not None:
                yield group, name, value
