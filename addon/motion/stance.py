"""The lean of a body on its feet: its lift and tilt to the plane through them, and its bob.

Everything is in the animated frame of the body: Z up, Y ahead. A critically damped spring smooths
the lean over time, so that its velocity is continuous.
"""

from collections.abc import Sequence
from math import exp, fsum
from typing import NamedTuple

from ..core import Frame, frame_in
from ..core.vectors import ORIGIN, Vec, quat_between, quat_matrix

STEEPEST = 1.0
"""The steepest tilt, as a slope: steeper ones have to be animated (or are noise)."""


class Lean(NamedTuple):
    """The offset of a body from its animation.

    Attributes:
        lift: Upwards, in metres.
        right: The slope of the ground to the right.
        ahead: The slope of the ground ahead.
    """

    lift: float
    right: float
    ahead: float


UPRIGHT = Lean(0.0, 0.0, 0.0)


class Swaying(NamedTuple):
    """A lean, and its velocity per frame."""

    lean: Lean
    speed: Lean


def plane_through(feet: Sequence[Vec], rests: Sequence[Vec]) -> Lean:
    """Return the lean that fits the heights of the feet by least squares.

    Feet nearly in a line do not determine the slope across it, which then stays 0.

    Args:
        feet: The positions of the feet, in the body's frame.
        rests: Their rest positions, in the same order.

    Returns:
        The lean; none without any feet.
    """
    n = len(feet)
    if n == 0:
        return UPRIGHT
    x, y = fsum([foot[0] for foot in feet]) / n, fsum([foot[1] for foot in feet]) / n
    z = fsum([foot[2] - rest[2] for foot, rest in zip(feet, rests, strict=True)]) / n
    xx = xy = yy = xz = yz = 0.0
    for foot, rest in zip(feet, rests, strict=True):
        dx, dy, dz = foot[0] - x, foot[1] - y, foot[2] - rest[2] - z
        xx, xy, yy, xz, yz = xx + dx * dx, xy + dx * dy, yy + dy * dy, xz + dx * dz, yz + dy * dz
    # Ridge regression, by a twentieth of the feet's variance.
    ridge = 0.05 * (xx + yy) + 1e-12
    xx, yy = xx + ridge, yy + ridge
    size = xx * yy - xy * xy
    right = _held((yy * xz - xy * yz) / size)
    ahead = _held((xx * yz - xy * xz) / size)
    return Lean(z - right * x - ahead * y, right, ahead)


def _held(slope: float) -> float:
    return min(STEEPEST, max(-STEEPEST, slope))


def eased_to(now: Swaying, target: Lean, frames: float, time: float) -> Swaying:
    """Advance a lean towards a target.

    The exact solution of a critically damped spring, for a time step of any length.

    Args:
        now: The current lean.
        target: The target lean.
        frames: The time step.
        time: The frames that it takes to get most of the way.
    """
    rate = 4.0 / time
    fade = exp(-rate * frames)
    places: list[float] = []
    speeds: list[float] = []
    for place, goal, speed in zip(now.lean, target, now.speed, strict=True):
        off = place - goal
        pull = (speed + rate * off) * frames
        places.append(goal + (off + pull) * fade)
        speeds.append((speed - rate * pull) * fade)
    return Swaying(Lean(*places), Lean(*speeds))


def lean_between(a: Swaying, b: Swaying, share: float) -> Lean:
    """Return the lean between those of two whole frames (cubic Hermite)."""
    u, v = share, 1.0 - share
    from_a, from_b = v * v * (1.0 + 2.0 * u), u * u * (3.0 - 2.0 * u)
    out_of, into = u * v * v, -u * u * v
    return Lean(
        *(
            from_a * a.lean[i] + from_b * b.lean[i] + out_of * a.speed[i] + into * b.speed[i]
            for i in range(3)
        )
    )


def leaned(body: Frame, lean: Lean, bob: float = 0.0) -> Frame:
    """Return the frame of a leaning body.

    Args:
        body: Its animated frame in the world.
        lean: Its lean.
        bob: Its additional height.
    """
    turn = quat_between((0.0, 0.0, 1.0), (-lean.right, -lean.ahead, 1.0), ORIGIN)
    return frame_in(body, (quat_matrix(turn), (0.0, 0.0, lean.lift + bob)))
