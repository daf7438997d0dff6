"""Operators that add colliders, fitted to the mesh around a bone, and remove them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
from mathutils import Vector

from ...blender.access import pose_bones, session_uid
from ...blender.errors import ProblemError, listed
from ...blender.messages import msg
from ...blender.relations import deformers, moves_with
from ...settings.definitions import defined
from ...settings.properties import free_name
from ...ui.adding import selected_objects, tip_refusal
from ...ui.refusing import Working, active_armature, armature_refusal
from ...ui.registering import registering
from .settings import BONE_SHAPE_ITEMS, colliders_of

SHARE = 0.5
"""Fraction of a vertex's weights above which it belongs to a bone: more than all others
together."""

INNER = 0.9
"""Fraction of vertices inside the radius, so that a nose or a fold doesn't count."""

COLLIDER_BONE = msg("the bone that moves the collider")
"""What messages call the active bone."""


def _bone_refusal(context: bpy.types.Context) -> str:
    return tip_refusal(context, COLLIDER_BONE)


def _selected_meshes(
    context: bpy.types.Context, armature: bpy.types.Object
) -> list[bpy.types.Object]:
    """Return the selected meshes that no armature moves."""
    meshes = [ob for ob in selected_objects(context, armature) if ob.type == "MESH"]
    return [ob for ob in meshes if not moves_with(ob, {session_uid(armature)})]


class FABRIK_OT_collider_add(Working, bpy.types.Operator):
    """Add a collider to each selected bone."""

    bl_idname = "fabrik.collider_add"
    bl_label = "Add Collider"
    bl_description = (
        "Add a collider to each selected bone, fitted to the mesh that it deforms. The "
        "armature's springs stay out of colliders. If another mesh is selected, such as the "
        "ground, make it a collider instead"
    )
    asks = (_bone_refusal,)

    kind: str = defined(
        "Shape",
        "Shape of the collider",
        items=(
            (
                "AUTO",
                "Automatic",
                "A capsule along the bone, or a sphere if that fits equally well",
                -1,
            ),
            *BONE_SHAPE_ITEMS,
        ),
        default="AUTO",
        options={"SKIP_SAVE"},
    )
    group: str = defined("Group", "Group of the new colliders", options={"SKIP_SAVE"})

    def work(self, context: bpy.types.Context) -> str:
        """Add the colliders."""
        active: Any = context.active_pose_bone
        armature: bpy.types.Object = active.id_data
        if meshes := _selected_meshes(context, armature):
            for ob in meshes:
                add_mesh(armature, ob, self.group)
            armature.update_tag()
            return msg("Springs stay above {meshes}", meshes=listed([ob.name for ob in meshes]))
        others = [b for b in context.selected_pose_bones or () if b.id_data == armature]
        names = [*dict.fromkeys(bone.name for bone in (active, *others))]
        for name in names:
            add_collider(armature, name, self.kind, self.group)
        armature.update_tag()
        return msg("Added colliders to {bones}", bones=listed(names))


class FABRIK_OT_collider_remove(Working, bpy.types.Operator):
    """Remove a collider."""

    bl_idname = "fabrik.collider_remove"
    bl_label = "Remove Collider"
    bl_description = "Remove this collider"
    asks = (armature_refusal,)

    index: int = defined("Index", "Index of the collider", options={"SKIP_SAVE"})

    def work(self, context: bpy.types.Context) -> str:
        """Remove the collider."""
        armature = active_armature(context)
        colliders = colliders_of(armature)
        if not 0 <= self.index < len(colliders):
            raise ProblemError(
                "“{armature}” has no collider {index}", armature=armature.name, index=self.index
            )
        name = colliders[self.index].name
        colliders.remove(self.index)
        armature.update_tag()
        return msg("Removed the collider “{name}”", name=name)


def add_collider(armature: bpy.types.Object, bone: str, kind: str, group: str) -> None:
    """Add a collider to a bone, fitted to the vertices it deforms, or else to its length."""
    rest = cast(Any, pose_bones(armature)[bone]).bone
    vertices = _vertices(armature, bone)
    size = rest.length
    axis = _axis(vertices, size)
    sphere = _sphere(vertices, size)
    capsule = axis[0], axis[1], _radius_about(vertices, axis, size)
    if kind == "AUTO":
        # A sphere is simpler, if it holds the same vertices and is no larger.
        kind = "SPHERE" if sphere[2] ** 3 <= _volume(capsule) else "CAPSULE"
    collider: Any = colliders_of(armature).add()
    collider.name = free_name(armature, bone, "colliders")
    collider.kind, collider.bone, collider.group = kind, bone, group
    fitted = sphere if kind.endswith("SPHERE") else capsule
    collider.offset, collider.tail = fitted[0], fitted[1]
    collider.radius = fitted[2]
    if kind == "PLANE":
        collider.offset, collider.tail = (0.0, 0.0, 0.0), (0.0, 0.0, size)


def add_mesh(armature: bpy.types.Object, mesh: bpy.types.Object, group: str) -> None:
    """Add a mesh as a collider."""
    collider: Any = colliders_of(armature).add()
    collider.name = free_name(armature, mesh.name, "colliders")
    collider.kind, collider.object, collider.group = "MESH", mesh, group


def _vertices(armature: bpy.types.Object, bone: str) -> list[Vector]:
    """Return the vertices that are deformed mostly by a bone, at rest, in bone space."""
    inside: list[Vector] = []
    to_bone = cast(Any, pose_bones(armature)[bone]).bone.matrix_local.inverted_safe()
    for ob in bpy.data.objects:
        group = ob.vertex_groups.get(bone) if ob.type == "MESH" else None
        if group is None or armature not in deformers(ob):
            continue
        to_armature = to_bone @ armature.matrix_world.inverted_safe() @ ob.matrix_world
        for vertex in cast(bpy.types.Mesh, ob.data).vertices:
            weights = {part.group: part.weight for part in vertex.groups}
            if weights.get(group.index, 0.0) > SHARE * sum(weights.values()):
                inside.append(to_armature @ vertex.co)
    return inside


Fitted = tuple[Vector, Vector, float]
"""The ends of a capsule, and its radius."""


def _axis(vertices: Sequence[Vector], size: float) -> tuple[Vector, Vector]:
    """Return the ends of the capsule axis, parallel to the bone, in the middle of its vertices."""
    if not vertices:
        return Vector((0.0, 0.0, 0.0)), Vector((0.0, size, 0.0))
    mean = sum(vertices, Vector((0.0, 0.0, 0.0))) / len(vertices)
    radius = _within([(v - mean).xz.length for v in vertices])
    heights = sorted(v.y for v in vertices)
    low, high = heights[0] + radius, heights[-1] - radius
    if low > high:
        low = high = 0.5 * (low + high)
    return Vector((mean.x, low, mean.z)), Vector((mean.x, high, mean.z))


def _radius_about(vertices: Sequence[Vector], axis: tuple[Vector, Vector], size: float) -> float:
    start, end = axis
    if not vertices:
        return 0.25 * size
    return _within(
        [(v - Vector((start.x, min(max(v.y, start.y), end.y), start.z))).length for v in vertices]
    )


def _sphere(vertices: Sequence[Vector], size: float) -> Fitted:
    """Return the sphere in the middle of a bone's vertices."""
    if not vertices:
        middle = Vector((0.0, 0.5 * size, 0.0))
        return middle, middle, 0.5 * size
    columns = [*zip(*vertices, strict=True)]
    middle = Vector([0.5 * (min(column) + max(column)) for column in columns])
    return middle, middle, _within([(v - middle).length for v in vertices])


def _within(distances: Sequence[float]) -> float:
    """Return the distance within which most vertices lie."""
    return sorted(distances)[min(len(distances) - 1, int(INNER * len(distances)))]


def _volume(capsule: Fitted) -> float:
    """Return the volume of a capsule, in units of 4π/3."""
    start, end, radius = capsule
    return radius**3 + 0.75 * radius**2 * (end - start).length


register, unregister = registering(__name__)
