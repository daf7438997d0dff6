"""The edge of a chain's reach, where sweeps alone would never arrive."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import fsum

from .bend import chain_axis
from .vectors import (
    ORIGIN,
    Vec,
    add,
    length,
    mix,
    quat_between,
    quat_turn,
    scaled,
    sub,
    unit,
)

EDGE = 0.05
"""How near to the edge of its reach a chain of length 1 is not left to the sweeps alone."""


def completed(
    joints: list[Vec],
    lengths: Sequence[float],
    target: Vec,
    shell: tuple[float, float],
    tolerance: float,
) -> list[Vec]:
    """Bring the tip the rest of the way to a target at the edge of reach.

    The nearer the target is to the edge, where the chain is straight or folded, the more sweeps it
    takes, without bound: whatever their number, the chain would snap straight at the edge. There
    it is `closed`; in part between `EDGE` and half of it, so that the answer has no jump.
    """
    inner, outer = shell
    distance = length(target)
    margin = outer - distance
    if inner > 0.0 or len(lengths) == 2:
        margin = min(margin, distance - inner)
    near = 2.0 - 2.0 * margin / EDGE
    return joints if near <= 0.0 else closed(joints, lengths, target, tolerance, min(1.0, near))


def closed(
    joints: list[Vec],
    lengths: Sequence[float],
    target: Vec,
    tolerance: float,
    most: float = 1.0,
) -> list[Vec]:
    """Bring the tip to the target, or by the share ``most`` of the way there.

    The bones turn towards the straight or the folded pose by one and the same share, until the
    ends are as far apart as they should be, and the chain swings onto the target. Up to twice the
    tolerance it goes there in part, so that the answer has no jump.
    """
    missed = length(sub(joints[-1], target))
    if missed <= tolerance:
        return joints
    share = most * min(1.0, (missed - tolerance) / max(tolerance, 1e-12))
    span = length(joints[-1])
    wanted = span + share * (length(target) - span)
    folded_span = abs(2.0 * max(lengths) - fsum(lengths))
    # The chain may be longer when it is folded than it should be: it has other ways to be short.
    placed = joints
    if wanted > span or wanted >= folded_span:
        placed = _unbent(joints, lengths, wanted)
    aim = mix(joints[-1], target, share)
    swing = quat_between(placed[-1], aim, (0.0, 0.0, 1.0))
    return [quat_turn(swing, joint) for joint in placed]


def _unbent(joints: Sequence[Vec], lengths: Sequence[float], span: float) -> list[Vec]:
    """Return the chain turned towards the straight, or the folded, pose until it has the span."""
    axis = chain_axis(joints)
    farther = span > length(joints[-1])
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    ends = [axis if farther or i == longest else scaled(axis, -1.0) for i in range(len(lengths))]
    starts = [unit(sub(b, a)) or axis for a, b in pairwise(joints)]

    def pose(share: float) -> list[Vec]:
        placed = [ORIGIN]
        for start, end, size in zip(starts, ends, lengths, strict=True):
            direction = unit(mix(start, end, share)) or end
            placed.append(add(placed[-1], scaled(direction, size)))
        return placed

    def excess(share: float) -> float:
        reached = length(pose(share)[-1])
        return span - reached if farther else reached - span

    return pose(_zero_of_falling(excess, 1.0))


def _zero_of_falling(excess: Callable[[float], float], high: float) -> float:
    """Return where a falling function becomes zero between 0 and ``high``, or the nearer end.

    It is found by false position (Illinois).
    """
    low, above, below = 0.0, excess(0.0), excess(high)
    if above <= 0.0:
        return low
    if below >= 0.0:
        return high
    middle = low
    for _ in range(60):
        middle = (low * below - high * above) / (below - above)
        error = excess(middle)
        if abs(error) < 1e-13:
            break
        if error > 0.0:
            low, above, below = middle, error, below * 0.5
        else:
            high, below, above = middle, error, above * 0.5
    return middle
