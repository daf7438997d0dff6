"""Operators that copy and mirror constraints and joints, and the Specials menu."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.refusals import joints_problem
from ...editing import copying
from ...settings.properties import settings
from ...ui.refusing import Working, active_armature, active_refusal
from ...ui.registering import registering
from ...ui.wording import named
from . import mirroring


def _bones_refusal(context: bpy.types.Context) -> str:
    if context.selected_pose_bones:
        return ""
    return msg("Enter Pose Mode and select the bones to copy the constraint to")


class FABRIK_OT_constraint_copy(Working, bpy.types.Operator):
    """Copy the active constraint to the selected bones."""

    bl_idname = "fabrik.constraint_copy"
    bl_label = "Copy to Selected Bones"
    bl_description = (
        "Copy the active constraint to each selected bone, with its settings and target"
    )
    asks = (active_refusal, _bones_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Copy the constraint."""
        armature = active_armature(context)
        selected: list[Any] = list(context.selected_pose_bones or ())
        bones = [bone for bone in selected if bone.id_data.is_editable]
        added, notes = copying.copy_constraint(armature, settings(armature).active_index, bones)
        self.warn(notes)
        return msg("Added {added}", added=named(added))


class FABRIK_OT_constraint_mirror(Working, bpy.types.Operator):
    """Mirror the active constraint to the other side."""

    bl_idname = "fabrik.constraint_mirror"
    bl_label = "Mirror to Other Side"
    bl_description = (
        "Mirror the active constraint to the bone on the other side (.L and .R), with its "
        "target, pole and joints. Add missing controls"
    )
    asks = (active_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Mirror the constraint."""
        armature = active_armature(context)
        name, is_new, notes = mirroring.mirror_constraint(armature, settings(armature).active_index)
        self.warn(notes)
        if is_new:
            return msg("Added “{name}” as the mirror image", name=name)
        return msg("Replaced “{name}” with its mirror", name=name)


def _joints_refusal(context: bpy.types.Context) -> str:
    if context.active_pose_bone is None:
        return msg("Enter Pose Mode and click the bone to copy the joint from")
    return ""


def _others_refusal(context: bpy.types.Context) -> str:
    if set(context.selected_pose_bones or ()) <= {context.active_pose_bone}:
        return msg("Select the bones to copy the joint to")
    return ""


def _linked_refusal(context: bpy.types.Context) -> str:
    return joints_problem(cast(Any, context.active_pose_bone).id_data)


class FABRIK_OT_joint_copy(Working, bpy.types.Operator):
    """Copy the active bone's joint to the selected bones."""

    bl_idname = "fabrik.joint_copy"
    bl_label = "Copy to Selected"
    bl_description = "Copy the joint of the active bone to the other selected bones"
    asks = (_joints_refusal, _others_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Copy the joint."""
        bones: list[Any] = list(context.selected_pose_bones or ())
        active = context.active_pose_bone
        problems = [joints_problem(bone.id_data) for bone in bones if bone != active]
        if all(problems):
            raise ProblemError(problems[0])
        editable = [bone for bone in bones if not joints_problem(bone.id_data)]
        names = copying.copy_joint(active, editable)
        return msg("Copied the joint to {names}", names=named(names))


class FABRIK_OT_joint_mirror(Working, bpy.types.Operator):
    """Mirror the joints of the selected bones to the other side."""

    bl_idname = "fabrik.joint_mirror"
    bl_label = "Mirror"
    bl_description = "Mirror the joints of the selected bones to the other side (.L and .R)"
    asks = (_joints_refusal, _linked_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Mirror the joints."""
        armature = active_armature(context)
        bones: Any = context.selected_pose_bones or [context.active_pose_bone]
        names = [bone.name for bone in bones if bone.id_data == armature]
        mirrored, notes = mirroring.mirror_joints(armature, names)
        self.warn(notes)
        return msg("Mirrored the joint to {mirrored}", mirrored=named(mirrored))


class FABRIK_MT_specials(bpy.types.Menu):
    """Less common operators for constraints."""

    bl_label = "FABRIK IK Specials"
    bl_description = "Copy, mirror and convert constraints, and add motion"

    def draw(self, _context: bpy.types.Context) -> None:  # type: ignore[override]
        """Draw the entries."""
        layout: Any = self.layout
        layout.menu("FABRIK_MT_motion")
        layout.separator()
        layout.operator("fabrik.constraint_copy", icon="COPYDOWN")
        layout.operator("fabrik.constraint_mirror", icon="ARROW_LEFTRIGHT")
        layout.separator()
        layout.operator_menu_enum("fabrik.convert_from_blender", "which", icon="IMPORT")
        layout.operator_menu_enum("fabrik.convert_to_blender", "which", icon="EXPORT")
        layout.separator()
        layout.operator("fabrik.constraint_default_save", icon="PREFERENCES")


register, unregister = registering(__name__)
