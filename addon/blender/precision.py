"""Rounding errors of locations and rotations in single precision.

Blender stores numbers and evaluates matrices in single precision. The error depends on intermediate
values, not on the result. If a parent is far from the world origin, its child is as imprecise as
the parent, wherever the child is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import dist, sqrt
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import Chain
from fabrik_solver.core.vectors import Mat3, Vec, across, length, mat_columns

from .access import pose_bones
from .relations import ancestors
from .rotation import AXIS_ANGLE, QUATERNION, channel_of, mode_of
from .skeleton import Point, matrix3, matrix_frame, vector

UNIT = 2.0**-23
"""The largest relative error of a number that is rounded when computed and again when stored."""

STEPS = 2.0
"""The error of a matrix product in multiples of `UNIT`: each element is a sum of three products."""


class Rounding(NamedTuple):
    """The largest rounding error of a transform.

    Attributes:
        place: The error of the location, in meters in world space.
        turn: The error of the rotation, in radians.
    """

    place: float
    turn: float


class _Error(NamedTuple):
    """The largest rounding errors of a matrix: of its location, and of its axes' components."""

    place: float
    axes: float


def rounding_of(depsgraph: bpy.types.Depsgraph, point: Point) -> Rounding:
    """Return the rounding error of an object or bone, including the error of its channels.

    Args:
        depsgraph: The depsgraph, up to date.
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
    """Return the largest rounding error of a chain's joints, in meters in world space.

    A nearly straight chain amplifies errors: its joints move sideways by the square root of the
    change in root-to-tip distance.

    Args:
        depsgraph: The depsgraph, up to date.
        points: The last bone of the chain, its target and its pole.
        joints: The positions of its joints and its tip, in world space.
        has_hand: Whether the last bone copies the rotation of the target.
    """
    errors = [rounding_of(depsgraph, point) for point in points]
    error = sum([rounding.place for rounding in errors])
    posed = Chain(tuple(joints))
    size, bend = posed.scale, 0.0
    if size > 0.0:
        bend = size * max(length(across(joint.at(), posed.axis)) for joint in posed.start)
    sideways = sqrt(error * size)
    amplified = error * (1.0 + size / (bend + sideways)) if sideways > 0.0 else 0.0
    hand = dist(joints[-2], joints[-1]) if has_hand else 0.0
    return amplified + hand * sum([rounding.turn for rounding in errors])


def _turn(owner: Any) -> float:
    """Return the rounding error of an owner's rotation channel, in radians."""
    mode = mode_of(owner)
    if mode == QUATERNION:
        return STEPS * UNIT
    values = [abs(number) for number in getattr(owner, channel_of(mode)[0])]
    if mode == AXIS_ANGLE:
        return UNIT * (values[0] + STEPS)
    return UNIT * (sum(values) + STEPS)


def _object(ob: bpy.types.Object) -> _Error:
    """Return the rounding error of an evaluated object's world matrix."""
    *above, top = [ob, *ancestors(ob)]
    error = _local(top)
    for descendant in reversed(above):
        error = _child(descendant, error)
    return error


def _local(ob: bpy.types.Object) -> _Error:
    """Return the rounding error of an object's matrix in parent space."""
    distance, axes = ob.matrix_basis.translation.length, _size(matrix3(ob.matrix_basis))
    return _Error(UNIT * distance, STEPS * UNIT * axes)


def _child(ob: bpy.types.Object, parent_error: _Error) -> _Error:
    """Return the rounding error of a child object's world matrix from its parent's error."""
    local, parent = _local(ob), cast("bpy.types.Object", ob.parent)
    distance, axes = ob.matrix_basis.translation.length, _size(matrix3(ob.matrix_basis))
    link = matrix_frame(ob.matrix_parent_inverse)
    size = _size(link[0])
    distance = length(link[1]) + size * distance
    local = _Error(size * local.place + UNIT * distance, size * local.axes)
    world = matrix3(parent.matrix_world)
    if ob.parent_type == "BONE" and parent.pose and ob.parent_bone in pose_bones(parent):
        bone = pose_bones(parent)[ob.parent_bone]
        pose = _posed(bone)
        axes_size = _size(matrix3(bone.matrix))
        parent_error = _within(parent_error, world, pose, bone.tail.length, axes_size)
        world = matrix3(parent.matrix_world @ bone.matrix)
    return _within(parent_error, world, local, distance, size * axes)


def _within(parent: _Error, world: Mat3, local: _Error, distance: float, axes: float) -> _Error:
    """Return the rounding error of the product of a parent's matrix and a local matrix.

    Args:
        parent: The error of the parent's matrix.
        world: The axes of the parent's matrix.
        local: The error of the local matrix.
        distance: The largest intermediate value of the local location.
        axes: The size of the local axes.
    """
    size = _size(world)
    rounded = STEPS * UNIT * size
    return _Error(
        parent.place + parent.axes * distance + size * local.place + rounded * distance,
        parent.axes * axes + size * local.axes + rounded * axes,
    )


def _posed(bone: bpy.types.PoseBone) -> _Error:
    """Return the rounding error of an evaluated bone's pose matrix, including its ancestors'."""
    head = bone.head
    distance = axes = 0.0
    ancestor: bpy.types.PoseBone | None = bone
    while ancestor is not None:
        size = _size(matrix3(ancestor.matrix))
        distance += ancestor.head.length + (head - ancestor.head).length + size * _offset(ancestor)
        axes += size
        ancestor = ancestor.parent
    return _Error(STEPS * UNIT * distance, STEPS * UNIT * axes)


def _offset(bone: bpy.types.PoseBone) -> float:
    """Return the largest intermediate value of a bone's location relative to its parent."""
    return cast(float, bone.location.length) + length(vector(bone.bone.head))


def _size(axes: Mat3) -> float:
    """Return the length of the longest axis."""
    return max(map(length, mat_columns(axes)))
