"""How far a character's meshes reach around its bones, so that controls are visible outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import hypot
from typing import Any, Final, cast

import bpy
from mathutils import Matrix

from ..blender.access import pose_bones
from ..blender.relations import deformers

MOST: Final = 4000
"""The most vertices of a mesh to examine, evenly chosen."""

ASIDE: Final = 1.2
"""The half size of a control, in girths of the bone that it is at."""

LARGEST: Final = 4.0
"""The largest half size of a control beside a mesh, relative to that of a control without a
mesh."""

NEAREST: Final = 0.9
"""The fraction of the vertices within the girth: spikes and sleeves lie beyond it."""


def skins_of(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the meshes of the scene deformed by an armature or parented to its bones."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    meshes = [ob for ob in scene.objects if ob.type == "MESH"]
    return [ob for ob in meshes if ob.parent == armature or armature in deformers(ob)]


def beside_mesh(armature: bpy.types.Object, bone: str, size: float) -> float:
    """Return a control's half size at a bone, so that it is visible around the mesh.

    Args:
        armature: The armature.
        bone: The name of the bone.
        size: The half size without a mesh, in world space.
    """
    girth = armature.matrix_world.median_scale * _girth(armature, bone)
    return min(max(size, ASIDE * girth), LARGEST * size)


def _girth(armature: bpy.types.Object, bone: str) -> float:
    """Return the distance of the mesh from the line of a bone, or 0 without a mesh.

    No mesh moves with the wrists and ankles of some game characters. Then the bone below is used,
    or else the bone above.
    """
    tip: Any = pose_bones(armature)[bone]
    skins = skins_of(armature)
    for candidate in (tip, *tip.children_recursive, *tip.parent_recursive[:1]) if skins else ():
        radii = sorted(radius for ob in skins for radius in _radii(ob, armature, candidate.name))
        if radii:
            return radii[int(NEAREST * (len(radii) - 1))]
    return 0.0


def _radii(ob: Any, armature: bpy.types.Object, bone: str) -> Iterator[float]:
    """Yield the distances of a mesh's vertices from the line of a bone that moves them."""
    posed: Any = pose_bones(armature)[bone]
    to_armature = armature.matrix_world.inverted_safe() @ ob.matrix_world
    if ob.parent == armature and ob.parent_type == "BONE":
        if ob.parent_bone == bone:
            yield from _off(posed.matrix.inverted_safe() @ to_armature, _some(ob.data.vertices))
        return
    group = ob.vertex_groups.get(bone)
    if group is not None:
        to_bone = posed.bone.matrix_local.inverted_safe() @ to_armature
        moved = [vertex for vertex in _some(ob.data.vertices) if _weight(vertex, group.index) > 0.5]
        yield from _off(to_bone, moved)


def _weight(vertex: Any, group: int) -> float:
    return next((element.weight for element in vertex.groups if element.group == group), 0.0)


def _some(vertices: Any) -> list[Any]:
    """Return vertices, evenly chosen; Blender 4.2 has no slices with steps."""
    return [vertices[i] for i in range(0, len(vertices), max(1, len(vertices) // MOST))]


def _off(to_bone: Matrix, vertices: Iterable[Any]) -> Iterator[float]:
    for vertex in vertices:
        in_bone: Any = to_bone @ vertex.co
        yield hypot(in_bone.x, in_bone.z)
