"""Stretch: scales bones if the target is beyond the reach of their chain.

A chain that has to stretch is straight, unless softness or limits bend it. The inherited scale is
then along each bone's Y axis and causes no shear. A bone that inherits scale keeps its local scale;
any other bone also gets its parent's scale. In a bent chain, a bone's scale compensates for its
sheared axes.

File formats and engines store a bone as a location, a rotation R and a scale S relative to its
parent with axes P. The bone's axes are then P R S, so a bone that inherits its parent's scale in
full can be stored for any P. All other settings of Inherit Scale give right-angled axes C = P (P⁻¹
C). Here P⁻¹ C is sheared unless P is scaled uniformly, so no R and S can store it.
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
"""Maximum number of solves. One is enough if all heads are on their parents' Y axes."""

FITTINGS: Final = 12
"""Maximum number of iterations to fit a bone's rotation and scale to each other.

One is enough if its arm is along its Y axis; sheared axes need a few."""

FITTED: Final = 1e-13
"""The relative change of scale below which the fit has converged."""

Try = tuple[float, float]
"""The factor by which the bones were scaled, and the resulting size of the chain."""


@final
class Stretch:
    """How far the bones of a chain may stretch.

    Attributes:
        most: The maximum length of each bone, as a multiple of its rest length.
        keeps_volume: Whether bones become thinner as they stretch.
        is_uniform: Whether bones instead scale uniformly, as with Blender's IK, so that their child
            bones aren't sheared.
    """

    def __init__(self, most: float, keeps_volume: bool, is_uniform: bool = False) -> None:
        """Set the stretch settings.

        Raises:
            ValueError: If ``most`` isn't finite, or is less than 1.
        """
        if not isfinite(most) or most < 1.0:
            raise ValueError("the most that a chain stretches to must be finite and at least 1")
        self.most = most
        self.keeps_volume = keeps_volume
        self.is_uniform = is_uniform

    def growth(self, factor: float) -> Vec:
        """Return the scale factors of a bone's axes when its length scales by ``factor``."""
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
    """Same as `reach`, but bones may stretch."""
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

    All bones lengthen by the same factor: the ratio of the target's distance to that of the
    unstretched tip. If softness holds the tip back, this scales up the remaining bend. The factor
    is 1 where softness begins, and grows without a kink. At `Stretch.most`, softness still holds
    the tip back, scaled by that factor.

    Args:
        plain: The pose without stretch, returned if it suffices.
        chain: The bones and their FK pose.
        goal: See `pose_chain`.
        solver: See `pose_chain`.
        iterations: See `pose_chain`.
        tolerance: See `pose_chain`.
        stretch: How far the bones may stretch.
    """
    wanted = _distance_ratio(plain, chain, goal, tolerance)
    if wanted <= 1.0 or stretch.most == 1.0:
        return plain
    frames = chain_frames(chain, rotations_of(plain.numbers))
    lengths = [length(mat_apply(frames[i][0], link.arm)) for i, link in enumerate(chain.links)]
    fk_size = sum(lengths)
    # Sizes are in lengths of the unstretched chain. A factor's size is only known after trying it.
    factor = expected = min(stretch.most, wanted)
    lengths = [part * expected for part in lengths]
    previous: Try = (1.0, 1.0)
    posture = plain
    scales: tuple[Vec, ...] = ()
    for _ in range(ROUNDS):
        aimed = chain.chain.with_lengths(lengths)
        size_ratio = expected / wanted
        if chain.constrained:  # Limits may need more, for this same target.
            size_ratio = min(1.0, size_ratio)
        aim = _moved(goal, chain.root, size_ratio)
        solution = solve(aimed, aim, solver, iterations, SOLVED * tolerance)
        posture, lengths, gap = _grown(chain, solution, goal, frames, factor, stretch)
        size, scales = sum(lengths) / fk_size, posture.scales
        if chain.constrained:
            longer = chain.with_scales(scales)
            posture = limited(posture, longer, tolerance)
            # With larger bones, limits may cause a different error.
            wanted = max(wanted, size * _distance_ratio(posture, longer, goal, tolerance))
        following, size_then = _next((factor, size), previous, wanted, stretch.most)
        is_as_expected = max(gap / fk_size, abs(size - expected)) <= EXACT * size
        if following == factor and is_as_expected:
            break
        if following != factor:
            previous, factor = (factor, size), following
        expected = size_then
        lengths = [part * expected / size for part in lengths]
    return _judged(posture, goal, tolerance * sum(lengths), scales)


def _judged(posture: Posture, goal: Goal, near_enough: float, scales: tuple[Vec, ...]) -> Posture:
    """Return a stretched chain's posture, with a state for its actual tip and goal."""
    state: State = "REACHED"
    if distance_to(posture.tip, goal.target) > (1.0 + 1e-9) * near_enough:
        state = "OUT_OF_REACH" if posture.state == "REACHED" else posture.state
    return Posture(posture.numbers, posture.tip, state, goal, posture.solution, scales)


def _distance_ratio(posture: Posture, chain: ChainInput, goal: Goal, tolerance: float) -> float:
    """Return the ratio of the target's distance to the tip's, or 1 if the tip reached it.

    It is also 1 if limits keep the tip to the side and stretching wouldn't bring it closer. With
    limits, a solved chain is only near its target. For continuity, the ratio is blended in up to
    twice the tolerance.
    """
    size = posture.solution.chain.scale
    if size == 0.0:
        return 1.0
    target = measured(goal.target, chain.root, size)
    if not chain.constrained:
        solved = posture.solution.chain
        tip_distance = min(max(length(posture.solution.aim), solved.inner), solved.outer)
        return max(1.0, length(target) / tip_distance) if tip_distance > 0.0 else 1.0
    tip_offset = measured(posture.tip, chain.root, size)
    tip_distance = length(tip_offset)
    if tip_distance == 0.0:
        return 1.0
    gap = dot(tip_offset, target) / tip_distance - tip_distance
    if gap <= tolerance:
        return 1.0
    return 1.0 + (gap - max(0.0, 2.0 * tolerance - gap)) / tip_distance


def _moved(goal: Goal, root: Vec, size_ratio: float) -> Goal:
    """Return the goal for a chain that is ``size_ratio`` times the needed size.

    The chain then bends as it will at the right size, including softness.
    """
    target = goal.target
    if size_ratio != 1.0:
        target = add(root, scaled(measured(target, root, 1.0), size_ratio))
    angle, weight = goal.pole_angle, goal.pole_weight
    return Goal(target, goal.pole, angle, weight, 0.0, goal.swing, goal.is_hint)


def _next(current: Try, previous: Try, wanted: float, most: float) -> Try:
    """Return the next factor to try and its expected size, by the secant method.

    Args:
        current: The last factor and size.
        previous: Those before.
        wanted: The needed size.
        most: The largest factor.
    """
    factor, size = current
    rise, run = size - previous[1], factor - previous[0]
    if abs(size - wanted) <= EXACT * wanted or rise * run <= 0.0:
        return current
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
        frames: The unstretched frames, for their axis lengths.
        factor: The scale factor of the bone lengths.
        stretch: Decides the scale of their thickness.

    Returns:
        The posture, the bone lengths, and the distance from the tip to the solved tip.
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
        joint_position = (joint.x, joint.y, joint.z)
        goal_joint = add(solution.chain.root, scaled(joint_position, solution.chain.scale))
        to_joint = sub(goal_joint, head)
        wanted = times(mat_column_lengths(frames[i][0]), growth)
        axes, rotation, scale = _fitted(link, axes, to_joint, wanted, solution.normal, turn)
        turn = QUAT_IDENTITY  # The other bones follow.
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
        wanted: The axis lengths.
        normal: See `turned_to`.
        turn: See `turned_to`.

    Returns:
        The posed axes, the local rotation and the local scale.
    """
    inherited, post_scale = inherited_axes(link.bone, parent)
    fk_axes = mat_product(inherited, quat_matrix(link.rotation))
    scale = link.scale
    rotation = link.rotation
    for _ in range(FITTINGS):
        aim = times(link.arm, times(scale, post_scale))
        swing = turned_to(fk_axes, aim, to_joint, normal, turn)
        rotation = quat_product(link.rotation, swing)
        axes = scale_columns(mat_product(fk_axes, quat_matrix(swing)), post_scale)
        x, y, z = mat_column_lengths(scale_columns(axes, link.scale))
        ratios = (_ratio(wanted[0], x), _ratio(wanted[1], y), _ratio(wanted[2], z))
        previous_scale, scale = scale, times(link.scale, ratios)
        if length(sub(scale, previous_scale)) <= FITTED * length(scale):
            break
    return turned_axes(inherited, rotation, scale, post_scale), rotation, scale


def _ratio(wanted: float, present: float) -> float:
    """Return the factor from a length to the wanted length; 1 for a length of 0."""
    return wanted / present if present > 0.0 else 1.0
