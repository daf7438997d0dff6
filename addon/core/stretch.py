"""Bones that grow where the target is beyond the reach of their chain.

A chain that has to grow is straight, unless softness or limits bend it. Then the scale that a bone
inherits from its parent is along its own Y axis and shears nothing: a bone that inherits it keeps
its own scale, and one that does not needs the same as its parent. Where the chain is bent, a bone
is scaled by what its sheared axes lack.
"""

from math import isfinite, sqrt
from typing import Final, final

from .bones import inherited_axes, turned_axes, turned_to
from .chain import Chain, Goal, Solution, State, measured
from .frames import Frame
from .landing import EXACT
from .posture import ChainInput, ChainLink, Posture, chain_frames, rotations_of
from .reach import SOLVED, distance_to, limited, reach
from .solve import solve
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    dot,
    length,
    mat_apply,
    mat_column_lengths,
    mat_product,
    mat_stretched,
    quat_matrix,
    quat_product,
    scaled,
    sub,
    times,
)

ROUNDS: Final = 20
"""The most solves. One does unless bones have their heads off the Y axes of their parents."""

FITTINGS: Final = 12
"""The most times that a bone's turn and scale are fitted to each other.

Once does if its arm is its Y axis, and a few times if it is sheared besides.
"""

FITTED: Final = 1e-13
"""By what share a scale may still change when it fits."""

Try = tuple[float, float]
"""By what factor the bones grew, and how many times as long the chain became."""


@final
class Stretch:
    """How far the bones of a chain may grow.

    Attributes:
        most: The most that each bone grows to, in its own lengths.
        keeps_volume: Whether it becomes thinner by that.
    """

    __slots__ = ("keeps_volume", "most")
    most: float
    keeps_volume: bool

    def __init__(self, most: float, keeps_volume: bool) -> None:
        """Take the settings.

        Raises:
            ValueError: If ``most`` is not finite, or less than 1.
        """
        if not isfinite(most) or most < 1.0:
            raise ValueError("the most that a chain stretches to must be finite and at least 1")
        self.most = most
        self.keeps_volume = keeps_volume


def reach_stretched(
    chain: ChainInput,
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    stretch: Stretch | None,
) -> Posture:
    """Do as `reach`, with bones that may grow if there is a stretch."""
    posture = reach(chain, goal, solver, iterations, tolerance)
    if stretch is None:
        return posture
    return _stretched(posture, chain, goal, solver, iterations, tolerance, stretch)


def _stretched(
    plain: Posture,
    chain: ChainInput,
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    stretch: Stretch,
) -> Posture:
    """Return the pose in which a chain has grown as far as it must, and may, to arrive.

    All bones grow along their Y axis by one factor. The chain becomes as many times longer as the
    target is farther away than the tip came without growing. Where softness held the tip back this
    keeps the bend that softness made and enlarges it until the tip arrives: the factor is 1 where
    softness begins and rises without a kink. Where `Stretch.most` stops it, the tip stays as far
    back as softness has it, times that.

    Args:
        plain: The pose without growing. It is the answer if nothing has to grow.
        chain: The bones and their FK pose.
        goal: See `pose_chain`.
        solver: See `pose_chain`.
        iterations: See `pose_chain`.
        tolerance: See `pose_chain`.
        stretch: How far the bones may grow.
    """
    wanted = _lack(plain, chain, goal, tolerance)
    if wanted <= 1.0 or stretch.most == 1.0:
        return plain
    frames = chain_frames(chain, rotations_of(plain.numbers))
    lengths = [length(mat_apply(frames[i][0], link.arm)) for i, link in enumerate(chain.links)]
    own_size = sum(lengths)
    # Sizes are in lengths of the chain as it is; that of a factor is known when it was tried.
    factor = expected = min(stretch.most, wanted)
    lengths = [part * expected for part in lengths]
    before: Try = (1.0, 1.0)
    posture = plain
    scales: tuple[Vec, ...] = ()
    for _ in range(ROUNDS):
        aimed = Chain(chain.joints, chain.chain.bend, tuple(lengths), chain.chain.is_sure)
        share = expected / wanted
        if chain.constrained:  # Limits may need more than that, and are kept for this very target.
            share = min(1.0, share)
        aim = _moved(goal, chain.root, share)
        solution = solve(aimed, aim, solver, iterations, SOLVED * tolerance)
        posture, lengths, missed = _grown(chain, solution, goal, frames, factor, stretch)
        size, scales = sum(lengths) / own_size, posture.scales
        if chain.constrained:
            longer = chain.with_scales(scales)
            posture = limited(posture, longer, tolerance)
            # Its larger limbs may miss in another way.
            wanted = max(wanted, size * _lack(posture, longer, goal, tolerance))
        following, size_then = _next((factor, size), before, wanted, stretch.most)
        is_as_expected = max(missed / own_size, abs(size - expected)) <= EXACT * size
        if following == factor and is_as_expected:
            break
        if following != factor:
            before, factor = (factor, size), following
        expected = size_then
        lengths = [part * expected / size for part in lengths]
    return _judged(posture, goal, tolerance * sum(lengths), scales)


def _judged(posture: Posture, goal: Goal, near_enough: float, scales: tuple[Vec, ...]) -> Posture:
    """Return a grown chain with its state, which is about the goal and not what was aimed at."""
    state: State = "REACHED"
    if distance_to(posture.tip, goal.target) > (1.0 + 1e-9) * near_enough:
        state = "OUT_OF_REACH" if posture.state == "REACHED" else posture.state
    return Posture(posture.numbers, posture.tip, state, goal, posture.solution, scales)


def _lack(posture: Posture, chain: ChainInput, goal: Goal, tolerance: float) -> float:
    """Return how many times farther away the target is than the tip came; 1 if it arrived.

    A tip that limits keep aside counts as there when growing would not bring it nearer. With
    limits a chain is only near its target; up to twice the tolerance the lack is counted in part,
    so that there is no jump.
    """
    size = posture.solution.chain.scale
    if size == 0.0:
        return 1.0
    target = measured(goal.target, chain.root, size)
    if not chain.constrained:
        solved = posture.solution.chain
        came = min(max(length(posture.solution.aim), solved.inner), solved.outer)
        return max(1.0, length(target) / came) if came > 0.0 else 1.0
    way = measured(posture.tip, chain.root, size)
    came = length(way)
    if came == 0.0:
        return 1.0
    gap = dot(way, target) / came - came
    if gap <= tolerance:
        return 1.0
    return 1.0 + (gap - max(0.0, 2.0 * tolerance - gap)) / came


def _moved(goal: Goal, root: Vec, share: float) -> Goal:
    """Return the goal for a chain of that share of the size that it needs.

    So it is as straight or as bent as it will be, however wrong its size is. Softness has made
    this bend already.
    """
    target = goal.target
    if share != 1.0:
        target = add(root, scaled(measured(target, root, 1.0), share))
    return Goal(target, goal.pole, goal.pole_angle, goal.pole_weight, swing=goal.swing)


def _next(now: Try, before: Try, wanted: float, most: float) -> Try:
    """Return the next factor to try and the size expected of it, by the secant through two."""
    factor, size = now
    rise, run = size - before[1], factor - before[0]
    if abs(size - wanted) <= EXACT * wanted or rise * run <= 0.0:
        return now
    slope = rise / run
    following = min(max(factor + (wanted - size) / slope, 1.0), most)
    return following, size + slope * (following - factor)


def _grown(
    chain: ChainInput,
    solution: Solution,
    goal: Goal,
    frames: list[Frame],
    factor: float,
    stretch: Stretch,
) -> tuple[Posture, list[float], float]:
    """Scale each bone, and point it at its solved next joint.

    Args:
        chain: The bones and their FK pose.
        solution: The joints.
        goal: What the posture is for.
        frames: The frames without growing, of whose columns the lengths are taken.
        factor: How many times as long the bones become.
        stretch: Whether they become thinner.

    Returns:
        The posture, the lengths of the bones, and how far the tip is from the solved one.
    """
    thickness = 1.0 / sqrt(factor) if stretch.keeps_volume else 1.0
    growth = (thickness, factor, thickness)
    axes, head = chain.parent[0], chain.root
    numbers: list[float] = []
    lengths: list[float] = []
    scales: list[Vec] = []
    gap = ORIGIN
    turn = solution.turn
    for i, link in enumerate(chain.links):
        joint = solution.moved[i + 1]
        place = (joint.x, joint.y, joint.z)
        goal_joint = add(solution.chain.root, scaled(place, solution.chain.scale))
        to_joint = sub(goal_joint, head)
        wanted = times(mat_column_lengths(frames[i][0]), growth)
        axes, rotation, scale = _fitted(link, axes, to_joint, wanted, solution.normal, turn)
        turn = QUAT_IDENTITY  # The others are carried along.
        numbers.extend(rotation)
        scales.append(scale)
        along = mat_apply(axes, link.arm)
        lengths.append(length(along))
        head = add(head, along)
        gap = sub(along, to_joint)
    posture = Posture(numbers, head, solution.state, goal, solution, tuple(scales))
    return posture, lengths, length(gap)


def _fitted(
    link: ChainLink, parent: Mat3, to_joint: Vec, wanted: Vec, normal: Vec, turn: Quat
) -> tuple[Mat3, Quat, Vec]:
    """Turn a bone to its next joint, and scale it so that its axes get the wanted lengths.

    Args:
        link: The bone.
        parent: The axes of its parent.
        to_joint: The way to the joint.
        wanted: The lengths.
        normal: See `turned_to`.
        turn: See `turned_to`.

    Returns:
        The posed axes, the local rotation and the local scale.
    """
    inherited, post_scale = inherited_axes(link.bone, parent)
    given = mat_product(inherited, quat_matrix(link.rotation))
    scale = link.scale
    rotation = link.rotation
    for _ in range(FITTINGS):
        aim = times(link.arm, times(scale, post_scale))
        swing = turned_to(given, aim, to_joint, normal, turn)
        rotation = quat_product(link.rotation, swing)
        axes = mat_stretched(mat_product(given, quat_matrix(swing)), post_scale)
        x, y, z = mat_column_lengths(mat_stretched(axes, link.scale))
        ratios = (_ratio(wanted[0], x), _ratio(wanted[1], y), _ratio(wanted[2], z))
        before, scale = scale, times(link.scale, ratios)
        if length(sub(scale, before)) <= FITTED * length(scale):
            break
    return turned_axes(inherited, rotation, scale, post_scale), rotation, scale


def _ratio(wanted: float, present: float) -> float:
    """Return by what a length becomes the wanted one; what is flat stays flat."""
    return wanted / present if present > 0.0 else 1.0
