"""Look-at: bones that rotate to point the last one at a target.

The other bones take fractions of the rotation, measured from the last bone's position in the FK
pose. The last bone adds the remaining rotation at its new position, so that it points exactly at
the target for any fractions.

Everything is a continuous function of the target. The rotation is undefined for targets straight
behind, or at the bone itself. There the shared part eases back to the FK pose.
"""

from collections.abc import Sequence
from math import atan2, dist, exp, pi, radians
from typing import Final, NamedTuple, final

from ..core import (
    ChainInput,
    Frame,
    Goal,
    Placed,
    Posture,
    State,
    Written,
    facing,
    inherited_axes,
    point_in,
    unit_rotations,
)
from ..core.vectors import (
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
    unit_or,
)
from .easing import smooth

Y_AXIS: Vec = (0.0, 1.0, 0.0)
Z_AXIS: Vec = (0.0, 0.0, 1.0)

UNLIMITED: Final = pi - 1e-6
"""A limit at or above this angle allows every direction."""

BEHIND: Final = radians(150.0)
"""The angle from which the shared part eases back, until straight behind."""

OVERHEAD: Final = 0.2
"""The sine of the angle between gaze and up below which the shared part of the roll fades."""

NEAR: Final = 0.1
"""The distance below which a target is too close, as a fraction of the last bone's length."""

CLOSE: Final = 0.25
"""The distance within which the other bones ease back, relative to the distance from the root to
the last bone.

Otherwise they would move the last bone's head past the target."""


class Look(NamedTuple):
    """The settings of a look-at.

    Attributes:
        axis: The axis of the last bone that points at the target, a unit vector along X, Y or Z.
        up_axis: Another axis, which stays up; None uses the smallest rotation.
        up: The goal direction of that axis in armature space; None uses its direction in the FK
            pose.
        share: The distribution of the rotation: 0 leaves it to the last bone, 1 gives all bones
            equal parts. In between, the parts grow toward the last bone.
        limit: Maximum angle from the FK pose's gaze, in radians; π without a limit.
        softness: The last fraction of the limit, over which the gaze eases out.
    """

    axis: Vec = Z_AXIS
    up_axis: Vec | None = Y_AXIS
    up: Vec | None = None
    share: float = 0.5
    limit: float = pi
    softness: float = 0.0


# Classes instead of named tuples, because their numbers aren't boxed when compiled.


@final
class PosedBone:
    """A posed bone of a chain, computed after its parent, in armature space.

    Attributes:
        fk_rotation: Its local rotation in the FK pose.
        scale: Its scale along the rotated axes.
        arm: The next bone's head, or the bone's tail, in the bone's local space.
        inherited: The axes in which its rotation acts.
        head: Its head.
        rotation: Its local rotation.
        turned: Its axes without its scale.
        axes: Its axes.
        tail: The next bone's head, or the bone's tail.
    """

    def __init__(self, chain: ChainInput, i: int, parent: Mat3, head: Vec) -> None:
        """Set up bone ``i`` in the FK pose, with the axes of its posed parent; then call `turn`."""
        link = chain.links[i]
        self.inherited, post_scale = inherited_axes(link.bone, parent)
        self.fk_rotation = self.rotation = link.rotation
        self.scale = times(link.scale, post_scale)
        self.arm = link.arm
        self.head = head

    def turn(self, rotation: Quat) -> None:
        """Set the local rotation of the bone."""
        self.rotation = rotation
        self.turned = mat_product(self.inherited, quat_matrix(rotation))
        self.axes = scale_columns(self.turned, self.scale)
        self.tail = add(self.head, mat_apply(self.axes, self.arm))


@final
class Gaze:
    """The gaze of the last bone in the FK pose, in armature space, and its limit.

    Attributes:
        ahead: The direction of the gaze.
        side: The part of the up axis perpendicular to `ahead`. Without an up axis, any direction
            perpendicular to it.
        up: The goal direction of the up axis; None uses the smallest rotation.
        local_axis: The look axis in the bone's local space.
        local_side: The axis of `side` in the bone's local space.
        reach: The distance below which a target is too close.
        shared_reach: The same distance for the bones that share the rotation.
        look: The settings, with its limit.
    """

    def __init__(
        self,
        ahead: Vec,
        side: Vec,
        up: Vec | None,
        local_axis: Vec,
        local_side: Vec,
        reach: float,
        shared_reach: float,
        look: Look,
    ) -> None:
        self.ahead = ahead
        self.side = side
        self.up = up
        self.local_axis = local_axis
        self.local_side = local_side
        self.reach = reach
        self.shared_reach = shared_reach
        self.look = look


@final
class Turn:
    """A rotation of the gaze in armature space: first about an axis, then about the gaze itself.

    Attributes:
        axis: The axis, perpendicular to the gaze of the FK pose.
        angle: The angle about the axis, in radians.
        roll: The angle about the rotated gaze, in radians.
        share: The shared fraction of the angle, faded out where it would be discontinuous.
        roll_share: The shared fraction of the roll.
    """

    def __init__(
        self, axis: Vec, angle: float, roll: float, share: float, roll_share: float
    ) -> None:
        self.axis = axis
        self.angle = angle
        self.roll = roll
        self.share = share
        self.roll_share = roll_share


def pose_look(
    chain: ChainInput,
    target: Vec,
    look: Look,
    influence: float = 1.0,
    tolerance: float = 1e-4,
) -> Posture:
    """Pose a chain so that its last bone points at a target.

    The tip of the result is the point that the last bone looks at, at the target's distance. Joint
    limits apply. A bone at its limit passes the remaining rotation on to later bones.

    Args:
        chain: The bones and their FK pose, without a hand.
        target: The target, in armature space.
        look: The settings.
        influence: 0 gives the FK pose, 1 the solution. In between, each bone rotates partly.
        tolerance: Maximum angle to a reached target, in radians.

    Raises:
        ValueError: If a number of the target isn't finite.
    """
    goal = Goal(target)  # Raises ValueError if it isn't finite.
    fk = _posed(chain, [])
    gaze = _gaze(chain, fk[-1].turned, look)
    bones = fk if gaze is None else _turned(chain, fk, gaze, target, look.share)
    tip, missed = _gaze_point(bones[-1], gaze, target)
    state: State = "REACHED"
    if missed > tolerance:
        is_limited = bool(chain.constrained) or look.limit < UNLIMITED
        state = "LIMITED" if is_limited and gaze is not None else "OUT_OF_REACH"
    if influence != 1.0:
        bones = _posed(chain, [slerp(bone.fk_rotation, bone.rotation, influence) for bone in bones])
        tip, _ = _gaze_point(bones[-1], gaze, target)
    numbers: list[float] = []
    for bone in bones:
        numbers.extend(quat_compatible(bone.rotation, bone.fk_rotation))
    residual = length(sub(tip, target))
    placed = Placed(chain, [chain.root, *[bone.tail for bone in bones]], residual)
    return Posture(numbers, tip, state, goal, placed, orientation_error=missed)


def look_in_world(
    chain: ChainInput,
    spaces: tuple[Frame, Frame],
    target: Vec,
    look: Look,
    influence: float,
    tolerance: float,
) -> tuple[Posture, float]:
    """Pose a chain as `pose_look` does, with a target in world space.

    Args:
        chain: The bones and their FK pose.
        spaces: The armature's frame in world space, and its inverse.
        target: The target in world space.
        look: See `pose_look`.
        influence: See `pose_look`.
        tolerance: See `pose_look`.

    Returns:
        The posture, and the distance from its tip to the target in world space.

    Raises:
        ValueError: If a number of the target isn't finite.
    """
    world, to_armature = spaces
    posture = pose_look(chain, point_in(to_armature, target), look, influence, tolerance)
    return posture, dist(point_in(world, posture.tip), target)


def measured_gaze(
    chain: ChainInput,
    written: Written,
    spaces: tuple[Frame, Frame],
    target: Vec,
    tolerance: float,
    look: Look,
) -> tuple[float, bool]:
    """Return the distance of a written chain's gaze from its target, and whether it reaches it.

    Args:
        chain: The bones and their FK pose.
        written: Their written channels.
        spaces: The armature's frame in world space, and its inverse.
        target: The target in world space.
        tolerance: See `pose_look`.
        look: See `pose_look`.

    Returns:
        The distance in world space from the target to the point that the last bone looks at, and
        whether the bone looks at the target.
    """
    gaze = _gaze(chain, _posed(chain, [])[-1].turned, look)
    last = _posed(chain, unit_rotations(written.numbers))[-1]
    tip, missed = _gaze_point(last, gaze, point_in(spaces[1], target))
    rounding = written.rounding * len(chain.links)
    return dist(point_in(spaces[0], tip), target), missed <= tolerance + rounding


def shares(chain: ChainInput, distribution: float) -> list[float]:
    """Return the cumulative fraction of a rotation at each bone of a chain, root first.

    The last fraction is 1. Stiff bones rotate less, and the others more.
    """
    count = len(chain.links)
    parts: list[float] = []
    previous = 0.0
    for i in range(count):
        # In the limit of 0, only the last bone rotates.
        cumulative = (
            ((i + 1) / count) ** (1.0 / distribution)
            if distribution > 0.0
            else float(i + 1 == count)
        )
        compliance = chain.constrained[i].compliance if chain.constrained else 1.0
        parts.append((cumulative - previous) * compliance)
        previous = cumulative
    total = sum(parts)
    sums: list[float] = []
    for part in parts:
        sums.append((sums[-1] if sums else 0.0) + (part / total if total > 0.0 else 0.0))
    return sums


def gaze_angle(angle: float, limit: float, softness: float) -> float:
    """Return how far a gaze rotates toward a target at an angle, both in radians.

    It follows the target up to the limit; with softness, it slows down near the limit. The gaze
    stays at the limit while the target moves halfway from the limit to straight behind. Then it
    rotates back, so that it doesn't jump from side to side when the target passes behind.
    """
    if limit >= UNLIMITED:
        return angle
    start = limit * (1.0 - softness)
    turned = min(angle, limit)
    if angle > start and softness > 0.0:
        soft = limit * softness
        turned = start + soft * (1.0 - exp((start - angle) / soft)) if soft > 0.0 else 0.0
    return turned * _ease_out(angle, 0.5 * (limit + pi))


def _turned(
    chain: ChainInput, fk: list[PosedBone], gaze: Gaze, target: Vec, distribution: float
) -> list[PosedBone]:
    """Return the bones of a chain, posed so that the last one looks at a target.

    Args:
        chain: The bones and their FK pose.
        fk: The bones posed in FK.
        gaze: The gaze in the FK pose.
        target: The target, in armature space.
        distribution: See `Look.share`.
    """
    last = len(fk) - 1
    parts: list[float] = []
    turn: Turn | None = None
    if last > 0:
        parts = shares(chain, distribution)
        if parts[last - 1] > 0.0:
            turn = _turn(gaze, chain.joints[-2], target)
    axes, head = chain.parent[0], chain.root
    bones: list[PosedBone] = []
    for i, fk_bone in enumerate(fk):
        bone = PosedBone(chain, i, axes, head)
        constrained = chain.constrained[i] if chain.constrained else None
        if constrained is not None and constrained.compliance == 0.0:
            pass  # A fully stiff bone keeps its FK pose.
        elif i == last:
            whole = _turn(gaze, head, target)
            quat = _quat(gaze, whole, whole.angle, whole.roll)
            goal_axes = rotate(quat, gaze.ahead), rotate(quat, gaze.side)
            rotation = facing(bone.inherited, (gaze.local_axis, gaze.local_side), goal_axes)
            if rotation is not None:
                bone.rotation = rotation
        elif turn is not None and parts[i] > 0.0:
            part = parts[i]
            quat = _quat(
                gaze, turn, turn.angle * (part * turn.share), turn.roll * (part * turn.roll_share)
            )
            _, y, z = mat_columns(fk_bone.turned)
            goal_axes = rotate(quat, y), rotate(quat, z)
            rotation = facing(bone.inherited, (Y_AXIS, Z_AXIS), goal_axes)
            if rotation is not None:
                bone.rotation = rotation
        bone.turn(bone.rotation if constrained is None else constrained.held(bone.rotation, axes))
        bones.append(bone)
        axes, head = bone.axes, bone.tail
    return bones


def _turn(gaze: Gaze, head: Vec, target: Vec) -> Turn:
    """Return the rotation that points the last bone at a target, for a position of its head."""
    to_target = sub(target, head)
    distance = length(to_target)
    direction = unit_or(to_target, gaze.ahead)
    angle = angle_between(gaze.ahead, direction)
    # Straight behind, any axis is valid. Turn the head instead of tilting it.
    axis = unit_or(across(cross(gaze.ahead, direction), gaze.ahead), gaze.side)
    turned = gaze_angle(angle, gaze.look.limit, gaze.look.softness) * _ease_in(distance, gaze.reach)
    shared_fraction = _ease_out(angle, BEHIND) * _ease_in(distance, gaze.shared_reach)
    if gaze.up is None:
        return Turn(axis, turned, 0.0, shared_fraction, 0.0)
    swing = quat_about(axis, turned)
    ahead, side = rotate(swing, gaze.ahead), rotate(swing, gaze.side)
    up = across(gaze.up, ahead)
    height = length(up)
    # The roll of a gaze straight up or down is undefined.
    roll = atan2(dot(cross(side, up), ahead), dot(side, up)) if height > 1e-9 else 0.0
    roll_share = shared_fraction * _ease_out(abs(roll), BEHIND) * _ease_in(height, OVERHEAD)
    return Turn(axis, turned, roll, shared_fraction, roll_share)


def _quat(gaze: Gaze, turn: Turn, angle: float, roll: float) -> Quat:
    """Return a rotation of a gaze, or a part of it, as a quaternion in armature space.

    Args:
        gaze: The gaze before the rotation.
        turn: The complete rotation.
        angle: The angle about its axis.
        roll: The angle about the rotated gaze, unless the complete rotation has no roll.
    """
    swing = quat_about(turn.axis, angle)
    if turn.roll == 0.0:
        return swing
    return quat_product(quat_about(rotate(swing, gaze.ahead), roll), swing)


def _gaze(chain: ChainInput, fk_axes: Mat3, look: Look) -> Gaze | None:
    """Return the gaze of the last bone, from its unscaled FK axes; None if they are singular."""
    x, y, z = chain.links[-1].scale
    # Negative scales mirror the axes.
    signs = (-1.0 if x < 0.0 else 1.0, -1.0 if y < 0.0 else 1.0, -1.0 if z < 0.0 else 1.0)
    look_axis, up_axis = look.axis, look.up_axis
    local_axis = times(look_axis, signs)
    local_side = times(any_perpendicular(look_axis) if up_axis is None else up_axis, signs)
    ahead = unit(mat_apply(fk_axes, local_axis))
    if ahead is None:
        return None
    raised = mat_apply(fk_axes, local_side)
    side = unit(across(raised, ahead))
    if side is None:
        return None
    up = None if up_axis is None else unit(look.up or raised)
    head = chain.joints[-2]
    reach = NEAR * (length(sub(chain.joints[-1], head)) or chain.chain.scale)
    shared_reach = max(reach, CLOSE * length(sub(head, chain.root)))
    return Gaze(ahead, side, up, local_axis, local_side, reach, shared_reach, look)


def _posed(chain: ChainInput, rotations: Sequence[Quat]) -> list[PosedBone]:
    """Return the bones of a chain with local rotations; in the FK pose if these are empty."""
    axes, head = chain.parent[0], chain.root
    bones: list[PosedBone] = []
    for i in range(len(chain.links)):
        bone = PosedBone(chain, i, axes, head)
        bone.turn(rotations[i] if rotations else bone.fk_rotation)
        bones.append(bone)
        axes, head = bone.axes, bone.tail
    return bones


def _gaze_point(bone: PosedBone, gaze: Gaze | None, target: Vec) -> tuple[Vec, float]:
    """Return the point that the last bone looks at, and its angle from the target."""
    none = (0.0, 0.0, 0.0)
    ahead = none if gaze is None else unit_or(mat_apply(bone.turned, gaze.local_axis), none)
    if ahead == none:
        return bone.tail, pi
    to_target = sub(target, bone.head)
    return add(bone.head, scaled(ahead, length(to_target))), angle_between(ahead, to_target)


def angle_between(a: Vec, b: Vec) -> float:
    """Return the angle between two directions, from 0 to π radians."""
    return atan2(length(cross(a, b)), dot(a, b))


def _ease_in(value: float, end: float) -> float:
    """Return a smoothstep that rises from 0 at value 0 to 1 at the end."""
    return smooth(value / end) if end > 0.0 else 1.0


def _ease_out(angle: float, start: float) -> float:
    """Return a smoothstep that falls from 1 at the start to 0 at π."""
    return 1.0 - _ease_in(max(0.0, angle - start), pi - start)
