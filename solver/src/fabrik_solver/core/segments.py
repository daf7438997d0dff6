"""Chains in which some joints cannot bend, as where a bone is split in order to twist.

The bones between two joints that bend are one rigid segment: an arm of upper arm, forearm and twist
bone is solved as the limb of two bones that it is, and not as an arc that limits break afterwards.
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
"""The cosine of the angle up to which a hinge is along its bone, so that it only twists it."""


def rigid_joints(limits: Sequence[Limit | None], arms: Sequence[Vec]) -> list[int]:
    """Return the inner joints of a chain that cannot bend.

    Args:
        limits: The limit of each bone; empty for none.
        arms: The way from each bone's joint to the next one, in the bone's axes.
    """
    return [i for i in range(1, len(limits)) if is_rigid(limits[i], arms[i])]


def is_rigid(limit: Limit | None, arm: Vec) -> bool:
    """Return whether a joint cannot bend.

    Args:
        limit: The limit of its bone.
        arm: The way from it to the next joint, in the bone's axes.
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
    """Solve a chain some of whose joints cannot bend.

    Args:
        chain: The chain.
        rigid: Those joints (see `rigid_joints`).
        goal: As in `solve`, as are the others.
        solver: That of the chain; segments of two are solved in closed form.
        iterations: The most iterations.
        tolerance: The residual, as a share of the chain's length.

    Raises:
        ValueError: As `solve`.
    """
    count = len(chain.joints)
    kept = [i for i in range(count) if i not in rigid]
    if len(kept) == count or chain.scale == 0.0 or len(chain.joints[0]) == 2:
        return solve(chain, goal, solver, iterations, tolerance)
    joints = tuple([chain.joints[i] for i in kept])
    folds = tuple([chain.folds[i - 1] for i in kept[1:-1]]) if chain.folds else ()
    whole = Chain(joints, chain.bend, _lengths(chain, kept), chain.is_sure, folds)
    if whole.scale == 0.0:
        return solve(chain, goal, solver, iterations, tolerance)
    name = exact_for(solver, len(kept) - 1)
    solution = solve(whole, goal, name, iterations, tolerance)
    ratio = whole.scale / chain.scale
    moved = [chain.start[0]]
    for number in range(1, len(kept)):
        first, last = kept[number - 1], kept[number]
        start = scaled(solution.moved[number - 1].at(), ratio)
        end = scaled(solution.moved[number].at(), ratio)
        posed = chain.start[first].at()
        way = rotate(solution.turn, sub(chain.start[last].at(), posed))
        swing = quat_between(
            unit(way) or whole.axis, unit(sub(end, start)) or whole.axis, solution.normal
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


def _lengths(chain: Chain, kept: Sequence[int]) -> tuple[float, ...] | None:
    """Return the lengths of the segments, None if they are the distances of the joints."""
    if chain.lengths is None:
        return None
    return tuple([sum([*chain.lengths[kept[i - 1] : kept[i]]]) for i in range(1, len(kept))])
