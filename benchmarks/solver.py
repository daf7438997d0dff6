"""The solver alone, without Blender: iterations, time and long chains."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import dist, log, nan
from statistics import linear_regression, mean, median
from time import perf_counter

from fabrik_solver import Chain, Goal, solve

from .harness import Effort, temporary_folder
from .playing import Score, in_turns, judge, split
from .report import Bars, Bound, Lines, Section, Table, ms, percentile, small, times, us
from .rigs import (
    BLENDERS,
    FLOOR,
    OURS,
    Point,
    Rig,
    arc,
    in_cube,
    near_tip,
    on_sphere,
    save_variants,
)

# The solver alone, without Blender: many targets, each from the same cold start.


@dataclass
class Runs:
    """The results of solving, a value per target.

    Attributes:
        iterations: The iterations of each solve.
        seconds: The duration of each solve.
        residuals: The distances of the tip to the target, relative to the length.
        missed: The number of targets not reached within the tolerance.
    """

    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def time(self) -> float:
        """The median seconds of a solve."""
        return median(self.seconds)

    def arrived(self) -> str:
        """Return the number of targets reached, out of those tried."""
        return f"{len(self.iterations) - self.missed} of {len(self.iterations)}"


@dataclass(frozen=True)
class Task:
    """A chain, its targets, and the settings to solve them with.

    Attributes:
        bones: The number of bones of the chain, which are equal; it starts slightly bent.
        length: The length of the chain, in meters.
        targets: The targets, in the space of the chain.
        iterations: The maximum number of iterations.
        tolerance: The residual at which to stop, as a fraction of the length.
        seconds: The time after which no further target is tried.
    """

    bones: int
    length: float
    targets: Sequence[Point]
    iterations: int
    tolerance: float
    seconds: float = 60.0

    def run(self, solver: str) -> Runs:
        """Solve for each target."""
        chain = Chain(arc(self.bones, self.length))
        runs = Runs()
        gc.collect()
        begin = perf_counter()
        for target in self.targets:
            goal = Goal(target)
            start = perf_counter()
            answer = solve(chain, goal, solver, self.iterations, self.tolerance)
            end = perf_counter()
            runs.seconds.append(end - start)
            runs.iterations.append(answer.iterations_used)
            # Measured independently of what the solver reports.
            residual = dist(answer.joints[-1], target) / self.length
            runs.residuals.append(residual)
            runs.missed += residual > self.tolerance * (1.0 + 1e-6)
            if end - begin > self.seconds:
                break
        return runs


# Iterations and time of the solvers, without Blender.


SOLVERS = {"ours": "FABRIK", "textbook FABRIK": "TEXTBOOK", "CCD": "CCD"}
ITERATIONS_BONES = (3, 10, 30, 100)
LENGTH = 0.9
AWAY = 0.6
ITERATIONS_SEED = 2011
ITERATIONS = 2000
SHARES = (0.99, 0.999, 0.9999)

COLD = """\
Iterations to a residual of 1e-3 of the length. A chain of equal bones, {length} m in total, \
slightly bent; each solve starts from that pose. {count} random targets {away} m from the tip and \
less than 0.98 of the length from the root (Python's `random.Random({seed})`). A solve that \
doesn't arrive counts as {iterations} iterations, the most allowed. A solver gets {seconds:g} s \
for all targets of a row, and tries fewer targets if it runs out of time. “arrived” is measured \
from the joints."""

FINER = "The same to a residual of 1e-6 of the length."

EDGE = """\
The same to a residual of 1e-6, for targets in random directions at a share of the full reach, \
where FABRIK crawls. A row that arrived though it took {iterations} iterations was completed by \
the core: it straightens nearly straight chains in closed form."""


def iterations(effort: Effort) -> Section:
    """Measure all solvers on all chains."""
    bones = effort.of(ITERATIONS_BONES, (3,))
    tables: list[Table] = []
    finest: dict[int, dict[str, Runs]] = {}
    for residual, meaning in ((1e-3, _cold_meaning(effort)), (1e-6, FINER)):
        finest = {count: _cold(count, residual, effort) for count in bones}
        rows = {f"{count} bones": runs for count, runs in finest.items()}
        tables.append(Table(meaning, _headings("chain"), _rows(rows)))
    edge = {
        f"{count} bones, {fraction:g}": _edge(count, fraction, effort)
        for count in bones
        for fraction in effort.of(SHARES, SHARES[:1])
    }
    tables.append(
        Table(EDGE.format(iterations=ITERATIONS), _headings("chain, share of reach"), _rows(edge))
    )
    return Section("Iterations", tables, _plots(finest), _goals(finest))


def _goals(finest: dict[int, dict[str, Runs]]) -> list[Bound]:
    goals: list[Bound] = []
    for count, runs in finest.items():
        iterations = runs["ours"].iterations
        goals.append(Bound(f"{count} bones: mean iterations to 1e-6", 5.0, mean(iterations)))
        goals.append(Bound(f"{count} bones: most iterations to 1e-6", 20.0, max(iterations)))
    return goals


def _cold_meaning(effort: Effort) -> str:
    return COLD.format(
        length=LENGTH,
        count=_iterations_targets(effort),
        away=AWAY,
        seed=ITERATIONS_SEED,
        iterations=ITERATIONS,
        seconds=_seconds(effort),
    )


def _iterations_targets(effort: Effort) -> int:
    return effort.of(300, 5)


def _seconds(effort: Effort) -> float:
    return effort.of(6.0, 0.1)


def _cold(bones: int, residual: float, effort: Effort) -> dict[str, Runs]:
    tip = arc(bones, LENGTH)[-1]
    targets = near_tip(tip, AWAY, 0.98 * LENGTH, _iterations_targets(effort), ITERATIONS_SEED)
    return _solved(bones, targets, residual, _seconds(effort))


def _edge(bones: int, fraction: float, effort: Effort) -> dict[str, Runs]:
    targets = on_sphere(fraction * LENGTH, effort.of(100, 5), ITERATIONS_SEED)
    return _solved(bones, targets, 1e-6, effort.of(1.0, 0.1))


def _solved(
    bones: int, targets: Sequence[Point], residual: float, seconds: float
) -> dict[str, Runs]:
    task = Task(bones, LENGTH, targets, ITERATIONS, residual, seconds)
    return {name: task.run(solver) for name, solver in SOLVERS.items()}


def _headings(first: str) -> tuple[str, ...]:
    return (first, "solver", "mean", "median", "p99", "most", "µs a solve", "arrived")


def _rows(results: dict[str, dict[str, Runs]]) -> list[list[str]]:
    return [
        [
            chain,
            solver,
            f"{mean(runs.iterations):.1f}",
            f"{median(runs.iterations):.0f}",
            f"{percentile(runs.iterations, 0.99)}",
            f"{max(runs.iterations)}",
            us(runs.time),
            runs.arrived(),
        ]
        for chain, solvers in results.items()
        for solver, runs in solvers.items()
    ]


def _plots(finest: dict[int, dict[str, Runs]]) -> list[Bars]:
    names = [f"{count} bones" for count in finest]

    def bars(file: str, title: str, measure: str, value: str) -> Bars:
        series = {
            solver: [figures(runs[solver])[value] for runs in finest.values()] for solver in SOLVERS
        }
        return Bars(file, title, measure, names, series, logarithmic=True)

    return [
        bars(
            "iterations.png",
            "Iterations to a residual of 1e-6 of the length",
            "mean iterations",
            "iterations",
        ),
        bars("solve-time.png", "Time of a solve to 1e-6 of the length", "median µs", "time"),
    ]


def figures(runs: Runs) -> dict[str, float]:
    """Return the figures in the pictures."""
    return {"iterations": mean(runs.iterations), "time": 1e6 * runs.time}


# Long chains: time by the number of bones, compared with Blender's IK and Caliko.


LONG_CHAINS_BONES = (10, 20, 50, 100, 200, 500, 1000, 2000)
IN_BLENDER = (10, 20, 50, 100, 200, 500)
DEFAULTS = {"iterations": 20, "tolerance": 1e-4}
LONG_CHAINS_SEED = 2011

CALIKO = {100: 1.4, 500: 10.6, 2000: 34.7}
"""Milliseconds per solve, from the time graph that Caliko published in 2016."""

SOLVER = """\
The solver alone, without Blender, at the constraint's defaults ({iterations} iterations, \
tolerance {tolerance:g} of the length). {count} random targets are two thirds of the length from \
the tip and less than 0.98 of it from the root. Each is solved from the same slightly bent pose. \
Over {first} to {last} bones the time grows as n^{exponent:.2f}; 1 is linear."""

BLENDER = """\
Milliseconds of one `Scene.frame_set` on one chain of that many bones, at the defaults of both. \
Then the distance from tip to target, as a fraction of the length. Blender's IK solves the whole \
chain (`chain_count` 0)."""

PUBLISHED = """\
Caliko's experiment: bones 10 long, and {count} random targets uniform in ± half the chain on \
each axis (`random.Random(123)`). A solver has 20 iterations at most, and arrives within a \
distance of 1. Each of our solves starts from the same slightly bent pose. Caliko is Java; its \
times were published in 2016 for another, unknown machine, so only orders of magnitude are \
comparable."""


def long_chains(effort: Effort) -> Section:
    """Measure the solver, frames in Blender, and Caliko's experiment."""
    solver = {
        bones: _solver(bones, effort)
        for bones in effort.of(LONG_CHAINS_BONES, LONG_CHAINS_BONES[:2])
    }
    frames = {bones: _frames(bones, effort) for bones in effort.of(IN_BLENDER, IN_BLENDER[:1])}
    caliko = {bones: _caliko(bones, effort) for bones in effort.of(tuple(CALIKO), (100,))}
    exponent = linear_regression(
        [log(bones) for bones in solver], [log(runs.time) for runs in solver.values()]
    ).slope
    meaning = SOLVER.format(
        **DEFAULTS,
        count=_long_chains_targets(effort),
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
                PUBLISHED.format(count=_long_chains_targets(effort)),
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


def _long_chains_targets(effort: Effort) -> int:
    return effort.of(50, 3)


def _solver(bones: int, effort: Effort) -> Runs:
    targets = near_tip(
        arc(bones, 1.0)[-1], 2.0 / 3.0, 0.98, _long_chains_targets(effort), LONG_CHAINS_SEED
    )
    return Task(bones, 1.0, targets, **DEFAULTS).run("FABRIK")


def _frames(bones: int, effort: Effort) -> dict[str, Score]:
    rig = Rig(1, bones)
    with temporary_folder() as folder:
        save_variants(rig, folder)
        blocks = effort.of(split(80, 20), [range(1, 4)])
        scores = in_turns(folder, (OURS, BLENDERS, FLOOR), blocks, passes=1)
        for variant in (OURS, BLENDERS):
            judge(folder, variant, rig, range(1, effort.of(250, 4), 3), scores[variant])
    return scores


def _caliko(bones: int, effort: Effort) -> Runs:
    total = 10.0 * bones
    targets = in_cube(0.5 * total, _long_chains_targets(effort), 123)
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
