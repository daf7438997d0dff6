"""Which evaluated meshes are still what they were, as far as Blender lists what it evaluates."""

from __future__ import annotations

import bpy

from .updates import Updates, geometry_in

MOST_WALKED = 500
"""The number of updates from which on walking them takes longer than reading meshes again."""


class Meshes:
    """The session's evaluated meshes that something was made of.

    Attributes:
        is_asked: Whether any was asked for.
        tokens: By the session UID of an object, what stands for its evaluated mesh until that
            changes; None while changes may go unnoticed.
    """

    def __init__(self) -> None:
        """Start without any."""
        self.is_asked = False
        self.tokens: dict[int, object] | None = None
        self._evaluated_in = 0  # The address of the depsgraph that was evaluated last.

    def token_of(self, ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> object | None:
        """Return what stands for the evaluated mesh of an object; None if changes go unnoticed.

        As long as it is the same, the mesh is, bit for bit, in the object's space.
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
            updates: What it has updated.
            is_played: Whether nothing was edited, and no other extension was called.
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
        """Forget the meshes among some updates whose geometry has changed."""
        if self.tokens and updates.are_more_than(MOST_WALKED):
            self.tokens.clear()
        elif self.tokens:
            for uid in self.tokens.keys() & geometry_in(updates):
                del self.tokens[uid]
