"""Operator and settings panel of ropes."""

from __future__ import annotations

import bpy

from ...blender.messages import msg
from ...settings.properties import FabrikConstraint
from ...ui.adding import MOTION_OPERATORS, AddWithTargetOperator
from ...ui.layout import Layout, draw_if
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section
from .rope import rope_of


class FABRIK_OT_rope_add(AddWithTargetOperator, bpy.types.Operator):
    """Hang a chain between its root and a target."""

    bl_idname = "fabrik.rope_add"
    bl_label = "Add Rope"
    bl_description = (
        "For each selected bone, hang the chain that ends there: from its root to the other "
        "selected object. Without one, add a control at the tip"
    )
    solver = "ROPE"
    word = "Hook"

    def done(self, bone: str, target: str) -> str:
        """Return the report."""
        return msg("“{bone}” hangs from “{target}”", bone=bone, target=target)


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    rope = rope_of(item)
    layout.prop(rope, "use_scene_gravity")
    layout.prop(rope, "collision")
    draw_if(rope.collision != "NONE", layout, rope, "collision_object", "thickness")
    layout.prop(item, "use_stretch")
    draw_if(item.use_stretch, layout, item, "stretch_max", "use_volume")


register, unregister = registering(
    __name__,
    (SECTIONS, Section(30, msg("Rope"), _draw, "ROPE".__eq__)),
    (MOTION_OPERATORS, ("fabrik.rope_add", msg("Rope"))),
)
