"""The cost of the extension when it has nothing to do."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import bpy

from . import extension
from .effort import Effort
from .playing import play, split, warm_up
from .report import Goal, Section, Table, percentile, us
from .scenes import FLOOR, FRAMES, OURS, Rig, link, save_variants

Work = Callable[[], list[float]]

UPDATES = """\
Microseconds of an update that affects no rig: an Empty that nothing depends on is moved, in a \
file whose armature has 100 chains of 3 bones, with a constraint of ours on none or on each. “our \
handlers” is the time spent in our handler functions. The whole update is measured alternately \
with the extension's handlers registered and removed."""

PLAYBACK = """\
Microseconds of one `Scene.frame_set` in files without any of our constraints, in which the \
targets move, alternately with the extension's handlers and without."""


BUSY = "the machine was busy or its clock slow: compare the time of the whole update"


def run(effort: Effort) -> Section:
    """Measure updates and playback."""
    updates: list[list[str]] = []
    found: list[Goal] = []
    playback: list[list[str]] = []
    rig = Rig(effort.of(100, 3), 3, keyed=False)
    with _files(rig) as folder:
        for name, count in ((FLOOR, 0), (OURS, rig.chains)):
            _open(folder, name)
            figures = _update(effort)
            updates.append([f"{count} constraints", *map(us, figures)])
            what = f"Microseconds of our handlers in an update of no rig, {count} constraints"
            found.append(Goal(what, 30.0 if count else 3.0, 1e6 * figures[0], BUSY))
    for rig in effort.of((Rig(1, 10), Rig(8, 3), Rig(100, 3)), (Rig(1, 10),)):
        with _files(rig) as folder:
            _open(folder, FLOOR)
            playback.append([rig.name, *map(us, _playback(effort))])
    return Section(
        "Idle",
        [
            Table(
                UPDATES,
                ("file", "our handlers", "p95", "whole update with", "without", "difference"),
                updates,
            ),
            Table(PLAYBACK, ("chains × bones", "with", "without", "difference"), playback),
        ],
        goals=found,
    )


@contextmanager
def _files(rig: Rig) -> Iterator[Path]:
    with TemporaryDirectory() as name:
        save_variants(rig, Path(name))
        yield Path(name)


def _open(folder: Path, name: str) -> None:
    """Open a file with the extension on."""
    extension.turn(True)
    extension.open_file(folder / f"{name}.blend")
    bpy.context.view_layer.update()


def _update(effort: Effort) -> list[float]:
    bystander = link(bpy.data.objects.new("Bystander", None))
    layer = bpy.context.view_layer
    rounds, count = effort.of((100, 20), (1, 5))

    def updates() -> list[float]:
        found: list[float] = []
        for i in range(count):
            bystander.location.x = i % 2
            start = perf_counter()
            layer.update()
            found.append(perf_counter() - start)
        return found

    updates()
    own: list[float] = []
    for _ in range(rounds):
        own += inside_our_handlers(updates)
    return [median(own), percentile(own, 0.95), *_with_and_without([updates] * rounds)]


def inside_our_handlers(updates: Work) -> list[float]:
    """Return the total time of our handlers in each update."""
    with extension.clocked() as clock:
        count = len(updates())
    spent = clock.handlers
    calls = len(spent) // count
    return [sum(spent[i * calls : (i + 1) * calls]) for i in range(count)]


def _playback(effort: Effort) -> list[float]:
    scene = bpy.context.scene

    def block(frames: range) -> Work:
        return lambda: play(scene, frames)

    warm_up(scene, 1)

    return _with_and_without(
        [block(frames) for frames in effort.of(split(FRAMES, 5), [range(1, 4)])]
    )


def _with_and_without(works: list[Work]) -> list[float]:
    """Return the medians with our handlers and without, and the difference, in seconds."""
    found: dict[bool, list[float]] = {True: [], False: []}
    gc.collect()
    for number, work in enumerate(works):
        for present in (True, False) if number % 2 == 0 else (False, True):
            if present:
                found[True] += work()
            else:
                with extension.handlers_replaced(lambda _handler: None):
                    found[False] += work()
    with_them, without = (median(found[present]) for present in (True, False))
    return [with_them, without, with_them - without]
