"""Lists of callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

Parameters = ParamSpec("Parameters")


class Listeners(Generic[Parameters]):
    """Callbacks with the same parameters. Use the instance as a decorator to add a callback."""

    def __init__(self) -> None:
        """Start without callbacks."""
        self._listeners: list[Callable[Parameters, None]] = []

    def __call__(self, listener: Callable[Parameters, None]) -> Callable[Parameters, None]:
        """Add a callback, and return it."""
        self._listeners.append(listener)
        return listener

    def notify(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        """Call all callbacks in the order in which they were added."""
        for listener in self._listeners:
            listener(*args, **kwargs)


on_invalidate = Listeners[[]]()
"""Called before and after loading a file, after undo and redo, and on unregister.

All references to Blender's data are invalid then. Each cache of the file's data registers a
function that clears it.
"""

on_load = Listeners[[]]()
"""Called after loading a file, once all caches are cleared and before anything is evaluated.

For listeners that must distinguish a new file, used as it was saved, from undo and redo.
"""
