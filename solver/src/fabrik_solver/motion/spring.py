"""Springs: bones that swing from their parents by themselves, such as hair, ears and tails.

The model is that of VRMC_springBone 1.0 (https://github.com/vrm-c/vrm-specification). Each bone is
a rod on its parent with all its mass at the tail. A step adds to the tail

    (tail − previous tail) (1 − drag) + dt · stiffness · rest axis + dt · gravity,

restores the bone's length, and pushes it out of each collider. `vrm_step` implements this formula.
It depends on the frame rate: drag and stiffness apply once a frame.

A steady `Mode` is the same law in continuous time, equal to VRM's at 60 frames per second. After h
seconds, drag has left the fraction e = exp(−c h) of the velocity. Take a bone that swings at ω
about the direction of its forces. In each step it covers this fraction of the way there:

    1 + e − 2 √e cos(h √(ω² − c² / 4))

So a damped spring is exact at its steps, for any stiffness, length and h. The motion of the head is
part of the forces. The length is restored along the previous direction (SHAKE; Ryckaert, Ciccotti
and Berendsen, 1977), which neither adds nor removes energy.

This law differs from VRM in two ways. A bone swings as a pendulum that includes all its children.
And it returns to the strand's FK pose instead of its rest axis on the previous bone. Otherwise each
bone would amplify the motion of the previous one: a strand of ten bones would whip about,
differently at each frame rate. A single bone behaves as in VRM.
"""

from collections.abc import Sequence
from math import cos, cosh, expm1, log1p, pi, sqrt
from typing import Final, NamedTuple, final

from ..core import Frame, point_in
from ..core.vectors import ORIGIN, QUAT_IDENTITY, Vec, add, mat_apply, scaled, sub, unit_or
from .spring_collision import Collider, pushed

REFERENCE: Final = 60.0
"""The frame rate at which VRM's values apply unchanged in continuous time, in 1/s."""

NO_DRAG: Final = 1e-12
"""The smallest drag, and the smallest distance of drag from 1; both extremes are limits."""


class Spring(NamedTuple):
    """A bone's settings at a frame.

    Attributes:
        stiffness: VRM's stiffness.
        drag: VRM's drag, from 0 to 1.
        gravity: VRM's gravity, its power times its direction, in simulation space.
        radius: The radius of the tail.
    """

    stiffness: float
    drag: float
    gravity: Vec
    radius: float


def vrm_step(
    head: Vec,
    tails: tuple[Vec, Vec],
    rest: Vec,
    size: float,
    spring: Spring,
    dt: float,
    colliders: Sequence[Collider],
) -> Vec:
    """Return the next tail of a bone as VRMC_springBone 1.0 specifies it.

    Args:
        head: The head of the bone.
        tails: Its current and its previous tail.
        rest: The direction of the bone at rest, a unit vector.
        size: Its length.
        spring: Its settings.
        dt: The duration of a frame in seconds.
        colliders: The colliders.
    """
    current, previous = tails
    inertia = scaled(sub(current, previous), 1.0 - spring.drag)
    external = add(scaled(rest, dt * spring.stiffness), scaled(spring.gravity, dt))
    aim = sub(add(add(current, inertia), external), head)
    tail = add(head, scaled(unit_or(aim, rest), size))
    return pushed(head, tail, size, spring.radius, colliders)


@final
class Pull:
    """The effect of a spring in steps of a fixed duration.

    Attributes:
        push: The displacement of VRM's forces in a step, per unit of force, in seconds.
        keep: The fraction of the velocity left after a step.
        root: The square root of ``keep``.
        angle: The square of half the decay of a step, (c h / 2)².
        square: h² divided by the displacement that a unit acceleration makes in a step.
        stiffness: See `Spring`.
        radius: See `Spring`.
    """

    def __init__(self, spring: Spring, h: float) -> None:
        drag = min(max(spring.drag, NO_DRAG), 1.0 - NO_DRAG)
        decay = -REFERENCE * log1p(-drag) * h
        lost = -expm1(-decay)
        self.keep = 1.0 - lost
        self.root = sqrt(self.keep)
        self.angle = 0.25 * decay * decay
        self.push = h * lost / drag
        # Without drag, an acceleration a moves the tail by a h² in a step; with drag, by less.
        self.square = decay / lost
        self.stiffness = spring.stiffness
        self.radius = spring.radius

    def share(self, size: float) -> float:
        """Return how far a bone moves toward the direction of its forces in a step, as a fraction.

        Args:
            size: The displacement by the forces in a step, in bone lengths.
        """
        angle = size * self.square - self.angle
        turn = cos(min(sqrt(angle), pi)) if angle >= 0.0 else cosh(sqrt(-angle))
        return 1.0 + self.keep - 2.0 * self.root * turn


@final
class Tail:
    """The state of a bone.

    Attributes:
        head: The location of its head.
        shift: The last displacement of its head.
        arm: The vector from its head to its tail.
        swing: The last change of that vector.
        rest: Its rest direction, a unit vector.
        turn: Its local rotation, applied after that of the FK pose.
        stretch: Its length relative to its rest length, which uneven scale may change.
        weight: The fraction of a step's forces that applies: half at the start, where they begin.
    """

    def __init__(self, head: Vec, arm: Vec) -> None:
        self.head = head
        self.arm = arm
        self.shift = ORIGIN
        self.swing = ORIGIN
        self.rest = unit_or(arm, (0.0, 0.0, 1.0))
        self.turn = QUAT_IDENTITY
        self.stretch = 1.0
        self.weight = 0.5

    def direction(
        self, head: Vec, rest: Vec, size: float, lever: float, pull: Pull, external: Vec
    ) -> Vec:
        """Return the direction after a step, before collisions.

        Args:
            head: The new location of its head.
            rest: The new rest direction, a unit vector.
            size: The length of the bone.
            lever: The length of the pendulum that it swings as.
            pull: The spring.
            external: Gravity and force fields, in the unit of `Spring.gravity`.
        """
        ox, oy, oz = self.head
        hx, hy, hz = head
        sx, sy, sz = self.shift
        gx, gy, gz = external
        rx, ry, rz = self.rest  # The forces at the start of the step.
        keep, push = pull.keep, self.weight * pull.push
        self.rest, self.weight = rest, 1.0
        shift = (hx - ox, hy - oy, hz - oz)
        self.shift = shift
        spring = push * pull.stiffness
        fx = spring * rx + push * gx + keep * sx - shift[0]
        fy = spring * ry + push * gy + keep * sy - shift[1]
        fz = spring * rz + push * gz + keep * sz - shift[2]
        force = sqrt(fx * fx + fy * fy + fz * fz)
        factor = pull.share(force / lever) * size / force if force > 0.0 else 0.0
        ux, uy, uz = self.swing
        tx, ty, tz = keep * ux + factor * fx, keep * uy + factor * fy, keep * uz + factor * fz
        ax, ay, az = self.arm
        square = ax * ax + ay * ay + az * az
        if square == 0.0:
            return rest
        along = (tx * ax + ty * ay + tz * az) / square
        tx, ty, tz = tx - ax * along, ty - ay * along, tz - az * along
        left = sqrt(max(0.0, 1.0 - (tx * tx + ty * ty + tz * tz) / square))
        return unit_or((ax * left + tx, ay * left + ty, az * left + tz), rest)

    def at_start(self, rest: Vec, spring: Spring, external: Vec, is_settling: bool) -> Vec:
        """Return the direction at the start: that of the FK pose, or where the forces settle.

        Args:
            rest: The direction of the FK pose, to which the bone springs back.
            spring: The bone's settings.
            external: The external force.
            is_settling: Whether the bone starts where the forces would leave it.
        """
        self.rest = rest
        direction = unit_or(self.arm, rest)
        if not is_settling:
            return direction
        return unit_or(add(scaled(rest, spring.stiffness), external), direction)

    def next_direction(
        self,
        head: Vec,
        rest: Vec,
        size: float,
        spring: Spring,
        external: Vec,
        dt: float,
        colliders: Sequence[Collider],
    ) -> Vec:
        """Return the direction after a frame by VRM's rule; see `vrm_step`."""
        current = add(self.head, self.arm)
        previous = sub(current, add(self.shift, self.swing))
        spring = spring._replace(gravity=external)
        moved = vrm_step(head, (current, previous), rest, size, spring, dt, colliders)
        self.shift = sub(head, self.head)
        return unit_or(sub(moved, head), rest)

    def copied(self) -> "Tail":
        """Return a copy of the state."""
        tail = Tail(self.head, self.arm)
        tail.shift, tail.swing, tail.rest = self.shift, self.swing, self.rest
        tail.turn, tail.stretch, tail.weight = self.turn, self.stretch, self.weight
        return tail

    def move(self, head: Vec, arm: Vec) -> None:
        """Move to a new head, and a new vector from head to tail."""
        self.swing = sub(arm, self.arm)
        self.head = head
        self.arm = arm

    def carry(self, frame: Frame) -> None:
        """Transform the state by a frame."""
        self.head = point_in(frame, self.head)
        self.shift = mat_apply(frame[0], self.shift)
        self.rest = unit_or(mat_apply(frame[0], self.rest), self.rest)
        self.arm = mat_apply(frame[0], self.arm)
        self.swing = mat_apply(frame[0], self.swing)
