"""Reading, comparing and applying evaluated poses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import atan2, pi
from typing import Any, NamedTuple

import bpy
from mathutils import Matrix, Quaternion, Vector

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.rotation import channel_of, channel_values, mode_of
from ...body.chains import NamedChain

BENT = 1e-5
"""Minimum distance of bent joints from a chain's axis, as a fraction of its length."""

PoseMatrices = dict[str, Matrix]
"""Matrices of an armature's bones in armature space, by name."""


class Change(NamedTuple):
    """The largest difference between two poses.

    Attributes:
        moved: Largest movement of a head or tail, in meters in world space.
        turned: Largest rotation of a bone including twist, in radians.
    """

    moved: float
    turned: float


def evaluated_pose(armature: bpy.types.Object) -> PoseMatrices:
    """Update the view layer, and return the evaluated pose."""
    layer: Any = bpy.context.view_layer
    layer.update()
    rig = armature.evaluated_get(layer.depsgraph)
    return {bone.name: bone.matrix.copy() for bone in pose_bones(rig)}


def change(
    armature: bpy.types.Object, first: PoseMatrices, second: PoseMatrices, bones: Iterable[str]
) -> Change:
    """Return the largest difference between two poses of the bones."""
    world = armature.matrix_world.to_3x3()
    moved = angle = 0.0
    for bone in [pose_bones(armature)[name] for name in bones]:
        a, b = first[bone.name], second[bone.name]
        for point in (Vector(), Vector((0.0, bone.bone.length, 0.0))):
            moved = max(moved, (world @ (b @ point - a @ point)).length)
        rotation: Quaternion = a.to_quaternion().rotation_difference(b.to_quaternion())
        angle = max(angle, min(rotation.angle, 2.0 * pi - rotation.angle))
    return Change(moved, angle)


def joints(armature: bpy.types.Object, chain: NamedChain, pose: PoseMatrices) -> list[Vector]:
    """Return the heads of a chain's bones and its tip, in armature space."""
    heads = [pose[name].translation for name in chain.bones]
    if chain.tip:
        return [*heads, pose[chain.tip].translation]
    last = chain.bones[-1]
    return [*heads, pose[last] @ Vector((0.0, pose_bones(armature)[last].bone.length, 0.0))]


def size_world(armature: bpy.types.Object, chain: NamedChain, pose: PoseMatrices) -> float:
    """Return the length of a chain in world space."""
    points = [armature.matrix_world @ point for point in joints(armature, chain, pose)]
    return sum((b - a).length for a, b in pairwise(points))


def bend(points: Sequence[Vector]) -> tuple[Vector, Vector] | None:
    """Return the unit axis of a chain from root to tip, and its unit bend direction.

    Returns None for a chain that has no axis, or is straight.
    """
    axis: Vector = (points[-1] - points[0]).normalized()
    bend_sum = sum((_across(point - points[0], axis) for point in points[1:-1]), Vector())
    chain_length = sum((b - a).length for a, b in pairwise(points))
    if axis.length == 0.0 or bend_sum.length < BENT * chain_length:
        return None
    return axis, bend_sum.normalized()


def swivel_angle(first: Sequence[Vector], second: Sequence[Vector]) -> float:
    """Return the rotation about the line from root to tip between two bends, in radians.

    It is 0 if either of them is straight.
    """
    a, b = bend(first), bend(second)
    return 0.0 if a is None or b is None else angle_about(b[0], a[1], b[1])


def angle_about(axis: Vector, first: Vector, second: Vector) -> float:
    """Return the angle about an axis from the first direction to the second, in radians."""
    first, second = _across(first, axis), _across(second, axis)
    normal: Any = first.cross(second)
    return atan2(axis.dot(normal), first.dot(second))


def _across(direction: Vector, axis: Vector) -> Vector:
    return direction - axis * direction.dot(axis)


def apply_as_fk(
    armature: bpy.types.Object, bones: Iterable[str], pose: PoseMatrices
) -> tuple[bool, bool]:
    """Apply a pose's rotations to bones as their FK pose, except for animated rotations.

    Args:
        armature: The armature object.
        bones: Names of bones, parents first.
        pose: The pose.

    Returns:
        Whether any bone was changed, and whether any is animated.
    """
    channels = animation.animated(armature)
    has_changed = is_animated = False
    posed = pose_bones(armature)
    for name in bones:
        bone = posed[name]
        mode = mode_of(bone)
        channel, _ = channel_of(mode)
        if any(channels.numbers(name, channel)):
            is_animated = True
            continue
        quaternion = _local(bone, pose).to_quaternion()
        rotation = (quaternion.w, quaternion.x, quaternion.y, quaternion.z)
        setattr(bone, channel, channel_values(mode, rotation, list(getattr(bone, channel))))
        has_changed = True
    bpy.context.view_layer.update()
    return has_changed, is_animated


def _local(bone: Any, pose: PoseMatrices) -> Matrix:
    parents = {}
    if bone.parent is not None:
        parents["parent_matrix"] = pose[bone.parent.name]
        parents["parent_matrix_local"] = bone.parent.bone.matrix_local
    rest_matrix = bone.bone.matrix_local
    return bone.bone.convert_local_to_pose(pose[bone.name], rest_matrix, invert=True, **parents)
