"""The rotations of joints, and whether they are within limits."""

from math import atan2, degrees, pi, sqrt
from typing import Any

import bpy
from mathutils import Quaternion, Vector
from rigs import evaluated

KEPT = 1e-4
"""The largest violation of a limit that counts as none, in radians."""

PLACES = [(0.9, 0.2, 1.1), (-1.2, 0.4, 0.6), (0.3, -1.4, 0.9), (0.2, 1.5, -0.4), (1, 1, 1)]
"""Target locations for chains of two or three bones of length 1 from the origin."""


def turn_of(rig: bpy.types.Object, name: str) -> Quaternion:
    """Return the rotation of a bone relative to its rest pose, from evaluated matrices."""
    bone = evaluated(rig).pose.bones[name]
    rest, posed = bone.bone.matrix_local, bone.matrix
    if bone.parent:
        rest = bone.parent.bone.matrix_local.inverted() @ rest
        posed = bone.parent.matrix.inverted() @ posed
    return (rest.inverted() @ posed).to_quaternion()


def swing_and_twist(turn: Quaternion) -> tuple[float, float, float]:
    """Return the swing about X and about Z, and the twist, which comes first, in radians."""
    twist = Quaternion((turn.w, 0, turn.y, 0))
    twist = twist.normalized() if twist.magnitude > 1e-9 else Quaternion()
    swing = turn @ twist.inverted()
    if swing.w < 0:
        swing.negate()
    size = sqrt(swing.x**2 + swing.z**2)
    share = 2 * atan2(size, swing.w) / size if size > 1e-9 else 2.0
    angle = (2 * atan2(twist.y, twist.w) + pi) % (2 * pi) - pi
    return swing.x * share, swing.z * share, angle


def hinge_angle(turn: Quaternion, axis: Vector) -> tuple[float, float]:
    """Return the angle about an axis, and the angle of the rest of the rotation, in radians."""
    if turn.w < 0:
        turn = -turn
    along = Vector((turn.x, turn.y, turn.z)).dot(axis)
    aside = (Vector((turn.x, turn.y, turn.z)) - along * axis).length
    return 2 * atan2(along, turn.w), 2 * aside


def assert_in_hinge(rig: bpy.types.Object, name: str, axis: Any, low: float, high: float) -> float:
    angle, aside = hinge_angle(turn_of(rig, name), Vector(axis).normalized())
    assert aside < KEPT, f"{name} leaves its hinge by {aside}"
    assert low - KEPT <= angle <= high + KEPT, f"{name} turns by {degrees(angle)}°"
    return angle
