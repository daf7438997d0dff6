"""Rounding errors of locations and rotations in single precision.

Blender stores numbers, and evaluates matrices, in single precision. The error grows with the
intermediate values, not with the result: a child of a parent far from the world's origin is as
imprecise as the parent, wherever it is itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import dist, sqrt
from typing import Any, NamedTuple, cast

import bpy

from ..core import Chain
from ..core.vectors import Mat3, Vec, across, length, mat_columns
from .access import pose_bones
from .rotation import AXIS_ANGLE, QUATERNION, channel_of, mode_of
from .skeleton import Point, matrix3, matrix_frame, vector

UNIT = 2.0**-23
"""The largest relative error of a number: rounded when computed and when stored."""

STEPS = 2.0
"""By how many of these a product of two matrices is off: three products are summed up, each of two
such numbers."""

GIMBAL = 2.0**-19
"""The cosine of the middle one of Euler angles below which Blender takes the first and the last one
for turns about one axis."""


class Rounding(NamedTuple):
    """The uncertainty of a transform by rounding alone.

    Attributes:
        place: Of the location, in metres in world space.
        turn: Of the rotation, in radians.
    """

    place: float
    turn: float


class _Error(NamedTuple):
    """The uncertainty of a matrix: of its location, and of the components of its axes."""

    place: float
    axes: float


def rounding_of(depsgraph: bpy.types.Depsgraph, point: Point) -> Rounding:
    """Return the rounding of an object or a bone, including that of its channels.

    Args:
        depsgraph: Up to date.
        point: The object or bone.
    """
    ob = point.object.evaluated_get(depsgraph)
    error, axes = _object(ob), matrix3(ob.matrix_world)
    owner: Any = ob
    if point.skeleton is not None:
        owner = bone = pose_bones(ob)[point.skeleton.names[point.bone]]
        error = _within(error, axes, _posed(bone), bone.head.length, _size(matrix3(bone.matrix)))
        axes = matrix3(ob.matrix_world @ bone.matrix)
    smallest = min(map(length, mat_columns(axes)))
    turn = error.axes / smallest if smallest > 0.0 else 0.0
    return Rounding(error.place, turn + _turn(owner))


def chain_rounding(
    depsgraph: bpy.types.Depsgraph, points: Iterable[Point], joints: Sequence[Vec], has_hand: bool
) -> float:
    """Return the largest rounding error of a chain's joints, in metres in world space.

    A nearly straight chain amplifies errors: its joints leave the line by the square root of the
    tip's change of distance.

    Args:
        depsgraph: Up to date.
        points: The last bone of the chain, its target and its pole.
        joints: The positions of its joints and its tip, in world space.
        has_hand: Whether the last bone is oriented like the target.
    """
    found = [rounding_of(depsgraph, point) for point in points]
    off = sum([rounding.place for rounding in found])
    posed = Chain(tuple(joints))
    size, aside = posed.scale, 0.0
    if size > 0.0:
        aside = size * max(length(across(joint.at(), posed.axis)) for joint in posed.start)
    most = sqrt(off * size)
    bent = off * (1.0 + size / (aside + most)) if most > 0.0 else 0.0
    hand = dist(joints[-2], joints[-1]) if has_hand else 0.0
    return bent + hand * sum([rounding.turn for rounding in found])


def _turn(owner: Any) -> float:
    """Return the rounding of a rotation channel, in radians."""
    mode = mode_of(owner)
    if mode == QUATERNION:
        return STEPS * UNIT
    values = [abs(number) for number in getattr(owner, channel_of(mode)[0])]
    if mode == AXIS_ANGLE:
        return UNIT * (values[0] + STEPS)
    return UNIT * (sum(values) + STEPS) + GIMBAL


def _object(ob: bpy.types.Object) -> _Error:
    """Return the error of an evaluated object's matrix."""
    place, axes = ob.matrix_basis.translation.length, _size(matrix3(ob.matrix_basis))
    own = _Error(UNIT * place, STEPS * UNIT * axes)
    parent = ob.parent
    if parent is None:
        return own
    link = matrix_frame(ob.matrix_parent_inverse)
    size = _size(link[0])
    place = length(link[1]) + size * place
    own = _Error(size * own.place + UNIT * place, size * own.axes)
    over, world = _object(parent), matrix3(parent.matrix_world)
    if ob.parent_type == "BONE" and parent.pose and ob.parent_bone in pose_bones(parent):
        bone = pose_bones(parent)[ob.parent_bone]
        pose = _posed(bone)
        over = _within(over, world, pose, bone.tail.length, _size(matrix3(bone.matrix)))
        world = matrix3(parent.matrix_world @ bone.matrix)
    return _within(over, world, own, place, size * axes)


def _within(over: _Error, world: Mat3, own: _Error, place: float, axes: float) -> _Error:
    """Return the error of the product of two matrices.

    Args:
        over: The error of the first one.
        world: The axes of the first one.
        own: The error of the second one.
        place: The largest intermediate value of the second one's location.
        axes: The size of the second one's axes.
    """
    size = _size(world)
    rounded = STEPS * UNIT * size
    return _Error(
        over.place + over.axes * place + size * own.place + rounded * place,
        over.axes * axes + size * own.axes + rounded * axes,
    )


def _posed(bone: bpy.types.PoseBone) -> _Error:
    """Return the error of an evaluated bone's pose, with those of all its parents."""
    head = bone.head
    place = axes = 0.0
    above: bpy.types.PoseBone | None = bone
    while above is not None:
        size = _size(matrix3(above.matrix))
        place += above.head.length + (head - above.head).length + size * _offset(above)
        axes += size
        above = above.parent
    return _Error(STEPS * UNIT * place, STEPS * UNIT * axes)


def _offset(bone: bpy.types.PoseBone) -> float:
    """Return the largest intermediate value of a bone's location relative to its parent."""
    return cast(float, bone.location.length) + length(vector(bone.bone.head))


def _size(axes: Mat3) -> float:
    return max(map(length, mat_columns(axes)))
