"""The order of solving at a frame, where what holds what changes over time."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError
from typing import NamedTuple

from .chain_plan import UnitPlan
from .order import in_order
from .plan import Plan
from .pre_pass import PrePassBone


class Sequence(NamedTuple):
    """An order of solving.

    Attributes:
        units: The units in this order.
        refused: Pre-pass bones that depend on themselves in their state, each with the units that
            its state needs: they are not solved.
    """

    units: list[UnitPlan]
    refused: Mapping[UnitPlan, set[UnitPlan]]


class Sequences:
    """The orders of a plan, one for each combination of the states of its pre-pass bones.

    A dependency cycle over the whole of a shot need not be one at any of its frames.
    """

    def __init__(self, plan: Plan) -> None:
        """Start with the order of the plan itself."""
        self._plan = plan
        self._always = Sequence(plan.units, {})
        self._known: dict[tuple[int, ...], Sequence] = {}

    def at(self, time: float) -> Sequence:
        """Return the order at a frame."""
        by_state = self._plan.by_state
        if not by_state:
            return self._always
        states = tuple([bone.state_at(time) for bone in by_state])
        if states not in self._known:
            self._known[states] = self._ordered(dict(zip(by_state, states, strict=True)))
        return self._known[states]

    def _ordered(self, states: dict[PrePassBone, int]) -> Sequence:
        plan = self._plan
        refused: dict[UnitPlan, set[UnitPlan]] = {}
        while True:
            needs = dict(plan.needs)
            for bone, state in states.items():
                if bone not in refused:
                    needs[bone] = needs[bone] | plan.by_state[bone][state]
            ordered = [unit for unit in plan.units if unit in needs]
            try:
                ordered = in_order(ordered, needs)
            except CycleError as error:
                cycle: list[UnitPlan] = error.args[1]
                bone = next(one for one in states if one in cycle and one not in refused)
                refused[bone] = plan.by_state[bone][states[bone]]
                continue
            return Sequence([*ordered, *(one for one in plan.units if one not in needs)], refused)
