"""Whole bodies of the samples: what solving adds to a frame."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import bpy

from samples.opening import FOLDER

from . import extension
from .effort import Effort
from .playing import play, warm_up
from .report import Goal, Section, Table, ms
from .scenes import OURS

BODIES = {"humanoid": 0.8, "hand": 1.0}
"""The samples with constraints that share bones, and how many milliseconds they may add."""

FK = "FK"
BLOCKS = 4

MEANING = """\
Milliseconds of one `Scene.frame_set` of samples in which several constraints share bones and \
joints have limits, with all of it and with the constraints disabled. “passes” are how often all \
frames were played, by turns."""

REST = "the solver takes about a third; the rest is reading, writing and evaluating again"


def run(effort: Effort) -> Section:
    """Measure each sample with its constraints, and without."""
    rows: list[list[str]] = []
    found: list[Goal] = []
    for name, most in list(BODIES.items())[: effort.of(None, 1)]:
        times = _measured(name, effort)
        with_ours, without = (median(times[variant]) for variant in (OURS, FK))
        added = with_ours - without
        rows.append([name, ms(with_ours), ms(without), ms(added), f"{effort.of(BLOCKS, 1)}"])
        what = f"{name} (a sample): milliseconds that its constraints add to a frame"
        found.append(Goal(what, most, 1e3 * added, REST))
    headings = ("sample", "frame", "disabled", "added", "passes")
    return Section("Bodies", [Table(MEANING, headings, rows)], goals=found)


def _measured(name: str, effort: Effort) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {OURS: [], FK: []}
    with TemporaryDirectory() as folder:
        files = {variant: Path(folder, f"{variant}.blend") for variant in times}
        extension.turn(True)
        for variant, file in files.items():
            extension.open_file(FOLDER / f"{name}.blend")
            if variant == FK:
                for ob in bpy.data.objects:
                    for item in getattr(ob, "fabrik").constraints:  # noqa: B009 - no stub has it
                        item.enabled = False
            extension.save_file(file)
        for _ in range(effort.of(BLOCKS, 1)):
            for variant, file in files.items():
                scene = extension.open_file(file)
                frames = range(scene.frame_start, effort.of(scene.frame_end, 4) + 1)
                warm_up(scene, scene.frame_start)
                times[variant] += play(scene, frames)
    return times
