"""Limbs whose hand or foot isn't parented to them: IK reaches for it from the limb's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import bpy
from mathutils import Vector

from fabrik_solver import exact_for
from fabrik_solver.motion.anatomy.thresholds import NO_LENGTH

from ..blender.access import pose_bones
from ..blender.errors import ProblemError, listed
from ..body.body import Limb
from ..body.chains import common_name, named_chain
from ..settings.properties import FabrikConstraint, free_name, settings
from . import constraints as editing
from .controls import control_name, edit_mode, mark_controls, uneditable_problem

SIZE: Final = 0.1
"""The length of an added bone, as a fraction of the limb's last bone."""


def with_ends(armature: bpy.types.Object, limbs: Sequence[Limb]) -> list[Limb]:
    """Return limbs, with a bone added at the joint of each loose hand or foot.

    A limb needs no such bone if its last bone, or a child of that bone, ends at the joint.

    Raises:
        ProblemError: If bones can't be added. Nothing is changed.
    """
    bones = cast(bpy.types.Armature, armature.data).bones
    joints: dict[int, Vector] = {}
    for i, limb in enumerate(limbs):
        if limb.loose is None or limb.loose.tip:
            continue
        last = bones[limb.loose.limb]
        joint = last.matrix_local @ Vector(limb.loose.joint)
        if (joint - last.tail_local).length > NO_LENGTH * (joint - last.head_local).length:
            joints[i] = joint
    tips = {i: limb.loose.tip for i, limb in enumerate(limbs) if limb.loose}
    if joints:
        tips.update(_added(armature, limbs, joints))
    return [replace(limb, hand=tips.get(i) or limb.hand) for i, limb in enumerate(limbs)]


def _added(
    armature: bpy.types.Object, limbs: Sequence[Limb], joints: Mapping[int, Vector]
) -> dict[int, str]:
    """Add bones at the joints of limbs, in armature space, and return their names.

    Raises:
        ProblemError: If bones can't be added.
    """
    names = {i: limbs[i].end.bone for i in joints}
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


def added_bone(limb: Limb) -> str:
    """Return the bone that `with_ends` has added to a limb; empty if it has added none."""
    return "" if limb.loose is None or limb.hand == limb.loose.tip else limb.hand


def add_reaching(armature: bpy.types.Object, limb: Limb) -> FabrikConstraint | None:
    """Add and return a constraint that reaches for a limb's loose end; None if it has none.

    Args:
        armature: The armature object.
        limb: The limb, as `with_ends` returns it.
    """
    if limb.loose is None:
        return None
    count = len(limb.bones)
    solver = exact_for("FABRIK", count)
    item = editing.add(armature, limb.tip(True), armature, limb.end.bone, count, solver)
    item.use_tail, item.swing = not limb.hand, 1.0
    item.name = free_name(armature, common_name(limb.end.bone))
    return item


def reaching(armature: bpy.types.Object, limb: Limb) -> str:
    """Return the constraint that reaches for a limb's loose end; empty for any other limb."""
    items = settings(armature).constraints if limb.loose is not None else ()
    ends = {item.subtarget: item.name for item in items if item.target == armature}
    return ends.get(limb.end.bone, "")


def refuse_left_behind(armature: bpy.types.Object, limbs: Sequence[Limb]) -> None:
    """Refuse loose feet that no constraint reaches for.

    Raises:
        ProblemError: If there are any; the message names them.
    """
    feet = [limb.end.bone for limb in limbs if limb.end.is_loose and not reaching(armature, limb)]
    if feet:
        raise ProblemError(
            "Feet that aren't parented to their legs would be left behind: {feet}. Use Set Up "
            "Character or Add IK Limb before adding a walk",
            feet=listed(feet),
        )


def added_end(armature: bpy.types.Object, item: FabrikConstraint) -> str:
    """Return the bone that was added at the end of a constraint's limb; empty if there is none."""
    if item.bone not in pose_bones(armature):
        return ""
    end = pose_bones(armature)[item.bone]
    is_added = cast(Any, end.bone).fabrik_is_control and not end.children
    return named_chain(item, end).tip if is_added else ""
