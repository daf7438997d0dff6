"""Registering the classes of a feature's module, and its entries in shared lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy

from ..settings.definitions import register_class
from .refusing import end_running

Entry = tuple[list[Any], Any]
"""A shared list, and an entry to add to it."""


def registering(
    classes: Sequence[type[Any]],
    *entries: Entry,
    running: Sequence[type[Any]] = (),
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return `register` and `unregister` of a module.

    Args:
        classes: Blender's classes, each after those that it needs.
        entries: The entries to add to lists.
        running: The classes of modal operators, which are ended before they are unregistered.
    """

    def register() -> None:
        for cls in classes:
            register_class(cls)
        for shared, one in entries:
            shared.append(one)

    def unregister() -> None:
        for shared, one in reversed(entries):
            shared.remove(one)
        for cls in running:
            end_running(cls)
        for cls in reversed(classes):
            bpy.utils.unregister_class(cls)

    return register, unregister
