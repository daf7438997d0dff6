"""The bone rotations that bring joints to their solved positions.

Everything is in armature space, where bones keep their lengths even if the armature object is
scaled non-uniformly.
"""

from collections.abc import Sequence

from .chain import Goal, in_space
from .frames import Frame, point_in
from .posture import ChainInput, Posture, chain_frames
from .reach import distance_to
from .stretch import Stretch, reach_stretched
from .tip import Tip, reach_oriented
from .vectors import Quat, Vec, mix, quat_compatible, slerp


def pose_chain(
    chain: ChainInput,
    goal: Goal,
    solver: str = "FABRIK",
    iterations: int = 20,
    tolerance: float = 1e-4,
    influence: float = 1.0,
    tip: Tip | None = None,
    stretch: Stretch | None = None,
    start: Sequence[Quat] = (),
) -> Posture:
    """Pose the bones of a chain so that its tip is on the target.

    Positions are solved first. Then each bone in turn, root first, swings by the smallest rotation
    to its solved direction. It keeps its twist, its location and, without stretch, its scale.

    Under non-uniform scale a bone's length changes as it rotates. The positions are then solved
    again with the new lengths until the tip is on target, with increasing under-relaxation against
    oscillation.

    Args:
        chain: The bones and their FK pose.
        goal: Target and pole in armature space.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: 0 gives the FK pose, 1 the solution. In between, each bone is blended.
        tip: The orientation of the chain's hand in armature space, if any. The preceding bones then
            move its head so that its tip is on the target.
        stretch: How far the bones may stretch to a target beyond reach; None to not stretch.
        start: The local rotations of all bones to start from; empty for the FK pose.

    Raises:
        ValueError: If the solver doesn't fit the chain, or the chain has no hand to orient.
    """
    begun = chain
    if start:
        if tip is not None and 0.0 < tip.weight < 1.0 and chain.hand is not None:
            # Partial weight is always relative to the hand's FK pose.
            start = [*start[:-1], chain.hand.fk_rotation]
        begun = chain.started(start)
    if tip is None:
        posture = reach_stretched(begun, goal, solver, iterations, tolerance, stretch)
    else:
        posture = reach_oriented(begun, goal, solver, iterations, tolerance, tip, stretch)
    if start:
        posture.numbers = _compatible(posture.rotations, chain)
    return posture if influence == 1.0 else weakened(posture, chain, influence)


def _compatible(rotations: Sequence[Quat], chain: ChainInput) -> list[float]:
    """Return quaternions with the signs nearest to those of the FK pose, four numbers per bone."""
    fk_rotations = [*chain.rotations]
    if chain.hand is not None and chain.limb is None:
        fk_rotations.append(chain.hand.fk_rotation)
    numbers: list[float] = []
    for i, rotation in enumerate(rotations):
        numbers.extend(quat_compatible(rotation, fk_rotations[i]))
    return numbers


def pose_in_world(
    chain: ChainInput,
    spaces: tuple[Frame, Frame],
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    influence: float,
    tip: Tip | None = None,
    stretch: Stretch | None = None,
    start: Sequence[Quat] = (),
) -> tuple[Posture, float]:
    """Same as `pose_chain`, with a goal in world space.

    Args:
        chain: The bones and their FK pose.
        spaces: The armature's frame in world space, and its inverse.
        goal: Target and pole in world space.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: See `pose_chain`.
        tip: The orientation in world space; see `pose_chain`.
        stretch: See `pose_chain`.
        start: See `pose_chain`.

    Returns:
        The posture, and the distance from its tip to the target in world space.

    Raises:
        ValueError: If a number isn't finite, or the solver doesn't fit the chain.
    """
    world, to_armature = spaces
    local_goal = seen_from(to_armature, goal)
    local_tip = None if tip is None else tip.seen_from(to_armature[0])
    posture = pose_chain(
        chain, local_goal, solver, iterations, tolerance, influence, local_tip, stretch, start
    )
    return posture, distance_to(point_in(world, posture.tip), goal.target)


def seen_from(to_there: Frame, goal: Goal) -> Goal:
    """Return the goal in another space; the frame transforms points to that space."""
    pole = None if goal.pole is None else point_in(to_there, in_space(goal.pole))
    target = point_in(to_there, in_space(goal.target))
    angle, weight = goal.pole_angle, goal.pole_weight
    return Goal(target, pole, angle, weight, goal.softness, goal.swing, goal.is_hint)


def weakened(posture: Posture, chain: ChainInput, influence: float) -> Posture:
    """Return the pose blended from the FK pose to the solved pose.

    Args:
        posture: The solved chain.
        chain: The bones and their FK pose.
        influence: The blend factor, from 0 for the FK pose to 1.
    """
    inputs = [*chain.rotations]
    sizes = [link.scale for link in chain.links]
    if chain.hand is not None and len(inputs) < len(posture.rotations):
        inputs.append(chain.hand.fk_rotation)
        sizes.append(chain.hand.scale)
    pairs = zip(inputs, posture.rotations, strict=True)
    rotations = [slerp(fk_rotation, solved, influence) for fk_rotation, solved in pairs]
    scales: list[Vec] = []
    for fk_scale, solved_scale in zip(sizes, posture.scales, strict=False):  # May be empty.
        scales.append(mix(fk_scale, solved_scale, influence))
    if scales:
        chain = chain.with_scales(scales)
    tip = point_in(chain_frames(chain, rotations)[-1], chain.links[-1].arm)
    numbers = [number for rotation in rotations for number in rotation]
    return Posture(
        numbers,
        tip,
        posture.state,
        posture.goal,
        posture.solution,
        tuple(scales),
        posture.orientation_error,
    )
