"""Goals that are changed before a chain is solved, as by the ground under a foot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...core import point_in
from ...core.vectors import Mat3, Vec, mat_product, mat_upright
from ..chain_plan import ProblemError
from ..skeleton import Point

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


def aim_of(moment: Snapshot, chain: ChainPlan) -> Aim:
    """Return where the target of a chain wants its tip, before anything changes that.

    A chain without a target has the armature's origin.

    Raises:
        ProblemError: If the target has no orientation to take.
    """
    if chain.target is None:
        return Aim(moment.world(chain.rig.object, chain.rig.uid)[1], None)
    if chain.has_hand or chain.offset is not None:
        return _aim(moment, chain, chain.target)
    return Aim(moment.point(chain.target), None)


def _aim(moment: Snapshot, chain: ChainPlan, target: Point) -> Aim:
    frame = moment.place(target)
    place = frame[1] if chain.offset is None else point_in(frame, chain.offset[1])
    if not chain.has_hand:
        return Aim(place, None)
    axes = mat_upright(frame[0])
    if axes is None:
        name = target.object.name if target.skeleton is None else target.skeleton.names[target.bone]
        raise ProblemError(
            f"“{name}” is scaled to nothing and so has no orientation: give it a scale, "
            "or turn off Match Target"
        )
    return Aim(place, axes if chain.offset is None else mat_product(axes, chain.offset[0]))
