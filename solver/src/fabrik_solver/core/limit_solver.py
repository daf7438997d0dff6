"""Solving with joint limits: damped least squares on the rotations, with active constraints."""

from collections.abc import Sequence
from math import acos, atan2, sqrt
from typing import Final, final

from .block_solver import Effector, Lever, system_of
from .bones import Bone, Local, carried_turn, inherited_axes, turned_axes, turned_to
from .limits import Hinge, Limit
from .slide import Slide
from .vectors import (
    IDENTITY,
    ORIGIN,
    QUAT_IDENTITY,
    ZEROS,
    Mat3,
    Quat,
    Vec,
    add,
    add_product,
    cross,
    dot,
    inverse_direction,
    length,
    mat_apply,
    mat_columns,
    mat_inverse,
    mat_product,
    quat_about,
    quat_exp,
    quat_inverse,
    quat_matrix,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    slerp,
    sub,
    times,
    unit,
)

STEPS: Final = 30
"""Maximum number of iterations from one start."""

ALL_STEPS: Final = 100
"""Total number of iterations after which no further starts are tried, and the limit for
refinement."""

KEPT: Final = 1e-12
"""A rotation is within a limit if the half angle's cosine to the nearest allowed rotation is
this close to 1."""

ROUNDS: Final = 6
"""Maximum number of active-set rounds per iteration."""

GAIN: Final = 3e-3
LEAST_GAIN: Final = 1e-6
"""Minimum fraction of the gap that an iteration must close for another one to follow. The
smaller value refines the nearest pose if limits keep the target out of reach."""


@final
class ConstrainedBone:
    """A bone with limits or stiffness, and its state during a solve.

    Attributes:
        bone: The bone.
        fk_rotation: The rotation channel of the FK pose.
        joint: The FK pose's rotation of its joint, to which the limit applies.
        is_carried: Whether its joint rotates with its parent, although its channels don't (see
            `carried_turn`). A fully stiff bone keeps its channels.
        scale: The scale of the FK pose.
        parent: The index of its parent, less than that of the bone; -1 for the first bone.
        at: Its head in the space of the posed parent.
        arm: The only joint that it carries, in the space of the posed bone.
        limit: Its joint limit, if any.
        stiffness: Resistance to leaving the FK pose, from 0 to 1.
        compliance: The opposite of stiffness, with bias, in this solve: 1 moves freely, 0 not at
            all.
        levers: The effectors that it carries, directly or indirectly, in order.
        rotation: The rotation of its joint.
        tried: The rotation of its joint after the current iteration.
        head: The position of its head.
        axes: The joint's axes, in which the rotation acts.
        posed: Its posed axes, including scale.
        turn: Its rotation vector in the current iteration.
        edges: The normals of its limit at its rotation (see `Limit.normals`).
        active: A bit mask of the edges active in this iteration.
        active_axes: The active edges, orthonormalized.
    """

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
        self.fk_rotation = local.rotation
        self.joint = local.rotation
        self.is_carried = stiffness < 1.0 and not bone.inherit_rotation
        self.scale = local.scale
        self.parent = parent
        self.at = at
        self.arm = arm
        self.limit = limit
        self.stiffness = stiffness
        self.compliance = 1.0 - stiffness
        self.levers: list[Lever] = []
        self.rotation = local.rotation
        self.tried = local.rotation
        self.head = ORIGIN
        self.axes = bone.rest
        self.posed = bone.rest
        self.turn = ORIGIN
        self.edges: list[Vec] = []
        self.active = 0
        self.active_axes: list[Vec] = []

    def joint_axes(self, parent: Mat3) -> tuple[Mat3, Vec]:
        """Return the axes in which the joint rotates, and the scale applied to the result."""
        axes, post_scale = inherited_axes(self.bone, parent)
        if self.is_carried:
            axes = mat_product(axes, quat_matrix(carried_turn(self.bone, parent)))
        return axes, post_scale

    def joint_of(self, rotation: Quat, parent: Mat3) -> Quat:
        """Return the joint's rotation from the rotation channel."""
        if not self.is_carried:
            return rotation
        return quat_product(quat_inverse(carried_turn(self.bone, parent)), rotation)

    def channel_of(self, rotation: Quat, parent: Mat3) -> Quat:
        """Return the rotation channel from the joint's rotation."""
        if not self.is_carried:
            return rotation
        return quat_product(carried_turn(self.bone, parent), rotation)

    def held(self, rotation: Quat, parent: Mat3) -> Quat:
        """Return the rotation channel with the joint's rotation projected into the limit."""
        return self.channel_of(self.allowed(self.joint_of(rotation, parent)), parent)

    def allowed(self, rotation: Quat) -> Quat:
        """Project the rotation of the joint into the limit."""
        return rotation if self.limit is None else self.limit.nearest(rotation)

    def keeps(self, rotation: Quat) -> bool:
        """Return whether the joint's rotation is within the limit and the bone fully compliant."""
        return self.compliance == 1.0 and self.is_within(rotation)

    def is_within(self, rotation: Quat) -> bool:
        """Return whether the joint's rotation is within the limit."""
        return abs(_cosine(rotation, self.allowed(rotation))) > 1.0 - KEPT


@final
class Linkage:
    """A tree of bones and its effectors.

    Attributes:
        bones: The bones, parents first.
        effectors: At least one.
        parent: The axes of the first bone's parent.
        root: The position of the first bone's head.
        root_compliance: How far the root moves per radian of a bone's rotation.
        slide: The positions allowed for the root; None allows any.
        root_edges: The normals of the slide at the root (see `Slide.normals`).
        root_active: A bit mask of the root edges active in this iteration.
        root_left: The projection onto the motions that the slide allows the root.
        reach: The length of the longest path from the root to an effector.
        tried_root: The position of the first bone's head after the current iteration.
        system: The equations between the effectors.
    """

    def __init__(
        self,
        bones: list[ConstrainedBone],
        effectors: list[Effector],
        parent: Mat3,
        root: Vec,
        root_weight: float = 0.0,
        slide: Slide | None = None,
    ) -> None:
        """Find the bones that carry each effector, and set the FK pose."""
        self.bones = bones
        self.effectors = effectors
        self.parent = parent
        self.root = root
        self.tried_root = root
        self.slide = slide
        self.root_edges: list[Vec] = []
        self.root_active = 0
        self.root_left = IDENTITY
        levers: list[list[Lever]] = []
        for bone in bones:
            bone.levers = []
            levers.append(bone.levers)
        fk_joints = self.of_joints([bone.fk_rotation for bone in bones])
        for bone, joint in zip(bones, fk_joints, strict=True):
            bone.joint = bone.rotation = joint
        for number, effector in enumerate(effectors):
            i, last = effector.bone, -1
            while i >= 0:
                bones[i].levers.append(Lever(number, effector, last))
                if not (bones[i].is_carried or bones[i].bone.inherit_rotation):
                    last = i
                i = bones[i].parent
        self.system = system_of(effectors, levers, root_weight > 0.0)
        self.place()
        # Measured in the pose to include all scales.
        self.reach = 0.0
        for effector in effectors:
            i = effector.bone
            reach = length(sub(effector.place, bones[i].head))
            while bones[i].parent >= 0:
                reach += length(sub(bones[i].head, bones[bones[i].parent].head))
                i = bones[i].parent
            self.reach = max(self.reach, reach)
        self.root_compliance = root_weight * self.reach

    def root_within(self, position: Vec) -> Vec:
        """Return the nearest position allowed for the root."""
        return position if self.slide is None else self.slide.nearest(position)

    def place(self) -> float:
        """Pose everything from the bones' rotations and return the residual.

        The residual is the square root of the weighted sum of squared gaps.
        """
        for bone in self.bones:
            axes, head = self.parent, self.root
            if bone.parent >= 0:
                parent = self.bones[bone.parent]
                axes, head = parent.posed, add(parent.head, mat_apply(parent.posed, bone.at))
            bone.axes, post_scale = bone.joint_axes(axes)
            bone.head = head
            bone.posed = turned_axes(bone.axes, bone.rotation, bone.scale, post_scale)
        gap_square = 0.0
        for effector in self.effectors:
            bone = self.bones[effector.bone]
            effector.place = add(bone.head, mat_apply(bone.posed, effector.point))
            gap = scaled(sub(effector.target, effector.place), effector.pull)
            effector.gap = gap
            gap_square += dot(gap, gap)
        return sqrt(gap_square)

    def turn(self, rotations: Sequence[Quat]) -> None:
        """Set the rotations of the joints."""
        for bone, rotation in zip(self.bones, rotations, strict=True):
            bone.rotation = rotation

    def rotations(self) -> list[Quat]:
        """Return the rotations of the joints."""
        return [bone.rotation for bone in self.bones]

    def of_joints(self, rotations: Sequence[Quat]) -> list[Quat]:
        """Return the joints' rotations from the bones' rotation channels."""
        return of_joints(self.bones, self.parent, rotations)

    def channels(self) -> list[Quat]:
        """Return the bones' rotation channels for the pose that `place` set."""
        channels: list[Quat] = []
        for bone in self.bones:
            axes = self.parent if bone.parent < 0 else self.bones[bone.parent].posed
            channels.append(bone.channel_of(bone.rotation, axes))
        return channels


def of_joints(
    bones: Sequence[ConstrainedBone], parent: Mat3, rotations: Sequence[Quat]
) -> list[Quat]:
    """Return the joints' rotations from the bones' rotation channels.

    Args:
        bones: The bones, parents first.
        parent: The axes of the first bone's parent.
        rotations: The rotation channel of each bone.
    """
    if not any([bone.is_carried for bone in bones]):
        return [*rotations]
    posed: list[Mat3] = []
    joints: list[Quat] = []
    for bone, rotation in zip(bones, rotations, strict=True):
        axes = parent if bone.parent < 0 else posed[bone.parent]
        inherited, post_scale = inherited_axes(bone.bone, axes)
        posed.append(turned_axes(inherited, rotation, bone.scale, post_scale))
        joints.append(bone.joint_of(rotation, axes))
    return joints


def solve_with_limits(
    linkage: Linkage,
    starts: list[list[Quat]],
    near_enough: float,
    tolerance: float,
    seeks: bool = True,
) -> tuple[float, int]:
    """Bring bones into their limits, with the effectors as close to their targets as possible.

    The solved positions are a good start, but may be in the basin of another minimum. If all
    ``starts`` fail, further starts are tried. They are always the same, spread evenly over the
    limits.

    Args:
        linkage: The bones. Their rotations are set, and the root if it is free.
        starts: Rotations of all joints, most promising first.
        near_enough: The residual at which to stop.
        tolerance: The residual above which to try another start.
        seeks: Whether to try more than the first start.

    Returns:
        The residual, and the number of iterations.
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
            bone.rotation = bone.allowed(slerp(bone.joint, rotation, bone.compliance))
        residual, used = _minimize(linkage, near_enough, STEPS, GAIN)
        steps += used
        if not best or residual < least:
            least = residual
            best, best_root = linkage.rotations(), linkage.root
        start += 1
    linkage.root = best_root
    linkage.turn(best)
    if least > tolerance:
        least, used = _minimize(linkage, near_enough, ALL_STEPS, LEAST_GAIN)
        steps += used
    return least, steps


def land_from(linkage: Linkage, rotations: list[Quat], near_enough: float) -> tuple[float, int]:
    """Minimize the residual from certain joint rotations.

    Args:
        linkage: The bones.
        rotations: The joint rotations, within their limits.
        near_enough: The residual at which to stop.

    Returns:
        The residual, and the number of iterations.
    """
    linkage.turn(rotations)
    return _minimize(linkage, near_enough, STEPS, GAIN)


def spread(start: int, index: int) -> Vec:
    """Return a point of a low-discrepancy sequence in the unit cube.

    M. Roberts, “The unreasonable effectiveness of quasirandom sequences”, 2018, in three
    dimensions.
    """
    n = float(start + 7 * index)
    return (n * 0.8191725134) % 1.0, (n * 0.6710436067) % 1.0, (n * 0.5497004779) % 1.0


def follow(bones: list[ConstrainedBone], joints: list[Vec], parent: Mat3, turn: Quat) -> list[Quat]:
    """Return the joint rotations that point a chain at solved joints as far as limits allow.

    Args:
        bones: The chain, root first.
        joints: The heads of the bones, and the tip.
        parent: The axes of the root bone's parent.
        turn: The rotation of the whole chain.
    """
    axes = parent
    rotations: list[Quat] = []
    for i, bone in enumerate(bones):
        inherited, post_scale = bone.joint_axes(axes)
        to_joint = sub(joints[i + 1], joints[i])
        if i + 1 < len(bones):
            beyond = sub(joints[i + 2], joints[i + 1])
            rotation = pointed(bones, i, inherited, to_joint, bones[i + 1], beyond, turn)
        else:
            rotation = pointed(bones, i, inherited, to_joint, None, ORIGIN, turn)
        turn = QUAT_IDENTITY  # The other bones follow.
        rotations.append(rotation)
        axes = turned_axes(inherited, rotation, bone.scale, post_scale)
    return rotations


def pointed(
    bones: list[ConstrainedBone],
    index: int,
    inherited: Mat3,
    direction: Vec,
    child: ConstrainedBone | None,
    beyond: Vec,
    turn: Quat = QUAT_IDENTITY,
) -> Quat:
    """Return the rotation that points a bone in a direction, as far as its limit allows.

    A bone carrying a hinge is twisted so that the hinge can bend to the side of the solved joints.
    A hinge that can't be twisted this way keeps the FK pose, because the solved positions don't
    depend on its axis.

    Args:
        bones: All bones.
        index: The index of the bone.
        inherited: The axes in which its rotation acts.
        direction: The vector from its head to the goal for the end of its arm.
        child: The only bone that starts there; None if there is none, or several.
        beyond: The vector along that child.
        turn: A rotation of the FK pose, applied before the smallest rotation to the direction.
    """
    bone = bones[index]
    rotation = swung(bone, inherited, direction, turn)
    if isinstance(bone.limit, Hinge):
        if bone.parent < 0 or isinstance(bones[bone.parent].limit, Hinge):
            rotation = bone.joint
    elif child is not None and isinstance(child.limit, Hinge):
        onward = inverse_direction(inherited, beyond)
        rotation = _twisted(rotation, onward, bone, child, child.limit)
    return bone.allowed(slerp(bone.joint, rotation, bone.compliance))


def swung(bone: ConstrainedBone, inherited: Mat3, direction: Vec, turn: Quat) -> Quat:
    """Return the FK rotation, turned and then swung to point the arm in a direction."""
    start = rotate(bone.joint, times(bone.arm, bone.scale))
    swing = turned_to(inherited, start, direction, mat_columns(inherited)[0], turn)
    return quat_product(swing, bone.joint)


def _twisted(
    rotation: Quat, aim: Vec, bone: ConstrainedBone, child: ConstrainedBone, hinge: Hinge
) -> Quat:
    """Return the rotation, twisted so that the child's hinge can point it in a direction.

    Twist preserves the component of the child's direction along the bone. The hinge therefore gets
    one of the two angles with that component, and twist does the rest.
    """
    along = unit(bone.arm)
    arm = unit(child.arm)
    wanted = unit(rotate(quat_inverse(rotation), aim))
    if along is None or arm is None or wanted is None:
        return rotation
    child_rest = child.bone.rest
    axis, arm = mat_apply(child_rest, hinge.axis), mat_apply(child_rest, arm)
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
        allowed_direction = mat_apply(child_rest, rotate(allowed, unit(child.arm) or arm))
        side, wanted_side = cross(along, allowed_direction), cross(along, wanted)
        if length(side) < 1e-6 or length(wanted_side) < 1e-6:
            continue  # Straight: twist has no effect.
        twist = atan2(dot(along, cross(side, wanted_side)), dot(side, wanted_side))
        # If the hinge allows both angles, use the smaller twist.
        is_as_near = abs(cosine - nearest) <= 1e-9
        if (is_as_near and abs(twist) < abs(best)) or (not is_as_near and cosine > nearest):
            nearest, best = max(nearest, cosine), twist
    return quat_product(rotation, quat_about(along, best))


def _minimize(
    linkage: Linkage, near_enough: float, most: int, least_gain: float
) -> tuple[float, int]:
    """Minimize the gaps from a start within the limits.

    Levenberg–Marquardt on the local rotations, and on the root's position if it is free. A joint
    that reaches its limit becomes an active constraint, and the other joints compensate in the same
    iteration.

    Returns:
        The residual, and the number of iterations.
    """
    residual = linkage.place()
    for effector in linkage.effectors:
        effector.force = ORIGIN
    unit_damping = linkage.reach * linkage.reach
    damping = 1e-3
    steps = 0
    while steps < most and residual > near_enough:
        steps += 1
        expected = residual - _step(linkage, damping * unit_damping)
        if expected < least_gain * residual:
            break
        _swap(linkage)
        tried_residual = linkage.place()
        is_good = residual - tried_residual > 0.25 * expected
        if tried_residual < residual:
            residual = tried_residual
        else:
            _swap(linkage)
            linkage.place()
        damping = max(damping * 0.2, 1e-9) if is_good else damping * 6.0
    return residual, steps


def _swap(linkage: Linkage) -> None:
    """Swap the tried pose and the current pose."""
    linkage.root, linkage.tried_root = linkage.tried_root, linkage.root
    for bone in linkage.bones:
        bone.rotation, bone.tried = bone.tried, bone.rotation


def _step(linkage: Linkage, damping: float) -> float:
    """Determine the damped least-squares step that stays within all limits.

    The columns of J are the effectors' velocities under unit rotations. The step is Jᵀ f with the
    forces f = (J Jᵀ + damping)⁻¹ gaps. A bone pulled outward at the end of its limit doesn't rotate
    in that direction. The active set and the forces depend on each other, so they are solved
    alternately, starting with the last iteration's forces.

    Returns:
        The remaining residual, to first order: damping · |f|.
    """
    bones, effectors, system = linkage.bones, linkage.effectors, linkage.system
    for bone in bones:
        bone.active_axes = []
        bone.edges = [] if bone.limit is None else bone.limit.normals(bone.rotation)
        bone.active = 0
        _measure_motions(bone, bones)
        _pulled(bone)
    slide = linkage.slide
    linkage.root_edges = [] if slide is None else slide.normals(linkage.root, linkage.reach)
    linkage.root_active = 0
    linkage.root_left = IDENTITY
    _root_pulled(linkage)
    for _ in range(ROUNDS):
        system.reset(damping)
        if linkage.root_compliance > 0.0:
            system.add_translation(linkage.root_compliance, linkage.root_left)
        for bone in bones:
            system.add_rotation(bone.levers)
        system.solve()
        has_changed = _root_pulled(linkage)
        for bone in bones:
            has_changed = _pulled(bone) or has_changed
        if not has_changed:
            break
    for bone in bones:
        angle = length(bone.turn)
        # Beyond a radian, a first-order step is meaningless.
        turn = scaled(bone.turn, 1.0 / angle) if angle > 1.0 else bone.turn
        turned = quat_unit(quat_product(quat_exp(turn), bone.rotation))
        bone.tried = bone.allowed(turned)
    linkage.tried_root = linkage.root_within(add(linkage.root, _root_motion(linkage)))
    force_square = 0.0
    for effector in effectors:
        force_square += dot(effector.force, effector.force)
    return damping * sqrt(force_square)


def _measure_motions(bone: ConstrainedBone, bones: list[ConstrainedBone]) -> None:
    """Set how a bone's rotation moves the effectors that it carries."""
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = bone.axes
    back = mat_inverse(bone.axes)
    for lever in bone.levers:
        effector = lever.effector
        end = effector.place if lever.last < 0 else bones[lever.last].head
        # In the joint's axes, even if sheared.
        x, y, z = mat_apply(back, sub(end, bone.head))
        factor = effector.pull * bone.compliance
        x *= factor
        y *= factor
        z *= factor
        # The axes times (e × arm), for the unit vectors e.
        lever.motion = (
            m2 * y - m1 * z,
            m0 * z - m2 * x,
            m1 * x - m0 * y,
            m5 * y - m4 * z,
            m3 * z - m5 * x,
            m4 * x - m3 * y,
            m8 * y - m7 * z,
            m6 * z - m8 * x,
            m7 * x - m6 * y,
        )
        if isinstance(bone.limit, Hinge):
            lever.motion = mat_product(lever.motion, bone.limit.along)
        lever.motion_left = lever.motion


def _leave_free(bone: ConstrainedBone) -> None:
    """Set the motions that the active constraints allow."""
    axes = bone.active_axes
    projection = ZEROS if axes and isinstance(bone.limit, Hinge) else _left(axes)
    for lever in bone.levers:
        lever.motion_left = mat_product(lever.motion, projection)


def _left(axes: list[Vec]) -> Mat3:
    """Return the projection onto the space perpendicular to orthonormal axes."""
    if len(axes) > 2:
        return ZEROS
    if len(axes) == 2:
        axis = cross(axes[0], axes[1])
        return add_product(ZEROS, axis, axis)
    return add_product(IDENTITY, scaled(axes[0], -1.0), axes[0]) if axes else IDENTITY


def _root_motion(linkage: Linkage) -> Vec:
    pull = ORIGIN
    for effector in linkage.effectors:
        pull = add(pull, scaled(effector.force, effector.pull))
    factor = linkage.root_compliance * linkage.root_compliance
    return mat_apply(linkage.root_left, scaled(pull, factor))


def _root_pulled(linkage: Linkage) -> bool:
    """Update the edges that stop the root under the forces; return whether they changed."""
    if not linkage.root_edges:
        return False
    pull = ORIGIN
    for effector in linkage.effectors:
        pull = add(pull, scaled(effector.force, effector.pull))
    _, axes, active = _stopped(linkage.root_edges, pull)
    has_changed = active != linkage.root_active
    linkage.root_active, linkage.root_left = active, _left(axes)
    return has_changed


def _pulled(bone: ConstrainedBone) -> bool:
    """Set a bone's step from the forces; return whether its active set changed."""
    x = y = z = 0.0
    for lever in bone.levers:
        # Jᵀ f.
        m0, m1, m2, m3, m4, m5, m6, m7, m8 = lever.motion
        fx, fy, fz = lever.effector.force
        x += m0 * fx + m3 * fy + m6 * fz
        y += m1 * fx + m4 * fy + m7 * fz
        z += m2 * fx + m5 * fy + m8 * fz
    bone.turn = turn = scaled((x, y, z), bone.compliance)
    if not bone.edges:
        return False
    turn, active_axes, active = _stopped(bone.edges, turn)
    has_changed = active != bone.active
    bone.turn, bone.active_axes, bone.active = turn, active_axes, active
    if has_changed:
        _leave_free(bone)
    return has_changed


def _stopped(edges: list[Vec], turn: Vec) -> tuple[Vec, list[Vec], int]:
    """Return the part of a motion that is left after edges stop it.

    Args:
        edges: Their outward normals.
        turn: The motion.

    Returns:
        The remaining motion, the orthonormalized normals that stop it, and a bit mask of them.
    """
    active_axes: list[Vec] = []
    active = 0
    # Twice, as a motion stopped by one constraint may run into another.
    for _ in range(2):
        for i, edge in enumerate(edges):
            if active & (1 << i) or len(active_axes) > 2 or dot(edge, turn) <= 0.0:
                continue
            active |= 1 << i
            axis = edge
            for active_axis in active_axes:
                axis = sub(axis, scaled(active_axis, dot(axis, active_axis)))
            size = length(axis)
            if size > 1e-6:
                axis = scaled(axis, 1.0 / size)
                active_axes.append(axis)
                turn = sub(turn, scaled(axis, dot(axis, turn)))
    return turn, active_axes, active


def _cosine(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
