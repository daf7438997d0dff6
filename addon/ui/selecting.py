"""Selecting bones and objects for the user, in the mode where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from ..blender.access import has_pose_mode, pose_bones

Handle = tuple[bpy.types.Object, str]
"""An object and the name of its bone; empty for the object itself."""


def select_alone(context: bpy.types.Context, handles: Sequence[Handle]) -> None:
    """Select only the bones or objects in a list, and make the first one active.

    Bones are selected in Pose Mode, objects in Object Mode. The first item determines the mode;
    items of the other mode, and items that can't be clicked, are skipped.

    Args:
        context: The context.
        handles: The bones or objects.
    """
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    clickable = [h for h in handles if h[0].visible_get(view_layer=layer) and is_clickable(*h)]
    if not clickable:
        return
    if clickable[0][1]:
        _select_bones(context, layer, [h for h in clickable if h[1]])
    else:
        _select_objects(layer, [ob for ob, bone in clickable if not bone])


def is_clickable(ob: bpy.types.Object, name: str) -> bool:
    """Return whether a bone can be selected in Pose Mode; always True for an object.

    False for hidden or removed bones, and for armatures without Pose Mode.
    """
    if not name:
        return True
    if not has_pose_mode(ob):
        return False
    posed: Any = pose_bones(ob).get(name)
    if posed is None:
        return False
    # Pose bones are hidden in Pose Mode since 5.0, their bones in earlier versions.
    owner: Any = posed if hasattr(posed, "hide") else posed.bone
    groups = posed.bone.collections
    return not owner.hide and (not groups or any(c.is_visible_effectively for c in groups))


def _select_bones(
    context: bpy.types.Context, layer: bpy.types.ViewLayer, handles: Sequence[Handle]
) -> None:
    armatures = list(dict.fromkeys(ob for ob, _ in handles))
    if any(ob.mode != "POSE" for ob in armatures):
        _leave_mode(layer)
        for ob in armatures:
            ob.select_set(True, view_layer=layer)
        layer.objects.active = armatures[0]
        bpy.ops.object.mode_set(mode="POSE")
    layer.objects.active = armatures[0]
    for ob in (*context.objects_in_mode, *armatures):
        for bone in pose_bones(ob):
            # Pose bones are selected since 5.0, their bones in earlier versions.
            owner = bone if hasattr(bone, "select") else bone.bone
            owner.select = (ob, bone.name) in handles
    for ob, name in reversed(handles):
        bones = cast(Any, ob.data).bones
        bones.active = bones[name]


def _select_objects(layer: bpy.types.ViewLayer, objects: Sequence[bpy.types.Object]) -> None:
    _leave_mode(layer)
    for ob in layer.objects:
        ob.select_set(ob in objects, view_layer=layer)
    layer.objects.active = objects[0]


def _leave_mode(layer: bpy.types.ViewLayer) -> None:
    active = layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
