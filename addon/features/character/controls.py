"""Control bones, which replace the Empties that are a character's targets and poles."""

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
from ...editing.placing import link_beside


class Control(NamedTuple):
    """A control bone to be added.

    Attributes:
        name: Its name.
        empty: The Empty that it replaces.
        shape: Its custom shape.
    """

    name: str
    empty: bpy.types.Object
    shape: bpy.types.Object


def refuse_uneditable(armature: bpy.types.Object) -> None:
    """Refuse an armature that has no Edit Mode.

    Raises:
        ProblemError: If its data is linked or a library override.
    """
    data = cast(bpy.types.Armature, armature.data)
    if data.library is not None or data.override_library is not None:
        raise ProblemError(
            "The bones of “{armature}” are linked and cannot be added to: choose Empties "
            "or a new armature",
            armature=armature.name,
        )


@contextmanager
def edit_mode(armature: bpy.types.Object) -> Iterator[Any]:
    """Yield the edit bones of an armature; restore the active object and its mode afterwards."""
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    active = layer.objects.active
    mode = "OBJECT" if active is None else active.mode
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    layer.objects.active = armature
    try:
        bpy.ops.object.mode_set(mode="EDIT")
        yield cast(bpy.types.Armature, armature.data).edit_bones
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
        layer.objects.active = active
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=cast(Any, mode))


def new_armature(armature: bpy.types.Object) -> bpy.types.Object:
    """Add an empty armature with the same transforms and in the same collection."""
    name = f"{armature.name} Controls"
    controls = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    controls.matrix_world = armature.matrix_world.copy()
    controls.show_in_front = armature.show_in_front
    link_beside(controls, armature)
    return controls


def add_bones(armature: bpy.types.Object, controls: Sequence[Control]) -> list[str]:
    """Add control bones with the locations and rotations of Empties, and return their names."""
    to_armature = armature.matrix_world.inverted_safe()
    names: list[str] = []
    with edit_mode(armature) as bones:
        for control in controls:
            bone = bones.new(control.name)
            location, rotation, _ = (to_armature @ control.empty.matrix_world).decompose()
            size = control.empty.empty_display_size / max(armature.matrix_world.median_scale, 1e-9)
            bone.tail = (0.0, 4.0 * size, 0.0)
            bone.matrix = Matrix.LocRotScale(cast(Any, location), rotation, None)
            bone.use_deform = False
            names.append(bone.name)
    for name, control in zip(names, controls, strict=True):
        bone = pose_bones(armature)[name]
        bone.custom_shape = control.shape
        bone.use_custom_shape_bone_size = True
        bone.custom_shape_scale_xyz = (0.25, 0.25, 0.25)
    return names


def remove_bones(armature: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove bones with their animation."""
    removed = set(names)

    def drop(curves: Any) -> None:
        for curve in list(curves):
            if split_bone_path(curve.data_path)[0] in removed:
                curves.remove(curve)

    others = [ob for ob in bpy.data.objects if ob != armature]
    animation.rewrite(armature, others, drop)
    with edit_mode(armature) as bones:
        for name in removed & set(bones.keys()):
            bones.remove(bones[name])


def remove_empty_action(ob: bpy.types.Object) -> None:
    """Remove the active action of an object if it has no F-curves and no other users."""
    data = ob.animation_data
    action = data.action if data is not None else None
    if data is None or action is None:
        return
    slots = getattr(action, "slots", [None])
    if not any(list(curves) for slot in slots for curves in animation.curve_lists(action, slot)):
        data.action = None
        if not action.users:
            bpy.data.actions.remove(action)


def new_shape(armature: bpy.types.Object, display: str) -> bpy.types.Object:
    """Return an Empty, in no collection, to be the custom shape of control bones."""
    shape = bpy.data.objects.new(f"{armature.name} {display.title()}", None)
    shape.empty_display_type = cast(Any, display)
    return shape
