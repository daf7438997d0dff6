"""Adding ropes, free chains and waves: what makes a whole chain move by itself."""

from __future__ import annotations

from typing import Any

import bpy

from ..binding import editing
from ..binding.properties import FabrikConstraint
from .operators import chosen_target, tip_refusal
from .refusing import Working


class AddingMotion(Working):
    """An operator that lets the whole chain of the active bone move in some way."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for Pose Mode and an active bone."""
        return tip_refusal(context)


def _led(context: bpy.types.Context, solver: str) -> tuple[FabrikConstraint, str]:
    """Add a constraint with the chosen target, and return it with the target's name."""
    tip: Any = context.active_pose_bone
    item = editing.add(tip.id_data, tip.name, *chosen_target(context), solver=solver)
    assert item.target is not None
    return item, item.subtarget or item.target.name


class FABRIK_OT_rope_add(AddingMotion, bpy.types.Operator):
    """Hang a chain between its root and a target."""

    bl_idname = "fabrik.rope_add"
    bl_label = "Add Rope"
    bl_description = (
        "Let the whole chain that ends at the active bone hang between its root and the other "
        "selected bone or object. With no other one selected it hangs on a new Empty at its tip"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraint."""
        item, target = _led(context, "ROPE")
        return f"“{item.bone}” hangs on “{target}”"


class FABRIK_OT_follow_add(AddingMotion, bpy.types.Operator):
    """Let the active bone lead its chain."""

    bl_idname = "fabrik.follow_add"
    bl_label = "Add Free Chain"
    bl_description = (
        "Let the active bone, as the head, follow the other selected bone or object, or a new "
        "Empty where its tip is, and drag all bones above it along: a snake, a train, a tail that "
        "was let go"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraint."""
        item, target = _led(context, "FOLLOW")
        return f"“{item.bone}” is led by “{target}”: simulate it"


class FABRIK_OT_wave_add(AddingMotion, bpy.types.Operator):
    """Let a chain wave."""

    bl_idname = "fabrik.wave_add"
    bl_label = "Add Wave"
    bl_description = (
        "Let the whole chain that ends at the active bone wave, on top of its pose and of the "
        "constraints that it has by now"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraint."""
        tip: Any = context.active_pose_bone
        item = editing.add(tip.id_data, tip.name, solver="WAVE")
        return f"The chain of “{item.bone}” waves"


CLASSES = (FABRIK_OT_rope_add, FABRIK_OT_follow_add, FABRIK_OT_wave_add)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
