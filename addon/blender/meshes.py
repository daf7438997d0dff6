"""Change tracking of evaluated meshes, from Blender's lists of updates."""

from __future__ import annotations

import bpy

from .updates import Updates, geometry_in

MOST_WALKED = 500
"""The number of updates above which iterating over them is slower than reading meshes again."""


class Meshes:
    """The session's evaluated meshes from which something was computed.

    Attributes:
        is_asked: Whether a token was requested.
        tokens: The token of each evaluated mesh, by session UID of the object. A token is replaced
            when the mesh changes. None while changes may go unnoticed.
    """

    def __init__(self) -> None:
        """Start without meshes."""
        self.is_asked = False
        self.tokens: dict[int, object] | None = None
        self._evaluated_in = 0  # The address of the last evaluated depsgraph.

    def token_of(self, ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> object | None:
        """Return the token of an object's evaluated mesh; None if changes may go unnoticed.

        While the token stays the same, so does the mesh in object space, bit for bit.
        """
        self.is_asked = True
        if self.tokens is None or depsgraph.as_pointer() != self._evaluated_in:
            return None
        return self.tokens.setdefault(ob.session_uid, object())

    def note_evaluation(
        self, depsgraph: bpy.types.Depsgraph, updates: Updates, is_played: bool
    ) -> None:
        """Forget the meshes that an evaluation may have changed.

        Args:
            depsgraph: The depsgraph.
            updates: Its updates.
            is_played: Whether this is plain playback: nothing edited, no other extension called.
        """
        address = depsgraph.as_pointer()
        if not is_played:
            self.tokens = None
        elif self.tokens is None or address != self._evaluated_in:
            self.tokens = {}
        elif self.tokens:
            self.note_changes(updates)
        self._evaluated_in = address

    def note_changes(self, updates: Updates) -> None:
        """Forget the meshes whose geometry has changed in some updates."""
        if self.tokens and updates.are_more_than(MOST_WALKED):
            self.tokens.clear()
        elif self.tokens:
            for uid in self.tokens.keys() & geometry_in(updates):
                del self.tokens[uid]
