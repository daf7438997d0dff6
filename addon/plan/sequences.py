"""The order of solving at a frame, where what holds what changes over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any, NamedTuple

Unit = Any
"""One of `chain_plan`, which this does not import: the plan of the file contains its orders."""

Needs = Mapping[Unit, set[Unit]]
"""By unit, those that must be solved before it."""


def in_order(units: Sequence[Unit], needs: Needs) -> list[Unit]:
    """Return units, each after its dependencies and otherwise as they are.

    Raises:
        CycleError: If there is a cycle.
    """
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    place = {unit: i for i, unit in enumerate(units)}
    ready: list[int] = []
    found: list[Unit] = []
    while sorter.is_active():
        for unit in sorter.get_ready():
            heappush(ready, place[unit])
        found.append(units[heappop(ready)])
        sorter.done(found[-1])
    return found


class Sequenced(NamedTuple):
    """An order of solving.

    Attributes:
        units: What is solved, in this order: units, and batches of them (see `UnitPlan.batch`).
        refused: Units that depend on themselves in their state: they are not solved.
    """

    units: list[Unit]
    refused: set[Unit]


class Sequences:
    """The orders of the units of a plan, one for each combination of their states.

    A dependency cycle over the whole of a shot need not be one at any of its frames.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        needs: Needs,
        by_state: Mapping[Unit, Sequence[set[Unit]]],
    ) -> None:
        """Start without any.

        Args:
            units: All units, in the order in which they are solved if none is in a state.
            needs: What those that can be solved always need.
            by_state: What those that have states need besides in each of them.
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
        now = {
            unit: needed[state]
            for (unit, needed), state in zip(self._by_state.items(), states, strict=True)
        }
        solved = [unit for unit in self._units if unit in self._needs]
        others = [unit for unit in self._units if unit not in self._needs]
        refused: set[Any] = set()
        while True:
            needs = dict(self._needs)
            for unit, needed in now.items():
                needs[unit] = needs[unit] | needed
            try:
                ordered = [unit for unit in in_order(solved, needs) if unit not in refused]
                return Sequenced([*self._in_batches(ordered, needs), *others], refused)
            except CycleError as error:
                cycle: list[Unit] = error.args[1]
                unit = next(one for one in now if one in cycle)
                refused.add(unit)
                del now[unit]

    def _in_batches(self, ordered: Sequence[Unit], needs: Needs) -> Iterator[Unit]:
        """Yield units in an order, each as early as the last batch that it can be solved in."""
        steps: list[list[Unit]] = []
        step_of: dict[Unit, int] = {}
        last: dict[object, int] = {}
        for unit in ordered:
            kind = unit.batch, unit.rig.uid
            step = last.get(kind, -1) if unit.batch else -1
            # What it needs must be solved before the batch.
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
