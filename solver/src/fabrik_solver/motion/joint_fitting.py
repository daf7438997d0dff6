"""Fitting bones to joints, and postures from rotations that a motion computed."""

from collections.abc import Sequence
from math import dist

from ..core import (
    Chain,
    ChainInput,
    Goal,
    Placed,
    Posture,
    Solution,
    State,
    chain_frames,
    point_in,
    swing_along,
    weakened,
)
from ..core.vectors import ORIGIN, Quat, Vec, scaled, sub


def fitted_to_joints(
    chain: ChainInput,
    joints: Sequence[Vec],
    target: Vec | None = None,
    influence: float = 1.0,
    tolerance: float = 1e-4,
) -> Posture:
    """Return the posture in which each bone points from its joint to the next one.

    Each bone in turn, root first, swings by the smallest rotation from the orientation that it
    inherits, as in `pose_chain`. The root and the bones' lengths stay, so only the directions from
    joint to joint matter. If the distances match the lengths, the bones end on the joints. Under
    non-uniform scale, lengths change as bones rotate; `swing_along` returns the new lengths.

    Args:
        chain: The bones and their FK pose.
        joints: One more joint than bones, root first, in armature space.
        target: The target of the tip, in armature space; None uses the last joint.
        influence: See `pose_chain`.
        tolerance: Maximum distance from the tip to a reached target, as a fraction of the chain's
            length.

    Returns:
        The posture, with the actual tip of the chain. Its state is ``'REACHED'`` or
        ``'OUT_OF_REACH'``.

    Raises:
        ValueError: If a joint isn't finite.
    """
    numbers, tip, lengths = swing_along(chain, joints)
    if chain.hand is not None and chain.limb is None:
        numbers.extend(chain.hand.fk_rotation)  # The hand isn't in `joints`.
    x, y, z = joints[-1] if target is None else target
    goal = Goal((x, y, z))
    residual = dist(tip, goal.target)
    is_there = residual <= (1.0 + 1e-9) * tolerance * sum(lengths)
    state: State = "REACHED" if is_there else "OUT_OF_REACH"
    along = Chain(tuple(joints))
    root_to_target = sub((x, y, z), joints[0])
    aim = scaled(root_to_target, 1.0 / along.scale) if along.scale > 0.0 else ORIGIN
    solution = Solution(along, along.start, state, is_there, residual, 0, aim)
    posture = Posture(numbers, tip, state, goal, solution)
    return posture if influence == 1.0 else weakened(posture, chain, influence)


def with_rotations(chain: ChainInput, numbers: list[float], influence: float = 1.0) -> Posture:
    """Return the posture with some local rotations and no target.

    Args:
        chain: The bones and their FK pose.
        numbers: The rotations, root first, four numbers per bone.
        influence: See `pose_chain`.

    Raises:
        ValueError: If a number isn't finite.
    """
    rotations = [_quat(numbers, i) for i in range(0, len(numbers), 4)]
    frames = chain_frames(chain, rotations)
    tip = point_in(frames[-1], chain.links[-1].arm)
    joints = [*[head for _, head in frames], tip]
    posture = Posture(numbers, tip, "REACHED", Goal(tip), Placed(chain, joints, 0.0))
    return posture if influence == 1.0 else weakened(posture, chain, influence)


def _quat(numbers: list[float], i: int) -> Quat:
    return (numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3])
