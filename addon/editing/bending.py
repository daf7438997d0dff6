"""Joint limits relative to a joint's axis of flexion."""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, pi
from typing import Any, cast

import bpy
from mathutils import Euler, Matrix, Vector

from fabrik_solver.core.vectors import ORIGIN

from ..blender.access import pose_bones
from ..blender.errors import listed
from ..blender.messages import msg
from ..blender.refusals import joints_problem
from ..blender.skeleton import vector
from ..body.body import Joint
from ..body.chains import named_chain
from ..plan.registry import kind_of
from ..settings.joint_limits import has_native_limits
from ..settings.joints import FabrikJoint
from ..settings.properties import FabrikConstraint

ALIGNED = 1e-3
"""Maximum angle in radians between a hinge axis and a bone axis to be treated as equal."""

ONE_WAY = 0.1
"""Maximum range beyond straight of a hinge that bends one way, as a fraction of its flexion."""


def hinge_values(axis: Vector, low: float, high: float) -> dict[str, Any]:
    """Return the settings of a hinge; the bone's X or Z axis is stored by its name.

    Args:
        axis: The unit vector of the axis, in the bone's rest space.
        low: The minimum angle, in radians.
        high: The maximum angle, in radians.
    """
    for name, axis_vector in (("X", Vector((1.0, 0.0, 0.0))), ("Z", Vector((0.0, 0.0, 1.0)))):
        cosine = axis.dot(axis_vector)
        if abs(cosine) > 1.0 - 0.5 * ALIGNED * ALIGNED:
            limits = (low, high) if cosine > 0.0 else (-high, -low)
            return {"hinge_axis": name, "hinge_min": limits[0], "hinge_max": limits[1]}
    return {
        "hinge_axis": "FREE",
        "hinge_vector": vector(axis),
        "hinge_min": low,
        "hinge_max": high,
    }


def add_hinge(joint: FabrikJoint, axis: Vector, low: float, high: float) -> None:
    """Limit an unlimited joint to a hinge, until the constraints that need it are removed.

    Args:
        joint: The joint.
        axis: The unit vector of the axis, in the bone's rest space.
        low: The minimum angle, in radians.
        high: The maximum angle, in radians.
    """
    old_line = _hinge_line(joint)
    for name, value in hinge_values(axis, low, high).items():
        setattr(joint, name, value)
    joint.limit_type = "HINGE"
    joint.found = f"{old_line}\n{_hinge_line(joint)}"


def use_native_limits(armature: bpy.types.Object, item: FabrikConstraint) -> None:
    """Make unlimited joints of a chain use Blender's IK limits, if their bones have any.

    This lasts until the constraints that need them are removed. Linked armature data isn't changed;
    `native_limits_notes` reports it.
    """
    if joints_problem(armature):
        return
    for name in limited_bones(armature, item):
        bone: Any = pose_bones(armature)[name]
        if bone.fabrik_joint.limit_type == "NONE" and has_native_limits(bone):
            bone.fabrik_joint.limit_type = bone.fabrik_joint.found = "BLENDER"


def limited_bones(armature: bpy.types.Object, item: FabrikConstraint) -> list[str]:
    """Return the bones that a constraint poses within limits, including an oriented hand."""
    kind = kind_of(item.solver)
    if item.bone not in pose_bones(armature) or not (kind.reaches or kind.gaze):
        return []
    chain = named_chain(item, pose_bones(armature)[item.bone])
    return [*chain.bones, *filter(None, [chain.tip])]


def native_limits_notes(armature: bpy.types.Object, items: Iterable[FabrikConstraint]) -> list[str]:
    """Return notes on how Blender's IK locks and limits affect the bones of new chains."""
    by_type = _natively_limited(armature, items)
    notes = unused_limits_notes(armature, items)
    if "BLENDER" in by_type:
        used = listed(by_type["BLENDER"])
        notes.insert(0, msg("Uses Blender's IK limits of {bones}", bones=used))
    return notes


def unused_limits_notes(armature: bpy.types.Object, items: Iterable[FabrikConstraint]) -> list[str]:
    """Return notes on Blender's IK limits that have no effect."""
    notes: list[str] = []
    for kind, names in _natively_limited(armature, items).items():
        if kind == "NONE":
            unused = listed(names)
            notes.append(msg("Blender's IK limits of {bones} aren't used", bones=unused))
            notes.append(joints_problem(armature))
        elif kind != "BLENDER":
            notes += [
                msg(
                    "“{bone}” keeps the limit of its FABRIK IK joint instead of Blender's IK limit",
                    bone=name,
                )
                for name in names
            ]
    return [*filter(None, notes)]


def _natively_limited(
    armature: bpy.types.Object, items: Iterable[FabrikConstraint]
) -> dict[str, list[str]]:
    """Return the bones of chains with native limits, by the limit type of their joints."""
    by_type: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for item in items for name in limited_bones(armature, item)):
        bone: Any = pose_bones(armature)[name]
        if has_native_limits(bone):
            by_type.setdefault(bone.fabrik_joint.limit_type, []).append(name)
    return by_type


def restore_limits(armature: bpy.types.Object, bones: Iterable[str]) -> None:
    """Restore the joints of bones to their state before `add_hinge` and `use_native_limits`.

    Joints that have been changed since are kept.
    """
    for name in bones:
        joint: Any = cast(Any, pose_bones(armature)[name]).fabrik_joint
        if not joint.found:
            continue
        old_line, _, added_line = joint.found.partition("\n")
        joint.found = ""
        if old_line == joint.limit_type == "BLENDER":
            joint.limit_type = "NONE"
        if joint.limit_type != "HINGE" or _hinge_line(joint) != added_line:
            continue
        joint.limit_type = "NONE"
        joint.hinge_axis, *numbers = old_line.split("\t")
        *joint.hinge_vector, joint.hinge_min, joint.hinge_max = map(float, numbers)


def _hinge_line(joint: FabrikJoint) -> str:
    """Return the settings of a hinge as a single line."""
    numbers = (*joint.hinge_vector, joint.hinge_min, joint.hinge_max)
    return "\t".join((joint.hinge_axis, *map(repr, numbers)))


def rolled_cone(
    swing: tuple[float, float], twist: tuple[float, float], center: Matrix, roll: float
) -> dict[str, Any]:
    """Return the settings of a cone that is rotated about its bone.

    Quarter turns swap the semi-axes of the ellipse; the remainder is added to the center and
    subtracted from the twist.

    Args:
        swing: The semi-axes of the cone's elliptical cross-section, about X and Z, in radians.
        twist: The minimum and maximum twist, in radians.
        center: The rotation from the rest pose to the cone's center, already expressed in the
            rolled axes.
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
    center_euler: Euler = (center @ Matrix.Rotation(roll, 3, "Y")).to_euler()
    is_centered = roll == 0.0 and center == Matrix.Identity(3)
    return {
        "swing_x": semi_axes[0],
        "swing_z": semi_axes[1],
        "center": ORIGIN if is_centered else (center_euler.x, center_euler.y, center_euler.z),
        "twist_min": max(low, -pi),
        "twist_max": min(high, pi),
    }


def needs_bend(joint: FabrikJoint) -> bool:
    """Return whether a limit depends on the joint's bend axis."""
    if joint.limit_type == "CONE":
        return abs(joint.swing_x - joint.swing_z) >= ALIGNED
    return joint.limit_type == "HINGE"


def turned_to(joint: FabrikJoint, bend: Joint, is_across: bool = False) -> dict[str, Any]:
    """Return a joint limit's settings, converted from flexion about X to another axis of flexion.

    A hinge that bends one way is measured from the straight limb, others from the rest pose.

    Args:
        joint: The limit.
        bend: The flexion of the joint.
        is_across: Whether the hinge swings the limb sideways, about Z, instead of bending it.
    """
    roll = atan2(-bend.axis.z, bend.axis.x)
    if joint.limit_type == "CONE":
        center = Euler(joint.center).to_matrix()
        rotation = Matrix.Rotation(roll, 3, "Y")
        return rolled_cone(
            (joint.swing_x, joint.swing_z),
            (joint.twist_min, joint.twist_max),
            rotation @ center @ rotation.transposed() if any(joint.center) else center,
            roll,
        )
    low, high = joint.hinge_min, joint.hinge_max
    if is_across:
        return hinge_values(Matrix.Rotation(roll, 3, "Y") @ Vector((0.0, 0.0, 1.0)), low, high)
    rest_angle = bend.fold if -low <= ONE_WAY * high else 0.0
    return hinge_values(bend.axis, low - rest_angle, high - rest_angle)
