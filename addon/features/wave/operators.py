"""Operator and settings panel of waves."""

from __future__ import annotations

import bpy

from ...blender.messages import msg
from ...settings.properties import FabrikConstraint
from ...ui.adding import MOTION_OPERATORS, AddMotionOperator
from ...ui.layout import Layout
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section
from .wave import FabrikWave, wave_of


class FABRIK_OT_wave_add(AddMotionOperator, bpy.types.Operator):
    """Add a wave."""

    bl_idname = "fabrik.wave_add"
    bl_label = "Add Wave"
    bl_description = (
        "Add a wave to the chain that ends at each selected bone, on top of its pose and other "
        "constraints"
    )
    solver = "WAVE"

    def done(self, bone: str, target: str) -> str:
        """Return the report."""
        return msg("“{bone}” waves", bone=bone)


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    wave = wave_of(item)
    for name in FabrikWave.__annotations__:
        layout.prop(wave, name)


register, unregister = registering(
    __name__,
    (SECTIONS, Section(32, msg("Wave"), _draw, "WAVE".__eq__)),
    (MOTION_OPERATORS, ("fabrik.wave_add", msg("Wave"))),
)
