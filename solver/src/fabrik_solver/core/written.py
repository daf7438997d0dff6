"""What a pose reaches as it is written: in channels, which have single precision.

Nothing here asks what a solver believed. The frames follow from the channels by Blender's rules.
"""

from collections.abc import Sequence
from math import dist
from typing import Final, final

from .bones import Local, bone_frame
from .chain import Point, State
from .frames import Frame, point_in
from .posture import ChainInput
from .vectors import Quat, Vec, quat_unit

ROUNDED: Final = 2.0**-22
"""The largest error in radians of a rotation whose quaternion is stored in single precision: twice
that of its numbers."""


@final
class Written:
    """The solved channels of bones, as they are written.

    Attributes:
        rotations: The rotation of each bone.
        scales: The scale of each bone; empty if they keep those of the FK pose.
        location: The location of the first bone; None if it keeps that of the FK pose.
        rounding: The largest rounding error of a rotation, in radians.
    """

    __slots__ = ("location", "rotations", "rounding", "scales")
    rotations: Sequence[Quat]
    scales: Sequence[Vec]
    location: Vec | None
    rounding: float

    def __init__(
        self,
        rotations: Sequence[Quat],
        scales: Sequence[Vec] = (),
        location: Vec | None = None,
        rounding: float = ROUNDED,
    ) -> None:
        self.rotations = rotations
        self.scales = scales
        self.location = location
        self.rounding = rounding


def unit_rotations(numbers: Sequence[float]) -> list[Quat]:
    """Return the rotations of quaternion channels, four numbers each, as Blender takes them."""
    n = numbers
    return [quat_unit((n[i], n[i + 1], n[i + 2], n[i + 3])) for i in range(0, len(n), 4)]


def measured_tip(
    chain: ChainInput,
    written: Written,
    spaces: tuple[Frame, Frame],
    target: Vec,
    tolerance: float,
    _motion: object = None,
) -> tuple[float, bool]:
    """Return how far the tip of a written chain is from its target, and whether it is on it.

    Args:
        chain: The bones and their FK pose.
        written: What is written of them.
        spaces: The armature's frame in world space, and its inverse.
        target: The target, in world space.
        tolerance: The distance that counts as on the target, as a share of the chain's length.

    Returns:
        The distance in world space; and whether it is within the tolerance, in armature space,
        where bones have their lengths.
    """
    joints = written_joints(chain, written)
    is_on = is_on_target(joints, point_in(spaces[1], target), tolerance, written.rounding)
    return dist(point_in(spaces[0], joints[-1]), target), is_on


def written_joints(chain: ChainInput, written: Written) -> list[Vec]:
    """Return the heads of a written chain's bones and its tip, in armature space."""
    frame = chain.parent
    joints: list[Vec] = []
    for i, link in enumerate(chain.links):
        local = chain.channels[i]
        location = written.location if i == 0 else None
        scale = written.scales[i] if written.scales else local.scale
        posed = Local(local.location if location is None else location, written.rotations[i], scale)
        frame = bone_frame(link.bone, posed, frame)
        joints.append(frame[1])
    joints.append(point_in(frame, chain.links[-1].arm))
    return joints


def is_on_target(joints: Sequence[Vec], target: Point, tolerance: float, rounding: float) -> bool:
    """Return whether the last joint is within a share of the chain's length of its target.

    Args:
        joints: The joints, root first.
        target: The target, in the same space.
        tolerance: The share.
        rounding: The error of each rotation: it moves the tip as far as its bone's head is away.
    """
    tip = joints[-1]
    size = levers = 0.0
    for i in range(len(joints) - 1):
        size += dist(joints[i], joints[i + 1])
        levers += dist(joints[i], tip)
    return dist(tip, target) <= tolerance * size + rounding * levers


def judged(believed: State, is_on: bool, has_orientation_error: bool = False) -> State:
    """Return the state of a written pose.

    Args:
        believed: What its solver says, and so why it is not on its target if it is not.
        is_on: Whether it is.
        has_orientation_error: Whether limits keep its tip bone from its orientation.
    """
    if is_on:
        return "LIMITED" if has_orientation_error else "REACHED"
    return "OUT_OF_REACH" if believed == "REACHED" else believed
