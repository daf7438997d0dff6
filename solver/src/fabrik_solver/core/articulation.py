"""An articulated body: its bones at the press, what is wanted of them, and where a pose puts them.

Everything is in one space with one unit of length; rotations are unit quaternions. Inside, lengths
are in sizes of the body, about its first root.
"""

from collections.abc import Sequence
from math import atan2, cos, sin
from typing import Final, final

from .limits import Limit
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    quat_exp,
    quat_inverse,
    quat_log,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
)

PINNED: Final = 0
DRAGGED: Final = 1
TARGET: Final = 2
SOFT: Final = 3

START_BEND: Final = 1.0
"""The bend from which the search for a limb begins at least, in radians.

From a crouch, springs find the way both up and down: from straight knees a head that is pulled down
bends the back first, until thighs are at limits behind which knees bend no more.
"""

BACK: Final = 0.3
"""How far the bone above rotates the other way, as a share of that. With one half, limbs are
compressed along their line, but thighs begin at limits behind which knees bend no more."""

SHARED: Final = 3.0
"""How many times as stiff a joint is against leaving its share of another's swing."""


Onset = tuple[float, float]
"""An angle of at least 0 in radians, and the weight of the squared angle beyond it."""


@final
class Resistance:
    """What resists the rotation of a joint about one axis, beside its stiffness.

    Attributes:
        axis: The unit axis, in the joint's own axes at the press.
        negative: What resists a negative component of the rotation vector since the press.
        positive: The same of a positive one.
    """

    __slots__ = ("axis", "negative", "positive")
    axis: Vec
    negative: Sequence[Onset]
    positive: Sequence[Onset]

    def __init__(self, axis: Vec, negative: Sequence[Onset], positive: Sequence[Onset]) -> None:
        self.axis = axis
        self.negative = negative
        self.positive = positive

    def at(self, turn: Vec) -> Vec:
        """Return the energy, its slope and its curvature at a rotation vector since the press."""
        component = dot(turn, self.axis)
        sign = -1.0 if component < 0.0 else 1.0
        energy = slope = curvature = 0.0
        for angle, weight in self.negative if component < 0.0 else self.positive:
            over = sign * component - angle
            if over > 0.0:
                energy += 0.5 * weight * over * over
                slope += sign * weight * over
                curvature += weight
        return energy, slope, curvature


@final
class Link:
    """A spring over several joints, as a muscle that passes hip and knee.

    Attributes:
        joints: The joints.
        axes: The axis of each in its own axes at the press, times its share: the sum of the
            components of their rotation vectors along these is what the spring resists.
        angle: The sum from which on it does, at least 0, in radians.
        stiffness: The weight of the squared sum beyond.
    """

    __slots__ = ("angle", "axes", "joints", "stiffness")
    joints: Sequence[int]
    axes: Sequence[Vec]
    angle: float
    stiffness: float

    def __init__(
        self, joints: Sequence[int], axes: Sequence[Vec], angle: float, stiffness: float
    ) -> None:
        self.joints = joints
        self.axes = axes
        self.angle = angle
        self.stiffness = stiffness

    def stretched(self, turns: Sequence[Quat]) -> float:
        """Return the sum in a pose."""
        total = 0.0
        for joint, axis in zip(self.joints, self.axes, strict=True):
            total += dot(quat_log(turns[joint]), axis)
        return total


@final
class WholeBodyJoint:
    """A bone of the body.

    Everything is in one space with one unit of length; rotations are unit quaternions.

    Attributes:
        parent: Index of the parent, which comes before it; below 0 for a root.
        head: Its pivot at the press.
        axes: Its axes at the press.
        is_free: Whether it moves as well as rotates; only a root can.
        inherits: Whether it rotates with its parent; otherwise it only moves with it.
        stiffness: The weight of its squared angle.
        resistances: What resists its rotation beside that.
        limit: The rotations that it may have.
        rotation: Its rotation at the press, in the axes of the limit.
        preferred: The axis about which it bends when its limb is compressed, in its own axes.
        follows: The descendant whose swing it takes a share of; below 0 if none.
        share: The share of the rotation of both that it takes, from 0 to below 1.
        mass: Its mass.
        centre: Its centre of mass at the press.
    """

    __slots__ = (
        "axes",
        "centre",
        "follows",
        "head",
        "inherits",
        "is_free",
        "limit",
        "mass",
        "parent",
        "preferred",
        "resistances",
        "rotation",
        "share",
        "stiffness",
    )
    parent: int
    head: Vec
    axes: Quat
    is_free: bool
    inherits: bool
    stiffness: float
    resistances: Sequence[Resistance]
    limit: Limit | None
    rotation: Quat
    preferred: Vec
    follows: int
    share: float
    mass: float
    centre: Vec

    def __init__(
        self,
        parent: int,
        head: Vec,
        axes: Quat,
        *,
        is_free: bool = False,
        inherits: bool = True,
        stiffness: float = 1.0,
        resistances: Sequence[Resistance] = (),
        limit: Limit | None = None,
        rotation: Quat = QUAT_IDENTITY,
        preferred: Vec = ORIGIN,
        follows: int = -1,
        share: float = 0.0,
        mass: float = 0.0,
        centre: Vec = ORIGIN,
    ) -> None:
        """Take what is known of the bone at the press."""
        self.parent = parent
        self.head = head
        self.axes = axes
        self.is_free = is_free
        self.inherits = inherits
        self.stiffness = stiffness
        self.resistances = resistances
        self.limit = limit
        self.rotation = rotation
        self.preferred = preferred
        self.follows = follows
        self.share = share
        self.mass = mass
        self.centre = centre


@final
class WholeBodyGoal:
    """What is wanted of a point of a bone.

    Attributes:
        joint: Index of the bone.
        point: The point at the press.
        rank: PINNED, DRAGGED, TARGET or SOFT: the lower is strict before the higher.
        location: Where the point is wanted; None if it does not matter.
        location_weights: How much that counts along each axis of the space.
        rotation: The rotation since the press that is wanted; None if it does not matter.
        rotation_weights: How much that counts about each axis of the space.
        weight: How much it counts within its rank.
    """

    __slots__ = (
        "joint",
        "location",
        "location_weights",
        "point",
        "rank",
        "rotation",
        "rotation_weights",
        "weight",
    )
    joint: int
    point: Vec
    rank: int
    location: Vec | None
    location_weights: Vec
    rotation: Quat | None
    rotation_weights: Vec
    weight: float

    def __init__(
        self,
        joint: int,
        point: Vec,
        rank: int,
        *,
        location: Vec | None = None,
        location_weights: Vec = (1.0, 1.0, 1.0),
        rotation: Quat | None = None,
        rotation_weights: Vec = (1.0, 1.0, 1.0),
        weight: float = 1.0,
    ) -> None:
        """Take what is wanted."""
        self.joint = joint
        self.point = point
        self.rank = rank
        self.location = location
        self.location_weights = location_weights
        self.rotation = rotation
        self.rotation_weights = rotation_weights
        self.weight = weight


@final
class Placement:
    """A pose of the body, as it is searched for.

    Attributes:
        moved: How far each joint that is free has moved since the press.
        turns: The rotation of each joint since the press, in its own axes at the press.
        heads: The pivots.
        axes: The axes of the joints.
        changes: The rotation of each bone since the press.
    """

    __slots__ = ("axes", "changes", "heads", "moved", "turns")
    moved: list[Vec]
    turns: list[Quat]
    heads: list[Vec]
    axes: list[Quat]
    changes: list[Quat]

    def __init__(self, moved: list[Vec], turns: list[Quat]) -> None:
        """Take what is searched for; `Articulation.place` finds the rest."""
        self.moved = moved
        self.turns = turns
        self.heads = []
        self.axes = []
        self.changes = []


@final
class Articulation:
    """The bones, and those of them that some goals can move.

    Attributes:
        joints: The bones, parents first.
        heads: Their pivots at the press.
        moving: Whether a goal is on a bone or below it.
        order: The indices of those bones.
        follower: For each joint, the one that takes a share of its swing; -1 if none.
        mass: The mass of all bones.
    """

    __slots__ = (
        "_backs",
        "_levers",
        "_placed",
        "follower",
        "heads",
        "joints",
        "mass",
        "moving",
        "order",
        "origin",
        "size",
    )
    joints: list[WholeBodyJoint]
    heads: list[Vec]
    moving: list[bool]
    order: list[int]
    follower: list[int]
    mass: float
    origin: Vec
    size: float
    _backs: list[Quat]
    _levers: list[Vec]
    _placed: list[int]

    def __init__(
        self,
        joints: list[WholeBodyJoint],
        ends: Sequence[int],
        origin: Vec,
        size: float,
        is_balanced: bool,
    ) -> None:
        """Take the bones.

        Args:
            joints: The bones, parents first.
            ends: The bones that goals are on.
            origin: What becomes the origin.
            size: What becomes the unit of length.
            is_balanced: Whether poses are asked for their centre of mass on the way, for which
                all bones count; else those that no goal moves, as most fingers, are left out.
        """
        self.joints = joints
        self.origin = origin
        self.size = size
        self.heads = [self.inward(joint.head) for joint in joints]
        self.moving = [False] * len(joints)
        for end in ends:
            for index in self.path(end):
                self.moving[index] = True
        self.order = [index for index in range(len(joints)) if self.moving[index]]
        self._placed = list(range(len(joints))) if is_balanced else self.order
        self._levers = [
            head if joint.parent < 0 else sub(head, self.heads[joint.parent])
            for head, joint in zip(self.heads, joints, strict=True)
        ]
        self._backs = [quat_inverse(joint.axes) for joint in joints]
        self.follower = [-1] * len(joints)
        for index in self.order:
            if self.is_sharing(index):
                self.follower[joints[index].follows] = index
        self.mass = sum([joint.mass for joint in joints])

    def inward(self, point: Vec) -> Vec:
        """Return a point of the space in sizes of the body."""
        return scaled(sub(point, self.origin), 1.0 / self.size)

    def outward(self, point: Vec) -> Vec:
        """Return a point in sizes of the body in the space."""
        return add(self.origin, scaled(point, self.size))

    def path(self, end: int) -> list[int]:
        """Return a bone and all above it, from the end."""
        path: list[int] = []
        while end >= 0:
            path.append(end)
            end = self.joints[end].parent
        return path

    def is_sharing(self, index: int) -> bool:
        """Return whether a joint takes a share of the swing of another that moves."""
        follows = self.joints[index].follows
        return follows >= 0 and self.moving[follows]

    def place(self, pose: Placement) -> None:
        """Place the joints that the search needs."""
        count = len(self.joints)
        pose.heads = [ORIGIN] * count
        pose.axes = [QUAT_IDENTITY] * count
        pose.changes = [QUAT_IDENTITY] * count
        self._carry(pose, self._placed)

    def complete(self, pose: Placement) -> None:
        """Place the other joints as well."""
        placed = set(self._placed)
        self._carry(pose, [index for index in range(len(self.joints)) if index not in placed])

    def _carry(self, pose: Placement, indices: list[int]) -> None:
        """Find where joints are, given in order, of which the parents come before or are known."""
        joints, moving, levers, backs = self.joints, self.moving, self._levers, self._backs
        heads, axes, changes, turns = pose.heads, pose.axes, pose.changes, pose.turns
        for index in indices:
            joint = joints[index]
            parent = joint.parent
            if parent < 0:
                head = add(levers[index], pose.moved[index])
                carried = joint.axes
                change = QUAT_IDENTITY
            else:
                change = changes[parent]
                head = add(heads[parent], rotate(change, levers[index]))
                if not joint.inherits:
                    change = QUAT_IDENTITY
                carried = quat_product(change, joint.axes)
            if moving[index]:
                carried = quat_product(carried, turns[index])
                change = quat_product(carried, backs[index])
            heads[index] = head
            axes[index] = carried
            changes[index] = change

    def centre(self, pose: Placement) -> Vec:
        """Return the centre of mass."""
        x = y = z = 0.0
        for index, joint in enumerate(self.joints):
            if joint.mass > 0.0:
                cx, cy, cz = self.centre_of(pose, index)
                x, y, z = x + joint.mass * cx, y + joint.mass * cy, z + joint.mass * cz
        return (x / self.mass, y / self.mass, z / self.mass)

    def centre_at_press(self) -> Vec:
        """Return the centre of mass at the press."""
        total = ORIGIN
        for joint in self.joints:
            total = add(total, scaled(self.inward(joint.centre), joint.mass / self.mass))
        return total

    def centre_of(self, pose: Placement, index: int) -> Vec:
        """Return the centre of mass of one bone."""
        joint = self.joints[index]
        lever = scaled(sub(joint.centre, joint.head), 1.0 / self.size)
        return add(pose.heads[index], rotate(pose.changes[index], lever))

    def start(self, points: dict[int, Vec]) -> Placement:
        """Return the pose at the press, within the limits, with limbs bent.

        The bone above a joint rotates the other way: from hips that are in front of the feet, a
        body that is pulled down leans backward.

        Args:
            points: Where on the last bones the goals are.
        """
        turns = [QUAT_IDENTITY] * len(self.joints)
        following = dict(points)
        for index in self.order:
            parent = self.joints[index].parent
            if parent >= 0:
                following[parent] = self.heads[index]
        for index in self.order:
            joint = self.joints[index]
            if joint.preferred != ORIGIN and joint.parent >= 0:
                incoming = sub(self.heads[index], self.heads[joint.parent])
                outgoing = sub(following[index], self.heads[index])
                bend = atan2(length(cross(incoming, outgoing)), dot(incoming, outgoing))
                if bend < START_BEND:
                    bent, above = scaled(joint.preferred, START_BEND - bend), joint.parent
                    across = quat_product(quat_inverse(self.joints[above].axes), joint.axes)
                    turns[above] = quat_exp(scaled(rotate(across, bent), -BACK))
                    turns[index] = quat_exp(bent)
        for index in self.order:
            turns[index] = self.within(index, turns[index])
        placement = Placement([ORIGIN] * len(self.joints), turns)
        self.place(placement)
        return placement

    def within(self, index: int, turn: Quat) -> Quat:
        """Return the allowed rotation since the press that is nearest to one."""
        joint = self.joints[index]
        if joint.limit is None:
            return turn
        wanted = quat_product(joint.rotation, turn)
        allowed = joint.limit.nearest(wanted)
        return quat_unit(quat_product(quat_inverse(joint.rotation), allowed))

    def stiffness_of(self, index: int) -> float:
        """Return the stiffness of a joint against what it does not share."""
        joint = self.joints[index]
        if joint.follows >= 0 and self.moving[joint.follows]:
            return joint.stiffness * SHARED
        return joint.stiffness

    def strain_of(self, pose: Placement, index: int) -> Vec:
        """Return the rotation of a joint that its stiffness resists, as a rotation vector."""
        return self._strain_of(pose, self.joints[index], quat_log(pose.turns[index]))

    def _strain_of(self, pose: Placement, joint: WholeBodyJoint, turn: Vec) -> Vec:
        if joint.follows < 0 or not self.moving[joint.follows]:
            return turn
        x, _, z = quat_log(pose.turns[joint.follows])
        return sub(turn, self.shared(joint, (x, 0.0, z)))

    def effort_of(self, pose: Placement, index: int) -> float:
        """Return the energy of a joint."""
        joint = self.joints[index]
        turn = quat_log(pose.turns[index])
        strain = self._strain_of(pose, joint, turn)
        effort = 0.5 * self.stiffness_of(index) * dot(strain, strain)
        for resistance in joint.resistances:
            energy, _, _ = resistance.at(turn)
            effort += energy
        return effort

    def shared(self, joint: WholeBodyJoint, swing: Vec) -> Vec:
        """Return what a joint takes of the swing of the one it follows, in its own axes."""
        ratio = joint.share / (1.0 - joint.share)
        across = quat_product(quat_inverse(joint.axes), self.joints[joint.follows].axes)
        return scaled(rotate(across, swing), ratio)


def grown_by(turn: Vec, axes: tuple[Vec, Vec, Vec]) -> tuple[Vec, Vec, Vec]:
    """Return how a rotation vector changes while its rotation goes on about each of three own axes.

    It is the inverse of the right Jacobian of SO(3): J. Solà, “A micro Lie theory”, 2018, (144).
    """
    angle = length(turn)
    factor = 0.0
    if angle >= 1e-6:
        half = 0.5 * angle
        sine = sin(half)
        factor = 1.0 / (angle * angle)
        if sine > 1e-9:
            factor -= cos(half) / (2.0 * angle * sine)
    a, b, c = axes
    return _grown(turn, factor, a), _grown(turn, factor, b), _grown(turn, factor, c)


def _grown(turn: Vec, factor: float, rotation: Vec) -> Vec:
    """Return the same about one axis, given what its second order is multiplied with."""
    if rotation == ORIGIN:
        return ORIGIN
    across = cross(turn, rotation)
    grown = add(rotation, scaled(across, 0.5))
    return grown if factor == 0.0 else add(grown, scaled(cross(turn, across), factor))
