"""Crowds of walking creatures, and a walk of many frames."""

from __future__ import annotations

import gc
import sys
from math import ceil
from statistics import median
from time import perf_counter
from typing import Any

import bpy

from . import extension
from .effort import Effort
from .memory import resident_megabytes
from .playing import play
from .report import Goal, Section, Table, ms
from .scenes import armature, link
from .walking import build

LEGS = 8
CREATURES = 100
CROWD_FRAMES = 25
ROW = 10
"""The creatures side by side."""

FRAMES = 10_000
PART = 1_000

CROWD = """\
Creatures with {legs} walking legs each on the floor of the section “Walking”, {frames} frames. \
“simulate” is the simulation of all of them together; “frame” the median of one `Scene.frame_set` \
afterward. Both are in milliseconds, of a frame and of a frame for each creature."""

LONG = """\
One of them, {frames:,} frames: the same times, the median of a frame among the first and the \
last {part:,}, and megabytes of resident memory, before simulating, that simulating adds, and \
that playing all frames adds; memory is measured on Linux only."""

FLAT = 1.1


def run(effort: Effort) -> Section:
    """Measure a crowd, and a long walk."""
    frames, part = effort.of((FRAMES, PART), (20, 10))
    crowd_frames = effort.of(CROWD_FRAMES, 4)
    rows: list[list[str]] = []
    simulated, first, last, sizes = _long(frames, part)
    megabytes = [f"{size:.1f}" for size in sizes] or ["", "", ""]
    long_row = [f"{frames:,}", *map(ms, (simulated, first, last)), *megabytes]
    for count in (1, effort.of(CREATURES, 2)):
        simulated, played = _crowd(count, crowd_frames)
        cells = (simulated, simulated / count, played, played / count)
        rows.append([str(count), *map(ms, cells)])
    return Section(
        "Long shots",
        [
            Table(
                CROWD.format(legs=LEGS, frames=crowd_frames),
                ("creatures", "simulate", "for each", "frame", "for each"),
                rows,
            ),
            Table(
                LONG.format(frames=frames, part=part),
                ("frames", "simulate", "first", "last", "memory", "simulating", "playing"),
                [long_row],
            ),
        ],
        goals=[
            Goal(f"walk of {frames:,} frames: last {part:,} / first", FLAT, last / first),
        ],
    )


def _crowd(count: int, frames: int) -> tuple[float, float]:
    """Return the seconds that a frame takes to simulate, and afterward."""
    extension.turn(True)
    build(LEGS, max(frames, ceil(count / ROW) * 30))
    bpy.context.scene.frame_end = frames
    for number in range(1, count):
        _copy(number)
    rigs: list[Any] = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
    assert len(rigs) == count
    simulated = _simulate(rigs) / frames
    return simulated, median(play(bpy.context.scene, range(1, frames + 1)))


def _copy(number: int) -> None:
    """Add a creature like the first one, with targets of its own, at another place."""
    first: Any = armature()
    rig = link(first.copy())
    place = (0.2 * (number % ROW), -1.0 * (number // ROW), 0.0)
    rig.location = place
    for item in getattr(rig, "fabrik").constraints:  # noqa: B009 - no stub has it
        item.target = link(item.target.copy())
        for axis in range(3):
            item.target.location[axis] += place[axis]


def _simulate(rigs: list[Any]) -> float:
    """Simulate armatures together, and return the seconds."""
    from addon.features.simulation.simulate import simulate

    layer: Any = bpy.context.view_layer
    layer.update()
    work = simulate(bpy.context.scene, layer, rigs)
    start = perf_counter()
    while True:
        try:
            next(work)
        except StopIteration as finished:
            seconds, result = perf_counter() - start, finished.value
            break
    assert result.armatures == len(rigs) and not result.refused
    return seconds


def _long(frames: int, part: int) -> tuple[float, float, float, list[float]]:
    """Return seconds of a frame, simulated, first and last, and what memory that takes."""
    extension.turn(True)
    build(LEGS, frames)
    scene: Any = bpy.context.scene
    bpy.context.view_layer.objects.active = armature()
    sizes = [_size()]
    simulated = _simulate([armature()]) / frames
    sizes.append(_size())
    times = play(scene, range(1, frames + 1))
    sizes.append(_size())
    grown = [sizes[0], sizes[1] - sizes[0], sizes[2] - sizes[1]]
    has_sizes = sys.platform.startswith("linux")
    return (
        simulated,
        median(times[:part]),
        median(times[-part:]),
        grown if has_sizes else [],
    )


def _size() -> float:
    gc.collect()
    return resident_megabytes() if sys.platform.startswith("linux") else 0.0
