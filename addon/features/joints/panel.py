"""Joint panels: in Properties > Bone, and in the sidebar."""

from __future__ import annotations

from typing import Any

import bpy

from ...blender.access import is_edited, pose_bones, rest_bone
from ...blender.messages import msg, shown
from ...settings.joint_limits import joint_problem
from ...settings.joints import FabrikJoint
from ...ui.layout import Layout, SidebarPanel, draw_sentence
from ...ui.registering import registering


def shown_bone(context: bpy.types.Context) -> Any:
    """Return the pose bone that the panels show, or None if there is none."""
    ob = context.object
    if ob is None or ob.type != "ARMATURE" or ob.pose is None or is_edited(ob):
        return None
    armature: Any = ob.data
    # A bone may be pinned in the Properties editor.
    bone = getattr(context, "bone", None) or armature.bones.active
    return None if bone is None else pose_bones(ob).get(bone.name)


def draw_joint(layout: Layout, context: bpy.types.Context, bone: Any) -> None:
    """Draw the joint settings of a pose bone that its limit type uses."""
    joint: FabrikJoint = bone.fabrik_joint
    layout.use_property_split = True
    column = layout.column()
    column.prop(joint, "limit_type")
    draw = KINDS.get(joint.limit_type)
    if draw is not None:
        draw(column, bone, joint)
    if joint.limit_type != "BLENDER":  # This type has a stiffness for each axis.
        column.prop(joint, "stiffness")
    problem = joint_problem(bone)
    if problem:
        box = layout.box().column()
        box.alert = True
        box.label(text="Invalid", icon="ERROR")
        draw_sentence(box, context, problem)
    layout.operator("fabrik.joint_learn", icon="ACTION")
    copies = layout.column(align=True)
    copies.operator("fabrik.joint_copy", icon="COPYDOWN")
    copies.operator("fabrik.joint_mirror", icon="ARROW_LEFTRIGHT")
    layout.column().prop(rest_bone(bone.id_data, bone.name), "fabrik_flexion")


def _draw_hinge(layout: Layout, _bone: Any, joint: FabrikJoint) -> None:
    layout.prop(joint, "hinge_axis")
    if joint.hinge_axis == "FREE":
        layout.prop(joint, "hinge_vector")
    angles = layout.column(align=True)
    angles.prop(joint, "hinge_min")
    angles.prop(joint, "hinge_max")


def _draw_cone(layout: Layout, _bone: Any, joint: FabrikJoint) -> None:
    swing = layout.column(align=True)
    swing.prop(joint, "swing_x")
    swing.prop(joint, "swing_z", text="Z")
    layout.prop(joint, "center")
    twist = layout.column(align=True)
    twist.prop(joint, "twist_min")
    twist.prop(joint, "twist_max")


def _draw_blender(layout: Layout, bone: Any, _joint: FabrikJoint) -> None:
    for axis in "xyz":
        part = layout.column(align=True)
        part.prop(
            bone,
            f"lock_ik_{axis}",
            text=shown(msg("Lock {axis}", axis=axis.upper())),
            translate=False,
        )
        if getattr(bone, f"lock_ik_{axis}"):
            continue
        part.prop(bone, f"use_ik_limit_{axis}", text="Limit")
        if getattr(bone, f"use_ik_limit_{axis}"):
            part.prop(bone, f"ik_min_{axis}", text="Min")
            part.prop(bone, f"ik_max_{axis}", text="Max")
        part.prop(bone, f"ik_stiffness_{axis}", text="Stiffness")


KINDS = {"BLENDER": _draw_blender, "HINGE": _draw_hinge, "CONE": _draw_cone}


class JointPanel:
    """A panel for the active pose bone's joint."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show the panel for pose bones that may be joints, not for controls."""
        bone = shown_bone(context)
        return bone is not None and not bone.bone.fabrik_is_control

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        """Draw the button for presets."""
        presets: Any = bpy.types.FABRIK_PT_joint_presets  # type: ignore[attr-defined]
        presets.draw_panel_header(self.layout)  # type: ignore[attr-defined]

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the bone's joint."""
        draw_joint(self.layout, context, shown_bone(context))  # type: ignore[attr-defined]


class FABRIK_PT_joint(JointPanel, bpy.types.Panel):
    """The joint, below Blender's IK settings."""

    bl_label = "FABRIK IK Joint"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "bone"
    bl_options = {"DEFAULT_CLOSED"}


class FABRIK_PT_joint_sidebar(JointPanel, SidebarPanel, bpy.types.Panel):
    """The joint, in the sidebar."""

    bl_label = "Joint"
    bl_parent_id = "FABRIK_PT_sidebar"

    def draw_header(self, context: bpy.types.Context) -> None:
        """Draw the name of the bone."""
        layout: Layout = self.layout
        layout.label(text=shown_bone(context).name, translate=False, icon="BONE_DATA")


register, unregister = registering(__name__)
