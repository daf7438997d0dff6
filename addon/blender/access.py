"""Typed access to data that the type stubs of Blender lack, or declare as optional."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, cast

import bpy


def frame_rate(scene: bpy.types.Scene | None) -> float:
    """Return the frame rate of a scene, in frames per second."""
    render = cast("bpy.types.Scene", scene).render
    return render.fps / render.fps_base


def quarter_second(rate: float) -> int:
    """Return a quarter of a second in frames at a frame rate, rounded, at least 1."""
    return max(1, round(0.25 * rate))


def is_there(block: bpy.types.ID) -> bool:
    """Return whether a data-block still exists."""
    try:
        return bool(block.session_uid)
    except ReferenceError:
        return False


def pose_bones(armature: bpy.types.Object) -> bpy.types.bpy_prop_collection[Any]:
    """Return the pose bones of an armature object that has a pose."""
    untyped: Any = armature  # Called very often: unlike `cast`, this takes no time.
    return untyped.pose.bones


def hiding(armature: bpy.types.Object, bone: str) -> Any:
    """Return the bone that stores whether a bone is hidden: the pose bone since 5.0."""
    posed = pose_bones(armature)[bone]
    return posed if hasattr(posed, "hide") else posed.bone


def is_edited(armature: bpy.types.Object) -> bool:
    """Return whether the bones of an armature object are in Edit Mode."""
    data: Any = armature.data
    return data.is_editmode


def has_pose_mode(armature: bpy.types.Object) -> bool:
    """Return whether Blender lets users pose an armature object.

    It doesn't if the object is linked, or a library override that isn't editable.
    """
    override = armature.override_library
    return armature.library is None and not (override and override.is_system_override)


def set_channel(armature: bpy.types.Object, name: str, numbers: array[Any]) -> None:
    """Set a channel of all pose bones.

    `foreach_set` on the collection is fast, but skips the bones of linked armatures and of
    non-editable library overrides.

    Args:
        armature: The armature object.
        name: The property of `PoseBone`.
        numbers: The values of all bones, flat, in the order of the pose.
    """
    untyped: Any = armature
    bones = untyped.pose.bones
    if has_pose_mode(armature):
        bones.foreach_set(name, numbers)
        return
    size = len(numbers) // len(bones)
    for i, bone in enumerate(bones):
        bone.path_resolve(name, False).foreach_set(numbers[i * size : (i + 1) * size])


def rest_bone(armature: bpy.types.Object, name: str) -> bpy.types.Bone:
    """Return the rest bone of a pose bone, even if it was renamed in Edit Mode.

    Up to 4.5, if an armature was copied with its scene and isn't shown, its pose bones don't refer
    to their rest bones yet.
    """
    untyped: Any = armature
    return untyped.pose.bones[name].bone or untyped.data.bones[name]


def session_uid(item: bpy.types.ID | None) -> int:
    """Return the `session_uid` of a data-block; of an evaluated copy, that of its original."""
    untyped: Any = item
    return untyped.original.session_uid


def shown_areas() -> Iterator[tuple[bpy.types.Screen, Any]]:
    """Yield the areas of all windows, each with its screen; none in background mode."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        for area in window.screen.areas:
            yield window.screen, area
