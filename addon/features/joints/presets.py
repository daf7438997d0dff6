"""Presets of joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
from mathutils import Vector

from ...blender.errors import ChoiceError, listed
from ...blender.messages import msg
from ...blender.refusals import joints_problem
from ...body.body import Joint
from ...body.flexion import limb_flexion_of
from ...body.looking import body_of
from ...editing.bending import needs_bend, turned_to
from ...editing.copying import copy_joint, set_values
from ...settings.definitions import defined
from ...settings.joints import FabrikJoint
from ...settings.values import values_of
from ...ui.presets import AddPresetOperator, ApplyPresetOperator, PresetPanel
from ...ui.refusing import Asking
from ...ui.registering import registering
from .panel import shown_bone

FOLDER = "fabrik_ik/joint"


def _joint_refusal(context: bpy.types.Context) -> str:
    bone = shown_bone(context)
    if bone is None:
        return msg("Enter Pose Mode and click a bone")
    return joints_problem(bone.id_data)


class _JointPreset:
    """The settings and requirements shared by both operators."""

    asks = (_joint_refusal,)

    @classmethod
    def group(cls, context: bpy.types.Context) -> FabrikJoint:
        """Return the joint of the active bone."""
        return shown_bone(context).fabrik_joint


AXES = {
    "X": (1.0, 0.0, 0.0),
    "-X": (-1.0, 0.0, 0.0),
    "Z": (0.0, 0.0, 1.0),
    "-Z": (0.0, 0.0, -1.0),
}
"""The bone axes that the user can choose as bend axis."""


class FABRIK_OT_joint_preset_apply(_JointPreset, Asking, ApplyPresetOperator, bpy.types.Operator):
    """Apply a preset to the selected bones' joints, about their bend axes."""

    bl_idname = "fabrik.joint_preset_apply"
    bl_label = "Apply Joint Preset"
    bl_description = (
        "Apply a preset to the joints of the selected bones, each about its own bend axis"
    )

    axis: str = defined(
        "Axis",
        "Axis of the bone about which a positive rotation bends the limb",
        items=(
            (
                "AUTO",
                "Automatic",
                "Bend as in the rest pose. If straight, point the elbow or knee at the pole "
                "target. Presets that you saved keep their axis",
            ),
            ("X", "X", "The bone's X axis"),
            ("-X", "−X", "The opposite of the bone's X axis"),
            ("Z", "Z", "The bone's Z axis"),
            ("-Z", "−Z", "The opposite of the bone's Z axis"),
        ),
        options={"SKIP_SAVE"},
    )

    def work(self, context: bpy.types.Context) -> str:
        """Apply the preset."""
        bone = shown_bone(context)
        selected: list[Any] = list(context.selected_pose_bones or ())
        others = [pb for pb in selected if pb != bone and not joints_problem(pb.id_data)]
        bends = [self._bends(pb) for pb in (bone, *others)]  # A limit may change the pose.
        old_values = values_of(bone.fabrik_joint)
        self.apply(context)
        try:
            turned = self._turned(bone.fabrik_joint, [bone, *others], bends)
        except ChoiceError:
            set_values(bone.fabrik_joint, old_values)
            raise
        copy_joint(bone, others)
        for pb, values in zip([bone, *others], turned, strict=True):
            set_values(pb.fabrik_joint, values)
        names = listed([bone.name], len(others))
        return msg("Applied “{preset}” to {bones}", preset=self.title, bones=names)

    def _bends(self, bone: Any) -> tuple[Joint, Joint]:
        """Return how a bone's joint flexes, and how the next joint of its limb flexes."""
        if self.axis != "AUTO":
            chosen = Joint(bone.name, Vector(AXES[self.axis]), 0.0, "SET")
            return chosen, chosen
        body = body_of(bone.id_data, bone.name)
        return body.joint(bone.name), limb_flexion_of(body, bone.name)

    def _turned(
        self,
        joint: FabrikJoint,
        bones: Sequence[Any],
        bends: Sequence[tuple[Joint, Joint]],
    ) -> list[dict[str, Any]]:
        """Return the settings that differ because a bone's bend axis is not the preset's axis.

        Raises:
            ChoiceError: If the bend axis of a bone is unknown.
        """
        is_kept = self.axis == "AUTO" and not self.is_own
        if is_kept or not needs_bend(joint):
            return [{} for _ in bones]
        is_across = self.is_own and joint.limit_type == "HINGE" and joint.hinge_axis == "Z"
        is_of_limb = is_across or joint.limit_type == "CONE"
        bends_used = [limb if is_of_limb else bone_bend for bone_bend, limb in bends]
        unknown = [bend.bone for bend in bends_used if not bend.source]
        if unknown:
            raise ChoiceError(
                "Straight at rest and without a pole target: {bones}. Choose the bend axis",
                {"axis": "X"},
                bones=listed(unknown),
            )
        return [turned_to(joint, bend, is_across) for bend in bends_used]

    def draw_options(self, layout: Any) -> None:
        """Draw the choice of the bend axis."""
        layout.prop(self, "axis")


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


register, unregister = registering(__name__)
