"""Drawing the overlay in 3D Viewports.

Lines are drawn in world space, then joints and text in pixels on top. The data is collected once
for both, at each redraw of a region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import blf
import bpy
from mathutils import Vector

from fabrik_solver.core.vectors import Vec, mix

from ...blender.errors import report_once
from ...blender.messages import COMMA, joined, label, msg, shown
from ...frame import timing
from ...frame.handlers import solve_in
from ...plan import planner
from ...settings.properties import STATE_ITEMS, scene_settings
from ...ui.layout import Layout
from ...ui.paint import (
    MARGIN,
    Color,
    Dot,
    Strokes,
    draw_dots,
    faint,
    in_region,
    is_dragging,
    palette,
    pixel,
    start_texts,
    write,
)
from ...ui.registering import registering
from ...ui.wording import length_text
from .chains import ShownChain, shown_chains
from .joint import ShownJoint, shown_joint

STATES = {identifier: name for identifier, name, *_ in STATE_ITEMS}

THIN, THICK = 1.25, 2.5
"""Line widths, in pixels at a UI scale of 1."""

DOT = 3.5
"""Radius of a joint, in pixels at a UI scale of 1."""

MOST_LINES = 6
"""Maximum number of constraints in the text."""


class OverlayData(NamedTuple):
    """The data to draw in a region.

    Attributes:
        chains: The constraints, the active one first.
        joint: The active bone's joint, if it is limited.
    """

    chains: list[ShownChain]
    joint: ShownJoint | None


def overlay_data(context: bpy.types.Context) -> OverlayData | None:
    """Return the data to draw; None if the overlay is off or empty."""
    view = cast(bpy.types.SpaceView3D, context.space_data)
    overlay = view.overlay
    scene, layer = context.scene, context.view_layer
    if not (overlay.show_overlays and overlay.show_bones) or scene is None or layer is None:
        return None
    fabrik = scene_settings(scene)
    if not fabrik.show_overlay:
        return None
    with_reach = fabrik.show_reach or is_dragging()
    data = OverlayData(shown_chains(layer, view, with_reach), shown_joint(layer, view))
    return data if data.chains or data.joint else None


# In world space


def draw_world(context: bpy.types.Context, data: OverlayData) -> None:
    """Draw chains with their reach, targets and poles, and the active joint's limit."""
    colors = palette(context)
    thin, thick, areas = Strokes(), Strokes(), Strokes()
    eye, is_orthographic = _eye(cast(bpy.types.RegionView3D, context.region_data))
    for chain in data.chains:
        color = colors.active if chain.is_active else colors.chain
        thick.path(chain.joints, color)
        if chain.tip != chain.joints[-1]:
            thin.path((chain.joints[-2], chain.tip), color)
        if chain.target is not None and chain.missed:
            thick.path((chain.tip, chain.target), colors.target)
        elif chain.target is not None:
            thin.path((chain.tip, chain.target), faint(colors.target, 0.6))
        if chain.pole is not None and chain.elbow is not None:
            thin.path((chain.elbow, chain.pole), faint(colors.pole, 0.8))
        if chain.shell is not None:
            outline = faint(color, 0.6)
            thin.path(chain.shell.outline(chain.shell.outer, eye, is_orthographic), outline)
            thin.path(chain.shell.outline(chain.shell.inner, eye, is_orthographic), outline)
            for circle in chain.shell.great_circles():
                thin.path(circle, faint(color, 0.15))
    if data.joint is not None:
        color = colors.end if data.joint.is_at_end else colors.chain
        _add_joint(data.joint, color, thin, areas)
    areas.triangles()
    thin.lines(THIN * pixel(context))
    thick.lines(THICK * pixel(context))


def _add_joint(joint: ShownJoint, color: Color, thin: Strokes, areas: Strokes) -> None:
    edge = joint.edge
    if edge:
        areas.fan((joint.head, *edge), faint(color, 0.12))
        thin.path(edge, color)
        for end in (*edge[:: len(edge) // 4], edge[-1]):
            thin.path((joint.head, end), faint(color, 0.5))
    if joint.twist:
        middle, current = joint.twisted
        areas.fan((middle, *joint.twist), faint(color, 0.2))
        thin.path(joint.twist, color)
        thin.path((middle, current), color)


def _eye(view: bpy.types.RegionView3D) -> tuple[Vec, bool]:
    """Return the viewer's location, or direction if orthographic; and if it is orthographic."""
    camera = view.view_matrix.inverted()
    x, y, z = camera.translation if view.is_perspective else camera.to_3x3() @ Vector((0, 0, 1))
    return (x, y, z), not view.is_perspective


# In pixels


def draw_pixels(context: bpy.types.Context, data: OverlayData) -> None:
    """Draw joints, targets, distances, and the text in the corner."""
    colors = palette(context)
    size = DOT * pixel(context)
    dots: list[Dot] = []
    for chain in data.chains:
        color = colors.active if chain.is_active else colors.chain
        for index, joint in enumerate(chain.joints):
            is_at_end = index in chain.at_end
            dots.append(
                Dot(joint, 1.8 * size, colors.end) if is_at_end else Dot(joint, size, color)
            )
        if chain.target is not None:
            dots.append(Dot(chain.target, size, colors.target))
        if chain.pole is not None:
            dots.append(Dot(chain.pole, size, colors.pole))
    region, view = cast(Any, context.region), cast(Any, context.region_data)
    draw_dots(region, view, dots)
    height = start_texts(context)
    for chain in data.chains:
        if chain.target is None or not chain.missed:
            continue
        middle = in_region(context, mix(chain.tip, chain.target, 0.5))
        if middle is not None:
            text = length_text(cast(bpy.types.Scene, context.scene), chain.missed)
            write(text, middle[0], middle[1] + 3.0 * size, colors.target)
    if _has_corner(context):
        _write_report(context, report(context, data.chains), 1.6 * height, colors.text)


def report(context: bpy.types.Context, chains: Sequence[ShownChain]) -> list[str]:
    """Return the lines of the text: the state of each constraint, and the update time."""
    lines: list[str] = []
    for chain in chains[:MOST_LINES]:
        parts = [label(chain.doing or STATES[chain.state])]
        if chain.missed:
            scene = cast(bpy.types.Scene, context.scene)
            parts.append(msg("error {missed}", missed=length_text(scene, chain.missed)))
        lines.append(
            msg("{constraint}: {parts}", constraint=chain.name, parts=joined(COMMA, parts))
        )
    if len(chains) > MOST_LINES:
        lines.append(msg("and {count} more", count=len(chains) - MOST_LINES))
    view = cast(bpy.types.SpaceView3D, context.space_data)
    seconds = timing.last() if view.overlay.show_stats else None
    if seconds is not None and chains:
        lines += _costs(context, seconds)
    return lines


def _costs(context: bpy.types.Context, seconds: float) -> list[str]:
    """Return lines about the duration of an update, and why it includes an evaluation."""
    lines: list[str] = [msg("FABRIK IK: {seconds:.2f} ms", seconds=1000.0 * seconds)]
    plan, armature = planner.known(), context.object
    unknown = plan.lookahead.unknown if plan is not None else {}
    if armature is not None and armature.session_uid in unknown:
        name = unknown[armature.session_uid]
        lines.append(
            msg(
                "Evaluated twice: the transform of “{name}” is only known after the first "
                "evaluation",
                name=name,
            )
        )
    return lines


def _has_corner(context: bpy.types.Context) -> bool:
    """Return whether the region shows the text; in Quad View only the user view does."""
    view = cast(bpy.types.SpaceView3D, context.space_data)
    return view.overlay.show_text and context.region_data == view.region_3d


def _write_report(
    context: bpy.types.Context, lines: Sequence[str], leading: float, color: Color
) -> None:
    """Draw the text at the lower right, next to the sidebar and above the asset shelf."""
    region = cast(bpy.types.Region, context.region)
    right, bottom = region.x + region.width, region.y
    for other in cast(bpy.types.Area, context.area).regions:
        if other.type == "UI" and other.width > 1 and other.x > region.x + region.width // 2:
            right = min(right, other.x)
        if other.type.startswith("ASSET_SHELF") and other.height > 1:
            bottom = max(bottom, other.y + other.height)
    margin = MARGIN * pixel(context)
    y = bottom - region.y + margin
    for line in map(shown, reversed(lines)):
        width = blf.dimensions(0, line)[0]
        write(line, right - region.x - margin - width, y, color)
        y += leading


# Draw handlers

_waiting: OverlayData | None = None
"""Data of the region whose lines are drawn, but whose pixels aren't yet."""


def on_world() -> None:
    """Draw the lines of a region."""
    global _waiting
    _waiting = None
    with _suppressed_errors():
        solve_in(cast(bpy.types.Scene, bpy.context.scene), bpy.context.view_layer)
        data = overlay_data(bpy.context)
        if data is not None:
            draw_world(bpy.context, data)
            _waiting = data


def on_pixels() -> None:
    """Draw the texts and dots of the region whose lines were just drawn."""
    global _waiting
    data, _waiting = _waiting, None
    if data is not None:
        with _suppressed_errors():
            draw_pixels(bpy.context, data)


@contextmanager
def _suppressed_errors() -> Iterator[None]:
    """Suppress errors, because Blender would print them at each redraw."""
    try:
        yield
    except ReferenceError:
        pass  # Something was removed; the next update makes a new plan.
    except Exception:
        report_once("could not draw its overlay")


def draw_switch(panel: Any, context: bpy.types.Context) -> None:
    """Draw the checkbox in the Overlays popover, below Bones."""
    layout: Layout = panel.layout
    column = layout.column()
    column.active = cast(bpy.types.SpaceView3D, context.space_data).overlay.show_overlays
    fabrik = scene_settings(cast(bpy.types.Scene, context.scene))
    column.prop(fabrik, "show_overlay")
    row = column.row()
    row.active = fabrik.show_overlay
    row.prop(fabrik, "show_reach")


types: Any = bpy.types

register, unregister = registering(
    __name__,
    (types.VIEW3D_PT_overlay_object, draw_switch),
    draws=(
        (types.SpaceView3D, on_world, "POST_VIEW"),
        (types.SpaceView3D, on_pixels, "POST_PIXEL"),
    ),
)
