"""The cost of an update with anything to do, before the first chain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory
from time import perf_counter

import bpy

from . import extension
from .effort import Effort
from .idle import inside_our_handlers
from .playing import play, split, warm_up
from .report import Goal, Section, Table, us
from .scenes import FRAMES, Rig, add_ours, build, target_name

CHAINS = (1, 2, 4, 8, 16)
BONES = 3
BLOCK = 50

MEANING = """\
Microseconds in our handlers, evaluations that they cause included, for one armature with more and \
more chains of {bones} bones whose targets all move: “frame” in one `Scene.frame_set`, “edit” in \
an update after the targets were moved; medians of blocks of {block} that alternate. A line fitted \
to them gives the “fixed” cost, which any update has that affects one of our constraints, and that \
of “each chain”."""

MOST = 0.04

WHY_NOT = (
    "Python on both sides of Blender's evaluation: what changed, what is solved, what it shows"
)


def run(effort: Effort) -> Section:
    """Measure frames and edits."""
    counts = effort.of(CHAINS, CHAINS[:2])
    blocks = effort.of(split(FRAMES, BLOCK), [range(1, 4)])
    rows: list[list[str]] = []
    found: list[Goal] = []
    for name, is_keyed in (("frame", True), ("edit", False)):
        times = _measured(counts, is_keyed, blocks)
        slope, fixed = linear_regression(counts, times)
        rows.append([name, *map(us, times), us(fixed), us(slope)])
        what = f"fixed cost of an update with anything to do, {name}: milliseconds"
        found.append(Goal(what, MOST, 1e3 * fixed, WHY_NOT))
    headings = ("update", *(f"{count} chains" for count in counts), "fixed", "each chain")
    meaning = MEANING.format(bones=BONES, block=len(blocks[0]))
    return Section("Fixed cost", [Table(meaning, headings, rows)], goals=found)


def _measured(counts: tuple[int, ...], is_keyed: bool, blocks: list[range]) -> list[float]:
    """Return the median time in our handlers by the number of chains, in seconds."""
    times: dict[int, list[float]] = {count: [] for count in counts}
    extension.turn(True)
    with TemporaryDirectory() as name:
        for count in counts:
            rig = Rig(count, BONES, keyed=is_keyed)
            build(rig)
            add_ours(rig)
            extension.save_file(Path(name) / f"{count}.blend")
        for block in blocks:
            for count in counts:
                scene = extension.open_file(Path(name) / f"{count}.blend")
                warm_up(scene, block[0])
                work = _frames(scene, block) if is_keyed else _edits(count, block)
                if not is_keyed:
                    work()  # The first edits make the plan.
                times[count] += inside_our_handlers(work)
    return [median(times[count]) for count in counts]


def _frames(scene: bpy.types.Scene, block: range) -> Callable[[], list[float]]:
    return lambda: play(scene, block)


def _edits(count: int, block: range) -> Callable[[], list[float]]:
    targets = [bpy.data.objects[target_name(chain)] for chain in range(count)]
    layer = bpy.context.view_layer

    def edit() -> list[float]:
        found: list[float] = []
        for i in block:
            for target in targets:
                target.location.x += 0.001 if i % 2 else -0.001
            start = perf_counter()
            layer.update()
            found.append(perf_counter() - start)
        return found

    return edit
