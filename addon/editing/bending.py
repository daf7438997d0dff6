"""Joint limits relative to the axis about which a joint flexes."""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, pi
from typing import Any, cast

import bpy
from mathutils import Euler, Matrix, Vector

from fabrik_solver.core.vectors import ORIGIN

from ..blender.access import pose_bones
from ..blender.skeleton import vector
from ..settings.joints import FabrikJoint
from .flexion import Flexion

ALIGNED = 1e-3
"""The largest angle, in radians, between a hinge axis and the axis of the bone that it is."""

ONE_WAY = 0.1
"""The largest share of the flexion that a hinge which bends one way allows beyond straight."""


def hinge_values(axis: Vector, low: float, high: float) -> dict[str, Any]:
    """Return the settings of a hinge; of one about the bone's X or Z axis by that name.

    Args:
        axis: The unit vector of the axis, in the bone's rest space.
        low: The minimum angle, in radians.
        high: The maximum angle, in radians.
    """
    for name, axis_vector in (("X", Vector((1.0, 0.0, 0.0))), ("Z", Vector((0.0, 0.0, 1.0)))):
        along = axis.dot(axis_vector)
        if abs(along) > 1.0 - 0.5 * ALIGNED * ALIGNED:
            ends = (low, high) if along > 0.0 else (-high, -low)
            return {"hinge_axis": name, "hinge_min": ends[0], "hinge_max": ends[1]}
    return {
        "hinge_axis": "FREE",
        "hinge_vector": vector(axis),
        "hinge_min": low,
        "hinge_max": high,
    }


def add_hinge(joint: FabrikJoint, axis: Vector, low: float, high: float) -> None:
    """Limit a joint without a limit to a hinge, until the constraints that need it are removed.

    Args:
        joint: The joint.
        axis: The unit vector of the axis, in the bone's rest space.
        low: The minimum angle, in radians.
        high: The maximum angle, in radians.
    """
    before = _hinge_line(joint)
    for name, value in hinge_values(axis, low, high).items():
        setattr(joint, name, value)
    joint.limit_type = "HINGE"
    joint.found = f"{before}\n{_hinge_line(joint)}"


def remove_hinges(armature: bpy.types.Object, bones: Iterable[str]) -> None:
    """Restore the joints of bones from before `add_hinge`, unless they were changed since."""
    for name in bones:
        joint: Any = cast(Any, pose_bones(armature)[name]).fabrik_joint
        if not joint.found:
            continue
        before, _, found = joint.found.partition("\n")
        joint.found = ""
        if joint.limit_type != "HINGE" or _hinge_line(joint) != found:
            continue
        joint.limit_type = "NONE"
        joint.hinge_axis, *numbers = before.split("\t")
        *joint.hinge_vector, joint.hinge_min, joint.hinge_max = map(float, numbers)


def _hinge_line(joint: FabrikJoint) -> str:
    """Return the settings of a hinge as one line."""
    numbers = (*joint.hinge_vector, joint.hinge_min, joint.hinge_max)
    return "\t".join((joint.hinge_axis, *map(repr, numbers)))


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


def turned_to(joint: FabrikJoint, bend: Flexion, is_across: bool = False) -> dict[str, Any]:
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
