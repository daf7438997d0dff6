"""Saves and restores the selection of Pose Mode."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import pose_bones

FLAGS = ("select", "select_head", "select_tail")
"""Selection flags of bones; since 5.0 only the first exists, on pose bones."""


class PoseSelection:
    """The saved selection of objects and bones.

    It holds references, so it must be restored within the same operator call.
    """

    def __init__(self, context: bpy.types.Context) -> None:
        """Save the selection of all objects, and of all bones in Pose Mode."""
        self._layer = cast(bpy.types.ViewLayer, context.view_layer)
        self._active = self._layer.objects.active
        self._objects = {ob: ob.select_get() for ob in self._layer.objects}
        self._armatures = [ob for ob in context.objects_in_mode if ob.type == "ARMATURE"]
        self._active_bones = [_rests(ob).active for ob in self._armatures]
        self._flags = [
            [(bone, name, getattr(bone, name)) for bone in _selectable(ob) for name in _flags(bone)]
            for ob in self._armatures
        ]

    def selected_bones(self, armature: bpy.types.Object) -> set[str]:
        """Return the names of an armature's selected bones."""
        flags = self._flags[self._armatures.index(armature)]
        return {bone.name for bone, name, is_on in flags if name == "select" and is_on}

    def clear_bones(self) -> None:
        """Deselect all bones."""
        for flags in self._flags:
            for bone, name, _ in flags:
                setattr(bone, name, False)

    def restore(self) -> None:
        """Restore the saved selection."""
        for armature, active, flags in zip(
            self._armatures, self._active_bones, self._flags, strict=True
        ):
            if _rests(armature).active != active:
                _rests(armature).active = active
            for bone, name, is_on in flags:
                if getattr(bone, name) != is_on:
                    setattr(bone, name, is_on)
        for ob, is_on in self._objects.items():
            if ob.select_get() != is_on:
                ob.select_set(is_on)
        if self._layer.objects.active != self._active:
            self._layer.objects.active = self._active


def _rests(armature: bpy.types.Object) -> Any:
    return cast(bpy.types.Armature, armature.data).bones


def _selectable(armature: bpy.types.Object) -> Any:
    bones = pose_bones(armature)
    return bones if "select" in bpy.types.PoseBone.bl_rna.properties else _rests(armature)


def _flags(bone: Any) -> list[str]:
    return [name for name in FLAGS if hasattr(bone, name)]
