"""Stretch: bones that scale where the target is beyond the reach of their chain.

A chain that has to stretch is straight, unless softness or limits bend it. Then the inherited scale
is along each bone's own Y axis and shears nothing: a bone that inherits scale keeps its own, and
one that does not needs its parent's. Where the chain is bent, a bone's scale makes up for what its
sheared axes lack.

File formats and engines store a bone as a location, a rotation R and a scale S relative to its
parent, whose axes are P. The bone's are then P R S: a bone that inherits its parent's scale in full
can be stored whatever P is. One with right angles C instead, as with all other settings of Inherit
Scale, is P (P⁻¹ C) with sheared P⁻¹ C, unless P is scaled alike in all directions.
"""

from math import isfinite, sqrt
from typing import Final, final

from .bones import inherited_axes, turned_axes, turned_to
from .chain import Goal, Solution, State, measured
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
    quat_matrix,
    quat_product,
    scale_columns,
    scaled,
    sub,
    times,
)

ROUNDS: Final = 20
"""The most solves. One is enough if all heads are on the Y axes of their parents."""

FITTINGS: Final = 12
"""The most times that a bone's rotation and scale are fitted to each other.

Once is enough if its arm is its Y axis; sheared axes need a few.
"""

FITTED: Final = 1e-13
"""The relative change of the scale below which it fits."""

Try = tuple[float, float]
"""The factor by which the bones were scaled, and the size that the chain got by it."""


@final
class Stretch:
    """How far the bones of a chain may stretch.

    Attributes:
        most: The greatest length of each bone, as a multiple of its own.
        keeps_volume: Whether bones become thinner as they stretch.
        is_uniform: Whether bones become as much thicker instead, as Blender's own IK scales them,
            so that no bone on them is sheared relative to its parent.
    """

    __slots__ = ("is_uniform", "keeps_volume", "most")
    most: float
    keeps_volume: bool
    is_uniform: bool

    def __init__(self, most: float, keeps_volume: bool, is_uniform: bool = False) -> None:
        """Take the settings.

        Raises:
            ValueError: If ``most`` is not finite, or less than 1.
        """
        if not isfinite(most) or most < 1.0:
            raise ValueError("the most that a chain stretches to must be finite and at least 1")
        self.most = most
        self.keeps_volume = keeps_volume
        self.is_uniform = is_uniform

    def growth(self, factor: float) -> Vec:
        """Return the factors of the lengths of a bone's axes, given that of its length."""
        if self.is_uniform:
            return (factor, factor, factor)
        thickness = 1.0 / sqrt(factor) if self.keeps_volume else 1.0
        return (thickness, factor, thickness)


def reach_stretched(
    chain: ChainInput,
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    stretch: Stretch | None,
) -> Posture:
    """Do as `reach`, with bones that may stretch."""
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
    """Return the pose of a chain stretched as far as needed, or allowed, to reach the target.

    All bones become longer by one factor: the ratio of the target's distance to that of the
    unstretched tip. Where softness holds the tip back, this scales up the bend that
    softness left: the factor is 1 where softness begins and grows without a kink. At
    `Stretch.most` the tip stays back as softness has it, times that.

    Args:
        plain: The pose without stretch, returned if none is needed.
        chain: The bones and their FK pose.
        goal: See `pose_chain`.
        solver: See `pose_chain`.
        iterations: See `pose_chain`.
        tolerance: See `pose_chain`.
        stretch: How far the bones may stretch.
    """
    wanted = _lack(plain, chain, goal, tolerance)
    if wanted <= 1.0 or stretch.most == 1.0:
        return plain
    frames = chain_frames(chain, rotations_of(plain.numbers))
    lengths = [length(mat_apply(frames[i][0], link.arm)) for i, link in enumerate(chain.links)]
    own_size = sum(lengths)
    # Sizes are in lengths of the unstretched chain; that of a factor is known once it was tried.
    factor = expected = min(stretch.most, wanted)
    lengths = [part * expected for part in lengths]
    before: Try = (1.0, 1.0)
    posture = plain
    scales: tuple[Vec, ...] = ()
    for _ in range(ROUNDS):
        aimed = chain.chain.with_lengths(lengths)
        share = expected / wanted
        if chain.constrained:  # Limits may need more, and are kept for this very target.
            share = min(1.0, share)
        aim = _moved(goal, chain.root, share)
        solution = solve(aimed, aim, solver, iterations, SOLVED * tolerance)
        posture, lengths, missed = _grown(chain, solution, goal, frames, factor, stretch)
        size, scales = sum(lengths) / own_size, posture.scales
        if chain.constrained:
            longer = chain.with_scales(scales)
            posture = limited(posture, longer, tolerance)
            # With larger bones the limits may miss in another way.
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
    """Return a stretched chain with its state with respect to the goal."""
    state: State = "REACHED"
    if distance_to(posture.tip, goal.target) > (1.0 + 1e-9) * near_enough:
        state = "OUT_OF_REACH" if posture.state == "REACHED" else posture.state
    return Posture(posture.numbers, posture.tip, state, goal, posture.solution, scales)


def _lack(posture: Posture, chain: ChainInput, goal: Goal, tolerance: float) -> float:
    """Return the ratio of the target's distance to the tip's; 1 if the tip reached it.

    It is also 1 for a tip that limits keep aside, if stretching would not bring it nearer. With
    limits a solved chain is only near its target: up to twice the tolerance the lack is blended
    in, so that the solution is continuous.
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
    """Return the goal scaled for a chain of a share of the needed size.

    The chain then bends as it will at the right size. Softness is in that bend already.
    """
    target = goal.target
    if share != 1.0:
        target = add(root, scaled(measured(target, root, 1.0), share))
    angle, weight = goal.pole_angle, goal.pole_weight
    return Goal(target, goal.pole, angle, weight, 0.0, goal.swing, goal.is_hint)


def _next(now: Try, before: Try, wanted: float, most: float) -> Try:
    """Return the next factor to try and its expected size, by the secant method."""
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
        goal: The goal of the posture.
        frames: The unstretched frames, for the lengths of their axes.
        factor: The factor of the bones' lengths.
        stretch: What becomes of their thickness.

    Returns:
        The posture, the lengths of the bones, and the distance from the tip to the solved one.
    """
    growth = stretch.growth(factor)
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
    """Point a bone at its next joint, and scale it so that its axes get the wanted lengths.

    Args:
        link: The bone.
        parent: The axes of its parent.
        to_joint: The vector to the joint.
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
        axes = scale_columns(mat_product(given, quat_matrix(swing)), post_scale)
        x, y, z = mat_column_lengths(scale_columns(axes, link.scale))
        ratios = (_ratio(wanted[0], x), _ratio(wanted[1], y), _ratio(wanted[2], z))
        before, scale = scale, times(link.scale, ratios)
        if length(sub(scale, before)) <= FITTED * length(scale):
            break
    return turned_axes(inherited, rotation, scale, post_scale), rotation, scale


def _ratio(wanted: float, present: float) -> float:
    """Return the factor from a length to the wanted one; 1 for a length of 0."""
    return wanted / present if present > 0.0 else 1.0
