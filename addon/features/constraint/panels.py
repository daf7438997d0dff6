"""Panels of constraints: in Properties > Bone Constraints, and in the sidebar."""

from __future__ import annotations

from typing import Any

import bpy

from ...loop.properties import FabrikConstraint, scene_settings
from ...ui.layout import ArmaturePanel, Layout
from .draw import STATE_ICONS, draw_armature


class FABRIK_UL_constraints(bpy.types.UIList):
    """The constraints of an armature."""

    def draw_item(  # type: ignore[override]
        self,
        _context: bpy.types.Context,
        layout: Layout,
        _data: object,
        item: FabrikConstraint,
        _icon: int,
        _active_data: object,
    ) -> None:
        """Draw one row: state, name, overlay and enabled."""
        row = layout.row(align=True)
        row.active = item.enabled
        row.prop(item, "name", text="", emboss=False, icon=STATE_ICONS[item.state])
        eye = "HIDE_OFF" if item.show_overlay else "HIDE_ON"
        layout.prop(item, "show_overlay", text="", emboss=False, icon=eye)
        layout.prop(item, "enabled", text="")


class ConstraintsPanel(ArmaturePanel):
    """A panel of an armature's constraints."""

    bl_label = "FABRIK IK"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        """Draw the button for presets."""
        _draw_presets(self.layout)  # type: ignore[attr-defined]

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the constraints."""
        draw_armature(self.layout, context)  # type: ignore[attr-defined]


class FABRIK_PT_constraints(ConstraintsPanel, bpy.types.Panel):
    """The constraints, next to Blender's own."""

    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "bone_constraint"


class FABRIK_PT_sidebar(ConstraintsPanel, bpy.types.Panel):
    """The constraints, in the sidebar."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "FABRIK"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        """Draw the toggle of the overlay and the button for presets."""
        layout: Layout = self.layout
        layout.prop(scene_settings(context.scene), "show_overlay", text="", icon="OVERLAY")
        _draw_presets(layout)


def _draw_presets(layout: Layout) -> None:
    presets: Any = bpy.types.FABRIK_PT_constraint_presets  # type: ignore[attr-defined]
    presets.draw_panel_header(layout)


register, unregister = bpy.utils.register_classes_factory(
    (FABRIK_UL_constraints, FABRIK_PT_constraints, FABRIK_PT_sidebar)
)
