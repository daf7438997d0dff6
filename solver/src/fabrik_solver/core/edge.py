"""The edge of a chain's reach, where iterations don't converge."""

from math import fsum
from typing import Final

from .bend import axis_of
from .joint import Joint, sizes_of
from .vectors import Vec, length, mix, quat_between, rotate, sub, unit

EDGE: Final = 0.05
"""Distance from the edge of reach below which a chain is completed in closed form, in chain
lengths."""


def complete(
    joints: list[Joint], target: Vec, inner: float, outer: float, tolerance: float
) -> None:
    """Bring the tip onto a target at the edge of reach.

    Toward the edge, where the chain is straight or folded, the number of iterations grows without
    bound. With any fixed number, the chain would snap straight there. `close` does the rest; for
    continuity, this is blended in from `EDGE` to half of `EDGE`.

    Args:
        joints: The chain's joints, which move.
        target: The target.
        inner: The least distance that the chain reaches from its root.
        outer: The greatest such distance.
        tolerance: The distance at which the tip counts as on target.
    """
    distance = length(target)
    margin = outer - distance
    if inner > 0.0 or len(joints) == 3:
        margin = min(margin, distance - inner)
    near = 2.0 - 2.0 * margin / EDGE
    if near > 0.0:
        close(joints, target, tolerance, min(1.0, near))


def close(joints: list[Joint], target: Vec, tolerance: float, most: float = 1.0) -> None:
    """Bring the tip to the target, or a fraction ``most`` of the way.

    All bones rotate by the same fraction toward the straight or the folded pose until the span is
    right. Then the chain swings onto the target. For continuity, this is blended in up to twice the
    tolerance.
    """
    tip = joints[-1].at()
    gap = length(sub(tip, target))
    if gap <= tolerance:
        return
    fraction = most * min(1.0, (gap - tolerance) / max(tolerance, 1e-12))
    span = length(tip)
    wanted_span = span + fraction * (length(target) - span)
    lengths = sizes_of(joints)
    folded_span = abs(2.0 * max(lengths) - fsum(lengths))
    # The folded chain may still be longer than desired, as other poses are shorter.
    if wanted_span > span or wanted_span >= folded_span:
        _unbend(joints, wanted_span)
    aim = mix(tip, target, fraction)
    swing = quat_between(joints[-1].at(), aim, (0.0, 0.0, 1.0))
    for joint in joints:
        joint.move(rotate(swing, joint.at()))


def longest_of(joints: list[Joint]) -> int:
    """Return the index of the first longest bone."""
    longest = 0
    for i in range(len(joints)):
        if joints[i].size > joints[longest].size:
            longest = i
    return longest


def _unbend(joints: list[Joint], span: float) -> None:
    """Rotate the bones toward the straight or the folded pose until the chain has the span."""
    axis = axis_of(joints)
    # The bone along the axis in the folded pose; -1 for the straight pose, where all are.
    longest = -1 if span > length(joints[-1].at()) else longest_of(joints)
    for i in range(len(joints) - 1):
        joint, next_joint = joints[i], joints[i + 1]
        start = unit(sub(next_joint.at(), joint.at())) or axis
        joint.ux, joint.uy, joint.uz = start
    _turn_toward(joints, axis, longest, _share_of_turn(joints, axis, longest, span))


def _share_of_turn(joints: list[Joint], axis: Vec, longest: int, span: float) -> float:
    """Return the fraction of the rotation, from 0 to 1, that gives the span or comes closest.

    This is false position (Illinois) on the remaining gap, which shrinks as the fraction grows.
    """
    sign = 1.0 if longest < 0 else -1.0
    low, high = 0.0, 1.0
    above = sign * (span - _turn_toward(joints, axis, longest, low))
    below = sign * (span - _turn_toward(joints, axis, longest, high))
    if above <= 0.0:
        return low
    if below >= 0.0:
        return high
    middle = low
    for _ in range(60):
        middle = (low * below - high * above) / (below - above)
        error = sign * (span - _turn_toward(joints, axis, longest, middle))
        if abs(error) < 1e-13:
            break
        if error > 0.0:
            low, above, below = middle, error, below * 0.5
        else:
            high, below, above = middle, error, above * 0.5
    return middle


def _turn_toward(joints: list[Joint], axis: Vec, longest: int, fraction: float) -> float:
    """Place the joints with all bones rotated by the fraction, and return the span.

    Bones rotate from their stored directions to the axis. If ``longest`` isn't negative, only that
    bone does, and all others rotate to the opposite direction.
    """
    ax, ay, az = axis
    keep = 1.0 - fraction
    x = y = z = 0.0
    for i in range(len(joints) - 1):
        joint = joints[i]
        sign = 1.0 if longest < 0 or i == longest else -1.0
        ex, ey, ez = ax * sign, ay * sign, az * sign
        dx = joint.ux * keep + ex * fraction
        dy = joint.uy * keep + ey * fraction
        dz = joint.uz * keep + ez * fraction
        distance = length((dx, dy, dz))
        if distance < 1e-300:
            dx, dy, dz, distance = ex, ey, ez, 1.0
        x += dx / distance * joint.size
        y += dy / distance * joint.size
        z += dz / distance * joint.size
        joints[i + 1].move((x, y, z))
    return length((x, y, z))
