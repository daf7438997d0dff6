"""The problems of a hold, as shown in the list."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import bpy

from ...blender.messages import Message, msg
from ...plan import planner
from ...plan.plan import Plan
from ..simulation import history
from .problems import connected, missing, removed, unlinked
from .record import OWNER


def cycle_message(holder: str, bone: str) -> Message:
    """Return the message that a bone follows the holder, so the holder can't hold it."""
    return msg(
        "“{holder}” follows “{bone}” at this frame and can't hold it: choose another holder, or "
        "release “{holder}” first",
        holder=holder,
        bone=bone,
    )


def fixed_note(bone: str, frame: float) -> Message:
    """Return the note that a control's own channels are ignored from a frame on."""
    return msg(
        "“{bone}” is fixed to its holder from frame {frame:g} on: to move or key it, enable Own "
        "Animation in the Holds panel",
        bone=bone,
        frame=frame,
    )


def message_of(hold: bpy.types.PropertyGroup) -> str:
    """Return the problem of a hold and its solution; empty if it works."""
    armature: Any = hold.id_data
    plan = planner.known()
    if plan is None:
        return ""
    index = [*armature.fabrik.holds].index(hold)
    held = _planned(plan, armature, index)
    if held is None:
        return _unplanned(hold)
    scene = cast(bpy.types.Scene, bpy.context.scene)
    if cycle := _cycle(plan, held, scene.frame_current_final):
        return cycle
    numbers = {record.holder for record in held.records.of(index)}
    if numbers & held.lost:
        return str(removed(cast(Any, hold).bone))
    stored = history.data(armature, OWNER)
    if stored is None:
        return history.why_missing(armature, OWNER)
    if not stored.is_fresh:
        return msg("Simulation is outdated: press Simulate")
    return held.note or _unseen(hold, numbers)


def _unseen(hold: Any, numbers: Collection[int]) -> str:
    """Return the message about a holder that isn't in any scene; empty if all are."""
    for holder in (hold.holders[number - 1] for number in numbers if number > 0):
        if holder.object is not None and not holder.object.users_scene:
            return str(unlinked(holder.object.name, hold.name))
    return ""


def _cycle(plan: Plan, held: Any, frame: float) -> str:
    """Return the message that a bone would hold itself at a frame; empty if it wouldn't."""
    if held not in plan.sequences.at(frame).refused:
        return ""
    point = held.states[held.state_at(frame)][-1]
    holder = point.object.name
    if point.skeleton is not None:
        holder = point.skeleton.names[point.bone]
    return cycle_message(holder, held.rig.names[held.bone])


def _planned(plan: Plan, armature: bpy.types.Object, index: int) -> Any | None:
    uid = armature.session_uid
    for bone in plan.by_state:
        if bone.rig.uid == uid and getattr(bone, "index", -1) == index:
            return bone
    return None


def _unplanned(hold: Any) -> str:
    """Return why a hold isn't part of the plan."""
    armature = hold.id_data
    bones = armature.data.bones
    if hold.bone not in bones:
        return str(missing(hold.bone, armature))
    if bones[hold.bone].use_connect and bones[hold.bone].parent is not None:
        return str(connected(hold.bone))
    return ""
