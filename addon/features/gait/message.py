"""What is to be said of a walk: why it cannot, or what it lacks."""

from __future__ import annotations

import bpy

from ...blender.errors import listed
from ...loop.chain_plan import ChainPlan
from ...loop.properties import settings
from ..simulation import history
from .body import known
from .editing import problem_of
from .gait_plan import plans_of
from .settings import gait_settings

MISSED = 2e-3
"""By so much of its length a leg may be off its foothold before that is said."""


def status_message(armature: bpy.types.Object, index: int) -> str:
    """Return a sentence on a walk, empty if there is nothing to say."""
    if problem := problem_of(armature, index):
        return problem
    if not gait_settings(armature).gaits[index].enabled:
        return ""
    owner = f"fabrik.gaits[{index}]"
    found = history.data(armature, owner)
    if found is None:
        return history.lack(armature, owner, "The steps are not simulated: press Simulate")
    walked = known(found.blob)
    if walked is None or not found.is_fresh:
        return "Simulation is outdated: press Simulate"
    falls = walked[0].falls
    hanging = [fall for own in falls for fall in own if not fall.is_held]
    if len(hanging) == sum(map(len, falls)):
        return "No ground is within reach of the feet: add ground there, or choose another one"
    if all(len(own) == 1 for own in falls):
        gait = gait_settings(armature).gaits[index]
        body = f"“{gait.body}”" if gait.body else "the armature"
        return f"The body does not move: animate {body} to make the legs walk"
    if missed := _missed(armature, index):
        return missed
    if hanging:
        first = min(fall.lift for fall in hanging)
        return (
            f"{len(hanging)} of the steps have no ground, the first at frame {first:.0f}. "
            "Increase Ray Height, or move the body closer to the ground"
        )
    return ""


def _missed(armature: bpy.types.Object, index: int) -> str:
    """Return which legs do not come to their feet at the present frame, empty if all do."""
    if gait_settings(armature).gaits[index].influence < 1.0:
        return ""
    names = [leg.chain.name for leg in plans_of(armature)[index].legs if _is_off(leg.chain)]
    if not names:
        return ""
    return (
        f"At this frame the feet of {listed(names)} are out of reach: widen the joint limits, "
        "move the rest places of the feet closer to the legs, or decrease Threshold"
    )


def _is_off(chain: ChainPlan) -> bool:
    rig = chain.rig
    item = settings(rig.object).constraints[chain.item]
    size = sum(rig.bone(bone).length for bone in chain.bones) * rig.object.matrix_world.median_scale
    is_off = item.state in ("LIMITED", "OUT_OF_REACH") and item.error > MISSED * size
    return is_off and item.enabled and item.influence == 1.0
