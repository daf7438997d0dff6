"""How chains use an armature's joints, as evidence of how the joints flex."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import bpy
from mathutils import Quaternion, Vector

from fabrik_solver.core.vectors import across, add, unit

from ..blender.access import pose_bones
from ..blender.moving import place_of
from ..blender.skeleton import Skeleton, skeleton_of, vector
from ..body.chains import named_chain
from ..body.flexion import USES, Uses, store_found
from ..body.looking import body_of
from ..plan.chain_plan import ChainPlan
from ..plan.planner import bodies_in, chains_in
from ..plan.registry import kind_of
from ..settings.properties import FabrikConstraint, settings
from .lifting import lifts_of


def uses_of(armature: bpy.types.Object, but: int = -1) -> Uses:
    """Return how the chains of an armature use its joints.

    Args:
        armature: The armature.
        but: The index of a constraint to ignore, such as a new one.
    """
    chains = [chain.bones for chain in chains_in(armature) if chain.item != but]
    bodies = [body.bones for body in bodies_in(armature)]
    used = {bone for bones in (*chains, *bodies) for bone in bones[1:]}
    return Uses(used, partial(_pole_axis, skeleton_of(armature)))


def store_flexion(armature: bpy.types.Object, item: FabrikConstraint) -> None:
    """Store how the joints of a new chain flex, if the plan can't detect it from the rest pose."""
    if kind_of(item.solver).reaches:
        bones = named_chain(item, pose_bones(armature)[item.bone]).bones
        uses = uses_of(armature, settings(armature).constraints.find(item.name))
        store_found(body_of(armature, bones[-1]), bones[1:], uses)


def _pole_axis(rig: Skeleton, bone: int) -> Vector | None:
    """Return the axis about which a joint flexes toward its chain's pole; None without a pole."""
    for chain in chains_in(rig.object):
        flexing = _toward_pole(chain) if bone in chain.bones and chain.pole is not None else None
        if flexing is not None:
            return _at_rest(rig, bone, flexing)
    return None


def _toward_pole(chain: ChainPlan) -> Vector | None:
    """Return the axis about which a chain bends toward its pole; None if unclear.

    It is in posed armature space.
    """
    armature = chain.rig.object
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated = armature.evaluated_get(depsgraph)
    bones = pose_bones(evaluated)
    root = bones[chain.bones[0]].head
    axis = unit(vector(chain.posed_tip(bones) - root))
    assert chain.pole is not None
    pole = Vector(add(place_of(depsgraph, chain.pole)[1], lifts_of(depsgraph, chain)[1]))
    out = evaluated.matrix_world.inverted_safe() @ pole - root
    side = unit(across(vector(out), axis)) if axis else None
    if axis is None or side is None:
        return None
    turn = Quaternion(axis, settings(armature).constraints[chain.item].pole_angle)
    return cast(Vector, (turn @ Vector(side)).cross(Vector(axis)))


def _at_rest(rig: Skeleton, bone: int, direction: Vector) -> Vector:
    """Convert a direction from posed armature space to a bone's rest space, by its parent."""
    bones: Any = pose_bones(rig.object.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    above = bones[bone].parent.matrix.to_3x3().inverted_safe()
    parent, rest = (rig.rest(i).matrix_local.to_3x3() for i in (rig.parents[bone], bone))
    return rest.transposed() @ (parent @ (above @ direction))


register, unregister = partial(USES.append, uses_of), partial(USES.remove, uses_of)
