"""Property groups, and the data-blocks that these point to, in library overrides.

In Blender 5.2, not in 4.2, an override that stores a property group overrides it as a whole if its
library doesn't store it. Blender can't apply that: opening the file loses all settings of the
group. Reading a group stores it, also in linked data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bpy

from . import notifications
from .values import pointed


def complete_references() -> None:
    """Make the linked originals of all overrides store the groups that the overrides store."""
    for block in (*bpy.data.objects, *bpy.data.armatures):
        complete_reference(block)


def complete_reference(block: bpy.types.ID) -> None:
    """Make the linked original of an overridden object or armature store its groups."""
    override = block.override_library
    if override is None or override.reference is None:
        return
    if isinstance(block, bpy.types.Armature):
        linked_bones = cast("bpy.types.Armature", override.reference).bones
        for bone in block.bones:
            if bone.name in linked_bones:
                _complete(bone, linked_bones[bone.name], "fabrik_joint")
    else:
        _complete(block, override.reference, "fabrik")


def _complete(override_owner: Any, linked_owner: Any, name: str) -> None:
    """Make a group's linked owner store everything that the overriding owner stores."""
    group = pointed(override_owner, name)
    if isinstance(group, bpy.types.PropertyGroup):
        _complete_within(group, getattr(linked_owner, name))


def _complete_within(group: Any, other: Any) -> None:
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if not prop.is_runtime:  # Such as `rna_type`.
            continue
        if prop.type == "POINTER":
            _complete(group, other, name)
        elif prop.type == "COLLECTION":
            items = getattr(other, name)
            for item in getattr(group, name):
                if item.name in items:
                    _complete_within(item, items[item.name])


def point_to_overrides() -> None:
    """Make pointers of overrides refer to overrides instead of linked originals.

    For list items that are new or renamed in the library, Blender only does this when the file is
    saved and reopened.
    """
    overrides = {
        (override.reference, override.hierarchy_root): block
        for block in (*bpy.data.objects, *bpy.data.collections)
        for override in (block.override_library,)
        if override is not None
    }
    for (_, root), ob in overrides.items():
        if not isinstance(ob, bpy.types.Object) or not ob.is_property_set("fabrik"):
            continue
        with notifications.following():
            for group, name, linked in [*_linked(cast(Any, ob).fabrik)]:
                if (linked, root) in overrides:
                    setattr(group, name, overrides[linked, root])


def _linked(group: Any) -> Iterator[tuple[Any, str, bpy.types.ID]]:
    """Yield the pointers to linked data within a group: owning group, name and data-block."""
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
