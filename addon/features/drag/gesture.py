"""An interactive drag in the 3D Viewport, with the controls of Blender's transform."""

from __future__ import annotations

from typing import Any, cast

import bpy
import gpu
from gpu_extras.batch import batch_for_shader
from mathutils import Vector

from fabrik_solver.core.vectors import IDENTITY, ORIGIN, Mat3, Vec, length, mat_columns, sub

from ...blender.errors import listed
from ...blender.messages import Message, joined, msg
from ...ui.wording import length_text
from .displacement import Lock, Typed, locked, on_grid, pressed, projected, stepped
from .drag import WHY_SHORT
from .pointer import Pointer
from .protocol import Drag, FollowingDrag
from .snapping import seen_point

AXES = ("X", "Y", "Z")
SURFACES = {"FACE", "VERTEX"}
"""Supported snap elements."""

TICK = 0.1
"""Seconds between ticks. Users never pause the mouse for less."""

FINE = 0.1
"""Fraction of the grid step while Shift is held."""


class Gesture:
    """An interactive drag.

    Attributes:
        dragged: The drag.
        displacement: Its current displacement, in world space.
    """

    def __init__(
        self,
        context: bpy.types.Context,
        dragged: Drag,
        armature: bpy.types.Object,
        mouse: tuple[float, float],
    ) -> None:
        """Start the gesture.

        Args:
            context: The context of a 3D Viewport.
            dragged: The drag.
            armature: The armature of the bone.
            mouse: The mouse location in the window, in pixels.
        """
        self.dragged = dragged
        self.displacement = ORIGIN
        self._armature = armature
        self._pointer = Pointer(context, dragged.place, mouse)
        self._lock: Lock | None = None
        self._typed = Typed()
        self._lines = AxisLines(dragged.place)
        self._is_moving = False
        manager: Any = context.window_manager
        self._timer = None
        if isinstance(dragged, FollowingDrag):
            self._timer = manager.event_timer_add(TICK, window=context.window)

    def release(self) -> None:
        """Stop drawing, and remove the timer."""
        self._lines.remove()
        if self._timer is not None:
            cast(Any, bpy.context).window_manager.event_timer_remove(self._timer)
            self._timer = None

    def mouse_move(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        """Handle a mouse move."""
        self._pointer.move(context, (event.mouse_x, event.mouse_y), event.shift, self.displacement)

    def key(self, event: bpy.types.Event) -> bool:
        """Handle a key, and return whether it was used."""
        count = len(self._free())
        if event.type in AXES:
            self._lock = pressed(self._lock, AXES.index(event.type), event.shift)
            self._typed.index = 0
            self._show_lines()
        elif event.type == "BACK_SPACE":
            self._typed.back(count)
        elif event.type == "TAB":
            self._typed.next()
        elif event.unicode and event.unicode in "0123456789.-,":
            self._typed.type_character(event.unicode.replace(",", "."), count)
        else:
            return False
        return True

    def _free(self) -> tuple[int, ...]:
        return (0, 1, 2) if self._lock is None else self._lock.free()

    def move(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        """Apply the displacement from mouse and keys.

        Raises:
            ProblemError: If the displacement can't be applied.
        """
        axes = self._axes()
        displacement = self._typed.displacement(axes, self._free())
        if displacement is None:
            displacement = self._pointed(context, event, axes)
        if isinstance(self.dragged, FollowingDrag):
            self.dragged.follow(displacement)
            self._is_moving = True
        else:
            self.dragged.move_by(displacement)
        self.displacement = displacement

    def tick(self) -> None:
        """Let the drag settle if it hasn't moved since the last tick.

        Raises:
            ProblemError: If the drag fails.
        """
        if isinstance(self.dragged, FollowingDrag) and not self._is_moving:
            self.dragged.settle()
        self._is_moving = False

    def _axes(self) -> Mat3:
        return self.dragged.axes if self._lock is not None and self._lock.is_local else IDENTITY

    def _show_lines(self) -> None:
        columns = mat_columns(self._axes())
        free = self._free() if self._lock is not None else ()
        self._lines.axes = tuple((i, columns[i]) for i in free)

    def _pointed(self, context: bpy.types.Context, event: bpy.types.Event, axes: Mat3) -> Vec:
        """Return the displacement of the mouse, constrained and snapped."""
        pointer, lock = self._pointer, self._lock
        tools = context.scene.tool_settings
        elements = tools.snap_elements if tools.use_snap != event.ctrl else set()
        if elements & SURFACES:
            hit_point = seen_point(
                context.evaluated_depsgraph_get(),
                self._armature,
                *pointer.line(context),
                is_corner="FACE" not in elements,
            )
            if hit_point is not None:
                displacement = sub(hit_point, self.dragged.place)
                return displacement if lock is None else projected(displacement, lock, axes)
        displacement = pointer.displacement(context)
        if lock is not None:
            sight = pointer.sight(context, displacement)
            displacement = locked(displacement, lock, axes, sight, pointer.up(context))
        if not elements & {"INCREMENT", "GRID"}:
            return displacement
        view: Any = context.space_data
        step = view.overlay.grid_scale_unit * (FINE if event.shift else 1.0)
        if "GRID" not in elements and not tools.use_snap_grid_absolute:
            return stepped(displacement, axes, step)
        displacement = on_grid(self.dragged.place, displacement, step)
        return displacement if lock is None else projected(displacement, lock, axes)

    def text(self, scene: bpy.types.Scene) -> str:
        """Return the text of the header."""
        parts = [
            # Without −0.
            f"D{axis.lower()}: {length_text(scene, round(number, 6) + 0.0)}"
            for axis, number in zip(AXES, self.displacement, strict=True)
        ]
        along = "" if self._lock is None else joined(" ", ("", _lock_text(self._lock)))
        texts = [text for text in self._typed.texts if text]
        typed = f"   [{', '.join(texts)}]" if texts else ""
        distance = length_text(scene, length(self.displacement))
        moved = f"   {'   '.join(parts)}   ({distance})"
        reason = WHY_SHORT.get(self.dragged.state, "")
        shortfall = joined("   ", ("", reason)) if reason else ""
        return joined("", (listed([self.dragged.name]), moved, along, typed, shortfall))


def _lock_text(lock: Lock) -> Message:
    axis = AXES[lock.axis]
    if lock.is_plane and lock.is_local:
        return msg("locking local {axis}", axis=axis)
    if lock.is_plane:
        return msg("locking global {axis}", axis=axis)
    if lock.is_local:
        return msg("along local {axis}", axis=axis)
    return msg("along global {axis}", axis=axis)


WIDTH = 1.5


class AxisLines:
    """Axis lines through a point, in the theme's colors.

    Attributes:
        axes: The axes to draw, by index and direction.
    """

    def __init__(self, point_world: Vec) -> None:
        """Start drawing in all 3D Viewports, through a point in world space."""
        self.axes: tuple[tuple[int, Vec], ...] = ()
        self._place = Vector(point_world)
        self._handler: Any = bpy.types.SpaceView3D.draw_handler_add(
            self._draw, (), "WINDOW", "POST_VIEW"
        )

    def remove(self) -> None:
        """Stop drawing."""
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
            color = (theme.axis_x, theme.axis_y, theme.axis_z)[axis]
            shader.uniform_float("color", (*color[:3], 1.0))
            ends = (self._place - reach, self._place + reach)
            batch_for_shader(shader, "LINES", {"pos": ends}).draw(shader)
