"""A foot that walks as captures have it: it lands on its heel, rolls, creeps, and trembles."""

import random
from math import pi, radians, sin
from typing import NamedTuple

from fabrik_solver.core.vectors import Quat, Vec, add, quat_about, rotate, sub
from fabrik_solver.motion.contacts import Trajectory
from fabrik_solver.motion.ground import Pose
from fabrik_solver.motion.sole import Sole

STEP, STRIDE = 1.1, 1.3
"""How many seconds a step takes, and how far it goes for a leg of 1."""

STAND, FLAT = 0.62, (0.08, 0.42)
"""Until when of that the foot is on the ground, and from when to when flat, in seconds."""

SOLE = Sole((0.0, 0.0, -0.09), (0.15, 0.0, -0.09))
BALL = (0.15, 0.0, -0.06)
UP = (0.0, 0.0, 1.0)


class Steps(NamedTuple):
    """A foot at all frames.

    Attributes:
        poses: Where its ankle is, and how it is turned.
        roots: Where its leg begins, seen from there.
        rate: Frames a second.
        size: The length of the leg.
    """

    poses: list[Pose]
    roots: list[Vec]
    rate: float
    size: float

    def heel(self) -> Trajectory:
        places = [pose.place for pose in self.poses]
        return Trajectory(places, [place[2] for place in places])

    def ball(self) -> Trajectory:
        places = [add(p.place, rotate(p.turn, scaled_by(BALL, self.size))) for p in self.poses]
        return Trajectory(places, [place[2] for place in places])

    def turns(self) -> list[Quat]:
        return [pose.turn for pose in self.poses]

    def sole(self) -> Sole:
        return Sole(scaled_by(SOLE.heel, self.size), scaled_by(SOLE.ball, self.size))


def scaled_by(a: Vec, size: float) -> Vec:
    return (a[0] * size, a[1] * size, a[2] * size)


def smoother(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def foot_at(seconds: float, creep: float) -> tuple[Vec, float]:
    """Return where the ankle is, for a leg of 1, and the pitch of the foot, toes down."""
    cycle, t = divmod(seconds, STEP)
    place = standing_at(min(t, STAND), creep)
    u = max(0.0, (t - STAND) / (STEP - STAND))
    if u > 0.0:
        landing = add(standing_at(0.0, creep), (STRIDE, 0.0, 0.0))
        share = smoother(u)
        place = add(scaled_by(place, 1.0 - share), scaled_by(landing, share))
        place = add(place, (0.0, 0.0, 0.06 * sin(pi * share) ** 2))
    return add(place, (STRIDE * cycle, 0.0, 0.0)), pitch_at(t)


def standing_at(t: float, creep: float) -> Vec:
    """Return where the ankle is while the foot stands, turned about its heel and then its ball."""
    pitch = pitch_at(t)
    pivot = SOLE.heel if pitch <= 0.0 else SOLE.ball
    back = sub(pivot, rotate(quat_about((0.0, 1.0, 0.0), pitch), pivot))
    return add((creep * (min(t, FLAT[1]) / FLAT[1] - 0.5), 0.1, 0.09), back)


def pitch_at(t: float) -> float:
    """Return the pitch of the foot: toes up as it lands, and down as it leaves."""
    if t < FLAT[0]:
        return -radians(18) * (1.0 - smoother(t / FLAT[0]))
    down = smoother((t - FLAT[1]) / (STAND - FLAT[1])) * (1.0 - smoother((t - STAND) / 0.25))
    return radians(35) * down - radians(18) * smoother((t - STAND) / (STEP - STAND))


def steps(
    rate: float = 120.0,
    size: float = 1.0,
    cycles: int = 3,
    creep: float = 0.0,
    tremble: float = 0.0,
    height: float = 0.9,
) -> Steps:
    """Make a walk.

    Args:
        rate: Frames a second.
        size: The length of the leg.
        cycles: How many steps there are.
        creep: How far the foot slides while it stands, in legs.
        tremble: How far each frame is off, in legs.
        height: How high the leg begins.
    """
    rng = random.Random(7)
    poses, roots = [], []
    for frame in range(int(cycles * STEP * rate) + 1):
        place, pitch = foot_at(frame / rate, creep)
        noise = (rng.gauss(0, tremble), rng.gauss(0, tremble), rng.gauss(0, tremble))
        root = (STRIDE * (frame / rate / STEP - 0.25), 0.1, height)
        roots.append(scaled_by(sub(root, place), size))
        turn = quat_about((0.0, 1.0, 0.0), pitch + rng.gauss(0, 4 * tremble))
        poses.append(Pose(scaled_by(add(place, noise), size), turn))
    return Steps(poses, roots, rate, size)
