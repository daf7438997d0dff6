"""Helpers for drawing panels."""

from __future__ import annotations

import re
from typing import Any

import blf
import bpy

from ..blender.messages import shown
from .following import shown_armature

Layout = Any
"""A `bpy.types.UILayout`, whose stubs reject the extension's operators and icon names."""


REDO = 300
"""Width of sentences in Adjust Last Operation, in pixels at a UI scale of 1."""

PARTS = re.compile(r"\s*(?:[\u3040-\u9fff][\u3000-\u303f\uff00-\uff65]*|[^\s\u3040-\u9fff]+)")
"""Unbreakable parts of a line: a word, or a Chinese or Japanese character with punctuation."""


def draw_sentence(
    layout: Layout,
    context: bpy.types.Context,
    sentence: str,
    width: int = 0,
    least: int = 0,
) -> None:
    """Draw a sentence, wrapped to the region, or to a width in pixels at a UI scale of 1.

    Empty lines are added to reach the minimum number of lines.
    """
    column = layout.column(align=True)
    column.scale_y = 0.8
    lines = wrapped(shown(sentence), context, width)
    for line in (*lines, *[""] * (least - len(lines))):
        column.label(text=line, translate=False)


def wrapped(sentence: str, context: bpy.types.Context, width: int) -> list[str]:
    """Wrap a sentence to the region's width, or to a width in pixels at a UI scale of 1."""
    scale = context.preferences.system.ui_scale or 1.0  # 0 without a window.
    blf.size(0, context.preferences.ui_styles[0].widget.points * scale)
    room = (width * scale if width else context.region.width) - 70 * scale
    lines = [""]
    for part in PARTS.findall(" ".join(sentence.split())):
        if lines[-1] and blf.dimensions(0, lines[-1] + part.rstrip())[0] > room:
            lines.append("")
        lines[-1] = (lines[-1] + part).lstrip()
    return [line.rstrip() for line in lines]


def active_column(layout: Layout, is_active: bool) -> Layout:
    """Add a column that is grayed out unless it is active."""
    column = layout.column()
    column.active = is_active
    return column


def draw_if(is_active: bool, layout: Layout, item: bpy.types.PropertyGroup, *names: str) -> None:
    """Draw properties in a column that is grayed out unless it is active."""
    column = active_column(layout, is_active)
    for name in names:
        column.prop(item, name)


def draw_bone_of(
    layout: Layout,
    item: bpy.types.PropertyGroup,
    name: str,
    source: bpy.types.Object | None,
) -> None:
    """Draw a property that names a bone of the source, if the source is an armature."""
    if source is not None and source.type == "ARMATURE":
        layout.prop_search(item, name, source.data, "bones", text="Bone")


class SidebarPanel:
    """A panel in the 3D Viewport's sidebar, closed by default, for an active armature."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "FABRIK"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show the panel for armatures, and for the targets of their constraints."""
        return shown_armature(context) is not None
