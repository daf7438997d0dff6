"""Bones that are added where a limb ends whose hand or foot is no child of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import bpy
from mathutils import Vector

from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..body.body import Limb
from ..body.chains import named_chain
from ..body.loose import SAME_TIP, DetachedEnd
from ..settings.properties import FabrikConstraint
from .controls import control_name, edit_mode, mark_controls, uneditable_problem

SIZE: Final = 0.1
"""The length of such a bone, as a fraction of the bone that it ends."""


def with_ends(armature: bpy.types.Object, limbs: Sequence[Limb]) -> list[Limb]:
    """Return limbs with bones where their joints with detached hands and feet are.

    Where the tail of the last bone is there, or a child of it, it needs none.

    Raises:
        ProblemError: If bones cannot be added; then nothing has changed.
    """
    bones = cast(bpy.types.Armature, armature.data).bones
    joints: dict[int, Vector] = {}
    for i, limb in enumerate(limbs):
        if limb.detached is None or limb.detached.tip:
            continue
        last = bones[limb.detached.limb]
        joint = last.matrix_local @ Vector(limb.detached.joint)
        if (joint - last.tail_local).length > SAME_TIP * (joint - last.head_local).length:
            joints[i] = joint
    tips = {i: limb.detached.tip for i, limb in enumerate(limbs) if limb.detached}
    if joints:
        tips.update(_added(armature, limbs, joints))
    return [limb._replace(hand=tips.get(i) or limb.hand) for i, limb in enumerate(limbs)]


def _added(
    armature: bpy.types.Object, limbs: Sequence[Limb], joints: Mapping[int, Vector]
) -> dict[int, str]:
    """Add bones at the joints of limbs, in armature space, and return their names.

    Raises:
        ProblemError: If that is impossible.
    """
    names = {i: cast(DetachedEnd, limbs[i].detached).name for i in joints}
    if uneditable_problem(armature):
        raise ProblemError(
            "“{bone}” isn't parented to its limb, and “{armature}” is linked: add IK in the "
            "linked file",
            armature=armature.name,
            bone=next(iter(names.values())),
        )
    with edit_mode(armature) as edited:
        for i, joint in joints.items():
            last = edited[limbs[i].bones[-1]]
            bone = edited.new(control_name(names[i], "IK End", False))
            bone.parent = last
            bone.head = joint
            bone.tail = joint + SIZE * (joint - last.head)
            bone.use_deform = False
            names[i] = bone.name
    mark_controls(armature, names.values())
    return names


def added_end(armature: bpy.types.Object, item: FabrikConstraint) -> str:
    """Return the bone that was added where the limb of a constraint ends; empty if none was."""
    if item.bone not in pose_bones(armature):
        return ""
    end = pose_bones(armature)[item.bone]
    is_added = cast(Any, end.bone).fabrik_is_control and not end.children
    return named_chain(item, end).tip if is_added else ""
