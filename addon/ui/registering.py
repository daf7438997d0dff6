"""Registers the classes of a feature's module, and its entries in shared lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy

from ..settings.definitions import register_class
from .refusing import end_running

Entry = tuple[list[Any], Any]
"""A shared list and an entry to append."""


def registering(
    classes: Sequence[type[Any]],
    *entries: Entry,
    running: Sequence[type[Any]] = (),
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a module's functions `register` and `unregister`.

    Args:
        classes: Blender classes, each after those that it needs.
        entries: Entries to append to shared lists.
        running: Classes of modal operators, which are cancelled before they are unregistered.
    """

    def register() -> None:
        for cls in classes:
            register_class(cls)
        for shared, entry in entries:
            shared.append(entry)

    def unregister() -> None:
        for shared, entry in reversed(entries):
            shared.remove(entry)
        for cls in running:
            end_running(cls)
        for cls in reversed(classes):
            bpy.utils.unregister_class(cls)

    return register, unregister
