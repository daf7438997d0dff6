"""The rotation pass: it brings joints into their limits, and the tip to its target within them."""

from math import acos, atan2, sqrt
from typing import Final, final

from .block_solver import System
from .bones import Bone, Local, inherited_axes, turned_axes, turned_to
from .limits import Hinge, Limit
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    any_perpendicular,
    cross,
    dot,
    inverse_apply,
    length,
    mat_apply,
    mat_columns,
    mat_direction_before,
    quat_about,
    quat_mix,
    quat_product,
    quat_turned_by,
    quat_unit,
    rotate,
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
class ConstrainedBone:
    """A bone whose limits are kept, and where it is while they are.

    Attributes:
        bone: What Edit Mode fixes of it.
        given: The FK pose's rotation.
        scale: The FK pose's scale.
        parent: The place of its parent among the bones, before its own; -1 of the first one.
        at: Its head in the space of the posed parent.
        arm: What a bone with one joint to carry points at it with, in the space of the posed bone.
        limit: What it allows, if it is limited.
        stiffness: How much it resists leaving the FK pose, from 0 to 1.
        compliance: How readily it leaves it in this solve: 1 if nothing resists, 0 if it never
            does.
        moves: The effectors that it carries, directly or not.
        rotation: Its local rotation.
        tried: The same after the step that is being made.
        head: Where its head stands.
        axes: The inherited axes, in which the rotation acts.
        posed: Its axes as they stand, with the scale.
        lever_arms: The way from the head to each effector that it moves, in the inherited axes.
        turn: What it turns by in the step that is being made, as a rotation vector.
        edges: The normals of its limit where it is (see `Limit.normals`).
        active: Which of these constrain it in this step, a bit for each.
        active_axes: The same as axes at right angles.
    """

    __slots__ = (
        "active",
        "active_axes",
        "arm",
        "at",
        "axes",
        "bone",
        "compliance",
        "edges",
        "given",
        "head",
        "lever_arms",
        "limit",
        "moves",
        "parent",
        "posed",
        "rotation",
        "scale",
        "stiffness",
        "tried",
        "turn",
    )
    bone: Bone
    given: Quat
    scale: Vec
    parent: int
    at: Vec
    arm: Vec
    limit: Limit | None
    stiffness: float
    compliance: float
    moves: list[int]
    rotation: Quat
    tried: Quat
    head: Vec
    axes: Mat3
    posed: Mat3
    lever_arms: list[Vec]
    turn: Vec
    edges: list[Vec]
    active: int
    active_axes: list[Vec]

    def __init__(
        self,
        bone: Bone,
        local: Local,
        parent: int,
        at: Vec,
        arm: Vec,
        limit: Limit | None,
        stiffness: float,
    ) -> None:
        self.bone = bone
        self.given = local.rotation
        self.scale = local.scale
        self.parent = parent
        self.at = at
        self.arm = arm
        self.limit = limit
        self.stiffness = stiffness
        self.compliance = 1.0 - stiffness
        self.moves = []
        self.rotation = local.rotation
        self.tried = local.rotation
        self.head = ORIGIN
        self.axes = bone.rest
        self.posed = bone.rest
        self.lever_arms = []
        self.turn = ORIGIN
        self.edges = []
        self.active = 0
        self.active_axes = []

    def allowed(self, rotation: Quat) -> Quat:
        """Return the rotation, or one near it that the limit allows."""
        return rotation if self.limit is None else self.limit.nearest(rotation)

    def keeps(self, rotation: Quat) -> bool:
        """Return whether the rotation is within the limit, and stiffness has no say in it."""
        return self.compliance == 1.0 and self.is_within(rotation)

    def is_within(self, rotation: Quat) -> bool:
        """Return whether the rotation is within the limit."""
        return abs(_cosine(rotation, self.allowed(rotation))) > 1.0 - KEPT


@final
class Effector:
    """A point of a bone, and where it is wanted, in armature space.

    Attributes:
        bone: The place of the bone among the others.
        point: The point in the space of the posed bone.
        target: Where it is wanted.
        pull: How much a gap counts: the square root of the weight.
        place: Where it is.
        gap: The way from there to the target, times the pull.
        force: What the step that is being made pulls it with.
    """

    __slots__ = ("bone", "force", "gap", "place", "point", "pull", "target")
    bone: int
    point: Vec
    target: Vec
    pull: float
    place: Vec
    gap: Vec
    force: Vec

    def __init__(self, bone: int, point: Vec, target: Vec, pull: float = 1.0) -> None:
        self.bone = bone
        self.point = point
        self.target = target
        self.pull = pull
        self.place = ORIGIN
        self.gap = ORIGIN
        self.force = ORIGIN


@final
class Linkage:
    """Bones that hang together, and the effectors that they bring to their targets.

    Attributes:
        bones: Each after its parent.
        effectors: At least one.
        parent: The axes of the first bone's parent.
        root: Where the head of the first bone stands.
        root_compliance: How readily the root moves: by so much where a bone turns by a radian.
        reach: The length of the longest way to an effector.
    """

    __slots__ = ("bones", "effectors", "parent", "reach", "root", "root_compliance", "tried_root")
    bones: list[ConstrainedBone]
    effectors: list[Effector]
    parent: Mat3
    root: Vec
    root_compliance: float
    reach: float
    tried_root: Vec

    def __init__(
        self,
        bones: list[ConstrainedBone],
        effectors: list[Effector],
        parent: Mat3,
        root: Vec,
        root_weight: float = 0.0,
    ) -> None:
        """Find out which bones carry which effector, and stand in the FK pose."""
        self.bones = bones
        self.effectors = effectors
        self.parent = parent
        self.root = root
        self.tried_root = root
        for bone in bones:
            bone.moves = []
            bone.rotation = bone.given
        for number, effector in enumerate(effectors):
            i = effector.bone
            while i >= 0:
                bones[i].moves.append(number)
                i = bones[i].parent
        for bone in bones:
            bone.lever_arms = [ORIGIN] * len(bone.moves)
        self.place()
        # Where everything stands now, so that the parent's scale counts, and that of each bone.
        self.reach = 0.0
        for effector in effectors:
            i = effector.bone
            reach = length(sub(effector.place, bones[i].head))
            while bones[i].parent >= 0:
                reach += length(sub(bones[i].head, bones[bones[i].parent].head))
                i = bones[i].parent
            self.reach = max(self.reach, reach)
        self.root_compliance = root_weight * self.reach

    def place(self) -> float:
        """Set where everything stands under the bones' rotations; return what is missed.

        That is the root of the sum of the squared gaps, each times the effector's weight.
        """
        for bone in self.bones:
            axes, head = self.parent, self.root
            if bone.parent >= 0:
                parent = self.bones[bone.parent]
                axes, head = parent.posed, add(parent.head, mat_apply(parent.posed, bone.at))
            inherited, post_scale = inherited_axes(bone.bone, axes)
            bone.axes = inherited
            bone.head = head
            bone.posed = turned_axes(inherited, bone.rotation, bone.scale, post_scale)
        missed = 0.0
        for effector in self.effectors:
            bone = self.bones[effector.bone]
            effector.place = add(bone.head, mat_apply(bone.posed, effector.point))
            gap = scaled(sub(effector.target, effector.place), effector.pull)
            effector.gap = gap
            missed += dot(gap, gap)
        for bone in self.bones:
            for i, number in enumerate(bone.moves):
                # As the inherited axes see it, even if they are sheared.
                way = sub(self.effectors[number].place, bone.head)
                bone.lever_arms[i] = inverse_apply(bone.axes, way)
        return sqrt(missed)

    def rotations(self) -> list[Quat]:
        """Return the rotations of the bones."""
        return [bone.rotation for bone in self.bones]


def solve_with_limits(
    linkage: Linkage,
    starts: list[list[Quat]],
    near_enough: float,
    tolerance: float,
    seeks: bool = True,
) -> tuple[float, int]:
    """Bring bones into their limits, with the effectors as near to their targets as these allow.

    The positions that were solved are a good place to start from, but may lie in another valley
    than the answer. If it is not found from any of the given starts, poses spread over what the
    limits allow are tried as well, always the same ones.

    Args:
        linkage: Its rotations, and its root if that is free, are set.
        starts: Local rotations of all bones, the most promising ones first.
        near_enough: What may be missed where it stops.
        tolerance: What may be missed without another start being tried.
        seeks: Whether other starts are tried at all than the first of those that are given.

    Returns:
        What is missed, and the steps that were made.
    """
    bones, root = linkage.bones, linkage.root
    is_limited = any([bone.limit is not None for bone in bones])
    best: list[Quat] = []
    best_root = root
    least = 0.0
    start = steps = 0
    while start == 0 or (seeks and least > tolerance and steps < ALL_STEPS):
        if start >= len(starts) and not is_limited:
            break
        linkage.root = root
        for i, bone in enumerate(bones):
            if start < len(starts):
                rotation = starts[start][i]
            elif bone.limit is None:
                rotation = starts[0][i]
            else:
                rotation = bone.limit.inside(spread(start, i))
            bone.rotation = bone.allowed(quat_mix(bone.given, rotation, bone.compliance))
        missed, made = _settle(linkage, near_enough, STEPS, GAIN)
        steps += made
        if not best or missed < least:
            least = missed
            best, best_root = linkage.rotations(), linkage.root
        start += 1
    linkage.root = best_root
    for i, bone in enumerate(bones):
        bone.rotation = best[i]
    if least > tolerance:
        least, made = _settle(linkage, near_enough, ALL_STEPS, LEAST_GAIN)
        steps += made
    return least, steps


def spread(start: int, index: int) -> Vec:
    """Return numbers from 0 to 1 that are spread evenly over the starts and the bones.

    M. Roberts, “The unreasonable effectiveness of quasirandom sequences”, 2018, in three
    dimensions.
    """
    n = float(start + 7 * index)
    return (n * 0.8191725134) % 1.0, (n * 0.6710436067) % 1.0, (n * 0.5497004779) % 1.0


def follow(bones: list[ConstrainedBone], joints: list[Vec], parent: Mat3, turn: Quat) -> list[Quat]:
    """Return the rotations that point a chain at solved joints as far as its limits allow.

    Args:
        bones: The chain, from the root on.
        joints: The heads of the bones, and the tip.
        parent: The axes of the root bone's parent.
        turn: How the chain has turned as a whole.
    """
    axes = parent
    rotations: list[Quat] = []
    for i, bone in enumerate(bones):
        inherited, post_scale = inherited_axes(bone.bone, axes)
        way = sub(joints[i + 1], joints[i])
        if i + 1 < len(bones):
            beyond = sub(joints[i + 2], joints[i + 1])
            rotation = pointed(bones, i, inherited, way, bones[i + 1], beyond, turn)
        else:
            rotation = pointed(bones, i, inherited, way, None, ORIGIN, turn)
        turn = QUAT_IDENTITY  # The others are carried along.
        rotations.append(rotation)
        axes = turned_axes(inherited, rotation, bone.scale, post_scale)
    return rotations


def pointed(
    bones: list[ConstrainedBone],
    index: int,
    inherited: Mat3,
    way: Vec,
    child: ConstrainedBone | None,
    beyond: Vec,
    turn: Quat = QUAT_IDENTITY,
) -> Quat:
    """Return the rotation that points a bone the way, as far as its limit allows.

    A bone that carries a hinge is twisted first, so that the hinge can bend to the side to which
    the solved joints do. A hinge that nothing can twist has no use for the solved positions, which
    know nothing of its axis: it keeps the FK pose.

    Args:
        bones: All bones.
        index: The place of the bone among them.
        inherited: The axes in which its rotation acts.
        way: From its head to where its arm should end.
        child: The bone that begins there, if there is just one.
        beyond: The way that this one goes on.
        turn: How it is turned from its FK pose, before the least turn to the way.
    """
    bone = bones[index]
    rotation = swung(bone, inherited, way, turn)
    if isinstance(bone.limit, Hinge):
        if bone.parent < 0 or isinstance(bones[bone.parent].limit, Hinge):
            rotation = bone.given
    elif child is not None and isinstance(child.limit, Hinge):
        onward = mat_direction_before(inherited, beyond)
        rotation = _twisted(rotation, onward, bone, child, child.limit)
    return bone.allowed(quat_mix(bone.given, rotation, bone.compliance))


def swung(bone: ConstrainedBone, inherited: Mat3, way: Vec, turn: Quat) -> Quat:
    """Return the FK pose's rotation, turned and then swung so that the arm points the way."""
    start = rotate(bone.given, times(bone.arm, bone.scale))
    swing = turned_to(inherited, start, way, mat_columns(inherited)[0], turn)
    return quat_product(swing, bone.given)


def _twisted(
    rotation: Quat, way: Vec, bone: ConstrainedBone, child: ConstrainedBone, hinge: Hinge
) -> Quat:
    """Return the rotation, twisted so that the hinge on the bone can bend the child to the way.

    The twist leaves the share of the child's direction along the bone as it is, so the hinge's
    angle is one of the two that give it the wanted share; the twist turns it there.
    """
    along = unit(bone.arm)
    arm = unit(child.arm)
    wanted = unit(rotate(_undone(rotation), way))
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
    best = 0.0
    nearest = -1.0
    for angle in (middle - spread, middle + spread):
        turn = quat_about(hinge.axis, angle)
        allowed = hinge.nearest(turn)
        cosine = abs(_cosine(turn, allowed))
        child_way = mat_apply(rest, rotate(allowed, unit(child.arm) or arm))
        side, wanted_side = cross(along, child_way), cross(along, wanted)
        if length(side) < 1e-6 or length(wanted_side) < 1e-6:
            continue  # It is straight, and no twist shows.
        twist = atan2(dot(along, cross(side, wanted_side)), dot(side, wanted_side))
        # Where the hinge allows both, the bone twists as little as it can.
        is_as_near = abs(cosine - nearest) <= 1e-9
        if (is_as_near and abs(twist) < abs(best)) or (not is_as_near and cosine > nearest):
            nearest, best = max(nearest, cosine), twist
    return quat_product(rotation, quat_about(along, best))


def _settle(
    linkage: Linkage, near_enough: float, most: int, least_gain: float
) -> tuple[float, int]:
    """Turn bones that are within their limits until the effectors are as near as they get.

    Levenberg–Marquardt on the local rotations, and on the root's place if it is free: each step is
    the least motion, damped, that closes the gaps to first order. A joint that runs into its limit
    is held back in that direction, and the others make up for it in the same step.

    Returns:
        What is missed then, and the steps that were made.
    """
    missed = linkage.place()
    unit_damping = linkage.reach * linkage.reach
    damping = 1e-3
    steps = 0
    while steps < most and missed > near_enough:
        steps += 1
        expected = missed - _step(linkage, damping * unit_damping)
        if expected < least_gain * missed:
            break
        _swap(linkage)
        now = linkage.place()
        is_good = missed - now > 0.25 * expected
        if now < missed:
            missed = now
        else:
            _swap(linkage)
            linkage.place()
        damping = max(damping * 0.2, 1e-9) if is_good else damping * 6.0
    return missed, steps


def _swap(linkage: Linkage) -> None:
    """Let what a step has found, and what there is, change places."""
    linkage.root, linkage.tried_root = linkage.tried_root, linkage.root
    for bone in linkage.bones:
        bone.rotation, bone.tried = bone.tried, bone.rotation


def _step(linkage: Linkage, damping: float) -> float:
    """Find the damped least motion that closes the gaps, no bone of it out of its limit.

    With the motions of the effectors that unit turns cause as the columns of J, the turns are
    Jᵀ f with the forces f = (J Jᵀ + damping)⁻¹ gaps. A bone that is at the end of its limit and is
    pulled out of it has no turn in that direction. Which these are follows from the forces, which
    follow from them: they are looked for in turns.

    Returns:
        What is missed then, to first order: damping · |f|.
    """
    bones, effectors = linkage.bones, linkage.effectors
    for bone in bones:
        bone.active_axes = []
        bone.edges = [] if bone.limit is None else bone.limit.normals(bone.rotation)
        bone.active = 0
    left = 0.0
    for _ in range(ROUNDS):
        system = System(len(effectors), damping)
        for bone in bones:
            for axis in _free_axes(bone):
                for i, number in enumerate(bone.moves):
                    motion = mat_apply(bone.axes, cross(axis, bone.lever_arms[i]))
                    system.column[number] = scaled(motion, effectors[number].pull)
                system.add(bone.moves)
        _add_root(linkage, system)
        forces = system.solved([effector.gap for effector in effectors])
        left = 0.0
        for effector, force in zip(effectors, forces, strict=True):
            left += dot(force, force)
            effector.force = scaled(force, effector.pull)
        has_changed = False
        for bone in bones:
            has_changed = _pulled(bone, effectors) or has_changed
        if not has_changed:
            break
    for bone in bones:
        angle = length(bone.turn)
        # More than a radian is more than the first order can tell of.
        turn = scaled(bone.turn, 1.0 / angle) if angle > 1.0 else bone.turn
        turned = quat_unit(quat_product(quat_turned_by(turn), bone.rotation))
        bone.tried = bone.allowed(turned)
    linkage.tried_root = add(linkage.root, _root_motion(linkage))
    return damping * sqrt(left)


def _add_root(linkage: Linkage, system: System) -> None:
    """Add what the three motions of a free root do, which carries everything with it."""
    if linkage.root_compliance == 0.0:
        return
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        for number, effector in enumerate(linkage.effectors):
            system.column[number] = scaled(axis, linkage.root_compliance * effector.pull)
        system.add(list(range(len(linkage.effectors))))


def _root_motion(linkage: Linkage) -> Vec:
    pull = ORIGIN
    for effector in linkage.effectors:
        pull = add(pull, effector.force)
    return scaled(pull, linkage.root_compliance * linkage.root_compliance)


def _free_axes(bone: ConstrainedBone) -> list[Vec]:
    """Return the axes about which a bone can turn, at right angles, as long as it turns readily."""
    compliance, active_axes = bone.compliance, bone.active_axes
    if isinstance(bone.limit, Hinge):
        return [] if active_axes else [scaled(bone.limit.axis, compliance)]
    if not active_axes:
        return [(compliance, 0.0, 0.0), (0.0, compliance, 0.0), (0.0, 0.0, compliance)]
    if len(active_axes) == 1:
        side = any_perpendicular(active_axes[0])
        return [scaled(side, compliance), scaled(cross(active_axes[0], side), compliance)]
    if len(active_axes) == 2:
        return [scaled(cross(active_axes[0], active_axes[1]), compliance)]
    return []


def _pulled(bone: ConstrainedBone, effectors: list[Effector]) -> bool:
    """Set by what the forces turn a bone; return whether other ends of its limit hold it."""
    m = bone.axes
    turn = ORIGIN
    for i, number in enumerate(bone.moves):
        # Jᵀ f: the bone's axes, transposed, take the force to where the lever is.
        px, py, pz = effectors[number].force
        local = (
            m[0] * px + m[3] * py + m[6] * pz,
            m[1] * px + m[4] * py + m[7] * pz,
            m[2] * px + m[5] * py + m[8] * pz,
        )
        turn = add(turn, cross(bone.lever_arms[i], local))
    turn = scaled(turn, bone.compliance * bone.compliance)
    if isinstance(bone.limit, Hinge):
        turn = scaled(bone.limit.axis, dot(bone.limit.axis, turn))
    active_axes: list[Vec] = []
    active = 0
    # Twice, because holding it at one end may turn it against another.
    for _ in range(2):
        for i, edge in enumerate(bone.edges):
            if active & (1 << i) or len(active_axes) > 2 or dot(edge, turn) <= 0.0:
                continue
            active |= 1 << i
            axis = edge
            for known in active_axes:
                axis = sub(axis, scaled(known, dot(axis, known)))
            size = length(axis)
            if size > 1e-6:
                axis = scaled(axis, 1.0 / size)
                active_axes.append(axis)
                turn = sub(turn, scaled(axis, dot(axis, turn)))
    has_changed = active != bone.active
    bone.turn, bone.active_axes, bone.active = turn, active_axes, active
    return has_changed


def _cosine(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def _undone(rotation: Quat) -> Quat:
    return (rotation[0], -rotation[1], -rotation[2], -rotation[3])
