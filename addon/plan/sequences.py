"""The order of solving at a frame, where what holds what changes over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        units: The units in this order.
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
                return Sequenced([*in_order(solved, needs), *others], refused)
            except CycleError as error:
                cycle: list[Unit] = error.args[1]
                unit = next(one for one in now if one in cycle)
                refused.add(unit)
                del now[unit]
