"""What an update has changed, read from `Depsgraph.updates`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, cast

import bpy
from bpy.types import Armature, Object  # Looked up for each block they would take longer.

from .access import session_uid


class Updates:
    """The data-blocks that a depsgraph has updated.

    They are read at once, on first use, as tags add to the list and an evaluation clears it. It
    holds references to them, so it must not outlive the update.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Read nothing yet."""
        self._depsgraph = depsgraph

    @cached_property
    def _rows(self) -> tuple[list[bpy.types.ID], list[bool], list[bool], list[bool]]:
        updates: Any = self._depsgraph.updates
        return (
            [update.id.original for update in updates],
            _column(self._depsgraph, "is_updated_geometry"),
            _column(self._depsgraph, "is_updated_transform"),
            _column(self._depsgraph, "is_updated_shading"),
        )

    def are_more_than(self, count: int) -> bool:
        """Return whether there are more, without reading them or walking further."""
        return next(islice(self._depsgraph.updates, count, None), None) is not None

    @property
    def blocks(self) -> list[bpy.types.ID]:
        """The originals of the data-blocks."""
        return self._rows[0]

    @property
    def geometry(self) -> list[bool]:
        """Whether their geometry was updated, as that of posed armatures."""
        return self._rows[1]

    @property
    def transform(self) -> list[bool]:
        """Whether their transform was updated."""
        return self._rows[2]

    @property
    def shading(self) -> list[bool]:
        """Whether their shading was updated."""
        return self._rows[3]

    @property
    def has_armatures(self) -> bool:
        """Whether any is the data of an armature."""
        return self._depsgraph.id_type_updated("ARMATURE")


def has_new_relations(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender has rebuilt relations.

    It then flags the scene, as after a selection, and the shading of all objects, unlike after a
    selection.
    """
    return depsgraph.id_type_updated("SCENE") and any(_column(depsgraph, "is_updated_shading"))


def changed_in(updates: Updates, is_rebuilt: bool) -> set[int]:
    """Return the `session_uid`s of the data-blocks that an update has changed.

    Excluded are data-blocks that are only listed for their shading after new relations, and
    armatures whose bones were only selected or renamed: their data is listed without a flag.

    Args:
        updates: The update.
        is_rebuilt: Whether Blender has rebuilt relations.
    """
    posed: list[Object] = []
    changed: set[int] = set()
    unchanged: set[int] = set()
    flags = zip(updates.geometry, updates.transform, updates.shading, strict=True)
    for block, (geometry, transform, shading) in zip(updates.blocks, flags, strict=True):
        if geometry and not (transform or shading) and isinstance(block, Object):
            posed.append(block)
        elif geometry or transform or (shading and not is_rebuilt):
            changed.add(block.session_uid)
        elif not shading:
            unchanged.add(block.session_uid)
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

    changed: list[Armature]
    clicked: list[Armature]
    moved: set[int]


NO_ARMATURES = Armatures([], [], set())


def armatures_in(updates: Updates) -> Armatures:
    """Return the armatures in an update."""
    armatures = Armatures([], [], set())
    if updates.has_armatures:
        flags = zip(updates.geometry, updates.transform, strict=True)
        for block, (geometry, transform) in zip(updates.blocks, flags, strict=True):
            if isinstance(block, Armature):
                (armatures.changed if geometry else armatures.clicked).append(block)
            elif transform and isinstance(block, Object):
                armatures.moved.add(block.session_uid)
    return armatures


def geometry_in(updates: Updates) -> set[int]:
    """Return the `session_uid`s of the data-blocks with updated geometry, as of posed armatures."""
    if not any(updates.geometry):
        return set()
    pairs = zip(updates.blocks, updates.geometry, strict=True)
    return {block.session_uid for block, is_changed in pairs if is_changed}


def _column(depsgraph: bpy.types.Depsgraph, name: str) -> list[bool]:
    """Return a flag of all updates."""
    updates = depsgraph.updates
    flags = [False] * len(updates)
    updates.foreach_get(name, flags)
    return flags


def graphs_of(*scenes: bpy.types.Scene) -> list[bpy.types.Depsgraph]:
    """Return the depsgraphs of the view layers of scenes."""
    graphs = [layer.depsgraph for scene in scenes for layer in scene.view_layers]
    return [graph for graph in graphs if graph]


def tagged_in(graphs: Iterable[bpy.types.Depsgraph]) -> set[str]:
    """Return the names of the data-blocks that are tagged for the next evaluation.

    Only names are safe to read: removed data-blocks are still listed, and accessing the original of
    such a copy crashes Blender.
    """
    return {cast("bpy.types.ID", update.id).name for graph in graphs for update in graph.updates}


def tag_animation(depsgraph: bpy.types.Depsgraph) -> None:
    """Have the next update play the animation of all data-blocks, as a change of the frame does."""
    for block in depsgraph.ids:
        if getattr(block, "animation_data", None) is not None:
            cast("bpy.types.ID", block.original).update_tag(refresh={"TIME"})
