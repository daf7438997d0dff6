"""What a pose reaches as written to channels, which have single precision.

Nothing here relies on the solver's result: the frames follow from the channels by Blender's rules.
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
"""The largest error, in radians, of a rotation whose quaternion is stored in single precision:
twice the error of its components."""


@final
class Written:
    """The solved channels of bones, as written.

    Attributes:
        rotations: The rotation of each bone.
        scales: The scale of each bone; empty to keep the FK pose's.
        location: The location of the first bone; None to keep the FK pose's.
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
    """Return the rotations of quaternion channels, four numbers each, as Blender reads them."""
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
    """Return the distance of a written chain's tip from its target, and whether it is on target.

    Args:
        chain: The bones and their FK pose.
        written: Their written channels.
        spaces: The armature's frame in world space, and its inverse.
        target: The target, in world space.
        tolerance: The distance still on target, relative to the chain's length.

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
    """Return whether the last joint is within tolerance of its target.

    Args:
        joints: The joints, root first.
        target: The target, in the same space.
        tolerance: The tolerance, relative to the chain's length.
        rounding: The error of each rotation: it moves the tip by its product with the lever arm.
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
        believed: The solver's state, which explains why a pose isn't on target.
        is_on: Whether it is on target.
        has_orientation_error: Whether limits keep its tip bone from its orientation.
    """
    if is_on:
        return "LIMITED" if has_orientation_error else "REACHED"
    return "OUT_OF_REACH" if believed == "REACHED" else believed
