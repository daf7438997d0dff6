"""What mouse and keys make of a drag in the 3D view, as in Blender's own transform."""

from __future__ import annotations

from typing import Any, cast

import bpy
import gpu
from gpu_extras.batch import batch_for_shader
from mathutils import Vector

from ...core.vectors import IDENTITY, ORIGIN, Mat3, Vec, length, mat_columns, sub
from ...ui.wording import length_text
from .drag import Drag
from .motion import Lock, Typed, locked, on_grid, pressed, projected, stepped
from .pointer import Pointer
from .snapping import seen_point

AXES = ("X", "Y", "Z")
SURFACES = {"FACE", "VERTEX"}
"""What of the scene can be snapped to; edges and volumes are left to Blender's own transform."""

FINE = 0.1
"""What of a step of the grid is snapped to while Shift is held."""


class Handle:
    """Something that is being dragged, and how far mouse and keys want it.

    Attributes:
        held: What is dragged.
        motion: How far it has been dragged, in world space.
    """

    def __init__(
        self,
        context: bpy.types.Context,
        held: Drag,
        armature: bpy.types.Object,
        mouse: tuple[float, float],
    ) -> None:
        """Take hold of it.

        Args:
            context: Of a 3D view.
            held: What is dragged.
            armature: Of the bone.
            mouse: Where the mouse is, in pixels of the window.
        """
        self.held = held
        self.motion = ORIGIN
        self._armature = armature
        self._pointer = Pointer(context, held.place, mouse)
        self._lock: Lock | None = None
        self._typed = Typed()
        self._lines = AxisLines(held.place)

    def release(self) -> None:
        """Let go of it: nothing more is drawn."""
        self._lines.remove()

    def follow(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        """Take a move of the mouse."""
        self._pointer.move(context, (event.mouse_x, event.mouse_y), event.shift, self.motion)

    def key(self, event: bpy.types.Event) -> bool:
        """Take a key, and return whether it means something."""
        count = len(self._free())
        if event.type in AXES:
            self._lock = pressed(self._lock, AXES.index(event.type), event.shift)
            self._typed.place = 0
            self._show_lines()
        elif event.type == "BACK_SPACE":
            self._typed.back(count)
        elif event.type == "TAB":
            self._typed.next()
        elif event.unicode and event.unicode in "0123456789.-,":
            self._typed.key(event.unicode.replace(",", "."), count)
        else:
            return False
        return True

    def _free(self) -> tuple[int, ...]:
        return (0, 1, 2) if self._lock is None else self._lock.free()

    def move(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        """Move it to where mouse and keys want it.

        Raises:
            ProblemError: If it cannot come there.
        """
        axes = self._axes()
        motion = self._typed.motion(axes, self._free())
        if motion is None:
            motion = self._pointed(context, event, axes)
        self.held.move_by(motion)
        self.motion = motion

    def _axes(self) -> Mat3:
        return self.held.axes if self._lock is not None and self._lock.is_local else IDENTITY

    def _show_lines(self) -> None:
        columns = mat_columns(self._axes())
        free = self._free() if self._lock is not None else ()
        self._lines.axes = tuple((i, columns[i]) for i in free)

    def _pointed(self, context: bpy.types.Context, event: bpy.types.Event, axes: Mat3) -> Vec:
        """Return the motion that the mouse wants, locked and snapped."""
        pointer, lock = self._pointer, self._lock
        tools = context.scene.tool_settings
        elements = tools.snap_elements if tools.use_snap != event.ctrl else set()
        if elements & SURFACES:
            place = seen_point(
                context.evaluated_depsgraph_get(),
                self._armature,
                *pointer.line(context),
                is_corner="FACE" not in elements,
            )
            if place is not None:
                motion = sub(place, self.held.place)
                return motion if lock is None else projected(motion, lock, axes)
        motion = pointer.motion(context)
        if lock is not None:
            sight = pointer.sight(context, motion)
            motion = locked(motion, lock, axes, sight, pointer.up(context))
        if not elements & {"INCREMENT", "GRID"}:
            return motion
        view: Any = context.space_data
        step = view.overlay.grid_scale_unit * (FINE if event.shift else 1.0)
        if "GRID" not in elements and not tools.use_snap_grid_absolute:
            return stepped(motion, axes, step)
        motion = on_grid(self.held.place, motion, step)
        return motion if lock is None else projected(motion, lock, axes)

    def text(self, scene: bpy.types.Scene) -> str:
        """Return what the header says of it."""
        parts = [
            f"D{axis.lower()}: {length_text(scene, round(number, 6) + 0.0)}"  # Without −0.
            for axis, number in zip(AXES, self.motion, strict=True)
        ]
        along = "" if self._lock is None else f" {_lock_text(self._lock)}"
        texts = [text for text in self._typed.texts if text]
        typed = f"   [{', '.join(texts)}]" if texts else ""
        whole = length_text(scene, length(self.motion))
        return f"“{self.held.name}”   {'   '.join(parts)}   ({whole}){along}{typed}"


def _lock_text(lock: Lock) -> str:
    space = "local" if lock.is_local else "global"
    return f"{'locking' if lock.is_plane else 'along'} {space} {AXES[lock.axis]}"


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
