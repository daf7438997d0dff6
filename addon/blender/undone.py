"""What undo and redo replace.

Blender compares the data-blocks of two steps, reads those again that differ, and keeps all others.
References to a kept data-block and to its parts stay valid, with all that was derived from it.
References to a replaced data-block become invalid, which is how it is recognized.
"""

from __future__ import annotations

from typing import Any

import bpy

from .access import is_there
from .updates import graphs_of, tagged_in

KINDS = ("objects", "armatures", "actions", "collections")
"""The collections of data-blocks that are compared."""


class BeforeUndo:
    """The session's data-blocks before undo or redo."""

    def __init__(self) -> None:
        """Start with none noted."""
        self._blocks: dict[int, bpy.types.ID] = {}
        self._tagged: set[str] = set()

    def note(self) -> None:
        """Note all data-blocks, and the tagged ones, which are yet to be updated.

        With several depsgraphs nothing is noted, as each may show something else.
        """
        graphs = graphs_of(*bpy.data.scenes)
        kinds = KINDS if len(graphs) == 1 else ()
        blocks = [block for kind in kinds for block in getattr(bpy.data, kind)]
        self._blocks = {block.session_uid: block for block in blocks}
        self._tagged = tagged_in(graphs)

    def replaced(self) -> set[int] | None:
        """Return the data-blocks replaced by undo or redo, or tagged, by session UID.

        An object counts as replaced if its armature data is. None if nothing was noted.
        """
        blocks, self._blocks = self._blocks, {}
        if not blocks:
            return None
        tagged = self._tagged
        replaced = {
            uid for uid, block in blocks.items() if not is_there(block) or block.name in tagged
        }
        if not replaced:
            return replaced
        armatures: list[Any] = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
        return replaced | {ob.session_uid for ob in armatures if ob.data.session_uid in replaced}
