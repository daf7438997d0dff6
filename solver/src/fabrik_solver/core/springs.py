"""Springs that pull the bones of a body toward their goals, with limited force."""

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
"""The largest spring force of each rank except SOFT, in radians² per body size.

The ratios leave room for leverage: a foot bears a small multiple of the force on a hand. If a rank
is out of reach, a lower rank shifts it by about the square of the ratio of their forces, in body
sizes. Much stronger springs would decide between poses that fold to opposite sides by a hundredth
of a millimeter. Bones would then flip with the mouse.
"""

SLACK: Final = 1e-4
"""The length at which a spring reaches its largest force, in body sizes."""


FARTHEST: Final = 100.0
"""The largest distance of a goal, in body sizes. Farther goals are moved to this distance, in the
same direction: otherwise rounding would hide the differences in energy between poses."""


@final
class Spring:
    """A spring that pulls the location or the rotation of a bone.

    Attributes:
        joint: The bone.
        rank: The rank of its goal.
        is_rotation: Whether it pulls the rotation, not the location.
        weights: The weights along, or about, each axis of the space.
        stiffness: Its force divided by its length, up to its largest force.
        force_limit: Its current largest force; infinite for a soft spring.
        path: The bones from its bone to the root.
        place: The position of its point.
        miss: The vector from the target to its point, or the rotation vector from the target
            rotation.
        rate: Its force divided by its length.
        seen: The miss in the last pose for which `energy` was called.
        foreseen: The predicted miss after the step.
        force: The predicted force after the step.
    """

    def __init__(self, goal: WholeBodyGoal, body: Articulation, rotation: Quat | None) -> None:
        """Set up the spring for a goal's location, or for its rotation if that isn't None."""
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

    def stretch(self, fraction: float) -> None:
        """Set the stiffness and the largest force to a fraction of those of the spring's rank.

        A weight below 1 limits the force but not the stiffness: a weak spring pulls with its full
        force from the start. Otherwise limbs that start bent would straighten before it pulls.
        """
        if self.rank == SOFT:
            self.stiffness, self.force_limit = self.weight, inf
            return
        full = FORCES[self.rank] * fraction * max(self.weight, 1.0)
        self.force_limit = full
        if self.weight < 1.0:
            self.force_limit = min(full, FORCES[self.rank] * self.weight)
        self.stiffness = full / SLACK

    def is_overcome(self) -> bool:
        """Return whether the force was too weak at the last `look`; False for weights below 1."""
        return self.weight >= 1.0 and self.rate < self.stiffness

    def point_of(self, pose: Placement) -> Vec:
        """Return the position of the spring's point in a pose."""
        return add(pose.heads[self.joint], rotate(pose.changes[self.joint], self._point))

    def miss_of(self, pose: Placement) -> Vec:
        """Return the miss of the spring's point or rotation in a pose."""
        if self.is_rotation:
            return quat_log(quat_product(pose.changes[self.joint], self._rotation))
        return sub(self.point_of(pose), self._location)

    def energy(self, pose: Placement) -> float:
        """Return the energy of the spring in a pose."""
        self.seen = self.miss_of(pose)
        return huber(self.length(self.seen), self.stiffness, self.force_limit)

    def look(self, pose: Placement) -> None:
        """Compute the position, miss and rate of the spring in a pose."""
        self.place = ORIGIN if self.is_rotation else self.point_of(pose)
        self.miss = self.miss_of(pose)
        self.rate = huber_rate(self.length(self.miss), self.stiffness, self.force_limit)

    def length(self, miss: Vec) -> float:
        """Return the weighted length of a miss."""
        x, y, z = miss
        wx, wy, wz = self.weights
        return sqrt(wx * x * x + wy * y * y + wz * z * z)

    def pull(self, miss: Vec) -> Vec:
        """Return the force at a miss, with the rate from `look`."""
        rate, weights = self.rate, self.weights
        return (
            rate * weights[0] * miss[0],
            rate * weights[1] * miss[1],
            rate * weights[2] * miss[2],
        )

    def foresee(self, spin: Vec, slide: Vec) -> None:
        """Predict the miss after a motion of the bone.

        Args:
            spin: The rotation vector of the motion.
            slide: Its displacement at the origin of the space.
        """
        change = spin if self.is_rotation else add(slide, cross(spin, self.place))
        self.foreseen = add(self.miss, change)


def _near(start: Vec, location: Vec) -> Vec:
    """Return the location, moved toward the start to a distance of at most `FARTHEST`.

    Raises:
        OverflowError: If the location isn't finite.
    """
    offset = sub(location, start)
    distance = length(offset)
    if not isfinite(distance):
        raise OverflowError("a goal is not finite, or too far away")
    return location if distance <= FARTHEST else add(start, scaled(offset, FARTHEST / distance))


def huber(length: float, stiffness: float, force: float) -> float:
    """Return the energy of a spring with limited force, by Huber's function.

    Args:
        length: How far it is stretched.
        stiffness: Its force divided by its length, below the limit.
        force: The largest force.
    """
    if stiffness * length <= force:
        return 0.5 * stiffness * length * length
    return force * (length - 0.5 * force / stiffness)


def huber_rate(length: float, stiffness: float, force: float) -> float:
    """Return the force of a spring with limited force, divided by its length.

    An unlimited spring of this stiffness bounds the energy from above, and touches it at this
    length.
    """
    return min(stiffness, force / length) if length > 0.0 else stiffness


@final
class Stiffness:
    """The resistance of springs to the motion of a bone about the origin: a symmetric 6 × 6 matrix.

    Attributes:
        slide: The force against translation, a diagonal matrix.
        couple: The force against rotation, row by row.
        spin: The torque against rotation: XX, XY, XZ, YY, YZ, ZZ.
    """

    def __init__(self) -> None:
        """Start with zeros."""
        self.slide = ORIGIN
        self.couple = [0.0] * 9
        self.spin = [0.0] * 6

    def add(self, other: "Stiffness") -> None:
        """Add another stiffness."""
        self.slide = add(self.slide, other.slide)
        for k, value in enumerate(other.couple):
            self.couple[k] += value
        for k, value in enumerate(other.spin):
            self.spin[k] += value

    def add_point(self, weights: Vec, point: Vec) -> None:
        """Add the resistance of a point to moving.

        A motion moves the point by slide + spin × place = slide − [place] spin.
        """
        wx, wy, wz = weights
        x, y, z = point
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
        """Add the resistance of a bone to rotating."""
        self.spin[0] += weights[0]
        self.spin[3] += weights[1]
        self.spin[5] += weights[2]

    def add_tension(self, force: Vec, arm: Vec) -> None:
        """Add the second derivative of the energy of a force that pulls at the far end of a bone.

        Unless the force is along the bone, the derivative is negative for some rotations. Only its
        positive part is added, which is an upper bound.

        Args:
            force: The force.
            arm: The vector from the bone's head to its far end.
        """
        size = length(arm)
        if size == 0.0:
            return
        along = scaled(arm, 1.0 / size)
        tension = dot(force, arm)
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

    def _add_product(self, axis: Vec, factor: float) -> None:
        """Add the scaled product of an axis with itself to the torque against rotation."""
        x, y, z = axis
        c = self.spin
        c[0] += factor * x * x
        c[1] += factor * x * y
        c[2] += factor * x * z
        c[3] += factor * y * y
        c[4] += factor * y * z
        c[5] += factor * z * z

    def force(self, spin: Vec, slide: Vec) -> Vec:
        """Return the force that resists a motion."""
        ox, oy, oz = spin
        px, py, pz = self.slide
        b = self.couple
        return (
            px * slide[0] + b[0] * ox + b[1] * oy + b[2] * oz,
            py * slide[1] + b[3] * ox + b[4] * oy + b[5] * oz,
            pz * slide[2] + b[6] * ox + b[7] * oy + b[8] * oz,
        )

    def torque(self, spin: Vec, slide: Vec) -> Vec:
        """Return the torque about the origin that resists a motion."""
        ox, oy, oz = spin
        tx, ty, tz = slide
        b0, b1, b2, b3, b4, b5, b6, b7, b8 = self.couple
        c0, c1, c2, c3, c4, c5 = self.spin
        return (
            b0 * tx + b3 * ty + b6 * tz + c0 * ox + c1 * oy + c2 * oz,
            b1 * tx + b4 * ty + b7 * tz + c1 * ox + c3 * oy + c4 * oz,
            b2 * tx + b5 * ty + b8 * tz + c2 * ox + c4 * oy + c5 * oz,
        )
