"""The order of solving at a frame, if dependencies such as held bones change over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any, NamedTuple

Unit = Any
"""A unit of `chain_plan`, which isn't imported here: the file's plan contains its sequences."""

Needs = Mapping[Unit, set[Unit]]
"""For each unit, the units that must be solved before it."""


def in_order(units: Sequence[Unit], needs: Needs) -> list[Unit]:
    """Return units in their order, changed only so that each comes after its dependencies.

    Raises:
        CycleError: If there is a cycle.
    """
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    position = {unit: i for i, unit in enumerate(units)}
    ready: list[int] = []
    ordered: list[Unit] = []
    while sorter.is_active():
        for unit in sorter.get_ready():
            heappush(ready, position[unit])
        ordered.append(units[heappop(ready)])
        sorter.done(ordered[-1])
    return ordered


class Sequenced(NamedTuple):
    """An order of solving.

    Attributes:
        units: The units and batches of units (see `UnitPlan.batch`), in solving order.
        refused: Units that depend on themselves in their state, and aren't solved.
    """

    units: list[Unit]
    refused: set[Unit]


class Sequences:
    """The orders of a plan's units, one for each combination of their states.

    A dependency cycle over a whole shot needn't be a cycle at any of its frames.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        needs: Needs,
        by_state: Mapping[Unit, Sequence[set[Unit]]],
    ) -> None:
        """Set the units and their needs; orders are made on demand.

        Args:
            units: All units, in solving order without any states.
            needs: For each valid unit, the units that it always needs.
            by_state: For each unit with states, its additional needs in each state.
        """
        self._units, self._needs, self._by_state = units, needs, by_state
        self._known: dict[tuple[int, ...], Sequenced] = {}
        self._batches: dict[tuple[Unit, ...], Unit] = {}

    def at(self, time: float) -> Sequenced:
        """Return the order at a frame."""
        states = tuple([unit.state_at(time) for unit in self._by_state])
        if states not in self._known:
            self._known[states] = self._ordered(states)
        return self._known[states]

    def _ordered(self, states: Sequence[int]) -> Sequenced:
        by_unit = {
            unit: needed[state]
            for (unit, needed), state in zip(self._by_state.items(), states, strict=True)
        }
        solved = [unit for unit in self._units if unit in self._needs]
        invalid = [unit for unit in self._units if unit not in self._needs]
        refused: set[Any] = set()
        while True:
            needs = dict(self._needs)
            for unit, needed in by_unit.items():
                needs[unit] = needs[unit] | needed
            try:
                ordered = [unit for unit in in_order(solved, needs) if unit not in refused]
                return Sequenced([*self._in_batches(ordered, needs), *invalid], refused)
            except CycleError as error:
                cycle: list[Unit] = error.args[1]
                unit = next(candidate for candidate in by_unit if candidate in cycle)
                refused.add(unit)
                del by_unit[unit]

    def _in_batches(self, ordered: Sequence[Unit], needs: Needs) -> Iterator[Unit]:
        """Yield units in an order, each as part of the last batch that can include it."""
        steps: list[list[Unit]] = []
        step_of: dict[Unit, int] = {}
        last: dict[object, int] = {}
        for unit in ordered:
            kind = unit.batch, unit.rig.uid
            step = last.get(kind, -1) if unit.batch else -1
            # Its needs must be solved before the batch.
            if any([step_of[need] >= step for need in needs[unit] if need in step_of]):
                step = -1
            if step < 0:
                step = last[kind] = len(steps)
                steps.append([])
            steps[step].append(unit)
            step_of[unit] = step
        for units in steps:
            batch, key = units[0].batch, tuple(units)
            if batch and key not in self._batches:
                self._batches[key] = batch(units)
            yield self._batches[key] if batch else units[0]
