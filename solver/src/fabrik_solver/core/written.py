"""The accuracy of a pose that is written to channels, in single precision.

Nothing here relies on the solver's result, because the frames follow from the channels by Blender's
rules.
"""

from collections.abc import Sequence
from typing import Final, final

from .bones import Local, bone_frame, head_in_parent
from .chain import State
from .frames import Frame, point_in
from .posture import ChainInput
from .vectors import Quat, Vec, add, length, mat_apply, quat_unit, rotate, sub, times

ROUNDED: Final = 2.0**-22
"""Maximum error, in radians, of a rotation whose quaternion is stored in single precision: twice
the error of its components."""


@final
class Written:
    """The solved channels of bones, as written.

    Attributes:
        numbers: The rotations of the bones as quaternions of any length, four numbers per bone.
        scales: The scale of each bone; empty to keep the FK pose's.
        location: The location of the first bone; None to keep the FK pose's.
        rounding: The largest rounding error of a rotation, in radians.
    """

    def __init__(
        self,
        numbers: list[float],
        scales: Sequence[Vec] = (),
        location: Vec | None = None,
        rounding: float = ROUNDED,
    ) -> None:
        self.numbers = numbers
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
    """Return the distance of a written chain's tip from its target, and whether it reaches it.

    Args:
        chain: The bones and their FK pose.
        written: Their written channels.
        spaces: The armature's frame in world space, and its inverse.
        target: The target, in world space.
        tolerance: Maximum distance of a tip on target, relative to the chain's length.

    Returns:
        The distance in world space, and whether it is within the tolerance in armature space, in
        which bones keep their lengths.
    """
    root = chain.root
    if written.location is not None:
        local = Local(written.location)
        root = point_in(chain.parent, head_in_parent(chain.links[0].bone, local))
    tip, goal = written_tip(chain, written, root), point_in(spaces[1], target)
    # A chain is at least as long as the distance from root to tip, which usually decides.
    is_on = length(sub(tip, goal)) <= tolerance * length(sub(tip, root))
    if not is_on:
        is_on = is_on_target(written_joints(chain, written), goal, tolerance, written.rounding)
    return length(sub(point_in(spaces[0], tip), target)), is_on


def written_tip(chain: ChainInput, written: Written, root: Vec) -> Vec:
    """Return the tip of a written chain, in armature space.

    From the tip on, each bone transforms a single point to the space of its parent, without any
    axes. Bones that aren't plain are an exception, because their inheritance depends on the bones
    before them.

    Args:
        chain: The bones and their FK pose.
        written: Their written channels.
        root: The written head of the first bone, in armature space.
    """
    links, n = chain.links, written.numbers
    tip = links[-1].arm
    for i in range(len(links) - 1, -1, -1):
        link, k = links[i], 4 * i
        if not link.is_plain:
            return written_joints(chain, written)[-1]
        turn = quat_unit((n[k], n[k + 1], n[k + 2], n[k + 3]))
        scale = written.scales[i] if written.scales else link.scale
        tip = mat_apply(link.bone.rest, rotate(turn, times(tip, scale)))
        if i > 0:
            tip = add(head_in_parent(link.bone, chain.channels[i]), tip)
    return add(root, mat_apply(chain.parent[0], tip))


def written_joints(chain: ChainInput, written: Written) -> list[Vec]:
    """Return the heads of a written chain's bones and its tip, in armature space."""
    frame = chain.parent
    joints: list[Vec] = []
    rotations = unit_rotations(written.numbers)
    for i, link in enumerate(chain.links):
        local = chain.channels[i]
        location = written.location if i == 0 else None
        scale = written.scales[i] if written.scales else local.scale
        posed = Local(local.location if location is None else location, rotations[i], scale)
        frame = bone_frame(link.bone, posed, frame)
        joints.append(frame[1])
    joints.append(point_in(frame, chain.links[-1].arm))
    return joints


def is_on_target(joints: Sequence[Vec], target: Vec, tolerance: float, rounding: float) -> bool:
    """Return whether the last joint is within tolerance of its target.

    Args:
        joints: The joints, root first.
        target: The target, in the same space.
        tolerance: The tolerance, relative to the chain's length.
        rounding: The error of each rotation, which moves the tip by its product with the lever arm.
    """
    tip = joints[-1]
    size = levers = 0.0
    for i in range(len(joints) - 1):
        size += length(sub(joints[i + 1], joints[i]))
        levers += length(sub(tip, joints[i]))
    return length(sub(tip, target)) <= tolerance * size + rounding * levers


def judged(believed: State, is_on: bool, has_orientation_error: bool = False) -> State:
    """Return the state of a written pose.

    Args:
        believed: The solver's state, which explains why a pose isn't on target.
        is_on: Whether it is on target.
        has_orientation_error: Whether limits keep its tip bone from the goal orientation.
    """
    if is_on:
        return "LIMITED" if has_orientation_error else "REACHED"
    return "OUT_OF_REACH" if believed == "REACHED" else believed
