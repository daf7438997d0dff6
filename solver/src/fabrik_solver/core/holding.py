"""Bones that go along with something else than their parents."""

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
"""The half angle in radians below which the axis of a turn has no digits, and the way is a line."""


def rigid(frame: Frame) -> Frame:
    """Return a frame without scale and shear, whose Y axis counts most."""
    return quat_matrix(_rotation(frame)), frame[1]


def between(first: Frame, second: Frame, share: float) -> Frame:
    """Return a frame on the way from one to another: a turn about an axis and a slide along it.

    It is the same for whatever is fixed to the frame, such as an object that hangs on a bone far
    from its origin. Scale and shear are left out.

    Args:
        first: The frame at a share of 0.
        second: The frame at a share of 1.
        share: How far it is.
    """
    start, end = _rotation(first), _rotation(second)
    w, x, y, z = quat_product(end, quat_inverse(start))
    if w < 0.0:  # The short way round.
        w, x, y, z = -w, -x, -y, -z
    size = sqrt(x * x + y * y + z * z)
    half = atan2(size, w)
    way = sub(second[1], first[1])
    if half < STRAIGHT:
        return quat_matrix(start), add(first[1], scaled(way, share))
    axis = (x / size, y / size, z / size)
    slide = scaled(axis, dot(way, axis))
    side = sub(way, slide)
    # From the origin to the axis that both places have in common.
    arm = scaled(add(side, scaled(cross(axis, side), 1.0 / tan(half))), 0.5)
    turn = quat_about(axis, 2.0 * half * share)
    head = add(add(first[1], scaled(slide, share)), sub(arm, rotate(turn, arm)))
    return quat_matrix(quat_product(turn, start)), head


def own_frame(bone: Bone, local: Local, parent: Frame) -> Frame:
    """Return the frame of a bone in the frame that it has without its channels.

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
    share: float,
    carried: Frame = WHOLE,
) -> tuple[Quat, Vec]:
    """Return the rotation and location of a bone whose own channels count in some frame.

    Args:
        bone: The bone.
        local: Its own channels.
        parent: The frame of its parent, in armature space.
        to_armature: From world to armature space.
        space: The frame, in world space.
        earlier: Another one, from which it goes over to that.
        share: How far it has; 1 if `earlier` does not count.
        carried: The frame of what hangs on the bone and is held, in the bone's space, without
            scale. The bone does not take scale and shear of the frame, which would move it.

    Raises:
        ValueError: If the parent has zero scale.
    """
    own = own_frame(bone, local, parent)
    if carried != WHOLE:
        own = frame_in(own, carried)
    held = frame_in(space, own)
    if share < 1.0:
        held = between(frame_in(earlier, own), held, share)
    axes, head = frame_in(to_armature, held)
    if carried != WHOLE:
        axes = mat_product(axes, inverse(carried)[0])
    rotation = rotation_to(bone, axes, parent[0], local)
    if carried != WHOLE:
        turned = bone_frame(bone, Local(local.location, rotation, local.scale), parent)[0]
        head = sub(head, mat_apply(turned, carried[1]))
    return rotation, location_at(bone, head, parent)


def _rotation(frame: Frame) -> Quat:
    """Return the rotation of a frame, whose Y axis counts most."""
    _, y, z = mat_columns(frame[0])
    return facing(IDENTITY, (Y_AXIS, Z_AXIS), (y, z)) or (1.0, 0.0, 0.0, 0.0)
