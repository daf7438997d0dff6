"""The side to which a chain bends: how a straight one starts, and how it faces its pole.

Everything here is measured from the root, which is the origin, and the chain is 1 long.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import cos, hypot, pi, sin

from .vectors import (
    NO_TURN,
    ORIGIN,
    Vec,
    across,
    add,
    any_across,
    cross,
    dot,
    length,
    mix,
    quat_between,
    quat_mix,
    quat_turn,
    scaled,
    sub,
    turned_about,
    unit,
)

STRAIGHT = 1e-3
"""A chain whose joints all stay this near to its axis has no bend of its own to keep."""

EDGE = 0.05
"""How near to the edge of its reach a chain is no longer left to the sweeps alone."""

ON_AXIS = 1e-6
"""A pole, or a bend, this near to the axis does not define a side."""


def chain_axis(joints: Sequence[Vec]) -> Vec:
    """Return the direction from the root to the tip, or of the first bone that has one."""
    for a, b in ((joints[0], joints[-1]), *pairwise(joints)):
        axis = unit(sub(b, a))
        if axis is not None:
            return axis
    return (1.0, 0.0, 0.0)


def started(
    joints: Sequence[Vec],
    lengths: Sequence[float],
    target: Vec,
    bends: Sequence[Vec | None],
    tolerance: float,
) -> list[Vec]:
    """Return the pose to solve from: the input pose, unless that is straight.

    No sweep can bend a straight chain whose target lies on its axis, and one that nearly lies
    there is bent to a side by chance. A straight chain therefore starts as the arc of equal bends
    whose ends are as far apart as the target is from the root, towards the first of ``bends``
    that is not on the axis. The less straight the chain is, and the less its target has left its
    tip, the more it starts as it stands, so that the answer has no jump.
    """
    axis = chain_axis(joints)
    moved = length(sub(target, joints[-1]))
    keep = max(length(across(joint, axis)) for joint in joints) / STRAIGHT
    if moved < tolerance:
        keep = max(keep, 1.0 - moved / tolerance)
    if keep >= 1.0:
        return list(joints)
    arc = _arc(lengths, axis, _side(bends, axis), length(target))
    return with_lengths([mix(a, b, keep) for a, b in zip(arc, joints, strict=True)], lengths)


def with_lengths(joints: Sequence[Vec], lengths: Sequence[float]) -> list[Vec]:
    """Return the joints with the bones' directions kept and their lengths set."""
    axis = chain_axis(joints)
    placed = [joints[0]]
    for i, size in enumerate(lengths):
        direction = unit(sub(joints[i + 1], joints[i])) or axis
        placed.append(add(placed[i], scaled(direction, size)))
    return placed


def off_axis(direction: Vec, axis: Vec) -> Vec | None:
    """Return the part of the direction at right angles to the axis, None if it is on the axis."""
    side = across(unit(direction) or ORIGIN, axis)
    return side if length(side) > ON_AXIS else None


def _side(bends: Sequence[Vec | None], axis: Vec) -> Vec:
    """Return the unit vector across the axis towards the first bend that defines one."""
    for bend in bends:
        side = None if bend is None else off_axis(bend, axis)
        if side is not None:
            return unit(side) or side
    return any_across(axis)


def _arc(lengths: Sequence[float], axis: Vec, side: Vec, chord: float) -> list[Vec]:
    """Return the chain with one and the same angle at all joints, its ends ``chord`` apart."""
    flat = _flat_arc(lengths, _arc_angle(lengths, chord))
    tip_x, tip_y = flat[-1]
    span = hypot(tip_x, tip_y)
    if span > ON_AXIS:
        ux, uy = tip_x / span, tip_y / span
    else:  # A closed ring has no chord: its first bone stands across the axis, as in the limit.
        ux, uy = 0.0, -1.0
    return [add(scaled(axis, x * ux + y * uy), scaled(side, y * ux - x * uy)) for x, y in flat]


def _flat_arc(lengths: Sequence[float], angle: float) -> list[tuple[float, float]]:
    x = y = heading = 0.0
    joints = [(x, y)]
    for size in lengths:
        x += size * cos(heading)
        y += size * sin(heading)
        joints.append((x, y))
        heading -= angle
    return joints


def _arc_angle(lengths: Sequence[float], chord: float) -> float:
    """Return the angle at each joint that leaves the ends ``chord`` apart, or the nearest.

    The span falls as the angle grows, up to the nearest that the ends get.
    """

    def excess(angle: float) -> float:
        x, y = _flat_arc(lengths, angle)[-1]
        return hypot(x, y) - chord

    return _zero(excess, _nearest_angle(lengths))


def _zero(excess: Callable[[float], float], high: float) -> float:
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


def _nearest_angle(lengths: Sequence[float]) -> float:
    """Return the angle at each joint up to which the ends of the chain come nearer.

    Bones of one length close to a ring. Of others the ends may part again before: up to the
    half turn of π / (n − 1) at each joint none do, and from there bisection finds where.
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


def _ends_part(lengths: Sequence[float], angle: float) -> bool:
    """Tell whether the span grows with the angle: the sign of its derivative."""
    x = y = dx = dy = 0.0
    for i, size in enumerate(lengths):
        along, aside = size * cos(i * angle), size * sin(i * angle)
        x, y = x + along, y - aside
        dx, dy = dx - i * aside, dy - i * along
    return x * dx + y * dy > 0.0


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
    its bones turn towards that pose by one and the same share, until the ends are as far apart as
    they should be, and the chain swings onto the target. It does so in part between `EDGE` and
    half of it, and up to twice the tolerance, so that the answer has no jump.
    """
    inner, outer = shell
    distance, missed = length(target), length(sub(joints[-1], target))
    margin = min(outer - distance, distance - inner if inner > 0.0 else outer)
    near = 2.0 - 2.0 * margin / EDGE
    if missed <= tolerance or near <= 0.0:
        return joints
    share = min(1.0, near) * min(1.0, (missed - tolerance) / max(tolerance, 1e-12))
    span = length(joints[-1])
    wanted = span + share * (distance - span)
    # Without an inner edge the folded chain may be longer than the span that it should have.
    placed = _unbent(joints, lengths, wanted) if wanted > span or inner > 0.0 else joints
    swing = quat_mix(NO_TURN, quat_between(placed[-1], target, (0.0, 0.0, 1.0)), share)
    return [quat_turn(swing, joint) for joint in placed]


def _unbent(joints: Sequence[Vec], lengths: Sequence[float], span: float) -> list[Vec]:
    """Return the chain turned towards the straight, or the folded, pose until it has the span."""
    axis = chain_axis(joints)
    farther = span > length(joints[-1])
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    ends = [axis if farther or i == longest else scaled(axis, -1.0) for i in range(len(lengths))]
    starts = [unit(sub(b, a)) or axis for a, b in zip(joints, joints[1:], strict=False)]

    def pose(share: float) -> list[Vec]:
        placed = [ORIGIN]
        for start, end, size in zip(starts, ends, lengths, strict=True):
            direction = unit(mix(start, end, share)) or end
            placed.append(add(placed[-1], scaled(direction, size)))
        return placed

    def excess(share: float) -> float:
        reached = length(pose(share)[-1])
        return span - reached if farther else reached - span

    return pose(_zero(excess, 1.0))


def bend_direction(joints: Sequence[Vec], axis: Vec) -> Vec | None:
    """Return the side to which the joints stand off the axis on the whole, None if to none."""
    total = ORIGIN
    for joint in joints[1:-1]:
        total = add(total, across(joint, axis))
    return unit(total) if length(total) > ON_AXIS else None


def facing_pole(joints: list[Vec], axis: Vec, pole: Vec, pole_angle: float) -> list[Vec]:
    """Turn the chain about its axis until its bend faces the pole, and by ``pole_angle`` more.

    With the pole on the axis, or no bend to turn, the chain stays in the plane that it has.
    """
    to_pole = off_axis(pole, axis)
    bend = bend_direction(joints, axis)
    if bend is None or to_pole is None:
        return joints
    cosine, sine = dot(bend, to_pole), dot(axis, cross(bend, to_pole))
    # By rounding they are not quite those of an angle, and the bones would change their lengths.
    size = hypot(cosine, sine)
    cosine, sine = cosine / size, sine / size
    if pole_angle:
        c, s = cos(pole_angle), sin(pole_angle)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    return [turned_about(joint, axis, cosine, sine) for joint in joints]
