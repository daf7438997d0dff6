"""The session: everything that is remembered about the open file between updates.

Loading a file, undo and redo invalidate references to Blender's data. A new session begins then, so
that nothing must be cleared piece by piece.
"""

from __future__ import annotations

from typing import Any, TypeVar

from .listeners import on_invalidate

Part = TypeVar("Part")

_parts: dict[type, Any] = {}
"""The parts of the current session, by class."""


def part(kind: type[Part]) -> Part:
    """Return the session's instance of a class, created without arguments on first use."""
    instance = _parts.get(kind)
    if instance is None:
        instance = _parts[kind] = kind()
    return instance


@on_invalidate
def renew() -> None:
    """Begin a new session: after loading a file, undo and redo, and on unregister."""
    _parts.clear()
