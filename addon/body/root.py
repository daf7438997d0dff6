"""The root of a character: the bone that carries the body and isn't part of it."""

from __future__ import annotations

from typing import Any

import bpy

from ..blender.access import pose_bones
from ..blender.relations import active_constraints
from ..blender.skeleton import Skeleton, skeleton_of
from .body import Body, is_called_root
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
    carriers = Carriers(rig, armature)
    top = _topmost(armature, carriers, rig.index[bone])
    if top == rig.index[bone]:
        return ""
    body = body_of(armature, bone)
    hips = body.anatomy.hips
    if hips >= 0 and _topmost(armature, carriers, rig.index[body.names[hips]]) == top:
        legs = [leg.bones[0] for leg in body.legs]
        is_root = len(body.carriers_of(legs)) > 1
    else:
        is_root = _is_beside(rig, top, rig.index[bone])
    name = rig.names[top]
    is_root = is_root or is_called_root(name)
    return name if is_root and name not in trunk_of(body) else ""


def _topmost(armature: bpy.types.Object, carriers: Carriers, bone: int) -> int:
    """Return the topmost bone that carries a bone, by parents and Armature constraints.

    Rigify switches the parents of controls with such constraints.
    """
    line = carriers.up(bone)
    while (above := _carrier(armature, carriers.rig, line[0])) >= 0 and above not in line:
        line = [*carriers.up(above), *line]
    return line[0]


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


def trunk_of(body: Body) -> set[str]:
    """Return the names of the pelvis, hips and spine of a body."""
    trunk = (body.pelvis, body.anatomy.hips, *body.anatomy.spine)
    return {body.names[i] for i in trunk if i >= 0}


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
