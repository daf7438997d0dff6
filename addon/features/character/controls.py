"""The targets and poles of a character: Empties, or control bones that take their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.curves import split_bone_path
from ...blender.errors import ProblemError


class Control(NamedTuple):
    """A control bone to be made in place of an Empty.

    Attributes:
        name: What it is to be called.
        empty: Where it is to stand.
        shape: What it is to look like.
    """

    name: str
    empty: bpy.types.Object
    shape: bpy.types.Object


@contextmanager
def editing(armature: bpy.types.Object) -> Iterator[Any]:
    """Have an armature in Edit Mode, and all as it was afterwards.

    Raises:
        ProblemError: If it cannot be edited here.
    """
    data = cast(bpy.types.Armature, armature.data)
    if not data.is_editable:
        raise ProblemError(
            f"The bones of “{armature.name}” are linked and cannot be added to: choose Empties "
            "or a new armature"
        )
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    active, mode = layer.objects.active, active_mode(layer)
    if active is not None and mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    layer.objects.active = armature
    try:
        bpy.ops.object.mode_set(mode="EDIT")
        yield data.edit_bones
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
        layer.objects.active = active
        if active is not None and mode != "OBJECT":
            bpy.ops.object.mode_set(mode=cast(Any, mode))


def active_mode(layer: bpy.types.ViewLayer) -> str:
    """Return the mode of the active object."""
    return "OBJECT" if layer.objects.active is None else layer.objects.active.mode


def new_armature(armature: bpy.types.Object) -> bpy.types.Object:
    """Return a new armature for the controls of another one, which stands where that does."""
    name = f"{armature.name} Controls"
    made = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    made.matrix_world = armature.matrix_world.copy()
    for home in armature.users_collection:
        if home.is_editable:
            home.objects.link(made)
            break
    else:
        cast(bpy.types.Scene, bpy.context.scene).collection.objects.link(made)
    made.show_in_front = armature.show_in_front
    return made


def add_bones(holder: bpy.types.Object, controls: Sequence[Control]) -> list[str]:
    """Add bones where Empties stand, and return their names."""
    to_holder = holder.matrix_world.inverted_safe()
    names: list[str] = []
    with editing(holder) as bones:
        for control in controls:
            bone = bones.new(control.name)
            place, turn, _ = (to_holder @ control.empty.matrix_world).decompose()
            size = control.empty.empty_display_size / max(holder.matrix_world.median_scale, 1e-9)
            bone.tail = (0.0, 4.0 * size, 0.0)
            bone.matrix = Matrix.Translation(cast(Any, place)) @ turn.to_matrix().to_4x4()
            bone.use_deform = False
            names.append(bone.name)
    for name, control in zip(names, controls, strict=True):
        bone = pose_bones(holder)[name]
        bone.custom_shape = control.shape
        bone.use_custom_shape_bone_size = True
        bone.custom_shape_scale_xyz = (0.25, 0.25, 0.25)
    return names


def remove_bones(holder: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove bones with their animation."""
    gone = set(names)

    def drop(curves: Any) -> None:
        for curve in list(curves):
            if split_bone_path(curve.data_path)[0] in gone:
                curves.remove(curve)

    others = [ob for ob in bpy.data.objects if ob != holder]
    animation.rewrite(holder, others, drop)
    with editing(holder) as bones:
        for name in gone & set(bones.keys()):
            bones.remove(bones[name])


def shape(armature: bpy.types.Object, kind: str) -> bpy.types.Object:
    """Return an Empty that bones look like; it stands in no scene."""
    made = bpy.data.objects.new(f"{armature.name} {kind.title()}", None)
    made.empty_display_type = cast(Any, kind)
    return made
