"""Switching the extension and its handlers on and off, and opening files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

import addon
from samples.opening import quiet

Handlers = dict[str, list[Callable[..., None]]]


def turn(on: bool) -> None:
    """Register or unregister the extension, if needed."""
    if hasattr(bpy.types.Object, "fabrik") == on:
        return
    if on:
        addon.register()
    else:
        addon.unregister()


def new_file() -> bpy.types.Scene:
    """Start from an empty file with factory settings."""
    with quiet():
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return bpy.context.scene


def open_file(path: Path) -> bpy.types.Scene:
    """Open a file and return its scene."""
    with quiet():
        bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.context.scene


def save_file(path: Path) -> None:
    """Save the open file."""
    with quiet():
        bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def _lists() -> dict[str, Any]:
    named = {name: getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)}
    return {name: found for name, found in named.items() if isinstance(found, list)}


def _is_ours(handler: Callable[..., None]) -> bool:
    return handler.__module__.partition(".")[0] == addon.__name__


@contextmanager
def handlers_replaced(
    by: Callable[[Callable[..., None]], Callable[..., None] | None],
) -> Iterator[None]:
    """Replace our handlers within a context; None removes a handler.

    The rest of the extension stays, so that the same file can be timed with and without handlers.
    """
    kept = {name: list(found) for name, found in _lists().items()}
    try:
        for found in _lists().values():
            news = [by(one) if _is_ours(one) else one for one in found]
            found[:] = [one for one in news if one is not None]
        yield
    finally:
        for name, found in _lists().items():
            found[:] = kept[name]
