"""Many armatures: what each costs, the more there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bpy

from . import extension
from .effort import Effort
from .playing import Score, in_turns, split
from .report import Goal, Section, Table, ms, times
from .scenes import BLENDERS, FRAMES, OURS, Rig, armature, build, link, target_name

COUNTS = (10, 100, 500)
RIG = Rig(8, 3)

PLAIN = "no IK"

MEANING = """\
Milliseconds of one `Scene.frame_set` divided by the number of armatures, each of {name} with \
moving targets. “ours alone” is without the frame of the same file without IK; “growth” compares \
that with the first row. In the row “{count}, caches emptied” {megabytes} MB are read before each \
frame, so that the processor has to fetch everything from memory, as it has to with many."""

MEGABYTES = 64

ALSO = (
    "with Blender's IK {growth:.2f}; ours with the fewest armatures takes {emptied:.2f} times as "
    "long if the processor's caches are emptied before each frame"
)


def run(effort: Effort) -> Section:
    """Measure files with more and more armatures."""
    rows: list[list[str]] = []
    found: list[Goal] = []
    least, *more = effort.of(COUNTS, (1, 2))
    cases = [(f"{least}", least, int), (f"{least}, caches emptied", least, _emptying())]
    cases += [(f"{count}", count, int) for count in more]
    alone: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for name, count, before in cases:
        scores = _measured(count, effort, before)
        ours, theirs[name], plain = (
            scores[variant].typical / count for variant in (OURS, BLENDERS, PLAIN)
        )
        alone[name] = ours - plain
        growth = times(alone[name] / alone[f"{least}"])
        rows.append([name, *map(ms, (ours, theirs[name], plain, alone[name])), growth])
    first, emptied, *others = alone
    for name in others if more == list(COUNTS[1:]) else ():
        what = f"{name} armatures: our own time for each / the same of {first}"
        also = ALSO.format(
            growth=theirs[name] / theirs[first], emptied=alone[emptied] / alone[first]
        )
        found.append(Goal(what, 1.1, alone[name] / alone[first], also))
    headings = ("armatures", "ours", "Blender's IK", PLAIN, "ours alone", "growth")
    meaning = MEANING.format(name=f"{RIG.name} bones", count=least, megabytes=MEGABYTES)
    return Section("Armatures", [Table(meaning, headings, rows)], goals=found)


def _emptying() -> Callable[[], object]:
    """Return a function that reads more than the caches of a processor hold."""
    elsewhere = b"x" * (MEGABYTES << 20)  # Zeros would all be the same page of memory.
    return lambda: elsewhere.count(b"y")


def _measured(count: int, effort: Effort, before: Callable[[], object]) -> dict[str, Score]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _save_variants(count, folder)
        frames = effort.of(max(FRAMES // (count // 10 or 1), 24), 4)
        blocks = split(frames, max(frames // 2, 1))
        return in_turns(folder, (OURS, BLENDERS, PLAIN), blocks, passes=1, before=before)


def _save_variants(count: int, folder: Path) -> None:
    """Save the armatures without IK, with Blender's and with ours."""
    extension.turn(False)
    build(RIG)
    targets = [bpy.data.objects[target_name(chain)] for chain in range(RIG.chains)]
    for _ in range(1, count):
        link(armature().copy())
    extension.save_file(folder / f"{PLAIN}.blend")
    for ob in _armatures():
        for chain, target in enumerate(targets):
            con = ob.pose.bones[RIG.tip(chain)].constraints.new("IK")
            con.target = target
    extension.save_file(folder / f"{BLENDERS}.blend")
    extension.turn(True)
    extension.open_file(folder / f"{PLAIN}.blend")
    for ob in _armatures():
        for chain in range(RIG.chains):
            item = ob.fabrik.constraints.add()
            item.bone = RIG.tip(chain)
            item.target = bpy.data.objects[target_name(chain)]
    extension.save_file(folder / f"{OURS}.blend")


def _armatures() -> list[Any]:
    return [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
