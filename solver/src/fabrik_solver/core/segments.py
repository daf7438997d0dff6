"""Chains with joints that can't bend, for instance where a bone is split to twist.

The bones between two bending joints form a rigid segment. An arm with upper arm, forearm and twist
bone is solved as a limb of two bones. Otherwise it would be an arc that limits correct later.
"""

from collections.abc import Sequence
from math import cos, radians
from typing import Final

from .chain import Chain, Goal, Solution
from .joint import Joint
from .limits import Hinge, Limit
from .methods import exact_for
from .solve import solve
from .vectors import Vec, add, dot, quat_between, rotate, scaled, sub, unit

ALONG: Final = cos(radians(3.0))
"""The cosine of the angle between hinge and bone up to which the hinge only twists the bone."""


def rigid_joints(limits: Sequence[Limit | None], arms: Sequence[Vec]) -> list[int]:
    """Return the inner joints of a chain that can't bend.

    Args:
        limits: The limit of each bone; empty without limits.
        arms: The vector from each bone's joint to the next, in the bone's axes.
    """
    return [i for i in range(1, len(limits)) if is_rigid(limits[i], arms[i])]


def is_rigid(limit: Limit | None, arm: Vec) -> bool:
    """Return whether a joint can't bend.

    Args:
        limit: The limit of its bone.
        arm: The vector from the joint to the next one, in the bone's axes.
    """
    if not isinstance(limit, Hinge):
        return False
    along = unit(arm)
    is_twist = along is not None and abs(dot(along, limit.axis)) > ALONG
    return is_twist or limit.turn == (0.0, 0.0)


def solve_segments(
    chain: Chain,
    rigid: Sequence[int],
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
) -> Solution:
    """Solve a chain in which some joints can't bend.

    Args:
        chain: The chain.
        rigid: The indices of the joints that can't bend (see `rigid_joints`).
        goal: See `solve`.
        solver: The chain's solver; two segments are solved in closed form.
        iterations: The iteration limit.
        tolerance: The residual at which to stop, relative to the chain's length.

    Raises:
        ValueError: See `solve`.
    """
    count = len(chain.joints)
    bending = [i for i in range(count) if i not in rigid]
    if len(bending) == count or chain.scale == 0.0 or len(chain.joints[0]) == 2:
        return solve(chain, goal, solver, iterations, tolerance)
    joints = tuple([chain.joints[i] for i in bending])
    folds = tuple([chain.folds[i - 1] for i in bending[1:-1]]) if chain.folds else ()
    whole = Chain(joints, chain.bend, _lengths(chain, bending), chain.is_sure, folds)
    if whole.scale == 0.0:
        return solve(chain, goal, solver, iterations, tolerance)
    name = exact_for(solver, len(bending) - 1)
    solution = solve(whole, goal, name, iterations, tolerance)
    ratio = whole.scale / chain.scale
    moved = [chain.start[0]]
    for number in range(1, len(bending)):
        first, last = bending[number - 1], bending[number]
        start = scaled(solution.moved[number - 1].at(), ratio)
        end = scaled(solution.moved[number].at(), ratio)
        posed = chain.start[first].at()
        segment = rotate(solution.turn, sub(chain.start[last].at(), posed))
        swing = quat_between(
            unit(segment) or whole.axis, unit(sub(end, start)) or whole.axis, solution.normal
        )
        for i in range(first + 1, last):
            offset = rotate(swing, rotate(solution.turn, sub(chain.start[i].at(), posed)))
            moved.append(Joint(*add(start, offset), chain.start[i].size))
        moved.append(Joint(*end, chain.start[last].size))
    return Solution(
        chain,
        moved,
        solution.state,
        solution.in_reach,
        solution.residual,
        solution.iterations_used,
        scaled(solution.aim, ratio),
        solution.turn,
        solution.normal,
    )


def _lengths(chain: Chain, joints: Sequence[int]) -> tuple[float, ...] | None:
    """Return the segment lengths, or None if they are the joints' distances."""
    if chain.lengths is None:
        return None
    return tuple([sum([*chain.lengths[joints[i - 1] : joints[i]]]) for i in range(1, len(joints))])
