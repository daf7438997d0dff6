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
