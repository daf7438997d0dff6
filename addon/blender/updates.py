"""What an update has changed, read from `Depsgraph.updates`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import NamedTuple, cast

import bpy

from .access import session_uid

FLAGS = ("is_updated_geometry", "is_updated_transform", "is_updated_shading")


def has_new_relations(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender has rebuilt relations.

    It then flags the scene, as after a selection, and the shading of all objects, unlike after a
    selection.
    """
    return depsgraph.id_type_updated("SCENE") and any(_column(depsgraph, "is_updated_shading"))


def changed_in(depsgraph: bpy.types.Depsgraph, is_rebuilt: bool) -> set[int]:
    """Return the `session_uid`s of the data-blocks that an update has changed.

    Excluded are data-blocks that are only listed for their shading after new relations, and
    armatures whose bones were only selected or renamed: their data is listed without a flag.

    Args:
        depsgraph: The updated depsgraph.
        is_rebuilt: Whether Blender has rebuilt relations.
    """
    posed: list[bpy.types.Object] = []
    changed, unchanged = set[int](), set[int]()
    columns = [_column(depsgraph, name) for name in FLAGS]
    for update, geometry, transform, shading in zip(depsgraph.updates, *columns, strict=True):
        block = cast(bpy.types.ID, update.id)
        if geometry and not (transform or shading) and isinstance(block, bpy.types.Object):
            posed.append(block)
        elif geometry or transform or (shading and not is_rebuilt):
            changed.add(session_uid(block))
        elif not shading:
            unchanged.add(session_uid(block))
    clicked = {ob for ob in posed if ob.type == "ARMATURE" and session_uid(ob.data) in unchanged}
    changed |= {session_uid(ob) for ob in posed if ob not in clicked}
    # Through Blender's drivers and constraints, other changes may affect these as well.
    return changed | {session_uid(ob) for ob in clicked} if changed else changed


class Armatures(NamedTuple):
    """The armatures in an update.

    Attributes:
        changed: The armature data flagged as changed, by Edit Mode or by posing.
        clicked: Other listed armature data: bones were selected or renamed.
        moved: The `session_uid`s of objects flagged as moved, as they are when a bone constraint is
            edited, but not when a bone is posed.
    """

    changed: list[bpy.types.Armature]
    clicked: list[bpy.types.Armature]
    moved: set[int]


NO_ARMATURES = Armatures([], [], set())


def armatures_in(depsgraph: bpy.types.Depsgraph) -> Armatures:
    """Return the armatures in an update."""
    found = Armatures([], [], set())
    if depsgraph.id_type_updated("ARMATURE"):
        for update in depsgraph.updates:
            block = cast(bpy.types.ID, update.id).original
            if isinstance(block, bpy.types.Armature):
                (found.changed if update.is_updated_geometry else found.clicked).append(block)
            elif isinstance(block, bpy.types.Object) and update.is_updated_transform:
                found.moved.add(session_uid(block))
    return found


def geometry_in(depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the `session_uid`s of the data-blocks with updated geometry, as of posed armatures."""
    changed = _column(depsgraph, "is_updated_geometry")
    if not any(changed):
        return set()
    return {session_uid(update.id) for update in compress(depsgraph.updates, changed)}


def _column(depsgraph: bpy.types.Depsgraph, name: str) -> list[bool]:
    """Return a flag of all updates."""
    updates = depsgraph.updates
    flags = [False] * len(updates)
    updates.foreach_get(name, flags)
    return flags


def graphs_of(*scenes: bpy.types.Scene) -> list[bpy.types.Depsgraph]:
    """Return the depsgraphs of the view layers of scenes."""
    layers = [layer for scene in scenes for layer in scene.view_layers]
    return [graph for graph in (layer.depsgraph for layer in layers) if graph]


def tagged_in(graphs: Iterable[bpy.types.Depsgraph]) -> set[str]:
    """Return the names of the data-blocks that are tagged for the next evaluation.

    Only names are safe to read: removed data-blocks are still listed, and accessing the original of
    such a copy crashes Blender.
    """
    return {cast(bpy.types.ID, update.id).name for graph in graphs for update in graph.updates}
