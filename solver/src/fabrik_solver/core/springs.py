"""Springs that pull the bones of a body to where goals want them, with limited force."""

from math import inf, isfinite, sqrt
from typing import Final, final

from .articulation import SOFT, Articulation, Placement, WholeBodyGoal
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    quat_inverse,
    quat_log,
    quat_product,
    rotate,
    scaled,
    sub,
)

FORCES: list[float] = [4e5, 2e4, 1e2]
"""The largest force of a spring of each rank but SOFT, in radians² per size of the body.

Between a rank and the next there is room for the leverage of a body: a foot bears a small multiple
of the force on a hand. A rank costs the one above, which is out of reach, a share of the body that
is about the square of the ratio of their forces. Much stronger springs would choose, of two poses
that fold to opposite sides, the one that is nearer by a hundredth of a millimeter, and bones would
flip with the mouse.
"""

SLACK: Final = 1e-4
"""The length at which a spring reaches its largest force, in sizes of the body."""


FARTHEST: Final = 100.0
"""The farthest that a spring pulls from, in sizes of the body: from farther away it pulls in the
same direction, and the digits of its energy would not tell a pose from another."""


@final
class Spring:
    """One that pulls the location or the rotation of a bone.

    Attributes:
        joint: The bone.
        rank: The rank of its goal.
        is_rotation: Whether it pulls the rotation, not the location.
        weights: What is counted along, or about, each axis of the space.
        stiffness: Its force divided by its length, up to its largest force.
        force_limit: Its largest force now; infinite if it is soft.
        path: The bones from its own up to the root.
        place: Where its point is.
        miss: The way from where its point is wanted to where it is, or that as a rotation vector.
        rate: Its force divided by its length.
        seen: The miss in the pose whose energy was asked for last.
        foreseen: The miss that is expected after the step.
        force: The force that is expected after the step.
    """

    __slots__ = (
        "_location",
        "_point",
        "_rotation",
        "force",
        "force_limit",
        "foreseen",
        "is_rotation",
        "joint",
        "miss",
        "path",
        "place",
        "rank",
        "rate",
        "seen",
        "stiffness",
        "weight",
        "weights",
    )
    _location: Vec
    _point: Vec
    _rotation: Quat
    force: Vec
    force_limit: float
    foreseen: Vec
    is_rotation: bool
    joint: int
    miss: Vec
    path: list[int]
    place: Vec
    rank: int
    rate: float
    seen: Vec
    stiffness: float
    weight: float
    weights: Vec

    def __init__(self, goal: WholeBodyGoal, body: Articulation, rotation: Quat | None) -> None:
        """Take one part of a goal: its location, or its rotation if that is given."""
        self.joint = goal.joint
        self.rank = goal.rank
        self.weight = goal.weight
        self.is_rotation = rotation is not None
        self.weights = goal.rotation_weights if rotation is not None else goal.location_weights
        self.path = body.path(goal.joint)
        self._point = sub(body.inward(goal.point), body.heads[goal.joint])
        self._location = ORIGIN
        if goal.location is not None:
            start = body.inward(goal.point)
            self._location = _near(start, body.inward(goal.location))
        self._rotation = QUAT_IDENTITY if rotation is None else quat_inverse(rotation)
        self.stiffness = 0.0
        self.force_limit = 0.0
        self.place = ORIGIN
        self.miss = ORIGIN
        self.rate = 0.0
        self.seen = ORIGIN
        self.foreseen = ORIGIN
        self.force = ORIGIN

    def stretch(self, share: float) -> None:
        """Take a share of the stiffness and the largest force of its rank.

        A weight below 1 limits the force and not the stiffness: a weak spring pulls with all of
        its force from the start, as limbs that begin bent would be straight again before it does.
        """
        if self.rank == SOFT:
            self.stiffness, self.force_limit = self.weight, inf
            return
        full = FORCES[self.rank] * share * max(self.weight, 1.0)
        self.force_limit = full
        if self.weight < 1.0:
            self.force_limit = min(full, FORCES[self.rank] * self.weight)
        self.stiffness = full / SLACK

    def is_overcome(self) -> bool:
        """Return whether its force was too weak where it was looked at; False if meant to be."""
        return self.weight >= 1.0 and self.rate < self.stiffness

    def point_of(self, pose: Placement) -> Vec:
        """Return where the point is in a pose."""
        return add(pose.heads[self.joint], rotate(pose.changes[self.joint], self._point))

    def miss_of(self, pose: Placement) -> Vec:
        """Return the miss in a pose."""
        if self.is_rotation:
            return quat_log(quat_product(pose.changes[self.joint], self._rotation))
        return sub(self.point_of(pose), self._location)

    def energy(self, pose: Placement) -> float:
        """Return the energy in a pose."""
        self.seen = self.miss_of(pose)
        return huber(self.length(self.seen), self.stiffness, self.force_limit)

    def look(self, pose: Placement) -> None:
        """Find how it pulls in a pose."""
        self.place = ORIGIN if self.is_rotation else self.point_of(pose)
        self.miss = self.miss_of(pose)
        self.rate = huber_rate(self.length(self.miss), self.stiffness, self.force_limit)

    def length(self, miss: Vec) -> float:
        """Return the length of a miss by its weights."""
        x, y, z = miss
        wx, wy, wz = self.weights
        return sqrt(wx * x * x + wy * y * y + wz * z * z)

    def pull(self, miss: Vec) -> Vec:
        """Return the force at a miss, with the rate of the pose that was looked at."""
        rate, weights = self.rate, self.weights
        return (
            rate * weights[0] * miss[0],
            rate * weights[1] * miss[1],
            rate * weights[2] * miss[2],
        )

    def foresee(self, spin: Vec, slide: Vec) -> None:
        """Expect that the bone moves by the rotation ``spin`` and by ``slide`` at the origin."""
        change = spin if self.is_rotation else add(slide, cross(spin, self.place))
        self.foreseen = add(self.miss, change)


def _near(start: Vec, location: Vec) -> Vec:
    """Return a location that is no farther than `FARTHEST`, in the same direction from a start.

    Raises:
        OverflowError: If it is not finite.
    """
    way = sub(location, start)
    distance = length(way)
    if not isfinite(distance):
        raise OverflowError("a goal is not finite, or too far away")
    return location if distance <= FARTHEST else add(start, scaled(way, FARTHEST / distance))


def huber(length: float, stiffness: float, force: float) -> float:
    """Return the energy of a spring whose force is limited: Huber's function."""
    if stiffness * length <= force:
        return 0.5 * stiffness * length * length
    return force * (length - 0.5 * force / stiffness)


def huber_rate(length: float, stiffness: float, force: float) -> float:
    """Return the force of such a spring divided by its length.

    A spring of this stiffness that is not limited bounds it from above and touches it there.
    """
    return min(stiffness, force / length) if length > 0.0 else stiffness


@final
class Stiffness:
    """How springs resist the motion of a bone, about the origin: a symmetric 6 × 6 matrix.

    Attributes:
        slide: The force against moving, which is diagonal.
        couple: The force against rotating, in rows.
        spin: The torque against rotating: XX, XY, XZ, YY, YZ, ZZ.
    """

    __slots__ = ("couple", "slide", "spin")
    slide: Vec
    couple: list[float]
    spin: list[float]

    def __init__(self) -> None:
        """Begin without any."""
        self.slide = ORIGIN
        self.couple = [0.0] * 9
        self.spin = [0.0] * 6

    def add(self, other: "Stiffness") -> None:
        """Add another one."""
        self.slide = add(self.slide, other.slide)
        for k, value in enumerate(other.couple):
            self.couple[k] += value
        for k, value in enumerate(other.spin):
            self.spin[k] += value

    def add_point(self, weights: Vec, place: Vec) -> None:
        """Add the resistance of a point against moving.

        A motion moves it by slide + spin × place = slide − [place] spin.
        """
        wx, wy, wz = weights
        x, y, z = place
        self.slide = add(self.slide, weights)
        b, c = self.couple, self.spin
        b[1] += wx * z
        b[2] -= wx * y
        b[3] -= wy * z
        b[5] += wy * x
        b[6] += wz * y
        b[7] -= wz * x
        c[0] += wy * z * z + wz * y * y
        c[1] -= wz * x * y
        c[2] -= wy * x * z
        c[3] += wx * z * z + wz * x * x
        c[4] -= wx * y * z
        c[5] += wx * y * y + wy * x * x

    def add_turn(self, weights: Vec) -> None:
        """Add the resistance of a bone against rotating."""
        self.spin[0] += weights[0]
        self.spin[3] += weights[1]
        self.spin[5] += weights[2]

    def add_tension(self, force: Vec, way: Vec) -> None:
        """Add that a force at its far end pulls a bone straight: its second derivative.

        It is negative for some rotations unless the force is along the bone; only its positive
        part is added, which bounds it from above.

        Args:
            force: The force.
            way: The way from the bone's head to its far end.
        """
        size = length(way)
        if size == 0.0:
            return
        along = scaled(way, 1.0 / size)
        tension = dot(force, way)
        across = sub(force, scaled(along, tension / size))
        couple = 0.5 * size * length(across)
        if couple == 0.0:
            if tension > 0.0:
                self._add_product(along, -tension)
                self.add_turn((tension, tension, tension))
            return
        aside = scaled(across, 0.5 * size / couple)
        # Of the 2 × 2 matrix along and aside, 0 and the tension, which the couple connects.
        largest = 0.5 * (tension + sqrt(tension * tension + 4.0 * couple * couple))
        if tension > 0.0:
            self.add_turn((tension, tension, tension))
            self._add_product(along, -tension)
            self._add_product(aside, -tension)
        norm = sqrt(couple * couple + largest * largest)
        axis = sub(scaled(aside, largest / norm), scaled(along, couple / norm))
        self._add_product(axis, largest)

    def _add_product(self, axis: Vec, share: float) -> None:
        """Add the product of an axis with itself to the torque against rotating."""
        x, y, z = axis
        c = self.spin
        c[0] += share * x * x
        c[1] += share * x * y
        c[2] += share * x * z
        c[3] += share * y * y
        c[4] += share * y * z
        c[5] += share * z * z

    def force(self, spin: Vec, slide: Vec) -> Vec:
        """Return the force against a motion."""
        ox, oy, oz = spin
        px, py, pz = self.slide
        b = self.couple
        return (
            px * slide[0] + b[0] * ox + b[1] * oy + b[2] * oz,
            py * slide[1] + b[3] * ox + b[4] * oy + b[5] * oz,
            pz * slide[2] + b[6] * ox + b[7] * oy + b[8] * oz,
        )

    def torque(self, spin: Vec, slide: Vec) -> Vec:
        """Return the torque about the origin against a motion."""
        ox, oy, oz = spin
        tx, ty, tz = slide
        b0, b1, b2, b3, b4, b5, b6, b7, b8 = self.couple
        c0, c1, c2, c3, c4, c5 = self.spin
        return (
            b0 * tx + b3 * ty + b6 * tz + c0 * ox + c1 * oy + c2 * oz,
            b1 * tx + b4 * ty + b7 * tz + c1 * ox + c3 * oy + c4 * oz,
            b2 * tx + b5 * ty + b8 * tz + c2 * ox + c4 * oy + c5 * oz,
        )
