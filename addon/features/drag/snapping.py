"""Snaps a dragged point to visible surfaces and vertices."""

from __future__ import annotations

from typing import Any, cast

import bpy
from mathutils import Vector

from fabrik_solver.core.vectors import Vec

from ...blender.relations import moves_with
from ...blender.skeleton import vector

LAYERS = 32
"""Maximum number of surfaces to skip."""

STEP = 1e-4
"""Distance behind a skipped surface at which the next ray starts, in meters."""


def seen_point(
    depsgraph: bpy.types.Depsgraph,
    armature: bpy.types.Object,
    origin: Vec,
    sight: Vec,
    is_corner: bool,
) -> Vec | None:
    """Return the first surface point on a view ray, in world space; None without a hit.

    Objects that follow the armature are skipped, because they would follow the drag.

    Args:
        depsgraph: The evaluated scene.
        armature: The dragged armature.
        origin: Origin of the ray.
        sight: Unit direction of the ray.
        is_corner: Whether to return the nearest vertex of the hit face instead.
    """
    scene = cast(bpy.types.Scene, depsgraph.scene)
    start, direction = Vector(origin), Vector(sight)
    for _ in range(LAYERS):
        is_hit, hit, _, face, ob, matrix = scene.ray_cast(depsgraph, start, direction)
        if not is_hit:
            return None
        if not moves_with(cast(bpy.types.Object, ob), {armature.session_uid}):
            corners = _corners(depsgraph, ob, face, matrix) if is_corner else []
            return vector(min(corners, key=lambda c: (c - hit).length, default=hit))
        start = hit + direction * STEP
    return None


def _corners(depsgraph: bpy.types.Depsgraph, ob: Any, face: int, matrix: Any) -> list[Any]:
    mesh: Any = ob.evaluated_get(depsgraph).data
    if not isinstance(mesh, bpy.types.Mesh) or not 0 <= face < len(mesh.polygons):
        return []
    return [matrix @ mesh.vertices[i].co for i in cast(Any, mesh.polygons[face]).vertices]
