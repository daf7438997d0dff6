"""Drawing the colliders of the active spring in 3D Viewports."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any, cast

import bpy
from mathutils import Matrix, Vector

from ...blender.access import pose_bones
from ...blender.errors import report_once
from ...editing.constraints import active_constraint
from ...settings.properties import scene_settings
from ...ui.following import shown_armature
from ...ui.paint import Strokes, faint, palette, pixel
from .recording import SOLVER
from .settings import FabrikCollider, chosen_colliders, colliders_of, spring_of

CORNERS = 32
"""How many corners a circle has."""

ALPHA, LINE = 0.7, 1.25
"""The opacity and width of lines, the width in pixels at a UI scale of 1."""

_handle: Any = None


def outlines(context: bpy.types.Context) -> list[list[Vector]]:
    """Return the outlines of the active spring's colliders, in world space."""
    armature, layer = shown_armature(context), context.view_layer
    item = None if armature is None else active_constraint(armature)
    if armature is None or item is None or item.solver != SOLVER or layer is None:
        return []
    depsgraph = cast(bpy.types.Depsgraph, layer.depsgraph)
    lines: list[list[Vector]] = []
    for i in chosen_colliders(armature, spring_of(item)):
        collider = colliders_of(armature)[i]
        if collider.kind == "MESH":
            continue
        mover = (collider.object or armature).evaluated_get(depsgraph)
        matrix = mover.matrix_world.copy()
        if collider.bone and mover.pose is not None:
            bone = pose_bones(mover).get(collider.bone)
            if bone is None:
                continue
            matrix = matrix @ bone.matrix
        lines += _outline(collider, matrix)
    return lines


def _outline(collider: FabrikCollider, matrix: Matrix) -> list[list[Vector]]:
    """Return the outline of a collider, with its radius scaled as in the simulation."""
    start, end = matrix @ Vector(collider.offset), matrix @ Vector(collider.tail)
    axis = end - start
    turn = Vector((0.0, 0.0, 1.0)).rotation_difference(axis)
    x, y, z = (turn @ Vector(unit) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    if collider.kind == "PLANE":
        side = axis.length
        square = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
        return [[start + side * (a * x + b * y) for a, b in square], [start, end]]
    radius = collider.radius * abs(matrix.to_3x3().determinant()) ** (1.0 / 3.0)
    if collider.kind.endswith("SPHERE"):
        return [_circle(start, radius * a, radius * b) for a, b in ((x, y), (y, z), (z, x))]
    lines = [_circle(center, radius * x, radius * y) for center in (start, end)]
    for side in (x, y):
        arc = _circle(end, radius * side, radius * z)[: CORNERS // 2 + 1]
        other = _circle(start, -radius * side, -radius * z)[: CORNERS // 2 + 1]
        lines.append([*arc, *other, arc[0]])
    return lines


def _circle(center: Vector, a: Vector, b: Vector) -> list[Vector]:
    angles = [2.0 * pi * i / CORNERS for i in range(CORNERS + 1)]
    return [center + cos(angle) * a + sin(angle) * b for angle in angles]


def _draw() -> None:
    """Draw the lines; report an error once, or Blender would print it at each redraw."""
    context = bpy.context
    try:
        space: Any = context.space_data
        scene = cast(bpy.types.Scene, context.scene)
        if not space.overlay.show_overlays or not scene_settings(scene).show_overlay:
            return
        strokes, color = Strokes(), faint(palette(context).pole, ALPHA)
        for line in outlines(context):
            strokes.path([(point.x, point.y, point.z) for point in line], color)
        strokes.lines(LINE * pixel(context))
    except ReferenceError:
        pass  # Something was removed; the next update renews the plan.
    except Exception:
        report_once("could not draw colliders")


def register() -> None:
    """Add the draw handler."""
    global _handle
    view: Any = bpy.types.SpaceView3D
    _handle = view.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    """Remove the draw handler."""
    view: Any = bpy.types.SpaceView3D
    view.draw_handler_remove(_handle, "WINDOW")
