"""The one loop that drives all solvers."""

from collections.abc import Callable
from math import exp, inf
from typing import Final

from .bend import (
    NEARLY_STRAIGHT,
    STRAIGHT,
    bend_of,
    bow,
    eased,
    mean_swivel,
    swing_turn,
    swivel_to,
    swivel_turn,
    turn_joints,
)
from .ccd import ccd
from .chain import Chain, Goal, Solution, State, in_space, measured
from .edge import close, complete, longest_of
from .fabrik import backward, fabrik
from .joint import Joint, copied
from .landing import EXACT, land
from .two_bone import two_bone
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Vec,
    cross,
    length,
    quat_product,
    rotate,
    scaled,
    sub,
    unit,
)

Step = Callable[[list[Joint], Vec], None]

SOLVERS: Final[dict[str, Step]] = {
    "FABRIK": fabrik,
    "TWO_BONE": two_bone,
    "CCD": ccd,
    "TEXTBOOK": fabrik,
}
"""Moves the joints so that their tip is nearer to the target.

``FABRIK`` is swept a few times and then lands (see `land`); so is ``CCD``, half of its iterations;
``TEXTBOOK`` is FABRIK swept until it arrives, as it was published.
"""

SHAPING: Final = 2
SHORT_SHAPING: Final = 3
"""The sweeps that find the shape of a chain, and of one of fewer than `SHORT` bones.

The larger they are, the more nearly the landed chain moves as one swept until it arrives.
"""

SHORT: Final = 6
"""From this number of bones on, a third sweep costs more than it smooths."""

KEPT: Final = 3e-3
"""How far the target has to leave the tip for a chain that is slightly bent backward to bend the
other way: at its tip it is met as it stands."""

STRAIGHT_ENOUGH: Final = 1e-15
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
    root, scale = chain.root, chain.scale
    if scale == 0.0:
        return _shrunk(chain, goal)

    # From here on the root is the origin and the chain is 1 long: tolerances mean the same at
    # every size, and nothing is lost far from the world's origin.
    joints = copied(chain.start)
    goal_place = measured(goal.target, root, scale)
    distance = length(goal_place)
    inner, outer = chain.inner, chain.outer
    in_reach = inner <= distance <= outer
    target = _softened(goal_place, outer, goal.softness)
    distance = length(target)
    # A single bone has no bend that could face anything.
    pole = None if goal.pole is None or len(joints) < 3 else measured(goal.pole, root, scale)
    share = 1.0 if pole is not None or solver == "TWO_BONE" else goal.swing
    bend, side, keep = chain.bending(pole)
    axis, turn = chain.axis, QUAT_IDENTITY
    if share > 0.0:
        turn = swing_turn(axis, bend, target, share)
        turn_joints(joints, turn)
        axis, bend = rotate(turn, axis), rotate(turn, bend)
    swivel = (1.0, 0.0)
    if pole is not None:
        swivel = swivel_to(pole, bend, axis, goal.pole_angle, goal.pole_weight)
    sweeps = 0
    if distance >= outer - STRAIGHT_ENOUGH:
        _stretch(joints, unit(target) or axis)
    elif distance <= inner > 0.0:
        _fold(joints, unit(target) or axis)
    else:
        # A closed form costs the same wherever the tip is, so it always lands.
        near_enough = 1e-12 if solver == "TWO_BONE" else tolerance
        if keep < 1.0:
            moved = length(sub(target, joints[-1].at()))
            # How far it bends by itself goes with the root of how far its tip is from full reach.
            kept = near_enough + KEPT * min(1.0, chain.aside / STRAIGHT) ** 2
            left = (moved / kept) ** 2
            bow(joints, axis, max(keep, 1.0 - left), target, rotate(turn, side))
        sweeps = _reach(joints, target, chain, solver, iterations, near_enough, tolerance)
        if pole is not None and len(joints) > 3:
            # Out of a plane it may face another way than in the input pose, or have turned over.
            # Nearly straight it turns as that does, as it has no bend once it is straight.
            now, spread = bend_of(joints, axis)
            own = swivel_to(pole, now, axis, goal.pole_angle, goal.pole_weight)
            swivel = mean_swivel(swivel, own, eased(spread / NEARLY_STRAIGHT))
    normal = cross(axis, bend)
    if pole is not None:
        # About root → target, so that the tip keeps its distance to the target.
        last = swivel_turn(axis, swivel)
        turn_joints(joints, last)
        turn, normal = quat_product(last, turn), rotate(last, normal)

    residual = length(sub(joints[-1].at(), goal_place))
    state: State = "REACHED" if residual <= tolerance else "OUT_OF_REACH"
    return Solution(chain, joints, state, in_reach, residual * scale, sweeps, target, turn, normal)


def _reach(
    joints: list[Joint],
    target: Vec,
    chain: Chain,
    solver: str,
    iterations: int,
    near_enough: float,
    tolerance: float,
) -> int:
    """Bend a chain until its tip is on a target in reach; return the sweeps and steps taken."""
    exact = min(tolerance, EXACT)
    if solver == "FABRIK":
        return _land(joints, target, chain.inner, iterations, exact)
    kept = iterations // 2 if solver == "CCD" else 0
    most = 1 if solver == "TWO_BONE" else iterations - kept
    sweeps = _sweep(joints, target, SOLVERS[solver], most, near_enough)
    complete(joints, target, chain.inner, chain.outer, tolerance)
    if kept > 0:
        sweeps += land(joints, target, exact, kept)
        close(joints, target, exact)
    return sweeps


def _softened(target: Vec, outer: float, softness: float) -> Vec:
    """Return the target, or a place before it that comes to full reach only at infinity.

    A chain straightens at full reach like a square root, so that its elbow comes in with a speed
    without bound. Within the soft share the distance goes on as 1 − e^−x does, which begins with
    the same slope: what riggers know as soft IK.
    """
    distance = length(target)
    start = outer * (1.0 - softness)
    if distance <= start or softness == 0.0:
        return target
    soft = outer * softness
    return scaled(target, (start + soft * (1.0 - exp((start - distance) / soft))) / distance)


def _land(
    joints: list[Joint], target: Vec, inner: float, iterations: int, near_enough: float
) -> int:
    """Sweep to find the shape, then land; return the sweeps and steps taken.

    The number of sweeps is always the same, so that it makes no jump where it would change.
    """
    bones = len(joints) - 1
    sweeps = min(SHORT_SHAPING if bones < SHORT else SHAPING, iterations)
    if sweeps <= 0 or length(sub(joints[-1].at(), target)) <= near_enough:
        return 0
    for _ in range(sweeps - 1):
        fabrik(joints, target)
    if inner > 0.0 or bones == 2:
        # A chain that folds to its shortest is as near to it as it gets, in halves, by landing.
        fabrik(joints, target)
        complete(joints, target, inner, inf, near_enough)
    else:
        # The forward pass of the last sweep is the first of the landing.
        backward(joints, target)
    steps = land(joints, target, near_enough, iterations - sweeps)
    # It has landed, but for targets where chains can hardly fold any further.
    close(joints, target, near_enough)
    return sweeps + steps


def _sweep(joints: list[Joint], target: Vec, step: Step, most: int, near_enough: float) -> int:
    """Sweep until the tip is near enough; return the sweeps taken."""
    sweeps = 0
    while sweeps < most and length(sub(joints[-1].at(), target)) > near_enough:
        step(joints, target)
        sweeps += 1
    return sweeps


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
    residual = length(sub(in_space(goal.target), chain.root))
    state: State = "REACHED" if residual == 0.0 else "OUT_OF_REACH"
    joints = [Joint(0.0, 0.0, 0.0, 0.0) for _ in chain.joints]
    return Solution(chain, joints, state, residual == 0.0, residual, 0, ORIGIN)


def _stretch(joints: list[Joint], direction: Vec) -> None:
    """Put all bones along the direction, and those whose length has a minus sign against it."""
    dx, dy, dz = direction
    x = y = z = size = 0.0
    for joint in joints:
        x += dx * size
        y += dy * size
        z += dz * size
        joint.move((x, y, z))
        size = joint.size


def _fold(joints: list[Joint], direction: Vec) -> None:
    """Put the longest bone along the direction and all others against it."""
    longest = longest_of(joints)
    for i in range(len(joints)):
        if i != longest:
            joints[i].size = -joints[i].size
    _stretch(joints, direction)
