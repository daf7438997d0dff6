"""What operators that add a constraint have in common: the active bone, and what is selected."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..blender.errors import ProblemError
from ..editing import constraints as editing
from ..loop.properties import FabrikConstraint
from .refusing import Working, armature_refusal

MOTION_OPERATORS: list[tuple[str, str]] = []
"""The operators that add what moves by itself, and its name where the menu says that it adds."""

Target = tuple[bpy.types.Object, str]
"""An object, and a bone of it or an empty name."""


def selected_targets(context: bpy.types.Context) -> list[Target]:
    """Return the selected bones besides the active one; without any, the selected objects."""
    tip: Any = context.active_pose_bone
    bones: list[Target] = [
        (cast(bpy.types.Object, bone.id_data), bone.name)
        for bone in context.selected_pose_bones or ()
        if (bone.id_data, bone.name) != (tip.id_data, tip.name)
    ]
    return bones or [(ob, "") for ob in context.selected_objects if ob.mode != "POSE"]


TIP = "the tip bone"
"""What the active bone is."""


def chosen_target(
    context: bpy.types.Context, active: str = TIP
) -> tuple[bpy.types.Object | None, str]:
    """Return what is selected besides the active bone, None and an empty name if nothing is.

    Args:
        context: Where that is looked up.
        active: What the active bone is.

    Raises:
        ProblemError: If more than one is.
    """
    targets = selected_targets(context)
    if len(targets) > 1:
        names = ", ".join(f"“{bone or ob.name}”" for ob, bone in targets[:4])
        raise ProblemError(
            f"Select one target in addition to {active}, not {len(targets)}: {names}"
        )
    return targets[0] if targets else (None, "")


def tip_refusal(context: bpy.types.Context, active: str = TIP) -> str:
    """Ask for Pose Mode and an active bone, given what that is."""
    reason = armature_refusal(context)
    if reason:
        return reason
    if context.mode != "POSE":
        return f"Enter Pose Mode with {active} active"
    if context.active_pose_bone is None:
        return f"Click {active} to make it active"
    return ""


class AddingMotion(Working):
    """An operator that lets the whole chain of the active bone move in some way."""

    asks = (tip_refusal,)


def add_led(context: bpy.types.Context, solver: str) -> tuple[FabrikConstraint, str]:
    """Add a constraint with the chosen target, and return it with the target's name."""
    tip: Any = context.active_pose_bone
    item = editing.add(tip.id_data, tip.name, *chosen_target(context), solver=solver)
    assert item.target is not None
    return item, item.subtarget or item.target.name
