"""Operator that learns joint limits from actions."""

from __future__ import annotations

from math import pi, radians
from typing import Any

import bpy

from ...blender.errors import ChoiceError, ProblemError
from ...blender.messages import COMMA, counted, joined, msg
from ...blender.refusals import joints_problem
from ...settings.definitions import defined
from ...ui.refusing import Asking
from ...ui.registering import registering
from ...ui.wording import named
from .learning import learn, rotations_of

KINDS = {
    "HINGE": (msg("{count} hinge"), msg("{count} hinges")),
    "CONE": (msg("{count} cone"), msg("{count} cones")),
}
"""Templates for the number of limits, by limit type."""


def _bones_refusal(context: bpy.types.Context) -> str:
    bones = _bones(context)
    if not bones:
        return msg("Enter Pose Mode and select the bones to limit")
    return next(filter(None, (joints_problem(bone.id_data) for bone in bones)), "")


class FABRIK_OT_joint_learn(Asking, bpy.types.Operator):
    """Set joint limits to the range of the armature's actions."""

    bl_idname = "fabrik.joint_learn"
    bl_label = "Learn from Actions"
    bl_description = (
        "Limit the selected bones to the rotations found in the armature's actions, plus a margin"
    )
    asks = (_bones_refusal,)

    kind: str = defined(
        "Limit",
        "Type of limit to set",
        items=(
            ("AUTO", "Automatic", "Hinge if the bone rotates about one axis, otherwise Cone"),
            ("HINGE", "Hinge", "A single axis, about which the bone rotates most"),
            ("CONE", "Cone", "A swing cone and a twist range"),
        ),
        default="AUTO",
    )
    margin: float = defined(
        "Margin",
        "Angle added to the rotations found in the actions",
        default=radians(5.0),
        min=0.0,
        max=pi,
        subtype="ANGLE",
    )
    everywhere: bool = defined(
        "All Actions",
        "Use every action in the file that rotates bones with these names, not only the "
        "armature's own",
        default=False,
    )

    def work(self, context: bpy.types.Context) -> str:
        """Set the limits, and report their types."""
        bones = _bones(context)
        kinds = [learn(bone, self.kind, self.margin, self.everywhere) for bone in bones]
        if not any(kinds):
            if self.everywhere or not any(rotations_of(bone, True) for bone in bones):
                raise ProblemError("No action rotates the selected bones: assign an action")
            raise ChoiceError(
                "No action of the armature rotates the selected bones: assign an action, or enable "
                "All Actions",
                {"everywhere": True},
            )
        parts = [
            counted(kinds.count(kind), *names) for kind, names in KINDS.items() if kind in kinds
        ]
        if "" in kinds:
            unlimited = [bone.name for bone, kind in zip(bones, kinds, strict=True) if not kind]
            parts.append(msg("no limits for {unlimited}", unlimited=named(unlimited)))
        return msg("Learned {parts}", parts=joined(COMMA, parts))

    def draw_options(self, layout: Any) -> None:
        """Draw the options."""
        for name in ("kind", "margin", "everywhere"):
            layout.prop(self, name)


def _bones(context: bpy.types.Context) -> list[Any]:
    """Return the selected bones, otherwise the active bone."""
    bones: list[Any] = list(context.selected_pose_bones or ())
    active = context.active_pose_bone
    return bones or ([active] if active is not None else [])


register, unregister = registering(__name__)
