"""The panel of pins, and their dots in the viewport."""

from __future__ import annotations

from math import sqrt
from typing import Any, cast

import bpy

from fabrik_solver import point_in
from fabrik_solver.core.vectors import Vec

from ...blender.access import pose_bones, rest_bone
from ...blender.errors import report_once
from ...blender.messages import msg
from ...blender.skeleton import matrix_frame, vector
from ...ui.following import shown_armature
from ...ui.layout import Layout, SidebarPanel, draw_sentence
from ...ui.paint import Dot, Strokes, draw_dots, faint, palette, pixel
from ...ui.refusing import active_armature
from ...ui.registering import registering
from .balancing import added, known_roles, loads_of, support_of
from .keeping import pins_problem
from .settings import (
    BOTH,
    PLACE,
    FabrikPin,
    body_settings,
    pinned_bone,
    pins_of,
)

HOW_TO = msg("With the Drag Bones tool, press P over each hand or foot that you want to pin")

RADIUS = 5.0
"""The radius of a pin in pixels at a UI scale of 1."""

LINE = 2.0
AREA = 0.15
"""The width of lines in pixels, and the opacity of the area of support."""


def _draw_pin(box: Layout, armature: bpy.types.Object, pin: FabrikPin) -> None:
    row = box.row(align=True)
    name = pinned_bone(armature, pin) or pin.bone
    row.label(text=name, translate=False, icon="PINNED")
    free: Any = row.operator("fabrik.pin", text="", icon="X")
    free.bone, free.kind, free.armature = name, "NONE", armature.name
    row = box.row(align=True)
    row.prop(pin, "kind", text="")
    _draw_frames(row, armature, pin, name)


def _draw_place(options: Layout, pin: FabrikPin) -> None:
    options.prop(pin, "location_weights")
    if pin.kind == BOTH:
        options.prop(pin, "rotation_weights")
    if pin.frames == PLACE:
        options.use_property_decorate = True
        options.prop(pin, "influence")
        options.prop(pin, "location")
        options.use_property_decorate = False


class FABRIK_PT_whole_body(SidebarPanel, bpy.types.Panel):
    """The pins of an armature, and how its body follows."""

    bl_label = "Whole Body"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the pins and the options."""
        layout: Layout = self.layout
        armature = active_armature(context)
        layout.operator("fabrik.pin", icon="PINNED")
        pins = pins_of(armature)
        if not len(pins):
            draw_sentence(layout, context, HOW_TO)
        box = layout.box().column() if len(pins) else layout
        for pin in pins:
            _draw_pin(box, armature, pin)
        active: Any = context.active_pose_bone
        shown = next((pin for pin in pins if active is not None and pin.bone == active.name), None)
        options = layout.column()
        options.use_property_split = True
        options.use_property_decorate = False
        if shown is not None:
            _draw_place(options, shown)
        body = body_settings(armature)
        if any(pin.frames == PLACE for pin in pins):
            if problem := pins_problem(armature):
                draw_sentence(options, context, problem)
            options.operator("fabrik.pin_bake", icon="KEYINGSET")
            options.prop(body, "up_axis")
        options.prop(body, "clavicle")
        options.prop(body, "keying")
        options.prop(body, "use_balance")
        if body.use_balance:
            options.prop(body, "masses")
            if active is not None:
                options.prop(rest_bone(armature, active.name), "fabrik_mass")


def _draw_frames(row: Layout, armature: bpy.types.Object, pin: FabrikPin, bone: str) -> None:
    """Draw when a bone is pinned, as a menu whose items store where it is."""
    label = row.enum_item_name(pin, "frames", pin.frames)
    menu = row.operator_menu_enum("fabrik.pin", "frames", text=label, translate=False)
    menu.bone, menu.kind, menu.armature = bone, pin.kind, armature.name


# In the viewport

_handles: list[Any] = []


def shown_pins(context: bpy.types.Context) -> list[tuple[Vec, bool]]:
    """Return the locations of the shown armature's pins, and whether they pin rotations."""
    seen = _seen(context)
    if seen is None or not len(pins_of(seen[0])):
        return []
    armature, shown = seen
    world, bones = matrix_frame(shown.matrix_world), pose_bones(shown)
    roles = known_roles(armature, shown)
    places: list[tuple[Vec, bool]] = []
    for pin in pins_of(armature):
        name = roles.named(pinned_bone(armature, pin))
        if name in bones:
            end = vector(roles.pinned_end(bones[name]))
            places.append((point_in(world, end), pin.kind == BOTH))
    return places


def shown_balance(context: bpy.types.Context) -> tuple[Vec, Vec, list[Vec]] | None:
    """Return the center of mass, the point below it, and the support area; None if not shown.

    All are in world space.
    """
    seen = _seen(context)
    if seen is None or not body_settings(seen[0]).use_balance:
        return None
    armature, shown = seen
    world, bones = matrix_frame(shown.matrix_world), pose_bones(shown)
    roles = known_roles(armature, shown)
    if not roles.masses:
        return None
    pinned = [roles.named(pinned_bone(armature, pin)) for pin in pins_of(armature)]
    support = support_of(bones, pinned, roles)
    mass, center = added(loads_of(armature, shown, roles).values())
    area = support.area()
    if mass == 0.0 or not area:
        return None
    places = [point_in(world, point) for point in (center, support.below(center), *area)]
    return places[0], places[1], places[2:]


def _seen(context: bpy.types.Context) -> tuple[bpy.types.Object, bpy.types.Object] | None:
    armature, layer = shown_armature(context), context.view_layer
    if armature is None or armature.mode != "POSE" or layer is None or layer.depsgraph is None:
        return None
    return armature, armature.evaluated_get(layer.depsgraph)


def _is_shown(context: bpy.types.Context) -> bool:
    space, scene = cast(Any, context.space_data), cast(Any, context.scene)
    return space.overlay.show_overlays and scene.fabrik.show_overlay


def _draw_balance() -> None:
    context = bpy.context
    try:
        balance = shown_balance(context) if _is_shown(context) else None
        if balance is None:
            return
        center, below, area = balance
        color = palette(context).target
        strokes = Strokes()
        strokes.fan(area, faint(color, AREA))
        strokes.triangles()
        strokes = Strokes()
        strokes.path((center, below), color)
        strokes.path((*area, area[0]), color)
        strokes.lines(LINE * pixel(context))
    except Exception:
        report_once("could not draw the balance")


def _draw_dots() -> None:
    context = bpy.context
    try:
        if not _is_shown(context):
            return
        colors, size = palette(context), RADIUS * pixel(context)
        dots = [
            # Doubles the dot's area if the rotation is pinned too.
            Dot(point, size * (sqrt(2.0) if is_oriented else 1.0), colors.pin)
            for point, is_oriented in shown_pins(context)
        ]
        balance = shown_balance(context)
        if balance is not None:
            dots.append(Dot(balance[0], size, colors.target))
        region, view = cast(Any, context.region), cast(Any, context.region_data)
        draw_dots(region, view, dots)
    except Exception:
        report_once("could not draw the pins")


_register, _unregister = registering(__name__)


def register() -> None:
    """Add the panel and the draw handlers."""
    _register()
    view: Any = bpy.types.SpaceView3D
    for draw, when in ((_draw_balance, "POST_VIEW"), (_draw_dots, "POST_PIXEL")):
        _handles.append(view.draw_handler_add(draw, (), "WINDOW", when))


def unregister() -> None:
    """Remove the panel and the draw handlers."""
    for handle in _handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
    _unregister()
