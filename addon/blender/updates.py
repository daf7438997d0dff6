"""The changes of an update, read from `Depsgraph.updates`."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import cached_property
from itertools import compress, islice
from typing import Any, Final, NamedTuple, cast

import bpy
from bpy.types import Armature, Object  # Looking them up for each block would take longer.

from .access import session_uid

COLLECTIONS: Final[dict[str, str]] = {
    cast(Any, prop).fixed_type.identifier: prop.identifier
    for prop in bpy.types.BlendData.bl_rna.properties
    if prop.type == "COLLECTION"
}
"""The collection in `bpy.data` of each type of data-block."""

FLAGS: Final = ("is_updated_geometry", "is_updated_transform", "is_updated_shading")
"""The flags of an update."""


class Updates:
    """The data-blocks that a depsgraph has updated.

    They are all read on first use, because tags extend the list and an evaluation clears it. The
    instance stores references to them, so it must not outlive the update.

    Attributes:
        depsgraph: The depsgraph.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph, has_removed: bool = False) -> None:
        """Read nothing yet.

        Args:
            depsgraph: The depsgraph.
            has_removed: Whether data-blocks may have been removed since the evaluation. Their
                copies are left out, because Blender crashes when asked for their originals.
        """
        self.depsgraph = depsgraph
        self._has_removed = has_removed

    @cached_property
    def _rows(self) -> tuple[list[bpy.types.ID], list[bool], list[bool], list[bool]]:
        updates: Any = self.depsgraph.updates
        columns = [[False] * len(updates) for _ in FLAGS]
        for name, column in zip(FLAGS, columns, strict=True):
            updates.foreach_get(name, column)
        if self._has_removed:
            blocks = [present(update.id) for update in updates]
            columns = [[*compress(column, blocks)] for column in columns]
            originals = [*filter(None, blocks)]
        else:
            originals = [update.id.original for update in updates]
        geometry, transform, shading = columns
        return originals, geometry, transform, shading

    def are_more_than(self, count: int) -> bool:
        """Return whether more than ``count`` data-blocks are updated, without reading them."""
        return next(islice(self.depsgraph.updates, count, None), None) is not None

    @cached_property
    def blocks(self) -> list[bpy.types.ID]:
        """The originals of the data-blocks."""
        return self._rows[0]

    @property
    def geometry(self) -> list[bool]:
        """Whether each data-block's geometry was updated, as when an armature is posed."""
        return self._rows[1]

    @property
    def transform(self) -> list[bool]:
        """Whether each data-block's transform was updated."""
        return self._rows[2]

    @property
    def shading(self) -> list[bool]:
        """Whether each data-block's shading was updated."""
        return self._rows[3]


def is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender doesn't flush this depsgraph's animation to the original data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph


def present(copy: bpy.types.ID) -> bpy.types.ID | None:
    """Return the original of an evaluated copy; None if removed or inside another data-block."""
    path = copy.library.filepath if copy.library else None
    kinds = [kind.__name__ for kind in type(copy).__mro__ if kind.__name__ in COLLECTIONS]
    blocks: Any = getattr(bpy.data, COLLECTIONS[kinds[0]]) if kinds else {}
    return blocks.get((copy.name, path))


def has_new_relations(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender has rebuilt relations.

    Blender then flags the scene, as after a selection, and the shading of all objects, unlike after
    a selection.
    """
    if not depsgraph.id_type_updated("SCENE"):
        return False
    updates: Any = depsgraph.updates
    shading = [False] * len(updates)
    updates.foreach_get("is_updated_shading", shading)
    return any(shading)


def changed_in(updates: Updates, is_rebuilt: bool) -> set[int]:
    """Return the `session_uid`s of the data-blocks that an update has changed.

    This excludes data-blocks that are listed only for their shading after new relations. It also
    excludes armatures whose bones were only selected or renamed: their data is listed without a
    flag.

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
    # Other changes may affect these as well, through Blender's drivers and constraints.
    return changed | {session_uid(ob) for ob in clicked} if changed else changed


class Armatures(NamedTuple):
    """The armatures in an update.

    Attributes:
        changed: The armature data flagged as changed, by Edit Mode or by posing.
        clicked: Other listed armature data, whose bones were selected or renamed.
        moved: The `session_uid`s of objects tagged as moved. Blender tags them when a bone
            constraint is edited or a pose is written ahead, but not when a bone is posed.
    """

    changed: set[Armature]
    clicked: set[Armature]
    moved: set[int]


def armatures_in(updates: Updates, tagged_moved: Set[str] | None) -> Armatures:
    """Return the armatures in an update.

    Args:
        updates: The update.
        tagged_moved: The names of the objects that were tagged as moved; None if they are unknown.
    """
    armatures = Armatures(set(), set(), set())
    flags = zip(updates.geometry, updates.transform, strict=True)
    for block, (geometry, transform) in zip(updates.blocks, flags, strict=True):
        if isinstance(block, Armature):
            (armatures.changed if geometry else armatures.clicked).add(block)
        elif not (transform and isinstance(block, Object)):
            continue
        elif tagged_moved is None or block.name in tagged_moved:
            armatures.moved.add(block.session_uid)
    return armatures


def geometry_in(updates: Updates) -> set[int]:
    """Return the `session_uid`s of data-blocks with updated geometry, including posed armatures."""
    if not any(updates.geometry):
        return set()
    pairs = zip(updates.blocks, updates.geometry, strict=True)
    return {block.session_uid for block, is_changed in pairs if is_changed}


def graphs_of(*scenes: bpy.types.Scene) -> list[bpy.types.Depsgraph]:
    """Return the depsgraphs of the view layers of scenes."""
    graphs = [layer.depsgraph for scene in scenes for layer in scene.view_layers]
    return [graph for graph in graphs if graph]


def tagged_in(graphs: Iterable[bpy.types.Depsgraph]) -> set[str]:
    """Return the names of the data-blocks that are tagged for the next evaluation.

    Only names are safe to read. Removed data-blocks are still listed, and accessing the original of
    such a copy crashes Blender.
    """
    untyped: Iterable[Any] = graphs  # Called at each frame.
    return {update.id.name for graph in untyped for update in graph.updates}


def moved_in(graphs: Iterable[bpy.types.Depsgraph]) -> set[str]:
    """Return the names of the objects that are tagged as moved (see `Armatures.moved`)."""
    return {
        update.id.name
        for graph in graphs
        for update in graph.updates
        if update.is_updated_transform and isinstance(update.id, Object)
    }


def tag_animation(depsgraph: bpy.types.Depsgraph) -> None:
    """Make the next update evaluate all F-curves, as on a frame change."""
    for block in depsgraph.ids:
        data = getattr(block, "animation_data", None)
        if data is not None and (data.action or data.nla_tracks):
            cast("bpy.types.ID", block.original).update_tag(refresh={"TIME"})
