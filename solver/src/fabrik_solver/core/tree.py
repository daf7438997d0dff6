"""FABRIK on a tree of bones, for the shape in which several effectors reach their targets.

Where branches meet, the sub-base gets the weighted mean of their positions (A. Aristidou and J.
Lasenby, “FABRIK: A fast, iterative solver for the Inverse Kinematics problem”, Graphical Models 73,
2011, section 4.2). A bone that carries several joints moves as a rigid body, fitted to them by
least squares.
"""

from math import cos, sin
from typing import Final, final

from .bend import STRAIGHT, bow, side_of
from .bones import turned_axes
from .chain import Chain, measured
from .joint import copied
from .limit_solver import ConstrainedBone, Linkage, pointed
from .segments import is_rigid
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    ZEROS,
    Mat3,
    Quat,
    Vec,
    add,
    add_product,
    inverse_apply,
    length,
    mat_product,
    mix,
    quat_between,
    quat_matrix,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
    times,
    unit,
    unit_or,
)

ITERATIONS: Final = 12
"""Number of iterations that find the shape. It is fixed, because the pose would jump if it
changed; `solve_with_limits` closes the remaining gap."""

FIT_ROUNDS: Final = 20
"""Maximum number of iterations of a rigid fit."""

FITS: Final = 1e-12
NEARLY_FITS: Final = 1e-4
"""The rotation, in radians, below which a rigid fit has converged; looser while iterating."""

BENT: Final = 0.99
"""The fraction of its length to which a straight branch bends if anything has to move."""


@final
class End:
    """The end of a bone, in armature space: the head of a child, or an effector.

    Attributes:
        arm: The vector from the bone's head to the end, in the FK pose.
        weighted_arm: The arm times the weight.
        weighted_offset: The vector from the weighted mean of the ends, times the weight.
        at: Its position.
        wanted: The goal for its position: the effector's target, or the head in the backward pass.
        weight: The weight of that goal.
        fraction: The weight relative to the sum over the bone's ends.
    """

    def __init__(self, at: Vec, wanted: Vec, weight: float) -> None:
        self.arm = ORIGIN
        self.weighted_arm = ORIGIN
        self.weighted_offset = ORIGIN
        self.at = at
        self.wanted = wanted
        self.weight = weight
        self.fraction = 1.0


@final
class Node:
    """A bone during the iterations.

    Attributes:
        head: Its head, which is an end of its parent.
        children: Its children that carry effectors.
        effectors: The effectors on the bone itself.
        ends: The heads of the children, then the effectors.
        mean_arm: The vector from its head to the weighted mean of the ends, in the FK pose.
        size: The length of its first arm.
        back: The direction opposite to that arm, in the FK pose.
        is_rigid: Whether it ends in more than one point.
        turn: The rotation of a rigid bone from the FK pose.
    """

    def __init__(self, head: Vec) -> None:
        self.head = End(head, head, 0.0)
        self.children: list[int] = []
        self.effectors: list[int] = []
        self.ends: list[End] = []
        self.mean_arm = ORIGIN
        self.size = 0.0
        self.back = ORIGIN
        self.is_rigid = False
        self.turn = QUAT_IDENTITY


def shape(linkage: Linkage, bends: list[Vec], iterations: int, tolerance: float) -> list[Quat]:
    """Return the joint rotations of a shape in which the effectors are near their targets.

    FABRIK iterates on positions from the FK pose. The rotations then follow the positions as far as
    limits allow.

    Args:
        linkage: The bones in their FK pose; not changed.
        bends: For each effector, the bend direction of a straight branch to it.
        iterations: The iteration limit.
        tolerance: The gap, relative to the linkage's reach, above which straight branches bend.
    """
    nodes, inner = _nodes(linkage)
    gap = max([length(sub(e.target, e.place)) for e in linkage.effectors])
    urge = min(1.0, gap / (tolerance * linkage.reach))
    for number in range(len(linkage.effectors)):
        _bow_branch(nodes, linkage, inner, number, bends[number], urge)
    carriers = [node for i, node in enumerate(nodes) if node.ends and i not in inner]
    root = nodes[0].head
    for _ in range(min(ITERATIONS, iterations)):
        _backward(carriers)
        if linkage.root_compliance > 0.0:
            mobility = min(1.0, linkage.root_compliance / linkage.reach)
            root.at = linkage.root_within(mix(root.at, root.wanted, mobility))
        _forward(carriers)
    _split_up(nodes, linkage, inner)
    return _followed(nodes, linkage)


def _nodes(linkage: Linkage) -> tuple[list[Node], set[int]]:
    """Return the bones' nodes, and which bones are inside rigid segments.

    The first bone of a segment (see `segments`) gets the ends of its last bone.
    """
    bones = linkage.bones
    nodes = [Node(bone.head) for bone in bones]
    for i, bone in enumerate(bones):
        if bone.parent >= 0 and bone.levers:
            nodes[bone.parent].children.append(i)
    for number, effector in enumerate(linkage.effectors):
        nodes[effector.bone].effectors.append(number)
    for node in reversed(nodes):
        node.ends = [nodes[i].head for i in node.children]
        for number in node.effectors:
            effector = linkage.effectors[number]
            node.ends.append(End(effector.place, effector.target, effector.pull * effector.pull))
    inner: set[int] = set()
    for i in range(len(nodes) - 1, 0, -1):
        above, ends = nodes[bones[i].parent], nodes[i].ends
        if len(ends) == len(above.ends) == 1 and is_rigid(bones[i].limit, bones[i].arm):
            above.ends = ends
            inner.add(i)
    for node in reversed(nodes):
        _measure(node, linkage.reach)
    return nodes, inner


def _split_up(nodes: list[Node], linkage: Linkage, inner: set[int]) -> None:
    """Place the joints within rigid segments, and restore the end of each bone.

    Args:
        nodes: The solved nodes.
        linkage: The bones in their FK pose.
        inner: The bones after the first of each segment.
    """
    bones = linkage.bones
    first: dict[int, int] = {}
    turns: dict[int, Quat] = {}
    for i in sorted(inner):
        parent = bones[i].parent
        top = first.get(parent, parent)
        first[i] = top
        root = nodes[top].head.at
        if top not in turns:
            end = nodes[top].ends[0]
            turns[top] = quat_between(end.arm, sub(end.at, root), ORIGIN)
        fk_offset = sub(bones[i].head, bones[top].head)
        nodes[i].head.at = add(root, rotate(turns[top], fk_offset))
        nodes[i].ends = nodes[parent].ends
        nodes[parent].ends = [nodes[i].head]


def _measure(node: Node, reach: float) -> None:
    """Set a node's properties that stay the same during iterations.

    Args:
        node: The node, with its head and ends in the FK pose.
        reach: The reach of the tree, which tells different offsets from rounding.
    """
    head, ends = node.head, node.ends
    for end in ends:
        head.weight += end.weight
    for end in ends:
        # Weights may be too far apart to be squared.
        end.fraction = end.weight / head.weight if head.weight > 0.0 else 1.0 / len(ends)
        end.arm = sub(end.at, head.at)
        node.mean_arm = add(node.mean_arm, scaled(end.arm, end.fraction))
        node.is_rigid = node.is_rigid or length(sub(end.arm, ends[0].arm)) > STRAIGHT * reach
    for end in ends:
        end.weighted_arm = scaled(end.arm, end.weight)
        end.weighted_offset = scaled(sub(end.arm, node.mean_arm), end.weight)
    if ends:
        node.size = length(ends[0].arm)
        node.back = unit_or(scaled(ends[0].arm, -1.0), ORIGIN)


def _bow_branch(
    nodes: list[Node], linkage: Linkage, inner: set[int], number: int, bend: Vec, urge: float
) -> None:
    """Bend the bones that lead to a single effector, if they are straight (see `bow`).

    They bend as soon as anything has to move, even if their effector doesn't. A push along the axis
    couldn't bend a straight branch.

    Args:
        nodes: The bones' nodes.
        linkage: The bones in their FK pose.
        inner: The bones after the first of each rigid segment.
        number: The index of the effector.
        bend: The bend direction.
        urge: How much they bend, from 0 to 1.
    """
    effector = linkage.effectors[number]
    path: list[int] = []
    i = effector.bone
    while i >= 0 and len(nodes[i].ends) == 1:
        if i not in inner:
            path.insert(0, i)
        i = linkage.bones[i].parent
    if len(path) < 2 or urge == 0.0:
        return
    chain = Chain((*[nodes[i].head.at for i in path], effector.place), bend)
    if chain.deviation >= STRAIGHT or chain.scale == 0.0:
        return
    joints = copied(chain.start)
    tip = joints[-1].at()
    target = measured(effector.target, chain.root, chain.scale)
    distance = min(length(target), BENT)
    bent = scaled(unit(target) or chain.axis, max(distance, chain.inner))
    side = side_of([bend], chain.axis)
    goal = mix(tip, bent, urge)
    keep = max(chain.deviation / STRAIGHT, 1.0 - length(sub(goal, tip)) / STRAIGHT**2)
    bow(joints, chain.axis, keep, goal, side)
    for i, joint in zip(path, joints[1:], strict=True):
        nodes[i].ends[0].at = add(chain.root, scaled(joint.at(), chain.scale))


def _backward(nodes: list[Node]) -> None:
    """From the effectors inward, determine the goal for each bone's head."""
    for node in reversed(nodes):
        head = node.head
        x = y = z = 0.0
        for end in node.ends:
            weight = end.fraction
            ex, ey, ez = end.wanted
            x += weight * ex
            y += weight * ey
            z += weight * ez
        mean_end = (x, y, z)
        if node.is_rigid:
            spread = ZEROS
            for end in node.ends:
                spread = add_product(spread, end.weighted_offset, sub(end.wanted, mean_end))
            node.turn = fitted(node.turn, spread, NEARLY_FITS)
            head.wanted = sub(mean_end, rotate(node.turn, node.mean_arm))
            continue
        hx, hy, hz = head.at
        bx, by, bz = unit_or((hx - x, hy - y, hz - z), node.back)
        size = node.size
        head.wanted = (x + size * bx, y + size * by, z + size * bz)


def _forward(nodes: list[Node]) -> None:
    """From the root outward, point each bone at the goals of its ends."""
    for node in nodes:
        head = node.head.at
        hx, hy, hz = head
        if node.is_rigid:
            spread = ZEROS
            for end in node.ends:
                spread = add_product(spread, end.weighted_arm, sub(end.wanted, head))
            node.turn = fitted(node.turn, spread, NEARLY_FITS)
            for end in node.ends:
                end.at = add(head, rotate(node.turn, end.arm))
            continue
        x = y = z = 0.0
        for end in node.ends:
            weight = end.fraction
            ex, ey, ez = end.wanted
            x += weight * (ex - hx)
            y += weight * (ey - hy)
            z += weight * (ez - hz)
        if x == y == z == 0.0:
            x, y, z = sub(node.ends[0].at, head)
        wx, wy, wz = unit_or((x, y, z), ORIGIN)
        size = node.size
        end_position = (hx + size * wx, hy + size * wy, hz + size * wz)
        for end in node.ends:
            end.at = end_position


def fitted(turn: Quat, spread: Mat3, near_enough: float) -> Quat:
    """Return the rotation that fits arms ``a`` to vectors ``b``, weighted by ``w`` (least squares).

    Iterates from a start rotation and stays near it, for continuity (M. Müller, J. Bender, N.
    Chentanez and M. Macklin, “A robust method to extract the rotational part of deformations”,
    Motion in Games 2016). Newton's method would need a sixth of the iterations, but would rotate
    bodies farther where the fit is loose.

    Args:
        turn: The rotation to start from.
        spread: Σ w a bᵀ, which determines the fit.
        near_enough: The angle below which it has converged, in radians.
    """
    turned = mat_product(quat_matrix(turn), spread)
    for _ in range(FIT_ROUNDS):
        xx, xy, xz, yx, yy, yz, zx, zy, zz = turned
        # Σ w (R a) × b, and Σ w (R a) · b.
        x, y, z = yz - zy, zx - xz, xy - yx
        along = abs(xx + yy + zz)
        size = length((x, y, z))
        if size <= near_enough * along or size < 1e-300:
            break
        half = 0.5 * size / (along if along > size else size)
        factor = sin(half) / size
        step = (cos(half), x * factor, y * factor, z * factor)
        turn = quat_product(step, turn)
        turned = mat_product(quat_matrix(step), turned)
    return quat_unit(turn)


def _followed(nodes: list[Node], linkage: Linkage) -> list[Quat]:
    """Return the joint rotations that point the bones as far as their limits allow."""
    bones = linkage.bones
    axes: list[Mat3] = []
    rotations: list[Quat] = []
    for i, bone in enumerate(bones):
        node = nodes[i]
        parent = linkage.parent if bone.parent < 0 else axes[bone.parent]
        inherited, post_scale = bone.joint_axes(parent)
        if not node.ends:
            rotation = bone.joint
        elif node.is_rigid:
            rotation = _fitted_bone(node, linkage, bone, inherited)
        else:
            child = node.children[0] if len(node.children) == 1 else -1
            direction = sub(node.ends[0].at, node.head.at)
            if child >= 0 and len(nodes[child].ends) == 1:
                beyond = sub(nodes[child].ends[0].at, nodes[child].head.at)
                rotation = pointed(bones, i, inherited, direction, bones[child], beyond)
            else:
                rotation = pointed(bones, i, inherited, direction, None, ORIGIN)
        rotations.append(rotation)
        axes.append(turned_axes(inherited, rotation, bone.scale, post_scale))
    return rotations


def _fitted_bone(node: Node, linkage: Linkage, bone: ConstrainedBone, inherited: Mat3) -> Quat:
    """Return a rigid bone's rotation: the FK rotation, turned by the fit of its ends."""
    points = [linkage.bones[i].at for i in node.children]
    points += [linkage.effectors[i].point for i in node.effectors]
    spread = ZEROS
    for point, end in zip(points, node.ends, strict=True):
        arm = rotate(bone.joint, times(point, bone.scale))
        end_vector = inverse_apply(inherited, sub(end.at, node.head.at))
        spread = add_product(spread, arm, end_vector)
    turn = fitted(QUAT_IDENTITY, spread, FITS)
    return bone.allowed(quat_product(turn, bone.joint))
