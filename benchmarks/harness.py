"""What every measurement needs: effort, the machine, files, and the extension on and off."""

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
    way = "compiled" if COMPILED else "interpreted"
    return (
        f"Measured on {date.today().isoformat()} with Blender {bpy.app.version_string}, Python "
        f"{platform.python_version()}, on {_processor()}, {os.cpu_count()} cores, "
        f"{platform.system()}; solver and motions ran {way}."
    )


def load() -> str:
    """Return a warning if the machine is busy otherwise, or an empty string."""
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
    """Give a folder that is deleted afterwards."""
    with TemporaryDirectory() as name:
        yield Path(name)


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
