"""An articulated body: its bones at the start of a drag, their goals, and their poses.

Everything is in one space with one unit of length; rotations are unit quaternions. Internally,
lengths are in body sizes, relative to the first root. “At the start” means when the drag begins.
"""

from collections.abc import Sequence
from math import atan2, cos, sin
from typing import Final, NamedTuple, final

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
"""The smallest bend of a limb at the start of the search, in radians.

From a crouch the springs can move the body up or down. If the knees were straight, pulling the
head down would bend the back first, until the thighs' limits keep the knees straight."""

BACK: Final = 0.3
"""How far the bone above rotates the other way, as a fraction of that bend. At one half, limbs
are compressed along their line, but thighs would start at limits that keep knees from bending."""

SHARED: Final = 3.0
"""The stiffness factor of a joint against leaving its share of another joint's swing."""


Onset = tuple[float, float]
"""An angle of at least 0 in radians, and the weight of the squared angle beyond it."""


@final
class Resistance:
    """Resistance to a joint's rotation about one axis, in addition to its stiffness.

    Attributes:
        axis: The unit axis, in the joint's axes at the start.
        negative: The angles, in radians and with weights, at which resistance to a negative
            component of the rotation vector since the start begins.
        positive: The same for a positive component.
    """

    def __init__(self, axis: Vec, negative: Sequence[Onset], positive: Sequence[Onset]) -> None:
        self.axis = axis
        self.negative = negative
        self.positive = positive

    def at(self, turn: Vec) -> Vec:
        """Return the energy, its slope and its curvature for a rotation vector since the start."""
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
    """A spring over several joints, like a muscle across hip and knee.

    Attributes:
        joints: The joints.
        axes: The axis of each joint times its weight in the sum, in the joint's axes at the start.
            The spring resists the sum of the rotation vectors' components along them.
        low: The sum below which the spring resists, at most 0, in radians.
        high: The sum above which the spring resists, at least 0, in radians.
        stiffness: The weight of the squared excess.
    """

    def __init__(
        self,
        joints: Sequence[int],
        axes: Sequence[Vec],
        low: float,
        high: float,
        stiffness: float,
    ) -> None:
        self.joints = joints
        self.axes = axes
        self.low = low
        self.high = high
        self.stiffness = stiffness

    def stretched(self, turns: Sequence[Quat]) -> float:
        """Return the weighted sum that the spring resists, from the rotations of all joints."""
        total = 0.0
        for joint, axis in zip(self.joints, self.axes, strict=True):
            total += dot(quat_log(turns[joint]), axis)
        return total

    def excess(self, value: float) -> float:
        """Return how far a sum exceeds the range in which the spring is slack."""
        return value - min(max(value, self.low), self.high)


@final
class WholeBodyJoint:
    """A bone of the body.

    Everything is in one space with one unit of length; rotations are unit quaternions.

    Attributes:
        parent: Index of the parent, less than that of the bone; below 0 for a root.
        head: Its pivot at the start.
        axes: Its axes at the start.
        is_free: Whether it can move as well as rotate; only for a root.
        inherits: Whether it rotates with its parent; otherwise it only moves with it.
        stiffness: The weight of its squared rotation angle.
        resistances: Further resistances to its rotation.
        limit: The allowed rotations; None allows any.
        rotation: Its rotation at the start, in the axes of the limit.
        preferred: The axis about which it bends when its limb is compressed, in local axes.
        follows: The descendant whose swing it shares; below 0 for none.
        share: Its fraction of the combined rotation, from 0 to below 1.
        mass: Its mass.
        center: Its center of mass at the start.
    """

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
        center: Vec = ORIGIN,
    ) -> None:
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
        self.center = center


class WholeBodyGoal(NamedTuple):
    """A goal for a point on a bone.

    Attributes:
        joint: Index of the bone.
        point: The point at the start.
        rank: PINNED, DRAGGED, TARGET or SOFT; lower ranks take priority.
        location: The target position of the point; None allows any.
        location_weights: The weights of the location along each axis of the space.
        rotation: The target rotation since the start; None allows any.
        rotation_weights: The weights of the rotation about each axis of the space.
        weight: The weight of the goal within its rank.
    """

    joint: int
    point: Vec
    rank: int
    location: Vec | None = None
    location_weights: Vec = (1.0, 1.0, 1.0)
    rotation: Quat | None = None
    rotation_weights: Vec = (1.0, 1.0, 1.0)
    weight: float = 1.0


@final
class Placement:
    """A pose of the body during the search.

    Attributes:
        moved: How far each free joint has moved since the start.
        turns: The rotation of each joint since the start, in its axes at the start.
        heads: The pivots.
        axes: The axes of the joints.
        changes: The rotation of each bone since the start, in the space, including that of its
            ancestors.
    """

    def __init__(self, moved: list[Vec], turns: list[Quat]) -> None:
        """Set the searched motions and rotations; `Articulation.place` computes the rest."""
        self.moved = moved
        self.turns = turns
        self.heads: list[Vec] = []
        self.axes: list[Quat] = []
        self.changes: list[Quat] = []


@final
class Articulation:
    """The bones of a body, and which of them move for the goals.

    Attributes:
        joints: The bones, parents first.
        heads: Their pivots at the start.
        moving: For each bone, whether it or a descendant has a goal.
        order: The indices of the moving bones.
        follower: For each joint, the joint that shares its swing, or -1 if there is none.
        mass: The total mass of the bones.
        stiffness: The stiffness of each joint against rotation that it doesn't share.
    """

    def __init__(
        self,
        joints: list[WholeBodyJoint],
        ends: Sequence[int],
        origin: Vec,
        size: float,
        is_balanced: bool,
    ) -> None:
        """Set up the bones.

        Args:
            joints: The bones, parents first.
            ends: The bones with goals.
            origin: The point that becomes the origin.
            size: The length that becomes the unit.
            is_balanced: Whether the search needs the center of mass, and thus all bones. Otherwise
                bones that no goal moves are left out, such as most fingers.
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
        self._centers = [scaled(sub(joint.center, joint.head), 1.0 / size) for joint in joints]
        self.follower = [-1] * len(joints)
        self.stiffness = [joint.stiffness for joint in joints]
        for index in self.order:
            if self.is_sharing(index):
                self.follower[joints[index].follows] = index
                self.stiffness[index] *= SHARED
        self.mass = sum([joint.mass for joint in joints])

    def inward(self, point: Vec) -> Vec:
        """Convert a point from the body's space to body sizes."""
        return scaled(sub(point, self.origin), 1.0 / self.size)

    def outward(self, point: Vec) -> Vec:
        """Convert a point from body sizes to the body's space."""
        return add(self.origin, scaled(point, self.size))

    def path(self, end: int) -> list[int]:
        """Return a bone and all its ancestors, the bone first."""
        path: list[int] = []
        while end >= 0:
            path.append(end)
            end = self.joints[end].parent
        return path

    def is_sharing(self, index: int) -> bool:
        """Return whether a joint shares the swing of a moving joint."""
        follows = self.joints[index].follows
        return follows >= 0 and self.moving[follows]

    def place(self, pose: Placement) -> None:
        """Compute the frames of those joints that the search needs."""
        count = len(self.joints)
        pose.heads = [ORIGIN] * count
        pose.axes = [QUAT_IDENTITY] * count
        pose.changes = [QUAT_IDENTITY] * count
        self._carry(pose, self._placed)

    def complete(self, pose: Placement) -> None:
        """Compute the frames of all other joints."""
        placed = set(self._placed)
        self._carry(pose, [index for index in range(len(self.joints)) if index not in placed])

    def _carry(self, pose: Placement, indices: list[int]) -> None:
        """Compute joints in order; their parents come first or are already computed."""
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

    def center(self, pose: Placement) -> Vec:
        """Return the center of mass."""
        x = y = z = 0.0
        for index, joint in enumerate(self.joints):
            mass = joint.mass
            if mass > 0.0:
                hx, hy, hz = pose.heads[index]
                cx, cy, cz = rotate(pose.changes[index], self._centers[index])
                x, y, z = x + mass * (hx + cx), y + mass * (hy + cy), z + mass * (hz + cz)
        return (x / self.mass, y / self.mass, z / self.mass)

    def center_at_press(self) -> Vec:
        """Return the center of mass at the start of the drag."""
        total = ORIGIN
        for joint in self.joints:
            total = add(total, scaled(self.inward(joint.center), joint.mass / self.mass))
        return total

    def center_of(self, pose: Placement, index: int) -> Vec:
        """Return the center of mass of one bone."""
        return add(pose.heads[index], rotate(pose.changes[index], self._centers[index]))

    def start(self, points: dict[int, Vec]) -> Placement:
        """Return the pose at the start, within the limits and with limbs slightly bent.

        Where a straight limb is bent, the bone above the joint rotates the other way. Otherwise the
        hips would start in front of the feet, and a body pulled down would lean backward.

        Args:
            points: For each bone at the end of a limb, the position of its goal.
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

    def bent(self, pose: Placement) -> list[WholeBodyJoint]:
        """Return the bones as if a drag began in a pose, without springs and preferred bends."""
        return [
            WholeBodyJoint(
                joint.parent,
                self.outward(pose.heads[index]),
                pose.axes[index],
                is_free=joint.is_free,
                inherits=joint.inherits,
                limit=joint.limit,
                rotation=quat_product(joint.rotation, pose.turns[index]),
            )
            for index, joint in enumerate(self.joints)
        ]

    def within(self, index: int, turn: Quat) -> Quat:
        """Return the allowed rotation nearest to a rotation. Both are relative to the start."""
        joint = self.joints[index]
        if joint.limit is None:
            return turn
        wanted = quat_product(joint.rotation, turn)
        allowed = joint.limit.nearest(wanted)
        return quat_unit(quat_product(quat_inverse(joint.rotation), allowed))

    def strain_of(self, pose: Placement, index: int, turn: Vec) -> Vec:
        """Return the part of a joint's rotation vector that its stiffness resists."""
        joint = self.joints[index]
        if joint.follows < 0 or not self.moving[joint.follows]:
            return turn
        x, _, z = quat_log(pose.turns[joint.follows])
        return sub(turn, self.shared(joint, (x, 0.0, z)))

    def effort_of(self, pose: Placement, index: int) -> float:
        """Return the energy of a joint's resistance."""
        joint = self.joints[index]
        turn = quat_log(pose.turns[index])
        strain = self.strain_of(pose, index, turn)
        effort = 0.5 * self.stiffness[index] * dot(strain, strain)
        for resistance in joint.resistances:
            energy, _, _ = resistance.at(turn)
            effort += energy
        return effort

    def shared(self, joint: WholeBodyJoint, swing: Vec) -> Vec:
        """Return a joint's share of the swing of the joint that it follows.

        Args:
            joint: The joint.
            swing: The swing of the other joint, in that joint's axes at the start.

        Returns:
            A rotation vector, in the joint's own axes at the start.
        """
        ratio = joint.share / (1.0 - joint.share)
        across = quat_product(quat_inverse(joint.axes), self.joints[joint.follows].axes)
        return scaled(rotate(across, swing), ratio)


def grown_by(turn: Vec, axes: tuple[Vec, Vec, Vec]) -> tuple[Vec, Vec, Vec]:
    """Return how a rotation vector changes when rotating about each of three local axes.

    This is the inverse of the right Jacobian of SO(3): J. Solà, “A micro Lie theory”, 2018, (144).
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
    """Return the change of `grown_by` for one axis; ``factor`` scales the second-order term."""
    if rotation == ORIGIN:
        return ORIGIN
    across = cross(turn, rotation)
    grown = add(rotation, scaled(across, 0.5))
    return grown if factor == 0.0 else add(grown, scaled(cross(turn, across), factor))
