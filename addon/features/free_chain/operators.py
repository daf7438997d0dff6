"""Operator and settings panel of free chains."""

from __future__ import annotations

import bpy

from ...blender.messages import msg
from ...loop.properties import FabrikConstraint
from ...ui.adding import MOTION_OPERATORS, AddMotionOperator, add_with_target
from ...ui.layout import Layout
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section
from ..simulation import history
from .follow import follow_of, heads


class FABRIK_OT_follow_add(AddMotionOperator, bpy.types.Operator):
    """Add a free chain."""

    bl_idname = "fabrik.follow_add"
    bl_label = "Add Free Chain"
    bl_description = (
        "Let the active bone, as the head, follow the other selected bone or object, or a new "
        "Empty at its tip, and drag all bones above it along. Suited to snakes, trains and "
        "leashes"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraint."""
        item, target = add_with_target(context, "FOLLOW")
        return msg("“{bone}” follows “{target}”: press Simulate", bone=item.bone, target=target)


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(follow_of(item), "use_path")


register, unregister = registering(
    (FABRIK_OT_follow_add,),
    (SECTIONS, Section(31, msg("Free Chain"), _draw, "FOLLOW".__eq__)),
    (history.PROVIDERS, heads),
    (MOTION_OPERATORS, ("fabrik.follow_add", msg("Free Chain"))),
)
