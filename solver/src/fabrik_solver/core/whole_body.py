"""Whole bodies: the pose nearest to the one at the press in which all goals are met.

The least sum of stiffness · angle², over all joints, is looked for, with springs that pull goals to
where they are wanted. A spring's force is limited, and those of a stricter rank are stronger by far
than all of the ranks below it together: so a rank never costs a stricter one more than a fraction
of a thousandth of the body. The search always begins at the press, with weak springs that
grow, so that the pose depends on nothing but the press and the goals, and follows a goal that
leaves its reach.

It is Newton's method. The springs of all goals below a joint are added up in one symmetric 6 × 6
matrix (as the inertia of composite bodies: R. Featherstone, “Rigid Body Dynamics Algorithms”, 2008,
§6.2), and only joints of which one is an ancestor of the other are coupled, so that the system is
solved from the ends to the root without filling up (§6.5 there).
"""

from collections.abc import Sequence
from math import atan2, cos, pi, sin, sqrt
from typing import Final, final

from .limits import Hinge, Limit
from .support import outside
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    any_perpendicular,
    cross,
    dot,
    length,
    quat_exp,
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

FORCES: list[float] = [4e5, 2e4, 1e3]
"""The largest force of a spring of each rank but SOFT, in radians² per size of the body."""

SLACK: Final = 1e-4
"""The distance at which a spring reaches its largest force, as a share of the body's size."""

STAGES: list[float] = [1e-4, 1e-2, 1.0]
"""What the largest forces are multiplied with, one after the other."""

STEPS: Final = 20
"""The largest number of Newton steps in a stage."""

LARGEST: Final = 0.3
"""The largest rotation of a joint in one step, in radians."""

SLIDE: Final = 1.2
"""The stiffness of a root against moving, in radians² per size of the body squared."""

DONE: Final = 1e-6
"""A step below this, in radians and sizes of the body, ends the stage."""


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
class Balance:
    """That the centre of mass stays above an area.

    Attributes:
        corners: What the body stands on; the area is the convex hull.
        up: The unit direction up.
    """

    __slots__ = ("corners", "up")
    corners: list[Vec]
    up: Vec

    def __init__(self, corners: Sequence[Vec], up: Vec) -> None:
        """Take the corners and the direction."""
        self.corners = list(corners)
        self.up = up


@final
class WholeBodyPose:
    """A pose of the body.

    Attributes:
        moved: How far each joint that is free has moved since the press; zero for the others.
        turns: The rotation of each joint since the press, in its own axes at the press.
        rotations: The rotation of each joint in the axes of its limit.
        heads: The pivots.
        axes: The axes of the joints.
        misses: For each goal, how far its point is from where it is wanted.
        centre: The centre of mass; None if nothing has a mass.
        effort: The sum of stiffness · angle², in radians².
        steps: How many Newton steps were taken.
    """

    __slots__ = (
        "axes",
        "centre",
        "effort",
        "heads",
        "misses",
        "moved",
        "rotations",
        "steps",
        "turns",
    )
    moved: list[Vec]
    turns: list[Quat]
    rotations: list[Quat]
    heads: list[Vec]
    axes: list[Quat]
    misses: list[float]
    centre: Vec | None
    effort: float
    steps: int

    def __init__(
        self,
        moved: list[Vec],
        turns: list[Quat],
        rotations: list[Quat],
        heads: list[Vec],
        axes: list[Quat],
        misses: list[float],
        centre: Vec | None,
        effort: float,
        steps: int,
    ) -> None:
        """Take the parts."""
        self.moved = moved
        self.turns = turns
        self.rotations = rotations
        self.heads = heads
        self.axes = axes
        self.misses = misses
        self.centre = centre
        self.effort = effort
        self.steps = steps


@final
class _Spring:
    """A goal in sizes of the body, with the force and stiffness of the stage."""

    __slots__ = (
        "force",
        "foreseen",
        "goal",
        "joint",
        "location",
        "miss",
        "path",
        "place",
        "point",
        "rate",
        "rotation",
        "strength",
        "twist",
        "twist_foreseen",
        "twist_rate",
    )

    def __init__(
        self, goal: WholeBodyGoal, point: Vec, location: Vec | None, path: list[int]
    ) -> None:
        self.goal = goal
        self.joint = goal.joint
        self.point = point
        self.location = location
        self.rotation = goal.rotation
        self.path = path
        self.strength = 0.0
        self.force: Vec = ORIGIN
        self.place: Vec = ORIGIN
        self.miss: Vec = ORIGIN
        self.rate = 0.0
        self.twist: Vec = ORIGIN
        self.twist_rate = 0.0
        self.foreseen: Vec = ORIGIN
        self.twist_foreseen: Vec = ORIGIN


@final
class _Pose:
    """The variables of the search, and what follows from them."""

    __slots__ = ("axes", "changes", "heads", "moved", "turns")
    moved: list[Vec]
    turns: list[Quat]
    heads: list[Vec]
    axes: list[Quat]
    changes: list[Quat]

    def __init__(self, moved: list[Vec], turns: list[Quat]) -> None:
        self.moved = moved
        self.turns = turns
        self.heads = []
        self.axes = []
        self.changes = []


@final
class _Lean:
    """How the centre of mass is outside of its support, and what moves it."""

    __slots__ = ("along", "centre", "distance", "foreseen", "rate", "response", "row")
    centre: Vec
    along: Vec
    distance: float
    rate: float
    row: list[float]
    response: list[float]
    foreseen: float

    def __init__(
        self, centre: Vec, along: Vec, distance: float, rate: float, row: list[float]
    ) -> None:
        self.centre = centre
        self.along = along
        self.distance = distance
        self.rate = rate
        self.row = row
        self.response = []
        self.foreseen = 0.0


@final
class WholeBody:
    """A body as it is at the press, which goals pose.

    Attributes:
        joints: Its bones, parents first.
    """

    def __init__(self, joints: Sequence[WholeBodyJoint]) -> None:
        """Take the bones.

        Raises:
            ValueError: If a parent does not come before its child, or the body has no size.
        """
        self.joints = list(joints)
        for index, joint in enumerate(self.joints):
            if joint.parent >= index:
                raise ValueError("a parent must come before its children")
        self._origin = self.joints[0].head if self.joints else ORIGIN
        self._size = max((length(sub(j.head, self._origin)) for j in self.joints), default=0.0)

    def solve(
        self, goals: Sequence[WholeBodyGoal], balance: Balance | None = None
    ) -> WholeBodyPose:
        """Return the pose with the least motion since the press in which the goals are met.

        Raises:
            ValueError: If there is no goal.
        """
        size = max(self._size, max(length(sub(goal.point, self._origin)) for goal in goals))
        return _Search(self.joints, goals, balance, self._origin, size).run()


@final
class _Search:
    """The search for one pose, in sizes of the body about its first root."""

    def __init__(
        self,
        joints: list[WholeBodyJoint],
        goals: Sequence[WholeBodyGoal],
        balance: Balance | None,
        origin: Vec,
        size: float,
    ) -> None:
        self.joints = joints
        self.origin = origin
        self.size = size
        self.rest_heads = [scaled(sub(joint.head, origin), 1.0 / size) for joint in joints]
        self.springs: list[_Spring] = []
        moving = [False] * len(joints)
        for goal in goals:
            path: list[int] = []
            at = goal.joint
            while at >= 0:
                path.append(at)
                moving[at] = True
                at = joints[at].parent
            point = scaled(sub(goal.point, origin), 1.0 / size)
            location = goal.location
            if location is not None:
                location = scaled(sub(location, origin), 1.0 / size)
            self.springs.append(_Spring(goal, point, location, path))
        self.order = [index for index in range(len(joints)) if moving[index]]
        self.moving = moving
        self.follower = [-1] * len(joints)
        for index in self.order:
            follows = joints[index].follows
            if follows >= 0 and moving[follows]:
                self.follower[follows] = index
        self.mass = sum(joint.mass for joint in joints)
        self.up = ORIGIN
        self.corners: list[Vec] = []
        if balance is not None and self.mass > 0.0:
            self.up = balance.up
            self.corners = [scaled(sub(c, origin), 1.0 / size) for c in balance.corners]
        self.lean: _Lean | None = None
        self.balance_strength = 0.0
        # The degrees of freedom, parents first: (rotation, translation) velocities of space.
        self.count = 0
        self.owner: list[int] = []
        self.chains: list[list[int]] = []
        self.axis: list[Vec] = []
        self.spin: list[Vec] = []
        self.slide: list[Vec] = []
        self.rows: list[list[float]] = []
        self.stiff: list[float] = []
        self.blocked: list[list[Vec]] = [[] for _ in joints]

    # The pose

    def place(self, pose: _Pose) -> None:
        """Find where the joints are."""
        joints, rest = self.joints, self.rest_heads
        heads: list[Vec] = []
        axes: list[Quat] = []
        changes: list[Quat] = []
        for index, joint in enumerate(joints):
            parent = joint.parent
            if parent < 0:
                head = add(rest[index], pose.moved[index])
                carried = joint.axes
                change = QUAT_IDENTITY
            else:
                change = changes[parent]
                head = add(heads[parent], rotate(change, sub(rest[index], rest[parent])))
                if not joint.inherits:
                    change = QUAT_IDENTITY
                carried = quat_product(change, joint.axes)
            heads.append(head)
            if self.moving[index]:
                now = quat_product(carried, pose.turns[index])
                w, x, y, z = joint.axes
                change = quat_product(now, (w, -x, -y, -z))
                axes.append(now)
            else:
                axes.append(carried)
            changes.append(change)
        pose.heads = heads
        pose.axes = axes
        pose.changes = changes

    def point(self, pose: _Pose, spring: _Spring) -> Vec:
        """Return where the point of a goal is."""
        joint = spring.joint
        lever = sub(spring.point, self.rest_heads[joint])
        return add(pose.heads[joint], rotate(pose.changes[joint], lever))

    def centre(self, pose: _Pose) -> Vec:
        """Return the centre of mass."""
        x = y = z = 0.0
        for index, joint in enumerate(self.joints):
            if joint.mass > 0.0:
                cx, cy, cz = self.centre_of(pose, index)
                x, y, z = x + joint.mass * cx, y + joint.mass * cy, z + joint.mass * cz
        return (x / self.mass, y / self.mass, z / self.mass)

    def centre_of(self, pose: _Pose, index: int) -> Vec:
        """Return the centre of mass of one bone."""
        joint = self.joints[index]
        lever = scaled(sub(joint.centre, joint.head), 1.0 / self.size)
        return add(pose.heads[index], rotate(pose.changes[index], lever))

    def start(self) -> _Pose:
        """Return the pose at the press, within the limits, and straight limbs slightly bent."""
        turns: list[Quat] = []
        for index, joint in enumerate(self.joints):
            turn = QUAT_IDENTITY
            if self.moving[index]:
                if joint.preferred != ORIGIN:
                    bend = START_BEND - self._bend(index)
                    if bend > 0.0:
                        turn = quat_exp(scaled(joint.preferred, bend))
                turn = self.within(index, turn)
            turns.append(turn)
        pose = _Pose([ORIGIN] * len(self.joints), turns)
        self.place(pose)
        return pose

    def _bend(self, index: int) -> float:
        """Return the angle between the bones that meet at a joint; π without both."""
        parent = self.joints[index].parent
        if parent < 0:
            return pi
        for child in self.order:
            if self.joints[child].parent == index:
                before = sub(self.rest_heads[index], self.rest_heads[parent])
                after = sub(self.rest_heads[child], self.rest_heads[index])
                return atan2(length(cross(before, after)), dot(before, after))
        for spring in self.springs:
            if spring.joint == index:
                before = sub(self.rest_heads[index], self.rest_heads[parent])
                after = sub(spring.point, self.rest_heads[index])
                return atan2(length(cross(before, after)), dot(before, after))
        return pi

    def within(self, index: int, turn: Quat) -> Quat:
        """Return the allowed rotation since the press that is nearest to one."""
        joint = self.joints[index]
        if joint.limit is None:
            return turn
        wanted = quat_product(joint.rotation, turn)
        allowed = joint.limit.nearest(wanted)
        w, x, y, z = joint.rotation
        return quat_unit(quat_product((w, -x, -y, -z), allowed))

    # Energy and its gradient

    def energy(self, pose: _Pose) -> float:
        """Return what is minimized."""
        total = 0.0
        joints = self.joints
        for index in self.order:
            joint = joints[index]
            turn = self.strain_of(pose, index)
            total += 0.5 * self.stiffness_of(index) * dot(turn, turn)
            if joint.is_free:
                moved = pose.moved[index]
                total += 0.5 * SLIDE * dot(moved, moved)
        for spring in self.springs:
            goal = spring.goal
            if spring.location is not None:
                total += potential(
                    weighted(sub(self.point(pose, spring), spring.location), goal.location_weights),
                    spring.strength,
                    goal.rank,
                )
            if spring.rotation is not None:
                total += potential(
                    weighted(self.twisted(pose, spring), goal.rotation_weights),
                    spring.strength,
                    goal.rank,
                )
        if self.corners:
            distance = length(outside(self.centre(pose), self.corners, self.up))
            total += potential(distance, self.balance_strength, TARGET)
        return total

    def twisted(self, pose: _Pose, spring: _Spring) -> Vec:
        """Return the rotation vector from the wanted rotation of a bone to the one it has."""
        wanted = spring.rotation
        assert wanted is not None
        w, x, y, z = wanted
        return rotation_vector(quat_product(pose.changes[spring.joint], (w, -x, -y, -z)))

    def stiffness_of(self, index: int) -> float:
        """Return the stiffness of a joint against what it does not share."""
        joint = self.joints[index]
        if joint.follows >= 0 and self.moving[joint.follows]:
            return joint.stiffness * SHARED
        return joint.stiffness

    def strain_of(self, pose: _Pose, index: int) -> Vec:
        """Return the rotation of a joint that its stiffness resists, as a rotation vector."""
        joint = self.joints[index]
        turn = rotation_vector(pose.turns[index])
        if joint.follows < 0 or not self.moving[joint.follows]:
            return turn
        x, _, z = rotation_vector(pose.turns[joint.follows])
        return sub(turn, self.shared(index, (x, 0.0, z)))

    def shared(self, index: int, swing: Vec) -> Vec:
        """Return what a joint takes of the swing of the one it follows, in its own axes."""
        joint = self.joints[index]
        ratio = joint.share / (1.0 - joint.share)
        w, x, y, z = joint.axes
        across = quat_product((w, -x, -y, -z), self.joints[joint.follows].axes)
        return scaled(rotate(across, swing), ratio)

    def linearize(self, pose: _Pose) -> list[float]:
        """Return the gradient; find the degrees of freedom and rows too."""
        heads = pose.heads
        count = len(self.joints)
        forces: list[Vec] = [ORIGIN] * count
        torques: list[Vec] = [ORIGIN] * count
        push: list[Vec] = [ORIGIN] * count  # A: diagonal
        couple = [[0.0] * 9 for _ in range(count)]
        wring = [[0.0] * 6 for _ in range(count)]
        for spring in self.springs:
            goal, at = spring.goal, spring.joint
            if spring.location is not None:
                place = self.point(pose, spring)
                weights = goal.location_weights
                miss = sub(place, spring.location)
                rate = pull(weighted(miss, weights), spring.strength, goal.rank)
                spring.place, spring.miss, spring.rate = place, miss, rate
                wx, wy, wz = rate * weights[0], rate * weights[1], rate * weights[2]
                f = (wx * miss[0], wy * miss[1], wz * miss[2])
                forces[at] = add(forces[at], f)
                torques[at] = add(torques[at], cross(place, f))
                x, y, z = place
                px, py, pz = push[at]
                push[at] = (px + wx, py + wy, pz + wz)
                # A displacement is τ + ω × x = τ − [x] ω.
                b = couple[at]
                b[1] += wx * z
                b[2] -= wx * y
                b[3] -= wy * z
                b[5] += wy * x
                b[6] += wz * y
                b[7] -= wz * x
                c = wring[at]
                c[0] += wy * z * z + wz * y * y
                c[1] -= wz * x * y
                c[2] -= wy * x * z
                c[3] += wx * z * z + wz * x * x
                c[4] -= wx * y * z
                c[5] += wx * y * y + wy * x * x
                if goal.rank != SOFT:
                    self._tense(spring.path, heads, place, spring.force, wring)
            if spring.rotation is not None:
                weights = goal.rotation_weights
                miss = self.twisted(pose, spring)
                rate = pull(weighted(miss, weights), spring.strength, goal.rank)
                spring.twist, spring.twist_rate = miss, rate
                wx, wy, wz = rate * weights[0], rate * weights[1], rate * weights[2]
                torques[at] = add(torques[at], (wx * miss[0], wy * miss[1], wz * miss[2]))
                c = wring[at]
                c[0] += wx
                c[3] += wy
                c[5] += wz
        self._find_freedoms(pose)
        gradient = self._gathered(pose, forces, torques)
        self._strain(pose, gradient)
        self._compose(pose, push, couple, wring)
        self.lean = self._leaning(pose)
        if self.lean is not None:
            pulled = self.lean.rate * self.lean.distance
            gradient = [g + pulled * r for g, r in zip(gradient, self.lean.row, strict=True)]
        return gradient

    def _leaning(self, pose: _Pose) -> "_Lean | None":
        """Return how the centre of mass leaves what supports it; None while it does not."""
        if not self.corners:
            return None
        centre = self.centre(pose)
        way = outside(centre, self.corners, self.up)
        distance = length(way)
        if distance == 0.0:
            return None
        along = scaled(way, 1.0 / distance)
        joints = self.joints
        masses = [joint.mass / self.mass for joint in joints]
        moments = [scaled(self.centre_of(pose, i), mass) for i, mass in enumerate(masses)]
        for index in range(len(joints) - 1, -1, -1):
            parent = joints[index].parent
            if parent >= 0:
                moment = moments[index]
                if not joints[index].inherits:
                    moment = scaled(pose.heads[index], masses[index])
                masses[parent] += masses[index]
                moments[parent] = add(moments[parent], moment)
        row = [
            masses[index] * dot(self.slide[d], along)
            + dot(cross(self.spin[d], moments[index]), along)
            for d, index in enumerate(self.owner)
        ]
        return _Lean(centre, along, distance, pull(distance, self.balance_strength, TARGET), row)

    def curvature(self, pose: _Pose, after: _Pose) -> list[float]:
        """Return the gradient of what a linear step has missed at the pose after it."""
        count = len(self.joints)
        forces: list[Vec] = [ORIGIN] * count
        torques: list[Vec] = [ORIGIN] * count
        for spring in self.springs:
            goal, at = spring.goal, spring.joint
            if spring.location is not None:
                miss = sub(self.point(after, spring), spring.location)
                x, y, z = sub(miss, spring.foreseen)
                weights, rate = goal.location_weights, spring.rate
                f = (rate * weights[0] * x, rate * weights[1] * y, rate * weights[2] * z)
                forces[at] = add(forces[at], f)
                torques[at] = add(torques[at], cross(spring.place, f))
            if spring.rotation is not None:
                x, y, z = sub(self.twisted(after, spring), spring.twist_foreseen)
                weights, rate = goal.rotation_weights, spring.twist_rate
                f = (rate * weights[0] * x, rate * weights[1] * y, rate * weights[2] * z)
                torques[at] = add(torques[at], f)
        gradient = self._gathered(pose, forces, torques)
        lean = self.lean
        if lean is not None:
            moved = dot(sub(self.centre(after), lean.centre), lean.along) - lean.foreseen
            gradient = [g + lean.rate * moved * r for g, r in zip(gradient, lean.row, strict=True)]
        return gradient

    def _gathered(self, pose: _Pose, forces: list[Vec], torques: list[Vec]) -> list[float]:
        """Return what forces on the bones are to the degrees of freedom."""
        joints = self.joints
        # From the ends to the root: what is below a joint acts on it.
        for index in reversed(self.order):
            parent = joints[index].parent
            if parent < 0:
                continue
            f = forces[index]
            torque = torques[index] if joints[index].inherits else cross(pose.heads[index], f)
            forces[parent] = add(forces[parent], f)
            torques[parent] = add(torques[parent], torque)
        return [
            dot(forces[index], self.slide[d]) + dot(torques[index], self.spin[d])
            for d, index in enumerate(self.owner)
        ]

    def _tense(
        self, path: list[int], heads: list[Vec], place: Vec, f: Vec, wring: list[list[float]]
    ) -> None:
        """Add how the pull of a spring straightens the bones on its way."""
        following = place
        for at in path:
            head = heads[at]
            x, y, z = sub(following, head)
            square = x * x + y * y + z * z
            tension = -(f[0] * x + f[1] * y + f[2] * z)
            if tension > 0.0 and square > 0.0:
                c = wring[at]
                share = tension / square
                c[0] += tension - share * x * x
                c[1] -= share * x * y
                c[2] -= share * x * z
                c[3] += tension - share * y * y
                c[4] -= share * y * z
                c[5] += tension - share * z * z
            following = head
            if not self.joints[at].inherits:
                break

    def _find_freedoms(self, pose: _Pose) -> None:
        """Find the degrees of freedom of the pose."""
        owner: list[int] = []
        chains: list[list[int]] = []
        axis: list[Vec] = []
        spin: list[Vec] = []
        slide: list[Vec] = []
        last = [-1] * len(self.joints)
        count = 0
        for index in self.order:
            joint = self.joints[index]
            before = last[joint.parent] if joint.parent >= 0 else -1
            if joint.is_free:
                for unit in (X, Y, Z):
                    owner.append(index)
                    chains.append([count, *chains[before]] if before >= 0 else [count])
                    axis.append(ORIGIN)
                    spin.append(ORIGIN)
                    slide.append(unit)
                    before = count
                    count += 1
            head, now = pose.heads[index], pose.axes[index]
            for own in self._own_axes(index):
                turn = rotate(now, own)
                owner.append(index)
                chains.append([count, *chains[before]] if before >= 0 else [count])
                axis.append(own)
                spin.append(turn)
                slide.append(cross(head, turn))
                before = count
                count += 1
            last[index] = before
        self.count = count
        self.owner = owner
        self.chains = chains
        self.axis = axis
        self.spin = spin
        self.slide = slide

    def _own_axes(self, index: int) -> list[Vec]:
        """Return the axes about which a joint rotates now, in its own axes."""
        limit = self.joints[index].limit
        blocked = self.blocked[index]
        if limit is not None and isinstance(limit, Hinge):
            return [] if blocked or limit.turn[1] <= limit.turn[0] else [limit.axis]
        if not blocked:
            return [X, Y, Z]
        if len(blocked) == 1:
            one = any_perpendicular(blocked[0])
            return [one, cross(blocked[0], one)]
        along = cross(blocked[0], blocked[1])
        size = length(along)
        return [scaled(along, 1.0 / size)] if len(blocked) == 2 and size > 1e-6 else []

    def _strain(self, pose: _Pose, gradient: list[float]) -> None:
        """Add the stiffness of the joints to the gradient and the rows."""
        joints = self.joints
        self.rows = [[0.0] * len(chain) for chain in self.chains]
        strains = {index: self.strain_of(pose, index) for index in self.order}
        turns: dict[int, Vec] = {}
        for d in range(self.count):
            index = self.owner[d]
            own = self.axis[d]
            if own == ORIGIN:  # The root moves.
                x, y, z = self.slide[d]
                mx, my, mz = pose.moved[index]
                gradient[d] += SLIDE * (x * mx + y * my + z * mz)
                self.rows[d][0] += SLIDE
                continue
            if index not in turns:
                turns[index] = rotation_vector(pose.turns[index])
            grown = grown_by(turns[index], own)
            rate = self.stiffness_of(index)
            gradient[d] += rate * dot(grown, strains[index])
            for k, other in enumerate(self.chains[d]):
                if self.owner[other] != index or self.axis[other] == ORIGIN:
                    break
                self.rows[d][k] += rate * dot(grown, grown_by(turns[index], self.axis[other]))
            follower = self.follower[index]
            if follower < 0:
                continue
            x, _, z = grown
            taken = self.shared(follower, (x, 0.0, z))
            rate = self.stiffness_of(follower)
            gradient[d] -= rate * dot(taken, strains[follower])
            if follower not in turns:
                turns[follower] = rotation_vector(pose.turns[follower])
            for k, other in enumerate(self.chains[d]):
                if self.axis[other] == ORIGIN:
                    continue
                if self.owner[other] == index:
                    x, _, z = grown_by(turns[index], self.axis[other])
                    self.rows[d][k] += rate * dot(taken, self.shared(follower, (x, 0.0, z)))
                elif self.owner[other] == follower:
                    theirs = grown_by(turns[follower], self.axis[other])
                    self.rows[d][k] -= rate * dot(taken, theirs)

    def _compose(
        self,
        pose: _Pose,
        push: list[Vec],
        couple: list[list[float]],
        wring: list[list[float]],
    ) -> None:
        """Add the springs below each joint to the rows of its degrees of freedom."""
        joints, heads = self.joints, pose.heads
        for index in reversed(self.order):
            parent = joints[index].parent
            if parent < 0:
                continue
            px, py, pz = push[index]
            push[parent] = add(push[parent], (px, py, pz))
            b, c = couple[parent], wring[parent]
            if joints[index].inherits:
                for k, value in enumerate(couple[index]):
                    b[k] += value
                for k, value in enumerate(wring[index]):
                    c[k] += value
            else:
                x, y, z = heads[index]
                b[1] += px * z
                b[2] -= px * y
                b[3] -= py * z
                b[5] += py * x
                b[6] += pz * y
                b[7] -= pz * x
                c[0] += py * z * z + pz * y * y
                c[1] -= pz * x * y
                c[2] -= py * x * z
                c[3] += px * z * z + pz * x * x
                c[4] -= px * y * z
                c[5] += px * y * y + py * x * x
        for d in range(self.count):
            index = self.owner[d]
            tx, ty, tz = self.slide[d]
            ox, oy, oz = self.spin[d]
            px, py, pz = push[index]
            b0, b1, b2, b3, b4, b5, b6, b7, b8 = couple[index]
            c0, c1, c2, c3, c4, c5 = wring[index]
            fx = px * tx + b0 * ox + b1 * oy + b2 * oz
            fy = py * ty + b3 * ox + b4 * oy + b5 * oz
            fz = pz * tz + b6 * ox + b7 * oy + b8 * oz
            mx = b0 * tx + b3 * ty + b6 * tz + c0 * ox + c1 * oy + c2 * oz
            my = b1 * tx + b4 * ty + b7 * tz + c1 * ox + c3 * oy + c4 * oz
            mz = b2 * tx + b5 * ty + b8 * tz + c2 * ox + c4 * oy + c5 * oz
            row = self.rows[d]
            at = index
            for k, other in enumerate(self.chains[d]):
                while self.owner[other] != at:
                    if not joints[at].inherits:
                        mx, my, mz = cross(heads[at], (fx, fy, fz))
                    at = joints[at].parent
                sx, sy, sz = self.slide[other]
                rx, ry, rz = self.spin[other]
                row[k] += sx * fx + sy * fy + sz * fz + rx * mx + ry * my + rz * mz

    # The system

    def factorize(self, damping: float) -> None:
        """Factorize the rows, with the damping added, into Lᵀ D L."""
        rows, chains = self.rows, self.chains
        for d in range(self.count):
            rows[d][0] += damping
        for d in range(self.count - 1, -1, -1):
            row, chain = rows[d], chains[d]
            size = len(chain)
            pivot = row[0]
            for k in range(1, size):
                share = row[k] / pivot
                above = rows[chain[k]]
                for m in range(k, size):
                    above[m - k] -= share * row[m]
            for k in range(1, size):
                row[k] /= pivot

    def solve(self, gradient: list[float]) -> list[float]:
        """Return the step down a gradient."""
        step = self._solved(gradient)
        lean = self.lean
        if lean is None:
            return step
        # The balance couples all joints: one row more (Sherman and Morrison's formula).
        if not lean.response:
            lean.response = self._solved(lean.row)
        room = 1.0 / lean.rate - _product(lean.row, lean.response)
        share = _product(lean.row, step) / room
        return [value + share * r for value, r in zip(step, lean.response, strict=True)]

    def _solved(self, gradient: list[float]) -> list[float]:
        rows, chains, count = self.rows, self.chains, self.count
        step = [-value for value in gradient]
        for d in range(count - 1, -1, -1):
            row, chain, value = rows[d], chains[d], step[d]
            for k in range(1, len(chain)):
                step[chain[k]] -= row[k] * value
        for d in range(count):
            row, chain = rows[d], chains[d]
            value = step[d] / row[0]
            for k in range(1, len(chain)):
                value -= row[k] * step[chain[k]]
            step[d] = value
        return step

    def stepped(self, pose: _Pose, step: list[float]) -> tuple[_Pose, float]:
        """Return the pose after a step, and the largest change."""
        turns: dict[int, Vec] = {}
        moved = list(pose.moved)
        for d in range(self.count):
            index, own = self.owner[d], self.axis[d]
            if own == ORIGIN:
                moved[index] = add(moved[index], scaled(self.slide[d], step[d]))
            else:
                turns[index] = add(turns.get(index, ORIGIN), scaled(own, step[d]))
        result = list(pose.turns)
        for index, turn in turns.items():
            turned = quat_unit(quat_product(pose.turns[index], quat_exp(turn)))
            result[index] = self.within(index, turned)
        after = _Pose(moved, result)
        self.place(after)
        return after, self.largest(step)

    def largest(self, step: list[float]) -> float:
        """Return the largest rotation of a joint, or motion of a root, in a step."""
        squares: dict[int, float] = {}
        for d in range(self.count):
            key = self.owner[d] if self.axis[d] != ORIGIN else -1
            squares[key] = squares.get(key, 0.0) + step[d] * step[d]
        return sqrt(max(squares.values(), default=0.0))

    def leaving(self, pose: _Pose, step: list[float]) -> bool:
        """Block the axes along which the step leaves a limit at whose end a joint is."""
        turns: dict[int, Vec] = {}
        for d in range(self.count):
            index = self.owner[d]
            if self.joints[index].limit is not None and self.axis[d] != ORIGIN:
                turns[index] = add(turns.get(index, ORIGIN), scaled(self.axis[d], step[d]))
        found = False
        for index, turn in turns.items():
            joint = self.joints[index]
            assert joint.limit is not None
            rotation = quat_product(joint.rotation, pose.turns[index])
            w, x, y, z = rotation
            for normal in joint.limit.normals(rotation):
                own = rotate((w, -x, -y, -z), normal)
                if dot(own, turn) > 1e-12:
                    self.blocked[index].append(own)
                    found = True
        return found

    def expect(self, pose: _Pose, step: list[float], share: float) -> None:
        """Find the misses after a share of a step, were all linear, and forces after all of it."""
        joints = self.joints
        spins: list[Vec] = [ORIGIN] * len(joints)
        slides: list[Vec] = [ORIGIN] * len(joints)
        d = 0
        for index in self.order:
            parent = joints[index].parent
            spin, slide = ORIGIN, ORIGIN
            if parent >= 0:
                spin, slide = spins[parent], slides[parent]
                if not joints[index].inherits:
                    slide = add(slide, cross(spin, pose.heads[index]))
                    spin = ORIGIN
            while d < self.count and self.owner[d] == index:
                spin = add(spin, scaled(self.spin[d], step[d]))
                slide = add(slide, scaled(self.slide[d], step[d]))
                d += 1
            spins[index] = spin
            slides[index] = slide
        for spring in self.springs:
            at, goal = spring.joint, spring.goal
            if spring.location is not None:
                change = add(slides[at], cross(spins[at], spring.place))
                x, y, z = spring.foreseen = add(spring.miss, scaled(change, share))
                rate, weights = spring.rate, goal.location_weights
                if share == 1.0:
                    spring.force = (
                        rate * weights[0] * x,
                        rate * weights[1] * y,
                        rate * weights[2] * z,
                    )
            if spring.rotation is not None:
                spring.twist_foreseen = add(spring.twist, scaled(spins[at], share))
        if self.lean is not None:
            self.lean.foreseen = share * _product(self.lean.row, step)

    def run(self) -> WholeBodyPose:
        """Search."""
        pose = self.start()
        steps = 0
        for stage in STAGES:
            is_last = stage == STAGES[-1]
            for spring in self.springs:
                rank = spring.goal.rank
                strength = FORCES[rank] * stage if rank != SOFT else 1.0
                spring.strength = strength * spring.goal.weight
            self.balance_strength = FORCES[TARGET] * stage
            energy = self.energy(pose)
            damping = 0.0
            for _ in range(STEPS):
                steps += 1
                self.blocked = [[] for _ in self.joints]
                while True:
                    gradient = self.linearize(pose)
                    self.factorize(damping)
                    step = self.solve(gradient)
                    if not self.leaving(pose, step):
                        break
                size = self.largest(step)
                share = min(1.0, LARGEST / max(size, 1e-30))
                self.expect(pose, step, 1.0)
                best, lowest = pose, energy
                for _ in range(4):
                    after, _ = self.stepped(pose, [value * share for value in step])
                    # The same system once more, for the curvature of what is held firmly.
                    self.expect(pose, step, share)
                    again = self.solve(self.curvature(pose, after))
                    settled, _ = self.stepped(
                        pose, [share * one + other for one, other in zip(step, again, strict=True)]
                    )
                    for other in (after, settled):
                        value = self.energy(other)
                        if value < lowest:
                            best, lowest = other, value
                    if lowest < energy:
                        break
                    share *= 0.5
                if lowest >= energy:
                    if size < 1e-6:
                        break
                    damping = max(damping * 10.0, 1.0)
                    continue
                gain = energy - lowest
                pose, energy = best, lowest
                damping *= 0.1
                if size < DONE or gain < (1e-8 if is_last else 1e-2) * energy:
                    break
        return self.result(pose, steps)

    def result(self, pose: _Pose, steps: int) -> WholeBodyPose:
        """Return the pose in the space of the body."""
        joints, size = self.joints, self.size
        effort = 0.0
        for index, joint in enumerate(joints):
            turn = rotation_vector(pose.turns[index])
            effort += joint.stiffness * dot(turn, turn)
        misses = [
            0.0
            if spring.location is None
            else size * length(sub(self.point(pose, spring), spring.location))
            for spring in self.springs
        ]
        return WholeBodyPose(
            [scaled(moved, size) for moved in pose.moved],
            pose.turns,
            [quat_product(j.rotation, turn) for j, turn in zip(joints, pose.turns, strict=True)],
            [add(self.origin, scaled(head, size)) for head in pose.heads],
            pose.axes,
            misses,
            add(self.origin, scaled(self.centre(pose), size)) if self.mass > 0.0 else None,
            effort,
            steps,
        )


X: Vec = (1.0, 0.0, 0.0)
Y: Vec = (0.0, 1.0, 0.0)
Z: Vec = (0.0, 0.0, 1.0)

START_BEND: Final = 0.1
"""The bend from which a straight limb begins, in radians."""

SHARED: Final = 30.0
"""How many times as stiff a joint is against leaving its share of another's swing."""


def _product(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def weighted(miss: Vec, weights: Vec) -> float:
    """Return the length of a vector with weights along the axes."""
    x, y, z = miss
    return sqrt(weights[0] * x * x + weights[1] * y * y + weights[2] * z * z)


def potential(distance: float, strength: float, rank: int) -> float:
    """Return the energy of a spring whose force is limited (Huber's function)."""
    if rank == SOFT:
        return 0.5 * strength * distance * distance
    if distance <= SLACK:
        return 0.5 * strength / SLACK * distance * distance
    return strength * (distance - 0.5 * SLACK)


def pull(distance: float, strength: float, rank: int) -> float:
    """Return the force of a spring divided by its length."""
    if rank == SOFT:
        return strength
    return strength / max(distance, SLACK)


def rotation_vector(turn: Quat) -> Vec:
    """Return the rotation vector of a unit quaternion, of a length of at most π."""
    w, x, y, z = turn
    sine = sqrt(x * x + y * y + z * z)
    if sine < 1e-12:
        share = 2.0 if w >= 0.0 else -2.0
    elif w < 0.0:
        share = -2.0 * atan2(sine, -w) / sine
    else:
        share = 2.0 * atan2(sine, w) / sine
    return (x * share, y * share, z * share)


def grown_by(turn: Vec, own: Vec) -> Vec:
    """Return how a rotation vector changes while its rotation goes on about an axis of its own.

    It is the inverse of the right Jacobian of SO(3): J. Solà, “A micro Lie theory”, 2018, (144).
    """
    angle = length(turn)
    if angle < 1e-6:
        return add(own, scaled(cross(turn, own), 0.5))
    half = 0.5 * angle
    sine = sin(half)
    factor = 1.0 / (angle * angle)
    if sine > 1e-9:
        factor -= cos(half) / (2.0 * angle * sine)
    twice = cross(turn, cross(turn, own))
    return add(add(own, scaled(cross(turn, own), 0.5)), scaled(twice, factor))
