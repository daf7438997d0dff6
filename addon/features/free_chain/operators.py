"""Operator and settings panel of free chains."""

from __future__ import annotations

import bpy

from ...blender.messages import msg
from ...settings.properties import FabrikConstraint
from ...ui.adding import MOTION_OPERATORS, AddWithTargetOperator
from ...ui.layout import Layout
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section
from ..simulation import history
from .free_chain import free_chain_settings, heads


class FABRIK_OT_follow_add(AddWithTargetOperator, bpy.types.Operator):
    """Add a free chain."""

    bl_idname = "fabrik.follow_add"
    bl_label = "Add Free Chain"
    bl_description = (
        "Make each selected bone the head of a chain that follows the other selected object, or "
        "a new control. Suited to snakes, trains and leashes"
    )
    solver = "FOLLOW"
    word = "Leader"

    def done(self, bone: str, target: str) -> str:
        """Return the report."""
        return msg("“{bone}” follows “{target}”: press Simulate", bone=bone, target=target)


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(free_chain_settings(item), "use_path")


register, unregister = registering(
    __name__,
    (SECTIONS, Section(31, msg("Free Chain"), _draw, "FOLLOW".__eq__)),
    (history.PROVIDERS, heads),
    (MOTION_OPERATORS, ("fabrik.follow_add", msg("Free Chain"))),
)
