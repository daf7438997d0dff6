"""What a foothold is anchored to: an object, or a triangle of a deforming mesh."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import bpy
from mathutils import Vector
from mathutils.geometry import area_tri, intersect_point_tri

from fabrik_solver import Frame, point_in
from fabrik_solver.core.vectors import cross, mat_from_columns, sub, unit

from ...blender.rays import Hit, resolve_ground
from ...blender.skeleton import vector
from ...plan.chain_plan import Snapshot

CORNERS = "\t"
"""Prefix that marks a triangle among the stored ground names."""

CORNERED = re.compile(CORNERS + " ".join(4 * ["([0-9]{1,9})"]))
"""A triangle's entry: the index of its object, and three vertices."""


class GroundAnchor(NamedTuple):
    """What a foothold is anchored to. In the anchor's frame it is constant.

    Attributes:
        ob: The object.
        corners: Three vertices of the evaluated mesh that carry the foothold; empty if the object
            doesn't deform.
    """

    ob: bpy.types.Object
    corners: tuple[int, ...] = ()

    def frame(self, snapshot: Snapshot) -> Frame:
        """Return the anchor's frame in world space.

        A triangle's axes are two edges and the normal. A point then keeps its barycentric
        coordinates, however the mesh deforms.
        """
        world = snapshot.world(self.ob, self.ob.session_uid)
        if not self.corners:
            return world
        mesh = cast(bpy.types.Mesh, self.ob.evaluated_get(snapshot.depsgraph).data)
        if max(self.corners) >= len(mesh.vertices):
            return world
        a, b, c = (point_in(world, vector(mesh.vertices[i].co)) for i in self.corners)
        right, ahead = sub(b, a), sub(c, a)
        normal = unit(cross(right, ahead))
        return world if normal is None else (mat_from_columns(right, ahead, normal), a)


def anchor_of(depsgraph: bpy.types.Depsgraph, hit: Hit) -> GroundAnchor:
    """Return the anchor of a foothold, from where a ray hit the ground."""
    data = cast(bpy.types.Mesh, hit.ob.data)
    if not hit.ob.modifiers and data.shape_keys is None:
        return GroundAnchor(hit.ob)
    evaluated = hit.ob.evaluated_get(depsgraph)
    mesh = cast(bpy.types.Mesh, evaluated.data)
    if not 0 <= hit.face < len(mesh.polygons):
        return GroundAnchor(hit.ob)
    first, *others = cast(Iterable[int], mesh.polygons[hit.face].vertices)
    hit_point = evaluated.matrix_world.inverted_safe() @ Vector(hit.place)
    indices: tuple[int, ...] = ()
    for second, third in pairwise(others):
        corners = first, second, third
        corner_points = [mesh.vertices[i].co for i in corners]
        if area_tri(*corner_points) > 0.0:
            indices = corners
            if intersect_point_tri(hit_point, *corner_points) is not None:
                break
    return GroundAnchor(hit.ob, indices)


def written(
    used: Sequence[GroundAnchor], grounds: Sequence[bpy.types.Object]
) -> tuple[list[str], list[int]]:
    """Return the ground names to store, and the index of each used anchor among them.

    Args:
        used: The anchors of the footholds.
        grounds: All ground objects, which come first (see `resolve_ground`).
    """
    objects = [*grounds]
    objects += [ob for ob in {anchor.ob: None for anchor in used} if ob not in grounds]
    names, indices = [ob.name for ob in objects], list[int]()
    for anchor in used:
        at = objects.index(anchor.ob)
        if anchor.corners:
            names.append(f"{CORNERS}{at} {' '.join(map(str, anchor.corners))}")
            at = len(names) - 1
        indices.append(at)
    return names, indices


def read(names: Sequence[str], grounds: Sequence[bpy.types.Object]) -> list[GroundAnchor | None]:
    """Return the anchors that were `written`; None for objects that no longer exist."""
    entries = [CORNERED.fullmatch(name) for name in names]
    named = [name for name, entry in zip(names, entries, strict=True) if entry is None]
    resolved = resolve_ground(named, grounds)
    objects = iter(resolved)
    anchors: list[GroundAnchor | None] = []
    for entry in entries:
        ob, corners = None, list[int]()
        if entry is None:
            ob = next(objects)
        else:
            at, *corners = map(int, entry.groups())
            ob = resolved[at] if at < len(resolved) else None
        anchors.append(None if ob is None else GroundAnchor(ob, tuple(corners)))
    return anchors
