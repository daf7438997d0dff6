"""The settings of a foot roll in the panel."""

from __future__ import annotations

import bpy

from ...blender.messages import msg
from ...settings.properties import FabrikConstraint
from ...ui.layout import Layout
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section, reaches
from .settings import has_roll, roll_settings


def _draw(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    roll = roll_settings(item)
    layout.prop_search(roll, "control", armature.pose, "bones")
    layout.prop(roll, "break_angle")
    layout.prop(roll, "pivot")
    layout.prop(roll, "width")
    toes = layout.column(align=True)
    toes.prop_search(roll, "toe", armature.pose, "bones")
    toes.prop_search(roll, "toe_control", armature.pose, "bones")


register, unregister = registering(
    __name__,
    (SECTIONS, Section(45, msg("Foot Roll"), _draw, reaches, True, "roll.use", has_roll)),
)
