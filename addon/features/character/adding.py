"""Adding the constraint, target, pole and joint limits of a part of a character."""

from __future__ import annotations

from typing import cast

import bpy
from mathutils import Matrix

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...body.body import Limb
from ...body.chains import common_name, named_chain
from ...body.looking import character_of, ends_at_tail
from ...body.loose import DetachedEnd
from ...editing import constraints as editing
from ...editing import limb_adding as limbs
from ...editing.ends import with_ends
from ...editing.playing import updated
from ...settings.properties import settings
from ..look_at.adding import add_look
from .removing import index_of
from .settings import FabrikPart

LIMBS = ("ARM", "LEG")


def refuse_part(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Refuse a part whose bones do not exist or are posed by constraints or drivers.

    Raises:
        ProblemError: With the reason.
    """
    bones = pose_bones(armature)
    if part.bone not in bones:
        raise ProblemError(
            "The character part's bone “{bone}” doesn't exist: choose another bone",
            bone=part.bone,
        )
    detached = detached_end(armature, part)
    last = bones[detached.limb if detached else part.bone]
    is_above = part.kind in LIMBS and not detached and not stands_on_tail(armature, part)
    available = len(last.parent_recursive) + (0 if is_above else 1)
    if available < part.chain_count:
        raise ProblemError(
            "“{bone}” has only {available} bones above it: decrease Chain Length from "
            "{chain_count}",
            bone=part.bone,
            available=available,
            chain_count=part.chain_count,
        )
    count = part.chain_count if is_above else part.chain_count - 1
    above = last.parent_recursive[:count]
    limbs.refuse_posed(armature, [bone.name for bone in (*reversed(above), last)])


def detached_end(armature: bpy.types.Object, part: FabrikPart) -> DetachedEnd | None:
    """Return the hand or foot of a part that is no child of its limb; None for any other part."""
    is_limb = part.kind in LIMBS and part.bone in pose_bones(armature)
    return character_of(armature, bone=part.bone).detached.get(part.bone) if is_limb else None


def stands_on_tail(armature: bpy.types.Object, part: FabrikPart) -> bool:
    """Return whether a part is a leg without a foot, which reaches with its last bone's tail."""
    return part.kind in LIMBS and ends_at_tail(character_of(armature, bone=part.bone), part.bone)


def add_constraint(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Add the constraint of a part, and an Empty as its target that keeps the current pose."""
    name, count = part.bone, part.chain_count
    detached = detached_end(armature, part)
    if detached is not None:
        last = pose_bones(armature)[detached.limb]
        bones = [last, *last.parent_recursive][:count][::-1]
        names = tuple(bone.name for bone in bones)
        [limb] = with_ends(armature, [Limb(names, detached=detached)])
        if limb.hand and limb.hand != detached.tip:
            part.target, part.subtarget = armature, limb.hand
        item = limbs.add_to_detached(armature, limb, detached)
    elif part.kind == "HEAD":
        item = add_look(armature, name, chain_count=count)
    else:
        is_oriented = part.kind in LIMBS and not stands_on_tail(armature, part)
        item = limbs.add_limb(armature, name, count, is_oriented)
    item.name = f"{common_name(name)} IK"
    if detached is None:
        part.target = item.target
    updated()  # Gives the constraint its key.
    part.key = item.key


def add_pole(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Add a pole that keeps the current pose to a limb of several bones."""
    if part.chain_count < 2:
        return
    part.pole = editing.add_pole(updated(), armature, cast(int, index_of(armature, part)))
    part.pole.name = f"{common_name(part.bone)} Pole"


def add_hinges(armature: bpy.types.Object, part: FabrikPart, before: dict[str, Matrix]) -> str:
    """Limit the inner joints of a limb to their axes of flexion, unless animated or limited.

    Args:
        armature: The armature.
        part: The limb.
        before: The displayed pose, which stays.

    Returns:
        A note if its pose keeps it from having hinges.
    """
    item = settings(armature).constraints[cast(int, index_of(armature, part))]
    chain = named_chain(item, pose_bones(armature)[item.bone])
    limb = Limb(tuple(chain.bones), chain.tip, part.kind)
    added = limbs.add_hinges(armature, limb)
    return limbs.keep_pose(armature, limb, before, added)
