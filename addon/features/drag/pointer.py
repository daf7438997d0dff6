"""The mouse in a 3D view, as it drags a place along."""

from __future__ import annotations

from typing import Any

import bpy
from bpy_extras.view3d_utils import (
    region_2d_to_location_3d,
    region_2d_to_origin_3d,
    region_2d_to_vector_3d,
)
from mathutils import Vector

from ...blender.skeleton import vector
from ...core.vectors import ORIGIN, Vec, add

PRECISE = 0.1
"""What of the mouse's way counts while Shift is held, as in Blender's own transform."""


class Pointer:
    """What the mouse has done since it took hold of a place.

    The place is moved in the plane through it that faces the viewer. When the view is turned or
    zoomed meanwhile, what was shown until then is where the motion goes on from. No reference to
    the view is kept: it may be gone at the next event.
    """

    def __init__(self, context: bpy.types.Context, place: Vec, mouse: tuple[float, float]) -> None:
        """Take hold.

        Args:
            context: Of a 3D view.
            place: What is dragged, in world space.
            mouse: Where the mouse is, in pixels of the window.
        """
        self._place = place
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
        shown: Vec,
    ) -> None:
        """Follow the mouse.

        Args:
            context: Of the same 3D view.
            mouse: Where the mouse is, in pixels of the window.
            is_precise: Whether only a part of its way counts.
            shown: The motion that is shown at the moment.
        """
        view = self._view_now(context)
        if view != self._view:
            self._view = view
            self._base = shown
            self._grip = self._at = self._in_region(context, mouse)
        else:
            self._at = self._at + (Vector(mouse) - self._last) * (PRECISE if is_precise else 1.0)
        self._last = Vector(mouse)

    def motion(self, context: bpy.types.Context) -> Vec:
        """Return how far the mouse has brought the place, in world space."""
        region, view = context.region, context.region_data
        depth = add(self._place, self._base)
        there = region_2d_to_location_3d(region, view, self._at, depth)
        here = region_2d_to_location_3d(region, view, self._grip, depth)
        return add(self._base, vector(there - here))

    def line(self, context: bpy.types.Context) -> tuple[Vec, Vec]:
        """Return the line of sight through the mouse: where it begins, and its direction."""
        region, view = context.region, context.region_data
        origin = region_2d_to_origin_3d(region, view, self._at)
        return vector(origin), vector(region_2d_to_vector_3d(region, view, self._at).normalized())

    def sight(self, context: bpy.types.Context, motion: Vec) -> Vec:
        """Return in which direction the moved place is seen."""
        view: Any = context.region_data
        back = view.view_matrix.inverted()
        if view.is_perspective:
            return vector((Vector(add(self._place, motion)) - back.translation).normalized())
        return vector(-back.col[2].to_3d().normalized())

    @staticmethod
    def up(context: bpy.types.Context) -> Vec:
        """Return which direction is up on the screen."""
        view: Any = context.region_data
        return vector(view.view_matrix.inverted().col[1].to_3d().normalized())
