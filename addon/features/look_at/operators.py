"""Operator and settings panel of look-at constraints."""

from __future__ import annotations

import bpy

from ...blender.axes import axis_items
from ...blender.messages import msg
from ...body.looking import body_of
from ...settings.definitions import defined
from ...settings.properties import FabrikConstraint
from ...ui.adding import MOTION_OPERATORS, AddWithTargetOperator, Selection, tip_refusal
from ...ui.layout import Layout, draw_if
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section
from .adding import add_look, empty_ahead, looking_bone, refuse_tracked
from .look import look_of

TIP_NAME = msg("the bone that should look at the target")


def _bone_refusal(context: bpy.types.Context) -> str:
    return tip_refusal(context, TIP_NAME)


class FABRIK_OT_look_add(AddWithTargetOperator, bpy.types.Operator):
    """Add a look-at."""

    bl_idname = "fabrik.look_add"
    bl_label = "Add Look-at"
    bl_description = (
        "Make each selected bone look at the other selected object. Without one, add a control "
        "in front of them as the target"
    )
    asks = (_bone_refusal,)
    active = TIP_NAME
    word = "Look"

    chain_count: int = defined(
        "Chain Length",
        "Number of bones that share the rotation, counted from the active bone. 0 includes all "
        "bones up to the root. 1 suits an eye, 2 a head and neck",
        default=1,
        min=0,
        soft_max=8,
    )
    axis: str = defined(
        "Look Axis",
        "Axis of the active bone that points at the target",
        items=(
            (
                "AUTO",
                "Automatic",
                ("Use the axis that points forward for an upright bone, the Y axis otherwise"),
                0,
            ),
            *axis_items("the bone's", first=1),
        ),
        default="AUTO",
    )

    def completed(self, chosen: Selection) -> Selection:
        """Return the selection with heads in place of faces, and a target for bones that need one.

        Several bones that look the same way get a new target.
        """
        tips = dict.fromkeys(
            looking_bone(body_of(chosen.armature, tip), tip) for tip in chosen.tips
        )
        for tip in tips:
            refuse_tracked(chosen.armature, tip)
        chosen = chosen._replace(tips=[*tips])
        if chosen.target is not None or len(chosen.tips) == 1:
            return chosen
        return chosen._replace(target=empty_ahead(chosen.armature, chosen.tips, self.axis))

    def add(self, chosen: Selection, tip: str) -> FabrikConstraint:
        """Add a constraint to a bone."""
        return add_look(
            chosen.armature, tip, chosen.target, chosen.subtarget, self.chain_count, self.axis
        )

    def done(self, bone: str, target: str) -> str:
        """Return the report on a single constraint."""
        return msg("“{bone}” looks at “{subtarget}”", bone=bone, subtarget=target)


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    look = look_of(item)
    layout.prop(look, "axis")
    layout.prop(look, "up_axis")
    draw_if(look.up_axis != "NONE", layout, look, "up")
    draw_if(item.chain_count != 1, layout, look, "share")
    for name in ("limit_angle", "limit_softness", "damping"):
        layout.prop(look, name)


register, unregister = registering(
    __name__,
    (SECTIONS, Section(29, msg("Look-at"), _draw, "LOOK_AT".__eq__)),
    (MOTION_OPERATORS, ("fabrik.look_add", msg("Look-at"))),
)
