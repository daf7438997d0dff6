"""Moving targets and poles, which are objects or bones, to places in world space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from ..core import Bone, Frame, facing, inherited_axes, inverse
from ..core.vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    quat_matrix,
    scale_columns,
    sub,
    times,
)
from . import animation
from .access import pose_bones
from .errors import ProblemError
from .native import active_constraints
from .precision import rounding_of
from .rotation import LOCATION, channel_of, channel_values, mode_of, quaternion
from .skeleton import Point, Skeleton, matrix3, matrix_frame, vector

LOCKED = 1e-5
"""What a locked number may be off without having to be changed, as a share of 1 or of itself,
besides what rounding makes of it."""


def owner_of(point: Point) -> Any:
    """Return what has the channels of a target: an object or a pose bone."""
    if point.skeleton is None:
        return point.object
    return pose_bones(point.object)[point.skeleton.names[point.bone]]


def channels_of(point: Point, turns: bool) -> list[str]:
    """Return the channels that moving a target writes; also those that turning it does."""
    names = [channel_of(LOCATION)[0]]
    return [*names, channel_of(mode_of(owner_of(point)))[0]] if turns else names


def refuse_unmovable(point: Point, turns: bool) -> None:
    """Refuse a target that cannot be moved, or turned if that is asked for.

    Raises:
        ProblemError: Saying what is in the way.
    """
    ob, owner = point.object, owner_of(point)
    if not ob.is_editable:
        raise ProblemError(
            f"“{ob.name}” is linked and cannot be moved: make a library override of it, or "
            "choose another target"
        )
    for con in active_constraints(owner):
        raise ProblemError(
            f"“{owner.name}” is positioned by its own constraint “{con.name}”: mute it, or "
            "choose another target"
        )
    if point.skeleton is not None and point.bone in point.skeleton.connected:
        raise ProblemError(
            f"“{owner.name}” is connected to its parent and cannot be moved: choose another "
            "target, or disable the bone's Connected option in Edit Mode"
        )
    driven = animation.driven(ob)
    for name in channels_of(point, turns):
        if any((owner.path_from_id(name), i) in driven for i in range(4)):
            what = "location" if name == "location" else "rotation"
            raise ProblemError(
                f"The {what} of “{owner.name}” is driven and cannot be set: remove the driver, "
                "or choose another target"
            )


def place_of(depsgraph: bpy.types.Depsgraph, point: Point) -> Frame:
    """Return where a target stands and how it is turned and scaled, in world space."""
    evaluated = point.object.evaluated_get(depsgraph)
    matrix = evaluated.matrix_world
    if point.skeleton is not None:
        matrix = matrix @ pose_bones(evaluated)[point.skeleton.names[point.bone]].matrix
    return matrix_frame(matrix)


def move_to(depsgraph: bpy.types.Depsgraph, point: Point, place: Vec, axes: Mat3 | None) -> None:
    """Set the channels of a target so that it comes to a place, and turns.

    It keeps its scale. Where turning it takes along what it stands beside, or rounding is large,
    doing so again after an update makes it better.

    Args:
        depsgraph: Up to date with all that the target hangs on.
        point: The target, which `refuse_unmovable` had nothing against.
        place: In world space.
        axes: Upright axes in world space, of which Y comes to be exact and Z as near as it gets;
            None to leave it turned as it is.

    Raises:
        ProblemError: If it is in a space that is scaled to nothing, or a lock is in the way.
    """
    owner = owner_of(point)
    try:
        to_channel = inverse((location_axes(depsgraph, point), ORIGIN))[0]
        shift = mat_apply(to_channel, sub(place, place_of(depsgraph, point)[1]))
        turn = None if axes is None else _turn(*_rotation_axes(depsgraph, point), axes)
    except ValueError:
        raise ProblemError(
            f"“{owner.name}” or one of its parents has zero scale: change its scale"
        ) from None
    near = rounding_of(depsgraph, point)
    rounded = near.place * max(map(length, mat_columns(to_channel)))
    values = [a + b for a, b in zip(owner.location, shift, strict=True)]
    _set(owner, "location", values, rounded)
    if turn is not None:
        mode = mode_of(owner)
        name = channel_of(mode)[0]
        _set(owner, name, channel_values(mode, turn, list(getattr(owner, name))), near.turn)


def location_axes(depsgraph: bpy.types.Depsgraph, point: Point) -> Mat3:
    """Return the axes in world space of a target's location channel.

    Raises:
        ValueError: If the target is scaled to nothing.
    """
    evaluated = point.object.evaluated_get(depsgraph)
    world = matrix3(evaluated.matrix_world)
    if point.skeleton is None:
        # Whatever its parent is, Blender puts it before the object's own transform.
        return mat_product(world, _undone(matrix3(evaluated.matrix_basis)))
    bone, parent = _bone_and_parent(evaluated, point)
    return mat_product(world, mat_product(parent, bone.rest) if bone.local_location else parent)


def _rotation_axes(depsgraph: bpy.types.Depsgraph, point: Point) -> tuple[Mat3, Vec]:
    """Return the axes in world space of a target's rotation channel, and its scale."""
    evaluated = point.object.evaluated_get(depsgraph)
    world = matrix3(evaluated.matrix_world)
    if point.skeleton is None:
        sizes = times(vector(evaluated.scale), vector(evaluated.delta_scale))
        turned = scale_columns(quat_matrix(_rotation_of(evaluated)), sizes)
        return mat_product(world, _undone(turned)), sizes
    bone, parent = _bone_and_parent(evaluated, point)
    inherited, post_scale = inherited_axes(bone, parent)
    posed = pose_bones(evaluated)[point.skeleton.names[point.bone]]
    return mat_product(world, inherited), times(vector(posed.scale), post_scale)


def _bone_and_parent(evaluated: bpy.types.Object, point: Point) -> tuple[Bone, Mat3]:
    """Return the rest pose of a target bone, and its parent's axes in armature space."""
    rig = cast(Skeleton, point.skeleton)
    parent = pose_bones(evaluated)[rig.names[point.bone]].parent
    return rig.bone(point.bone), IDENTITY if parent is None else matrix3(parent.matrix)


def _undone(axes: Mat3) -> Mat3:
    return inverse((axes, ORIGIN))[0]


def _rotation_of(owner: Any) -> Quat:
    mode = mode_of(owner)
    return quaternion(mode, list(getattr(owner, channel_of(mode)[0])))


def _turn(inherited: Mat3, sizes: Vec, axes: Mat3) -> Quat:
    """Return the local rotation that turns Y and Z, mirrored if their scale is, to the axes."""
    _, ahead, up = mat_columns(axes)
    own = (0.0, -1.0 if sizes[1] < 0.0 else 1.0, 0.0), (0.0, 0.0, -1.0 if sizes[2] < 0.0 else 1.0)
    turn = facing(inherited, own, (ahead, up))
    if turn is None:
        raise ValueError("the axes are flat")
    return turn


def _set(owner: Any, name: str, values: Sequence[float], rounded: float) -> None:
    """Set a channel; what is locked stays as it is if it may.

    Args:
        owner: The object or pose bone.
        name: The channel.
        values: What it gets.
        rounded: By how much these are off at most by rounding.

    Raises:
        ProblemError: If what is locked would have to change.
    """
    locks = _locks(owner, name)
    present = list(getattr(owner, name))
    for i, value in enumerate(values):
        most = LOCKED * (1.0 + abs(present[i])) + rounded
        if locks[i] and abs(value - present[i]) > most:
            what = "location" if name == "location" else "rotation"
            raise ProblemError(
                f"The {what} of “{owner.name}” is locked: unlock it in the Item tab of the sidebar"
            )
    setattr(owner, name, values)


def _locks(owner: Any, name: str) -> list[bool]:
    """Return which numbers of a channel are locked."""
    if name == "location":
        return list(owner.lock_location)
    if name == "rotation_euler":
        return list(owner.lock_rotation)
    if owner.lock_rotations_4d:
        return [owner.lock_rotation_w, *owner.lock_rotation]
    return [False] * 4  # The locks mean Euler angles, which are none of its numbers.
