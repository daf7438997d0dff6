"""Deciding whether a drag moves the whole body."""

from __future__ import annotations

import bpy

from ...blender.skeleton import skeleton_of
from ...body.carriers import Carriers
from ...body.looking import body_of
from ..drag.mirrored import OtherSide
from .body import root_of
from .dragging import WholeBodyDrag
from .pinning import meant_bone
from .roles import roles_of
from .settings import pinned_bone, pins_of
from .targets import posed_chains


def begin(
    armature: bpy.types.Object, bone: str, whole_body: bool, side: OtherSide | None = None
) -> WholeBodyDrag | None:
    """Start dragging a bone with the whole body, if pins exist or the user requested it.

    The bone on the other side is dragged as well, if there is one.

    Raises:
        ProblemError: If the bone can't be dragged.
    """
    pinned = any(pinned_bone(armature, pin) for pin in pins_of(armature))
    if not pinned and not whole_body:
        return None
    depsgraph = bpy.context.evaluated_depsgraph_get()
    if not _is_of_body(depsgraph, armature, bone):
        return None
    if side is not None and not _is_of_body(depsgraph, armature, side.bone):
        side = None
    return WholeBodyDrag(depsgraph, armature, bone, side)


def _is_of_body(depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, bone: str) -> bool:
    """Return whether a bone, or the bone it controls, belongs to the character or carries it."""
    shown, rig = armature.evaluated_get(depsgraph), skeleton_of(armature)
    roles = roles_of(armature, shown, bone=bone)
    ends = [rig.index[name] for name in roles.ends]
    if not ends or not roles.hips:
        return True
    if roles.controls:  # Limbs in IK don't follow the body.
        return bone in roles.controls or bool(body_of(armature, bone).meant(bone))
    carriers = Carriers(rig, shown)
    meant = meant_bone(armature, roles, carriers, posed_chains(depsgraph, armature), bone)
    top = carriers.up(meant)[0]  # A body may be in several pieces.
    if not (ends := [end for end in ends if carriers.up(end)[0] == top]):
        return False
    root = root_of(carriers, roles, ends)
    return carriers.carries(root, meant) or carriers.carries(meant, root)
