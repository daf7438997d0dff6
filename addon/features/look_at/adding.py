"""Adding a look-at so that nothing moves, with the axes that a bone most likely looks along."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Vector

from ...blender.access import pose_bones, rest_bone
from ...blender.axes import AXES
from ...blender.errors import ProblemError
from ...blender.skeleton import vector
from ...editing.constraints import add
from ...editing.placing import new_empty
from ...loop.properties import FabrikConstraint
from .look import look_of

FRONT = Vector((0.0, -1.0, 0.0))
"""Where characters face in Blender, in armature space."""

UP = Vector((0.0, 0.0, 1.0))

UPRIGHT = 0.7
"""A bone that rises by at least this share of its length is a head or neck; others are eyes."""

AHEAD = 5.0
"""How far before the bone an Empty is put, in lengths of the bone."""


def likely_axes(armature: bpy.types.Object, bone: str) -> tuple[str, str]:
    """Return the axis of a bone along which it most likely looks, and the one that stays up.

    An upright bone, as in a neck or head, looks along the axis that is nearest to the front in the
    rest pose, and its Y axis stays up; any other, as in an eye, looks along its Y axis.
    """
    axes = rest_bone(armature, bone).matrix_local.to_3x3()
    rise = (axes @ Vector(AXES["Y"])).dot(UP)
    if abs(rise) >= UPRIGHT:
        return _nearest(axes, FRONT), "Y" if rise > 0.0 else "NEGATIVE_Y"
    return "Y", _nearest(axes, UP)


def _nearest(axes: Matrix, way: Vector) -> str:
    """Return the axis across the bone that is nearest to a direction in armature space."""
    across = [name for name in AXES if name[-1] != "Y"]
    return max(across, key=lambda name: (axes @ Vector(AXES[name])).dot(way))


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
    ahead, up = likely_axes(armature, bone)
    if axis != "AUTO":
        ahead, up = axis, "Z" if axis[-1] == "Y" else "Y"
    made = None
    if target is None:
        made = target = _empty_ahead(armature, bone, ahead)
    try:
        item = add(armature, bone, target, subtarget, chain_count, "LOOK_AT")
    except ProblemError:
        if made is not None:
            bpy.data.objects.remove(made)
        raise
    look_of(item).axis, look_of(item).up_axis = ahead, up
    return item


def _empty_ahead(armature: bpy.types.Object, bone: str, axis: str) -> bpy.types.Object:
    """Make an Empty where a bone looks at present."""
    rig = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    posed = pose_bones(rig)[bone]
    world = rig.matrix_world @ posed.matrix
    size = (rig.matrix_world @ posed.tail - rig.matrix_world @ posed.head).length
    way = world.to_3x3() @ Vector(AXES[axis])
    if way.length == 0.0:
        raise ProblemError(
            f"“{bone}” has a zero scale axis and no direction to look in: change its scale"
        )
    place = world.translation + way.normalized() * (AHEAD * size or 1.0)
    return new_empty(armature, f"{bone} Look Target", vector(place), 0.25 * size, "SPHERE")
