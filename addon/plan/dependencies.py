"""Find the dependencies of armatures on targets, and declare them to Blender."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import bpy

from ..blender import dependency_driver
from ..blender.dependency_driver import Read, Source, existing_bone
from ..blender.relations import components, walk_dependencies
from ..blender.session import part
from ..settings import notifications
from ..settings.properties import LISTS, settings
from ..settings.values import pointed

Uses = Mapping[bpy.types.Object, Sequence[Source]]
"""For each armature, the objects and bones that its settings use."""


def declare(armatures: Iterable[bpy.types.Object], planned: Uses | None = None) -> set[int]:
    """Declare the dependencies of armatures to Blender, and return the UIDs of changed armatures.

    Armatures that these depend on have their dependencies declared too. Blender evaluates hidden
    objects only for visible ones, and a hidden armature's pose doesn't depend on its targets by
    itself. An armature's driver reads the drivers of the armatures that it depends on. If
    armatures depend on each other, the first one's driver has the dependencies of all of them, and
    the other drivers read that driver.

    Args:
        armatures: The armatures.
        planned: The objects that armatures use, if known from plans; the others are read.
    """
    direct = _sources_by_armature(armatures, planned or {})
    needs = {
        ob: [source for source, _ in wanted if source in direct] for ob, wanted in direct.items()
    }
    reads: dict[bpy.types.Object, list[Read]] = {}  # The drivers to read for each armature.
    changed: set[int] = set()
    for members in components(needs):
        together = {*members}
        members.sort(key=lambda ob: ob.name_full)
        for ob in members:
            among = members if ob == members[0] else [ob]
            outside = [
                other for source in among for other in needs[source] if other not in together
            ]
            wanted: list[Read] = [(source, bone, "") for a in among for source, bone in direct[a]]
            for other in [*outside, *members[:1]]:
                wanted += reads.get(other, ())
            # An armature doesn't need a dependency on itself.
            wanted = [read for read in dict.fromkeys(wanted) if read[0] != ob]
            is_linked = ob.library is not None
            reads[ob] = wanted if is_linked or not wanted else [(ob, "", dependency_driver.PATH)]
            if not is_linked and dependency_driver.declare(ob, wanted):
                changed.add(ob.session_uid)
    return changed


class PendingDeclarations:
    """The session's armatures whose dependencies will be declared before the next update.

    Attributes:
        armatures: The armatures.
    """

    def __init__(self) -> None:
        """Start with no armatures."""
        self.armatures: dict[int, bpy.types.Object] = {}
        self._scenes: list[int] = []  # Shown in windows when the last armature was added.

    def add(self, armature: bpy.types.Object) -> None:
        """Have the dependencies of an armature declared before the next update."""
        self.armatures[armature.session_uid] = armature
        self._scenes = _shown_scenes()

    def declare(self, is_frame_change: bool) -> None:
        """Declare the dependencies of the armatures that were added.

        A window that switches to another scene changes its frame. Its depsgraph has just been
        rebuilt and isn't evaluated yet, and rebuilding it again crashes Blender 4.2. Declaring has
        to wait for the evaluation.
        """
        if is_frame_change and self._scenes != _shown_scenes():
            return
        changed, self.armatures = self.armatures.keys(), {}
        if changed:  # Some may have been removed.
            declare(_dependents([ob for ob in bpy.data.objects if ob.session_uid in changed]))


@notifications.structure
def note(block: bpy.types.ID) -> None:
    """Before the next update, declare the dependencies of an armature whose structure changed."""
    if isinstance(block, bpy.types.Object):
        part(PendingDeclarations).add(block)


def _shown_scenes() -> list[int]:
    manager = bpy.context.window_manager
    return [window.scene.session_uid for window in manager.windows] if manager else []


def uses_of(armature: bpy.types.Object) -> tuple[list[Source], list[bpy.types.Collection]]:
    """Return the objects and bones, and the collections, that an armature's settings use."""
    fabrik = settings(armature)
    ends: list[Source] = []
    blocks: list[bpy.types.Object | bpy.types.Collection] = []
    bones: list[Source] = []
    for item in fabrik.constraints:
        ends += _end(item, "target", "subtarget") + _end(item, "pole_target", "pole_subtarget")
        for group in _groups(type(item)):
            if item.is_property_set(group):
                blocks += _blocks(getattr(item, group))
    for name in LISTS:
        for item in getattr(fabrik, name):
            blocks += _blocks(item)
            for inner in _inner_lists(type(item)):
                bones += [end for entry in getattr(item, inner) for end in _end(entry)]
    used = dict.fromkeys(ends)
    for block in blocks:
        objects = [block] if isinstance(block, bpy.types.Object) else block.all_objects
        used |= dict.fromkeys((ob, "") for ob in objects)
    used |= dict.fromkeys(bones)
    # An armature doesn't need a dependency on itself.
    needed = [source for source in used if source[0] != armature]
    return needed, [block for block in blocks if isinstance(block, bpy.types.Collection)]


def _end(entry: Any, pointer: str = "object", bone: str = "bone") -> list[Source]:
    """Return the object and bone that settings name; empty without an object.

    Args:
        entry: The settings.
        pointer: The name of the object property.
        bone: The name of the bone property.
    """
    ob = pointed(entry, pointer)
    return [] if ob is None else [(ob, existing_bone(ob, getattr(entry, bone)))]


def _sources_by_armature(
    armatures: Iterable[bpy.types.Object], planned: Uses
) -> dict[bpy.types.Object, Sequence[Source]]:
    """Return the sources of some armatures and, recursively, of the armatures among these."""
    by_armature: dict[bpy.types.Object, Sequence[Source]] = {}
    new = [*armatures]
    while new:
        armature = new.pop()
        if armature not in by_armature:
            uses = planned.get(armature)
            by_armature[armature] = uses = uses_of(armature)[0] if uses is None else uses
            new += [ob for ob, _ in uses if ob.type == "ARMATURE"]
    return by_armature


def _dependents(armatures: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Return some armatures, and all that depend on any of them."""
    using: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for ob in bpy.data.objects:
        if ob.type == "ARMATURE" and (ob.library is not None or dependency_driver.NAME in ob):
            for source, _ in uses_of(ob)[0]:
                using.setdefault(source, []).append(ob)
    return walk_dependencies(armatures, lambda ob: using.get(ob, ()))


def _blocks(group: bpy.types.PropertyGroup) -> list[bpy.types.Object | bpy.types.Collection]:
    return [block for name in _pointers(type(group)) if (block := pointed(group, name))]


@cache
def _groups(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return a class's nested property groups that have pointers to objects or collections."""
    base = bpy.types.PropertyGroup.bl_rna
    pointers = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "POINTER"]
    groups = [prop for prop in pointers if prop.fixed_type.base == base]
    return [prop.identifier for prop in groups if _pointers_in(prop.fixed_type)]


@cache
def _inner_lists(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return the lists of a property group whose items name an object and one of its bones."""
    lists = [prop for prop in cast(Any, kind).bl_rna.properties if prop.type == "COLLECTION"]
    return [prop.identifier for prop in lists if "object" in prop.fixed_type.properties]


@cache
def _pointers(kind: type[bpy.types.PropertyGroup]) -> list[str]:
    """Return a property group's pointers to objects or collections."""
    return _pointers_in(cast(Any, kind).bl_rna)


def _pointers_in(rna: Any) -> list[str]:
    pointers = [prop for prop in rna.properties if prop.type == "POINTER"]
    blocks = ("Object", "Collection")
    return [prop.identifier for prop in pointers if prop.fixed_type.identifier in blocks]
