"""Adding the constraint, target, pole and joint limits of a part of a character."""

from __future__ import annotations

from itertools import pairwise
from math import acos
from typing import Any, cast

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.character import character_of
from ...blender.curves import split_bone_path
from ...blender.errors import ProblemError
from ...blender.limbs import NO_BEND
from ...blender.relations import active_constraints
from ...blender.skeleton import skeleton_of, vector
from ...editing import constraints as editing
from ...editing.placing import new_empty
from ...editing.playing import updated
from ...loop.properties import FabrikConstraint
from ...loop.property_values import default_of
from ...motion.anatomy import is_segment
from ..look_at.adding import add_look
from .removing import hinge_line, index_of
from .settings import FabrikPart

LIMBS = ("ARM", "LEG")

COMPATIBLE = {
    "COPY_SCALE",
    "LIMIT_DISTANCE",
    "LIMIT_LOCATION",
    "LIMIT_ROTATION",
    "LIMIT_SCALE",
    "MAINTAIN_VOLUME",
}
"""Types of Blender's constraints that a chain may have: they adjust a pose, but do not set it."""


def refuse_part(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Refuse a part whose bones do not exist or are posed by constraints or drivers.

    Raises:
        ProblemError: With the reason.
    """
    bones = pose_bones(armature)
    if part.bone not in bones:
        raise ProblemError(
            "There is no bone “{bone}” for a part of the character: choose another one",
            bone=part.bone,
        )
    available = len(bones[part.bone].parent_recursive) + (0 if part.kind in LIMBS else 1)
    if available < part.chain_count:
        raise ProblemError(
            "“{bone}” has only {available} bones for its chain: decrease Chain Length from "
            "{chain_count}",
            bone=part.bone,
            available=available,
            chain_count=part.chain_count,
        )
    above = part.chain_count if part.kind in LIMBS else part.chain_count - 1
    for bone in (bones[part.bone], *bones[part.bone].parent_recursive[:above]):
        for con in active_constraints(bone):
            if con.type not in COMPATIBLE:
                raise ProblemError(
                    "“{bone}” is posed by its constraint “{constraint}”: set up the bones that "
                    "control it, or bake the animation and remove its constraints first",
                    bone=bone.name,
                    constraint=con.name,
                )
        if animation.has_driver(armature, bone, "rotation"):
            raise ProblemError(
                "The rotation of “{bone}” has a driver: bake the animation and remove the driver "
                "first, or set up other bones",
                bone=bone.name,
            )


def add_constraint(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Add the constraint of a part, and an Empty as its target that keeps the current pose."""
    name, count = part.bone, part.chain_count
    if part.kind == "HEAD":
        item = add_look(armature, name, chain_count=count)
    elif part.kind == "SPINE":
        item = editing.add(armature, name, chain_count=count)
    else:
        item = _add_limb(armature, name, count)
    item.name = f"{name} IK"
    part.target = item.target
    updated()  # Gives the constraint its key.
    part.key = item.key


def _add_limb(armature: bpy.types.Object, bone: str, count: int) -> FabrikConstraint:
    """Add a constraint that copies a target's location and rotation to a hand or foot."""
    evaluated = armature.evaluated_get(updated())
    tip = pose_bones(evaluated)[bone]
    world = evaluated.matrix_world @ tip.matrix
    heads = [one.head for one in (tip, *tip.parent_recursive[:count])]
    length = sum((a - b).length for a, b in pairwise(heads)) * evaluated.matrix_world.median_scale
    target = new_empty(armature, f"{bone} Target", vector(world.translation), 0.1 * length, "CUBE")
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
    """Add a pole that keeps the current pose to a limb of several bones."""
    if part.chain_count < 2:
        return
    part.pole = editing.add_pole(updated(), armature, cast(int, index_of(armature, part)))
    part.pole.name = f"{part.bone} Pole"


def add_hinges(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Limit the inner joints of a limb to their axes of flexion, unless animated or limited.

    The joint within a bone that is split in order to twist is kept as it is at rest.
    """
    character = character_of(armature)
    rig = skeleton_of(armature)
    chain = rig.chain_up(rig.index[part.bone])[-part.chain_count - 1 :]
    heads: list[Any] = [rig.rest(i).head_local for i in chain]
    names = [rig.names[i] for i in chain]
    keyed = {split_bone_path(path)[0] for path, _ in animation.animated(armature).keyed}
    segments = {
        k
        for k in range(1, len(chain) - 1)
        if is_segment(names[k - 1 : k + 1], [vector(head) for head in heads[k - 1 : k + 2]])
    }
    bends = part.chain_count - len(segments)
    hinges: list[str] = []
    for k in range(1, len(chain) - 1):
        name = names[k]
        joint: Any = cast(Any, pose_bones(armature)[name]).fabrik_joint
        before = (heads[k] - heads[k - 1]).normalized()
        after = (heads[k + 1] - heads[k]).normalized()
        if joint.limit_type != "NONE" or name in keyed:
            continue
        axis, cosine = before.cross(after), before.dot(after)
        if k in segments:
            axis = after
        elif cosine > NO_BEND:
            if bends != 2:
                continue
            bend = character.front if part.kind == "ARM" else -character.front
            axis, cosine = before.cross(bend), 1.0
        if axis.length == 0.0:
            continue
        hinges.append(hinge_line(name, joint))
        rest = rig.rest(chain[k]).matrix_local.to_3x3()
        rest_angle = 0.0 if k in segments else acos(max(-1.0, cosine))
        flexion = default_of(joint.bl_rna.properties["hinge_max"])
        joint.hinge_axis = "FREE"
        joint.hinge_vector = rest.transposed() @ axis.normalized()
        joint.hinge_min = -rest_angle
        joint.hinge_max = 0.0 if k in segments else flexion - rest_angle
        joint.limit_type = "HINGE"
    part.hinges = "\n".join(hinges)
