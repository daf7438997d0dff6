"""One armature among thousands of moving objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import bpy

from .effort import Effort
from .idle import inside_our_handlers
from .playing import play, warm_up
from .report import Goal, Section, Table, ms
from .scenes import FRAMES, OURS, Rig, armature, link, opened, save_variants

OBJECTS = 5_000
RIG = Rig(1, 3)
FRAMES_TIMED = 60
SIDE = 70
"""The objects in a row."""

MEANING = """\
Milliseconds of one `Scene.frame_set` of one chain of 3 bones among {count} other objects that an \
action moves, and the part of it that is spent in our handlers, evaluations that they cause \
included. “still” moves only the target of the chain besides, “animated” the armature object as \
well."""

COLD = (
    "our own time, with code and data that Blender's work on all objects has driven out of caches"
)


def run(effort: Effort) -> Section:
    """Measure with the armature at rest, and animated."""
    count = effort.of(OBJECTS, 20)
    rows: list[list[str]] = []
    found: list[Goal] = []
    for name in ("still", "animated"):
        whole, own = _measured(partial(_crowd, count, name == "animated"), effort)
        rows.append([name, ms(whole), ms(own)])
        what = f"One armature, {name}, among {count:,} moving objects: milliseconds in our handlers"
        found.append(Goal(what, 1.0, 1e3 * own, COLD))
    headings = ("armature", "frame", "our handlers")
    return Section(
        "Crowd", [Table(MEANING.format(count=f"{count:,}"), headings, rows)], goals=found
    )


def _crowd(count: int, is_animated: bool) -> None:
    """Add moving objects, and keys of the armature object."""
    first = link(bpy.data.objects.new("Bystander", None))
    _move(first)
    for i in range(1, count):
        other: Any = first.copy()
        link(other).location = (i % SIDE, i // SIDE, 0.0)
    if is_animated:
        _move(armature())


def _move(ob: bpy.types.Object) -> None:
    for frame, z in ((1, 0.0), (FRAMES, 1.0)):
        ob.location.z = z
        ob.keyframe_insert("location", index=2, frame=frame)


def _measured(more: Callable[[], None], effort: Effort) -> tuple[float, float]:
    """Return the medians of a frame and of the time in our handlers, in seconds."""
    with TemporaryDirectory() as name:
        save_variants(RIG, Path(name), more)
        with opened(Path(name), OURS) as scene:
            frames = range(1, effort.of(FRAMES_TIMED, 3) + 1)
            warm_up(scene, 1)
            whole: list[float] = []

            def play_all() -> list[float]:
                whole.extend(play(scene, frames))
                return whole

            own = inside_our_handlers(play_all)
    return median(whole), median(own)
