"""Moving targets and poles, whether objects or bones, in world space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import bpy

from fabrik_solver import (
    WHOLE,
    Bone,
    Frame,
    Local,
    bone_frame,
    facing,
    frame_in,
    inherited_axes,
    inverse,
    location_axes,
)
from fabrik_solver.core.vectors import (
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
from .messages import channel_name
from .precision import rounding_of
from .relations import active_constraints
from .rotation import LOCATION, channel_of, channel_values, mode_of, quaternion
from .skeleton import Point, Skeleton, matrix3, matrix_frame, vector

LOCKED = 1e-5
"""The largest change of a locked component, beyond rounding, that isn't an error. It is relative if
the component is above 1."""


HOLDING: list[Callable[[Point], str | None]] = []
"""Functions of features that check whether a hold displaces a target from its channels.

Each returns None for a target that it never holds. Otherwise it returns why the target's channels
don't move it, which is empty if they do.
"""


def owner_of(point: Point) -> Any:
    """Return the owner of a target's channels: an object or a pose bone."""
    if point.skeleton is None:
        return point.object
    return pose_bones(point.object)[point.skeleton.names[point.bone]]


def channels_of(point: Point, turns: bool) -> list[str]:
    """Return the channels that are set when a target is moved and, if ``turns``, rotated."""
    names = [channel_of(LOCATION)[0]]
    return [*names, channel_of(mode_of(owner_of(point)))[0]] if turns else names


def refuse_unmovable(point: Point, turns: bool) -> None:
    """Refuse a target that can't be moved or, if ``turns``, rotated.

    Raises:
        ProblemError: If the target can't be moved; the message says why.
    """
    ob, owner = point.object, owner_of(point)
    if not ob.is_editable:
        raise ProblemError(
            "“{object}” is linked and can't be moved: make a library override, or choose another "
            "target",
            object=ob.name,
        )
    for con in active_constraints(owner):
        raise ProblemError(
            "“{owner}” is held in place by its constraint “{constraint}”: mute it, or choose "
            "another target",
            owner=owner.name,
            constraint=con.name,
        )
    if point.skeleton is not None and point.bone in point.skeleton.connected:
        raise ProblemError(
            "“{owner}” is connected to its parent and can't move: choose another target, or "
            "disable Connected in Edit Mode",
            owner=owner.name,
        )
    driven = animation.driven(ob)
    for name in channels_of(point, turns):
        if any((owner.path_from_id(name), i) in driven for i in range(4)):
            raise ProblemError(
                "The {what} of “{owner}” is driven and can't be set: remove the driver, or "
                "choose another target",
                what=channel_name(name),
                owner=owner.name,
            )


def refuse_held(point: Point) -> None:
    """Refuse a target held at the current frame: its channels don't move it.

    Raises:
        ProblemError: If the target is held; the message says what to do.
    """
    if problem := _holding(point):
        raise ProblemError(problem)


def is_ever_held(point: Point) -> bool:
    """Return whether a target is held at any frame, so that its channels don't pose it."""
    return _holding(point) is not None


def _holding(point: Point) -> str | None:
    return next((problem for ask in HOLDING if (problem := ask(point)) is not None), None)


def place_of(depsgraph: bpy.types.Depsgraph, point: Point) -> Frame:
    """Return the frame of a target in world space."""
    evaluated = point.object.evaluated_get(depsgraph)
    world = matrix_frame(evaluated.matrix_world)
    if point.skeleton is None:
        return world
    return frame_in(world, matrix_frame(pose_bones(evaluated)[point.bone].matrix))


def move_to(depsgraph: bpy.types.Depsgraph, point: Point, position: Vec, axes: Mat3 | None) -> None:
    """Set the channels of a target so that it has a position and rotation in world space.

    Its scale stays. If rotating changes its offset, or rounding errors are large, calling this
    again after an update refines the result.

    Args:
        depsgraph: The depsgraph, up to date.
        point: The target, accepted by `refuse_unmovable`.
        position: The position in world space.
        axes: The orthonormal axes to align with in world space, Y exactly and Z as closely as
            possible; None keeps the rotation.

    Raises:
        ProblemError: If its space has zero scale, or a component that must change is locked.
    """
    owner = owner_of(point)
    try:
        to_channel = inverse((location_axes_world(depsgraph, point), ORIGIN))[0]
        shift = mat_apply(to_channel, sub(position, place_of(depsgraph, point)[1]))
        turn = None if axes is None else _turn(*_rotation_axes(depsgraph, point), axes)
    except ValueError:
        raise ProblemError(
            "“{owner}” or one of its parents has zero scale: change its scale", owner=owner.name
        ) from None
    near = rounding_of(depsgraph, point)
    rounded = near.place * max(map(length, mat_columns(to_channel)))
    values = [a + b for a, b in zip(owner.location, shift, strict=True)]
    _set(owner, "location", values, rounded)
    if turn is not None:
        mode = mode_of(owner)
        name = channel_of(mode)[0]
        _set(owner, name, channel_values(mode, turn, list(getattr(owner, name))), near.turn)


def location_axes_world(depsgraph: bpy.types.Depsgraph, point: Point) -> Mat3:
    """Return the axes of a target's location channel in world space.

    Raises:
        ValueError: If the target has zero scale.
    """
    evaluated = point.object.evaluated_get(depsgraph)
    world = matrix3(evaluated.matrix_world)
    if point.skeleton is None:
        # Removing the object's basis matrix leaves the parent's transform, whatever its type.
        return mat_product(world, _inverse_axes(matrix3(evaluated.matrix_basis)))
    bone, parent = _bone_and_parent(evaluated, point)
    turned = mat_product(world, _turned_by_hold(evaluated, point))
    return mat_product(turned, location_axes(bone, parent[0]))


def _rotation_axes(depsgraph: bpy.types.Depsgraph, point: Point) -> tuple[Mat3, Vec]:
    """Return the axes of a target's rotation channel in world space, and its scale.

    Raises:
        ValueError: If the target has zero scale.
    """
    evaluated = point.object.evaluated_get(depsgraph)
    world = matrix3(evaluated.matrix_world)
    if point.skeleton is None:
        sizes = times(vector(evaluated.scale), vector(evaluated.delta_scale))
        local_axes = scale_columns(quat_matrix(_rotation_of(evaluated)), sizes)
        return mat_product(world, _inverse_axes(local_axes)), sizes
    bone, parent = _bone_and_parent(evaluated, point)
    inherited, post_scale = inherited_axes(bone, parent[0])
    posed = pose_bones(evaluated)[point.skeleton.names[point.bone]]
    turned = mat_product(world, _turned_by_hold(evaluated, point))
    return mat_product(turned, inherited), times(vector(posed.scale), post_scale)


def _bone_and_parent(evaluated: bpy.types.Object, point: Point) -> tuple[Bone, Frame]:
    """Return the rest pose of a target bone, and the posed frame of its parent."""
    rig = cast(Skeleton, point.skeleton)
    parent = pose_bones(evaluated)[rig.names[point.bone]].parent
    return rig.bone(point.bone), WHOLE if parent is None else matrix_frame(parent.matrix)


def _turned_by_hold(evaluated: bpy.types.Object, point: Point) -> Mat3:
    """Return the rotation, in armature space, that a hold adds to the axes of a bone's channels.

    Raises:
        ValueError: If the bone has zero scale.
    """
    if not is_ever_held(point):
        return IDENTITY
    bone, parent = _bone_and_parent(evaluated, point)
    owner = owner_of(point)
    local = Local(vector(owner.location), _rotation_of(owner), vector(owner.scale))
    unheld_axes = bone_frame(bone, local, parent)[0]
    held_axes = matrix3(pose_bones(evaluated)[owner.name].matrix)
    return mat_product(held_axes, _inverse_axes(unheld_axes))


def _inverse_axes(axes: Mat3) -> Mat3:
    return inverse((axes, ORIGIN))[0]


def _rotation_of(owner: Any) -> Quat:
    mode = mode_of(owner)
    return quaternion(mode, list(getattr(owner, channel_of(mode)[0])))


def _turn(inherited: Mat3, sizes: Vec, axes: Mat3) -> Quat:
    """Return the local rotation that aligns Y and Z with the axes, allowing for negative scale.

    Raises:
        ValueError: If the inherited axes are degenerate.
    """
    _, y, z = mat_columns(axes)
    axes_of_object = (
        (0.0, -1.0 if sizes[1] < 0.0 else 1.0, 0.0),
        (0.0, 0.0, -1.0 if sizes[2] < 0.0 else 1.0),
    )
    turn = facing(inherited, axes_of_object, (y, z))
    if turn is None:
        raise ValueError("the inherited axes are degenerate")
    return turn


def _set(owner: Any, name: str, values: Sequence[float], rounded: float) -> None:
    """Set a channel, if its locked components change only by rounding errors.

    Args:
        owner: The object or pose bone.
        name: The channel.
        values: The values to set.
        rounded: The largest rounding error of the values, in the unit of the channel.

    Raises:
        ProblemError: If a locked component would change.
    """
    locks = _locks(owner, name)
    current = list(getattr(owner, name))
    for i, value in enumerate(values):
        tolerance = LOCKED * (1.0 + abs(current[i])) + rounded
        if locks[i] and abs(value - current[i]) > tolerance:
            raise ProblemError(
                "The {what} of “{owner}” is locked: unlock it in the Item tab of the sidebar",
                what=channel_name(name),
                owner=owner.name,
            )
    setattr(owner, name, values)


def _locks(owner: Any, name: str) -> list[bool]:
    """Return whether each component of a channel is locked."""
    if name == "location":
        return list(owner.lock_location)
    if name == "rotation_euler":
        return list(owner.lock_rotation)
    if owner.lock_rotations_4d:
        return [owner.lock_rotation_w, *owner.lock_rotation]
    return [False] * 4  # The locks apply to Euler angles only.
