"""What poses a chain instead of a solver that reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...core import ChainInput, Frame, Posture
from ...core.vectors import Vec
from ..chain_plan import ChainPlan, Report

if TYPE_CHECKING:
    from ..properties import FabrikConstraint
    from ..read import Snapshot


class Scenery(NamedTuple):
    """What every motion is told besides its own settings.

    Attributes:
        world: Where the armature stands in world space.
        to_armature: The frame of world space in the armature's.
        target: The target in world space; the armature's origin if the chain has none.
        influence: How far the chain follows, from 0 to 1.
        tolerance: How near is near enough, as a share of the chain's length.
    """

    world: Frame
    to_armature: Frame
    target: Vec
    influence: float
    tolerance: float


class Posed(NamedTuple):
    """How a chain stands, and what its constraint says of it.

    Attributes:
        posture: The chain.
        report: What is shown of it.
        location: The local location of its first bone, None if that keeps its place.
    """

    posture: Posture
    report: Report
    location: Vec | None = None


class Motion(NamedTuple):
    """One kind of motion, known by the constraint's solver.

    Attributes:
        needs_target: Whether it cannot work without a target.
        resolve: Completes the plan of a chain from its constraint; raises `ProblemError` if that
            cannot work.
        read: Returns what the solution depends on besides the chain and `Scenery`: settings as
            evaluated, times, places. Compared with ``==``, to the last bit.
        pose: Returns how the chain stands, from its input, the scenery and what was read.
    """

    needs_target: bool
    resolve: Callable[[ChainPlan, FabrikConstraint], None]
    read: Callable[[Snapshot, ChainPlan], object]
    pose: Callable[[ChainInput, Scenery, object], Posed]
