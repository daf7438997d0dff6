"""Adding a look-at that keeps the pose, with the most likely axes."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Vector

from ...blender.access import pose_bones, rest_bone
from ...blender.axes import AXES
from ...blender.character import Character, character_of, nearest_axis
from ...blender.errors import ProblemError
from ...blender.skeleton import vector
from ...editing.constraints import add
from ...editing.placing import new_empty
from ...loop.properties import FabrikConstraint
from .look import look_of

ALIGNED = 0.7
"""The least cosine of the angle between a bone and the up or front direction to be aligned."""

TARGET_DISTANCE = 5.0
"""The distance of an Empty from a bone of a character without size, in lengths of the bone."""


def likely_axes(character: Character, axes: Matrix, bone: str) -> tuple[str, str]:
    """Return the most likely Look Axis and Up Axis of a bone.

    The Look Axis is the one nearest to the front of the character. For a bone
    outside the trunk that is not upright, such as an eye or a gun, it is the Y axis.

    Args:
        character: The character.
        axes: The axes of the bone in the pose in which the character was recognized, in armature
            space.
        bone: The name of the bone.
    """
    up, front, back = character.up, character.front, axes.transposed()
    along = axes @ Vector(AXES["Y"])
    is_upright = abs(along.dot(up)) >= ALIGNED
    anatomy = character.anatomy
    trunk = [character.names[i] for i in (*anatomy.spine, anatomy.head) if i >= 0]
    across = [name for name in AXES if name[-1] != "Y"]
    if not is_upright and (along.dot(front) >= ALIGNED or bone not in trunk):
        ahead = "Y"
    else:
        ahead = nearest_axis(back @ front, across if is_upright else AXES)
    if is_upright:
        return ahead, "Y" if along.dot(up) > 0.0 else "NEGATIVE_Y"
    return ahead, nearest_axis(back @ up, [name for name in AXES if name[-1] != ahead[-1]])


def add_look(
    armature: bpy.types.Object,
    bone: str,
    target: bpy.types.Object | None = None,
    subtarget: str = "",
    chain_count: int = 1,
    axis: str = "AUTO",
) -> FabrikConstraint:
    """Add a constraint that looks at a target, and make it the active one.

    Args:
        armature: The armature object.
        bone: The last bone of the chain.
        target: The target; None adds an Empty in the direction of the current gaze.
        subtarget: The bone of the target.
        chain_count: The number of bones that share the rotation; 0 for all up to the root.
        axis: The Look Axis, or ``'AUTO'`` for the `likely_axes`.

    Raises:
        ProblemError: If the constraint could not work, or would break another one; then nothing
            has changed.
    """
    character = character_of(armature)
    ahead, up = likely_axes(character, character.matrix(rest_bone(armature, bone)).to_3x3(), bone)
    if axis != "AUTO":
        ahead, up = axis, "Z" if axis[-1] == "Y" else "Y"
    empty = None
    if target is None:
        empty = target = _empty_ahead(armature, bone, ahead, character.size)
    try:
        item = add(armature, bone, target, subtarget, chain_count, "LOOK_AT")
    except ProblemError:
        if empty is not None:
            bpy.data.objects.remove(empty)
        raise
    look_of(item).axis, look_of(item).up_axis = ahead, up
    return item


def _empty_ahead(
    armature: bpy.types.Object, bone: str, axis: str, height: float
) -> bpy.types.Object:
    """Add an Empty in the direction of a bone's gaze, at a distance of the character's height."""
    rig = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    posed = pose_bones(rig)[bone]
    world = rig.matrix_world @ posed.matrix
    size = (rig.matrix_world @ posed.tail - rig.matrix_world @ posed.head).length
    direction = world.to_3x3() @ Vector(AXES[axis])
    if direction.length == 0.0:
        raise ProblemError(
            "“{bone}” has a zero scale axis and no direction to look in: change its scale",
            bone=bone,
        )
    distance = height * rig.matrix_world.median_scale or TARGET_DISTANCE * size or 1.0
    place = world.translation + direction.normalized() * distance
    return new_empty(armature, f"{bone} Look Target", vector(place), 0.05 * distance, "SPHERE")
