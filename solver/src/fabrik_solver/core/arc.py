"""A chain as an arc or zigzag, with the same angle at all its joints."""

from collections.abc import Sequence
from math import cos, fsum, hypot, pi, sin, sqrt
from typing import Final

from .vectors import Vec, add, scaled

CLOSED: Final = 1e-6
"""Ends closer than this count as a closed ring, which has no chord."""

STEPS: Final = 32
"""Number of angles sampled up to half a turn, to bracket a zigzag's angle."""


def arc(
    lengths: list[float], axis: Vec, side: Vec, chord: float, folds: Sequence[int] = ()
) -> list[Vec]:
    """Return the joints of a chain that bends equally at all joints, with its ends ``chord`` apart.

    Args:
        lengths: The bone lengths.
        axis: The unit vector from the root to the tip.
        side: The unit vector of the bend direction.
        chord: The distance between the ends.
        folds: How each joint flexes if the chain bends to both sides (see `RestBend`).
    """
    if folds:
        flat = _flat_arc(lengths, _zigzag_angle(lengths, chord, folds), folds)
    else:
        flat = _flat_arc(lengths, _arc_angle(lengths, chord))
    tip_x, tip_y = flat[-1]
    span = hypot(tip_x, tip_y)
    if span > CLOSED:
        ux, uy = tip_x / span, tip_y / span
    else:  # A closed ring has no chord: use the limit of opening rings.
        _, _, dx, dy = _tip_motion(lengths, _nearest_angle(lengths))
        speed = hypot(dx, dy)
        ux, uy = -dx / speed, -dy / speed
    return [add(scaled(axis, x * ux + y * uy), scaled(side, y * ux - x * uy)) for x, y in flat]


def chord_of(half: float) -> float:
    """Return the chord of an arc of length 1 that turns by twice the angle ``half``."""
    return sin(half) / half if half > 1e-6 else 1.0


def half_turn(chord: float) -> float:
    """Return half the angle of an arc of length 1 whose ends are ``chord`` apart.

    The chord is nearly linear in the square of the angle. This uses two terms of the inverse series
    and one step of Newton's method. The error is at most 1.5 % for a ring, and 0.2 % for chords of
    at least 0.3.
    """
    square = 6.0 * max(0.0, 1.0 - chord)
    square += 0.05 * square * square
    half = sqrt(square)
    if half < 1e-3:
        return half
    span = sin(half) / half
    return sqrt(max(0.0, square + 2.0 * square * (chord - span) / (cos(half) - span)))


def _flat_arc(
    lengths: list[float], angle: float, folds: Sequence[int] = ()
) -> list[tuple[float, float]]:
    x = y = heading = 0.0
    joints = [(x, y)]
    for i, size in enumerate(lengths):
        x += size * cos(heading)
        y += size * sin(heading)
        joints.append((x, y))
        heading -= angle * folds[i] if i < len(folds) else angle
    return joints


def _zigzag_angle(lengths: list[float], chord: float, folds: Sequence[int]) -> float:
    """Return the least joint angle that puts the ends ``chord`` apart, or as close as possible.

    Args:
        lengths: The lengths of the bones.
        chord: The wanted distance between the ends.
        folds: How each joint flexes (see `RestBend`).
    """
    high, nearest = 0.0, fsum(lengths)
    for step in range(1, STEPS + 1):
        angle = pi * step / STEPS
        span = hypot(*_flat_arc(lengths, angle, folds)[-1])
        if span < nearest:
            high, nearest = angle, span
        if span <= chord:
            break
    low = max(0.0, high - pi / STEPS)
    for _ in range(50 if nearest <= chord else 0):
        middle = 0.5 * (low + high)
        if hypot(*_flat_arc(lengths, middle, folds)[-1]) > chord:
            low = middle
        else:
            high = middle
    return high


def _arc_angle(lengths: list[float], chord: float) -> float:
    """Return the joint angle that puts the ends ``chord`` apart, or as close as possible.

    The chord shrinks monotonically up to the angle with the closest ends. Bracketed Newton
    iteration finds the angle, starting from the circular arc of many short bones.
    """
    count, low, high = len(lengths), 0.0, _nearest_angle(lengths)
    if hypot(*_flat_arc(lengths, high)[-1]) >= chord:
        return high
    angle = min(high, sqrt(24.0 * max(0.0, fsum(lengths) - chord) / max(1, count * count - 1)))
    for _ in range(60):
        x, y, dx, dy = _tip_motion(lengths, angle)
        span = hypot(x, y)
        if abs(span - chord) < 1e-13:
            break
        if span > chord:
            low = angle
        else:
            high = angle
        slope = (x * dx + y * dy) / span if span > CLOSED else 0.0
        newton = angle - (span - chord) / slope if slope < 0.0 else low
        angle = newton if low < newton < high else 0.5 * (low + high)
    return angle


def _nearest_angle(lengths: list[float]) -> float:
    """Return the joint angle at which the ends of the chain are closest.

    Equal bones close to a ring. With unequal bones the ends may part again earlier, but never below
    π / (n − 1) at each joint. Bisection finds the angle from there.
    """
    low, high = pi / max(1, len(lengths) - 1), 2.0 * pi / len(lengths)
    if low >= high or not _ends_part(lengths, high):
        return high
    for _ in range(50):
        middle = 0.5 * (low + high)
        if _ends_part(lengths, middle):
            high = middle
        else:
            low = middle
    return low


def _ends_part(lengths: list[float], angle: float) -> bool:
    """Return whether the chord grows with the angle, from the sign of its derivative."""
    x, y, dx, dy = _tip_motion(lengths, angle)
    return x * dx + y * dy > 0.0


def _tip_motion(lengths: list[float], angle: float) -> tuple[float, float, float, float]:
    """Return the end of the flat arc, and its derivative with respect to the angle."""
    x = y = dx = dy = 0.0
    for i, size in enumerate(lengths):
        along, aside = size * cos(i * angle), size * sin(i * angle)
        x, y = x + along, y - aside
        dx, dy = dx - i * aside, dy - i * along
    return x, y, dx, dy
