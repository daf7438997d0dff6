"""The axis about which a joint bends, and joint limits relative to it."""

from __future__ import annotations

from math import acos, atan2, pi
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Euler, Matrix, Quaternion, Vector

from fabrik_solver.core.vectors import ORIGIN, across, unit

from ..blender.access import pose_bones
from ..blender.limbs import NO_BEND, end_of
from ..blender.moving import place_of
from ..blender.skeleton import Skeleton, skeleton_of, vector
from ..loop.joint_properties import FabrikJoint
from ..loop.properties import settings
from .constraints import chains_in

ALIGNED = 1e-3
"""The largest angle, in radians, between a hinge axis and the axis of the bone that it is."""

ONE_WAY = 0.1
"""The largest share of the flexion that a hinge which bends one way allows beyond straight."""


class Bend(NamedTuple):
    """How a joint bends.

    Attributes:
        axis: The unit vector about which a positive rotation flexes it, in the bone's rest space.
        angle: The angle by which it is flexed at rest, in radians.
    """

    axis: Vector
    angle: float


def bend_at_rest(rig: Skeleton, bone: int, end: Vector | None = None) -> Bend | None:
    """Return how a joint is bent between its bone and the parent at rest, None if it is straight.

    Args:
        rig: The armature.
        bone: The bone below the joint.
        end: The end of the bone, in armature space; None for its tail, or its child's head.
    """
    parent = rig.parents[bone]
    if parent < 0:
        return None
    rest = rig.rest(bone)
    head = rest.head_local
    before = (head - rig.rest(parent).head_local).normalized()
    after = ((Vector(end_of(rig, bone)) if end is None else end) - head).normalized()
    axis = cast(Vector, before.cross(after))
    cosine = before.dot(after)
    if cosine > NO_BEND or axis.length == 0.0:
        return None
    local = rest.matrix_local.to_3x3().transposed() @ axis.normalized()
    return Bend(local, acos(max(-1.0, cosine)))


def bend_to_pole(armature: bpy.types.Object, bone: int) -> Bend | None:
    """Return how a joint flexes that the pole of its chain points out of, None without a pole."""
    for chain in chains_in(armature):
        if bone not in chain.bones or chain.pole is None:
            continue
        depsgraph = bpy.context.evaluated_depsgraph_get()
        evaluated = armature.evaluated_get(depsgraph)
        bones = pose_bones(evaluated)
        root = bones[chain.bones[0]].head
        axis = unit(vector(chain.posed_tip(bones) - root))
        pole = Vector(place_of(depsgraph, chain.pole)[1])
        out = evaluated.matrix_world.inverted_safe() @ pole - root
        side = unit(across(vector(out), axis)) if axis else None
        if axis is None or side is None:
            continue
        turn = Quaternion(axis, settings(armature).constraints[chain.item].pole_angle)
        flexing = cast(Vector, (turn @ Vector(side)).cross(Vector(axis)))
        return Bend(_to_rest(armature, bones, bone, flexing), 0.0)
    return None


def _to_rest(armature: bpy.types.Object, bones: Any, bone: int, direction: Vector) -> Vector:
    """Return a direction of the posed parent, in armature space, in the rest space of a bone."""
    posed = bones[bone]
    rest = cast(Any, armature).pose.bones[bone].bone
    if posed.parent is not None:
        above = posed.parent.matrix.to_3x3().inverted_safe()
        direction = rest.parent.matrix_local.to_3x3() @ (above @ direction)
    return (rest.matrix_local.to_3x3().transposed() @ direction).normalized()


def next_in_limb(rig: Skeleton, bone: int) -> int:
    """Return the child that continues a limb: the only one, or the only one that has children."""
    children = rig.children[bone]
    parents = [i for i in children if rig.children[i]]
    found = parents if len(children) > 1 else children
    return found[0] if len(found) == 1 else -1


def bend_of(armature: bpy.types.Object, name: str) -> Bend | None:
    """Return how a joint flexes: as it is bent at rest, else away from the pole of its chain."""
    rig = skeleton_of(armature)
    bone = rig.index[name]
    return bend_at_rest(rig, bone) or bend_to_pole(armature, bone)


def limb_bend_of(armature: bpy.types.Object, name: str) -> Bend | None:
    """Return how the joint after a bone flexes, in the rest space of that bone.

    That is the plane in which a limb bends that the bone begins. At the end of a limb it is that of
    the bone's own joint.
    """
    rig = skeleton_of(armature)
    bone = rig.index[name]
    after = next_in_limb(rig, bone)
    if after < 0:
        return bend_of(armature, name)
    found = bend_at_rest(rig, after)
    if found is None:
        return bend_to_pole(armature, bone)
    turn = rig.rest(bone).matrix_local.to_3x3().transposed() @ rig.rest(after).matrix_local.to_3x3()
    return Bend(turn @ found.axis, 0.0)


# Limits


def hinge_values(axis: Vector, low: float, high: float) -> dict[str, Any]:
    """Return the settings of a hinge; of one about the bone's X or Z axis by that name.

    Args:
        axis: The unit vector of the axis, in the bone's rest space.
        low: The minimum angle, in radians.
        high: The maximum angle, in radians.
    """
    for name, own in (("X", Vector((1.0, 0.0, 0.0))), ("Z", Vector((0.0, 0.0, 1.0)))):
        along = axis.dot(own)
        if abs(along) > 1.0 - 0.5 * ALIGNED * ALIGNED:
            ends = (low, high) if along > 0.0 else (-high, -low)
            return {"hinge_axis": name, "hinge_min": ends[0], "hinge_max": ends[1]}
    return {
        "hinge_axis": "FREE",
        "hinge_vector": vector(axis),
        "hinge_min": low,
        "hinge_max": high,
    }


def rolled_cone(
    swing: tuple[float, float], twist: tuple[float, float], center: Matrix, roll: float
) -> dict[str, Any]:
    """Return the settings of a cone that is turned about its bone.

    Quarter turns swap the semi-axes of the ellipse; the remainder is added to the center and
    subtracted from the twist.

    Args:
        swing: The semi-axes about X and Z, in radians.
        twist: Minimum and maximum of the twist, in radians.
        center: The rotation to the center, turned already.
        roll: The angle about the bone's Y axis, in radians.
    """
    semi_axes, (low, high) = list(swing), twist
    if abs(swing[0] - swing[1]) < ALIGNED:
        roll = 0.0  # A round cone has no roll.
    quarters = round(roll / (0.5 * pi))
    roll -= quarters * 0.5 * pi
    roll = roll if abs(roll) > ALIGNED else 0.0
    if quarters % 2:
        semi_axes.reverse()
    if high - low < 2.0 * pi - ALIGNED:
        low, high = low - roll, high - roll
    turn: Euler = (center @ Matrix.Rotation(roll, 3, "Y")).to_euler()
    is_centered = roll == 0.0 and center == Matrix.Identity(3)
    return {
        "swing_x": semi_axes[0],
        "swing_z": semi_axes[1],
        "center": ORIGIN if is_centered else (turn.x, turn.y, turn.z),
        "twist_min": max(low, -pi),
        "twist_max": min(high, pi),
    }


def needs_bend(joint: FabrikJoint) -> bool:
    """Return whether a limit depends on the axis about which its joint bends."""
    if joint.limit_type == "CONE":
        return abs(joint.swing_x - joint.swing_z) >= ALIGNED
    return joint.limit_type == "HINGE"


def turned_to(joint: FabrikJoint, bend: Bend, is_across: bool = False) -> dict[str, Any]:
    """Return the settings of a limit of a joint that flexes about X, for another axis of flexion.

    A hinge that bends one way is measured from the straight limb, others from the rest pose.

    Args:
        joint: The limit.
        bend: How the joint flexes.
        is_across: Whether a hinge swings the limb to the sides, about Z, instead of bending it.
    """
    roll = atan2(-bend.axis.z, bend.axis.x)
    if joint.limit_type == "CONE":
        center = Euler(joint.center).to_matrix()
        turn = Matrix.Rotation(roll, 3, "Y")
        return rolled_cone(
            (joint.swing_x, joint.swing_z),
            (joint.twist_min, joint.twist_max),
            turn @ center @ turn.transposed() if any(joint.center) else center,
            roll,
        )
    low, high = joint.hinge_min, joint.hinge_max
    if is_across:
        return hinge_values(Matrix.Rotation(roll, 3, "Y") @ Vector((0.0, 0.0, 1.0)), low, high)
    rest = bend.angle if -low <= ONE_WAY * high else 0.0
    return hinge_values(bend.axis, low - rest, high - rest)
