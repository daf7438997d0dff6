"""Units: chains, trees and pre-pass bones, with their results kept between updates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from fabrik_solver import ChainInput, Frame, Posture

from ..blender.errors import listed
from .chain_plan import Report, Snapshot, UnitPlan
from .pre_pass import PrePassBone
from .results import NOTHING, SolveResult


class Unit(ABC):
    """A chain, a tree of chains or a pre-pass bone, solved at each update.

    Each kind has a different plan and input. The class isn't generic: the cache of `typing` would
    keep its modules, and with them Blender's classes, until after Blender has quit.

    Attributes:
        plan: Its plan.
        last: The result of the last update.
        results: Cached results, by frame.
    """

    def __init__(self, plan: UnitPlan) -> None:
        """Start without a result."""
        self.plan: Any = plan
        self.last: SolveResult | None = None
        self.results: dict[float, SolveResult] = {}

    @abstractmethod
    def read(self, scene: Any) -> Any:
        """Return all inputs of the solution, compared with ``==``; None if the unit is off.

        Raises:
            ProblemError: If the unit can't be solved.
        """

    @abstractmethod
    def solve(self, scene: Any, inputs: Any) -> SolveResult:
        """Return the solution.

        Raises:
            ProblemError: If there is no solution.
        """

    def measured(
        self, inputs: Any, result: SolveResult, turns: list[float], rounding: float
    ) -> tuple[Report, ...]:
        """Return the reports of the unit's constraints, measured on the written pose.

        Args:
            inputs: The inputs of the solution.
            result: The solution that `solve` just returned.
            turns: The rotations of its bones as written (see `Written.numbers`).
            rounding: The largest rounding error of these, in radians.
        """
        return result.reports

    def beneath(self, scene: Any, reports: tuple[Report, ...], layer: Unit) -> tuple[Report, ...]:
        """Return the unit's reports after a layer also posed some of its bones."""
        return reports

    def constraint(self, scene: Any, item: int) -> tuple[ChainInput, Posture, Frame]:
        """Solve one of the unit's constraints; see `solving.solve_constraint`."""
        raise NotImplementedError  # A pre-pass bone has no constraint.

    def unposed(self, report: Report) -> SolveResult:
        """Return a result without bones."""
        return SolveResult(None, (), (), (report,) * len(self.plan.items), NOTHING, NOTHING)

    def design(self) -> object:
        """Return further data that the solution depends on, besides inputs; None isn't compared.

        The data has no references to Blender's data, so that results are found again after undo.
        """
        return None

    @property
    def label(self) -> str:
        """The names of the unit's constraints, or of its bone, for messages."""
        names = [chain.name for chain in self.plan.members]
        return listed(names or [self.plan.rig.names[self.plan.bones[0]]])

    @property
    def dependent(self) -> Sequence[object]:
        """The chains that can't be solved if the unit fails."""
        return ()


class PrePassUnit(Unit):
    """A pre-pass bone."""

    plan: PrePassBone

    def read(self, scene: Snapshot) -> object | None:
        """Return the inputs of the bone; None if the bone is off."""
        return self.plan.read(scene)

    def solve(self, scene: Snapshot, inputs: object) -> SolveResult:
        """Return the solution of the bone."""
        return self.plan.solve(scene, inputs)

    @property
    def dependent(self) -> Sequence[object]:
        """The chains that the bone serves."""
        return self.plan.chains
