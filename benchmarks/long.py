"""Long chains: time by the number of bones, compared with Blender's IK and Caliko."""

from __future__ import annotations

from math import log, nan
from pathlib import Path
from statistics import linear_regression, mean, median
from tempfile import TemporaryDirectory

from .chains import arc, in_cube, near_tip
from .effort import Effort
from .playing import Score, in_turns, judge, split
from .report import Lines, Section, Table, ms, small, times, us
from .scenes import BLENDERS, FLOOR, OURS, Rig, save_variants
from .solving import Runs, Task

BONES = (10, 20, 50, 100, 200, 500, 1000, 2000)
IN_BLENDER = (10, 20, 50, 100, 200, 500)
DEFAULTS = {"iterations": 20, "tolerance": 1e-4}
SEED = 2011

CALIKO = {100: 1.4, 500: 10.6, 2000: 34.7}
"""Milliseconds per solve, from the time graph that Caliko published in 2016."""

SOLVER = """\
The solver alone, without Blender, at the constraint's defaults ({iterations} iterations, \
tolerance {tolerance:g} of the length): {count} random targets at two thirds of the length from \
the tip and less than 0.98 of it from the root, each from the same slightly bent pose. Over \
{first} to {last} bones the time grows as n^{exponent:.2f}; 1 is linear."""

BLENDER = """\
Milliseconds of one `Scene.frame_set` on one chain of that many bones, and the distance of its \
tip to its target as a share of the length, at the defaults of both. Blender's IK solves the \
whole chain (`chain_count` 0)."""

PUBLISHED = """\
Caliko's experiment: bones 10 long, {count} random targets uniform in ± half the chain on each \
axis (`random.Random(123)`), at most 20 iterations, arrival within a distance of 1. Each of our \
solves starts from the same slightly bent pose. Caliko is Java; its times were published in 2016 \
for another, unknown machine, so only orders of magnitude are comparable."""


def run(effort: Effort) -> Section:
    """Measure the solver, frames in Blender, and Caliko's experiment."""
    solver = {bones: _solver(bones, effort) for bones in effort.of(BONES, BONES[:2])}
    frames = {bones: _frames(bones, effort) for bones in effort.of(IN_BLENDER, IN_BLENDER[:1])}
    caliko = {bones: _caliko(bones, effort) for bones in effort.of(tuple(CALIKO), (100,))}
    exponent = linear_regression(
        [log(bones) for bones in solver], [log(runs.time) for runs in solver.values()]
    ).slope
    meaning = SOLVER.format(
        **DEFAULTS,
        count=_targets(effort),
        first=min(solver),
        last=max(solver),
        exponent=exponent,
    )
    return Section(
        "Long chains",
        [
            Table(
                meaning,
                (
                    "bones",
                    "µs a solve",
                    "µs a bone",
                    "iterations",
                    "residual median",
                    "worst",
                    "arrived",
                ),
                [_solver_row(bones, runs) for bones, runs in solver.items()],
            ),
            Table(
                BLENDER,
                (
                    *("bones", "ours", "Blender", "ours / Blender", "floor"),
                    *("our error median", "worst", "Blender's error median", "worst"),
                ),
                [_frame_row(bones, scores) for bones, scores in frames.items()],
            ),
            Table(
                PUBLISHED.format(count=_targets(effort)),
                (
                    "bones",
                    "Caliko ms, published",
                    "ours ms, mean",
                    "median",
                    "iterations",
                    "arrived",
                ),
                [_caliko_row(bones, runs) for bones, runs in caliko.items()],
            ),
        ],
        [_plot(solver, frames, caliko)],
    )


def _targets(effort: Effort) -> int:
    return effort.of(50, 3)


def _solver(bones: int, effort: Effort) -> Runs:
    targets = near_tip(arc(bones, 1.0)[-1], 2.0 / 3.0, 0.98, _targets(effort), SEED)
    return Task(bones, 1.0, targets, **DEFAULTS).run("FABRIK")


def _frames(bones: int, effort: Effort) -> dict[str, Score]:
    rig = Rig(1, bones)
    with TemporaryDirectory() as name:
        folder = Path(name)
        save_variants(rig, folder)
        blocks = effort.of(split(80, 20), [range(1, 4)])
        scores = in_turns(folder, (OURS, BLENDERS, FLOOR), blocks, passes=1)
        for variant in (OURS, BLENDERS):
            judge(folder, variant, rig, range(1, effort.of(250, 4), 3), scores[variant])
    return scores


def _caliko(bones: int, effort: Effort) -> Runs:
    total = 10.0 * bones
    targets = in_cube(0.5 * total, _targets(effort), 123)
    return Task(bones, total, targets, 20, 1.0 / total).run("FABRIK")


def _solver_row(bones: int, runs: Runs) -> list[str]:
    return [
        str(bones),
        us(runs.time),
        f"{1e6 * runs.time / bones:.2f}",
        f"{median(runs.iterations):.0f}",
        small(median(runs.residuals)),
        small(max(runs.residuals)),
        runs.arrived(),
    ]


def _frame_row(bones: int, scores: dict[str, Score]) -> list[str]:
    ours, blenders = scores[OURS], scores[BLENDERS]
    return [
        str(bones),
        ms(ours.typical),
        ms(blenders.typical),
        times(ours.ratio(blenders)),
        ms(scores[FLOOR].typical),
        *(small(value) for value in (median(ours.errors), max(ours.errors))),
        *(small(value) for value in (median(blenders.errors), max(blenders.errors))),
    ]


def _caliko_row(bones: int, runs: Runs) -> list[str]:
    return [
        str(bones),
        f"{CALIKO[bones]:.1f}",
        ms(mean(runs.seconds)),
        ms(runs.time),
        f"{mean(runs.iterations):.1f}",
        runs.arrived(),
    ]


def _plot(
    solver: dict[int, Runs], frames: dict[int, dict[str, Score]], caliko: dict[int, Runs]
) -> Lines:
    bones = list(frames)
    answered = [
        score[BLENDERS].typical * 1e3 if median(score[BLENDERS].errors) < 0.1 else nan
        for score in frames.values()
    ]
    return Lines(
        "long.png",
        "Time against the number of bones",
        "bones",
        "ms",
        {
            "our solver": (list(solver), [1e3 * runs.time for runs in solver.values()]),
            "frame in Blender, FABRIK IK": (
                bones,
                [1e3 * score[OURS].typical for score in frames.values()],
            ),
            "frame in Blender, Blender's IK (where it comes within 10 %)": (bones, answered),
            "our solver, Caliko's experiment": (
                list(caliko),
                [1e3 * mean(runs.seconds) for runs in caliko.values()],
            ),
            "Caliko, published 2016": (list(CALIKO), list(CALIKO.values())),
        },
    )
