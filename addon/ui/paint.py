"""Drawing in the viewport: lines, triangles and text in the theme's colors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import cos, pi, sin
from typing import Any, NamedTuple, cast

import blf
import bpy
import gpu
from bpy_extras.view3d_utils import location_3d_to_region_2d
from gpu_extras.batch import batch_for_shader

from fabrik_solver.core.vectors import Vec

Color = tuple[float, float, float, float]


MARGIN = 12
"""Margin of text in a corner, in pixels at a resolution scale of 1."""


MOVES = ("TRANSFORM_OT_",)
"""Prefixes of the names of Blender's own operators that move something with the mouse."""

DRAGS = (*MOVES, "FABRIK_OT_drag", "FABRIK_OT_control_")
"""Prefixes of the names of operators that move something with the mouse."""


class Palette(NamedTuple):
    """The overlay's colors, from the theme.

    Attributes:
        active: The chain of the active constraint.
        chain: Other chains, and joint limits.
        target: Targets, and lines to targets out of reach.
        pole: Poles.
        end: Joints at their limit.
        pin: Pins.
        text: Text.
    """

    active: Color
    chain: Color
    target: Color
    pole: Color
    end: Color
    pin: Color
    text: Color


def palette(context: bpy.types.Context) -> Palette:
    """Return the overlay's colors in the current theme."""
    theme = _preferences(context).themes[0]
    view, gizmos = theme.view_3d, theme.user_interface
    return Palette(
        _opaque(view.bone_pose_active),
        _opaque(view.bone_pose),
        _opaque(gizmos.gizmo_primary),
        _opaque(gizmos.gizmo_a),
        _opaque(view.bone_locked_weight),
        _opaque(gizmos.gizmo_b),
        _opaque(view.space.text_hi),
    )


def _opaque(color: Any) -> Color:
    return (color[0], color[1], color[2], 1.0)


def faint(color: Color, alpha: float) -> Color:
    """Return a color with another alpha."""
    return (*color[:3], alpha)


def pixel(context: bpy.types.Context) -> float:
    """Return the resolution scale of the interface."""
    return _preferences(context).system.ui_scale


def _preferences(context: bpy.types.Context) -> bpy.types.Preferences:
    return cast(bpy.types.Preferences, context.preferences)


@dataclass
class Strokes:
    """Colored lines or triangles that are collected and drawn in a single call."""

    places: list[Vec] = field(default_factory=list)
    colors: list[Color] = field(default_factory=list)

    def path(self, points: Sequence[Vec], color: Color) -> None:
        """Add a polyline."""
        self._add([end for part in pairwise(points) for end in part], color)

    def fan(self, points: Sequence[Vec], color: Color) -> None:
        """Add a triangle fan around the first point."""
        self._add([corner for a, b in pairwise(points[1:]) for corner in (points[0], a, b)], color)

    def _add(self, points: Sequence[Vec], color: Color) -> None:
        self.places += points
        self.colors += [color] * len(points)

    def lines(self, width: float) -> None:
        """Draw the points as lines with a width in pixels."""
        shader = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR")
        shader.bind()
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        shader.uniform_float("lineWidth", width)
        self._draw(shader, "LINES")

    def triangles(self) -> None:
        """Draw the points as triangles."""
        self._draw(gpu.shader.from_builtin("FLAT_COLOR"), "TRIS")

    def _draw(self, shader: gpu.types.GPUShader, kind: Any) -> None:
        if not self.places:
            return
        _draw(shader, kind, {"pos": self.places, "color": self.colors})


def _draw(shader: gpu.types.GPUShader, kind: Any, content: Any) -> None:
    gpu.state.blend_set("ALPHA")
    batch_for_shader(shader, kind, content).draw(shader)
    gpu.state.blend_set("NONE")


CORNERS = 8
"""Number of corners of a dot."""

DOT = [
    (cos(2.0 * pi * corner / CORNERS), sin(2.0 * pi * corner / CORNERS), 0.0)
    for second in range(1, CORNERS - 1)
    for corner in (0, second, second + 1)
]
"""Triangles of a dot of radius 1."""


class Dot(NamedTuple):
    """A filled circle.

    Attributes:
        center: Center in world space.
        radius: Radius in pixels.
        color: Color.
    """

    center: Vec
    radius: float
    color: Color


def draw_dots(region: bpy.types.Region, view: bpy.types.RegionView3D, dots: Sequence[Dot]) -> None:
    """Draw dots with radii in pixels, except those behind the viewer."""
    import numpy as np  # Blender starts without it, and it takes 50 ms to import.

    if not dots:
        return
    centers, radii, colors = (np.array(column, float) for column in zip(*dots, strict=True))
    x, y, _, w = np.array(view.perspective_matrix) @ np.c_[centers, np.ones(len(dots))].T
    is_visible = w > 0.0
    pixel_centers = np.zeros((int(is_visible.sum()), 1, 3))
    pixel_centers[:, 0, 0] = 0.5 * region.width * (1.0 + x[is_visible] / w[is_visible])
    pixel_centers[:, 0, 1] = 0.5 * region.height * (1.0 + y[is_visible] / w[is_visible])
    corners = pixel_centers + radii[is_visible, None, None] * np.array(DOT)
    content = {
        "pos": corners.reshape(-1, 3).astype(np.float32),
        "color": np.repeat(colors[is_visible], len(DOT), axis=0).astype(np.float32),
    }
    _draw(gpu.shader.from_builtin("FLAT_COLOR"), "TRIS", content)


def in_region(context: bpy.types.Context, point_world: Vec) -> tuple[float, float] | None:
    """Return a point in region coordinates; None if it is behind the viewer."""
    pixel = location_3d_to_region_2d(context.region, context.region_data, point_world)
    return None if pixel is None else (pixel.x, pixel.y)


BESIDE: list[Callable[[bpy.types.Context], list[tuple[Any, str]]]] = []
"""Functions that return notes on dragged things, each with a position in world space.

The notes explain why something doesn't move."""


def is_dragging(names: tuple[str, ...] = DRAGS) -> bool:
    """Return whether the user is moving something with the mouse, in any window.

    Args:
        names: Prefixes of the names of the operators that count.
    """
    windows = cast(bpy.types.WindowManager, bpy.context.window_manager).windows
    return any(
        operator is not None and operator.bl_idname.startswith(names)
        for window in windows
        for operator in cast(Any, window).modal_operators
    )


def start_texts(context: bpy.types.Context) -> float:
    """Set the font size of the interface, and return the height of a capital letter."""
    blf.size(0, _preferences(context).ui_styles[0].widget.points * pixel(context))
    return blf.dimensions(0, "X")[1]


def write(text: str, x: float, y: float, color: Color) -> None:
    """Draw text with a shadow, at a position in pixels of the region."""
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 0, 0.0, 0.0, 0.0, 0.8)
    blf.shadow_offset(0, 1, -1)
    blf.color(0, *color)
    blf.position(0, x, y, 0.0)
    blf.draw(0, text)
    blf.disable(0, blf.SHADOW)
