"""Groups of settings in library overrides.

In Blender 5.2, not in 4.2, an override that stores a group of settings, while its library does not,
overrides the group as a whole. That cannot be applied: all settings in it are lost when the file is
opened. Reading a group stores it, also in linked data.
"""

from __future__ import annotations

from typing import Any, cast

import bpy

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
