"""Which evaluated meshes are still what they were, as far as Blender lists what it evaluates."""

from __future__ import annotations

import bpy

from .listeners import on_invalidate
from .updates import Updates, geometry_in

MOST_WALKED = 500
"""The number of updates from which on walking them takes longer than reading meshes again."""

_tokens: dict[int, object] | None = None
"""By the session UID of an object, what stands for its evaluated mesh until that changes.

None while changes may go unnoticed.
"""

_evaluated_in = 0
"""The address of the depsgraph that was evaluated last."""


def token_of(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> object | None:
    """Return what stands for the evaluated mesh of an object; None if changes may go unnoticed.

    As long as it is the same, the mesh is, bit for bit, in the object's space.
    """
    if _tokens is None or depsgraph.as_pointer() != _evaluated_in:
        return None
    return _tokens.setdefault(ob.session_uid, object())


def note_evaluation(depsgraph: bpy.types.Depsgraph, updates: Updates, is_played: bool) -> None:
    """Forget the meshes that an evaluation may have changed.

    Args:
        depsgraph: The depsgraph.
        updates: What it has updated.
        is_played: Whether nothing was edited, and no other extension was called.
    """
    global _evaluated_in, _tokens
    address = depsgraph.as_pointer()
    if not is_played:
        _tokens = None
    elif _tokens is None or address != _evaluated_in:
        _tokens = {}
    elif _tokens:
        note_changes(updates)
    _evaluated_in = address


def are_noted() -> bool:
    """Return whether any mesh is to be forgotten once it changes."""
    return bool(_tokens)


def note_changes(updates: Updates) -> None:
    """Forget the meshes among some updates whose geometry has changed."""
    if _tokens and updates.are_more_than(MOST_WALKED):
        _tokens.clear()
    elif _tokens:
        for uid in _tokens.keys() & geometry_in(updates):
            del _tokens[uid]


@on_invalidate
def forget() -> None:
    """Forget all meshes."""
    global _tokens
    _tokens = None
