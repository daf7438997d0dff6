"""Reasons why an object or its animation can't be changed, shared by all tools."""

from __future__ import annotations

from typing import cast

import bpy

from .access import is_edited
from .animation import active_holder
from .errors import ProblemError
from .messages import msg
from .offset_layers import edited_layer


def linked_problem(ob: bpy.types.Object) -> str:
    """Return why an object can't be changed; empty if it can."""
    if ob.is_editable:
        return ""
    return msg("“{object}” is linked: make a library override of it", object=ob.name)


def joints_problem(ob: bpy.types.Object) -> str:
    """Return why the joints of an armature object can't be changed; empty if they can."""
    data = cast("bpy.types.Armature", ob.data)
    if data.is_editable:
        return ""
    return msg(
        "“{data}” stores the joints of “{object}” and is linked: make a library override of it",
        data=data.name,
        object=ob.name,
    )


def rest_problem(armature: bpy.types.Object) -> str:
    """Return why an armature object doesn't show its pose; empty if it does."""
    data = cast("bpy.types.Armature", armature.data)
    if not is_edited(armature) and data.pose_position != "REST":
        return ""
    return msg(
        "“{armature}” is in rest position: leave Edit Mode, or switch the armature to Pose "
        "Position",
        armature=armature.name,
    )


def tweak_problem(ob: bpy.types.Object) -> str:
    """Return why tweak mode prevents changing an object's animation; empty if it doesn't."""
    data = ob.animation_data
    if data is None or not data.use_tweak_mode or edited_layer(ob) is not None:
        return ""
    return msg(
        "An action of “{object}” is in tweak mode in the NLA: exit tweak mode first (Tab)",
        object=ob.name,
    )


def action_problem(ob: bpy.types.Object) -> str:
    """Return why an object's active action takes no keys; empty if it takes keys or is missing."""
    holder = active_holder(ob)
    action = None if holder is None else holder.action
    if action is None or action.is_editable:
        return ""
    return msg(
        "The action “{action}” is linked: assign a local action to “{object}”",
        action=action.name,
        object=ob.name,
    )


def refuse_unkeyable(ob: bpy.types.Object) -> None:
    """Refuse an object that can't be keyed, or wouldn't have the keyed pose.

    Raises:
        ProblemError: If the object is refused; the message says why.
    """
    problem = tweak_problem(ob) or _strips_problem(ob) or action_problem(ob)
    if problem:
        raise ProblemError(problem)


def refuse_layered(ob: bpy.types.Object) -> None:
    """Refuse an object whose offset layer is on, before all its keys are changed.

    Raises:
        ProblemError: If the object's offset layer is on.
    """
    if edited_layer(ob) is not None:
        raise ProblemError(
            "“{object}” has an offset layer: turn it off, or merge it first", object=ob.name
        )


def _strips_problem(ob: bpy.types.Object) -> str:
    data = ob.animation_data
    if data is None or not data.use_nla or edited_layer(ob) is not None:
        return ""
    if not any(track.strips and not track.mute for track in data.nla_tracks):
        return ""
    return msg(
        "“{object}” has NLA strips that would mix with the new keys: mute their tracks, or bake "
        "them into its action first",
        object=ob.name,
    )
