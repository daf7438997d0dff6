"""FABRIK on a tree of bones, for the shape in which several effectors reach their targets.

Where branches meet, the sub-base takes the weighted mean of their positions (A. Aristidou and
J. Lasenby, “FABRIK: A fast, iterative solver for the Inverse Kinematics problem”, Graphical Models
73, 2011, section 4.2). A bone that carries several joints moves as a rigid body, fitted to them by
least squares.
"""

from typing import Final, final

from .bend import STRAIGHT, bow, side_of
from .bones import inherited_axes, turned_axes
from .chain import Chain, measured
from .joint import copied
from .limit_solver import ConstrainedBone, Effector, Linkage, pointed
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    dot,
    inverse_apply,
    length,
    mat_apply,
    mix,
    quat_exp,
    quat_matrix,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
    times,
    unit,
)

ITERATIONS: Final = 12
"""The iterations that find the shape. Fixed, as the pose would jump where the number changed;
`solve_with_limits` closes the gap that is left."""

FIT_ROUNDS: Final = 20
"""The most iterations of a rigid fit."""

FITS: Final = 1e-12
NEARLY_FITS: Final = 1e-4
"""The rotation, in radians, below which a rigid fit has converged; looser while iterating."""

BENT: Final = 0.99
"""The share of its length to which a straight branch is bent when anything has to move."""


@final
class Node:
    """A bone during the iterations, in armature space.

    Attributes:
        children: Its children that carry effectors.
        effectors: The effectors on the bone itself.
        arms: The vectors from its head to these joints and points, under the FK pose.
        is_rigid: Whether they end in more than one point.
        head: The position of its head.
        ends: The positions of the arms' ends.
        wanted: The position of its head in the backward pass.
        weight: The weight of that.
        turn: The rotation of a rigid bone from the FK pose.
    """

    __slots__ = (
        "arms",
        "children",
        "effectors",
        "ends",
        "head",
        "is_rigid",
        "turn",
        "wanted",
        "weight",
    )
    children: list[int]
    effectors: list[int]
    arms: list[Vec]
    is_rigid: bool
    head: Vec
    ends: list[Vec]
    wanted: Vec
    weight: float
    turn: Quat

    def __init__(self, head: Vec) -> None:
        self.children = []
        self.effectors = []
        self.arms = []
        self.is_rigid = False
        self.head = head
        self.ends = []
        self.wanted = head
        self.weight = 0.0
        self.turn = QUAT_IDENTITY


def shape(linkage: Linkage, bends: list[Vec], iterations: int, tolerance: float) -> list[Quat]:
    """Iterate from the FK pose, and return the rotations that follow the joints.

    Args:
        linkage: In its FK pose; it is not changed.
        bends: For each effector the side to which a straight branch that leads to it bends.
        iterations: The most iterations.
        tolerance: The gap, as a share of the linkage's reach, above which straight branches bend.
    """
    nodes = _nodes(linkage)
    missed = max([length(sub(e.target, e.place)) for e in linkage.effectors])
    urge = min(1.0, missed / (tolerance * linkage.reach))
    for number in range(len(linkage.effectors)):
        _bow_branch(nodes, linkage, number, bends[number], urge)
    for _ in range(min(ITERATIONS, iterations)):
        _backward(nodes, linkage.effectors)
        start = nodes[0].head
        if linkage.root_compliance > 0.0:
            start = mix(start, nodes[0].wanted, min(1.0, linkage.root_compliance / linkage.reach))
        _forward(nodes, linkage.effectors, start)
    return _followed(nodes, linkage)


def _nodes(linkage: Linkage) -> list[Node]:
    bones = linkage.bones
    nodes = [Node(bone.head) for bone in bones]
    for i, bone in enumerate(bones):
        if bone.parent >= 0 and bone.moves:
            nodes[bone.parent].children.append(i)
    for number, effector in enumerate(linkage.effectors):
        nodes[effector.bone].effectors.append(number)
    for node in nodes:
        node.ends = [bones[i].head for i in node.children]
        node.ends += [linkage.effectors[i].place for i in node.effectors]
        node.arms = [sub(end, node.head) for end in node.ends]
        apart = [length(sub(arm, node.arms[0])) for arm in node.arms]
        node.is_rigid = max(apart, default=0.0) > STRAIGHT * linkage.reach
    return nodes


def _bow_branch(nodes: list[Node], linkage: Linkage, number: int, bend: Vec, urge: float) -> None:
    """Bend the bones that lead to an effector alone, if they are straight (see `bow`).

    They bend as soon as anything has to move, even if their own effector does not: a push along
    a straight branch's axis cannot bend it.
    """
    effector = linkage.effectors[number]
    path: list[int] = []
    i = effector.bone
    while i >= 0 and len(nodes[i].ends) == 1:
        path.insert(0, i)
        i = linkage.bones[i].parent
    if len(path) < 2 or urge == 0.0:
        return
    chain = Chain((*[nodes[i].head for i in path], effector.place), bend)
    if chain.aside >= STRAIGHT or chain.scale == 0.0:
        return
    joints = copied(chain.start)
    tip = joints[-1].at()
    target = measured(effector.target, chain.root, chain.scale)
    distance = min(length(target), BENT)
    bent = scaled(unit(target) or chain.axis, max(distance, chain.inner))
    side = side_of([bend], chain.axis)
    goal = mix(tip, bent, urge)
    keep = max(chain.aside / STRAIGHT, 1.0 - length(sub(goal, tip)) / STRAIGHT**2)
    bow(joints, chain.axis, keep, goal, side)
    places = [add(chain.root, scaled(joint.at(), chain.scale)) for joint in joints]
    for i, place in zip(path, places, strict=False):
        nodes[i].head = place
    for before, after in zip(path, places[1:], strict=True):
        nodes[before].ends = [after]


def _pulls(node: Node, nodes: list[Node], effectors: list[Effector]) -> list[tuple[Vec, float]]:
    """Return the wanted position of each end of a bone, and its weight."""
    pulls = [(nodes[i].wanted, nodes[i].weight) for i in node.children]
    return pulls + [(effectors[i].target, effectors[i].pull ** 2) for i in node.effectors]


def _mean(places: list[Vec], weights: list[float], total: float) -> Vec:
    mean = ORIGIN
    for place, weight in zip(places, weights, strict=True):
        mean = add(mean, scaled(place, weight / total))
    return mean


def _backward(nodes: list[Node], effectors: list[Effector]) -> None:
    """From the effectors on, find the wanted position of each bone's head."""
    for node in reversed(nodes):
        if not node.ends:
            continue
        pulls = _pulls(node, nodes, effectors)
        places, weights = [place for place, _ in pulls], [weight for _, weight in pulls]
        node.weight = sum(weights)
        place = _mean(places, weights, node.weight)
        if node.is_rigid:
            arm = _mean(node.arms, weights, node.weight)
            arms = [sub(a, arm) for a in node.arms]
            ways = [sub(p, place) for p in places]
            node.turn = fitted(node.turn, arms, ways, weights, NEARLY_FITS)
            node.wanted = sub(place, rotate(node.turn, arm))
        else:
            back = unit(sub(node.head, place)) or scaled(unit(node.arms[0]) or ORIGIN, -1.0)
            node.wanted = add(place, scaled(back, length(node.arms[0])))


def _forward(nodes: list[Node], effectors: list[Effector], start: Vec) -> None:
    """From the root on, put each bone on its parent's end and point it at the wanted ends."""
    nodes[0].head = start
    for node in nodes:
        if not node.ends:
            continue
        pulls = _pulls(node, nodes, effectors)
        weights = [weight for _, weight in pulls]
        ways = [sub(place, node.head) for place, _ in pulls]
        if node.is_rigid:
            node.turn = fitted(node.turn, node.arms, ways, weights, NEARLY_FITS)
            node.ends = [add(node.head, rotate(node.turn, arm)) for arm in node.arms]
        else:
            way = unit(_mean(ways, weights, sum(weights))) or unit(sub(node.ends[0], node.head))
            end = add(node.head, scaled(way or ORIGIN, length(node.arms[0])))
            node.ends = [end] * len(node.arms)
        for i, end in zip(node.children, node.ends, strict=False):
            nodes[i].head = end


def fitted(
    turn: Quat, arms: list[Vec], ways: list[Vec], weights: list[float], near_enough: float
) -> Quat:
    """Return the rotation that fits the arms to the ways by least squares.

    Iterated from a given rotation and staying near it, so that it is continuous (M. Müller,
    J. Bender, N. Chentanez and M. Macklin, “A robust method to extract the rotational part of
    deformations”, Motion in Games 2016).
    """
    for _ in range(FIT_ROUNDS):
        axes = quat_matrix(turn)
        moment = ORIGIN
        along = 0.0
        for arm, way, weight in zip(arms, ways, weights, strict=True):
            turned = mat_apply(axes, arm)
            moment = add(moment, scaled(cross(turned, way), weight))
            along += weight * dot(turned, way)
        size = length(moment)
        if size <= near_enough * abs(along) or size == 0.0:
            break
        angle = min(1.0, size / abs(along)) if along != 0.0 else 1.0
        turn = quat_unit(quat_product(quat_exp(scaled(moment, angle / size)), turn))
    return turn


def _followed(nodes: list[Node], linkage: Linkage) -> list[Quat]:
    """Return the rotations that point the bones at the joints as far as their limits allow."""
    bones = linkage.bones
    axes: list[Mat3] = []
    rotations: list[Quat] = []
    for i, bone in enumerate(bones):
        node = nodes[i]
        parent = linkage.parent if bone.parent < 0 else axes[bone.parent]
        inherited, post_scale = inherited_axes(bone.bone, parent)
        if not node.ends:
            rotation = bone.given
        elif node.is_rigid:
            rotation = _fitted_bone(node, nodes, linkage, bone, inherited)
        else:
            child = node.children[0] if len(node.children) == 1 else -1
            way = sub(node.ends[0], node.head)
            if child >= 0 and len(nodes[child].ends) == 1:
                beyond = sub(nodes[child].ends[0], nodes[child].head)
                rotation = pointed(bones, i, inherited, way, bones[child], beyond)
            else:
                rotation = pointed(bones, i, inherited, way, None, ORIGIN)
        rotations.append(rotation)
        axes.append(turned_axes(inherited, rotation, bone.scale, post_scale))
    return rotations


def _fitted_bone(
    node: Node, nodes: list[Node], linkage: Linkage, bone: ConstrainedBone, inherited: Mat3
) -> Quat:
    """Return the rotation of a rigid bone: the FK pose's, turned by the fit of its ends."""
    points = [linkage.bones[i].at for i in node.children]
    points += [linkage.effectors[i].point for i in node.effectors]
    arms = [rotate(bone.given, times(point, bone.scale)) for point in points]
    ways = [inverse_apply(inherited, sub(end, node.head)) for end in node.ends]
    turn = fitted(QUAT_IDENTITY, arms, ways, [1.0] * len(arms), FITS)
    return bone.allowed(quat_product(turn, bone.given))
