"""Rotations of which some numbers of the channel are locked, as limits of a joint."""

from math import atan2, pi, sqrt
from typing import Final, final

from .bones import X_AXIS, Y_AXIS, Z_AXIS
from .euler import euler_angles
from .limits import Hinge, Limit
from .vectors import (
    QUAT_IDENTITY,
    Quat,
    Vec,
    cross,
    dot,
    length,
    quat_about,
    quat_compatible,
    quat_inverse,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
)

AXES: list[Vec] = [X_AXIS, Y_AXIS, Z_AXIS]

ROUNDS: Final = 30
"""The most rounds of projections, which converge where they are near enough to meet."""

CONVERGED: Final = 1e-14
"""The change of a quaternion below which they have."""

INDEPENDENT: Final = 1e-6
"""The sine of an angle below which two axes count as one."""


@final
class LockedAngles(Limit):
    """A joint that keeps some of the three Euler angles of its rotation.

    Attributes:
        angles: Its angles about X, Y and Z.
        order: The axes of the first and the second turn (see `euler_angles`).
        locked: Which of the angles it keeps.
    """

    __slots__ = ("angles", "locked", "order")
    angles: list[float]
    order: list[int]
    locked: list[bool]

    def __init__(self, angles: Vec, order: tuple[int, int], locked: list[bool]) -> None:
        """Take the angles."""
        first, second = order
        self.angles = [*angles]
        self.order = [first, second, 3 - first - second]
        self.locked = locked

    def nearest(self, rotation: Quat) -> Quat:
        """Return the rotation with the free angles that are nearest, each in turn given the others.

        What is left between the turns before and after one is nearest to its twist about the axis.
        With at most two free angles, that is the power iteration for the greatest singular value.
        """
        first, second, _ = self.order
        x, y, z = self.angles
        turns: list[Quat] = [QUAT_IDENTITY] * 3
        near = euler_angles(rotation, first, second, (x, y, z))
        for i, angle in enumerate([*near]):
            turns[i] = quat_about(AXES[i], self.angles[i] if self.locked[i] else angle)
        whole = self._product(turns)
        for _ in range(ROUNDS):
            for place, i in enumerate(self.order):
                if self.locked[i]:
                    continue
                after = before = QUAT_IDENTITY
                for j in self.order[:place]:
                    before = quat_product(turns[j], before)
                for j in self.order[place + 1 :]:
                    after = quat_product(turns[j], after)
                between = quat_product(quat_inverse(after), rotation)
                w, a, b, c = quat_product(between, quat_inverse(before))
                turns[i] = quat_about(AXES[i], 2.0 * atan2(dot((a, b, c), AXES[i]), w))
            last, whole = whole, self._product(turns)
            if _differ(last, whole) <= CONVERGED:
                break
        return quat_unit(whole)

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return both directions of what is perpendicular to the axes of the free turns."""
        first, second, _ = self.order
        x, y, z = self.angles
        near = [*euler_angles(rotation, first, second, (x, y, z))]
        outer = QUAT_IDENTITY
        free: list[Vec] = []
        for i in reversed(self.order):
            if not self.locked[i]:
                free.append(rotate(outer, AXES[i]))
            angle = self.angles[i] if self.locked[i] else near[i]
            outer = quat_product(outer, quat_about(AXES[i], angle))
        return both_ways(_perpendicular(free))

    def inside(self, place: Vec) -> Quat:
        """Return the rotation with free angles from half a turn back to half a turn forward."""
        shares = [*place]
        turns: list[Quat] = []
        for i, angle in enumerate(self.angles):
            turned = angle if self.locked[i] else pi * (2.0 * shares[i] - 1.0)
            turns.append(quat_about(AXES[i], turned))
        return self._product(turns)

    def _product(self, turns: list[Quat]) -> Quat:
        i, j, k = self.order
        return quat_product(turns[k], quat_product(turns[j], turns[i]))


@final
class LockedNumbers(Limit):
    """A joint that keeps some of the four numbers of its quaternion.

    Attributes:
        rotation: The unit quaternion.
        locked: Which of its numbers it keeps.
    """

    __slots__ = ("locked", "rotation")
    rotation: Quat
    locked: list[bool]

    def __init__(self, rotation: Quat, locked: list[bool]) -> None:
        """Take the rotation."""
        self.rotation = rotation
        self.locked = locked

    def nearest(self, rotation: Quat) -> Quat:
        """Return the quaternion with the locked numbers, and the others scaled to unit length."""
        numbers, kept = [*quat_compatible(rotation, self.rotation)], [*self.rotation]
        room = size = 0.0
        for i, is_locked in enumerate(self.locked):
            if not is_locked:
                room += kept[i] * kept[i]
                size += numbers[i] * numbers[i]
        if size == 0.0:
            return self.rotation
        share = sqrt(room / size)
        w, x, y, z = [
            kept[i] if is_locked else share * numbers[i] for i, is_locked in enumerate(self.locked)
        ]
        return (w, x, y, z)

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return both directions of the gradient of each number: q̇ = ½ (0, ω) q."""
        w, x, y, z = rotation
        gradients: list[Vec] = [(-x, -y, -z), (w, z, -y), (-z, w, x), (y, -x, w)]
        axes: list[Vec] = []
        for i, is_locked in enumerate(self.locked):
            size = length(gradients[i])
            if is_locked and size > INDEPENDENT:
                axes.append(scaled(gradients[i], 1.0 / size))
        return both_ways(axes)

    def inside(self, place: Vec) -> Quat:
        """Return the allowed rotation nearest to one whose vector is in the cube."""
        x, y, z = place
        return self.nearest(quat_unit((1.0, 2.0 * x - 1.0, 2.0 * y - 1.0, 2.0 * z - 1.0)))


@final
class LimitedLock(Limit):
    """A joint with a limit and locks.

    Attributes:
        limit: The limit.
        lock: The locks, which come first where both cannot be kept.
    """

    __slots__ = ("limit", "lock")
    limit: Limit
    lock: Limit

    def __init__(self, limit: Limit, lock: Limit) -> None:
        """Take both."""
        self.limit = limit
        self.lock = lock

    def nearest(self, rotation: Quat) -> Quat:
        """Return a rotation that both allow, by projecting into each in turn."""
        rotation = self.lock.nearest(rotation)
        for _ in range(ROUNDS):
            last = rotation
            rotation = self.lock.nearest(self.limit.nearest(rotation))
            if _differ(last, rotation) <= CONVERGED:
                break
        return rotation

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return the normals of both."""
        limit = self.limit
        aside = _perpendicular([limit.axis]) if isinstance(limit, Hinge) else []
        return self.lock.normals(rotation) + both_ways(aside) + limit.normals(rotation)

    def inside(self, place: Vec) -> Quat:
        """Return an allowed rotation near one that the limit allows."""
        return self.nearest(self.limit.inside(place))


def both_ways(axes: list[Vec]) -> list[Vec]:
    """Return vectors and their opposites."""
    return axes + [scaled(axis, -1.0) for axis in axes]


def _perpendicular(axes: list[Vec]) -> list[Vec]:
    """Return orthonormal axes perpendicular to some unit vectors, up to three in all."""
    if len(axes) == 2 and length(cross(axes[0], axes[1])) > INDEPENDENT:
        side = cross(axes[0], axes[1])
        return [scaled(side, 1.0 / length(side))]
    known: list[Vec] = axes[:1]
    for candidate in AXES:
        left = candidate
        for axis in known:
            left = sub(left, scaled(axis, dot(axis, left)))
        # Of three perpendicular axes, one is at least this far from any line or plane.
        if len(known) < 3 and length(left) > 0.5:
            known = [*known, scaled(left, 1.0 / length(left))]
    return known[len(axes[:1]) :]


def _differ(a: Quat, b: Quat) -> float:
    """Return the largest difference of two quaternions, which are near."""
    w, x, y, z = quat_compatible(b, a)
    return max(abs(a[0] - w), abs(a[1] - x), abs(a[2] - y), abs(a[3] - z))
