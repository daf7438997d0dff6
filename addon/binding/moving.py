"""Moving targets and poles, which are objects or bones, to places in world space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ..core import WHOLE, Frame, facing, inherited_axes, inverse
from ..core.vectors import (
    Mat3,
    Quat,
    Vec,
    mat_apply,
    mat_columns,
    mat_product,
    mat_stretched,
    quat_matrix,
    sub,
    times,
)
from . import animation
from .access import pose_bones
from .chain_plan import ProblemError
from .native import active_constraints
from .rotation import LOCATION, channel_of, channel_values, mode_of, quaternion
from .skeleton import Point, matrix3, vector

LOCKED = 1e-5
"""What a locked number may be off without having to be changed, as a share of 1 or of itself."""


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
            f"“{ob.name}” is linked from another file and cannot be moved: make a library "
            "override of it, or choose another target"
        )
    for con in active_constraints(owner):
        raise ProblemError(
            f"“{owner.name}” has its own constraint “{con.name}”, which places it: mute it, or "
            "choose another target"
        )
    if point.skeleton is not None and point.bone in point.skeleton.connected:
        raise ProblemError(
            f"“{owner.name}” is connected to its parent and cannot leave its place: choose "
            "another target, or turn off the bone's Connected in Edit Mode"
        )
    driven = animation.driven(ob)
    for name in channels_of(point, turns):
        if any((owner.path_from_id(name), i) in driven for i in range(4)):
            what = "location" if name == "location" else "rotation"
            raise ProblemError(
                f"The {what} of “{owner.name}” has a driver and cannot be set: remove it, or "
                "choose another target"
            )


def place_of(depsgraph: bpy.types.Depsgraph, point: Point) -> Frame:
    """Return where a target stands and how it is turned and scaled, in world space."""
    evaluated = point.object.evaluated_get(depsgraph)
    matrix = evaluated.matrix_world
    if point.skeleton is not None:
        matrix = matrix @ pose_bones(evaluated)[point.skeleton.names[point.bone]].matrix
    return matrix3(matrix), vector(matrix.translation)


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
        if point.skeleton is None:
            carrying, inherited, sizes = _object_spaces(point.object.evaluated_get(depsgraph))
        else:
            carrying, inherited, sizes = _bone_spaces(depsgraph, point)
        shift = mat_apply(_undone(carrying), sub(place, place_of(depsgraph, point)[1]))
        turn = None if axes is None else _turn(inherited, sizes, axes)
    except ValueError:
        raise ProblemError(
            f"“{owner.name}”, or what it hangs on, is scaled to nothing: give it a scale"
        ) from None
    _set(owner, "location", [a + b for a, b in zip(owner.location, shift, strict=True)])
    if turn is not None:
        mode = mode_of(owner)
        name = channel_of(mode)[0]
        _set(owner, name, channel_values(mode, turn, list(getattr(owner, name))))


def _object_spaces(ob: bpy.types.Object) -> tuple[Mat3, Mat3, Vec]:
    """Return the axes in world space of an object's location, of its rotation, and its scale.

    Whatever its parent is, Blender puts it before the object's own transform.
    """
    own = matrix3(ob.matrix_basis)
    world = matrix3(ob.matrix_world)
    carrying = mat_product(world, _undone(own))
    sizes = times(vector(ob.scale), vector(ob.delta_scale))
    turned = mat_stretched(quat_matrix(_rotation_of(ob)), sizes)
    return carrying, mat_product(world, _undone(turned)), sizes


def _bone_spaces(depsgraph: bpy.types.Depsgraph, point: Point) -> tuple[Mat3, Mat3, Vec]:
    """Return the same of a bone."""
    rig = point.skeleton
    assert rig is not None
    armature = point.object.evaluated_get(depsgraph)
    posed = pose_bones(armature)[rig.names[point.bone]]
    parent = WHOLE[0] if posed.parent is None else matrix3(posed.parent.matrix)
    world = matrix3(armature.matrix_world)
    bone = rig.bone(point.bone)
    carrying = mat_product(parent, bone.rest) if bone.local_location else parent
    inherited, post_scale = inherited_axes(bone, parent)
    sizes = times(vector(posed.scale), post_scale)
    return mat_product(world, carrying), mat_product(world, inherited), sizes


def _undone(axes: Mat3) -> Mat3:
    return inverse((axes, (0.0, 0.0, 0.0)))[0]


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


def _set(owner: Any, name: str, values: Sequence[float]) -> None:
    """Set a channel; what is locked stays as it is if it may.

    Raises:
        ProblemError: If what is locked would have to change.
    """
    locks = _locks(owner, name)
    present = list(getattr(owner, name))
    for i, value in enumerate(values):
        if locks[i] and abs(value - present[i]) > LOCKED * (1.0 + abs(present[i])):
            what = "location" if name == "location" else "rotation"
            raise ProblemError(
                f"The {what} of “{owner.name}” is locked, and would have to change: unlock it "
                "in the sidebar's tab Item"
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
