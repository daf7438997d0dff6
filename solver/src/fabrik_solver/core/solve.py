"""The loop that drives all solvers."""

from math import exp, sqrt
from typing import Final

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
from .joint import Joint, copied
from .landing import EXACT, land
from .methods import PRECISE, SOLVERS, Method
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
"""How far the target has to be from the tip for a chain that is slightly bent backward to bend
forward: a target at its tip leaves it as it is."""

LIFTS: Final = 4
"""The most steps from the plane of a flat chain onto a target that is hardly out of it."""

FACED: Final = 0.3
"""How far a limb faces its hint at least, relative to how far it is beside it, where its pose
passes from before the line from root to tip to behind it: so it turns there, and has no kink."""

FACED_STRAIGHT: Final = 1.2
"""The same for a limb that is nearly straight, up to `CLEAR`: millimetres by which its joints pass
beside the line would turn it from side to side."""

STRAIGHT_ENOUGH: Final = 1e-15
"""How near to full reach a chain of length 1 is solved as straight."""


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
        iterations: The most iterations, steps of landing included.
        tolerance: The distance from tip to target at which to stop, as a share of the chain's
            length. ``FABRIK`` and ``TWO_BONE`` only stop when they are exact.

    Returns:
        A pose that keeps the root and the bones' lengths. For a target outside the reachable shell
        it is the nearest pose: straight, or folded along the longest bone.

    Raises:
        ValueError: If the solver is unknown or does not support this number of bones, or the
            dimension of the goal differs from the chain's.
    """
    method = _method_for(chain, goal, solver)
    root, scale = chain.root, chain.scale
    if scale == 0.0:
        return _shrunk(chain, goal)

    # From here on relative to the root, in lengths of the chain: tolerances are independent of
    # size, and no precision is lost far from the world's origin.
    goal_place = measured(goal.target, root, scale)
    distance = length(goal_place)
    inner, outer = chain.inner, chain.outer
    in_reach = inner <= distance <= outer
    target = _softened(goal_place, outer, goal.softness)
    distance = length(target)
    # A single bone has no bend that could face a pole.
    bones = len(chain.start) - 1
    pole = None if goal.pole is None or bones < 2 else measured(goal.pole, root, scale)
    hint, pole = (pole, None) if goal.is_hint else (None, pole)
    share = 1.0 if pole is not None or method.is_exact else goal.swing
    aim = target
    joints, normal, target, pole = _in_plane(chain, aim, pole)
    bend, side, keep = chain.bending(pole)
    axis, turn = chain.axis, QUAT_IDENTITY
    if share > 0.0:
        turn = swing_turn(axis, _facing(chain, bend, normal), target, share)
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
        # A closed form costs the same wherever the tip is, so it never stops early.
        near_enough = PRECISE if method.is_exact else tolerance
        side = rotate(turn, side)
        least = 0.0 if hint is None or bones > LIMB else goal.pole_weight
        side = _hinted(joints, chain, axis, side, (hint, least), distance)
        _bend_to_side(joints, chain, axis, side, keep, target, near_enough, least)
        if method.shares:
            _curl_to(joints, chain, axis, target, min(tolerance, EXACT))
        used = method.reach(joints, target, chain, share, iterations, tolerance)
        swivel = _swivel_of_solved(joints, chain, axis, turn, goal, pole, swivel)
    normal = cross(axis, bend) if normal == ORIGIN or bones < 3 else rotate(turn, normal)
    if pole is not None:
        # About root → target, so that the tip keeps its distance to the target.
        last = swivel_turn(axis, swivel)
        turn_joints(joints, last)
        turn, normal = quat_product(last, turn), rotate(last, normal)
    if in_reach and length(sub(aim, target)) > EXACT:
        used += land(joints, aim, EXACT, LIFTS)

    residual = length(sub(joints[-1].at(), goal_place))
    state: State = "REACHED" if residual <= tolerance else "OUT_OF_REACH"
    return Solution(chain, joints, state, in_reach, residual * scale, used, aim, turn, normal)


def _in_plane(
    chain: Chain, target: Vec, pole: Vec | None
) -> tuple[list[Joint], Vec, Vec, Vec | None]:
    """Return the joints of a chain, the normal of its plane, the target and the pole.

    What is in the plane but for rounding is there exactly: rounding would grow with iterations, and
    decide how a chain swings round to what is behind it. A chain on its target stays as it is.
    """
    start, normal = chain.flat_start(pole)
    if length(sub(chain.start[-1].at(), target)) <= PRECISE:
        start = chain.start
    if pole is not None:
        pole = rounded_to_plane(unit(pole) or pole, normal)
    return copied(start), normal, rounded_to_plane(target, normal), pole


def _facing(chain: Chain, bend: Vec, normal: Vec) -> Vec:
    """Return the side that tells in which plane a chain swings to a target behind it.

    Where the bends to both sides cancel out they define no plane: a flat chain has one.
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
    """Bend a straight chain to its side, and turn a limb whose pose is unclear to it.

    If a hint is given for how it bends, that turns it by a share at least.
    """
    if keep < 1.0:
        moved = length(sub(target, joints[-1].at()))
        # The bend grows with the root of the tip's distance from full reach.
        kept = near_enough + KEPT * keep * keep
        left = (moved / kept) ** 2
        bow(joints, axis, max(keep, 1.0 - left), target, side, chain.folds)
    new = 0.0
    if chain.is_known:
        before, after = length(joints[-1].at()) / chain.outer, length(target) / chain.outer
        new = newness(before, after)
    if least > 0.0 or new > 0.0:
        bend, _ = chain.own_bend(joints, axis)
        # A share of the angle would jump where a knee that passes its line is opposite to the hint.
        hinted = unit(mix(unit(bend) or side, side, least)) or side
        turn_joints(joints, forward_turn(axis, bend, hinted, 1.0))
        turn_joints(joints, forward_turn(axis, hinted, side, new))


def _curl_to(joints: list[Joint], chain: Chain, axis: Vec, target: Vec, near_enough: float) -> None:
    """Curl a chain whose target is nearer than its tip.

    Iterations fold at a few joints a chain that only has to become shorter. What is left for those
    of the method is the way to the target's direction.
    """
    span = length(target)
    if span < length(chain.start[-1].at()) and length(sub(joints[-1].at(), target)) > near_enough:
        curl(joints, axis, span, chain.folds)
        land(joints, scaled(axis, span), near_enough, 1)


def _hinted(
    joints: list[Joint],
    chain: Chain,
    axis: Vec,
    side: Vec,
    goal: tuple[Vec | None, float],
    after: float,
) -> Vec:
    """Return the side to which a limb bends that is given a hint, as far as that weighs.

    What its joints are beside the hint's plane stays, and what more it bends is in that plane.

    Args:
        joints: The joints, swung to the target.
        chain: The chain.
        axis: The unit vector from the root to the tip.
        side: The side to which it bends without the hint.
        goal: The hint and its weight.
        after: The distance of the target.
    """
    hint, share = goal
    if hint is None or share == 0.0:
        return side
    bend, _ = chain.own_bend(joints, axis)
    ahead = side_of((hint, side), axis)
    before = length(joints[-1].at())
    # How much farther the joints are from the axis when it is bent, for bones of one length.
    more = sqrt(max(0.0, chain.outer**2 - after**2) / max(1e-12, chain.outer**2 - before**2))
    aside = scaled(sub(bend, scaled(ahead, dot(bend, ahead))), 1.0 / max(1.0, more))
    off = 0.5 * sqrt(max(0.0, chain.outer**2 - after**2))
    faced = FACED_STRAIGHT + (FACED - FACED_STRAIGHT) * eased(off / CLEAR)
    forward = sqrt(max(0.0, 1.0 - dot(aside, aside)) + faced * faced)
    return unit(mix(side, add(aside, scaled(ahead, forward)), share)) or side


def _swivel_of_solved(
    joints: list[Joint],
    chain: Chain,
    axis: Vec,
    turn: Quat,
    goal: Goal,
    pole: Vec | None,
    swivel: Swivel,
) -> Swivel:
    """Return the swivel with which a solved chain faces the pole.

    A chain that is not planar may face another way than its input pose, or have flipped. A nearly
    straight one swivels like the input pose, as its own bend vanishes.

    Args:
        joints: The solved joints.
        chain: The chain.
        axis: The direction to the target.
        turn: The rotation of the chain as a whole, before it was bent.
        goal: The goal.
        pole: The pole, as the joints.
        swivel: That of the input pose.
    """
    if pole is None or (len(joints) == 3 and not chain.is_known):
        return swivel
    now, spread = chain.bend_of_moved(joints, axis, turn)
    to_pole = swivel_to(pole, now, axis, goal.pole_angle, goal.pole_weight)
    share = 1.0 if chain.is_known else eased(spread / NEARLY_STRAIGHT)
    return mean_swivel(swivel, to_pole, share)


def _softened(target: Vec, outer: float, softness: float) -> Vec:
    """Soft IK: return the target, or a place before it that reaches full length only at infinity.

    Near full reach the bend goes with the square root of the distance left, so that the elbow
    snaps. Within the soft share the distance goes on as 1 − e^−x, with the same slope at its start.
    """
    distance = length(target)
    start = outer * (1.0 - softness)
    if distance <= start or softness == 0.0:
        return target
    soft = outer * softness
    return scaled(target, (start + soft * (1.0 - exp((start - distance) / soft))) / distance)


def _method_for(chain: Chain, goal: Goal, solver: str) -> Method:
    """Return the method of a solver; refuse one that does not suit the chain and the goal."""
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
    """Return the solution of a chain of length 0, whose joints are all at its root."""
    residual = length(sub(in_space(goal.target), chain.root))
    state: State = "REACHED" if residual == 0.0 else "OUT_OF_REACH"
    joints = [Joint(0.0, 0.0, 0.0, 0.0) for _ in chain.joints]
    return Solution(chain, joints, state, residual == 0.0, residual, 0, ORIGIN)


def _stretch(joints: list[Joint], direction: Vec) -> None:
    """Put all bones along the direction; those of negative length against it."""
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
