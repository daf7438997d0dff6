"""How a body leans on its feet: lift and tilt toward the plane through the feet, and bob.

Everything is in the animated frame of the body: Z up, Y ahead. A critically damped spring smooths
the lean over time, so that its velocity is continuous.
"""

from collections.abc import Sequence
from math import exp, fsum, sqrt
from typing import NamedTuple

from ..core import Frame, frame_in
from ..core.vectors import ORIGIN, Vec, quat_between, quat_matrix, solve_symmetric
from .ground import STEEPEST

MOST_BEND = 0.7
"""The largest bend of the spine, as a difference of slopes: a foot may just be on a stone."""


class Lean(NamedTuple):
    """A body's offset from its animation.

    Attributes:
        lift: Upward, in meters.
        right: The slope of the ground to the right.
        ahead: The slope of the ground ahead.
        twist: How much the slope to the right increases from the body to the far end of the spine.
        bend: How much the slope ahead increases over the same length.
    """

    lift: float
    right: float
    ahead: float
    twist: float = 0.0
    bend: float = 0.0

    def right_at(self, spine: float) -> float:
        """Return the slope to the right at a position along the spine, from 0 to 1."""
        return self.right + self.twist * spine

    def ahead_at(self, spine: float) -> float:
        """Return the slope ahead at a position along the spine, from 0 to 1."""
        return self.ahead + self.bend * spine

    def climb_at(self, spine: float) -> float:
        """Return the mean slope ahead from the body to a position along the spine."""
        return self.ahead + 0.5 * self.bend * spine


UPRIGHT = Lean(0.0, 0.0, 0.0)


class LeanState(NamedTuple):
    """A lean, and its velocity per frame."""

    lean: Lean
    speed: Lean


def plane_through(
    feet: Sequence[Vec], rests: Sequence[Vec], spines: Sequence[float] | None = None
) -> Lean:
    """Return the lean that fits the heights of the feet by least squares.

    Feet nearly in a line don't determine the slope across it, which then stays 0.

    Args:
        feet: The locations of the feet, in the body's frame.
        rests: Their rest locations, in the same order.
        spines: The positions of their legs along the spine (see `gait.WalkingLeg`); None for a
            rigid body.

    Returns:
        The lean; zero without feet.
    """
    n = len(feet)
    if n == 0:
        return UPRIGHT
    # Symmetric about the middle of the spine, so that the ridge damps both ends equally.
    sides = [2.0 * spine - 1.0 for spine in spines] if spines and any(spines) else [0.0] * n
    places = [(foot[0], foot[1], foot[0] * side) for foot, side in zip(feet, sides, strict=True)]
    x, y, w = (fsum(column) / n for column in zip(*places, strict=True))
    z = fsum([foot[2] - rest[2] for foot, rest in zip(feet, rests, strict=True)]) / n
    xx = yy = ww = xy = xw = yw = xz = yz = wz = 0.0
    for location, foot, rest in zip(places, feet, rests, strict=True):
        dx, dy, dw, dz = location[0] - x, location[1] - y, location[2] - w, foot[2] - rest[2] - z
        xx, yy, ww = xx + dx * dx, yy + dy * dy, ww + dw * dw
        xy, xw, yw = xy + dx * dy, xw + dx * dw, yw + dy * dw
        xz, yz, wz = xz + dx * dz, yz + dy * dz, wz + dw * dz
    # Ridge regression, by a twentieth of the feet's variance.
    ridge = 0.05 * (xx + yy) + 1e-12
    diagonal = xx + ridge, yy + ridge, ww + ridge
    right, ahead, apart = map(_held, solve_symmetric(diagonal, (xy, xw, yw), (xz, yz, wz)))
    lift = z - right * x - ahead * y - apart * w
    return Lean(lift, right - apart, ahead, 2.0 * apart)


def bend_of_ground(normals: Sequence[Vec], spines: Sequence[float]) -> float:
    """Return how much steeper the slope ahead is under the front feet than under the hind feet.

    Two feet side by side don't show the slope ahead, but the ground under each one does.

    Args:
        normals: The ground normals at the feet, in the body's frame.
        spines: The positions of their legs along the spine.

    Returns:
        The difference of the mean slopes, at most `MOST_BEND`; 0 if an end of the spine has no feet
        on the ground.
    """
    ends: tuple[list[float], list[float]] = ([], [])
    for (_, y, z), spine in zip(normals, spines, strict=True):
        slope = _held(-y / z) if z > 0.0 else 0.0
        ends[spine > 0.5].append(slope)
    hind, front = ends
    if not hind or not front:
        return 0.0
    bend = fsum(front) / len(front) - fsum(hind) / len(hind)
    return min(MOST_BEND, max(-MOST_BEND, bend))


def _held(slope: float) -> float:
    """Return a slope, at most as steep as ground: anything steeper is animated, or is noise."""
    most = sqrt(1.0 / (STEEPEST * STEEPEST) - 1.0)
    return min(most, max(-most, slope))


def eased_to(current: LeanState, target: Lean, frames: float, time: float) -> LeanState:
    """Advance a lean toward a target.

    This is the exact solution of a critically damped spring, for a time step of any length.

    Args:
        current: The current lean.
        target: The target lean.
        frames: The time step.
        time: The number of frames in which most of the difference is covered.
    """
    rate = 4.0 / time
    fade = exp(-rate * frames)
    places: list[float] = []
    speeds: list[float] = []
    for value, goal, speed in zip(current.lean, target, current.speed, strict=True):
        off = value - goal
        pull = (speed + rate * off) * frames
        places.append(goal + (off + pull) * fade)
        speeds.append((speed - rate * pull) * fade)
    return LeanState(Lean(*places), Lean(*speeds))


def lean_between(a: LeanState, b: LeanState, fraction: float) -> Lean:
    """Return the lean between two whole frames (cubic Hermite)."""
    u, v = fraction, 1.0 - fraction
    from_a, from_b = v * v * (1.0 + 2.0 * u), u * u * (3.0 - 2.0 * u)
    out_of, into = u * v * v, -u * u * v
    return Lean(
        *(
            from_a * a.lean[i] + from_b * b.lean[i] + out_of * a.speed[i] + into * b.speed[i]
            for i in range(len(a.lean))
        )
    )


def leaned(body: Frame, lean: Lean, bob: float = 0.0, spine: float = 0.0) -> Frame:
    """Return a leaning body's frame, for a leg attached somewhere along its spine.

    Args:
        body: The body's animated frame, in world space.
        lean: Its lean.
        bob: Its additional height.
        spine: The position along the spine, from 0 to 1.
    """
    normal = (-lean.right_at(spine), -lean.climb_at(spine), 1.0)
    turn = quat_between((0.0, 0.0, 1.0), normal, ORIGIN)
    return frame_in(body, (quat_matrix(turn), (0.0, 0.0, lean.lift + bob)))
