"""The bone that carries a held object: the object is parented to it without moving.

A held bone needs no carrier, because a hold poses its channels. A held object keeps its keys, and
Blender's own parenting moves it. The new armature comes between the object and its parent.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
from mathutils import Matrix

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.refusals import linked_problem
from ...editing.controls import edit_mode, remove_bones
from ...editing.placing import link_beside
from ...editing.unused import remove_object
from ...settings.properties import settings
from .settings import holds_of

PARENTING = ("parent", "parent_type", "parent_bone", "matrix_parent_inverse")
"""The properties of an object's parenting, in the order they are set."""

NAME = "Props"
"""The name of a new armature."""

LENGTH = 0.1
"""The length of a carrying bone for an object without a size, in the object's space."""


def carrier_of(ob: bpy.types.Object) -> tuple[bpy.types.Object, int] | None:
    """Return the armature that carries an object, and the index of its hold; None if not held."""
    parent = ob.parent
    if parent is None or parent.type != "ARMATURE" or ob.parent_type != "BONE":
        return None
    indices = [i for i, hold in enumerate(holds_of(parent)) if hold.prop == ob]
    return (parent, indices[0]) if indices else None


def add_carrier(ob: bpy.types.Object) -> tuple[bpy.types.Object, str]:
    """Parent an object to a new bone without moving either; return the armature and the bone.

    The object keeps its transform, and its channels keep their meaning. Objects with the same
    parent share an armature.

    Raises:
        ProblemError: If the object can't be parented; nothing is changed.
    """
    if problem := linked_problem(ob):
        raise ProblemError(problem)
    if ob.type == "ARMATURE" and any(hold.prop is not None for hold in holds_of(ob)):
        raise ProblemError(
            "“{object}” is an armature that held objects are parented to: hold one of those "
            "objects instead",
            object=ob.name,
        )
    if _parenting(ob)[1] not in ("OBJECT", "BONE"):
        raise ProblemError(
            "“{object}” is parented to vertices, a lattice or a curve: parent it to an object or "
            "bone to hold it",
            object=ob.name,
        )
    armature = next(filter(lambda candidate: _is_beside(candidate, ob), bpy.data.objects), None)
    armature = armature or _new_armature(ob)
    x, y, z = ob.dimensions
    size = ob.empty_display_size if ob.type == "EMPTY" else 0.5 * max(x, y, z)
    with edit_mode(armature) as bones:
        bone = bones.new(ob.name)
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, size or LENGTH, 0.0)
        name = bone.name
    rest = cast(bpy.types.Armature, armature.data).bones[name]
    rest.use_deform = False
    pose_bones(armature)[name].rotation_mode = "QUATERNION"
    # Children of a bone are parented to its tail.
    tail = rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))
    ob.parent, ob.parent_type, ob.parent_bone = armature, "BONE", name
    ob.matrix_parent_inverse = tail.inverted()
    return armature, name


def _new_armature(ob: bpy.types.Object) -> bpy.types.Object:
    """Add an armature at an object's location, with the same parent."""
    armature: Any = bpy.data.objects.new(NAME, bpy.data.armatures.new(NAME))
    armature.data.display_type = "WIRE"
    link_beside(armature, ob)
    _give_parent(armature, _parenting(ob))
    settings(armature).is_control = True
    return armature


def _is_beside(armature: bpy.types.Object, ob: bpy.types.Object) -> bool:
    """Return whether an armature in the scene carries objects with the same parent."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    if armature == ob or armature.type != "ARMATURE" or not armature.is_editable:
        return False
    carries = any(hold.prop is not None for hold in holds_of(armature))
    return carries and scene in armature.users_scene and _parenting(armature) == _parenting(ob)


def _parenting(ob: bpy.types.Object) -> list[Any]:
    """Return the values of `PARENTING` for an object."""
    # A deleted parent leaves its parent type behind.
    kind = "OBJECT" if ob.parent is None else ob.parent_type or "OBJECT"
    return [ob.parent, kind, ob.parent_bone, ob.matrix_parent_inverse.copy()]


def _give_parent(ob: bpy.types.Object, parenting: list[Any]) -> None:
    for name, value in zip(PARENTING, parenting, strict=True):
        setattr(ob, name, value)


def remove_carrier(ob: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Restore an object's former parent, and remove the bone that carried it.

    With its last hold, the armature is removed too.
    """
    bone = ob.parent_bone
    _give_parent(ob, _parenting(armature))
    if len(holds_of(armature)):
        remove_bones(armature, [bone])
    else:
        remove_object(armature)
