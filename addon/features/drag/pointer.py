"""Converts mouse movement in a 3D Viewport to displacements in world space."""

from __future__ import annotations

from typing import Any

import bpy
from bpy_extras.view3d_utils import (
    region_2d_to_location_3d,
    region_2d_to_origin_3d,
    region_2d_to_vector_3d,
)
from mathutils import Vector

from fabrik_solver.core.vectors import ORIGIN, Vec, add

from ...blender.skeleton import vector

PRECISE = 0.1
"""Fraction of the mouse movement while Shift is held, as in Blender's transform."""


class Pointer:
    """The mouse during a drag.

    The point moves in the plane through it that faces the viewer. When the view changes, the drag
    continues from the current displacement. No reference to the view is kept, because it may become
    invalid.
    """

    def __init__(self, context: bpy.types.Context, point: Vec, mouse: tuple[float, float]) -> None:
        """Start at the current mouse location.

        Args:
            context: The context of a 3D Viewport.
            point: The dragged point, in world space.
            mouse: The mouse location in the window, in pixels.
        """
        self._place = point
        self._last = Vector(mouse)
        self._grip: Any
        self._at: Any
        self._grip = self._at = self._in_region(context, mouse)
        self._base = ORIGIN
        self._view = self._view_now(context)

    @staticmethod
    def _in_region(context: bpy.types.Context, mouse: tuple[float, float]) -> Any:
        region: Any = context.region
        return Vector((mouse[0] - region.x, mouse[1] - region.y))

    @staticmethod
    def _view_now(context: bpy.types.Context) -> tuple[object, ...]:
        view: Any = context.region_data
        region: Any = context.region
        return view.perspective_matrix.copy(), region.width, region.height

    def move(
        self,
        context: bpy.types.Context,
        mouse: tuple[float, float],
        is_precise: bool,
        displacement: Vec,
    ) -> None:
        """Handle a mouse move.

        Args:
            context: The context of the same 3D Viewport.
            mouse: The mouse location in the window, in pixels.
            is_precise: Whether the movement is scaled down.
            displacement: The current displacement.
        """
        view = self._view_now(context)
        if view != self._view:
            self._view = view
            self._base = displacement
            self._grip = self._at = self._in_region(context, mouse)
        else:
            self._at = self._at + (Vector(mouse) - self._last) * (PRECISE if is_precise else 1.0)
        self._last = Vector(mouse)

    def displacement(self, context: bpy.types.Context) -> Vec:
        """Return the displacement of the mouse, in world space."""
        region, view = context.region, context.region_data
        depth = add(self._place, self._base)
        end = region_2d_to_location_3d(region, view, self._at, depth)
        start = region_2d_to_location_3d(region, view, self._grip, depth)
        return add(self._base, vector(end - start))

    def line(self, context: bpy.types.Context) -> tuple[Vec, Vec]:
        """Return origin and unit direction of the view ray through the mouse."""
        region, view = context.region, context.region_data
        origin = region_2d_to_origin_3d(region, view, self._at)
        return vector(origin), vector(region_2d_to_vector_3d(region, view, self._at).normalized())

    def sight(self, context: bpy.types.Context, displacement: Vec) -> Vec:
        """Return the unit view direction at the displaced point."""
        view: Any = context.region_data
        back = view.view_matrix.inverted()
        if view.is_perspective:
            return vector((Vector(add(self._place, displacement)) - back.translation).normalized())
        return vector(-back.col[2].to_3d().normalized())

    @staticmethod
    def up(context: bpy.types.Context) -> Vec:
        """Return the unit up direction of the screen."""
        view: Any = context.region_data
        return vector(view.view_matrix.inverted().col[1].to_3d().normalized())
