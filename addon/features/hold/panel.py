"""The list of holds in the sidebar, their lines in the viewport, and their bars in timelines."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import frame_rate, pose_bones, quarter_second
from ...blender.errors import report_once
from ...blender.messages import msg, shown
from ...ui.following import shown_armature
from ...ui.layout import Layout, SidebarPanel, draw_sentence, wrapped
from ...ui.paint import (
    BESIDE,
    Color,
    Strokes,
    faint,
    in_region,
    is_dragging,
    palette,
    pixel,
    start_texts,
    write,
)
from ...ui.refusing import active_armature
from ...ui.registering import registering
from .listing import holds_with, shown_holds
from .settings import OWN, WORLD, holds_of
from .status import fixed_note

HOW_TO = msg(
    "To attach a hand to a bone, select the hand, Shift-click the bone and press Hold. To attach "
    "a selected object to the hand, press Pick Up"
)

BAR, FOOT = 3.0, 42.0
"""The height of a timeline bar, and its distance from the bottom, in pixels."""

ALPHA = 0.6

NOTE = 400
"""The width of a viewport note, in pixels at a UI scale of 1."""

LINE = 2.0
"""The width of viewport lines, in pixels at a UI scale of 1."""


class FABRIK_PT_holds(SidebarPanel, bpy.types.Panel):
    """The holds, their holders and their buttons."""

    bl_label = "Holds"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the buttons and the list."""
        layout: Layout = self.layout
        column = layout.column(align=True)
        row = column.row(align=True)
        row.operator("fabrik.hold").by = "SELECTED"
        row.operator("fabrik.release")
        row = column.row(align=True)
        row.operator("fabrik.hold", text="In World").by = "WORLD"
        row.operator("fabrik.hold", text="To Body").by = "BODY"
        row = column.row(align=True)
        row.operator("fabrik.pick_up")
        frames = quarter_second(frame_rate(context.scene))
        row.operator("fabrik.release", text="Return").frames = frames
        armature = active_armature(context)
        if not any(len(holds_of(ob)) for ob in holds_with(armature)):
            draw_sentence(layout, context, HOW_TO)
            return
        _draw_list(layout, context, armature)
        layout.operator("fabrik.hold_bake")


def _draw_list(layout: Layout, context: bpy.types.Context, armature: bpy.types.Object) -> None:
    frame = cast(bpy.types.Scene, context.scene).frame_current_final
    box = layout.box().column()
    for event in shown_holds(armature):
        row = box.row(align=True)
        row.active = event.is_at(frame)
        text = msg("{what}: {by}", what=event.what, by=event.by)
        row.label(text=shown(text), translate=False, icon="PINNED")
        until = "" if event.end is None else f"{event.end:g}"
        row.label(text=f"{event.start:g}–{until}", translate=False)
        if event.holder.kind == OWN:
            row.prop(event.holder, "frames", text="")
        else:
            row.prop(event.holder, "use_animation", text="", icon="ACTION")
        remove = row.operator("fabrik.hold_event_remove", text="", icon="X")
        remove.armature, remove.index, remove.frame = event.armature.name, event.hold, event.start
        if event.is_at(frame) and not event.holder.use_animation:
            draw_sentence(box, context, fixed_note(event.what, event.start))
    for ob in holds_with(armature):
        for index, hold in enumerate(holds_of(ob)):
            row = box.row(align=True)
            row.label(text=hold.name, translate=False)
            row.prop(hold, "blend")
            remove = row.operator("fabrik.hold_remove", text="", icon="X")
            remove.armature, remove.index = ob.name, index
            if problem := hold.message:
                draw_sentence(box, context, problem)


# In the viewport and in timelines


def lines_of(context: bpy.types.Context) -> list[tuple[Any, Any]]:
    """Return the lines from held bones or objects to their holders, for the shown armature."""
    armature, layer = shown_armature(context), cast(bpy.types.ViewLayer, context.view_layer)
    if armature is None or layer.depsgraph is None:
        return []
    frame = cast(bpy.types.Scene, context.scene).frame_current_final
    lines: list[tuple[Any, Any]] = []
    for event in shown_holds(armature):
        holder = event.holder
        if event.is_at(frame) and holder.kind != WORLD and holder.object is not None:
            hold = holds_of(event.armature)[event.hold]
            # The carrying bone itself is at the origin of the prop's parent.
            held = _place(layer, hold.prop or event.armature, "" if hold.prop else hold.bone)
            by = _place(layer, holder.object, holder.bone)
            if held is not None and by is not None:
                lines.append((held, by))
    return lines


def notes_of(context: bpy.types.Context) -> list[tuple[Any, str]]:
    """Return notes on selected bones or objects whose holder ignores their own channels.

    Each comes with its position in world space.
    """
    armature, layer = shown_armature(context), cast(bpy.types.ViewLayer, context.view_layer)
    if armature is None or layer.depsgraph is None:
        return []
    frame = cast(bpy.types.Scene, context.scene).frame_current_final
    bones = {(bone.id_data, bone.name) for bone in context.selected_pose_bones or ()}
    notes: list[tuple[Any, str]] = []
    for event in shown_holds(armature):
        hold = holds_of(event.armature)[event.hold]
        prop = hold.prop
        is_selected = (event.armature, hold.bone) in bones if prop is None else prop.select_get()
        if is_selected and event.is_at(frame) and not event.holder.use_animation:
            position = _place(layer, prop or event.armature, "" if prop else hold.bone)
            if position is not None:
                notes.append((position, fixed_note(event.what, event.start)))
    return notes


def _place(layer: bpy.types.ViewLayer, ob: bpy.types.Object, bone: str) -> Any:
    """Return the shown position of an object or bone in world space; None if it isn't shown."""
    posed = ob.evaluated_get(cast(bpy.types.Depsgraph, layer.depsgraph))
    if not bone:
        return posed.matrix_world.translation.copy()
    if posed.pose is None or bone not in pose_bones(posed):
        return None
    return posed.matrix_world @ pose_bones(posed)[bone].head


def _draw_lines() -> None:
    context = bpy.context
    try:
        space: Any = context.space_data
        scene: Any = context.scene
        if not space.overlay.show_overlays or not scene.fabrik.show_overlay:
            return
        color = faint(palette(context).target, ALPHA)
        strokes = Strokes()
        for held, by in lines_of(context):
            strokes.path((held.to_tuple(), by.to_tuple()), color)
        strokes.lines(LINE * pixel(context))
    except Exception:
        report_once("could not draw what is held")


def _draw_notes() -> None:
    """Explain next to a dragged control why it doesn't move."""
    context = bpy.context
    try:
        space: Any = context.space_data
        if not space.overlay.show_overlays or not is_dragging():
            return
        color = palette(context).text
        leading = 1.6 * start_texts(context)
        for position, note in [note for ask in BESIDE for note in ask(context)]:
            pixels = in_region(context, position)
            if pixels is None:
                continue
            for i, line in enumerate(wrapped(shown(note), context, NOTE)):
                write(line, pixels[0] + leading, pixels[1] - i * leading, color)
    except Exception:
        report_once("could not draw what is held")


def bars_of(context: bpy.types.Context) -> list[tuple[float, float, Color]]:
    """Return each hold of the shown armature: first frame, last frame, color."""
    armature = shown_armature(context)
    if armature is None:
        return []
    scene = cast(bpy.types.Scene, context.scene)
    color = faint(palette(context).target, ALPHA)
    last = float(scene.frame_end + 1)
    return [(event.start, event.end or last, color) for event in shown_holds(armature)]


def _draw_bars() -> None:
    context = bpy.context
    try:
        view: Any = context.region.view2d  # type: ignore[union-attr]
        scale = pixel(context)
        strokes = Strokes()
        for i, (start, end, color) in enumerate(bars_of(context)):
            left = view.view_to_region(start, 0.0, clip=False)[0]
            right = view.view_to_region(end, 0.0, clip=False)[0]
            low = scale * (FOOT + (i % 4) * (BAR + 1.0))
            high = low + scale * BAR
            corners = ((left, low), (right, low), (right, high), (left, high))
            strokes.fan([(x, y, 0.0) for x, y in corners], color)
        strokes.triangles()
    except Exception:
        report_once("could not draw what is held")


types: Any = bpy.types

register, unregister = registering(
    __name__,
    (BESIDE, notes_of),
    draws=(
        (types.SpaceView3D, _draw_lines, "POST_VIEW"),
        (types.SpaceView3D, _draw_notes, "POST_PIXEL"),
        (types.SpaceDopeSheetEditor, _draw_bars, "POST_PIXEL"),
    ),
)
