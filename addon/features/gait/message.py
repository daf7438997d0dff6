"""The status messages of a walk."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist

import bpy

from fabrik_solver.motion.footfall import Footfall
from fabrik_solver.motion.stride import LOSE

from ...blender.errors import listed
from ...blender.messages import msg
from ...blender.skeleton import matrix_frame
from ...plan.chain_plan import ChainPlan
from ...settings.properties import settings
from ..simulation import history
from .editing import problem_of
from .gait_plan import plans_of
from .sampling import stored_walk
from .settings import gait_settings

SHORTEST = 2.0
"""Duration of a step, in frames, below which possibly no frame shows the foot lifted."""

MISSED = 2e-3
"""The foot error above which it is reported, as a fraction of the leg's length."""


def status_message(armature: bpy.types.Object, index: int) -> str:
    """Return a walk's status message; empty if all is well."""
    if problem := problem_of(armature, index):
        return problem
    if not gait_settings(armature).gaits[index].enabled:
        return ""
    owner = f"fabrik.gaits[{index}]"
    record = history.data(armature, owner)
    if record is None:
        unknown = msg("The steps aren't simulated: press Simulate")
        return history.why_missing(armature, owner, unknown)
    walked = stored_walk(record.blob)
    if walked is None or not record.is_fresh:
        return msg("Simulation is outdated: press Simulate")
    return _steps_message(armature, index, walked[0].falls)


def _steps_message(
    armature: bpy.types.Object, index: int, falls: Sequence[Sequence[Footfall]]
) -> str:
    """Return the status message about a walk's steps."""
    steps = [fall for leg_falls in falls for fall in leg_falls]
    hanging = [fall for fall in steps if not fall.has_ground]
    if overstretched := _overstretched(armature, index):
        return overstretched
    if len(hanging) == len(steps):
        return msg(
            "No ground is within reach, so the feet walk on a plane at their rest-pose height: add "
            "ground, or choose other ground"
        )
    if all(len(leg_falls) == 1 for leg_falls in falls):
        gait = gait_settings(armature).gaits[index]
        body = msg("“{body}”", body=gait.body) if gait.body else msg("the armature")
        return msg("The body doesn't move: animate {body} to make the legs walk", body=body)
    return _out_of_reach(armature, index) or _wrong_steps(steps, hanging)


def _wrong_steps(steps: Sequence[Footfall], hanging: Sequence[Footfall]) -> str:
    """Return a sentence about steps without ground or with too little time; otherwise empty."""
    if hanging:
        first = min(fall.lift for fall in hanging)
        return msg(
            "Steps without ground: {count}, the first at frame {first:.0f}. Increase Ray Height, "
            "or move the body closer to the ground",
            count=len(hanging),
            first=first,
        )
    hurried = [fall for fall in steps if 0.0 < fall.land - fall.lift < SHORTEST]
    if hurried:
        first = min(fall.lift for fall in hurried)
        return msg(
            "Steps of less than two frames: {count}, the first at frame {first:.0f}. Slow the body "
            "down, or choose a Pattern with more legs stepping together",
            count=len(hurried),
            first=first,
        )
    return ""


def walk_notes(armature: bpy.types.Object) -> list[str]:
    """Return the status messages of an armature's walks."""
    gaits = gait_settings(armature).gaits
    messages = [(gait.name, status_message(armature, i)) for i, gait in enumerate(gaits)]
    notes = [msg("“{name}”: {said}", name=name, said=status) for name, status in messages if status]
    return [*notes, *leg_notes(armature)]


def leg_notes(armature: bpy.types.Object) -> list[str]:
    """Return the notes on the constraints of enabled walks."""
    gaits = gait_settings(armature).gaits
    plans = [plan for plan in plans_of(armature) if gaits[plan.index].enabled]
    return [leg.chain.note for plan in plans for leg in plan.legs if leg.chain.note]


def _overstretched(armature: bpy.types.Object, index: int) -> str:
    """Return a message about legs that can't reach a step, if the body can't sink."""
    walk = plans_of(armature)[index]
    legs = [] if walk.leans else walk.measured(matrix_frame(armature.matrix_world))
    names = [
        walked.chain.name
        for leg, walked in zip(legs, walk.legs, strict=False)
        if dist(leg.rest, leg.root) >= LOSE * leg.reach
    ]
    if not names:
        return ""
    return msg(
        "Fully stretched in the rest pose, so no step is within reach: {names}. Choose a parent of "
        "these legs as Body, or bend the legs in the rest pose",
        names=listed(names),
    )


def _out_of_reach(armature: bpy.types.Object, index: int) -> str:
    """Return a message about feet out of reach at the current frame, if any."""
    if gait_settings(armature).gaits[index].influence < 1.0:
        return ""
    names = [leg.chain.name for leg in plans_of(armature)[index].legs if _is_off(leg.chain)]
    if not names:
        return ""
    return msg(
        "The feet of {names} are out of reach at this frame: widen their joint limits, move "
        "their rest positions closer, or decrease Threshold",
        names=listed(names),
    )


def _is_off(chain: ChainPlan) -> bool:
    rig = chain.rig
    item = settings(rig.object).constraints[chain.item]
    size = sum(rig.bone(bone).length for bone in chain.bones) * rig.object.matrix_world.median_scale
    is_off = item.state in ("LIMITED", "OUT_OF_REACH") and item.error > MISSED * size
    return is_off and item.enabled and item.influence == 1.0
