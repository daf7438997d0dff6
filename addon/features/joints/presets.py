"""Presets of joints."""

from __future__ import annotations

from typing import Any

import bpy

from ...blender.errors import listed
from ...blender.messages import msg
from ...blender.refusals import joints_problem
from ...editing.copying import copy_joint
from ...loop.joint_properties import FabrikJoint
from ...ui.presets import AddPresetOperator, ApplyPresetOperator, PresetPanel
from .panel import shown_bone

FOLDER = "fabrik_ik/joint"


def _joint_refusal(context: bpy.types.Context) -> str:
    bone = shown_bone(context)
    if bone is None:
        return msg("Enter Pose Mode and click a bone")
    return joints_problem(bone.id_data)


class _JointPreset:
    """The settings and the poll of both operators."""

    asks = (_joint_refusal,)

    @classmethod
    def group(cls, context: bpy.types.Context) -> FabrikJoint:
        """Return the joint of the active bone."""
        return shown_bone(context).fabrik_joint


class FABRIK_OT_joint_preset_apply(_JointPreset, ApplyPresetOperator, bpy.types.Operator):
    """Apply a preset to the joints of the selected bones."""

    bl_idname = "fabrik.joint_preset_apply"
    bl_label = "Apply Joint Preset"
    bl_description = "Apply a preset to the joints of the active bone and the other selected bones"

    def work(self, context: bpy.types.Context) -> str:
        """Apply the preset."""
        bone = shown_bone(context)
        self.apply(context)
        bones: list[Any] = list(context.selected_pose_bones or ())
        others = copy_joint(bone, [one for one in bones if not joints_problem(one.id_data)])
        names = listed([bone.name], len(others))
        return msg("Applied “{preset}” to {bones}", preset=self.title, bones=names)


class FABRIK_OT_joint_preset_add(_JointPreset, AddPresetOperator, bpy.types.Operator):
    """Save the joint of the active bone as a preset."""

    bl_idname = "fabrik.joint_preset_add"
    bl_label = "Add Joint Preset"
    bl_description = "Save the joint of the active bone as a preset, or remove a preset"
    preset_menu = "FABRIK_PT_joint_presets"
    preset_subdir = FOLDER
    preset_defines = [
        "ob = bpy.context.object",
        "joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint",
    ]


class FABRIK_PT_joint_presets(PresetPanel, bpy.types.Panel):
    """The presets of joints."""

    bl_label = "Joint Presets"
    bl_description = "Apply, add and remove presets of joints"
    preset_subdir = FOLDER
    preset_operator = "fabrik.joint_preset_apply"
    preset_add_operator = "fabrik.joint_preset_add"


register, unregister = bpy.utils.register_classes_factory(
    (
        FABRIK_OT_joint_preset_apply,
        FABRIK_OT_joint_preset_add,
        FABRIK_PT_joint_presets,
    )
)
