"""Chains with joint limits, solved frame by frame, and as a whole shot with Continuous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cos, dist, pi
from random import Random
from statistics import mean
from time import perf_counter
from typing import Any, cast

import bpy

from fabrik_solver import (
    Candidate,
    ChainInput,
    ChainInstant,
    Goal,
    chain_frames,
    solve_shot,
)
from fabrik_solver.core.vectors import Quat, Vec

from .harness import Effort, enable
from .joint_limits import KINDS, Case, draw, tip_of
from .playing import play
from .report import Bound, Section, Table, ms
from .rigs import FRAMES, Rig, add_ours, armature, build

PATHS = 10
SEED = 16
BONES = (3, 5, 10)
JUMP = 0.1
"""The movement of a joint per frame above which it is a jump, as a fraction of the length."""

MEANING = """\
Chains of 1 m whose joints have limits: {paths} paths of {frames} frames in each row. The targets \
follow the tip of a motion between poses within the limits, so a continuous solution exists. \
“jumps” counts the paths on which a joint moves farther than {jump} m from one frame to the next. \
“step” is the largest movement of a joint per frame. “alone” is each frame solved by itself, \
“shot” all of them by Continuous. “missed” is the largest distance of a tip from its target in a \
shot. Times are those of the solver per frame."""

SIMULATED = """\
Milliseconds per frame of `fabrik.simulate` for chains without limits, {frames} frames, with \
Continuous on and everything included. Then those of one `Scene.frame_set`, with Continuous on \
and off."""


@dataclass
class _Row:
    """The results of some paths."""

    jumps_alone: int = 0
    jumps_shot: int = 0
    step_alone: float = 0.0
    step_shot: float = 0.0
    missed: float = 0.0
    seconds_alone: float = 0.0
    seconds_shot: float = 0.0


def continuous(effort: Effort) -> Section:
    """Measure the solver alone, and simulation in Blender."""
    paths, frames = effort.of(PATHS, 1), effort.of(FRAMES, 20)
    rows: list[list[str]] = []
    jumps, worst = 0, 0.0
    for kind in effort.of(KINDS, KINDS[:1]):
        for bones in effort.of(BONES, BONES[:1]):
            row = _measured(draw(kind, bones, paths, SEED), frames)
            jumps += row.jumps_shot
            worst = max(worst, row.missed)
            count = paths * frames
            rows.append(
                [
                    f"{kind}, {bones} bones",
                    str(row.jumps_alone),
                    str(row.jumps_shot),
                    f"{row.step_alone:.3f}",
                    f"{row.step_shot:.3f}",
                    f"{row.missed:.1e}",
                    ms(row.seconds_alone / count),
                    ms(row.seconds_shot / count),
                ]
            )
    headings = ("chains", "jumps alone", "shot", "step alone", "shot", "missed", "ms alone", "shot")
    meaning = MEANING.format(paths=paths, frames=frames, jump=JUMP)
    simulated = [_simulated(rig, frames) for rig in effort.of((Rig(1, 4), Rig(8, 3)), (Rig(1, 4),))]
    return Section(
        "Continuous",
        [
            Table(meaning, headings, rows),
            Table(
                SIMULATED.format(frames=frames),
                ("chains × bones", "simulate", "frame afterwards", "off"),
                simulated,
            ),
        ],
        goals=[
            Bound("Continuous: paths within limits with a jump", 0.0, jumps),
            Bound("Continuous: target missed / length", 1e-4, worst),
        ],
    )


def _measured(cases: Sequence[Case], frames: int) -> _Row:
    row = _Row()
    for number, case in enumerate(cases):
        chain, path = _path(case, Random(number), frames)
        shot = [ChainInstant(chain, Goal(target)) for target in path]
        begin = perf_counter()
        alone = [frame.alone() for frame in shot]
        middle = perf_counter()
        solved = solve_shot(shot)
        row.seconds_alone += middle - begin
        row.seconds_shot += perf_counter() - middle
        step_alone, step_shot = _step(chain, alone), _step(chain, solved)
        row.jumps_alone += step_alone > JUMP
        row.jumps_shot += step_shot > JUMP
        row.step_alone, row.step_shot = (
            max(row.step_alone, step_alone),
            max(row.step_shot, step_shot),
        )
        ends = [tip_of(case.rests, list(frame.rotations)) for frame in solved]
        row.missed = max(row.missed, *map(dist, ends, path))
    return row


def _path(case: Case, random: Random, frames: int) -> tuple[ChainInput, list[Vec]]:
    """Return a chain, and the path of its tip between two poses within its limits."""
    ends = [[(random.random(), random.random()) for _ in range(3)] for _ in case.rests]
    path: list[Vec] = []
    for frame in range(frames):
        blend = 0.5 - 0.5 * cos(pi * frame / (frames - 1))
        turns: list[Quat] = []
        for limit, ((a, b), (c, d), (e, f)) in zip(case.limits, ends, strict=True):
            parameters = (a + (b - a) * blend, c + (d - c) * blend, e + (f - e) * blend)
            turns.append(limit.inside(parameters))
        path.append(tip_of(case.rests, turns))
    return case.chain(), path


def _step(chain: ChainInput, poses: Sequence[Candidate]) -> float:
    """Return the largest movement of a bone's head from one frame to the next."""
    heads = [[head for _, head in chain_frames(chain, pose.rotations)] for pose in poses]
    return max(dist(a, b) for p, q in pairwise(heads) for a, b in zip(p, q, strict=True))


def _simulated(rig: Rig, frames: int) -> list[str]:
    """Return the row of the times of simulating chains."""
    enable(True)
    build(rig)
    add_ours(rig)
    ob: Any = armature()
    scene = bpy.context.scene
    scene.frame_end = frames
    bpy.context.view_layer.objects.active = ob
    off = _played(scene, frames)
    for item in ob.fabrik.constraints:
        item.use_continuous = True
    bpy.context.view_layer.update()
    begin = perf_counter()
    cast(Any, bpy.ops).fabrik.simulate()
    seconds = perf_counter() - begin
    return [rig.name, ms(seconds / frames), ms(_played(scene, frames)), ms(off)]


def _played(scene: bpy.types.Scene, frames: int) -> float:
    """Return the mean time of a frame on its first playback, in seconds."""
    scene.frame_set(1)
    return mean(play(scene, range(2, frames + 1)))
