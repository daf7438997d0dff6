"""Dragging a bone moves the target of its chain, or poses the chain in FK.

This works without a window. Cancelling a drag restores all values exactly.
"""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ...blender.errors import ProblemError
from ...blender.refusals import linked_problem
from ...blender.skeleton import Skeleton, skeleton_of
from ...editing.constraints import chains_in, is_on
from ...loop import plan
from ...loop.chain_plan import ChainPlan
from ...loop.properties import settings
from .chain import ChainDrag
from .target import TargetDrag

Drag = TargetDrag | ChainDrag


def begin(armature: bpy.types.Object, bone: str, selected: Collection[str] = ()) -> Drag:
    """Start dragging a bone.

    If an active constraint poses it, the target of the constraint moves; of several constraints,
    that with the nearest tip, then the active one. Otherwise its parents follow in FK, up to the
    topmost selected one or the first one that a constraint poses.

    Args:
        armature: The armature object, in Pose Mode.
        bone: The bone.
        selected: The selected bones of the armature.

    Raises:
        ProblemError: If it cannot be dragged.
    """
    if problem := linked_problem(armature):
        raise ProblemError(problem)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    plan.discard_if_outdated()
    rig = skeleton_of(armature)
    if bone not in rig.index:
        raise ProblemError(f"There is no bone “{bone}” in “{armature.name}”: choose another bone")
    chains = [chain for chain in chains_in(armature) if is_on(chain)]
    chain = _posing(chains, rig.index[bone])
    if chain is None:
        posed = {i for other in chains if not _problem(other) for i in other.bones}
        return ChainDrag(depsgraph, armature, _free_chain(rig, bone, posed, selected))
    problem = _problem(chain)
    if problem or chain.target is None:
        raise ProblemError(problem or f"“{chain.name}” has no target to drag: drag another bone")
    return TargetDrag(depsgraph, chain.target, chain.offset)


def _problem(chain: ChainPlan) -> str:
    """Return why an active constraint does not pose its chain; empty if it does."""
    item = settings(chain.rig.object).constraints[chain.item]
    return chain.problem or (item.message if item.state == "INVALID" else "")


def _posing(chains: list[ChainPlan], bone: int) -> ChainPlan | None:
    """Return the constraint to drag a bone with; None if none poses it."""
    posing = [chain for chain in chains if bone in (*chain.bones, chain.tip_bone)]
    if not posing:
        return None
    active = settings(posing[0].rig.object).active_index
    return min(
        posing,
        key=lambda chain: (
            chain.motion is not None and not chain.motion.needs_target,
            _bones_to_tip(chain, bone),
            chain.item != active,
        ),
    )


def _bones_to_tip(chain: ChainPlan, bone: int) -> int:
    """Return the number of bones from one bone to the tip of a chain."""
    bones = chain.bones if chain.tip_bone in (-1, *chain.bones) else [*chain.bones, chain.tip_bone]
    return len(bones) - bones.index(bone)


def _free_chain(
    rig: Skeleton, bone: str, posed: Collection[int], selected: Collection[str]
) -> list[int]:
    """Return the bones to pose in FK when a bone is dragged, root first."""
    up = rig.chain_up(rig.index[bone])
    start = max((place + 1 for place, i in enumerate(up) if i in posed), default=0)
    above = [place for place in range(start, len(up) - 1) if rig.names[up[place]] in selected]
    return up[min(above, default=start) :]
