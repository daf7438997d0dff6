"""The session: all that is remembered of the open file between updates.

Another file, undo and redo make references to Blender's data invalid. A new session begins then, so
that nothing has to be forgotten piece by piece.
"""

from __future__ import annotations

from typing import Any, TypeVar

from .listeners import on_invalidate

Part = TypeVar("Part")

_parts: dict[type, Any] = {}
"""The parts of the present session, by their class."""


def part(kind: type[Part]) -> Part:
    """Return the session's part of a class, which is made without arguments when first needed."""
    found = _parts.get(kind)
    if found is None:
        found = _parts[kind] = kind()
    return found


@on_invalidate
def renew() -> None:
    """Begin a new session: after loading a file, undo and redo, and on unregister."""
    _parts.clear()
