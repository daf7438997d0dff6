"""Adding a look-at so that nothing moves, with the axes that a bone most likely looks along."""

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

UPRIGHT = 0.7
"""A bone that rises, or points ahead, by at least this share of its length does nothing else."""

AHEAD = 5.0
"""How far before a bone an Empty is put where nothing else has a size, in lengths of the bone."""


def likely_axes(character: Character, axes: Matrix, bone: str) -> tuple[str, str]:
    """Return the axis of a bone along which it most likely looks, and the one that stays up.

    That is the axis which is nearest to the front of the character at rest. Where a bone that is
    neither upright nor of the head points elsewhere, as an eye at the side or a gun does, it is the
    Y axis.

    Args:
        character: What the armature is of.
        axes: Those of the bone at rest, in armature space.
        bone: Its name.
    """
    up, front, back = character.up, character.front, axes.transposed()
    along = axes @ Vector(AXES["Y"])
    is_upright = abs(along.dot(up)) >= UPRIGHT
    anatomy = character.anatomy
    trunk = [character.names[i] for i in (*anatomy.spine, anatomy.head) if i >= 0]
    across = [name for name in AXES if name[-1] != "Y"]
    if not is_upright and (along.dot(front) >= UPRIGHT or bone not in trunk):
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
        bone: The bone that looks.
        target: What it looks at; None makes an Empty where it looks now.
        subtarget: Bone of the target.
        chain_count: Number of bones that share the turn; 0 takes all up to the root.
        axis: The axis that looks, or ``'AUTO'`` for the `likely_axes`.

    Raises:
        ProblemError: If the constraint could not work, or would break another one; then nothing
            has changed.
    """
    character = character_of(armature)
    ahead, up = likely_axes(character, rest_bone(armature, bone).matrix_local.to_3x3(), bone)
    if axis != "AUTO":
        ahead, up = axis, "Z" if axis[-1] == "Y" else "Y"
    made = None
    if target is None:
        made = target = _empty_ahead(armature, bone, ahead, character.size)
    try:
        item = add(armature, bone, target, subtarget, chain_count, "LOOK_AT")
    except ProblemError:
        if made is not None:
            bpy.data.objects.remove(made)
        raise
    look_of(item).axis, look_of(item).up_axis = ahead, up
    return item


def _empty_ahead(armature: bpy.types.Object, bone: str, axis: str, tall: float) -> bpy.types.Object:
    """Make an Empty where a bone looks at present, as far away as the character is tall."""
    rig = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    posed = pose_bones(rig)[bone]
    world = rig.matrix_world @ posed.matrix
    size = (rig.matrix_world @ posed.tail - rig.matrix_world @ posed.head).length
    way = world.to_3x3() @ Vector(AXES[axis])
    if way.length == 0.0:
        raise ProblemError(
            f"“{bone}” has a zero scale axis and no direction to look in: change its scale"
        )
    far = tall * rig.matrix_world.median_scale or AHEAD * size or 1.0
    place = world.translation + way.normalized() * far
    return new_empty(armature, f"{bone} Look Target", vector(place), 0.05 * far, "SPHERE")
