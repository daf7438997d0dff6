"""Adding the constraint, target, pole and joint limits of a part of a character."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import bpy
from mathutils import Matrix

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...body.chains import common_name, named_chain
from ...editing import constraints as editing
from ...editing import limb_adding as limbs
from ...editing.ends import added_bone, with_ends
from ...editing.placing import parent_to
from ...editing.playing import updated
from ...settings.properties import settings
from ..look_at.adding import add_look
from .recognizing import limb_of_part
from .removing import index_of
from .settings import FabrikPart


def refuse_part(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Refuse a part whose bones don't exist, or are posed by constraints or drivers.

    Raises:
        ProblemError: If the part is refused; the message says why.
    """
    bones = pose_bones(armature)
    if part.bone not in bones:
        raise ProblemError(
            "The character part's bone “{bone}” doesn't exist: choose another bone",
            bone=part.bone,
        )
    limb = limb_of_part(armature, part)
    if len(limb.bones) < part.chain_count:
        raise ProblemError(
            "Chain Length can be at most {available} for “{bone}”: decrease it from {chain_count}",
            bone=part.bone,
            available=len(limb.bones),
            chain_count=part.chain_count,
        )
    limbs.refuse_posed(armature, [*limb.bones, *filter(None, [limb.hand])])


def add_constraint(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Add a part's constraint; its target is an Empty, placed to keep the current pose."""
    if part.kind == "HEAD":
        item = add_look(armature, part.bone, chain_count=part.chain_count)
    else:
        [limb] = with_ends(armature, [limb_of_part(armature, part)])
        item = limbs.add_to(armature, limb, is_oriented=True)
        if added := added_bone(limb):
            part.target, part.subtarget = armature, added
    item.name = f"{common_name(part.bone)} IK"
    if item.target is not None and item.target != armature:
        part.target = item.target
        if part.kind == "SPINE":  # It would fold where the armature moves.
            parent_to(item.target, armature)
    updated()  # Gives the constraint its key.
    part.key = item.key


def add_pole(armature: bpy.types.Object, part: FabrikPart) -> None:
    """Add a pole that keeps the current pose to a limb with several bones."""
    if part.chain_count < 2:
        return
    index = cast(int, index_of(armature, part))
    part.pole = editing.add_pole(updated(), armature, index)
    part.pole.name = f"{common_name(part.bone)} Pole"
    if settings(armature).constraints[index].target == armature:
        parent_to(part.pole, armature)


def add_hinges(armature: bpy.types.Object, part: FabrikPart, shown: dict[str, Matrix]) -> str:
    """Limit a limb's inner joints to their flexion axes, unless they are animated or limited.

    Args:
        armature: The armature.
        part: The limb.
        shown: The displayed pose, which is kept.

    Returns:
        A note if its pose rules out hinges.
    """
    item = settings(armature).constraints[cast(int, index_of(armature, part))]
    chain = named_chain(item, pose_bones(armature)[item.bone])
    limb = replace(limb_of_part(armature, part), bones=tuple(chain.bones), hand=chain.tip)
    added = limbs.add_hinges(armature, limb)
    return limbs.keep_pose(armature, limb, shown, added)
