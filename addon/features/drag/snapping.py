"""What a dragged place snaps to: the surfaces and corners that are seen there."""

from __future__ import annotations

from typing import Any, cast

import bpy
from mathutils import Vector

from ...blender.relations import moves_with
from ...blender.skeleton import vector
from ...core.vectors import Vec

LAYERS = 32
"""Surfaces behind each other that are looked through at most."""

STEP = 1e-4
"""How far behind a surface the next one is looked for, in metres."""


def seen_point(
    depsgraph: bpy.types.Depsgraph,
    armature: bpy.types.Object,
    origin: Vec,
    sight: Vec,
    is_corner: bool,
) -> Vec | None:
    """Return where a line of sight meets a surface, in world space; None if it meets none.

    What the armature deforms or carries is looked through, for it would follow what is dragged.

    Args:
        depsgraph: The scene as evaluated.
        armature: The armature that is dragged.
        origin: Where the line begins.
        sight: Its direction, of length 1.
        is_corner: Whether the corner of the face is wanted that is nearest to that point.
    """
    scene = cast(bpy.types.Scene, depsgraph.scene)
    start, direction = Vector(origin), Vector(sight)
    for _ in range(LAYERS):
        is_hit, place, _, face, ob, matrix = scene.ray_cast(depsgraph, start, direction)
        if not is_hit:
            return None
        if not moves_with(cast(bpy.types.Object, ob), {armature.session_uid}):
            corners = _corners(depsgraph, ob, face, matrix) if is_corner else []
            return vector(min(corners, key=lambda c: (c - place).length, default=place))
        start = place + direction * STEP
    return None


def _corners(depsgraph: bpy.types.Depsgraph, ob: Any, face: int, matrix: Any) -> list[Any]:
    mesh: Any = ob.evaluated_get(depsgraph).data
    if not isinstance(mesh, bpy.types.Mesh) or not 0 <= face < len(mesh.polygons):
        return []
    return [matrix @ mesh.vertices[i].co for i in cast(Any, mesh.polygons[face]).vertices]
