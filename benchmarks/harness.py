"""The basis of all measurements: effort, the machine, files, and the extension on and off."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar

import bpy

import addon
from fabrik_solver import COMPILED
from samples.opening import quiet

# How thoroughly to measure.


T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """Whether to measure in full, or just enough to test the benchmark itself.

    Attributes:
        quick: Whether to measure little; the figures then mean nothing.
    """

    quick: bool = False

    def of(self, full: T, quick: T) -> T:
        """Return the amount for a full or a quick run."""
        return quick if self.quick else full


# The machine on which the figures were measured.


def about() -> str:
    """Return machine, versions and date in one sentence, without identifying the computer."""
    mode = "compiled" if COMPILED else "interpreted"
    return (
        f"Measured on {date.today().isoformat()} with Blender {bpy.app.version_string}, Python "
        f"{platform.python_version()}, on {_processor()}, {os.cpu_count()} cores, "
        f"{platform.system()}; solver and motions ran {mode}."
    )


def load() -> str:
    """Return a warning if the machine is busy, or an empty string."""
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):
        return ""
    if busy < 0.5:
        return ""
    return (
        f"The machine is busy (load {busy:.1f}): Blender, which uses all cores, suffers more from "
        "that than the extension, which uses one, so the ratios flatter us."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# Switching the extension and its handlers on and off, and opening files.


Handlers = dict[str, list[Callable[..., None]]]


def enable(on: bool) -> None:
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


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that is deleted afterwards."""
    with TemporaryDirectory() as name:
        yield Path(name)


def _lists() -> dict[str, Any]:
    named = {name: getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)}
    return {name: handlers for name, handlers in named.items() if isinstance(handlers, list)}


def _is_ours(handler: Callable[..., None]) -> bool:
    return handler.__module__.partition(".")[0] == addon.__name__


@contextmanager
def handlers_replaced(
    by: Callable[[Callable[..., None]], Callable[..., None] | None],
) -> Iterator[None]:
    """Replace our handlers within a context; None removes a handler.

    The rest of the extension stays, so that the same file can be timed with and without handlers.
    """
    originals = {name: list(handlers) for name, handlers in _lists().items()}
    try:
        for handlers in _lists().values():
            replaced = [by(handler) if _is_ours(handler) else handler for handler in handlers]
            handlers[:] = [handler for handler in replaced if handler is not None]
        yield
    finally:
        for name, handlers in _lists().items():
            handlers[:] = originals[name]


@dataclass
class Clock:
    """The seconds of each call.

    Attributes:
        handlers: Of our update handlers, including the evaluations that they cause.
        evaluations: Of those evaluations.
    """

    handlers: list[float] = field(default_factory=list)
    evaluations: list[float] = field(default_factory=list)

    def take(self) -> tuple[float, float]:
        """Return the sums since the last call, of handlers and of evaluations."""
        sums = sum(self.handlers), sum(self.evaluations)
        self.handlers.clear()
        self.evaluations.clear()
        return sums


@contextmanager
def clocked() -> Iterator[Clock]:
    """Time our update handlers within a context.

    The functions that they call are replaced, not the handlers: some of their work depends on being
    last in Blender's lists.
    """
    from addon.frame import handlers, update

    clock = Clock()
    parts = (
        (handlers, "_before", clock.handlers),
        (handlers, "_restore", clock.handlers),
        (handlers, "_update", clock.handlers),
        (update, "_update_quietly", clock.evaluations),
    )
    originals = [getattr(module, name) for module, name, _ in parts]
    for (module, name, spent), call in zip(parts, originals, strict=True):
        setattr(module, name, _timed(call, spent))
    try:
        yield clock
    finally:
        for (module, name, _), call in zip(parts, originals, strict=True):
            setattr(module, name, call)


def _timed(call: Callable[..., None], spent: list[float]) -> Callable[..., None]:
    def timed(*arguments: Any, **named: Any) -> None:
        start = perf_counter()
        call(*arguments, **named)
        spent.append(perf_counter() - start)

    return timed
