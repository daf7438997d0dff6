"""Base of operators that add a constraint: the active bone and the selected target."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..blender.errors import ProblemError
from ..blender.messages import COMMA, joined, msg
from ..editing import constraints as editing
from ..loop.properties import FabrikConstraint
from .refusing import Working, armature_refusal

MOTION_OPERATORS: list[tuple[str, str]] = []
"""The operators of the menu Add Motion, and their labels there."""

Target = tuple[bpy.types.Object, str]
"""An object and the name of its bone, empty for the object itself."""


def selected_targets(context: bpy.types.Context) -> list[Target]:
    """Return the selected bones besides the active one; without any, the selected objects."""
    tip: Any = context.active_pose_bone
    bones: list[Target] = [
        (cast(bpy.types.Object, bone.id_data), bone.name)
        for bone in context.selected_pose_bones or ()
        if (bone.id_data, bone.name) != (tip.id_data, tip.name)
    ]
    return bones or [(ob, "") for ob in context.selected_objects if ob.mode != "POSE"]


TIP = msg("the tip bone")
"""The default name of the active bone in messages."""


def chosen_target(
    context: bpy.types.Context, active: str = TIP
) -> tuple[bpy.types.Object | None, str]:
    """Return the selected target, None and an empty name without one.

    Args:
        context: The context.
        active: The name of the active bone in messages.

    Raises:
        ProblemError: If several targets are selected.
    """
    targets = selected_targets(context)
    if len(targets) > 1:
        names = joined(COMMA, [msg("“{bone}”", bone=bone or ob.name) for ob, bone in targets[:4]])
        raise ProblemError(
            "Select one target in addition to {active}, not {count}: {names}",
            active=active,
            count=len(targets),
            names=names,
        )
    return targets[0] if targets else (None, "")


def tip_refusal(context: bpy.types.Context, active: str = TIP) -> str:
    """Ask for Pose Mode and an active bone, given its name in messages."""
    reason = armature_refusal(context)
    if reason:
        return reason
    if context.mode != "POSE":
        return msg("Enter Pose Mode with {active} active", active=active)
    if context.active_pose_bone is None:
        return msg("Click {active} to make it active", active=active)
    return ""


class AddMotionOperator(Working):
    """An operator that adds a motion to the chain of the active bone."""

    asks = (tip_refusal,)


def add_with_target(context: bpy.types.Context, solver: str) -> tuple[FabrikConstraint, str]:
    """Add a constraint with the chosen target, and return it with the target's name."""
    tip: Any = context.active_pose_bone
    item = editing.add(tip.id_data, tip.name, *chosen_target(context), solver=solver)
    assert item.target is not None
    return item, item.subtarget or item.target.name
