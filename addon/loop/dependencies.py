"""What armatures depend on by their constraints, and when Blender is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast

import bpy

from ..blender import dependency_driver
from ..blender.dependency_driver import Source, existing_bone
from ..blender.forgetting import forgets
from . import changes
from .properties import settings
from .registry import LISTS


def declare(armature: bpy.types.Object) -> bool:
    """Tell Blender what an armature depends on; return whether it did not know."""
    return dependency_driver.declare(armature, sources(armature))


_noted: dict[int, bpy.types.Object] = {}


@changes.structure
def note(block: bpy.types.ID) -> None:
    """Have `declare` called for an armature before the next update, however much is set by then."""
    if isinstance(block, bpy.types.Object):
        _noted[block.session_uid] = block


def declare_noted() -> None:
    """Do so for all that were noted since."""
    while _noted:
        _, armature = _noted.popitem()
        with suppress(ReferenceError):  # It was removed.
            declare(armature)


@forgets
def forget_noted() -> None:
    """Do so for none: they are gone."""
    _noted.clear()


def sources(armature: bpy.types.Object) -> list[Source]:
    """Return what an armature depends on by its constraints and walks."""
    found: dict[tuple[bpy.types.Object | None, str], None] = {}
    for item in settings(armature).constraints:
        found[item.target, existing_bone(item.target, item.subtarget)] = None
        found[item.pole_target, existing_bone(item.pole_target, item.pole_subtarget)] = None
    for block in _named(armature):
        objects = [block] if isinstance(block, bpy.types.Object) else block.all_objects
        found |= dict.fromkeys((ob, "") for ob in objects)
    # The armature is evaluated for its own sake, and needs no hint of it.
    return [(ob, bone) for ob, bone in found if ob is not None and ob != armature]


def collections(armature: bpy.types.Object) -> list[bpy.types.Collection]:
    """Return the collections on whose objects an armature depends."""
    return [block for block in _named(armature) if isinstance(block, bpy.types.Collection)]


def _named(armature: bpy.types.Object) -> Iterator[bpy.types.Object | bpy.types.Collection]:
    """Yield what constraints and walks name besides targets and poles."""
    for item in settings(armature).constraints:
        for group in _groups(type(item)):
            yield from _blocks(getattr(item, group))
    for name in LISTS:
        for item in getattr(settings(armature), name):
            yield from _blocks(item)


def _blocks(
    group: bpy.types.PropertyGroup,
) -> Iterator[bpy.types.Object | bpy.types.Collection]:
    yield from filter(None, [getattr(group, name) for name in _pointers(type(group))])


@cache
def _groups(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return the groups of settings within one."""
    own = bpy.types.PropertyGroup.bl_rna
    pointers = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "POINTER"]
    return [prop.identifier for prop in pointers if prop.fixed_type.base == own]


@cache
def _pointers(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return which settings of a group name an object or a collection."""
    pointers = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "POINTER"]
    blocks = ("Object", "Collection")
    return [prop.identifier for prop in pointers if prop.fixed_type.identifier in blocks]
