"""The session: all that is remembered of the open file between updates.

Another file, undo and redo make references to Blender's data invalid. A new session begins then, so
that nothing has to be forgotten piece by piece.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .listeners import on_invalidate

Part = TypeVar("Part")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

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


def uncollected(fill: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Have Python's garbage collector wait for a function that fills the session.

    What that makes is all kept. The collector would look through it again and again, and through
    all other objects of Blender's Python with it, which takes a fifth of the time.
    """

    @wraps(fill)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return fill(*args, **kwargs)
        finally:
            if was_enabled:
                gc.enable()

    return call
