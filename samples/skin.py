"""A clothed body over the bones of a rig: one mesh, skinned to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bmesh
import bpy
from mathutils import Vector

from . import shapes
from .shapes import Look, Point

VOXEL = 0.018
"""The size of the faces of a person, in meters."""

SMOOTHING = 7
"""The number of smoothing iterations, so that parts of the mesh blend together."""


class Flesh(NamedTuple):
    """A rod with round ends, part of a body.

    Attributes:
        start: Its start, in meters.
        end: Its end.
        radii: Its radii at start and end.
    """

    start: Point
    end: Point
    radii: tuple[float, float]


class Cloth(NamedTuple):
    """The clothing of a bone.

    Attributes:
        bone: The bone: its faces are those for which its weight is largest.
        look: The material.
        hems: Where it ends: points of planes, and their normals toward the clothed side.
    """

    bone: str
    look: Look
    hems: Sequence[tuple[Point, Point]] = ()


def body(
    name: str,
    rig: Any,
    flesh: Sequence[Flesh],
    look: Look,
    clothes: Sequence[Cloth],
    voxel: float = VOXEL,
) -> bpy.types.Object:
    """Make a body of one piece, and skin it to all deforming bones.

    Args:
        name: The object's name.
        rig: The armature, in its rest pose.
        flesh: The rods of which the body is made.
        look: The material without clothing.
        clothes: The clothing, later items over earlier items.
        voxel: The size of its faces, in meters.
    """
    data = _fused(flesh, voxel)
    data.name = name
    ob = shapes.link(bpy.data.objects.new(name, data))
    data.materials.append(look)
    _bind(ob, rig)
    _clothe(ob, clothes)
    data.shade_smooth()
    return ob


def _fused(flesh: Sequence[Flesh], voxel: float) -> bpy.types.Mesh:
    """Return a closed mesh around all flesh."""
    parts = bmesh.new()
    look = bpy.data.materials.new("Flesh")
    for part in flesh:
        rod: Any = shapes.capsule("Flesh", part.start, part.end, part.radii, look)
        parts.from_mesh(rod.data)
        bpy.data.meshes.remove(rod.data)
    bpy.data.materials.remove(look)
    raw = bpy.data.meshes.new("Flesh")
    parts.to_mesh(raw)
    parts.free()
    ob = shapes.link(bpy.data.objects.new("Flesh", raw))
    remesh: Any = ob.modifiers.new("Fuse", "REMESH")
    remesh.mode, remesh.voxel_size = "VOXEL", voxel
    smooth: Any = ob.modifiers.new("Smooth", "SMOOTH")
    smooth.factor, smooth.iterations = 0.5, SMOOTHING
    depsgraph = bpy.context.evaluated_depsgraph_get()
    fused = bpy.data.meshes.new_from_object(ob.evaluated_get(depsgraph))
    bpy.data.meshes.remove(raw)
    return fused


def _clothe(ob: bpy.types.Object, clothes: Sequence[Cloth]) -> None:
    """Cut a mesh along hems, and assign the material beyond them."""
    data: Any = ob.data
    cut = bmesh.new()
    cut.from_mesh(data)
    weights: Any = cut.verts.layers.deform.verify()

    def is_of(face: Any, group: int) -> bool:
        shares: dict[int, float] = {}
        for vertex in face.verts:
            for index, weight in vertex[weights].items():
                shares[index] = shares.get(index, 0.0) + weight
        return max(shares, key=lambda index: shares[index]) == group

    for cloth in clothes:
        group = ob.vertex_groups[cloth.bone].index
        slot = data.materials.find(cloth.look.name)
        if slot < 0:
            data.materials.append(cloth.look)
            slot = len(data.materials) - 1
        for point, normal in cloth.hems:
            worn: Any = [face for face in cut.faces if is_of(face, group)]
            edges = {edge for face in worn for edge in face.edges}
            corners = {vertex for face in worn for vertex in face.verts}
            geometry = [*corners, *edges, *worn]
            bmesh.ops.bisect_plane(cut, geom=geometry, dist=1e-4, plane_co=point, plane_no=normal)
        for face in cut.faces:
            middle = face.calc_center_median()
            if is_of(face, group) and all(
                (middle - Vector(point)).dot(Vector(normal)) > 0.0 for point, normal in cloth.hems
            ):
                face.material_index = slot
    cut.to_mesh(data)
    cut.free()


def _bind(ob: bpy.types.Object, rig: Any) -> None:
    """Skin a mesh with automatic weights, and preserve its volume where it bends."""
    layer: Any = bpy.context.view_layer
    for other in layer.objects:
        other.select_set(False)
    ob.select_set(True)
    rig.select_set(True)
    layer.objects.active = rig
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    layer.objects.active = ob
    # Barely visible weights take a third of the file.
    bpy.ops.object.vertex_group_clean(group_select_mode="ALL", limit=0.02)
    bpy.ops.object.vertex_group_normalize_all(lock_active=False)
    relaxed: Any = ob.modifiers.new("Relax", "CORRECTIVE_SMOOTH")
    relaxed.factor, relaxed.iterations = 0.5, 6
    for selected in (ob, rig):
        selected.select_set(False)
