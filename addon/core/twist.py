"""The twist of a hand, shared with the bones before it, so that no single joint wrings the skin."""

from math import atan2, cos, sin
from typing import Final

from .bones import facing, inherited_axes, turned_axes
from .frames import Frame, point_in
from .limit_solver import ConstrainedBone
from .posture import ChainInput, chain_frames
from .vectors import (
    Mat3,
    Quat,
    Vec,
    any_perpendicular,
    dot,
    mat_apply,
    mat_determinant,
    mat_direction_before,
    mat_product,
    quat_compatible,
    quat_matrix,
    quat_product,
    sub,
    times,
    turned_about,
    unit,
)

Y_AXIS: Vec = (0.0, 1.0, 0.0)

HALVINGS: Final = 24
"""How finely the share of the twist is found that all limits allow."""


def with_shared_twist(
    limb: ChainInput, rotations: list[Quat], hand: ConstrainedBone, wanted: Quat, spread: float
) -> list[Quat]:
    """Turn the bones of a limb about themselves, so that they share the twist of the hand.

    No joint of the limb moves; under uneven scale, lengths may change a little. Each joint, that
    of the hand included, gets an equal part of the spread twist: of n bones the i-th turns by
    i / (n + 1) of it. A stiff bone and one with a limit take less, and all others with it.

    Args:
        limb: The bones before the hand.
        rotations: Their solved local rotations.
        hand: The hand.
        wanted: The local rotation that the hand has if nothing is shared.
        spread: How much is shared, from 0 to 1.

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
    return all(bone.is_within(rotations[i]) for i, bone in enumerate(limb.constrained))


def _twist(limb: ChainInput, frames: list[Frame], hand: ConstrainedBone, wanted: Quat) -> float:
    """Return by how much the hand is turned about the bone before it, from −π to π.

    It is measured from the FK pose, so that a hand which is carried along unturned has none,
    however it was posed. It jumps where the hand comes to half a turn, which is as far from the
    FK pose the one way as the other.
    """
    axes, head = frames[-1]
    inherited, _ = inherited_axes(hand.bone, axes)
    bone = sub(point_in(frames[-1], limb.links[-1].arm), head)
    axis = unit(mat_direction_before(inherited, bone))
    if axis is None:
        return 0.0
    w, x, y, z = hand.given
    w, x, y, z = quat_product(quat_compatible(wanted, hand.given), (w, -x, -y, -z))
    along = dot((x, y, z), axis)
    # Half a turn about an axis across the bone can be any twist: it is taken as none.
    angle = 2.0 * atan2(along, w) if w * w + along * along > 1e-18 else 0.0
    return -angle if mat_determinant(inherited) < 0.0 else angle


def _twisted(
    limb: ChainInput, rotations: list[Quat], frames: list[Frame], twist: float
) -> list[Quat]:
    """Turn each bone about itself by its part of a twist in armature space, and no joint away."""
    part = twist / (len(rotations) + 1)
    axes: Mat3 = limb.parent[0]
    turned: list[Quat] = []
    for i, link in enumerate(limb.links):
        before, _ = inherited_axes(link.bone, frames[i - 1][0] if i > 0 else limb.parent[0])
        inherited, post_scale = inherited_axes(link.bone, axes)
        ahead = unit(times(times(link.arm, link.scale), post_scale)) or Y_AXIS
        up = any_perpendicular(ahead)
        stood = mat_product(before, quat_matrix(rotations[i]))
        to_ahead, to_up = mat_apply(stood, ahead), mat_apply(stood, up)
        axis = unit(to_ahead)
        if axis is not None:
            angle = part * (i + 1)
            to_up = turned_about(to_up, axis, cos(angle), sin(angle))
        rotation = facing(inherited, (ahead, up), (to_ahead, to_up)) or rotations[i]
        turned.append(rotation)
        axes = turned_axes(inherited, rotation, link.scale, post_scale)
    return turned
