"""Registers the classes of a feature's module, and its entries in shared lists."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import bpy

from ..settings.definitions import register_class
from .refusing import end_running

Entry = tuple[list[Any], Any]
"""A shared list and an entry to append."""

Draw = tuple[Any, Callable[[], None], str]
"""A class of editors, a function that draws in their main regions, and when: ``'POST_VIEW'`` or
``'POST_PIXEL'``."""

handles: dict[str, list[tuple[Any, Any]]] = {}
"""Registered draw handlers, each with its class of editors, by module."""


def registering(
    module: str, *entries: Entry, draws: Sequence[Draw] = ()
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a module's functions `register` and `unregister`.

    They register all Blender classes defined in the module, in order, so that each can use the
    earlier ones. Running modal operators are cancelled before they are unregistered.

    Args:
        module: Its name.
        entries: Entries to append to shared lists.
        draws: Draw handlers to add.
    """

    def classes() -> list[Any]:
        struct: Any = bpy.types.bpy_struct
        return [
            cls
            for cls in vars(sys.modules[module]).values()
            if isinstance(cls, type) and issubclass(cls, struct) and cls.__module__ == module
        ]

    def register() -> None:
        for cls in classes():
            register_class(cls)
        for shared, entry in entries:
            shared.append(entry)
        for space, draw, when in draws:
            handle = space.draw_handler_add(draw, (), "WINDOW", when)
            handles.setdefault(module, []).append((space, handle))

    def unregister() -> None:
        for space, handle in handles.pop(module, ()):
            space.draw_handler_remove(handle, "WINDOW")
        for shared, entry in reversed(entries):
            shared.remove(entry)
        for cls in classes():
            end_running(cls)
        for cls in reversed(classes()):
            bpy.utils.unregister_class(cls)

    return register, unregister
