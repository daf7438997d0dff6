"""The pose that is shown: remembered, compared with a later one, and given as FK pose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import atan2, pi
from typing import Any, NamedTuple

import bpy
from mathutils import Matrix, Quaternion, Vector

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.limbs import NamedChain
from ...blender.rotation import channel_of, channel_values, mode_of

BENT = 1e-5
"""A chain whose joints stand off its axis by less than this share of its length has no side."""

Shown = dict[str, Matrix]
"""The pose of an armature: of each bone its frame in armature space, with its scale."""


class Change(NamedTuple):
    """The largest difference between two poses.

    Attributes:
        moved: How far the head or tail of a bone went, in metres in world space.
        turned: How far a bone turned, twist included, in radians.
    """

    moved: float
    turned: float


def shown_pose(armature: bpy.types.Object) -> Shown:
    """Return the pose that is shown now, after an update."""
    layer: Any = bpy.context.view_layer
    layer.update()
    rig = armature.evaluated_get(layer.depsgraph)
    return {bone.name: bone.matrix.copy() for bone in pose_bones(rig)}


def change(armature: bpy.types.Object, before: Shown, after: Shown, bones: Iterable[str]) -> Change:
    """Return how two poses of an armature differ at some of its bones."""
    world = armature.matrix_world.to_3x3()
    moved = turned = 0.0
    for bone in [pose_bones(armature)[name] for name in bones]:
        a, b = before[bone.name], after[bone.name]
        for point in (Vector(), Vector((0.0, bone.bone.length, 0.0))):
            moved = max(moved, (world @ (b @ point - a @ point)).length)
        turn: Quaternion = a.to_quaternion().rotation_difference(b.to_quaternion())
        turned = max(turned, min(turn.angle, 2.0 * pi - turn.angle))
    return Change(moved, turned)


def joints(armature: bpy.types.Object, chain: NamedChain, pose: Shown) -> list[Vector]:
    """Return the heads of a chain's bones and its tip, in armature space."""
    heads = [pose[name].translation for name in chain.bones]
    if chain.tip:
        return [*heads, pose[chain.tip].translation]
    last = chain.bones[-1]
    return [*heads, pose[last] @ Vector((0.0, pose_bones(armature)[last].bone.length, 0.0))]


def size_world(armature: bpy.types.Object, chain: NamedChain, pose: Shown) -> float:
    """Return the length of a chain in world space."""
    points = [armature.matrix_world @ point for point in joints(armature, chain, pose)]
    return sum((b - a).length for a, b in pairwise(points))


def bend(points: Sequence[Vector]) -> tuple[Vector, Vector] | None:
    """Return the axis of a chain from root to tip, and the side to which it bends.

    None if it has no axis, or is straight.
    """
    axis: Vector = (points[-1] - points[0]).normalized()
    out = sum((_across(point - points[0], axis) for point in points[1:-1]), Vector())
    size = sum((b - a).length for a, b in pairwise(points))
    if axis.length == 0.0 or out.length < BENT * size:
        return None
    return axis, out.normalized()


def swivel(before: Sequence[Vector], after: Sequence[Vector]) -> float:
    """Return the turn about the line from root to tip that brings one bend to the other.

    It is 0 where one of them has no bend.
    """
    a, b = bend(before), bend(after)
    return 0.0 if a is None or b is None else angle_about(b[0], a[1], b[1])


def angle_about(axis: Vector, before: Vector, after: Vector) -> float:
    """Return the turn about an axis from one direction to another, as seen along it."""
    before, after = _across(before, axis), _across(after, axis)
    normal: Any = before.cross(after)
    return atan2(axis.dot(normal), before.dot(after))


def _across(direction: Vector, axis: Vector) -> Vector:
    return direction - axis * direction.dot(axis)


def take_as_fk(armature: bpy.types.Object, bones: Iterable[str], pose: Shown) -> tuple[bool, bool]:
    """Let bones have a pose that was shown as their FK pose, unless their rotation is animated.

    Their locations and scales stay.

    Args:
        armature: The armature object.
        bones: Names of bones, each after its parent.
        pose: What was shown.

    Returns:
        Whether a bone took it, and whether one is animated.
    """
    channels = animation.animated(armature)
    has_taken = is_animated = False
    own = pose_bones(armature)
    for name in bones:
        bone = own[name]
        mode = mode_of(bone)
        channel, _ = channel_of(mode)
        if any(channels.numbers(name, channel)):
            is_animated = True
            continue
        turn = _local(bone, pose).to_quaternion()
        rotation = (turn.w, turn.x, turn.y, turn.z)
        setattr(bone, channel, channel_values(mode, rotation, list(getattr(bone, channel))))
        has_taken = True
    bpy.context.view_layer.update()
    return has_taken, is_animated


def _local(bone: Any, pose: Shown) -> Matrix:
    """Return the channels of a bone as one matrix that shows it as it was shown."""
    parent = bone.parent
    given = (
        {}
        if parent is None
        else {
            "parent_matrix": pose[parent.name],
            "parent_matrix_local": parent.bone.matrix_local,
        }
    )
    return bone.bone.convert_local_to_pose(
        pose[bone.name], bone.bone.matrix_local, invert=True, **given
    )
