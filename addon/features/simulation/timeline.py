"""Bars for the simulated ranges in timelines and dope sheets."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import shown_areas
from ...blender.errors import report_once
from ...ui.paint import Color, Strokes, faint, pixel
from ...ui.registering import registering
from . import history

HEIGHT, FOOT, GAP = 4.0, 18.0, 2.0
"""The height of a bar, the bottom margin, and the gap between bars, in pixels at a UI scale of
1."""

ALPHA = 0.75


def _draw() -> None:
    """Draw the bars; report an error once, or Blender would print it at each redraw."""
    try:
        _draw_bars(bpy.context)
    except Exception:
        report_once("could not draw what is simulated")


def _draw_bars(context: bpy.types.Context) -> None:
    bars = bars_of(context)
    if not bars:
        return
    view: Any = context.region.view2d
    scale = pixel(context)
    strokes = Strokes()
    for i, (start, end, color) in enumerate(bars):
        left = view.view_to_region(start, 0.0, clip=False)[0]
        right = view.view_to_region(end + 1, 0.0, clip=False)[0]
        low = scale * (FOOT + i * (HEIGHT + GAP))
        high = low + scale * HEIGHT
        corners = [(x, y, 0.0) for x, y in ((left, low), (right, low), (right, high), (left, high))]
        strokes.fan(corners, color)
    strokes.triangles()


def bars_of(context: bpy.types.Context) -> list[tuple[int, int, Color]]:
    """Return the first frame, last frame and color of each bar.

    The active armature has a bar. If it isn't simulated, every simulated armature has one.
    """
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    active = context.object
    shown = [] if active is None else _bars(context, active)
    if not shown:
        shown = [bar for ob in layer.objects for bar in _bars(context, ob)]
    return shown


def _bars(context: bpy.types.Context, ob: bpy.types.Object) -> list[tuple[int, int, Color]]:
    frames = history.shown_range(ob) if ob.type == "ARMATURE" else None
    if frames is None:
        return []
    themes = cast(bpy.types.Preferences, context.preferences).themes
    states: Any = themes[0].user_interface.wcol_state
    is_fresh = history.state(ob) == history.FRESH
    color = states.inner_anim if is_fresh else states.inner_changed
    return [(*frames, faint(tuple(color), ALPHA))]


def redraw() -> None:
    """Redraw timelines and dope sheets."""
    for _, area in shown_areas():
        if area.type == "DOPESHEET_EDITOR":
            area.tag_redraw()


types: Any = bpy.types

register, unregister = registering(
    __name__,
    (history.listeners, redraw),
    draws=((types.SpaceDopeSheetEditor, _draw, "POST_PIXEL"),),
)
