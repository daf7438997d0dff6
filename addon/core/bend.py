"""The side to which a chain bends: how a straight one starts, and how it faces its pole.

Everything here is measured from the root, which is the origin, and the chain is 1 long.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import cos, sin, sqrt
from typing import Final

from .arc import arc
from .joint import Joint, points_of, sizes_of
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    across,
    add,
    any_perpendicular,
    cross,
    dot,
    length,
    mat_apply,
    mix,
    quat_between,
    quat_mix,
    rotate,
    scaled,
    sub,
    unit,
)

Z_AXIS: Vec = (0.0, 0.0, 1.0)

ROOT_COUNTS: Final = 1e-3
"""How much the roll of a straight chain's first bone counts for the side to which it bends: only
where those of the others cancel out, as it is these that turn where it bends."""

STRAIGHT: Final = 1e-3
"""A chain whose joints all stay this near to its axis has no bend of its own to keep."""

BACKWARD: Final = 0.04
"""How far joints stand off the axis in the mean, up to which a chain that bends to the other side
than at rest is a straight one that was not posed exactly. A knee of two bones that are of one
length is bent backward by 9° there."""

ON_AXIS: Final = 1e-6
"""A pole, or a bend, this near to the axis does not define a side."""

NEAR_AXIS: Final = 0.1
"""The sine of the angle between the pole and the axis below which the pole has less weight."""

UNCLEAR: Final = 0.1
"""The share of the joints' distances from the axis that does not cancel out, below which the side
to which the chain bends is so unclear that the pole has less weight."""

NEARLY_STRAIGHT: Final = 0.05
"""What the joints of a chain stand off its axis in all, below which its bend counts for less."""

PAST: Final = 1.0
"""By so many radians at most the chain aims past a pole that has less weight."""


def chain_axis(joints: Sequence[Vec]) -> Vec:
    """Return the direction from the root to the tip, or of the first bone that has one."""
    axis = unit(sub(joints[-1], joints[0]))
    if axis is not None:
        return axis
    for a, b in pairwise(joints):
        axis = unit(sub(b, a))
        if axis is not None:
            return axis
    return (1.0, 0.0, 0.0)


def axis_of(joints: list[Joint]) -> Vec:
    """Return the `chain_axis` of joints whose root is the origin."""
    return unit(joints[-1].at()) or chain_axis(points_of(joints))


def swing_turn(axis: Vec, side: Vec, target: Vec, share: float) -> Quat:
    """Return the least turn of a chain as a whole towards the target, or a share of it.

    A chain that is dragged to a target beside it leaves the plane in which it bends, and one of
    three bones or more may fold another way there. Turned first, it has only its tip's distance
    to change: it folds in its plane, in one way, and its joints move hardly faster than its tip.

    Where the target is behind, no turn is the least: it turns in its plane.
    """
    turn = quat_between(axis, target, cross(axis, side))
    return quat_mix(QUAT_IDENTITY, turn, share) if share < 1.0 else turn


def bend_of(joints: list[Joint], axis: Vec) -> tuple[Vec, float]:
    """Return the side to which a chain bends, and how far its joints stand off the axis in all.

    The less clearly it bends, the shorter the vector is: its length is the share of the joints'
    distances that does not cancel out.
    """
    total, spread = ORIGIN, 0.0
    for i in range(1, len(joints) - 1):
        way = across(joints[i].at(), axis)
        total = add(total, way)
        spread += length(way)
    return (scaled(total, 1.0 / spread) if spread > 0.0 else ORIGIN), spread


def straight_bend(axes: Sequence[Mat3], rest_bend: Vec | None) -> Vec:
    """Return the side to which bones bend if their joints are in line.

    Args:
        axes: The axes of the posed bones, root first.
        rest_bend: The side to which they bend at rest, in the root bone's own axes. If None it is
            where the Z axes of the bones on it point, so that these turn about their X axes.
    """
    if rest_bend is not None:
        return mat_apply(axes[0], rest_bend)
    bend = scaled(mat_apply(axes[0], Z_AXIS), ROOT_COUNTS)
    for i in range(1, len(axes)):
        bend = add(bend, mat_apply(axes[i], Z_AXIS))
    return bend


def bow(joints: list[Joint], axis: Vec, keep: float, target: Vec, side: Vec) -> None:
    """Bend a straight chain to a side; how far it starts as it stands is from 0 to 1.

    No sweep can bend a straight chain whose target lies on its axis, and one that nearly lies
    there is bent to a side by chance. A straight chain therefore starts as the arc of equal bends
    whose ends are as far apart as the target is from the root, bent to ``side``. It starts more as
    it stands the less straight it is, and the less its target has left its tip, so that the answer
    has no jump.
    """
    if keep >= 1.0:
        return
    on_arc = arc(sizes_of(joints), axis, side, length(target))
    for i, joint in enumerate(joints):
        joint.move(mix(on_arc[i], joint.at(), keep))
    set_lengths(joints)


def farthest_from(axis: Vec, joints: list[Joint]) -> float:
    """Return how far the joints stand off the axis, at most `STRAIGHT`: then others do not matter.

    Nearly all chains are bent at their first joints already.
    """
    ax, ay, az = axis
    farthest = 0.0
    for joint in joints:
        along = joint.x * ax + joint.y * ay + joint.z * az
        dx, dy, dz = joint.x - ax * along, joint.y - ay * along, joint.z - az * along
        farthest = max(farthest, dx * dx + dy * dy + dz * dz)
        if farthest >= STRAIGHT * STRAIGHT:
            return STRAIGHT
    return sqrt(farthest)


def set_lengths(joints: list[Joint]) -> None:
    """Give the bones their lengths and keep their directions; one without any takes the axis."""
    ax, ay, az = axis_of(joints)
    before = joints[0]
    ox, oy, oz = before.at()
    x, y, z = ox, oy, oz
    for i in range(1, len(joints)):
        joint = joints[i]
        dx = joint.x - ox
        dy = joint.y - oy
        dz = joint.z - oz
        distance = length((dx, dy, dz))
        ox, oy, oz = joint.at()
        if distance < 1e-300:
            dx, dy, dz, distance = ax, ay, az, 1.0
        size = before.size
        x += dx / distance * size
        y += dy / distance * size
        z += dz / distance * size
        joint.move((x, y, z))
        before = joint


def off_axis(direction: Vec, axis: Vec) -> Vec | None:
    """Return the part of the direction at right angles to the axis, None if it is on the axis."""
    side = across(unit(direction) or ORIGIN, axis)
    return side if length(side) > ON_AXIS else None


def side_of(bends: Sequence[Vec | None], axis: Vec) -> Vec:
    """Return the unit vector across the axis towards the first bend that defines one, or any."""
    for bend in bends:
        side = None if bend is None else off_axis(bend, axis)
        if side is not None:
            return unit(side) or side
    return any_perpendicular(axis)


def bend_direction(joints: Sequence[Vec], axis: Vec) -> Vec | None:
    """Return the side to which the joints stand off the axis on the whole, None if to none."""
    total = ORIGIN
    for joint in joints[1:-1]:
        total = add(total, across(joint, axis))
    return unit(total) if length(total) > ON_AXIS else None


Swivel = tuple[float, float]
"""The cosine and the sine of the angle by which a chain turns about root → target."""


def swivel_to(pole: Vec, bend: Vec, axis: Vec, pole_angle: float, weight: float) -> Swivel:
    """Return by how much a chain has to turn about its axis for its bend to face the pole.

    With a weight below 1 it turns part of the way: to the mean of the two directions, so that
    nothing jumps where the pole comes round from behind. Where it cannot be told to which side
    the pole is, or the chain bends, the weight fades to nothing, and the chain stays in the plane
    that it has, instead of jumping from one side to the other.

    There is no rule that jumps nowhere (it would map a disc onto its rim). This one does where
    weight and fading come to a half and the pole is behind; but while it fades the chain aims
    past the pole, so that a limb which moves in its own plane goes round. Only what is flat to
    the last bit stays flat, and has to turn over.

    Args:
        pole: The pole.
        bend: The side to which the chain bends (see `bend_of`).
        axis: The unit vector from the root to the target.
        pole_angle: By how much the chain turns on, in radians.
        weight: How far it turns, from 0 to 1.
    """
    to_pole = across(unit(pole) or ORIGIN, axis)
    off_pole, off_bend = length(to_pole), length(bend)
    if off_pole <= ON_AXIS or off_bend <= ON_AXIS:
        return (1.0, 0.0)
    clear = eased(off_pole / NEAR_AXIS) * eased(off_bend / UNCLEAR)
    weight *= clear
    cosine, sine = dot(bend, to_pole), dot(axis, cross(bend, to_pole))
    # By rounding they are not quite those of an angle, and the bones would change their lengths.
    size = sqrt(cosine * cosine + sine * sine)
    cosine, sine = cosine / size, sine / size
    aim = pole_angle
    if sine != 0.0:
        aim += aimed_past(clear)
    if aim != 0.0:
        c, s = cos(aim), sin(aim)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    return mean_swivel((1.0, 0.0), (cosine, sine), weight)


def mean_swivel(a: Swivel, b: Swivel, share: float) -> Swivel:
    """Return the direction of the mean of two, the first one where they are opposite.

    Unlike a part of the angle it has no jump where that comes to half a turn; and what turns over
    in two dimensions does not leave them.
    """
    if share >= 1.0:
        return b
    cosine = (1.0 - share) * a[0] + share * b[0]
    sine = (1.0 - share) * a[1] + share * b[1]
    size = sqrt(cosine * cosine + sine * sine)
    return a if size <= ON_AXIS else (cosine / size, sine / size)


def swivel_turn(axis: Vec, swivel: Swivel) -> Quat:
    """Return a swivel about a unit vector as a quaternion."""
    cosine, sine = swivel
    # Of half the angle, from the larger of its two squares.
    if cosine >= 0.0:
        half = sqrt(0.5 * (1.0 + cosine))
        return (half, *scaled(axis, 0.5 * sine / half))
    half = sqrt(0.5 * (1.0 - cosine))
    return (0.5 * sine / half, *scaled(axis, half))


def turn_joints(joints: list[Joint], turn: Quat) -> None:
    """Turn a chain as a whole."""
    for joint in joints:
        joint.move(rotate(turn, joint.at()))


def aimed_past(clear: float) -> float:
    """Return by how much a chain aims past a pole of which so much counts (see `swivel_to`)."""
    return PAST * 4.0 * clear * (1.0 - clear)


def eased(share: float) -> float:
    """Return 0 at 0, 1 from 1 on, and what is smooth between them."""
    return share * share * (3.0 - 2.0 * share) if share < 1.0 else 1.0
