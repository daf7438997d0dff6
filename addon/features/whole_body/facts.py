"""The properties of a body's bones that are the same in all poses."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import bpy
from mathutils import Vector

from fabrik_solver.core.vectors import IDENTITY, QUAT_IDENTITY, Quat, Vec, orthonormalize, quat_of

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.relations import active_constraints
from ...blender.skeleton import matrix3, vector
from ...body.body import Body
from ...body.carriers import Carriers
from ...body.flexion import planned_flexion
from ...body.looking import body_of
from ...editing.posing import PosedRotation
from ...settings.joint_limits import joint_problem, limit_of
from .body import MOST_SHARE, BoneFacts
from .roles import Roles


def facts_of(
    armature: bpy.types.Object,
    roles: Roles,
    carriers: Carriers,
    bone: int,
    root: int,
    posed: Collection[int] = (),
    kept: Collection[int] = (),
    *,
    is_planned: bool = False,
) -> BoneFacts:
    """Return the properties of a body's bone.

    Args:
        armature: The armature.
        roles: The roles of its bones.
        carriers: The carriers of its bones.
        bone: The bone.
        root: The bone that moves the body.
        posed: Bones whose shown pose comes from constraints. They may bend even if they have
            constraints of their own.
        kept: Bones that only follow their parent, because their constraints pose them.
        is_planned: Whether to find an elbow's or knee's flexion only from its stored flexion and
            rest pose, without the current pose.

    Raises:
        ProblemError: If its joint is invalid.
    """
    rig = carriers.rig
    name = rig.names[bone]
    owner: Any = pose_bones(armature)[name]
    if problem := joint_problem(owner):
        raise ProblemError(problem)
    rotation = PosedRotation(owner)
    is_only_carrier = name in roles.rigid or (roles.controls and name not in roles.controls)
    if bone in kept or is_only_carrier:
        bends = bone == root
    elif rotation.is_fixed:
        bends = False
    else:
        bends = bone in posed or not any(active_constraints(owner))
    is_hinge = bends and name in roles.hinges
    stiff: float = owner.fabrik_joint.stiffness
    inherits = carriers.turns(bone)
    part = roles.posture.get(name)
    axes, standing = ((), QUAT_IDENTITY) if part is None else _standing(owner.bone, roles)
    return BoneFacts(
        carriers.of(bone),
        inherits,
        bone == root or bends or not inherits,
        roles.grip(rig, bone),
        bends,
        limit_of(owner),
        rotation.locks,
        _flexion(body_of(armature, name), name, is_planned) if is_hinge else None,
        _stiffness(roles, name) / (1.0 - min(stiff, MOST_SHARE)),
        rig.index.get(roles.follows.get(name, ""), -1),
        part,
        axes,
        standing,
    )


def _stiffness(roles: Roles, name: str) -> float:
    part = roles.posture.get(name)
    return roles.stiffness.get(name, 1.0) if part is None else part.stiffness


def _standing(bone: bpy.types.Bone, roles: Roles) -> tuple[tuple[Vec, ...], Quat]:
    """Return the standing body's front, left and up axes, in a bone's standing axes.

    Returns:
        These axes, and the bone's local rotation in the standing pose, relative to rest.
    """
    here = roles.standing.get(bone.name, bone.matrix_local)
    back, rest = here.to_3x3().inverted_safe(), bone.matrix_local
    up, front = Vector(roles.up), Vector(roles.front)
    ways = (front, cast("Vector", up.cross(front)), up)
    axes = tuple([vector((back @ direction).normalized()) for direction in ways])
    if not roles.standing:
        return axes, QUAT_IDENTITY
    if (parent := bone.parent) is not None:
        rest = parent.matrix_local.inverted_safe() @ rest
        here = roles.standing.get(parent.name, parent.matrix_local).inverted_safe() @ here
    turn = quat_of(orthonormalize(matrix3(rest.inverted_safe() @ here)) or IDENTITY)
    return axes, turn


def _flexion(body: Body, name: str, is_planned: bool) -> Vec | None:
    axis = planned_flexion(body, name) if is_planned else body.joint(name).axis
    return vector(axis) if axis.length else None
