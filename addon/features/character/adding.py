"""Adding the constraint of a part of a character, with its target, pole and limits."""

from __future__ import annotations

from itertools import pairwise
from math import radians
from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from ...blender.character import character_of
from ...blender.errors import ProblemError
from ...blender.relations import active_constraints
from ...blender.skeleton import skeleton_of, vector
from ...editing import constraints as editing
from ...editing.placing import new_empty
from ...editing.playing import updated
from ...loop.properties import FabrikConstraint
from ..look_at.adding import add_look
from .removing import index_of
from .settings import FabrikPart

LIMBS = ("ARM", "LEG")

HARMLESS = {
    "COPY_SCALE",
    "LIMIT_DISTANCE",
    "LIMIT_LOCATION",
    "LIMIT_ROTATION",
    "LIMIT_SCALE",
    "MAINTAIN_VOLUME",
}
"""Blender's constraints that leave a bone's pose to its channels."""

FOLD = radians(150.0)
"""How far an elbow or knee folds from straight."""

STRAIGHT = radians(3.0)
"""Up to which angle a joint at rest does not tell about which axis it bends."""


def refuse(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Refuse a part that cannot be made."""
    bones = pose_bones(armature)
    if part.bone not in bones:
        raise ProblemError(
            f"There is no bone “{part.bone}” for a part of the character: choose another one"
        )
    above = len(bones[part.bone].parent_recursive) + (0 if part.kind in LIMBS else 1)
    if above < part.chain_count:
        raise ProblemError(
            f"“{part.bone}” has only {above} bones for its chain: decrease Chain Length from "
            f"{part.chain_count}"
        )
    for bone in (bones[part.bone], *bones[part.bone].parent_recursive[: part.chain_count]):
        for con in active_constraints(bone):
            if con.type not in HARMLESS:
                raise ProblemError(
                    f"“{bone.name}” is posed by its constraint “{con.name}”: set up the bones that "
                    "control it, or bake the animation and remove its constraints first"
                )


def add(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Add the constraint of a part, and an Empty as its target where the part is shown."""
    name, count = part.bone, part.chain_count
    if part.kind == "HEAD":
        item = add_look(armature, name, chain_count=count)
    elif part.kind == "SPINE":
        item = editing.add(armature, name, chain_count=count)
    else:
        item = _add_limb(armature, name, count)
    item.name = f"{name} IK"
    part.target = item.target
    bpy.context.view_layer.update()
    part.key = item.key


def _add_limb(armature: bpy.types.Object, bone: str, count: int) -> FabrikConstraint:
    """Add a constraint that brings the head of a bone to its target, and turns it as that is."""
    posed = armature.evaluated_get(updated())
    world = posed.matrix_world @ pose_bones(posed)[bone].matrix
    joints = [pose_bones(posed)[bone].head]
    above = pose_bones(posed)[bone].parent_recursive[:count]
    joints += [one.head for one in above]
    size = sum((a - b).length for a, b in pairwise(joints))
    size *= posed.matrix_world.median_scale
    target = new_empty(armature, f"{bone} Target", vector(world.translation), 0.1 * size, "CUBE")
    target.rotation_mode = "QUATERNION"
    target.rotation_quaternion = world.to_quaternion()
    try:
        item = editing.add(
            armature, bone, target, "", count, "TWO_BONE" if count == 2 else "FABRIK"
        )
    except ProblemError:
        bpy.data.objects.remove(target)
        raise
    item.use_tail, item.use_rotation, item.swing = False, True, 1.0
    return item


def add_pole(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Give a limb a pole that it faces already, if it bends."""
    if part.chain_count < 2:
        return
    index = index_of(armature, part)
    assert index is not None
    part.pole = editing.add_pole(updated(), armature, index)
    part.pole.name = f"{part.bone} Pole"


def add_hinges(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Let the joints between the bones of a limb turn about the axis about which they bend."""
    character = character_of(armature)
    rig = skeleton_of(armature)
    tip = rig.index[part.bone]
    chain = rig.chain_up(tip)[-part.chain_count - 1 :]
    heads: list[Any] = [rig.rest(i).head_local for i in chain]
    hinged: list[str] = []
    for k in range(1, len(chain) - 1):
        above, below = heads[k] - heads[k - 1], heads[k + 1] - heads[k]
        joint: Any = cast(Any, pose_bones(armature)[rig.names[chain[k]]]).fabrik_joint
        angle = above.angle(below, 0.0)
        axis = above.cross(below)
        if angle < STRAIGHT:
            if part.chain_count != 2:
                continue
            away = character.front if part.kind == "ARM" else -character.front
            angle, axis = 0.0, above.cross(away)
        if joint.limit_type != "NONE" or axis.length == 0.0:
            continue
        rest = rig.rest(chain[k]).matrix_local.to_3x3()
        joint.hinge_axis = "FREE"
        joint.hinge_vector = rest.transposed() @ axis.normalized()
        joint.hinge_min, joint.hinge_max = -angle, FOLD - angle
        joint.limit_type = "HINGE"
        hinged.append(rig.names[chain[k]])
    part.hinges = "\n".join(hinged)
