"""The session: everything that is remembered about the open file between updates.

Loading a file, undo and redo invalidate references to Blender's data. A new session then begins, so
nothing has to be cleared piece by piece.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from .listeners import on_invalidate

Part = TypeVar("Part")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

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


@contextmanager
def keeping(*kinds: type) -> Iterator[None]:
    """Keep the instances of some classes within the block, even if a new session begins."""
    instances = {kind: _parts[kind] for kind in kinds if kind in _parts}
    try:
        yield
    finally:
        _parts.update(instances)


def uncollected(fill: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Pause Python's garbage collector while a function fills the session.

    The session keeps everything that the function creates. The collector would scan it repeatedly,
    with all other objects of Blender's Python. Scanning takes a fifth of the time, and another
    tenth when the collector resumes.
    """

    @wraps(fill)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return fill(*args, **kwargs)
        finally:
            if was_enabled:
                _promote()
                gc.enable()

    return call


def _promote() -> None:
    """Move all young objects to the oldest generation, without scanning them.

    Does nothing if something else has frozen objects, which must stay frozen.
    """
    if not _are_others_frozen():
        gc.freeze()
        gc.unfreeze()


@cache
def _are_others_frozen() -> bool:
    """Return whether other code has frozen objects in the collector; checked once, on first use.

    Python counts frozen objects one by one, which takes 10 ms for a million.
    """
    return gc.get_freeze_count() > 0
