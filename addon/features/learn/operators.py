"""The button that learns joints from actions."""

from __future__ import annotations

from math import pi, radians
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ...blender.errors import ProblemError
from ...blender.refusals import joints_problem
from ...ui.refusing import Working
from ...ui.wording import counted, named
from .learning import learn


class FABRIK_OT_joint_learn(Working, bpy.types.Operator):
    """Set the limits of joints to what the armature's actions use."""

    bl_idname = "fabrik.joint_learn"
    bl_label = "Learn from Actions"
    bl_description = (
        "Limit the selected bones to the turns that they make in the armature's actions, and a "
        "margin"
    )
    bl_options = {"REGISTER", "UNDO"}

    if TYPE_CHECKING:
        kind: str
        margin: float
        everywhere: bool
    else:
        kind: EnumProperty(
            name="Limit",
            description="Which kind of limit the bones get",
            items=(
                ("AUTO", "Automatic", "A hinge if the bone turns about one axis, else a cone"),
                ("HINGE", "Hinge", "One axis: the one about which the bone turns most"),
                ("CONE", "Cone", "A cone of swing, and a range of twist"),
            ),
            default="AUTO",
        )
        margin: FloatProperty(
            name="Margin",
            description="How much farther than in the actions the bones may turn",
            default=radians(5.0),
            min=0.0,
            max=pi,
            subtype="ANGLE",
        )
        everywhere: BoolProperty(
            name="All Actions",
            description=(
                "Learn from all actions of the file that turn bones of these names, not only from "
                "those that the armature uses"
            ),
            default=False,
        )

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for bones that can be changed."""
        bones = _bones(context)
        if not bones:
            return "Enter Pose Mode and select the bones that are to get limits"
        return next(filter(None, (joints_problem(bone.id_data) for bone in bones)), "")

    def work(self, context: bpy.types.Context) -> str:
        """Set the limits, and return which bones got which."""
        bones = _bones(context)
        kinds = [learn(bone, self.kind, self.margin, self.everywhere) for bone in bones]
        if not any(kinds):
            hint = "" if self.everywhere else ", or turn on All Actions"
            raise ProblemError(
                f"No action of the armature turns the selected bones: give it one{hint}"
            )
        parts = [
            counted(kinds.count(kind), name)
            for kind, name in (("HINGE", "hinge"), ("CONE", "cone"))
            if kind in kinds
        ]
        if "" in kinds:
            still = [bone.name for bone, kind in zip(bones, kinds, strict=True) if not kind]
            parts.append(f"nothing for {named(still)}")
        return f"Learned {', '.join(parts)}"


def _bones(context: bpy.types.Context) -> list[Any]:
    """Return the selected bones; without any, the active one."""
    bones: list[Any] = list(context.selected_pose_bones or ())
    active = context.active_pose_bone
    return bones or ([active] if active is not None else [])


CLASSES = (FABRIK_OT_joint_learn,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
