"""The one loop that drives all solvers."""

from collections.abc import Callable, Sequence

from .bend import chain_axis, facing_pole, started, with_lengths
from .ccd import ccd
from .chain import Chain, Goal, Point, Solution, reach
from .edge import completed
from .fabrik import fabrik
from .two_bone import two_bone
from .vectors import ORIGIN, Vec, add, length, scaled, sub, unit

Step = Callable[[Sequence[Vec], Sequence[float], Vec], list[Vec]]

SOLVERS: dict[str, Step] = {"FABRIK": fabrik, "TWO_BONE": two_bone, "CCD": ccd}
"""Takes the joints, the lengths and the target to joints whose tip is nearer to the target."""


def solve(
    chain: Chain,
    goal: Goal,
    solver: str = "FABRIK",
    iterations: int = 20,
    tolerance: float = 1e-4,
) -> Solution:
    """Move the joints of a chain so that its tip is on the target.

    Args:
        chain: The input pose, in 2 or 3 dimensions.
        goal: Target and pole, in the chain's space.
        solver: One of `SOLVERS`.
        iterations: The most sweeps.
        tolerance: The distance of tip to target at which it stops, as a share of the chain's
            length.

    Returns:
        A pose whose root is where it was and whose bones have the chain's lengths. A target
        outside the reachable shell gets the nearest pose: straight, or folded along the longest
        bone.

    Raises:
        ValueError: If the solver is unknown or cannot solve a chain of so many bones, or the goal
            has not the dimension of the chain.
    """
    _refuse_misfits(chain, goal, solver)
    root = _in_space(chain.joints[0])
    sizes = chain.bone_lengths()
    scale = sum(sizes)
    if scale == 0.0:
        residual = length(sub(_in_space(goal.target), root))
        state = "REACHED" if residual == 0.0 else "OUT_OF_REACH"
        at_root = (chain.joints[0],) * len(chain.joints)
        return Solution(at_root, state, residual == 0.0, residual, 0)

    # From here on the root is the origin and the chain is 1 long: tolerances mean the same at
    # every size, and nothing is lost far from the world's origin.
    def measured(point: Point) -> Vec:
        x, y, z = sub(_in_space(point), root)
        return (x / scale, y / scale, z / scale)

    joints = [measured(joint) for joint in chain.joints]
    lengths = [size / scale for size in sizes]
    if chain.lengths is not None:
        joints = with_lengths(joints, lengths)
    target = measured(goal.target)
    pole = None if goal.pole is None else measured(goal.pole)

    distance = length(target)
    axis = unit(target) or chain_axis(joints)
    inner, outer = reach(tuple(lengths))
    in_reach = inner <= distance <= outer
    sweeps = 0
    if distance >= outer or distance <= inner > 0.0:
        solved = _stretched(lengths, axis) if distance >= outer else _folded(lengths, axis)
    else:
        bend = None if chain.bend is None else _in_space(chain.bend)
        # A closed form costs the same wherever the tip is, so it always lands.
        most, near_enough = (1, 1e-12) if solver == "TWO_BONE" else (iterations, tolerance)
        solved = started(joints, lengths, target, (bend, pole), near_enough)
        step = SOLVERS[solver]
        while sweeps < most and length(sub(solved[-1], target)) > near_enough:
            solved = step(solved, lengths, target)
            sweeps += 1
        solved = completed(solved, lengths, target, (inner, outer), tolerance)
        if pole is not None:
            # About root → target, so that the tip keeps its distance to the target.
            solved = facing_pole(solved, axis, pole, goal.pole_angle)

    residual = length(sub(solved[-1], target))
    return Solution(
        joints=tuple([add(root, scaled(joint, scale))[: len(chain.joints[0])] for joint in solved]),
        state="REACHED" if residual <= tolerance else "OUT_OF_REACH",
        in_reach=in_reach,
        residual=residual * scale,
        sweeps=sweeps,
    )


def _refuse_misfits(chain: Chain, goal: Goal, solver: str) -> None:
    if solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}, choose one of {', '.join(SOLVERS)}")
    if solver == "TWO_BONE" and len(chain.joints) != 3:
        raise ValueError("TWO_BONE solves chains of two bones: choose FABRIK or CCD")
    dimension = len(chain.joints[0])
    points = (goal.target,) if goal.pole is None else (goal.target, goal.pole)
    if any(len(point) != dimension for point in points):
        raise ValueError(f"target and pole need {dimension} coordinates, as the chain's joints")
    if dimension == 2 and goal.pole_angle:
        raise ValueError("a chain in two dimensions cannot swivel: pole_angle must be 0")


def _in_space(point: Point) -> Vec:
    return (point[0], point[1], point[2] if len(point) == 3 else 0.0)


def _stretched(lengths: Sequence[float], direction: Vec) -> list[Vec]:
    joints = [ORIGIN]
    for size in lengths:
        joints.append(add(joints[-1], scaled(direction, size)))
    return joints


def _folded(lengths: Sequence[float], direction: Vec) -> list[Vec]:
    """Return the longest bone pointing along the direction and all others back."""
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    signed = [size if i == longest else -size for i, size in enumerate(lengths)]
    return _stretched(signed, direction)
