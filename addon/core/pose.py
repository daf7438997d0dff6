"""The rotations of bones that bring their joints to solved positions.

Everything is in armature space: only there do the bones of a chain keep their lengths when the
armature object is scaled unevenly.
"""

from collections.abc import Sequence

from .chain import Goal, in_space
from .frames import Frame, point_in
from .posture import ChainInput, Posture, chain_frames
from .reach import distance_to
from .stretch import Stretch, reach_stretched
from .tip import Tip, reach_oriented
from .vectors import Quat, Vec, mix, quat_compatible, quat_mix


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
    """Turn the bones of a chain so that its tip is on the target.

    Positions are solved first; then, from the root on, each bone swings by the least turn from
    the direction that its parent carries it to, to the solved one. It keeps its twist, and its
    location; its scale as well, unless the chain has to stretch.

    A bone under uneven scale changes its length when it turns. The positions are then solved
    again with the lengths that the bones turned out to have, until the tip is in place. Lengths
    that swing to and fro are caught by taking an ever smaller share of their change.

    Args:
        chain: The bones and their FK pose.
        goal: Target and pole in armature space.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: 0 gives the FK pose, 1 the solution, between them each bone turns part of the
            way.
        tip: The orientation of the chain's hand in armature space, if it is to take one. The
            bones before it then reach with its head, to where its tip is on the target.
        stretch: How far the bones may grow where the target is beyond reach; they do not if None.
        start: The local rotations of all bones from which they go the least way; the FK pose if
            there are none.

    Raises:
        ValueError: If the solver does not fit the chain, or there is no hand to orient.
    """
    begun = chain
    if start:
        if tip is not None and 0.0 < tip.weight < 1.0 and chain.hand is not None:
            start = [*start[:-1], chain.hand.given]  # A part of its turn is always of the whole.
        begun = chain.started(start)
    if tip is None:
        posture = reach_stretched(begun, goal, solver, iterations, tolerance, stretch)
    else:
        posture = reach_oriented(begun, goal, solver, iterations, tolerance, tip, stretch)
    if start:
        posture.numbers = _beside(posture.rotations, chain)
    return posture if influence == 1.0 else weakened(posture, chain, influence)


def _beside(rotations: Sequence[Quat], chain: ChainInput) -> list[float]:
    """Return rotations on the side of the FK pose, four numbers a bone."""
    given = [*chain.rotations]
    if chain.hand is not None and chain.limb is None:
        given.append(chain.hand.given)
    numbers: list[float] = []
    for i, rotation in enumerate(rotations):
        numbers.extend(quat_compatible(rotation, given[i]))
    return numbers


def pose_in_world(
    chain: ChainInput,
    place: tuple[Frame, Frame],
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    influence: float,
    tip: Tip | None = None,
    stretch: Stretch | None = None,
    start: Sequence[Quat] = (),
) -> tuple[Posture, float]:
    """Do as `pose_chain`, with a goal in world space.

    Args:
        chain: The bones and their FK pose.
        place: The armature's frame in world space, and its inverse.
        goal: Target and pole in world space.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: See `pose_chain`.
        tip: The orientation in world space; see `pose_chain`.
        stretch: See `pose_chain`.
        start: See `pose_chain`.

    Returns:
        How the chain stands, and the distance from its tip to the target in world space.

    Raises:
        ValueError: If a number is not finite, or the solver does not fit the chain.
    """
    world, to_armature = place
    goal_there = seen_from(to_armature, goal)
    tip_there = None if tip is None else tip.seen_from(to_armature[0])
    posture = pose_chain(
        chain, goal_there, solver, iterations, tolerance, influence, tip_there, stretch, start
    )
    return posture, distance_to(point_in(world, posture.tip), goal.target)


def seen_from(to_there: Frame, goal: Goal) -> Goal:
    """Return the goal in another space, given what takes points there."""
    pole = None if goal.pole is None else point_in(to_there, in_space(goal.pole))
    target = point_in(to_there, in_space(goal.target))
    return Goal(target, pole, goal.pole_angle, goal.pole_weight, goal.softness, goal.swing)


def weakened(posture: Posture, chain: ChainInput, influence: float) -> Posture:
    """Return the pose that is part of the way from the FK pose to the solved one.

    Args:
        posture: The solved chain.
        chain: The bones and their FK pose.
        influence: How much of the way.
    """
    inputs = [*chain.rotations]
    sizes = [link.scale for link in chain.links]
    if chain.hand is not None and len(inputs) < len(posture.rotations):
        inputs.append(chain.hand.given)
        sizes.append(chain.hand.scale)
    pairs = zip(inputs, posture.rotations, strict=True)
    rotations = [quat_mix(given, solved, influence) for given, solved in pairs]
    scales: list[Vec] = []
    for given_scale, solved_scale in zip(sizes, posture.scales, strict=False):  # There may be none.
        scales.append(mix(given_scale, solved_scale, influence))
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
