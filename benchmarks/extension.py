"""Switching the extension and its handlers on and off, and opening files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
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


@dataclass
class Clock:
    """Seconds of each call.

    Attributes:
        handlers: Of our update handlers, evaluations that they cause included.
        evaluations: Of those evaluations.
    """

    handlers: list[float] = field(default_factory=list)
    evaluations: list[float] = field(default_factory=list)

    def take(self) -> tuple[float, float]:
        """Return both sums since the last time, of handlers and of evaluations."""
        sums = sum(self.handlers), sum(self.evaluations)
        self.handlers.clear()
        self.evaluations.clear()
        return sums


@contextmanager
def clocked() -> Iterator[Clock]:
    """Time our update handlers within a context.

    What they call is replaced, and not the handlers: some of their work depends on being the last
    ones in Blender's lists.
    """
    from addon.frame import handlers, update

    clock = Clock()
    parts = (
        (handlers, "_before", clock.handlers),
        (handlers, "_restore", clock.handlers),
        (handlers, "_update", clock.handlers),
        (update, "_update_quietly", clock.evaluations),
    )
    kept = [getattr(module, name) for module, name, _ in parts]
    for (module, name, spent), call in zip(parts, kept, strict=True):
        setattr(module, name, _timed(call, spent))
    try:
        yield clock
    finally:
        for (module, name, _), call in zip(parts, kept, strict=True):
            setattr(module, name, call)


def _timed(call: Callable[..., None], spent: list[float]) -> Callable[..., None]:
    def timed(*arguments: Any, **named: Any) -> None:
        start = perf_counter()
        call(*arguments, **named)
        spent.append(perf_counter() - start)

    return timed
