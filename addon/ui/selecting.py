"""Selecting bones and objects for the user, in the mode that they are selected in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from ..blender.access import has_pose_mode, pose_bones

Handle = tuple[bpy.types.Object, str]
"""An object and the name of its bone, empty for the object itself."""


def select_alone(context: bpy.types.Context, handles: Sequence[Handle]) -> None:
    """Select bones or objects alone, and make the first one active.

    Bones are selected in Pose Mode and objects in Object Mode: the mode is that of the first one,
    and what belongs to the other mode is left out. So is what no click could select.

    Args:
        context: The context.
        handles: What to select.
    """
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    seen = [one for one in handles if one[0].visible_get(view_layer=layer) and is_clickable(*one)]
    if not seen:
        return
    if seen[0][1]:
        _select_bones(context, layer, [one for one in seen if one[1]])
    else:
        _select_objects(layer, [ob for ob, bone in seen if not bone])


def is_clickable(ob: bpy.types.Object, name: str) -> bool:
    """Return whether a bone is shown; an object without a bone is, and one that is gone is not.

    Nor can bones of an armature that has no Pose Mode be selected.
    """
    if not name:
        return True
    if not has_pose_mode(ob):
        return False
    posed: Any = pose_bones(ob).get(name)
    if posed is None:
        return False
    # Since 5.0 pose bones are hidden in Pose Mode, before that their bones.
    owner: Any = posed if hasattr(posed, "hide") else posed.bone
    homes = posed.bone.collections
    return not owner.hide and (not homes or any(home.is_visible_effectively for home in homes))


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
            # Since 5.0 pose bones are selected, before that their bones.
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
