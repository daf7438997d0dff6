"""Spreads a hand's twist over the bones before it, to avoid candy-wrapper skinning."""

from math import atan2, cos, sin
from typing import Final

from .bones import facing, inherited_axes, turned_axes
from .frames import Frame, point_in
from .limit_solver import ConstrainedBone, of_joints
from .posture import ChainInput, chain_frames
from .vectors import (
    Mat3,
    Quat,
    Vec,
    any_perpendicular,
    dot,
    inverse_direction,
    mat_apply,
    mat_determinant,
    mat_product,
    quat_compatible,
    quat_inverse,
    quat_matrix,
    quat_product,
    rotate_about,
    sub,
    times,
    unit,
)

Y_AXIS: Vec = (0.0, 1.0, 0.0)

HALVINGS: Final = 24
"""Number of bisection steps for the fraction of the twist that all limits allow."""


def with_shared_twist(
    limb: ChainInput, rotations: list[Quat], hand: ConstrainedBone, wanted: Quat, spread: float
) -> list[Quat]:
    """Twist the bones of a limb so that they share the twist of the hand.

    The joints of the limb don't move; under non-uniform scale, lengths may change slightly. Each
    joint, including the hand's, gets an equal part of the spread twist: of n bones, the i-th twists
    by i / (n + 1) of it. If a bone is stiff or at its limit, all bones twist less.

    Args:
        limb: The bones before the hand.
        rotations: Their solved local rotations.
        hand: The hand.
        wanted: The local rotation of the hand without sharing.
        spread: The fraction of the twist to spread, from 0 to 1.

    Returns:
        The local rotations of the limb's bones.
    """
    for bone in limb.constrained:
        spread = min(spread, bone.compliance)
    frames = chain_frames(limb, rotations)
    twist = spread * _twist(limb, frames, hand, wanted)
    if twist == 0.0:
        return rotations
    low, high = 0.0, 1.0
    best = rotations
    turned = _twisted(limb, rotations, frames, twist)
    if _keeps(limb, turned):
        return turned
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        turned = _twisted(limb, rotations, frames, middle * twist)
        if _keeps(limb, turned):
            low, best = middle, turned
        else:
            high = middle
    return best


def _keeps(limb: ChainInput, rotations: list[Quat]) -> bool:
    joints = of_joints(limb.constrained, limb.parent[0], rotations)
    return all(bone.is_within(joints[i]) for i, bone in enumerate(limb.constrained))


def _twist(limb: ChainInput, frames: list[Frame], hand: ConstrainedBone, wanted: Quat) -> float:
    """Return the twist of the hand about the bone before it, from −π to π.

    It is measured from the FK pose, so a hand that only follows isn't twisted. It is discontinuous
    at π, which is equally far from the FK pose in both directions.
    """
    axes, head = frames[-1]
    inherited, _ = inherited_axes(hand.bone, axes)
    bone = sub(point_in(frames[-1], limb.links[-1].arm), head)
    axis = unit(inverse_direction(inherited, bone))
    if axis is None:
        return 0.0
    back = quat_inverse(hand.fk_rotation)
    w, x, y, z = quat_product(quat_compatible(wanted, hand.fk_rotation), back)
    along = dot((x, y, z), axis)
    # At a swing of π twist is undefined: use 0.
    angle = 2.0 * atan2(along, w) if w * w + along * along > 1e-18 else 0.0
    return -angle if mat_determinant(inherited) < 0.0 else angle


def _twisted(
    limb: ChainInput, rotations: list[Quat], frames: list[Frame], twist: float
) -> list[Quat]:
    """Twist each bone by its part of a twist in armature space, without moving joints."""
    part = twist / (len(rotations) + 1)
    axes: Mat3 = limb.parent[0]
    turned: list[Quat] = []
    for i, link in enumerate(limb.links):
        solved_axes, _ = inherited_axes(link.bone, frames[i - 1][0] if i > 0 else limb.parent[0])
        inherited, post_scale = inherited_axes(link.bone, axes)
        ahead = unit(times(times(link.arm, link.scale), post_scale)) or Y_AXIS
        up = any_perpendicular(ahead)
        solved_frame = mat_product(solved_axes, quat_matrix(rotations[i]))
        to_ahead, to_up = mat_apply(solved_frame, ahead), mat_apply(solved_frame, up)
        axis = unit(to_ahead)
        if axis is not None:
            angle = part * (i + 1)
            to_up = rotate_about(to_up, axis, cos(angle), sin(angle))
        rotation = facing(inherited, (ahead, up), (to_ahead, to_up)) or rotations[i]
        turned.append(rotation)
        axes = turned_axes(inherited, rotation, link.scale, post_scale)
    return turned
