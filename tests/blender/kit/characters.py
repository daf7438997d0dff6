"""Characters of the families of skeletons, as importers leave their armatures."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, radians, sin

import bpy
from families import FAMILIES, LAYOUTS, joints_of, standing
from mathutils import Matrix, Vector
from rigs import activate, link

__all__ = ["LAYOUTS", "make_character"]

Axis = Callable[[str, int], Vector]
"""The direction of a bone, from its name and side, in the world."""

AXES: dict[str, Axis] = {
    "x": lambda _, side: Vector((-1.0 if side < 0 else 1.0, 0.0, 0.0)),
    "any": lambda name, _: Vector(
        (sin(len(name) + ord(name[-1])), cos(ord(name[0])), sin(7.0 * len(name)))
    ).normalized(),
}
"""How importers leave bones: along an axis, or anywhere."""


def make_character(name: str, axis: str = "x", arm: float | None = None) -> bpy.types.Object:
    """Make the armature of a program, as an importer leaves it.

    Args:
        name: The family.
        axis: The direction of the bones, one of `AXES`.
        arm: How far the arms hang down, in degrees, if not as usual.
    """
    layout = FAMILIES[name]
    arm = layout.arm if arm is None else arm
    unit, is_y_up = layout.space
    world = Matrix.Scale(1.0 / unit, 4)
    if is_y_up:
        world = Matrix.Rotation(radians(90.0), 4, "X") @ world
    back = world.inverted()
    rig = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    rig.matrix_world = world
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for bone_name, parent, side, place in joints_of(layout, standing(arm)):
        bone = bones.new(bone_name)
        bone.head = back @ Vector(place)
        bone.tail = bone.head + back.to_3x3() @ (AXES[axis](bone_name, side) / unit)
        bone.parent = bones[parent] if parent else None
        bone.use_deform = parent != ""
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig
