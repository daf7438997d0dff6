"""The axes along which something is dragged, drawn through the 3D view."""

from __future__ import annotations

from typing import Any, cast

import bpy
import gpu
from gpu_extras.batch import batch_for_shader
from mathutils import Vector

from ...core.vectors import Vec

WIDTH = 1.5


class AxisLines:
    """Lines through a place, in the colours that the theme has for the axes.

    Attributes:
        axes: Which axes are drawn: 0, 1 or 2 for X, Y or Z, and their directions.
    """

    def __init__(self, place: Vec) -> None:
        """Draw in all 3D views from now on, through a place in world space."""
        self.axes: tuple[tuple[int, Vec], ...] = ()
        self._place = Vector(place)
        self._handler: Any = bpy.types.SpaceView3D.draw_handler_add(
            self._draw, (), "WINDOW", "POST_VIEW"
        )

    def remove(self) -> None:
        """Draw no longer."""
        if self._handler is not None:
            bpy.types.SpaceView3D.draw_handler_remove(self._handler, "WINDOW")
            self._handler = None

    def _draw(self) -> None:
        context = cast(Any, bpy.context)
        theme = context.preferences.themes[0].user_interface
        shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        shader.uniform_float("lineWidth", WIDTH * context.preferences.system.ui_scale)
        for axis, direction in self.axes:
            reach = Vector(direction) * context.space_data.clip_end
            colour = (theme.axis_x, theme.axis_y, theme.axis_z)[axis]
            shader.uniform_float("color", (*colour[:3], 1.0))
            ends = (self._place - reach, self._place + reach)
            batch_for_shader(shader, "LINES", {"pos": ends}).draw(shader)
