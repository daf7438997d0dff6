"""The loop that drives all solvers."""

from collections.abc import Sequence
from math import atan2, exp, sqrt
from typing import Final

from .arc import chord_of, half_turn
from .bend import (
    CLEAR,
    LIMB,
    NEARLY_STRAIGHT,
    Swivel,
    bow,
    curl,
    eased,
    forward_turn,
    mean_swivel,
    newness,
    rounded_to_plane,
    side_of,
    swing_turn,
    swivel_to,
    swivel_turn,
    turn_joints,
)
from .chain import Chain, Goal, Solution, State, in_space, measured
from .edge import longest_of
from .fabrik import fabrik
from .joint import Joint, copied
from .landing import EXACT, land
from .methods import PRECISE, SHAPING, SOLVERS, Method
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mix,
    quat_product,
    rotate,
    scaled,
    sub,
    unit,
)

KEPT: Final = 3e-3
"""The distance from tip to target, in chain lengths, at which a chain bent slightly backward bends
forward. A target at the tip leaves the pose unchanged."""

LIFTS: Final = 4
"""Maximum number of steps from the plane of a flat chain onto a target slightly off it."""

FACED: Final = 0.3
"""Minimum weight with which a limb faces its pole, relative to its distance from the pole's
plane. It applies while the bend crosses the line from root to tip, so that the limb turns
without a kink."""

FACED_STRAIGHT: Final = 1.2
"""`FACED` for a nearly straight limb, up to `CLEAR`. Its joints pass the line by millimeters,
which would otherwise turn the limb from side to side."""

NEARLY: Final = 1e-9
"""Maximum residual, in chain lengths, at which joints can be `landed`."""

STEPS: Final = 60
"""Maximum number of landing steps for joints that are `landed`."""

STRAIGHT_ENOUGH: Final = 1e-15
"""Maximum distance from full reach, in chain lengths, at which a chain is solved as straight."""


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
        iterations: Maximum number of iterations, including landing steps.
        tolerance: The distance from tip to target at which to stop, relative to the chain's length.
            ``FABRIK`` and ``TWO_BONE`` only stop when they are exact.

    Returns:
        A pose that keeps the root and the bone lengths. For a target outside the reachable shell,
        it is the nearest pose: straight, or folded along the longest bone.

    Raises:
        ValueError: If the solver is unknown or doesn't support this number of bones, or the
            dimensions of goal and chain differ.
    """
    method = _method_for(chain, goal, solver)
    root, scale = chain.root, chain.scale
    if scale == 0.0:
        return _shrunk(chain, goal)

    # From here on, everything is relative to the root, in chain lengths. Tolerances thus don't
    # depend on size, and no precision is lost far from the world origin.
    goal_target = measured(goal.target, root, scale)
    distance = length(goal_target)
    inner, outer = chain.inner, chain.outer
    in_reach = inner <= distance <= outer
    target = _softened(goal_target, outer, goal.softness)
    distance = length(target)
    # A single bone has no bend that could face a pole.
    bones = len(chain.start) - 1
    pole = None if goal.pole is None or bones < 2 else measured(goal.pole, root, scale)
    soft_pole, pole = (pole, None) if goal.is_hint else (None, pole)
    swing_factor = 1.0 if pole is not None or method.is_exact else goal.swing
    aim = target
    joints, normal, target, pole = _in_plane(chain, aim, pole)
    bend, side, keep = chain.bending(pole)
    axis, turn = chain.axis, QUAT_IDENTITY
    if swing_factor > 0.0:
        turn = swing_turn(axis, _facing(chain, bend, normal), target, swing_factor)
        turn_joints(joints, turn)
        axis, bend = rotate(turn, axis), rotate(turn, bend)
    swivel = (1.0, 0.0)
    if pole is not None:
        swivel = swivel_to(pole, bend, axis, goal.pole_angle, goal.pole_weight)
    used = 0
    if distance >= outer - STRAIGHT_ENOUGH:
        _stretch(joints, unit(target) or axis)
    elif distance <= inner > 0.0:
        _fold(joints, unit(target) or axis)
    else:
        # A closed form never stops early, as it costs the same wherever the tip is.
        near_enough = PRECISE if method.is_exact else tolerance
        side = rotate(turn, side)
        least = 0.0 if soft_pole is None or bones > LIMB else goal.pole_weight
        side = _hinted(joints, chain, axis, side, (soft_pole, least), distance)
        _bend_to_side(joints, chain, axis, side, keep, target, near_enough, least)
        if method.curls > 0.0 and bones > 2:
            _curl_to(joints, chain, axis, target, min(tolerance, EXACT), method.curls)
        used = method.reach(joints, target, chain, swing_factor, iterations, tolerance)
        swivel = _swivel_of_solved(joints, chain, axis, turn, goal, pole, swivel)
    normal = cross(axis, bend) if normal == ORIGIN or bones < 3 else rotate(turn, normal)
    if pole is not None:
        # The axis is root → target, so that the tip keeps its distance to the target.
        last = swivel_turn(axis, swivel)
        turn_joints(joints, last)
        turn, normal = quat_product(last, turn), rotate(last, normal)
    if in_reach and length(sub(aim, target)) > EXACT:
        used += land(joints, aim, EXACT, LIFTS)

    residual = length(sub(joints[-1].at(), goal_target))
    state: State = "REACHED" if residual <= tolerance else "OUT_OF_REACH"
    return Solution(chain, joints, state, in_reach, residual * scale, used, aim, turn, normal)


def landed(joints: list[Vec], lengths: Sequence[float], target: Vec) -> list[Vec]:
    """Return joints that nearly reach the target, moved onto it at their exact lengths.

    They keep their shape, while solving would distribute the bend among them.
    """
    chain = Chain(tuple(joints), None, tuple(lengths))
    aim = measured(target, chain.root, chain.scale)
    moved = copied(chain.start)
    if length(sub(moved[-1].at(), aim)) <= NEARLY:
        return joints
    for _ in range(SHAPING):
        fabrik(moved, aim)
    land(moved, aim, NEARLY, STEPS)
    if length(sub(moved[-1].at(), aim)) > NEARLY:
        moved = solve(chain, Goal(target), "FABRIK", STEPS, NEARLY).moved
    return [add(chain.root, scaled(joint.at(), chain.scale)) for joint in moved]


def _in_plane(
    chain: Chain, target: Vec, pole: Vec | None
) -> tuple[list[Joint], Vec, Vec, Vec | None]:
    """Return a chain's joints, the normal of its plane, the target and the pole.

    Points that only rounding puts off the plane are moved into it. Otherwise rounding would grow
    with iterations and determine how the chain swings around to a target behind it. A chain on its
    target isn't flattened.
    """
    start, normal = chain.flat_start(pole)
    if length(sub(chain.start[-1].at(), target)) <= PRECISE:
        start = chain.start
    if pole is not None:
        pole = rounded_to_plane(unit(pole) or pole, normal)
    return copied(start), normal, rounded_to_plane(target, normal), pole


def _facing(chain: Chain, bend: Vec, normal: Vec) -> Vec:
    """Return the side that defines the plane for swinging a chain to a target behind it.

    Bends to both sides may cancel out and define no plane; a flat chain still has one.
    """
    return bend if normal == ORIGIN or chain.is_known else cross(normal, chain.axis)


def _bend_to_side(
    joints: list[Joint],
    chain: Chain,
    axis: Vec,
    side: Vec,
    keep: float,
    target: Vec,
    near_enough: float,
    least: float,
) -> None:
    """Bend a straight chain to its side, and turn a limb with an unclear pose to that side.

    With a soft pole, the limb turns at least by the fraction ``least``.
    """
    if keep < 1.0:
        gap = length(sub(target, joints[-1].at()))
        # The bend grows with the square root of the tip's distance from full reach.
        blend_distance = near_enough + KEPT * keep * keep
        departure = (gap / blend_distance) ** 2
        bow(joints, axis, max(keep, 1.0 - departure), target, side, chain.folds)
    new_bend = 0.0
    if chain.is_known:
        span, target_span = length(joints[-1].at()) / chain.outer, length(target) / chain.outer
        new_bend = newness(span, target_span)
    if least > 0.0 or new_bend > 0.0:
        bend, _ = chain.own_bend(joints, axis)
        # A fraction of the angle would jump when a knee passes its line opposite to the pole.
        toward_pole = unit(mix(unit(bend) or side, side, least)) or side
        turn_joints(joints, forward_turn(axis, bend, toward_pole, 1.0))
        turn_joints(joints, forward_turn(axis, toward_pole, side, new_bend))


def _curl_to(
    joints: list[Joint], chain: Chain, axis: Vec, target: Vec, near_enough: float, curls: float
) -> None:
    """Move a chain's ends toward the distance from root to target, if the target is ahead.

    Iterations alone would fold a shortening chain at only a few joints. If the target is off to the
    side, they bend all joints, so curling then has less effect. An arc that leaves the root along
    the axis meets the target if its angle is twice the angle to the target.

    A straight chain is already an arc with the right span (see `bow`). It isn't compared with its
    posed span, or it would become straight as its target passes from the side to the front.
    """
    if length(sub(joints[-1].at(), target)) <= near_enough:
        return
    span, reach = length(target), length(joints[-1].at())
    half = half_turn(span)
    if half <= 0.0:
        return
    ahead = 1.0 - eased(atan2(length(cross(axis, target)), dot(axis, target)) / (curls * half))
    if span > reach:  # Less as it becomes straight: iterations do that evenly.
        ahead *= (1.0 - span) / (1.0 - reach)
    if ahead > 0.0:
        # Blend the angle, not the span, so that joints move evenly as the target moves ahead.
        posed = half_turn(reach)
        turn = ahead * (half - posed)
        curl(joints, axis, turn, chain.folds)
        span = reach + chord_of(posed + turn) - chord_of(posed)
        land(joints, scaled(axis, span), near_enough, 1)


def _hinted(
    joints: list[Joint],
    chain: Chain,
    axis: Vec,
    side: Vec,
    goal: tuple[Vec | None, float],
    target_span: float,
) -> Vec:
    """Return the bend direction of a limb under a soft pole, to the extent of the pole's weight.

    Joints keep their offset from the pole's plane, and any additional bend lies in that plane.

    Args:
        joints: The joints, swung to the target.
        chain: The chain.
        axis: The unit vector from the root to the target.
        side: The bend direction without the pole.
        goal: The pole and its weight.
        target_span: The distance from the root to the target.
    """
    pole, weight = goal
    if pole is None or weight == 0.0:
        return side
    bend, _ = chain.own_bend(joints, axis)
    ahead = side_of((pole, side), axis)
    span = length(joints[-1].at())
    # How much farther from the axis the bent joints are, for bones of equal length.
    ratio = sqrt(max(0.0, chain.outer**2 - target_span**2) / max(1e-12, chain.outer**2 - span**2))
    aside = scaled(sub(bend, scaled(ahead, dot(bend, ahead))), 1.0 / max(1.0, ratio))
    apex_height = 0.5 * sqrt(max(0.0, chain.outer**2 - target_span**2))
    faced = FACED_STRAIGHT + (FACED - FACED_STRAIGHT) * eased(apex_height / CLEAR)
    forward = sqrt(max(0.0, 1.0 - dot(aside, aside)) + faced * faced)
    return unit(mix(side, add(aside, scaled(ahead, forward)), weight)) or side


def _swivel_of_solved(
    joints: list[Joint],
    chain: Chain,
    axis: Vec,
    turn: Quat,
    goal: Goal,
    pole: Vec | None,
    swivel: Swivel,
) -> Swivel:
    """Return the swivel that makes a solved chain face the pole.

    A non-planar chain may face in a different direction than its input pose, or have flipped. A
    nearly straight chain swivels like the input pose, because its bend vanishes.

    Args:
        joints: The solved joints.
        chain: The chain.
        axis: The direction to the target.
        turn: The rotation of the whole chain before bending.
        goal: The goal.
        pole: The pole, in the space of the joints.
        swivel: The swivel of the input pose.
    """
    if pole is None or (len(joints) == 3 and not chain.is_known):
        return swivel
    solved_bend, spread = chain.bend_of_moved(joints, axis, turn)
    to_pole = swivel_to(pole, solved_bend, axis, goal.pole_angle, goal.pole_weight)
    weight = 1.0 if chain.is_known else eased(spread / NEARLY_STRAIGHT)
    return mean_swivel(swivel, to_pole, weight)


def _softened(target: Vec, outer: float, softness: float) -> Vec:
    """Soft IK: return the target, or a point before it; full length is reached only at infinity.

    Near full reach, the bend changes with the square root of the remaining distance, so the elbow
    would snap. Within the soft range, the distance follows 1 − e^−x, with the same initial slope.
    """
    distance = length(target)
    start = outer * (1.0 - softness)
    if distance <= start or softness == 0.0:
        return target
    soft = outer * softness
    return scaled(target, (start + soft * (1.0 - exp((start - distance) / soft))) / distance)


def _method_for(chain: Chain, goal: Goal, solver: str) -> Method:
    """Return the solver's method; raise if it doesn't suit the chain or the goal."""
    method = SOLVERS.get(solver)
    if method is None:
        raise ValueError(f"unknown solver {solver!r}, choose one of {', '.join(SOLVERS)}")
    if not method.suits(len(chain.joints) - 1):
        raise ValueError(f"{solver} solves chains of {method.bones} bones: choose FABRIK or CCD")
    dimension = len(chain.joints[0])
    if len(goal.target) != dimension or (goal.pole is not None and len(goal.pole) != dimension):
        raise ValueError(f"target and pole need {dimension} coordinates, as the chain's joints")
    if dimension == 2 and goal.pole_angle:
        raise ValueError("a chain in two dimensions cannot swivel: pole_angle must be 0")
    return method


def _shrunk(chain: Chain, goal: Goal) -> Solution:
    """Return the solution for a chain of length 0, with all joints at the root."""
    residual = length(sub(in_space(goal.target), chain.root))
    state: State = "REACHED" if residual == 0.0 else "OUT_OF_REACH"
    joints = [Joint(0.0, 0.0, 0.0, 0.0) for _ in chain.joints]
    return Solution(chain, joints, state, residual == 0.0, residual, 0, ORIGIN)


def _stretch(joints: list[Joint], direction: Vec) -> None:
    """Place all bones along the direction; bones of negative length point against it."""
    dx, dy, dz = direction
    x = y = z = size = 0.0
    for joint in joints:
        x += dx * size
        y += dy * size
        z += dz * size
        joint.move((x, y, z))
        size = joint.size


def _fold(joints: list[Joint], direction: Vec) -> None:
    """Point the longest bone along the direction and all others against it."""
    longest = longest_of(joints)
    for i in range(len(joints)):
        if i != longest:
            joints[i].size = -joints[i].size
    _stretch(joints, direction)
