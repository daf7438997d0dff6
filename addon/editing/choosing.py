"""Finding constraints of an armature."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ..blender.access import session_uid
from ..loop import plan
from ..loop.chain_plan import ChainPlan
from ..loop.properties import settings


def chains_in(armature: bpy.types.Object) -> list[ChainPlan]:
    """Return the constraints of an armature, resolved."""
    uid = session_uid(armature)
    return [chain for chain in plan.current().chains if chain.rig.uid == uid]


def is_on(chain: ChainPlan) -> bool:
    """Return whether a constraint has an effect at the current frame."""
    item = settings(chain.rig.object).constraints[chain.item]
    return item.enabled and item.influence > 0.0


def that_pose(armature: bpy.types.Object, bones: Collection[str]) -> list[int]:
    """Return the indices of the constraints that pose any of the bones, or end at one."""
    return sorted(
        chain.item
        for chain in chains_in(armature)
        if any(chain.rig.names[i] in bones for i in (*chain.bones, chain.tip_bone) if i >= 0)
    )
