"""The buttons that make Blender's IK constraints ours, and ours Blender's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty

from ..binding.access import settings
from ..binding.chain_plan import ProblemError, listed
from ..binding.converting.convert import Conversion, convert_from_blender, convert_to_blender
from .draw import length_text
from .refusing import (
    Working,
    active_armature,
    active_refusal,
    armature_refusal,
    rest_refusal,
    tweak_refusal,
)

if TYPE_CHECKING:
    pass

SELECTED = ("SELECTED", "Selected Bones", "Those whose tip bones are selected")
ALL = ("ALL", "All", "All of the armature")


def _selected(context: bpy.types.Context) -> set[str]:
    """Return the names of the armature's selected bones."""
    bones: Any = context.selected_pose_bones or ()
    return {bone.name for bone in bones if bone.id_data == context.object}


class Converting(Working):
    """An operator that converts constraints, and says what came of it."""

    def said(self, context: bpy.types.Context, conversion: Conversion) -> str:
        """Return how many were converted and how far the pose went; report what is to be known."""
        self.warn(conversion.notes)
        count = len(conversion.names)
        what = f"Converted {count} constraint{'' if count == 1 else 's'}"
        moved = length_text(context.scene, conversion.moved)
        more = ": see the Info editor for what changed" if conversion.notes else ""
        if conversion.off:
            self.severity = "WARNING"
            moved += f", as {listed(conversion.off)} could not keep it"
        return f"{what}; the pose moved by at most {moved}{more}"


class FABRIK_OT_convert_from_blender(Converting, bpy.types.Operator):
    """Make Blender's IK constraints ours."""

    bl_idname = "fabrik.convert_from_blender"
    bl_label = "Convert from Blender's IK"
    bl_description = (
        "Make Blender's IK constraints FABRIK IK, with their keys and drivers, and keep the pose. "
        "What has no counterpart is reported"
    )
    bl_options = {"REGISTER", "UNDO"}

    if TYPE_CHECKING:
        which: str
    else:
        which: EnumProperty(
            name="Constraints",
            description="Which of Blender's IK constraints are converted",
            items=(SELECTED, ALL),
            default="ALL",
        )

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for an armature with an IK constraint of Blender's."""
        reason = armature_refusal(context) or rest_refusal(context) or tweak_refusal(context)
        pose: Any = active_armature(context).pose if not reason else None
        if pose and not any(con.type == "IK" for bone in pose.bones for con in bone.constraints):
            return "The armature has no Inverse Kinematics constraint of Blender's"
        return reason

    def work(self, context: bpy.types.Context) -> str:
        """Convert them."""
        bones = _selected(context) if self.which == "SELECTED" else None
        return self.said(context, convert_from_blender(active_armature(context), bones))


class FABRIK_OT_convert_to_blender(Converting, bpy.types.Operator):
    """Make our constraints Blender's."""

    bl_idname = "fabrik.convert_to_blender"
    bl_label = "Convert to Blender's IK"
    bl_description = (
        "Make FABRIK IK constraints Blender's Inverse Kinematics, with their keys and drivers, and "
        "keep the pose. What has no counterpart is reported"
    )
    bl_options = {"REGISTER", "UNDO"}

    if TYPE_CHECKING:
        which: str
    else:
        which: EnumProperty(
            name="Constraints",
            description="Which constraints are converted",
            items=(("ACTIVE", "Active", "The one whose settings are shown"), SELECTED, ALL),
            default="ALL",
        )

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a constraint."""
        return active_refusal(context) or rest_refusal(context) or tweak_refusal(context)

    def work(self, context: bpy.types.Context) -> str:
        """Convert them."""
        armature = active_armature(context)
        fabrik = settings(armature)
        tips = [item.bone for item in fabrik.constraints]
        chosen = {
            "ACTIVE": [fabrik.active_index],
            "SELECTED": [i for i, tip in enumerate(tips) if tip in _selected(context)],
            "ALL": list(range(len(tips))),
        }[self.which]
        if not chosen:
            raise ProblemError("No selected bone is the tip of a constraint: select one")
        return self.said(context, convert_to_blender(armature, chosen))


CLASSES = (FABRIK_OT_convert_from_blender, FABRIK_OT_convert_to_blender)


def draw_menu(menu: Any, _context: bpy.types.Context) -> None:
    """Add the operator to Pose > Inverse Kinematics."""
    menu.layout.operator("fabrik.convert_from_blender")


def register() -> None:
    """Add the operators and the menu entry."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    _menu().append(draw_menu)


def unregister() -> None:
    """Take them away."""
    _menu().remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)


def _menu() -> Any:
    return bpy.types.VIEW3D_MT_pose_ik
