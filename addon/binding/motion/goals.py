"""Goals that are changed before a chain is solved, as by the ground under a foot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...core.vectors import Mat3, Vec

if TYPE_CHECKING:
    from ..chain_plan import ChainPlan
    from ..read import Snapshot


class Aim(NamedTuple):
    """Where a tip is wanted, and what is said of it.

    Attributes:
        place: The place in world space.
        axes: The orientation for the tip bone in world space, None if it takes none.
        note: What the user should know, empty if nothing.
    """

    place: Vec
    axes: Mat3 | None
    note: str = ""


class GoalSource(Protocol):
    """What changes the goal of a chain."""

    def goal(self, moment: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the goal that is solved for, given that of the constraint's target.

        Raises:
            ProblemError: If there can be none.
        """
        ...
