"""Finding the bone under the mouse."""

from __future__ import annotations

from typing import Any, Final, cast

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from mathutils.geometry import intersect_point_line

from ...blender.access import pose_bones
from ...ui.selecting import is_clickable
from .selection import PoseSelection

AROUND: Final = 14
"""Radius in which Blender picks bones, in pixels; shorter bones are too small to click."""


def bone_under(
    context: bpy.types.Context, selection: PoseSelection, mouse: tuple[float, float]
) -> tuple[bpy.types.Object, str] | None:
    """Return the bone under the mouse, as Blender's selection picks it; None without a bone.

    Fingers too small to click are replaced by their hand.
    """
    region: Any = context.region
    pixel = (int(mouse[0] - region.x), int(mouse[1] - region.y))
    selection.clear_bones()
    try:
        bpy.ops.view3d.select(location=pixel)
        candidates: list[Any] = list(context.selected_pose_bones or ())
        if not candidates:
            return None
        armature, name = candidates[0].id_data, candidates[0].name
        evaluated = armature.evaluated_get(context.evaluated_depsgraph_get())
        hand = hand_meant(region, context.region_data, evaluated, name, Vector(pixel))
        return armature, hand if hand and is_clickable(armature, hand) else name
    finally:
        selection.restore()


def hand_meant(region: Any, view: Any, armature: bpy.types.Object, name: str, pixel: Vector) -> str:
    """Return the hand to drag instead of a picked bone; empty to drag the picked bone.

    The hand is the bone's closest ancestor with several children. It is dragged if the mouse is at
    its joint, where Blender may pick a thumb nearby. It is also dragged if it is under the mouse
    and larger than the picked bone, which is too small to click.

    Args:
        region: The region of a 3D Viewport.
        view: Its `RegionView3D`.
        armature: The evaluated armature.
        name: The picked bone.
        pixel: The mouse location in the region.
    """
    bone = cast(Any, pose_bones(armature)[name])
    hand = next((pb for pb in bone.parent_recursive if len(pb.children) > 1), None)
    if bone.custom_shape or len(bone.children) > 1 or hand is None or hand.custom_shape:
        return ""
    ends = [
        location_3d_to_region_2d(region, view, armature.matrix_world @ end, default=None)
        for end in (hand.head, hand.tail, bone.head, bone.tail)
    ]
    if None in ends:
        return ""
    to_joint, to_bone = (pixel - ends[0]).length, _distance(pixel, *ends[2:])
    if to_joint <= AROUND and to_joint < to_bone:
        return hand.name
    size = _size(region, view, armature, bone)
    is_too_small = size < min(AROUND, _size(region, view, armature, hand))
    return hand.name if is_too_small and _distance(pixel, *ends[:2]) <= AROUND else ""


def _distance(pixel: Vector, head: Vector, tail: Vector) -> float:
    """Return the distance of a pixel from a line between two others, in pixels."""
    nearest, fraction = intersect_point_line(pixel, head, tail)
    nearest = head if fraction < 0.0 else tail if fraction > 1.0 else nearest.to_2d()
    return (nearest - pixel).length


def _size(region: Any, view: Any, armature: bpy.types.Object, bone: Any) -> float:
    """Return a bone's length in pixels as if seen from the side."""
    world = armature.matrix_world
    head, tail = world @ bone.head, world @ bone.tail
    right = Vector(view.view_matrix.inverted().col[0].to_3d()).normalized()
    ends = [
        location_3d_to_region_2d(region, view, point, default=None)
        for point in (head, head + (tail - head).length * right)
    ]
    return float("inf") if None in ends else (ends[1] - ends[0]).length
