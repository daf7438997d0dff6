"""Many armatures: what each costs, the more there are."""

from __future__ import annotations

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
that with the first row."""

ALSO = "with Blender's IK a frame for each takes {growth:.2f} times as long as with the fewest"


def run(effort: Effort) -> Section:
    """Measure files with more and more armatures."""
    rows: list[list[str]] = []
    found: list[Goal] = []
    first = theirs = 0.0
    for count in effort.of(COUNTS, (1, 2)):
        scores = _measured(count, effort)
        ours, blenders, plain = (
            scores[variant].typical / count for variant in (OURS, BLENDERS, PLAIN)
        )
        alone = ours - plain
        first, theirs = first or alone, theirs or blenders
        cells = (ms(ours), ms(blenders), ms(plain), ms(alone), times(alone / first))
        rows.append([f"{count}", *cells])
        if count in COUNTS[1:]:
            what = f"{count} armatures: our own time for each / the same of {COUNTS[0]}"
            found.append(Goal(what, 1.1, alone / first, ALSO.format(growth=blenders / theirs)))
    headings = ("armatures", "ours", "Blender's IK", PLAIN, "ours alone", "growth")
    return Section(
        "Armatures", [Table(MEANING.format(name=f"{RIG.name} bones"), headings, rows)], goals=found
    )


def _measured(count: int, effort: Effort) -> dict[str, Score]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _save_variants(count, folder)
        frames = effort.of(max(FRAMES // (count // 10 or 1), 24), 4)
        blocks = split(frames, max(frames // 2, 1))
        return in_turns(folder, (OURS, BLENDERS, PLAIN), blocks, passes=1)


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
