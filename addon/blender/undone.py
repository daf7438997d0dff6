"""Finds the data-blocks that undo and redo replace.

Blender compares the data-blocks of two undo steps, reads the changed ones again, and keeps all
others. References to a kept data-block and its parts stay valid, and so does everything derived
from it. References to a replaced data-block become invalid, which is how this module recognizes it.
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
        """Start with nothing recorded."""
        self._blocks: dict[int, bpy.types.ID] = {}
        self._tagged: set[str] = set()

    def note(self) -> None:
        """Record all data-blocks, and those that are tagged for an update.

        With several depsgraphs nothing is recorded, because each may show something different.
        """
        graphs = graphs_of(*bpy.data.scenes)
        kinds = KINDS if len(graphs) == 1 else ()
        blocks = [block for kind in kinds for block in getattr(bpy.data, kind)]
        self._blocks = {block.session_uid: block for block in blocks}
        self._tagged = tagged_in(graphs)

    def replaced(self) -> set[int] | None:
        """Return the data-blocks replaced by undo or redo, or tagged, by session UID.

        An object counts as replaced if its armature data was. None if nothing was recorded.
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
