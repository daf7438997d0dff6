"""The operators that convert between native IK constraints and ours."""

from __future__ import annotations

from typing import Any

import bpy

from ...blender.errors import listed
from ...blender.messages import counted, joined, msg
from ...settings.definitions import defined
from ...ui.choosing import WHICH_ITEMS, chosen, selected
from ...ui.refusing import (
    Working,
    active_armature,
    active_refusal,
    armature_refusal,
    rest_refusal,
    tweak_refusal,
)
from ...ui.registering import registering
from ...ui.wording import length_text
from .convert import Conversion, convert_from_blender, convert_to_blender


class Converting(Working):
    """Base of both conversion operators."""

    def report_of(self, context: bpy.types.Context, conversion: Conversion) -> str:
        """Return the report of a conversion, and show its notes as warnings."""
        self.warn(conversion.notes)
        text = msg(
            "Converted {count}",
            count=counted(len(conversion.names), "{count} constraint", "{count} constraints"),
        )
        moved = length_text(context.scene, conversion.moved)
        more = msg(": see the Info editor for details") if conversion.notes else ""
        if conversion.off:
            self.severity = "WARNING"
            why = msg(", because {names} couldn't be matched", names=listed(conversion.off))
            more = joined("", (why, more))
        return msg(
            "{what}; the pose changed by {moved} at most{more}", what=text, moved=moved, more=more
        )


def _native_refusal(context: bpy.types.Context) -> str:
    pose: Any = active_armature(context).pose
    if pose and not any(con.type == "IK" for bone in pose.bones for con in bone.constraints):
        return msg("The armature has no Inverse Kinematics constraint")
    return ""


class FABRIK_OT_convert_from_blender(Converting, bpy.types.Operator):
    """Convert native IK constraints to ours."""

    bl_idname = "fabrik.convert_from_blender"
    bl_label = "Convert from Blender's IK"
    bl_description = (
        "Convert Blender's Inverse Kinematics constraints to FABRIK IK, with keys and drivers, "
        "and keep the pose. Report settings without an equivalent"
    )
    asks = (armature_refusal, rest_refusal, tweak_refusal, _native_refusal)

    which: str = defined(
        "Constraints",
        "Inverse Kinematics constraints to convert",
        items=(
            ("SELECTED", "Selected Bones", "Constraints of the selected bones"),
            ("ALL", "All", "All constraints of the armature"),
        ),
        default="ALL",
    )

    def work(self, context: bpy.types.Context) -> str:
        """Convert the constraints."""
        armature = active_armature(context)
        bones = selected(context, armature) if self.which == "SELECTED" else None
        return self.report_of(context, convert_from_blender(armature, bones))


class FABRIK_OT_convert_to_blender(Converting, bpy.types.Operator):
    """Convert our constraints to native IK constraints."""

    bl_idname = "fabrik.convert_to_blender"
    bl_label = "Convert to Blender's IK"
    bl_description = (
        "Convert FABRIK IK constraints to Blender's Inverse Kinematics, with keys and drivers, "
        "and keep the pose. Report settings without an equivalent"
    )
    asks = (active_refusal, rest_refusal, tweak_refusal)

    which: str = defined("Constraints", "Constraints to convert", items=WHICH_ITEMS, default="ALL")

    def work(self, context: bpy.types.Context) -> str:
        """Convert the constraints."""
        armature = active_armature(context)
        indices = chosen(context, armature, self.which)
        return self.report_of(context, convert_to_blender(armature, indices))


register, unregister = registering(__name__)
