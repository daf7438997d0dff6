"""The root of a character: the bone that carries the body and isn't part of it."""

from __future__ import annotations

from typing import Any

import bpy

from ..blender.access import pose_bones
from ..blender.relations import active_constraints
from ..blender.skeleton import Skeleton, skeleton_of
from .body import is_called_root
from .carriers import Carriers
from .looking import body_of


def root_above(armature: bpy.types.Object, bone: str) -> str:
    """Return the root of the character that a bone belongs to, above the bone.

    Controls are parented to it, so they follow the character but not its hips. The root is the
    topmost bone. If that bone belongs to the body or a chain, the character has no root.

    Args:
        armature: The armature.
        bone: The name of the bone.

    Returns:
        The name of the root; empty if there is none.
    """
    rig = skeleton_of(armature)
    top = carrying(armature, bone)[0]
    if top == rig.index[bone]:
        return ""
    body = body_of(armature, bone)
    hips = body.anatomy.hips
    if hips >= 0 and carrying(armature, body.names[hips])[0] == top:
        is_root = len(body.carriers) > 1
    else:
        is_root = _is_beside(rig, top, rig.index[bone])
    name, trunk = rig.names[top], (body.pelvis, hips, *body.anatomy.spine)
    is_root = is_root or is_called_root(name)
    return name if is_root and body.index.get(name) not in trunk else ""


def carrier_above(armature: bpy.types.Object, bone: str) -> str:
    """Return the bone that carries the controls of a chain, above the chain.

    That of the chest follows what moves the body, as the rest of the trunk does. Controls of limbs
    and of the head follow the root of the character, but not the body.

    Args:
        armature: The armature.
        bone: The name of the chain's topmost bone.

    Returns:
        The name of the bone; empty if there is none.
    """
    body, rig = body_of(armature, bone), skeleton_of(armature)
    if body.index.get(bone, -1) not in body.anatomy.spine[: body.chest + 1]:
        return root_above(armature, bone)
    above = [rig.names[i] for i in rig.chain_up(rig.index[bone])[:-1]]
    moving = [name for name in body.carriers if name in above]
    return moving[-1] if moving else root_above(armature, bone)


def carrying(armature: bpy.types.Object, bone: str) -> list[int]:
    """Return a bone and all that carry it, by parents and Armature constraints, topmost first.

    Rigify switches the parents of controls with such constraints.
    """
    rig = skeleton_of(armature)
    carriers = Carriers(rig, armature)
    line = carriers.up(rig.index[bone])
    while (above := _carrier(armature, rig, line[0])) >= 0 and above not in line:
        line = [*carriers.up(above), *line]
    return line


def _carrier(armature: bpy.types.Object, rig: Skeleton, bone: int) -> int:
    """Return the bone with the most influence in an Armature constraint, or -1 if there is none."""
    targets: list[Any] = [
        target
        for con in active_constraints(pose_bones(armature)[rig.names[bone]])
        if con.type == "ARMATURE"
        for target in con.targets
        if target.target == armature and target.subtarget in rig.index
    ]
    most = max(targets, key=lambda target: target.weight, default=None)
    return -1 if most is None else rig.index[most.subtarget]


def _is_beside(rig: Skeleton, top: int, bone: int) -> bool:
    """Return whether the topmost bone above a chain isn't part of a skeleton.

    Such a bone deforms nothing, or the skeleton branches only below it.
    """
    count = len(rig.names)
    deforming = {i for i in range(count) if rig.rest(i).use_deform} or {*range(count)}
    if top not in deforming:
        return True
    line = rig.chain_up(bone)[:-1]
    branches = [
        sum([not rig.below({child}).isdisjoint(deforming) for child in rig.children[above]])
        for above in line
    ]
    return line[:1] == [top] and branches[0] < 2 and max(branches) > 1
