"""The solver alone, without Blender: many targets, each from the same cold start."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import dist
from statistics import median
from time import perf_counter

from fabrik_solver import Chain, Goal, solve

from .chains import Point, arc


@dataclass
class Runs:
    """The results of solving, one value per target.

    Attributes:
        iterations: The iterations of each solve.
        seconds: The duration of each solve.
        residuals: Distances of the tip to the target as shares of the length.
        missed: The number of targets not reached within the tolerance.
    """

    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def time(self) -> float:
        """Seconds of a solve, median."""
        return median(self.seconds)

    def arrived(self) -> str:
        """Return how many of the targets tried were reached."""
        return f"{len(self.iterations) - self.missed} of {len(self.iterations)}"


@dataclass(frozen=True)
class Task:
    """A chain and its targets, and how to solve them.

    Attributes:
        bones: The number of bones of the chain, which are equal; it starts slightly bent.
        length: The length of the chain, in metres.
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
