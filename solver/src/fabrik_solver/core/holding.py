"""Bones that follow something other than their parents: blended frames and channels."""

from math import atan2, sqrt, tan
from typing import Final

from .bones import Y_AXIS, Z_AXIS, Bone, Local, bone_frame, facing, location_at, rotation_to
from .frames import WHOLE, Frame, frame_in, inverse
from .vectors import (
    IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    mat_apply,
    mat_columns,
    mat_product,
    quat_about,
    quat_inverse,
    quat_matrix,
    quat_product,
    rotate,
    scaled,
    sub,
)

STRAIGHT: Final = 1e-9
"""The half angle, in radians, below which rounding hides the rotation axis and the path is a
line."""


def rigid(frame: Frame) -> Frame:
    """Return a frame without scale and shear; the Y axis is preserved exactly."""
    return quat_matrix(_rotation(frame)), frame[1]


def between(first: Frame, second: Frame, factor: float) -> Frame:
    """Return a frame between two frames: a rotation about an axis and a slide along it.

    The result is the same for anything fixed to the frame, such as an object parented to a bone far
    from its origin. Scale and shear are dropped.

    Args:
        first: The frame at a factor of 0.
        second: The frame at a factor of 1.
        factor: The blend factor.
    """
    start, end = _rotation(first), _rotation(second)
    w, x, y, z = quat_product(end, quat_inverse(start))
    if w < 0.0:  # The short way round.
        w, x, y, z = -w, -x, -y, -z
    size = sqrt(x * x + y * y + z * z)
    half = atan2(size, w)
    offset = sub(second[1], first[1])
    if half < STRAIGHT:
        return quat_matrix(start), add(first[1], scaled(offset, factor))
    axis = (x / size, y / size, z / size)
    slide = scaled(axis, dot(offset, axis))
    side = sub(offset, slide)
    # From the origin to the axis shared by both frames.
    arm = scaled(add(side, scaled(cross(axis, side), 1.0 / tan(half))), 0.5)
    turn = quat_about(axis, 2.0 * half * factor)
    head = add(add(first[1], scaled(slide, factor)), sub(arm, rotate(turn, arm)))
    return quat_matrix(quat_product(turn, start)), head


def own_frame(bone: Bone, local: Local, parent: Frame) -> Frame:
    """Return a bone's frame relative to the frame that it would have without its channels.

    Raises:
        ValueError: If the parent has zero scale.
    """
    return frame_in(inverse(bone_frame(bone, Local(), parent)), bone_frame(bone, local, parent))


def held_channels(
    bone: Bone,
    local: Local,
    parent: Frame,
    to_armature: Frame,
    space: Frame,
    earlier: Frame,
    factor: float,
    carried: Frame = WHOLE,
) -> tuple[Quat, Vec]:
    """Return the channels that pose a bone as if its own channels acted in another frame.

    That frame replaces its parent's.

    Args:
        bone: The bone.
        local: Its channels.
        parent: The frame of its parent, in armature space.
        to_armature: From world to armature space.
        space: The frame in which the channels act, in world space.
        earlier: The frame to blend from, in world space.
        factor: The blend factor; at 1 `earlier` is unused.
        carried: The frame of a held child of the bone, in the bone's space, without scale. The bone
            doesn't inherit the scale and shear of `space`, which would move the child.

    Returns:
        The rotation and the location.

    Raises:
        ValueError: If the parent has zero scale.
    """
    own_offset = own_frame(bone, local, parent)
    if carried != WHOLE:
        own_offset = frame_in(own_offset, carried)
    held = frame_in(space, own_offset)
    if factor < 1.0:
        held = between(frame_in(earlier, own_offset), held, factor)
    axes, head = frame_in(to_armature, held)
    if carried != WHOLE:
        axes = mat_product(axes, inverse(carried)[0])
    rotation = rotation_to(bone, axes, parent[0], local)
    if carried != WHOLE:
        turned = bone_frame(bone, Local(local.location, rotation, local.scale), parent)[0]
        head = sub(head, mat_apply(turned, carried[1]))
    return rotation, location_at(bone, head, parent)


def _rotation(frame: Frame) -> Quat:
    """Return the rotation of a frame; the Y axis is preserved exactly."""
    _, y, z = mat_columns(frame[0])
    return facing(IDENTITY, (Y_AXIS, Z_AXIS), (y, z)) or (1.0, 0.0, 0.0, 0.0)
