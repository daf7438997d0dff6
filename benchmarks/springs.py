"""Strands that swing, simulated and played, compared with the same bones animated by F-curves."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any, cast

import bpy

from fabrik_solver import COMPILED

from .harness import Effort, enable, new_file, open_file, save_file, temporary_folder
from .playing import Score, in_turns, split
from .report import Bound, Section, Table, ms
from .rigs import OURS, BoneRest, armature, make_armature

STRANDS, BONES, FRAMES = 20, 10, 250

WITHOUT, CURVES = "without", "F-curves"

MEANING = """\
{strands} strands of {bones} bones that hang from a head with keys. “simulate” is the seconds of \
`fabrik.simulate` over {frames} frames. The others are milliseconds of one `Scene.frame_set`, \
medians, alternating: strands that don't move; simulated ones when frames are played first and \
again; and the same motion as keys of every bone at every frame, without the extension."""

MOST_SECONDS = {True: 1.0, False: 4.0}
"""The longest simulation, by whether the solver is compiled."""

MOST_ADDED = 0.5
"""The largest time that simulated strands may add to a frame, in milliseconds."""

WHY_NOT = "Blender itself takes {curves} ms more for the same bones with keys"


def springs(effort: Effort) -> Section:
    """Measure simulating and playing."""
    strands, frames = effort.of((STRANDS, FRAMES), (2, 20))
    name = f"{strands} × {BONES}"
    with temporary_folder() as folder:
        enable(False)
        _build(strands, frames)
        save_file(folder / f"{WITHOUT}.blend")
        enable(True)
        open_file(folder / f"{WITHOUT}.blend")
        seconds = _simulated(strands)
        save_file(folder / f"{OURS}.blend")
        assert cast(Any, bpy.ops).fabrik.bake() == {"FINISHED"}
        enable(False)
        save_file(folder / f"{CURVES}.blend")
        blocks = effort.of(split(200, 25), [range(1, 4)])
        scores = in_turns(folder, (WITHOUT, OURS, CURVES), blocks)
    still = scores[WITHOUT].typical
    curves = ms(scores[CURVES].typical - still)
    return Section(
        "Springs",
        [
            Table(
                MEANING.format(strands=strands, bones=BONES, frames=frames),
                ("strands × bones", "simulate", WITHOUT, "ours first", "again", CURVES),
                [_row(name, seconds, scores)],
            )
        ],
        [],
        [
            Bound(
                f"{name}, {frames} frames: seconds to simulate",
                MOST_SECONDS[COMPILED],
                seconds,
            ),
            Bound(
                f"{name}: milliseconds that springs add to a frame",
                MOST_ADDED,
                1e3 * (scores[OURS].typical - still),
                WHY_NOT.format(curves=curves),
            ),
        ],
    )


def _build(strands: int, frames: int) -> None:
    """Make a head with keys that carries the strands."""
    scene = new_file()
    scene.frame_start, scene.frame_end = 1, frames
    bones: dict[str, BoneRest] = {"Head": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.3), "")}
    for strand in range(strands):
        for i in range(BONES):
            parent = _bone(strand, i - 1) if i else "Head"
            x = 0.1 * strand
            bones[_bone(strand, i)] = ((x, 0.0, -0.1 * i), (x, 0.0, -0.1 * i - 0.1), parent)
    head = make_armature(bones).pose.bones["Head"]
    for frame in range(-24, frames + 25, 12):
        head.location = (0.3 * (frame // 12 % 2), 0.0, 0.0)
        head.keyframe_insert("location", frame=frame)


def _bone(strand: int, number: int) -> str:
    return f"Strand {strand} Bone {number}"


def _simulated(strands: int) -> float:
    """Add and simulate the springs, and return the seconds of simulating."""
    for strand in range(strands):
        item = armature().fabrik.constraints.add()
        item.bone, item.chain_count = _bone(strand, BONES - 1), BONES
        item.use_tail, item.solver = True, "SPRING"
    bpy.context.view_layer.update()
    start = perf_counter()
    assert cast(Any, bpy.ops).fabrik.simulate() == {"FINISHED"}
    return perf_counter() - start


def _row(name: str, seconds: float, scores: dict[str, Score]) -> list[str]:
    ours = scores[OURS]
    played = [ms(scores[WITHOUT].typical), ms(ours.typical), ms(median(ours.again))]
    return [name, f"{seconds:.2f}", *played, ms(scores[CURVES].typical)]
