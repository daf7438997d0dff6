"""Constraint panels: in Properties > Bone Constraints, and in the sidebar."""

from __future__ import annotations

from typing import Any

import bpy

from ...blender.access import shown_areas
from ...frame.write import on_report
from ...settings.properties import FabrikConstraint, scene_settings
from ...ui.following import shown_armature
from ...ui.layout import Layout, SidebarPanel
from ...ui.registering import registering
from .draw import STATE_ICONS, draw_armature, draw_bone


class ConstraintRows:
    """Draws the rows of a constraint list."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: Layout,
        _data: object,
        item: FabrikConstraint,
        _icon: int,
        _active_data: object,
    ) -> None:
        """Draw a row: state, name, overlay and enabled."""
        row = layout.row(align=True)
        row.active = item.enabled
        row.prop(item, "name", text="", emboss=False, icon=STATE_ICONS[item.state])
        eye = "HIDE_OFF" if item.show_overlay else "HIDE_ON"
        layout.prop(item, "show_overlay", text="", emboss=False, icon=eye)
        layout.prop(item, "enabled", text="")


class FABRIK_UL_constraints(ConstraintRows, bpy.types.UIList):  # type: ignore[misc]
    """The constraints of an armature."""


class FABRIK_UL_bone_constraints(ConstraintRows, bpy.types.UIList):  # type: ignore[misc]
    """The constraints of a tip bone, whose name is the list's identifier."""

    def filter_items(  # type: ignore[override]
        self, _context: bpy.types.Context, data: Any, name: str
    ) -> tuple[list[int], list[int]]:
        """Return a visibility flag for each constraint, and no order."""
        items = getattr(data, name)
        have_tip = [item.bone == self.list_id for item in items]
        return [self.bitflag_filter_item if has_tip else 0 for has_tip in have_tip], []


class FABRIK_PT_constraints(bpy.types.Panel):
    """The constraints of a bone, below Blender's constraints."""

    bl_label = "FABRIK IK"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "bone_constraint"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show the panel for bones in Pose Mode."""
        return getattr(context, "pose_bone", None) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the constraints whose tip is the bone."""
        draw_bone(self.layout, context, context.pose_bone.name)  # type: ignore[attr-defined]


class FABRIK_PT_sidebar(SidebarPanel, bpy.types.Panel):
    """The constraints of an armature, in the sidebar."""

    bl_label = "FABRIK IK"
    bl_options = set()

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        """Draw the overlay toggle and the preset button."""
        layout: Layout = self.layout
        layout.prop(scene_settings(context.scene), "show_overlay", text="", icon="OVERLAY")
        if context.object == shown_armature(context):  # Presets affect the active object.
            presets: Any = bpy.types.FABRIK_PT_constraint_presets  # type: ignore[attr-defined]
            presets.draw_panel_header(layout)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the constraints."""
        draw_armature(self.layout, context)


@on_report
def _redraw() -> None:
    """Redraw the panels, except in playback: Blender then redraws them if set to do so."""
    for screen, area in shown_areas():
        if screen.is_animation_playing:
            continue
        if area.type == "PROPERTIES" and area.spaces.active.context == "BONE_CONSTRAINT":
            area.tag_redraw()
        elif area.type == "VIEW_3D":
            for region in area.regions:
                if region.type == "UI":
                    region.tag_redraw()


register, unregister = registering(__name__)
