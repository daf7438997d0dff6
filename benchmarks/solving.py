"""The solver alone, without Blender: many targets, each from the same cold start."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import dist
from statistics import median
from time import perf_counter

from addon.core import Chain, Goal, solve

from .chains import Point, arc


@dataclass
class Runs:
    """What solving came to, one value a target.

    Attributes:
        sweeps: Sweeps taken.
        seconds: What a solve took.
        residuals: Distances of the tip to the target as shares of the length.
        missed: How many did not come within the tolerance.
    """

    sweeps: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def time(self) -> float:
        """Seconds of a solve, median."""
        return median(self.seconds)

    def arrived(self) -> str:
        """Return how many of those tried arrived."""
        return f"{len(self.sweeps) - self.missed} of {len(self.sweeps)}"


@dataclass(frozen=True)
class Task:
    """What to solve, and how.

    Attributes:
        bones: Of the chain, all equal; at its start it is slightly bent.
        length: Of the chain.
        targets: In the chain's space.
        iterations: The most sweeps.
        tolerance: Residual at which it stops, as a share of the length.
        seconds: After so long no further target is tried.
    """

    bones: int
    length: float
    targets: Sequence[Point]
    iterations: int
    tolerance: float
    seconds: float = 60.0

    def run(self, solver: str) -> Runs:
        """Solve for one target after the other."""
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
            runs.sweeps.append(answer.iterations_used)
            # Measured here: no solver is taken at its word.
            residual = dist(answer.joints[-1], target) / self.length
            runs.residuals.append(residual)
            runs.missed += residual > self.tolerance * (1.0 + 1e-6)
            if end - begin > self.seconds:
                break
        return runs
