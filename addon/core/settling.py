"""The rotation pass: it brings joints into their limits, and the tip to its target within them."""

from math import acos, atan2, sqrt
from typing import Final, final

from .bones import Bone, inherited_axes, turned_axes
from .limits import Hinge, Limit
from .vectors import (
    NO_TURN,
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    any_across,
    cross,
    dot,
    length,
    mat_apply,
    mat_direction_before,
    mat_solved,
    mat_symmetric_solved,
    quat_about,
    quat_between,
    quat_mix,
    quat_product,
    quat_turn,
    quat_turned_by,
    quat_unit,
    scaled,
    sub,
    times,
    unit,
)

STEPS: Final = 30
"""The most steps from one start."""

ALL_STEPS: Final = 100
"""After so many steps the target is not sought from another start; and as many more at most are
made to come as near to it as the limits allow."""

KEPT: Final = 1e-12
"""A rotation is within a limit whose nearest has a cosine of half the angle so near to 1."""

ROUNDS: Final = 6
"""How often a step is made again for joints that it brought to their limits."""

GAIN: Final = 3e-3
LEAST_GAIN: Final = 1e-6
"""The share of the gap that a step closes at least, if another one is to follow; the smaller one
where the target is out of the limits, and the nearest pose is wanted."""


@final
class Held:
    """A bone of a chain with limits, and where it is while they are kept.

    Attributes:
        bone: What Edit Mode fixes of it.
        given: The FK input's rotation.
        scale: The FK input's scale.
        arm: The next bone's head, or the tip, in the space of the posed bone.
        limit: What it allows, if it is limited.
        ease: How readily it leaves the FK input: 1 without stiffness, 0 if it never does.
        rotation: Its local rotation.
        tried: The same after the step that is being made.
        head: Where its head stands.
        axes: The inherited axes, in which the rotation acts.
        lever: The way from the head to the tip, in these axes.
        turn: What it turns by in the step that is being made, as a rotation vector.
        edges: The normals of its limit where it is (see `Limit.normals`).
        held: Which of these it is held at, a bit for each.
        walls: The same as axes at right angles.
    """

    __slots__ = (
        "arm",
        "axes",
        "bone",
        "ease",
        "edges",
        "given",
        "head",
        "held",
        "lever",
        "limit",
        "rotation",
        "scale",
        "tried",
        "turn",
        "walls",
    )
    bone: Bone
    given: Quat
    scale: Vec
    arm: Vec
    limit: Limit | None
    ease: float
    rotation: Quat
    tried: Quat
    head: Vec
    axes: Mat3
    lever: Vec
    turn: Vec
    edges: list[Vec]
    held: int
    walls: list[Vec]

    def __init__(
        self, bone: Bone, given: Quat, scale: Vec, arm: Vec, limit: Limit | None, ease: float
    ) -> None:
        self.bone = bone
        self.given = given
        self.scale = scale
        self.arm = arm
        self.limit = limit
        self.ease = ease
        self.rotation = given
        self.tried = given
        self.head = ORIGIN
        self.axes = bone.rest
        self.lever = ORIGIN
        self.turn = ORIGIN
        self.edges = []
        self.held = 0
        self.walls = []

    def allowed(self, rotation: Quat) -> Quat:
        """Return the rotation, or one near it that the limit allows."""
        return rotation if self.limit is None else self.limit.nearest(rotation)

    def keeps(self, rotation: Quat) -> bool:
        """Return whether the rotation is within the limit, and stiffness has no say in it."""
        return self.ease == 1.0 and self.is_within(rotation)

    def is_within(self, rotation: Quat) -> bool:
        """Return whether the rotation is within the limit."""
        return abs(_cosine(rotation, self.allowed(rotation))) > 1.0 - KEPT


def hold(
    bones: list[Held],
    solved: list[Quat],
    joints: list[Vec],
    parent: Mat3,
    target: Vec,
    near_enough: float,
    tolerance: float,
) -> tuple[float, int]:
    """Bring a solved chain into its limits, with the tip as near to the target as they allow.

    The positions that were solved are a good place to start from, but may lie in another valley
    than the answer. If it is not found from there, the pose of the FK input, the rest pose, and
    then poses spread over what the limits allow are tried as well, always the same ones.

    Args:
        bones: From the root on; their ``rotation`` is set.
        solved: The local rotations that bring the joints to their solved positions.
        joints: These positions, from the root to the tip.
        parent: The axes of the root bone's parent.
        target: In the same space as the joints.
        near_enough: The distance from tip to target at which it stops.
        tolerance: The distance from which on no other start is tried.

    Returns:
        The distance that is left, and the steps that were made.
    """
    root = joints[0]
    best: list[Quat] = []
    least = 0.0
    start = steps = 0
    while start == 0 or (least > tolerance and steps < ALL_STEPS):
        if start == 0:
            _follow(bones, joints, parent)
        else:
            for i, bone in enumerate(bones):
                bone.rotation = _start(bone, solved[i], start, i)
        missed, made = _settle(bones, parent, root, target, near_enough, STEPS, GAIN)
        steps += made
        if not best or missed < least:
            least = missed
            best = [bone.rotation for bone in bones]
        start += 1
    for i, bone in enumerate(bones):
        bone.rotation = best[i]
    if least > tolerance:
        least, made = _settle(bones, parent, root, target, near_enough, ALL_STEPS, LEAST_GAIN)
        steps += made
    return least, steps


def _start(bone: Held, solved: Quat, start: int, index: int) -> Quat:
    if start == 1:
        rotation = solved
    elif start == 2:
        rotation = bone.given
    elif start == 3:
        rotation = NO_TURN
    elif bone.limit is None:
        rotation = solved
    else:
        # Places that are spread evenly: M. Roberts, “The unreasonable effectiveness of
        # quasirandom sequences”, 2018, in three dimensions.
        n = float(start + 7 * index)
        rotation = bone.limit.inside(
            ((n * 0.8191725134) % 1.0, (n * 0.6710436067) % 1.0, (n * 0.5497004779) % 1.0)
        )
    return bone.allowed(quat_mix(bone.given, rotation, bone.ease))


def _follow(bones: list[Held], joints: list[Vec], parent: Mat3) -> None:
    """Point the bones at the solved joints as far as they may, each from where it really is.

    A bone that carries a hinge is twisted first, so that the hinge can bend to the side to which
    the solved joints do. A hinge that nothing can twist has no use for the solved positions, which
    know nothing of its axis: it starts from the FK input.
    """
    axes = parent
    for i, bone in enumerate(bones):
        inherited, post_scale = inherited_axes(bone.bone, axes)
        to_joint = sub(joints[i + 1], joints[i])
        start = quat_turn(bone.given, times(bone.arm, bone.scale))
        aim = mat_direction_before(inherited, to_joint)
        rotation = quat_product(quat_between(start, aim, (1.0, 0.0, 0.0)), bone.given)
        limit = None if i + 1 == len(bones) else bones[i + 1].limit
        if isinstance(bone.limit, Hinge):
            if i == 0 or isinstance(bones[i - 1].limit, Hinge):
                rotation = bone.given
        elif isinstance(limit, Hinge):
            beyond = sub(joints[i + 2], joints[i + 1])
            way = mat_direction_before(inherited, beyond)
            rotation = _twisted(rotation, way, bone, bones[i + 1], limit)
        bone.rotation = bone.allowed(quat_mix(bone.given, rotation, bone.ease))
        axes = turned_axes(inherited, bone.rotation, bone.scale, post_scale)


def _twisted(rotation: Quat, way: Vec, bone: Held, child: Held, hinge: Hinge) -> Quat:
    """Return the rotation, twisted so that the hinge on the bone can bend the child to the way.

    The twist leaves the share of the child's direction along the bone as it is, so the hinge's
    angle is one of the two that give it the wanted share; the twist turns it there.
    """
    along = unit(bone.arm)
    arm = unit(child.arm)
    wanted = unit(quat_turn(_undone(rotation), way))
    if along is None or arm is None or wanted is None:
        return rotation
    rest = child.bone.rest
    axis, arm = mat_apply(rest, hinge.axis), mat_apply(rest, arm)
    fixed = scaled(axis, dot(axis, arm))
    a, b, c = dot(along, fixed), dot(along, sub(arm, fixed)), dot(along, cross(axis, arm))
    size = sqrt(b * b + c * c)
    if size < 1e-9:
        return rotation
    middle = atan2(c, b)
    spread = acos(max(-1.0, min(1.0, (dot(along, wanted) - a) / size)))
    best = NO_TURN
    nearest = -1.0
    for angle in (middle - spread, middle + spread):
        turn = quat_about(hinge.axis, angle)
        allowed = hinge.nearest(turn)
        cosine = abs(_cosine(turn, allowed))
        if cosine > nearest + 1e-9:
            nearest, best = cosine, allowed
    child_way = mat_apply(rest, quat_turn(best, unit(child.arm) or arm))
    side, wanted_side = cross(along, child_way), cross(along, wanted)
    if length(side) < 1e-6 or length(wanted_side) < 1e-6:
        return rotation
    twist = atan2(dot(along, cross(side, wanted_side)), dot(side, wanted_side))
    return quat_product(rotation, quat_about(along, twist))


def _settle(
    bones: list[Held],
    parent: Mat3,
    root: Vec,
    target: Vec,
    near_enough: float,
    most: int,
    least_gain: float,
) -> tuple[float, int]:
    """Turn bones that are within their limits until the tip is as near as it gets from there.

    Levenberg–Marquardt on the local rotations: each step is the least turn, damped, that closes
    the gap to first order. A joint that runs into its limit is held back in that direction, and
    the others make up for it in the same step.

    Returns:
        The distance that is left, and the steps that were made.
    """
    tip = _placed(bones, parent, root)
    gap = sub(target, tip)
    missed = length(gap)
    reach = 0.0
    for bone in bones:
        reach += length(times(bone.arm, bone.scale))
    unit_damping = reach * reach
    damping = 1e-3
    steps = 0
    while steps < most and missed > near_enough:
        steps += 1
        expected = missed - _step(bones, gap, damping * unit_damping)
        if expected < least_gain * missed:
            break
        for bone in bones:
            bone.rotation, bone.tried = bone.tried, bone.rotation
        tip = _placed(bones, parent, root)
        now = length(sub(target, tip))
        is_good = missed - now > 0.25 * expected
        if now < missed:
            gap, missed = sub(target, tip), now
        else:
            for bone in bones:
                bone.rotation = bone.tried
            _placed(bones, parent, root)
        damping = max(damping * 0.2, 1e-9) if is_good else damping * 6.0
    return missed, steps


def _placed(bones: list[Held], parent: Mat3, root: Vec) -> Vec:
    """Set where the bones stand under their rotations, and return where the tip is."""
    axes, head = parent, root
    for bone in bones:
        inherited, post_scale = inherited_axes(bone.bone, axes)
        bone.axes = inherited
        bone.head = head
        axes = turned_axes(inherited, bone.rotation, bone.scale, post_scale)
        head = add(head, mat_apply(axes, bone.arm))
    for bone in bones:
        # As the inherited axes see it, even if they are sheared.
        bone.lever = mat_solved(bone.axes, sub(head, bone.head))
    return head


def _step(bones: list[Held], gap: Vec, damping: float) -> float:
    """Find the damped least turns that close the gap, none of them out of a limit.

    With the motions of the tip that unit turns cause as the columns of J, the turns are
    Jᵀ p with the pull p = (J Jᵀ + damping)⁻¹ gap. A bone that is at the end of its limit and is
    pulled out of it has no turn in that direction. Which these are follows from the pull, which
    follows from them: they are looked for in turns.

    Returns:
        What is left of the gap then, to first order: damping · p.
    """
    for bone in bones:
        bone.walls = []
        bone.edges = [] if bone.limit is None else bone.limit.normals(bone.rotation)
        bone.held = 0
    pull = ORIGIN
    for _ in range(ROUNDS):
        xx = yy = zz = damping
        xy = xz = yz = 0.0
        for bone in bones:
            for axis in _free_axes(bone):
                x, y, z = mat_apply(bone.axes, cross(axis, bone.lever))
                xx += x * x
                yy += y * y
                zz += z * z
                xy += x * y
                xz += x * z
                yz += y * z
        pull = mat_symmetric_solved((xx, yy, zz), (xy, xz, yz), gap)
        has_changed = False
        for bone in bones:
            has_changed = _pulled(bone, pull) or has_changed
        if not has_changed:
            break
    for bone in bones:
        angle = length(bone.turn)
        # More than a radian is more than the first order can tell of.
        turn = scaled(bone.turn, 1.0 / angle) if angle > 1.0 else bone.turn
        turned = quat_unit(quat_product(quat_turned_by(turn), bone.rotation))
        bone.tried = bone.allowed(turned)
    return damping * length(pull)


def _free_axes(bone: Held) -> list[Vec]:
    """Return the axes about which a bone can turn, at right angles, as long as it turns readily."""
    ease, walls = bone.ease, bone.walls
    if isinstance(bone.limit, Hinge):
        return [] if walls else [scaled(bone.limit.axis, ease)]
    if not walls:
        return [(ease, 0.0, 0.0), (0.0, ease, 0.0), (0.0, 0.0, ease)]
    if len(walls) == 1:
        side = any_across(walls[0])
        return [scaled(side, ease), scaled(cross(walls[0], side), ease)]
    if len(walls) == 2:
        return [scaled(cross(walls[0], walls[1]), ease)]
    return []


def _pulled(bone: Held, pull: Vec) -> bool:
    """Set by what a bone turns under a pull; return whether other ends of its limit hold it."""
    # Jᵀ p: the bone's axes, transposed, take the pull to where the lever is.
    m, (px, py, pz) = bone.axes, pull
    local = (
        m[0] * px + m[3] * py + m[6] * pz,
        m[1] * px + m[4] * py + m[7] * pz,
        m[2] * px + m[5] * py + m[8] * pz,
    )
    turn = scaled(cross(bone.lever, local), bone.ease * bone.ease)
    if isinstance(bone.limit, Hinge):
        turn = scaled(bone.limit.axis, dot(bone.limit.axis, turn))
    walls: list[Vec] = []
    held = 0
    # Twice, because holding it at one end may turn it against another.
    for _ in range(2):
        for i, edge in enumerate(bone.edges):
            if held & (1 << i) or len(walls) > 2 or dot(edge, turn) <= 0.0:
                continue
            held |= 1 << i
            wall = edge
            for known in walls:
                wall = sub(wall, scaled(known, dot(wall, known)))
            size = length(wall)
            if size > 1e-6:
                wall = scaled(wall, 1.0 / size)
                walls.append(wall)
                turn = sub(turn, scaled(wall, dot(wall, turn)))
    has_changed = held != bone.held
    bone.turn, bone.walls, bone.held = turn, walls, held
    return has_changed


def _cosine(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def _undone(rotation: Quat) -> Quat:
    return (rotation[0], -rotation[1], -rotation[2], -rotation[3])
