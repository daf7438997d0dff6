"""The cost of an update with anything to do, before the first chain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory

import bpy

from . import extension
from .effort import Effort
from .playing import split, warm_up
from .report import Goal, Section, Table, us
from .scenes import FRAMES, Rig, add_ours, build, target_name

CHAINS = (1, 2, 4, 8, 16)
BONES = 3
BLOCK = 50

MEANING = """\
Microseconds in our handlers for one armature with more and more chains of {bones} bones whose \
targets all move: “frame” in one `Scene.frame_set`, “edit” in an update after the targets were \
moved; medians of blocks of {block} that alternate. “own” is without the evaluations that the \
handlers cause, which “evaluating” are. A line fitted to them gives the “fixed” cost, which any \
update has that affects one of our constraints, and that of “each chain”."""

MOST = 0.04

WHY_NOT = (
    "Python on both sides of Blender's evaluation: what changed, what to solve, what to report"
)


def run(effort: Effort) -> Section:
    """Measure frames and edits."""
    counts = effort.of(CHAINS, CHAINS[:2])
    blocks = effort.of(split(FRAMES, BLOCK), [range(1, 4)])
    rows: list[list[str]] = []
    found: list[Goal] = []
    for name, is_keyed in (("frame", True), ("edit", False)):
        own, evaluating = _measured(counts, is_keyed, blocks)
        for part, times in (("own", own), ("evaluating", evaluating)):
            slope, fixed = linear_regression(counts, times)
            rows.append([f"{name}, {part}", *map(us, times), us(fixed), us(slope)])
            if part == "own":
                what = f"fixed cost of an update with anything to do, {name}: own milliseconds"
                found.append(Goal(what, MOST, 1e3 * fixed, WHY_NOT))
    headings = ("chains", *map(str, counts), "fixed", "each chain")
    meaning = MEANING.format(bones=BONES, block=len(blocks[0]))
    return Section("Fixed cost", [Table(meaning, headings, rows)], goals=found)


def _measured(
    counts: tuple[int, ...], is_keyed: bool, blocks: list[range]
) -> tuple[list[float], list[float]]:
    """Return the median times of ourselves and of evaluations, by the number of chains."""
    own: dict[int, list[float]] = {count: [] for count in counts}
    evaluating: dict[int, list[float]] = {count: [] for count in counts}
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
                update = scene.frame_set if is_keyed else _editing(count)
                if not is_keyed:
                    for number in block:
                        update(number)  # The first edits make the plan.
                with extension.clocked() as clock:
                    for number in block:
                        update(number)
                        handlers, evaluations = clock.take()
                        own[count].append(handlers - evaluations)
                        evaluating[count].append(evaluations)
    return [median(own[count]) for count in counts], [median(evaluating[count]) for count in counts]


def _editing(count: int) -> Callable[[int], None]:
    """Return a function that moves all targets and updates, differently by its number."""
    targets = [bpy.data.objects[target_name(chain)] for chain in range(count)]
    layer = bpy.context.view_layer

    def edit(number: int) -> None:
        for target in targets:
            target.location.x += 0.001 if number % 2 else -0.001
        layer.update()

    return edit
