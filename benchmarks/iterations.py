"""Iterations and time that the solvers need, without Blender."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from .chains import Point, arc, near_tip, on_sphere
from .effort import Effort
from .report import Bars, Goal, Section, Table, percentile, us
from .solving import Runs, Task

SOLVERS = {"ours": "FABRIK", "textbook FABRIK": "TEXTBOOK", "CCD": "CCD"}
BONES = (3, 10, 30, 100)
LENGTH = 0.9
AWAY = 0.6
SEED = 2011
ITERATIONS = 2000
SHARES = (0.99, 0.999, 0.9999)

COLD = """\
Iterations to a residual of 1e-3 of the length. A chain of equal bones, {length} m in total, \
slightly bent; each solve starts from that pose. {count} random targets {away} m from the tip and \
less than 0.98 of the length from the root (Python's `random.Random({seed})`). At most \
{iterations} iterations, which count as {iterations}; a solver gets {seconds:g} s for all targets \
of a row, and tries fewer if that is not enough. “arrived” is measured from the joints."""

FINER = "The same to a residual of 1e-6 of the length."

EDGE = """\
The same to a residual of 1e-6, for targets in random directions at a share of the full reach, \
where FABRIK crawls. A row that arrived though it took {iterations} iterations was completed by \
the core, which stretches a chain that is nearly straight in closed form."""


def run(effort: Effort) -> Section:
    """Measure all solvers on all chains."""
    bones = effort.of(BONES, (3,))
    tables: list[Table] = []
    finest: dict[int, dict[str, Runs]] = {}
    for residual, meaning in ((1e-3, _cold_meaning(effort)), (1e-6, FINER)):
        finest = {count: _cold(count, residual, effort) for count in bones}
        rows = {f"{count} bones": runs for count, runs in finest.items()}
        tables.append(Table(meaning, _headings("chain"), _rows(rows)))
    edge = {
        f"{count} bones, {share:g}": _edge(count, share, effort)
        for count in bones
        for share in effort.of(SHARES, SHARES[:1])
    }
    tables.append(
        Table(EDGE.format(iterations=ITERATIONS), _headings("chain, share of reach"), _rows(edge))
    )
    return Section("Iterations", tables, _plots(finest), _goals(finest))


def _goals(finest: dict[int, dict[str, Runs]]) -> list[Goal]:
    found: list[Goal] = []
    for count, runs in finest.items():
        iterations = runs["ours"].iterations
        found.append(Goal(f"{count} bones: mean iterations to 1e-6", 5.0, mean(iterations)))
        found.append(Goal(f"{count} bones: most iterations to 1e-6", 20.0, max(iterations)))
    return found


def _cold_meaning(effort: Effort) -> str:
    return COLD.format(
        length=LENGTH,
        count=_targets(effort),
        away=AWAY,
        seed=SEED,
        iterations=ITERATIONS,
        seconds=_seconds(effort),
    )


def _targets(effort: Effort) -> int:
    return effort.of(300, 5)


def _seconds(effort: Effort) -> float:
    return effort.of(6.0, 0.1)


def _cold(bones: int, residual: float, effort: Effort) -> dict[str, Runs]:
    tip = arc(bones, LENGTH)[-1]
    targets = near_tip(tip, AWAY, 0.98 * LENGTH, _targets(effort), SEED)
    return _solved(bones, targets, residual, _seconds(effort))


def _edge(bones: int, share: float, effort: Effort) -> dict[str, Runs]:
    targets = on_sphere(share * LENGTH, effort.of(100, 5), SEED)
    return _solved(bones, targets, 1e-6, effort.of(1.0, 0.1))


def _solved(
    bones: int, targets: Sequence[Point], residual: float, seconds: float
) -> dict[str, Runs]:
    task = Task(bones, LENGTH, targets, ITERATIONS, residual, seconds)
    return {name: task.run(solver) for name, solver in SOLVERS.items()}


def _headings(first: str) -> tuple[str, ...]:
    return (first, "solver", "mean", "median", "p99", "most", "µs a solve", "arrived")


def _rows(found: dict[str, dict[str, Runs]]) -> list[list[str]]:
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
        for chain, solvers in found.items()
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
    """Return what the pictures show."""
    return {"iterations": mean(runs.iterations), "time": 1e6 * runs.time}
