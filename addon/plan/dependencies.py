"""The dependencies of armatures on targets, and declaring them to Blender."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast

import bpy

from ..blender import dependency_driver
from ..blender.dependency_driver import Source, existing_bone
from ..blender.session import part
from ..settings import notifications
from ..settings.properties import LISTS, settings
from ..settings.values import pointed


def declare(armature: bpy.types.Object) -> bool:
    """Declare the dependencies of an armature to Blender; return whether they changed.

    Those of armatures among them are declared as well: Blender evaluates what is not shown only for
    something that is, and the pose of such an armature does not depend on its own targets.
    """
    return dependency_driver.declare(armature, _sources_of_all(armature))


class PendingDeclarations:
    """The armatures of the session whose dependencies will be declared before the next update.

    Attributes:
        armatures: The armatures.
    """

    def __init__(self) -> None:
        """Start without any."""
        self.armatures: dict[int, bpy.types.Object] = {}
        self._scenes: list[int] = []  # Those that windows showed when the last one was added.

    def add(self, armature: bpy.types.Object) -> None:
        """Declare the dependencies of an armature before the next update."""
        self.armatures[armature.session_uid] = armature
        self._scenes = _shown_scenes()

    def declare(self, is_frame_change: bool) -> None:
        """Declare them.

        A window that switches to another scene changes its frame. The depsgraph has been built anew
        then and is not evaluated yet, where building it once more crashes Blender 4.2: what is
        declared has to wait until it is.
        """
        if is_frame_change and self._scenes != _shown_scenes():
            return
        if self.armatures:
            self.armatures |= _dependents(self.armatures)
        while self.armatures:
            _, armature = self.armatures.popitem()
            with suppress(ReferenceError):  # It was removed.
                declare(armature)


@notifications.structure
def note(block: bpy.types.ID) -> None:
    """Declare the dependencies of an armature whose structure changed before the next update."""
    if isinstance(block, bpy.types.Object):
        part(PendingDeclarations).add(block)


def _shown_scenes() -> list[int]:
    manager = bpy.context.window_manager
    return [window.scene.session_uid for window in manager.windows] if manager else []


def sources(armature: bpy.types.Object) -> list[Source]:
    """Return the objects and bones that the constraints and walks of an armature use."""
    found: dict[tuple[bpy.types.Object | None, str], None] = {}
    for item in settings(armature).constraints:
        target, pole = pointed(item, "target"), pointed(item, "pole_target")
        found[target, existing_bone(target, item.subtarget)] = None
        found[pole, existing_bone(pole, item.pole_subtarget)] = None
    for block in _used_blocks(armature):
        objects = [block] if isinstance(block, bpy.types.Object) else block.all_objects
        found |= dict.fromkeys((ob, "") for ob in objects)
    found |= dict.fromkeys(_used_bones(armature))
    # An armature needs no dependency on itself.
    return [(ob, bone) for ob, bone in found if ob is not None and ob != armature]


def _sources_of_all(armature: bpy.types.Object) -> list[Source]:
    """Return the sources of an armature, those of armatures among them, and so on."""
    found = dict.fromkeys(sources(armature))
    known, new = {armature}, {ob for ob, _ in found}
    while new:
        known |= new
        further = [source for ob in new if ob.type == "ARMATURE" for source in sources(ob)]
        found |= dict.fromkeys(source for source in further if source[0] != armature)
        new = {ob for ob, _ in further} - known
    return [*found]


def _dependents(uids: Container[int]) -> dict[int, bpy.types.Object]:
    """Return the armatures whose dependencies contain one of some armatures, by UID."""
    return {
        ob.session_uid: ob
        for ob in bpy.data.objects
        if dependency_driver.NAME in ob
        and ob.library is None
        and any(source.session_uid in uids for source, _ in _sources_of_all(ob))
    }


def collections(armature: bpy.types.Object) -> list[bpy.types.Collection]:
    """Return the collections that an armature's constraints and walks use."""
    return [block for block in _used_blocks(armature) if isinstance(block, bpy.types.Collection)]


def _used_blocks(armature: bpy.types.Object) -> Iterator[bpy.types.Object | bpy.types.Collection]:
    """Yield the objects and collections that are used besides targets and poles."""
    for item in settings(armature).constraints:
        for group in _groups(type(item)):
            if item.is_property_set(group):
                yield from _blocks(getattr(item, group))
    for name in LISTS:
        for item in getattr(settings(armature), name):
            yield from _blocks(item)


def _used_bones(armature: bpy.types.Object) -> Iterator[Source]:
    """Yield the bones, and objects, that lists within the items of further lists name."""
    for name in LISTS:
        for item in getattr(settings(armature), name):
            for inner in _inner_lists(type(item)):
                for one in getattr(item, inner):
                    ob = pointed(one, "object")
                    if ob is not None:
                        yield ob, existing_bone(ob, one.bone)


def _blocks(
    group: bpy.types.PropertyGroup,
) -> Iterator[bpy.types.Object | bpy.types.Collection]:
    yield from filter(None, [pointed(group, name) for name in _pointers(type(group))])


@cache
def _groups(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return the nested property groups of a class."""
    own = bpy.types.PropertyGroup.bl_rna
    pointers = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "POINTER"]
    return [prop.identifier for prop in pointers if prop.fixed_type.base == own]


@cache
def _inner_lists(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return the lists of a property group whose items name an object and a bone of it."""
    lists = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "COLLECTION"]
    return [prop.identifier for prop in lists if "object" in prop.fixed_type.properties]


@cache
def _pointers(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return the pointers to objects or collections of a property group."""
    pointers = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "POINTER"]
    blocks = ("Object", "Collection")
    return [prop.identifier for prop in pointers if prop.fixed_type.identifier in blocks]
