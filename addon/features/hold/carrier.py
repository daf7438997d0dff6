"""What carries an object that is held: a bone that it is parented to, where it was.

Holding a bone needs nothing else than what constraints pose anyway: its channels, so that the keys
of the object stay as they are, and Blender's own parenting moves the object. The armature takes the
object's place below the object's parent.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
from mathutils import Matrix

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...editing.controls import edit_mode
from ...editing.placing import link_beside
from ...settings.properties import settings
from .settings import holds_of

PARENTING = ("parent", "parent_type", "parent_bone", "matrix_parent_inverse")
"""How an object is parented; in this order."""

LENGTH = 0.1
"""The length of a carrying bone without a size to go by, in metres of the object."""


def carrier_of(ob: bpy.types.Object) -> bpy.types.Object | None:
    """Return the armature whose bone carries an object, None if there is none."""
    above = ob.parent
    if above is None or above.type != "ARMATURE" or ob.parent_type != "BONE":
        return None
    return above if any(hold.prop == ob for hold in holds_of(above)) else None


def add_carrier(ob: bpy.types.Object) -> bpy.types.Object:
    """Parent an object to a bone of a new armature, where both stand, and return the armature.

    Its transform stays, and its channels have the meaning that they had.

    Raises:
        ProblemError: If the object cannot be parented; nothing has changed then.
    """
    if not ob.is_editable:
        raise ProblemError(
            "“{object}” is linked: make a library override of it to hold it", object=ob.name
        )
    if ob.parent is not None and ob.parent_type not in ("OBJECT", "BONE"):
        raise ProblemError(
            "“{object}” is parented to vertices, a lattice or a curve: parent it to an object or "
            "bone to hold it",
            object=ob.name,
        )
    name = f"{ob.name} Hold"
    armature: Any = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    armature.data.display_type = "WIRE"
    link_beside(armature, ob)
    for one in PARENTING:
        value = getattr(ob, one)
        setattr(armature, one, value.copy() if isinstance(value, Matrix) else value)
    settings(armature).is_control = True
    x, y, z = ob.dimensions
    size = ob.empty_display_size if ob.type == "EMPTY" else 0.5 * max(x, y, z)
    with edit_mode(armature) as bones:
        bone = bones.new(ob.name)
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, size or LENGTH, 0.0)
        name = bone.name
    rest = cast(bpy.types.Armature, armature.data).bones[name]
    rest.use_deform = False
    pose_bones(armature)[name].rotation_mode = "QUATERNION"
    # Children of a bone stand at its tail.
    tail = rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))
    ob.parent, ob.parent_type, ob.parent_bone = armature, "BONE", name
    ob.matrix_parent_inverse = tail.inverted()
    return armature


def remove_carrier(ob: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Give an object the parent back that it had, and remove the armature that carried it."""
    given = [getattr(armature, one) for one in PARENTING]
    given = [one.copy() if isinstance(one, Matrix) else one for one in given]
    for one, value in zip(PARENTING, given, strict=True):
        setattr(ob, one, value)
    data, action = cast(bpy.types.Armature, armature.data), None
    if armature.animation_data is not None:
        action = armature.animation_data.action
    bpy.data.objects.remove(armature)
    if not data.users:
        bpy.data.armatures.remove(data)
    if action is not None and not action.users:
        bpy.data.actions.remove(action)
