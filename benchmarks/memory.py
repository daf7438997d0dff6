"""Growth of memory during playback."""

from __future__ import annotations

import gc
import os
import sys
from itertools import cycle, islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from .effort import Effort
from .playing import play
from .report import Goal, Section, Table
from .scenes import BLENDERS, FLOOR, FRAMES, OURS, Rig, opened, save_variants

RIG = Rig(8, 3)

MEANING = """\
Megabytes of resident memory, on 8 chains of 3 bones, the {loop} frames of the file played over \
and over: after {warm_up} frames of warm-up, and the growth over the next {half} frames and over \
the {half} after those."""


def run(effort: Effort) -> Section:
    """Play the same frames with our constraints, with Blender's, and without any."""
    if not sys.platform.startswith("linux"):
        return Section("Memory", [Table("Only measured on Linux.", ("variant",), [])])
    warm_up, half = effort.of((1000, 5000), (5, 5))
    with TemporaryDirectory() as name:
        folder = Path(name)
        save_variants(RIG, folder)
        sizes = {v: _sizes(folder, v, warm_up, half) for v in (OURS, BLENDERS, FLOOR)}
    headings = ("variant", "after warm-up", f"next {half:,} frames", f"{half:,} after those")
    meaning = MEANING.format(loop=FRAMES, warm_up=warm_up, half=f"{half:,}")
    rows = [_row(variant, found) for variant, found in sizes.items()]
    growth = sizes[OURS][-1] - sizes[OURS][-2]
    goal = Goal(f"Megabytes added by the last {half:,} frames", 0.1, growth)
    return Section("Memory", [Table(meaning, headings, rows)], goals=[goal])


def _sizes(folder: Path, variant: str, warm_up: int, half: int) -> list[float]:
    with opened(folder, variant) as scene:
        frames = cycle(range(1, FRAMES + 1))
        sizes: list[float] = []
        for count in (warm_up, half, half):
            play(scene, islice(frames, count))
            gc.collect()
            sizes.append(resident_megabytes())
    return sizes


def _row(variant: str, sizes: list[float]) -> list[str]:
    growth = [f"{after - before:+.2f}" for before, after in pairwise(sizes)]
    return [variant, f"{sizes[0]:.1f}", *growth]


def resident_megabytes() -> float:
    """Return the memory of this process that is resident; on Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
