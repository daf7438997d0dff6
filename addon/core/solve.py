"""The one loop that drives all solvers."""

from collections.abc import Callable, Sequence
from math import fsum, inf

from .bend import chain_axis, facing_pole, started, with_lengths
from .ccd import ccd
from .chain import Chain, Goal, Point, Solution, State, reach
from .edge import closed, completed
from .fabrik import backward, fabrik
from .landing import EXACT, landed
from .two_bone import two_bone
from .vectors import ORIGIN, Vec, add, length, scaled, sub, unit

Step = Callable[[list[Vec], list[float], Vec], list[Vec]]

SOLVERS: dict[str, Step] = {
    "FABRIK": fabrik,
    "TWO_BONE": two_bone,
    "CCD": ccd,
    "TEXTBOOK": fabrik,
}
"""Takes the joints, the lengths and the target to joints whose tip is nearer to the target.

``FABRIK`` is swept a few times and then lands (see `landed`); ``TEXTBOOK`` is swept until it
arrives, as it was published.
"""

SHAPING, SHORT_SHAPING = 2, 3
"""The sweeps that find the shape of a chain, and of one of fewer than `SHORT` bones.

The larger they are, the more nearly the landed chain moves as one swept until it arrives.
"""

SHORT = 6
"""From this number of bones on, a third sweep costs more than it smooths."""

STRAIGHT_ENOUGH = 1e-15
"""How near to its full reach a chain of length 1 is taken as straight."""


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
        iterations: The most sweeps, and steps of landing.
        tolerance: The distance of tip to target at which it stops, as a share of the chain's
            length. ``FABRIK`` and ``TWO_BONE`` do not stop before they are exact.

    Returns:
        A pose whose root is where it was and whose bones have the chain's lengths. A target
        outside the reachable shell gets the nearest pose: straight, or folded along the longest
        bone.

    Raises:
        ValueError: If the solver is unknown or cannot solve a chain of so many bones, or the goal
            has not the dimension of the chain.
    """
    _refuse_misfits(chain, goal, solver)
    sizes = chain.bone_lengths()
    scale = fsum(sizes)
    if scale == 0.0:
        return _shrunk(chain, goal)

    # From here on the root is the origin and the chain is 1 long: tolerances mean the same at
    # every size, and nothing is lost far from the world's origin.
    root = _in_space(chain.joints[0])
    joints = _measured(chain.joints, root, scale)
    lengths = [size / scale for size in sizes]
    if chain.lengths is not None:
        joints = with_lengths(joints, lengths)
    (target,) = _measured((goal.target,), root, scale)
    pole = None if goal.pole is None else _measured((goal.pole,), root, scale)[0]

    distance = length(target)
    inner, outer = reach(lengths)
    sweeps = 0
    if distance >= outer - STRAIGHT_ENOUGH:
        solved = _stretched(lengths, unit(target) or chain_axis(joints))
    elif distance <= inner > 0.0:
        solved = _folded(lengths, unit(target) or chain_axis(joints))
    else:
        bends = (None if chain.bend is None else _in_space(chain.bend), pole)
        if solver == "FABRIK":
            solved = started(joints, lengths, target, bends, tolerance)
            near_enough = min(tolerance, EXACT)
            solved, sweeps = _landed(solved, lengths, target, inner, iterations, near_enough)
        else:
            # A closed form costs the same wherever the tip is, so it always lands.
            most, near_enough = (1, 1e-12) if solver == "TWO_BONE" else (iterations, tolerance)
            solved = started(joints, lengths, target, bends, near_enough)
            solved, sweeps = _swept(solved, lengths, target, SOLVERS[solver], most, near_enough)
            solved = completed(solved, lengths, target, (inner, outer), tolerance)
        if pole is not None:
            # About root → target, so that the tip keeps its distance to the target.
            axis = unit(target) or chain_axis(joints)
            solved = facing_pole(solved, axis, pole, goal.pole_angle)

    residual = length(sub(solved[-1], target))
    return Solution(
        joints=_in_chain_space(solved, chain.joints[0], scale),
        state="REACHED" if residual <= tolerance else "OUT_OF_REACH",
        in_reach=inner <= distance <= outer,
        residual=residual * scale,
        sweeps=sweeps,
    )


def _landed(
    joints: list[Vec],
    lengths: list[float],
    target: Vec,
    inner: float,
    iterations: int,
    near_enough: float,
) -> tuple[list[Vec], int]:
    """Sweep to find the shape, then land; return the joints, and the sweeps and steps taken.

    The number of sweeps is always the same, so that it makes no jump where it would change.
    """
    sweeps = min(SHORT_SHAPING if len(lengths) < SHORT else SHAPING, iterations)
    if sweeps <= 0 or length(sub(joints[-1], target)) <= near_enough:
        return joints, 0
    for _ in range(sweeps - 1):
        joints = fabrik(joints, lengths, target)
    if inner > 0.0 or len(lengths) == 2:
        # A chain that folds to its shortest is as near to it as it gets, in halves, by landing.
        joints = fabrik(joints, lengths, target)
        joints = completed(joints, lengths, target, (inner, inf), near_enough)
    else:
        # The forward pass of the last sweep is the first of the landing.
        joints = backward(joints, lengths, target)
    joints, steps = landed(joints, lengths, target, near_enough, iterations - sweeps)
    # It has landed, but for targets where chains can hardly fold any further.
    return closed(joints, lengths, target, near_enough), sweeps + steps


def _swept(
    joints: list[Vec],
    lengths: list[float],
    target: Vec,
    step: Step,
    most: int,
    near_enough: float,
) -> tuple[list[Vec], int]:
    """Sweep until the tip is near enough; return the joints, and the sweeps taken."""
    sweeps = 0
    while sweeps < most and length(sub(joints[-1], target)) > near_enough:
        joints = step(joints, lengths, target)
        sweeps += 1
    return joints, sweeps


def _refuse_misfits(chain: Chain, goal: Goal, solver: str) -> None:
    if solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}, choose one of {', '.join(SOLVERS)}")
    if solver == "TWO_BONE" and len(chain.joints) != 3:
        raise ValueError("TWO_BONE solves chains of two bones: choose FABRIK or CCD")
    dimension = len(chain.joints[0])
    if len(goal.target) != dimension or (goal.pole is not None and len(goal.pole) != dimension):
        raise ValueError(f"target and pole need {dimension} coordinates, as the chain's joints")
    if dimension == 2 and goal.pole_angle:
        raise ValueError("a chain in two dimensions cannot swivel: pole_angle must be 0")


def _shrunk(chain: Chain, goal: Goal) -> Solution:
    """Return the answer of a chain without length, whose joints are all at its root."""
    root = chain.joints[0]
    residual = length(sub(_in_space(goal.target), _in_space(root)))
    state: State = "REACHED" if residual == 0.0 else "OUT_OF_REACH"
    return Solution((root,) * len(chain.joints), state, residual == 0.0, residual, 0)


def _in_space(point: Point) -> Vec:
    return (point[0], point[1], point[2] if len(point) == 3 else 0.0)


def _measured(points: Sequence[Point], root: Vec, scale: float) -> list[Vec]:
    """Return the points as seen from the root, with the chain's length for unit."""
    a, b, c = root
    if len(points[0]) == 2:
        return [((p[0] - a) / scale, (p[1] - b) / scale, 0.0) for p in points]
    return [((p[0] - a) / scale, (p[1] - b) / scale, (p[2] - c) / scale) for p in points]


def _in_chain_space(joints: Sequence[Vec], root: Point, scale: float) -> tuple[Point, ...]:
    """Undo `_measured`."""
    if len(root) == 2:
        a, b = root
        return tuple([(a + x * scale, b + y * scale) for x, y, _ in joints])
    a, b, c = root
    return tuple([(a + x * scale, b + y * scale, c + z * scale) for x, y, z in joints])


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
