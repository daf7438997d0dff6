"""Characters of the families of skeletons, as importers leave their armatures."""

from collections.abc import Callable
from math import cos, pi, radians, sin

import bpy
from animals import ANIMALS
from families import FAMILIES, LAYOUTS, Joints, joints_of, standing, walking
from mathutils import Matrix, Vector
from rigs import activate, link

__all__ = ["ANIMALS", "FAMILIES", "LAYOUTS", "make_animal", "make_capture", "make_character"]

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
    activate(rig, "EDIT")
    bones = rig.data.edit_bones
    for bone_name, parent, side, place in joints_of(layout, standing(arm)):
        bone = bones.new(bone_name)
        bone.head = back @ Vector(place)
        bone.tail = bone.head + back.to_3x3() @ (AXES[axis](bone_name, side) / unit)
        bone.parent = bones[parent] if parent else None
        bone.use_deform = parent != ""
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def make_capture(
    name: str, yaw: float = 0.7, walk: Callable[[float, float], Joints] = walking
) -> bpy.types.Object:
    """Make the armature of a program as a capture without a usable rest pose: the action walks.

    All bones are along X at rest, each from the end of its parent on.

    Args:
        name: The family.
        yaw: The angle from −Y to the direction of the walk, about Z.
        walk: Returns the figure at a phase and with that angle.
    """
    layout = FAMILIES[name]
    joints = joints_of(layout, standing(0.0))
    known = {joint.name: joint for joint in joints}
    rig = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    activate(rig, "EDIT")
    for joint in joints:
        bone = rig.data.edit_bones.new(joint.name)
        if joint.parent:
            bone.parent = rig.data.edit_bones[joint.parent]
            size = (Vector(joint.head) - Vector(known[joint.parent].head)).length
            bone.head = bone.parent.head + Vector((size, 0.0, 0.0))
        bone.tail = bone.head + Vector((0.1, 0.0, 0.0))
        bone.use_deform = joint.parent != ""
    bpy.ops.object.mode_set(mode="OBJECT")
    for frame in range(1, 10):
        shown = joints_of(layout, walk(2.0 * pi * (frame - 1) / 8, yaw))
        _key(rig, frame, {joint.name: Vector(joint.head) for joint in shown})
    return rig


def _key(rig: bpy.types.Object, frame: int, heads: dict[str, Vector]) -> None:
    """Key all bones so that their heads are somewhere, and each points to its first child."""
    posed: dict[str, Matrix] = {}
    for rest in rig.data.bones:
        ahead = Vector((1.0, 0.0, 0.0))
        if rest.children:
            ahead = heads[rest.children[0].name] - heads[rest.name]
        turn = Vector((1.0, 0.0, 0.0)).rotation_difference(ahead).to_matrix().to_4x4()
        matrix = turn @ rest.matrix_local
        matrix.translation = heads[rest.name]
        posed[rest.name] = matrix
        above = {}
        if rest.parent is not None:
            above["parent_matrix"] = posed[rest.parent.name]
            above["parent_matrix_local"] = rest.parent.matrix_local
        bone = rig.pose.bones[rest.name]
        bone.matrix_basis = rest.convert_local_to_pose(
            matrix, rest.matrix_local, invert=True, **above
        )
        bone.keyframe_insert("location", frame=frame)
        bone.keyframe_insert("rotation_quaternion", frame=frame)


def make_animal(name: str, is_named: bool = True) -> bpy.types.Object:
    """Make the armature of an animal, with bones that all point up."""
    rig = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    activate(rig, "EDIT")
    joints, _ = ANIMALS[name]
    names = {joint: joint if is_named else f"Bone.{i:03}" for i, (joint, *_) in enumerate(joints)}
    for joint, parent, head in joints:
        bone = rig.data.edit_bones.new(names[joint])
        bone.head = head
        bone.tail = bone.head + Vector((0.0, 0.0, 0.1))
        bone.parent = rig.data.edit_bones[names[parent]] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig
