"""Dragging a bone moves the target of its chain, or poses the chain in FK.

This works without a window. Cancelling a drag restores all values exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import dist
from typing import Protocol, runtime_checkable

import bpy

from fabrik_solver.core.vectors import Mat3, Vec

from ...blender.errors import ProblemError
from ...blender.messages import msg, recalled
from ...blender.moving import refuse_held
from ...blender.refusals import linked_problem
from ...blender.skeleton import Point, Skeleton, skeleton_of
from ...editing.constraints import is_on
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.planner import chains_in
from ...settings.properties import settings
from .chain import ChainDrag
from .target import TargetDrag


class Drag(Protocol):
    """A drag of a bone.

    Attributes:
        place: Location of the dragged point at the start of the drag, in world space.
        axes: Unit axes of what is dragged in world space, in columns.
        name: Name of what is dragged.
        tip_start: Location of what follows at the start of the drag, in world space.
    """

    place: Vec
    axes: Mat3
    name: str
    tip_start: Vec

    @property
    def state(self) -> str:
        """The state of what follows."""
        ...

    def move_by(self, displacement: Vec) -> None:
        """Drag in world space, relative to the start of the drag."""
        ...

    def confirm(self) -> str:
        """Keep the pose, and key it if auto-keying is on; return a note for the user."""
        ...

    def tip(self) -> Vec:
        """Return the evaluated location of what follows, in world space."""
        ...

    def cancel(self) -> None:
        """Restore the values of the start of the drag."""
        ...


@runtime_checkable
class PinningDrag(Protocol):
    """A drag that can pin what is dragged."""

    def next_pin(self) -> None:
        """Pin the dragged bone in the next way, or free it."""
        ...


@runtime_checkable
class FollowingDrag(Protocol):
    """A drag that costs less while the mouse moves, if what is dragged may lag a little then."""

    def follow(self, displacement: Vec) -> None:
        """Drag in world space, relative to the start of the drag, nearly there."""
        ...

    def settle(self) -> None:
        """Drag the rest of the way."""
        ...


WAYS: list[Callable[[bpy.types.Object, str, bool], Drag | None]] = []
"""Other ways to drag a bone of an armature, which features add; each may leave it to the next.

The last argument is whether the user has asked for the whole body.
"""

WHY_SHORT = {
    "OUT_OF_REACH": msg("it is out of reach"),
    "LIMITED": msg("joint limits hold it back"),
}
"""Why a tip has not followed the mouse, by state."""


def shortfall(dragged: Drag) -> tuple[float, str]:
    """Return how far the tip has moved, in metres, and why that is less than it was dragged.

    The reason is empty if the tip has followed.
    """
    return dist(dragged.tip_start, dragged.tip()), WHY_SHORT.get(dragged.state, "")


def begin(
    armature: bpy.types.Object,
    bone: str,
    selected: Collection[str] = (),
    as_fk: bool = False,
    whole_body: bool = False,
) -> Drag:
    """Start dragging a bone.

    If an active constraint poses it, or it is the hand at the tip of its chain, the target of the
    constraint moves; of several constraints, that with the nearest tip, then the active one.
    Otherwise its parents follow in FK, up to the topmost selected one or the first one that a
    constraint poses.

    Args:
        armature: The armature object, in Pose Mode.
        bone: The bone.
        selected: The selected bones of the armature.
        as_fk: Whether a hand at the tip of a chain is posed in FK instead.
        whole_body: Whether the whole body follows, where it can.

    Raises:
        ProblemError: If it cannot be dragged.
    """
    if problem := linked_problem(armature):
        raise ProblemError(problem)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    planner.discard_if_outdated()
    rig = skeleton_of(armature)
    if bone not in rig.index:
        raise ProblemError(
            "There is no bone “{name}” in “{object}”: choose another bone",
            name=bone,
            object=armature.name,
        )
    refuse_held(Point(armature, rig, rig.index[bone]))
    chains = [chain for chain in chains_in(armature) if is_on(chain)]
    chain = _posing(chains, rig.index[bone])
    if chain is None and not as_fk:
        chain = _carrying(chains, rig.index[bone])
    if chain is not None and chain.target is not None and _is_tip(chain, rig.index[bone]):
        refuse_held(chain.target)
    for way in () if as_fk else WAYS:
        dragged = way(armature, bone, whole_body)
        if dragged is not None:
            return dragged
    if chain is None:
        posed = {i for other in chains if not _problem(other) for i in other.bones}
        return ChainDrag(depsgraph, armature, _free_chain(rig, bone, posed, selected))
    problem = _problem(chain)
    if problem or chain.target is None:
        raise ProblemError(
            problem or msg("“{chain}” has no target to drag: drag another bone", chain=chain.name)
        )
    return TargetDrag(depsgraph, chain, chain.target)


def _problem(chain: ChainPlan) -> str:
    """Return why an active constraint does not pose its chain; empty if it does."""
    item = settings(chain.rig.object).constraints[chain.item]
    return chain.problem or (recalled(item.message) if item.state == "INVALID" else "")


def _posing(chains: list[ChainPlan], bone: int) -> ChainPlan | None:
    """Return the constraint to drag a bone with; None if none poses it."""
    posing = [chain for chain in chains if bone in (*chain.bones, chain.tip_bone)]
    if not posing:
        return None
    active = settings(posing[0].rig.object).active_index
    return min(
        posing,
        key=lambda chain: (
            not chain.kind.needs_target,
            _bones_to_tip(chain, bone),
            chain.item != active,
        ),
    )


def _carrying(chains: list[ChainPlan], bone: int) -> ChainPlan | None:
    """Return the constraint whose tip carries a bone as its hand or foot; None if there is none.

    That is the child that begins closest to the tip. Fingers, which hang on a hand that the
    constraint orients, are posed in FK.
    """
    for chain in chains:
        if chain.has_hand or chain.tip_bone >= 0 or not chain.kind.places_tip or not chain.bones:
            continue
        rig, last = chain.rig, chain.bones[-1]
        end = (0.0, rig.bone(last).length, 0.0)
        nearest = min(rig.children[last], key=lambda i: dist(rig.bone(i).head, end), default=-1)
        if bone == nearest:
            return chain
    return None


def _is_tip(chain: ChainPlan, bone: int) -> bool:
    """Return whether a bone is at the tip of a chain, or the hand or foot that this carries."""
    return bone not in chain.bones[:-1]


def _bones_to_tip(chain: ChainPlan, bone: int) -> int:
    """Return the number of bones from one bone to the tip of a chain."""
    bones = chain.bones if chain.tip_bone in (-1, *chain.bones) else [*chain.bones, chain.tip_bone]
    return len(bones) - bones.index(bone)


def _free_chain(
    rig: Skeleton, bone: str, posed: Collection[int], selected: Collection[str]
) -> list[int]:
    """Return the bones to pose in FK when a bone is dragged, root first."""
    up = rig.chain_up(rig.index[bone])
    start = max((index + 1 for index, i in enumerate(up) if i in posed), default=0)
    above = [index for index in range(start, len(up) - 1) if rig.names[up[index]] in selected]
    return up[min(above, default=start) :]
