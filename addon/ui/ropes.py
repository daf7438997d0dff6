"""The buttons that make ropes and waves of chains."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..binding import editing
from .operators import chosen_target, tip_refusal
from .refusing import Working


class FABRIK_OT_rope_add(Working, bpy.types.Operator):
    """Hang a chain between its root and a target."""

    bl_idname = "fabrik.rope_add"
    bl_label = "Add FABRIK Rope"
    bl_description = (
        "Let the whole chain that ends at the active bone hang between its root and the other "
        "selected bone or object. With no other one selected it hangs on a new Empty at its tip"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for Pose Mode and an active bone."""
        return tip_refusal(context)

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraint."""
        tip: Any = context.active_pose_bone
        item = editing.add(tip.id_data, tip.name, *chosen_target(context), solver="ROPE")
        return f"“{item.bone}” hangs on “{item.subtarget or cast(Any, item.target).name}”"


class FABRIK_OT_wave_add(Working, bpy.types.Operator):
    """Let a chain wave."""

    bl_idname = "fabrik.wave_add"
    bl_label = "Add FABRIK Wave"
    bl_description = (
        "Let the whole chain that ends at the active bone wave, on top of its pose and of the "
        "constraints that it has by now"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for Pose Mode and an active bone."""
        return tip_refusal(context)

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraint."""
        tip: Any = context.active_pose_bone
        item = editing.add(tip.id_data, tip.name, solver="WAVE")
        return f"The chain of “{item.bone}” waves"


CLASSES = (FABRIK_OT_rope_add, FABRIK_OT_wave_add)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
