"""Rotations with some locked channel components, as joint limits."""

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
"""Maximum number of projection rounds; they converge if they start close enough to an
intersection."""

CONVERGED: Final = 1e-14
"""The change of a quaternion below which the projections have converged."""

INDEPENDENT: Final = 1e-6
"""The sine of an angle below which two axes are the same."""


@final
class LockedAngles(Limit):
    """A joint with some of the three Euler angles of its rotation locked.

    Attributes:
        angles: Its angles about X, Y and Z.
        order: The axes of the first, second and third rotation (see `euler_angles`).
        locked: Whether each angle is locked.
    """

    def __init__(self, angles: Vec, order: tuple[int, int], locked: list[bool]) -> None:
        first, second = order
        self.angles = [*angles]
        self.order = [first, second, 3 - first - second]
        self.locked = locked

    def nearest(self, rotation: Quat) -> Quat:
        """Return the rotation with the nearest free angles, each in turn with the others fixed.

        A free angle is the twist about its axis that remains without the other two angles. With at
        most two free angles, this is the power iteration for the greatest singular value.
        """
        first, second, _ = self.order
        x, y, z = self.angles
        turns: list[Quat] = [QUAT_IDENTITY] * 3
        near = euler_angles(rotation, first, second, (x, y, z))
        for i, angle in enumerate([*near]):
            turns[i] = quat_about(AXES[i], self.angles[i] if self.locked[i] else angle)
        whole = self._product(turns)
        for _ in range(ROUNDS):
            for step, i in enumerate(self.order):
                if self.locked[i]:
                    continue
                outer_turn = inner_turn = QUAT_IDENTITY
                for j in self.order[:step]:
                    inner_turn = quat_product(turns[j], inner_turn)
                for j in self.order[step + 1 :]:
                    outer_turn = quat_product(turns[j], outer_turn)
                between = quat_product(quat_inverse(outer_turn), rotation)
                w, a, b, c = quat_product(between, quat_inverse(inner_turn))
                turns[i] = quat_about(AXES[i], 2.0 * atan2(dot((a, b, c), AXES[i]), w))
            last, whole = whole, self._product(turns)
            if _differ(last, whole) <= CONVERGED:
                break
        return quat_unit(whole)

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return both directions of the axes perpendicular to the free axes of rotation."""
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

    def inside(self, unit_point: Vec) -> Quat:
        """Map a point of the unit cube to an allowed rotation.

        Each coordinate sets a free angle, from −π to π.
        """
        coordinates = [*unit_point]
        turns: list[Quat] = []
        for i, angle in enumerate(self.angles):
            turned = angle if self.locked[i] else pi * (2.0 * coordinates[i] - 1.0)
            turns.append(quat_about(AXES[i], turned))
        return self._product(turns)

    def _product(self, turns: list[Quat]) -> Quat:
        i, j, k = self.order
        return quat_product(turns[k], quat_product(turns[j], turns[i]))


@final
class LockedNumbers(Limit):
    """A joint with some of the four numbers of its quaternion locked.

    Attributes:
        rotation: The unit quaternion.
        locked: Whether each number is locked.
    """

    def __init__(self, rotation: Quat, locked: list[bool]) -> None:
        self.rotation = rotation
        self.locked = locked

    def nearest(self, rotation: Quat) -> Quat:
        """Return the quaternion with the locked numbers, and the others scaled to unit length."""
        numbers, fixed = [*quat_compatible(rotation, self.rotation)], [*self.rotation]
        free_square = square = 0.0
        for i, is_locked in enumerate(self.locked):
            if not is_locked:
                free_square += fixed[i] * fixed[i]
                square += numbers[i] * numbers[i]
        if square == 0.0:
            return self.rotation
        factor = sqrt(free_square / square)
        w, x, y, z = [
            fixed[i] if is_locked else factor * numbers[i]
            for i, is_locked in enumerate(self.locked)
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

    def inside(self, unit_point: Vec) -> Quat:
        """Return the allowed rotation nearest to a quaternion with its vector part in the cube."""
        x, y, z = unit_point
        return self.nearest(quat_unit((1.0, 2.0 * x - 1.0, 2.0 * y - 1.0, 2.0 * z - 1.0)))


@final
class LimitedLock(Limit):
    """A joint with a limit and locks.

    Attributes:
        limit: The limit.
        lock: The locks, which take priority if both can't be satisfied.
    """

    def __init__(self, limit: Limit, lock: Limit) -> None:
        self.limit = limit
        self.lock = lock

    def nearest(self, rotation: Quat) -> Quat:
        """Return a rotation that the limit and the locks both allow, by alternating projections."""
        rotation = self.lock.nearest(rotation)
        for _ in range(ROUNDS):
            last = rotation
            rotation = self.lock.nearest(self.limit.nearest(rotation))
            if _differ(last, rotation) <= CONVERGED:
                break
        return rotation

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return the normals of limit and locks."""
        limit = self.limit
        aside = _perpendicular([limit.axis]) if isinstance(limit, Hinge) else []
        return self.lock.normals(rotation) + both_ways(aside) + limit.normals(rotation)

    def inside(self, unit_point: Vec) -> Quat:
        """Return an allowed rotation near a rotation that the limit allows."""
        return self.nearest(self.limit.inside(unit_point))


def both_ways(axes: list[Vec]) -> list[Vec]:
    """Return vectors and their opposites."""
    return axes + [scaled(axis, -1.0) for axis in axes]


def _perpendicular(axes: list[Vec]) -> list[Vec]:
    """Return orthonormal axes perpendicular to some unit vectors, at most three axes in total."""
    if len(axes) == 2 and length(cross(axes[0], axes[1])) > INDEPENDENT:
        side = cross(axes[0], axes[1])
        return [scaled(side, 1.0 / length(side))]
    axes_so_far: list[Vec] = axes[:1]
    for candidate in AXES:
        remainder = candidate
        for axis in axes_so_far:
            remainder = sub(remainder, scaled(axis, dot(axis, remainder)))
        # One of three perpendicular axes is at least this far from any line or plane.
        if len(axes_so_far) < 3 and length(remainder) > 0.5:
            axes_so_far = [*axes_so_far, scaled(remainder, 1.0 / length(remainder))]
    return axes_so_far[len(axes[:1]) :]


def _differ(a: Quat, b: Quat) -> float:
    """Return the largest difference between the numbers of two nearby quaternions."""
    w, x, y, z = quat_compatible(b, a)
    return max(abs(a[0] - w), abs(a[1] - x), abs(a[2] - y), abs(a[3] - z))
