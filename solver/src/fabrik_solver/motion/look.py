"""Look-at: bones that rotate so that the last one points at a target.

The bones before the last one take their shares of the rotation, measured from the last one's
position in the FK pose; the last one makes up the rest from where they have carried it, so that it
points exactly at the target whatever the shares are.

Everything is a continuous function of the target. The rotation is undefined in two places: straight
behind, and at the bone itself. There the shared part eases back to the FK pose.
"""

from collections.abc import Sequence
from math import atan2, exp, pi, radians
from typing import Final, NamedTuple

from ..core import Chain, ChainInput, Goal, Posture, Solution, State, facing, inherited_axes
from ..core.vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    across,
    add,
    any_perpendicular,
    cross,
    dot,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    quat_about,
    quat_compatible,
    quat_matrix,
    quat_product,
    rotate,
    scale_columns,
    scaled,
    slerp,
    sub,
    times,
    unit,
)
from .easing import smooth

Y_AXIS: Vec = (0.0, 1.0, 0.0)
Z_AXIS: Vec = (0.0, 0.0, 1.0)

UNLIMITED: Final = pi - 1e-6
"""A limit at or above this angle allows every direction."""

BEHIND: Final = radians(150.0)
"""The angle from which the shared part eases back, to straight behind."""

OVERHEAD: Final = 0.2
"""The sine of the angle between gaze and up below which the shared part of the roll fades."""

NEAR: Final = 0.1
"""The distance below which a target is too close, as a share of the last bone's length."""

CLOSE: Final = 0.25
"""The distance, relative to that from root to last bone, within which the bones before ease back.

Otherwise they would move the last bone's head past the target."""


class Look(NamedTuple):
    """The settings of a look-at.

    Attributes:
        axis: The axis of the last bone that points at the target, a unit vector along X, Y or Z.
        up_axis: The axis to keep up, along another axis; None takes the smallest rotation.
        up: Its direction in armature space, as nearly as possible; None takes that of the FK pose.
        share: The shares of the rotation: 0 leaves it to the last bone, 1 gives each an equal part,
            between them the shares grow toward the last bone.
        limit: The largest angle from the FK pose's gaze, in radians; π for any.
        softness: The last share of the limit, over which the gaze eases out.
    """

    axis: Vec = Z_AXIS
    up_axis: Vec | None = Y_AXIS
    up: Vec | None = None
    share: float = 0.5
    limit: float = pi
    softness: float = 0.0


class Gaze(NamedTuple):
    """The gaze of the last bone under the FK pose, in armature space.

    Attributes:
        ahead: The direction of its gaze.
        side: The direction perpendicular to it of the axis to keep up, or of another one.
        up: The goal_axes direction of that; None takes the smallest rotation.
        own: The two axes before the bone's rotation.
        reach: The distance below which a target is too close.
        shared_reach: The same for the bones that share the rotation.
    """

    ahead: Vec
    side: Vec
    up: Vec | None
    own: tuple[Vec, Vec]
    reach: float
    shared_reach: float


class Turn(NamedTuple):
    """A rotation of the gaze in armature space: about an axis, and then about the gaze itself.

    Attributes:
        axis: The axis, perpendicular to the gaze of the FK pose.
        angle: The angle about it.
        roll: The angle about the rotated gaze.
        share: The part of both that is shared, faded out where it would be discontinuous.
    """

    axis: Vec
    angle: float
    roll: float
    share: tuple[float, float]


NO_TURN: Final = Turn(Z_AXIS, 0.0, 0.0, (0.0, 0.0))


def pose_look(
    chain: ChainInput,
    target: Vec,
    look: Look,
    influence: float = 1.0,
    tolerance: float = 1e-4,
) -> Posture:
    """Pose a chain so that its last bone points at a target.

    The tip of the result is the point that the last bone looks at, at the target's distance. Joint
    limits hold; a bone at its limit leaves the rest to later ones.

    Args:
        chain: The bones and their FK pose, without a hand.
        target: The target, in armature space.
        look: The settings.
        influence: 0 gives the FK pose, 1 the solution; between them each bone turns part of the
            way.
        tolerance: The angle, in radians, up to which the gaze counts as on the target.

    Raises:
        ValueError: If a number of the target is not finite.
    """
    goal = Goal(target)  # Raises if it is not finite.
    _, fk_axes = _joints_and_axes(chain, chain.rotations)
    gaze = _gaze(chain, fk_axes[-1], look)
    rotations = (
        [*chain.rotations] if gaze is None else _rotations(chain, fk_axes, gaze, target, look)
    )
    joints, axes = _joints_and_axes(chain, rotations)
    tip, missed = _gaze_point(joints, axes[-1], gaze, target)
    state: State = "REACHED"
    if missed > tolerance:
        is_limited = bool(chain.constrained) or look.limit < UNLIMITED
        state = "LIMITED" if is_limited and gaze is not None else "OUT_OF_REACH"
    if influence != 1.0:
        pairs = zip(chain.rotations, rotations, strict=True)
        rotations = [slerp(fk, turned, influence) for fk, turned in pairs]
        joints, axes = _joints_and_axes(chain, rotations)
        tip, _ = _gaze_point(joints, axes[-1], gaze, target)
    solved = Chain(tuple(joints))
    numbers: list[float] = []
    for fk, rotation in zip(chain.rotations, rotations, strict=True):
        numbers.extend(quat_compatible(rotation, fk))
    residual = length(sub(tip, target))
    solution = Solution(solved, solved.start, state, state == "REACHED", residual, 0, ORIGIN)
    return Posture(numbers, tip, state, goal, solution, orientation_error=missed)


def shares(chain: ChainInput, share: float) -> list[float]:
    """Return the cumulative shares of a rotation at each bone of a chain, root first.

    The last one is 1. Stiff bones take less, and the others more.
    """
    count = len(chain.links)
    parts: list[float] = []
    before = 0.0
    for i in range(count):
        # In the limit of 0 only the last bone is left.
        after = ((i + 1) / count) ** (1.0 / share) if share > 0.0 else float(i + 1 == count)
        ease = chain.constrained[i].compliance if chain.constrained else 1.0
        parts.append((after - before) * ease)
        before = after
    total = sum(parts)
    sums: list[float] = []
    for part in parts:
        sums.append((sums[-1] if sums else 0.0) + (part / total if total > 0.0 else 0.0))
    return sums


def gaze_angle(angle: float, limit: float, softness: float) -> float:
    """Return how far a gaze turns to a target that is off by an angle, both in radians.

    It follows the target up to the limit, with softness more slowly near it. There it stays until
    halfway between the limit and straight behind; then it turns back, so that it does not jump from
    side to side when the target passes behind.
    """
    if limit >= UNLIMITED:
        return angle
    start = limit * (1.0 - softness)
    turned = min(angle, limit)
    if angle > start and softness > 0.0:
        soft = limit * softness
        turned = start + soft * (1.0 - exp((start - angle) / soft)) if soft > 0.0 else 0.0
    return turned * _ease_out(angle, 0.5 * (limit + pi))


def _rotations(
    chain: ChainInput, fk_axes: list[Mat3], gaze: Gaze, target: Vec, look: Look
) -> list[Quat]:
    """Return the local rotations of the bones."""
    parts = shares(chain, look.share)
    turn = NO_TURN
    if len(parts) > 1 and parts[-2] > 0.0:
        turn = _turn(gaze, chain.joints[-2], target, look)
    axes, head = chain.parent[0], chain.root
    rotations: list[Quat] = []
    for i, (link, part) in enumerate(zip(chain.links, parts, strict=True)):
        inherited, post_scale = inherited_axes(link.bone, axes)
        constrained = chain.constrained[i] if chain.constrained else None
        rotation = link.rotation
        if constrained is not None and constrained.compliance == 0.0:
            pass  # Fully stiff: keeps its FK pose.
        elif i + 1 == len(chain.links):
            whole = _quat(gaze, _turn(gaze, head, target, look))
            goal_axes = rotate(whole, gaze.ahead), rotate(whole, gaze.side)
            rotation = facing(inherited, gaze.own, goal_axes) or rotation
        elif part > 0.0:
            shared = _quat(gaze, turn, part * turn.share[0], part * turn.share[1])
            _, y, z = mat_columns(fk_axes[i])
            goal_axes = rotate(shared, y), rotate(shared, z)
            rotation = facing(inherited, (Y_AXIS, Z_AXIS), goal_axes) or rotation
        if constrained is not None:
            rotation = constrained.allowed(rotation)
        rotations.append(rotation)
        turned = mat_product(inherited, quat_matrix(rotation))
        axes = scale_columns(turned, times(link.scale, post_scale))
        head = add(head, mat_apply(axes, link.arm))
    return rotations


def _turn(gaze: Gaze, head: Vec, target: Vec, look: Look) -> Turn:
    """Return the rotation that points the last bone at a target, fk its head."""
    way = sub(target, head)
    to = unit(way) or gaze.ahead
    angle = angle_between(gaze.ahead, to)
    # Straight behind, any axis will do: turn the head instead of tilting it.
    axis = unit(across(cross(gaze.ahead, to), gaze.ahead)) or gaze.side
    turned = gaze_angle(angle, look.limit, look.softness) * _ease_in(length(way), gaze.reach)
    share = _ease_out(angle, BEHIND) * _ease_in(length(way), gaze.shared_reach)
    if gaze.up is None:
        return Turn(axis, turned, 0.0, (share, 0.0))
    swing = quat_about(axis, turned)
    ahead, side = rotate(swing, gaze.ahead), rotate(swing, gaze.side)
    up = across(gaze.up, ahead)
    # Straight up or down the roll is undefined.
    roll = atan2(dot(cross(side, up), ahead), dot(side, up)) if length(up) > 1e-9 else 0.0
    roll_share = share * _ease_out(abs(roll), BEHIND) * _ease_in(length(up), OVERHEAD)
    return Turn(axis, turned, roll, (share, roll_share))


def _quat(gaze: Gaze, turn: Turn, angle: float = 1.0, roll: float = 1.0) -> Quat:
    """Return parts of a rotation as a quaternion in armature space."""
    swing = quat_about(turn.axis, turn.angle * angle)
    if turn.roll == 0.0:
        return swing
    return quat_product(quat_about(rotate(swing, gaze.ahead), turn.roll * roll), swing)


def _gaze(chain: ChainInput, fk_axes: Mat3, look: Look) -> Gaze | None:
    """Return the gaze of the last bone under the FK pose; None if its axes are singular.

    Args:
        chain: The bones.
        fk_axes: The axes of the last one under the FK pose, without its scale.
        look: The settings.
    """
    x, y, z = chain.links[-1].scale
    # Negative scales mirror the axes.
    signs = (-1.0 if x < 0.0 else 1.0, -1.0 if y < 0.0 else 1.0, -1.0 if z < 0.0 else 1.0)
    axis = times(look.axis, signs)
    other = times(look.up_axis or any_perpendicular(look.axis), signs)
    ahead = unit(mat_apply(fk_axes, axis))
    raised = mat_apply(fk_axes, other)
    if ahead is None:
        return None
    side = unit(across(raised, ahead))
    if side is None:
        return None
    up = None if look.up_axis is None else unit(look.up or raised)
    size = length(sub(chain.joints[-1], chain.joints[-2])) or chain.chain.scale
    reach = NEAR * size
    shared_reach = max(reach, CLOSE * length(sub(chain.joints[-2], chain.root)))
    return Gaze(ahead, side, up, (axis, other), reach, shared_reach)


def _joints_and_axes(chain: ChainInput, rotations: Sequence[Quat]) -> tuple[list[Vec], list[Mat3]]:
    """Return the heads and the tail of a chain under rotations, and its unscaled axes."""
    axes, head = chain.parent[0], chain.root
    joints = [head]
    found: list[Mat3] = []
    for link, rotation in zip(chain.links, rotations, strict=True):
        inherited, post_scale = inherited_axes(link.bone, axes)
        turned = mat_product(inherited, quat_matrix(rotation))
        found.append(turned)
        axes = scale_columns(turned, times(link.scale, post_scale))
        head = add(head, mat_apply(axes, link.arm))
        joints.append(head)
    return joints, found


def _gaze_point(joints: list[Vec], axes: Mat3, gaze: Gaze | None, target: Vec) -> tuple[Vec, float]:
    """Return the point that the last bone looks at, and the angle by which it misses the target."""
    ahead = None if gaze is None else unit(mat_apply(axes, gaze.own[0]))
    if ahead is None:
        return joints[-1], pi
    way = sub(target, joints[-2])
    missed = angle_between(ahead, way)
    return add(joints[-2], scaled(ahead, length(way))), missed


def angle_between(a: Vec, b: Vec) -> float:
    """Return the angle between two directions, from 0 to π."""
    return atan2(length(cross(a, b)), dot(a, b))


def _ease_in(value: float, end: float) -> float:
    """Return a smoothstep from 0 at 0 to 1 at the end."""
    return smooth(value / end) if end > 0.0 else 1.0


def _ease_out(angle: float, start: float) -> float:
    """Return a smoothstep from 1 at the start to 0 at π."""
    return 1.0 - _ease_in(max(0.0, angle - start), pi - start)
