"""The orientation of a tip bone, and how the bones before it reach.

The tip bone is called the hand, the bones before it the limb. Solving the limb puts the head of the
oriented hand where its tip reaches the target.
"""

from collections.abc import Sequence
from typing import Final, final

from .block_solver import Effector
from .bones import Local, facing, inherited_axes, turned_axes
from .chain import Goal, Point, State, in_space
from .frames import Frame, point_in
from .landing import EXACT
from .limit_solver import ConstrainedBone, Linkage, solve_with_limits
from .methods import SOLVERS, fitting
from .posture import ChainInput, Posture, chain_frames
from .reach import distance_to
from .stretch import Stretch, reach_stretched
from .twist import with_shared_twist
from .vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    dot,
    length,
    mat_apply,
    mat_columns,
    mat_from_columns,
    mat_product,
    mix,
    orthonormalize,
    quat_angle,
    quat_compatible,
    quat_matrix,
    scale_columns,
    scaled,
    slerp,
    sub,
)

ROUNDS: Final = 30
"""Maximum number of solves for the hand's head. One is enough unless a limit or non-uniform
scale changes the vector from the head to the tip as the limb rotates."""


@final
class Tip:
    """The target orientation of a tip bone.

    Attributes:
        ahead: The direction of its Y axis, a unit vector.
        up: The direction of its Z axis, a unit vector perpendicular to ``ahead``.
        weight: From 0, at which the hand follows the chain, to 1.
        spread: The fraction of its twist to spread over the bones before it, from 0 to 1.
    """

    ahead: Vec
    up: Vec

    def __init__(self, axes: Mat3, weight: float = 1.0, spread: float = 0.0) -> None:
        """Set the orientation.

        Args:
            axes: The axes to match, in the space of the goal. Only Y and the component of Z
                perpendicular to it are used; scale, shear and mirroring are ignored.
            weight: See above.
            spread: See above.

        Raises:
            ValueError: If the axes have no orientation, or a number isn't from 0 to 1.
        """
        upright = orthonormalize(axes)
        if upright is None:
            raise ValueError("the tip has no orientation: give axes Y and Z that differ")
        if not 0.0 <= weight <= 1.0 or not 0.0 <= spread <= 1.0:
            raise ValueError("the weight and the spread of the tip must be from 0 to 1")
        _, self.ahead, self.up = mat_columns(upright)
        self.weight = weight
        self.spread = spread

    def seen_from(self, to_there: Mat3) -> "Tip":
        """Return the same orientation in another space; the matrix transforms directions to it."""
        axes = mat_from_columns(ORIGIN, self.ahead, self.up)
        return Tip(mat_product(to_there, axes), self.weight, self.spread)


def reach_oriented(
    chain: ChainInput,
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    tip: Tip,
    stretch: Stretch | None,
) -> Posture:
    """Solve a chain with an oriented hand; see `pose_chain` for the arguments.

    At weights between 0 and 1 the two solutions are blended bone by bone. The limb then reaches
    once more from the blend, with the blended hand. Only the limb stretches.

    Raises:
        ValueError: If the chain has no hand, or the solver doesn't fit its number of bones.
    """
    hand, limb = chain.hand, chain.limb or chain
    if hand is None:
        raise ValueError("the chain has no bone that can be oriented: make it with a hand")
    method = SOLVERS[solver]
    if not (method.suits(len(limb.links)) or method.suits(len(chain.links))):
        raise ValueError(f"{solver} solves limbs of {method.bones} bones: choose FABRIK or CCD")
    if tip.weight == 0.0:
        return _plain(chain, hand, goal, solver, iterations, tolerance, stretch)
    full = _oriented(limb, hand, goal, solver, iterations, tolerance, tip, stretch)
    if tip.weight == 1.0:
        return full
    plain = _plain(chain, hand, goal, solver, iterations, tolerance, stretch)
    pairs = zip(plain.rotations, full.rotations, strict=True)
    mixed = [slerp(a, b, tip.weight) for a, b in pairs]
    start = limb.turned(mixed[:-1])
    scale = mix(plain.scales[-1], hand.scale, tip.weight) if plain.scales else hand.scale
    constrained = _other(hand, mixed[-1], scale, hand.stiffness)
    posture = _oriented(
        start,
        constrained,
        goal,
        solver,
        iterations,
        tolerance,
        Tip(_axes_of(start, constrained)),
        stretch,
    )
    # Even with a partial weight, this is the error of the full orientation.
    return _posture(
        posture,
        limb,
        hand,
        posture.rotations,
        max(full.orientation_error, posture.orientation_error),
    )


def _plain(
    chain: ChainInput,
    hand: ConstrainedBone,
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    stretch: Stretch | None,
) -> Posture:
    """Solve the chain without orienting the hand, which keeps its FK rotation."""
    solver = fitting(solver, len(chain.links))
    posture = reach_stretched(chain, goal, solver, iterations, tolerance, stretch)
    if chain.limb is None:
        posture.numbers.extend(hand.fk_rotation)
        posture.scales = _with_hand(posture.scales, hand)
    return posture


def _with_hand(scales: tuple[Vec, ...], hand: ConstrainedBone) -> tuple[Vec, ...]:
    """Return the scales of a limb and its hand; empty if the limb hasn't stretched."""
    return (*scales, hand.scale) if scales else ()


def _other(hand: ConstrainedBone, rotation: Quat, scale: Vec, stiffness: float) -> ConstrainedBone:
    """Return the hand with another rotation and scale as its FK pose, and another stiffness."""
    local = Local(ORIGIN, rotation, scale)
    return ConstrainedBone(hand.bone, local, hand.parent, hand.at, hand.arm, hand.limit, stiffness)


def _axes_of(limb: ChainInput, hand: ConstrainedBone) -> Mat3:
    """Return the normalized axes of the hand in the FK pose of limb and hand."""
    parent_axes = chain_frames(limb, limb.rotations)[-1][0]
    inherited, post_scale = inherited_axes(hand.bone, parent_axes)
    ahead, up = _own_axes(hand, post_scale)
    turned = mat_product(inherited, quat_matrix(hand.fk_rotation))
    return mat_from_columns(ORIGIN, mat_apply(turned, ahead), mat_apply(turned, up))


def _own_axes(hand: ConstrainedBone, post_scale: Vec) -> tuple[Vec, Vec]:
    """Return the directions in the unrotated hand that become its scaled Y and Z axes."""
    y, z = hand.scale[1] * post_scale[1], hand.scale[2] * post_scale[2]
    return (0.0, -1.0 if y < 0.0 else 1.0, 0.0), (0.0, 0.0, -1.0 if z < 0.0 else 1.0)


def _oriented(
    limb: ChainInput,
    hand: ConstrainedBone,
    goal: Goal,
    solver: str,
    iterations: int,
    tolerance: float,
    tip: Tip,
    stretch: Stretch | None,
) -> Posture:
    """Return the pose with the hand fully oriented, or as far as its limit allows.

    Args:
        limb: The bones before the hand.
        hand: The hand in its FK pose.
        goal: The goal of the tip.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        tip: The orientation; its weight is ignored.
        stretch: How far the limb may stretch.
    """
    solver = fitting(solver, len(limb.links))
    # The vector from the hand's head to the tip rarely depends on the limb's pose.
    lever = sub(_handed(limb, hand, [*limb.rotations], tip, 0.0)[1], limb.joints[-1])
    size = limb.chain.scale + length(lever)
    secant, step, change = Secant(), ORIGIN, ORIGIN
    rounds = 0
    while True:
        moved = _moved(goal, lever)
        posture = reach_stretched(limb, moved, solver, iterations, tolerance, stretch)
        grown = limb.with_scales(posture.scales) if posture.scales else limb
        rotations, tip_position, orientation_error = _handed(
            grown, hand, [*posture.rotations], tip, tip.spread
        )
        previous_change, change = change, sub(sub(tip_position, posture.tip), lever)
        rounds += 1
        if length(change) <= EXACT * size or rounds == ROUNDS:
            break
        if rounds > 1:
            secant.learn(step, sub(change, previous_change))
        step = secant.step(change, size)
        lever = add(lever, step)
    residual = distance_to(tip_position, goal.target)
    if length(change) > tolerance * size:
        gap, settled = _settled(grown, hand, rotations, goal.target, tolerance * size)
        if gap < residual:
            rotations, residual = settled, gap
            last = chain_frames(grown, rotations)[-1]
            tip_position = _place(grown, hand, last, rotations[-1])
            orientation_error = quat_angle(rotations[-1], _wanted(hand, last[0], tip))
    reached = residual <= (1.0 + 1e-9) * tolerance * size
    state: State = "REACHED" if reached else posture.state
    if not reached and state == "REACHED":
        state = "OUT_OF_REACH" if hand.limit is None and hand.compliance == 1.0 else "LIMITED"
    scales = _with_hand(posture.scales, hand)
    answer = Posture([], tip_position, state, posture.goal, posture.solution, scales)
    return _posture(answer, limb, hand, rotations, orientation_error)


@final
class Secant:
    """Broyden's method in three dimensions.

    Attributes:
        inverse_jacobian: The approximate inverse Jacobian.
    """

    def __init__(self) -> None:
        self.inverse_jacobian = scale_columns(IDENTITY, (-1.0, -1.0, -1.0))

    def step(self, change: Vec, most: float) -> Vec:
        """Return the step that should cancel a residual, at most ``most`` long."""
        step = scaled(mat_apply(self.inverse_jacobian, change), -1.0)
        return scaled(step, min(1.0, most / max(length(step), 1e-300)))

    def learn(self, step: Vec, difference: Vec) -> None:
        """Update the inverse Jacobian with the difference made by a step."""
        expected = mat_apply(self.inverse_jacobian, difference)
        size = dot(step, expected)
        if abs(size) < 1e-9 * dot(step, step):
            return
        x, y, z = mat_columns(self.inverse_jacobian)
        row = (dot(step, x) / size, dot(step, y) / size, dot(step, z) / size)
        error = sub(step, expected)
        self.inverse_jacobian = mat_from_columns(
            add(x, scaled(error, row[0])),
            add(y, scaled(error, row[1])),
            add(z, scaled(error, row[2])),
        )


def _moved(goal: Goal, lever: Vec) -> Goal:
    """Return the goal of the hand's head; ``lever`` is the vector from the head to the tip."""
    target = sub(in_space(goal.target), lever)
    angle, weight = goal.pole_angle, goal.pole_weight
    return Goal(target, goal.pole, angle, weight, goal.softness, goal.swing, goal.is_hint)


def _posture(
    posture: Posture,
    limb: ChainInput,
    hand: ConstrainedBone,
    rotations: Sequence[Quat],
    orientation_error: float,
) -> Posture:
    """Return a posture of limb and hand with other rotations, and with the state they result in."""
    fk_rotations = [*limb.rotations, hand.fk_rotation]
    numbers: list[float] = []
    for i, rotation in enumerate(rotations):
        numbers.extend(quat_compatible(rotation, fk_rotations[i]))
    answer = Posture(
        numbers,
        posture.tip,
        posture.state,
        posture.goal,
        posture.solution,
        posture.scales,
        orientation_error,
    )
    if answer.state == "REACHED" and answer.has_orientation_error:
        answer.state = "LIMITED"
    return answer


def _handed(
    limb: ChainInput, hand: ConstrainedBone, rotations: list[Quat], tip: Tip, spread: float
) -> tuple[list[Quat], Vec, float]:
    """Orient the hand of a limb, as far as its limit allows.

    Returns:
        The rotations of the limb and the hand, the position of the tip, and the orientation
        error in radians.
    """
    last = chain_frames(limb, rotations)[-1]
    if spread > 0.0:
        wanted = _wanted(hand, last[0], tip)
        rotations = with_shared_twist(limb, rotations, hand, wanted, spread)
        last = chain_frames(limb, rotations)[-1]
    rotation, orientation_error = oriented(hand, last[0], tip)
    return [*rotations, rotation], _place(limb, hand, last, rotation), orientation_error


def oriented(hand: ConstrainedBone, parent_axes: Mat3, tip: Tip) -> tuple[Quat, float]:
    """Return the local rotation that orients a hand as far as its limit allows, at full weight.

    Args:
        hand: The hand.
        parent_axes: The axes of its parent.
        tip: The orientation.

    Returns:
        The rotation, and the orientation error in radians.
    """
    wanted = _wanted(hand, parent_axes, tip)
    rotation = slerp(hand.fk_rotation, wanted, hand.compliance) if hand.compliance < 1.0 else wanted
    rotation = hand.held(rotation, parent_axes)
    return rotation, quat_angle(rotation, wanted)


def _wanted(hand: ConstrainedBone, parent_axes: Mat3, tip: Tip) -> Quat:
    """Return the local rotation that orients the hand, ignoring limits.

    It is the FK rotation if the parent has zero scale.
    """
    inherited, post_scale = inherited_axes(hand.bone, parent_axes)
    axes = _own_axes(hand, post_scale)
    return facing(inherited, axes, (tip.ahead, tip.up)) or hand.fk_rotation


def _place(limb: ChainInput, hand: ConstrainedBone, last: Frame, rotation: Quat) -> Vec:
    """Return the position of the tip from the frame of the limb's last bone."""
    inherited, post_scale = inherited_axes(hand.bone, last[0])
    axes = turned_axes(inherited, rotation, hand.scale, post_scale)
    return add(point_in(last, limb.links[-1].arm), mat_apply(axes, hand.arm))


def _settled(
    limb: ChainInput, hand: ConstrainedBone, rotations: list[Quat], target: Point, near: float
) -> tuple[float, list[Quat]]:
    """Bring the tip to the target with the hand fixed to the bone before it.

    This is for hands at their limit or under non-uniform scale, for which `Secant` doesn't
    converge. Position takes priority over orientation.

    Returns:
        The residual, and the rotations of limb and hand.
    """
    bones: list[ConstrainedBone] = []
    for i, link in enumerate(limb.links):
        limit = limb.constrained[i].limit if limb.constrained else None
        stiffness = limb.constrained[i].stiffness if limb.constrained else 0.0
        at = limb.links[i - 1].arm if i else ORIGIN
        local = Local(ORIGIN, rotations[i], link.scale)
        bones.append(ConstrainedBone(link.bone, local, i - 1, at, link.arm, limit, stiffness))
    bones.append(_other(hand, rotations[-1], hand.scale, 1.0))
    effector = Effector(len(bones) - 1, hand.arm, in_space(target))
    linkage = Linkage(bones, [effector], limb.parent[0], limb.root)
    starts = [linkage.of_joints(rotations)]
    residual, _ = solve_with_limits(linkage, starts, min(near, EXACT), near)
    return residual, linkage.channels()
