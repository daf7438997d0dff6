"""The side to which a chain bends: how a straight one starts, and how it faces its pole.

All positions are relative to the root, in lengths of the chain.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import atan2, cos, sin, sqrt
from typing import Final, NamedTuple

from .arc import arc, arc_angle
from .joint import Joint, copied, points_of, sizes_of
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
    quat_about,
    quat_between,
    rotate,
    scaled,
    slerp,
    sub,
    unit,
)

Z_AXIS: Vec = (0.0, 0.0, 1.0)

ROOT_COUNTS: Final = 1e-3
"""The weight of the first bone's roll for the side to which a straight chain bends: it counts only
where those of the others, which bend at their joints, cancel out."""

STRAIGHT: Final = 1e-3
"""A chain whose joints are all this near to its axis is straight."""

CLEAR: Final = 0.08
"""The mean distance of joints from the axis from which on the pose alone tells to which side a limb
bends. A knee of two equal bones is flexed by 18° there. The straighter it is, the more the side
counts that it is known to bend to."""

BACKWARD: Final = 0.04
"""The same for a pose to the opposite side: up to this, 9° of such a knee, it was posed or captured
inexactly; from `CLEAR` on it is meant."""

LIMB: Final = 5
"""The largest number of bones of a limb. Longer chains bend as they are posed."""

NEW_BEND: Final = 0.8
"""The share of a limb's bend that has to be new for an unclear pose to give way wholly to the side
that it is known to bend to."""

ROUNDING: Final = 2e-4
"""The distance by which a target has to be nearer than the posed tip, in lengths of the limb, for a
bend to count as new: other chains and single precision move it by less."""

ON_AXIS: Final = 1e-6
"""A pole, or a bend, this near to the axis does not define a side."""

NEAR_AXIS: Final = 0.1
"""The sine of the angle between pole and axis below which the pole loses weight."""

FLAT: Final = 2e-5
"""The distance of joints from a plane up to which a chain counts as flat and not posed exactly."""

IN_PLANE: Final = 1e-5
"""The distance from the plane of a flat chain up to which rounding may have put a target there."""

UNCLEAR: Final = 0.1
"""The share of the joints' distances from the axis that does not cancel out, below which the side
is so unclear that the pole loses weight."""

NEARLY_STRAIGHT: Final = 0.05
"""The sum of the joints' distances from the axis below which the bend loses weight."""

PAST: Final = 1.0
"""The most, in radians, by which the chain aims past a pole that has lost weight."""


class RestBend(NamedTuple):
    """How a limb bends, as its rest pose or all frames of its clip tell.

    Attributes:
        side: The unit vector of the side to which it bends, in the root bone's own axes.
        folds: For each joint between root and tip 1 if it flexes as the limb does, -1 if the other
            way, as the hock of a hind leg and its stifle, and 0 if nothing tells. Empty for one
            that bends one way.
    """

    side: Vec
    folds: tuple[int, ...] = ()


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
    """Return the smallest rotation of a chain as a whole towards the target, or a share of it.

    A chain that is dragged to a target beside it leaves its plane of bending, and with three bones
    or more may fold another way. Swung first, only the distance of its tip has to change: it folds
    in its plane, in one way, and its joints hardly move faster than its tip.

    If the target is straight behind, the chain swings in its plane.
    """
    turn = quat_between(axis, target, cross(axis, side))
    return slerp(QUAT_IDENTITY, turn, share) if share < 1.0 else turn


def bend_of(joints: list[Joint], axis: Vec) -> tuple[Vec, float]:
    """Return the side to which a chain bends, and the sum of its joints' distances from the axis.

    The length of the vector is the share of these distances that does not cancel out: the shorter,
    the less clear the side.
    """
    total, spread = ORIGIN, 0.0
    for i in range(1, len(joints) - 1):
        way = across(joints[i].at(), axis)
        total = add(total, way)
        spread += length(way)
    return (scaled(total, 1.0 / spread) if spread > 0.0 else ORIGIN), spread


def folded_bend(joints: Sequence[Vec], axis: Vec, folds: Sequence[int]) -> Vec:
    """Return the side to which a limb bends whose joints flex in opposite directions.

    The joints of a hind leg are on both sides of the axis. Which of them is farther from it changes
    as the leg folds, although each goes on flexing as it does. So its plane tells the side, turned
    as its joints flex. The length of the vector is the share of their bending that does not cancel
    out, as that of one which is bent against its own direction does.

    Args:
        joints: From the root to the tip.
        axis: The direction from the one to the other.
        folds: How its joints flex (see `RestBend`).
    """
    normal, total = ORIGIN, 0.0
    for i, fold in enumerate(folds):
        bent = cross(sub(joints[i + 1], joints[i]), sub(joints[i + 2], joints[i + 1]))
        if fold != 0:
            normal = add(normal, scaled(bent, float(fold)))
            total += length(bent)
    return scaled(cross(axis, normal), 1.0 / total) if total > 0.0 else ORIGIN


def straight_bend(axes: Sequence[Mat3], rest_bend: RestBend | None) -> Vec:
    """Return the side to which a straight chain bends.

    Args:
        axes: The axes of the posed bones, root first.
        rest_bend: How it bends at rest. None takes the Z axes of the bones after the first one, so
            that these bend about their X axes.
    """
    if rest_bend is not None:
        return mat_apply(axes[0], rest_bend.side)
    bend = scaled(mat_apply(axes[0], Z_AXIS), ROOT_COUNTS)
    for i in range(1, len(axes)):
        bend = add(bend, mat_apply(axes[i], Z_AXIS))
    return bend


def bow(
    joints: list[Joint],
    axis: Vec,
    keep: float,
    target: Vec,
    side: Vec,
    folds: Sequence[int] = (),
) -> None:
    """Bend a straight chain to a side, keeping a share of its input pose from 0 to 1.

    No iteration can bend a straight chain whose target is on its axis, and near the axis rounding
    would choose the side. A straight chain therefore starts as an arc of equal bends to ``side``,
    or as a zigzag if its joints fold both ways, with the target's distance for chord. The less
    straight the chain, and the nearer the target to its tip, the more of the input pose is kept, so
    that the solution is continuous.
    """
    if keep >= 1.0:
        return
    on_arc = arc(sizes_of(joints), axis, side, length(target), folds)
    for i, joint in enumerate(joints):
        joint.move(mix(on_arc[i], joint.at(), keep))
    set_lengths(joints)


def curl(joints: list[Joint], axis: Vec, span: float, folds: Sequence[int] = ()) -> None:
    """Bend a chain until its ends are about ``span`` apart, all joints taking their share.

    Iterations from the tip on would fold it at a few joints. Here each bends as that of a beam does
    under a load along the axis, in proportion to how far it is from the axis, and as much again by
    the mean of all: what is bent bends more, about its own hinge. A turn of the bones with variance
    v, weighted by their lengths, shortens a chain as an arc of √(12 v + 1) equal bones does, whose
    angle between the two spans is what is added, relative to the angles that there are.

    Args:
        joints: From the origin on, bent at least a little. The tip stays near the axis.
        axis: The unit vector from the root to the tip.
        span: The distance along the axis.
        folds: How the joints of a limb flex that bends to both sides (see `RestBend`): all by the
            same angle.
    """
    turns, size, variance = _curling(joints, axis, folds)
    if size <= 0.0:
        return
    bones = sqrt(12.0 * variance / (size * size) + 1.0)
    along = dot(joints[-1].at(), axis)
    more = (arc_angle(bones, span) - arc_angle(bones, along)) / max(size, STRAIGHT)
    mx, my, mz = turns.pop()
    x = y = z = ox = oy = oz = 0.0
    for i, (vx, vy, vz) in enumerate(turns):
        joint = joints[i + 1]
        dx = joint.x - ox
        dy = joint.y - oy
        dz = joint.z - oz
        ox = joint.x
        oy = joint.y
        oz = joint.z
        vx = (vx - mx) * more
        vy = (vy - my) * more
        vz = (vz - mz) * more
        half = 0.5 * sqrt(vx * vx + vy * vy + vz * vz)
        share = sin(half) / half if half > 1e-9 else 1.0
        w = 2.0 * cos(half)
        # As `rotate` by the quaternion (w / 2, v · share / 2).
        vx *= share
        vy *= share
        vz *= share
        tx = 0.5 * (vy * dz - vz * dy)
        ty = 0.5 * (vz * dx - vx * dz)
        tz = 0.5 * (vx * dy - vy * dx)
        x += dx + w * tx + vy * tz - vz * ty
        y += dy + w * ty + vz * tx - vx * tz
        z += dz + w * tz + vx * ty - vy * tx
        joint.x = x
        joint.y = y
        joint.z = z


def _curling(
    joints: list[Joint], axis: Vec, folds: Sequence[int]
) -> tuple[list[Vec], float, float]:
    """Return how the bones turn if a chain curls, which keeps the tip near the axis.

    Returns:
        A rotation vector for each bone, and their mean weighted by the lengths, from which they
        count; the mean angle between two bones; the variance of the vectors.
    """
    inner = len(joints) - 2
    bx = by = bz = 0.0
    if folds:
        bx, by, bz = cross(folded_bend(points_of(joints), axis, folds), axis)
    else:
        for joint in joints[1:-1]:
            bx += joint.x / inner
            by += joint.y / inner
            bz += joint.z / inner
    ax, ay, az = axis
    x = y = z = mx = my = mz = size = square = 0.0
    turns = [ORIGIN]
    for i in range(inner):
        joint = joints[i + 1]
        if folds:
            cx, cy, cz = bx * folds[i], by * folds[i], bz * folds[i]
        else:
            px, py, pz = joint.x + bx, joint.y + by, joint.z + bz
            cx, cy, cz = py * az - pz * ay, pz * ax - px * az, px * ay - py * ax
        size += sqrt(cx * cx + cy * cy + cz * cz)
        x += cx
        y += cy
        z += cz
        turns.append((x, y, z))
        share = joint.size
        mx += x * share
        my += y * share
        mz += z * share
        square += (x * x + y * y + z * z) * share
    variance = max(0.0, square - mx * mx - my * my - mz * mz)
    turns.append((mx, my, mz))
    return turns, size / inner, variance


def farthest_from(axis: Vec, joints: list[Joint]) -> float:
    """Return the largest distance of a joint from the axis, at most `STRAIGHT`.

    Returning early is cheap: nearly all chains are bent at their first joints already.
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


def flattened(joints: list[Joint], axis: Vec, side: Vec) -> tuple[list[Joint], Vec]:
    """Return the joints of a chain that is flat but for rounding, exactly in its plane.

    The farther they are from it, up to `FLAT`, the less they move. Its normal comes second: zeros
    if the chain is not flat. The plane of a straight one is that of the side to which it bends.
    """
    ax, ay, az = axis
    widest = STRAIGHT * STRAIGHT
    for joint in joints:
        along = joint.x * ax + joint.y * ay + joint.z * az
        dx, dy, dz = joint.x - ax * along, joint.y - ay * along, joint.z - az * along
        width = dx * dx + dy * dy + dz * dz
        if width > widest:
            side, widest = (dx, dy, dz), width
    normal = unit(cross(axis, side))
    if normal is None or len(joints) == 3:
        return joints, normal or ORIGIN
    nx, ny, nz = normal
    spread = 0.0
    for joint in joints:
        spread = max(spread, abs(nx * joint.x + ny * joint.y + nz * joint.z))
        if spread >= FLAT:
            return joints, ORIGIN
    left = eased(spread / FLAT) ** 2
    flat = copied(joints)
    for joint in flat:
        joint.move(in_plane(joint.at(), normal, left))
    set_lengths(flat)
    return flat, normal


def in_plane(point: Vec, normal: Vec, left: float) -> Vec:
    """Return a point with a share left of its distance from the plane of a unit normal."""
    return add(point, scaled(normal, (left - 1.0) * dot(normal, point)))


def rounded_to_plane(point: Vec, normal: Vec) -> Vec:
    """Return a target or pole of a flat chain, in its plane if it is there but for rounding."""
    off = abs(dot(normal, point))
    return in_plane(point, normal, eased(off / IN_PLANE) ** 2) if off < IN_PLANE else point


def set_lengths(joints: list[Joint]) -> None:
    """Restore the bones' lengths along their directions; one without a direction takes the axis."""
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
    """Return the component of the direction perpendicular to the axis, None if there is none."""
    side = across(unit(direction) or ORIGIN, axis)
    return side if length(side) > ON_AXIS else None


def side_of(bends: Sequence[Vec | None], axis: Vec) -> Vec:
    """Return the unit vector perpendicular to the axis towards the first usable bend, or any."""
    for bend in bends:
        side = None if bend is None else off_axis(bend, axis)
        if side is not None:
            return unit(side) or side
    return any_perpendicular(axis)


def bend_direction(joints: Sequence[Vec], axis: Vec) -> Vec | None:
    """Return the mean side of the joints from the axis, None if they cancel out."""
    total = ORIGIN
    for joint in joints[1:-1]:
        total = add(total, across(joint, axis))
    return unit(total) if length(total) > ON_AXIS else None


Swivel = tuple[float, float]
"""The cosine and the sine of the angle of a swivel about root → target."""


def swivel_to(pole: Vec, bend: Vec, axis: Vec, pole_angle: float, weight: float) -> Swivel:
    """Return the swivel about the axis with which the bend of a chain faces the pole.

    With a weight below 1 the chain faces the mean of both directions, which is continuous where
    the pole comes round from behind. Where the side of the pole, or of the bend, is unclear, the
    weight fades to 0 and the chain keeps its plane instead of flipping.

    No rule is continuous everywhere (it would retract a disc onto its rim). This one jumps where
    the faded weight is a half and the pole is behind; but while it fades, the chain aims past the
    pole, so that a limb which moves in its own plane goes round. Only an exactly flat chain flips.

    Args:
        pole: The pole.
        bend: The side to which the chain bends (see `bend_of`).
        axis: The unit vector from the root to the target.
        pole_angle: Added to the swivel, in radians.
        weight: From 0 to 1.
    """
    to_pole = across(unit(pole) or ORIGIN, axis)
    off_pole, off_bend = length(to_pole), length(bend)
    if off_pole <= ON_AXIS or off_bend <= ON_AXIS:
        return (1.0, 0.0)
    clear = eased(off_pole / NEAR_AXIS) * eased(off_bend / UNCLEAR)
    weight *= clear
    cosine, sine = dot(bend, to_pole), dot(axis, cross(bend, to_pole))
    # Normalized, as rounding would otherwise change the bones' lengths.
    size = sqrt(cosine * cosine + sine * sine)
    aim = pole_angle + aimed_past(clear) * eased(abs(sine) / FLAT)
    cosine, sine = cosine / size, sine / size
    if aim != 0.0:
        c, s = cos(aim), sin(aim)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    return mean_swivel((1.0, 0.0), (cosine, sine), weight)


def mean_swivel(a: Swivel, b: Swivel, share: float) -> Swivel:
    """Return the normalized mean of two swivels, the first one if they are opposite.

    Unlike a share of the angle it is continuous at half a turn, and a chain that flips in two
    dimensions stays in them.
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
    # The half-angle formula with the larger square, which does not cancel.
    if cosine >= 0.0:
        half = sqrt(0.5 * (1.0 + cosine))
        return (half, *scaled(axis, 0.5 * sine / half))
    half = sqrt(0.5 * (1.0 - cosine))
    return (0.5 * sine / half, *scaled(axis, half))


def turn_joints(joints: list[Joint], turn: Quat) -> None:
    """Rotate a chain as a whole."""
    for joint in joints:
        joint.move(rotate(turn, joint.at()))


def clarity(own: Vec, spread: float, side: Vec, bones: int) -> float:
    """Return how clearly a limb's pose tells to which side it bends, from 0 to 1.

    A pose to the side that it is known to bend to tells sooner than one to the opposite side.

    Args:
        own: The side to which its joints are.
        spread: The sum of their distances from the axis.
        side: The unit vector of the side that it is known to bend to.
        bones: The number of bones.
    """
    if bones < 2:
        return 1.0
    apart = spread / (bones - 1)
    along = dot(unit(own) or side, side)
    forward, backward = 0.5 * (1.0 + along) * apart, 0.5 * (1.0 - along) * apart
    meant = eased(max(0.0, backward - BACKWARD) / (CLEAR - BACKWARD))
    return 1.0 - (1.0 - eased(forward / CLEAR)) * (1.0 - meant)


def newness(before: float, after: float) -> float:
    """Return how much of a limb's bend is new, from 0 to 1.

    Args:
        before: The posed distance from the root to the tip, in lengths of the limb.
        after: The same of the target.
    """
    nearer = before - after
    if nearer <= 0.0:
        return 0.0
    bent = sqrt(max(0.0, 1.0 - after * after))
    new = bent - sqrt(max(0.0, 1.0 - before * before))
    return eased((nearer / ROUNDING) ** 2) * eased(new / (NEW_BEND * bent))


def forward_turn(axis: Vec, own: Vec, side: Vec, share: float) -> Quat:
    """Return the swivel of a limb whose pose is unclear, to the side that it is known to bend to.

    As long as it only extends it bends as it is posed. The more of its bend is new, the more it
    turns to that side, so that a knee posed a little backward or sideways flexes forward.

    Args:
        axis: The unit vector from the root to the tip.
        own: The side to which its joints are.
        side: The side to which it bends if it has to bend more.
        share: How far it turns, such as `newness`.
    """
    if share <= 0.0 or length(own) <= ON_AXIS:
        return QUAT_IDENTITY
    return quat_about(axis, share * atan2(dot(axis, cross(own, side)), dot(own, side)))


def aimed_past(clear: float) -> float:
    """Return the angle by which a chain aims past a pole of this clarity (see `swivel_to`)."""
    return PAST * 4.0 * clear * (1.0 - clear)


def eased(share: float) -> float:
    """Return the smoothstep of a share that is not below 0."""
    return share * share * (3.0 - 2.0 * share) if share < 1.0 else 1.0
