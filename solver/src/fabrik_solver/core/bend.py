"""The bend direction of a chain: how a straight chain starts, and how it faces its pole.

All positions are relative to the root, in chain lengths.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import atan2, cos, sin, sqrt
from typing import Final, NamedTuple

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
    quat_about,
    quat_between,
    rotate,
    scaled,
    slerp,
    sub,
    unit,
)

ROOT_2: Final = sqrt(2.0)

Z_AXIS: Vec = (0.0, 0.0, 1.0)

ROOT_COUNTS: Final = 1e-3
"""The weight of the first bone's roll in the bend direction of a straight chain. It only matters
if the rolls of the other bones, which bend at their joints, cancel out."""

STRAIGHT: Final = 1e-3
"""A chain is straight if all its joints are this close to its axis."""

CLEAR: Final = 0.08
"""The mean distance of joints from the axis above which the pose alone decides the bend direction.
A knee of two equal bones is flexed by 18° there. The straighter the limb, the more its preferred
bend direction weighs."""

BACKWARD: Final = 0.04
"""The same for a pose on the opposite side. Up to this (9° for such a knee), the pose counts as
imprecise; from `CLEAR` on as intended."""

LIMB: Final = 5
"""Maximum number of bones in a limb. Longer chains bend as posed."""

NEW_BEND: Final = 0.8
"""The fraction of a limb's bend that must be new for an unclear pose to yield fully to the
preferred bend direction."""

ROUNDING: Final = 2e-4
"""How much closer than the posed tip a target must be, in chain lengths, for a bend to be new.
Other chains and single precision move the target by less."""

ON_AXIS: Final = 1e-6
"""A pole or bend this close to the axis doesn't define a side."""

NEAR_AXIS: Final = 0.1
"""The sine of the angle between pole and axis below which the pole loses weight."""

FLAT: Final = 2e-5
"""Maximum distance of joints from a plane for a chain that is flat, but imprecisely posed."""

IN_PLANE: Final = 1e-5
"""Maximum distance of a target from a flat chain's plane that rounding may explain."""

UNCLEAR: Final = 0.1
"""If less than this fraction of the joints' distances from the axis is left after cancelling,
the pole loses weight because the side is unclear."""

NEARLY_STRAIGHT: Final = 0.05
"""If the sum of the joints' distances from the axis is smaller than this, the bend loses weight."""

PAST: Final = 1.0
"""Maximum angle, in radians, by which the chain aims past a pole with reduced weight."""


class RestBend(NamedTuple):
    """How a limb bends, from its rest pose or from all frames of its clip.

    Attributes:
        side: The unit vector of the bend direction, in the root bone's axes.
        folds: For each joint between root and tip: 1 if it flexes like the limb, -1 if it flexes
            the other way, 0 if unclear. A hind leg's hock and stifle differ. Empty for a limb that
            bends to one side.
    """

    side: Vec
    folds: tuple[int, ...] = ()


def chain_axis(joints: Sequence[Vec]) -> Vec:
    """Return the direction from the root to the tip.

    If they coincide, this is the direction of the first bone that has any.
    """
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


def swing_turn(axis: Vec, side: Vec, target: Vec, factor: float) -> Quat:
    """Return the smallest rotation of a whole chain toward the target, or a fraction of it.

    A chain dragged to a target beside it leaves its bending plane. With three or more bones it may
    also fold differently. After a swing only the tip's distance has to change. The chain then
    always folds the same way in its plane, and its joints hardly move faster than its tip.

    If the target is straight behind, the chain swings in its plane.
    """
    turn = quat_between(axis, target, cross(axis, side))
    return slerp(QUAT_IDENTITY, turn, factor) if factor < 1.0 else turn


def bend_of(joints: list[Joint], axis: Vec) -> tuple[Vec, float]:
    """Return a chain's bend direction, and the sum of its joints' distances from the axis.

    The vector's length is the fraction of these distances that doesn't cancel out. The shorter it
    is, the less clear the side.
    """
    ax, ay, az = axis
    x = y = z = spread = 0.0
    for i in range(1, len(joints) - 1):
        joint = joints[i]
        along = joint.x * ax + joint.y * ay + joint.z * az
        dx = joint.x - ax * along
        dy = joint.y - ay * along
        dz = joint.z - az * along
        x += dx
        y += dy
        z += dz
        spread += sqrt(dx * dx + dy * dy + dz * dz)
    return (scaled((x, y, z), 1.0 / spread) if spread > 0.0 else ORIGIN), spread


def folded_bend(joints: Sequence[Vec], axis: Vec, folds: Sequence[int]) -> Vec:
    """Return the bend direction of a limb whose joints flex in opposite directions.

    A hind leg has joints on both sides of the axis. Which of them is farther out changes as the leg
    folds, although each keeps flexing the same way. The side is therefore defined by the limb's
    plane, signed by how the joints flex. The vector's length is the fraction of their bending that
    doesn't cancel out, for instance because a joint is bent against its fold.

    Args:
        joints: The joints, from the root to the tip.
        axis: The direction from root to tip.
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
    """Return the bend direction of a straight chain.

    Args:
        axes: The axes of the posed bones, root first.
        rest_bend: How it bends in the rest pose. None uses the Z axes of all bones except the
            first, so that they bend about their X axes.
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
    """Bend a straight chain to a side, keeping part of its input pose (``keep``, from 0 to 1).

    No solver iteration can bend a straight chain whose target is on its axis. Near the axis,
    rounding would choose the side. A straight chain therefore starts as an arc with equal bends to
    ``side``, or as a zigzag if its joints fold both ways. The chord is the target's distance. For
    continuity, it keeps more of the input pose the less straight the chain is, and the closer the
    target is to its tip.
    """
    if keep >= 1.0:
        return
    on_arc = arc(sizes_of(joints), axis, side, length(target), folds)
    for i, joint in enumerate(joints):
        joint.move(mix(on_arc[i], joint.at(), keep))
    set_lengths(joints)


def curl(joints: list[Joint], axis: Vec, half_turn: float, folds: Sequence[int] = ()) -> None:
    """Bend a chain further, sharing the bend among all joints.

    Iterations that start at the tip would fold it at a few joints. Here it bends like a beam under
    axial load: each joint in proportion to its distance from the axis, plus the mean of all joints.
    A bent joint bends more, about its current axis. Bone rotations with a length-weighted variance
    v shorten a chain like an arc that turns by √(12 v).

    Args:
        joints: The joints, starting at the origin and at least slightly bent. The tip stays near
            the axis.
        axis: The unit vector from the root to the tip.
        half_turn: Half the angle by which an equally long arc would turn further, in radians.
        folds: How the joints flex in a limb that bends to both sides (see `RestBend`). They all
            bend by the same angle.
    """
    turns, mean, hinge, variance = _curling(joints, axis, folds)
    factor = 0.5 * half_turn / max(sqrt(3.0 * variance), STRAIGHT)
    mx, my, mz = mean
    hx, hy, hz = hinge
    x = y = z = ox = oy = oz = 0.0
    for i, (vx, vy, vz) in enumerate(turns):
        joint = joints[i + 1]
        jx = joint.x
        jy = joint.y
        jz = joint.z
        dx = jx - ox
        dy = jy - oy
        dz = jz - oz
        ox = jx
        oy = jy
        oz = jz
        vx += i * hx - mx
        vy += i * hy - my
        vz += i * hz - mz
        size = sqrt(vx * vx + vy * vy + vz * vz)
        half = factor * size
        # Like `rotate` by the quaternion (w, v), with both times √2, which saves a factor of 2.
        ratio = ROOT_2 * (sin(half) / size if size > 1e-9 else factor)
        w = ROOT_2 * cos(half)
        vx *= ratio
        vy *= ratio
        vz *= ratio
        tx = vy * dz - vz * dy
        ty = vz * dx - vx * dz
        tz = vx * dy - vy * dx
        x += dx + w * tx + vy * tz - vz * ty
        y += dy + w * ty + vz * tx - vx * tz
        z += dz + w * tz + vx * ty - vy * tx
        joint.x = x
        joint.y = y
        joint.z = z


def _curling(
    joints: list[Joint], axis: Vec, folds: Sequence[int]
) -> tuple[list[Vec], Vec, Vec, float]:
    """Return how the bones rotate when a chain curls with its tip near the axis.

    Returns:
        A rotation vector for each bone; their length-weighted mean, to be subtracted; a rotation
        vector to add once per preceding bone; the variance.
    """
    if folds:
        return _folding(joints, axis, folds)
    ax, ay, az = axis
    count = px = py = pz = x = y = z = 0.0
    mx = my = mz = kx = ky = kz = square = first = second = 0.0
    turns = [ORIGIN]
    for i in range(1, len(joints) - 1):
        joint = joints[i]
        px += joint.x
        py += joint.y
        pz += joint.z
        x = py * az - pz * ay
        y = pz * ax - px * az
        z = px * ay - py * ax
        turns.append((x, y, z))
        count += 1.0
        weight = joint.size
        square += (x * x + y * y + z * z) * weight
        mx += x * weight
        my += y * weight
        mz += z * weight
        weight *= count
        kx += x * weight
        ky += y * weight
        kz += z * weight
        first += weight
        second += count * weight
    # Each joint also bends by the mean of all joints, and bones rotate by the sum up to them.
    hx, hy, hz = x / count, y / count, z / count
    square += 2.0 * (hx * kx + hy * ky + hz * kz) + second * (hx * hx + hy * hy + hz * hz)
    mx += first * hx
    my += first * hy
    mz += first * hz
    variance = max(0.0, square - mx * mx - my * my - mz * mz)
    return turns, (mx, my, mz), (hx, hy, hz), variance


def _folding(
    joints: list[Joint], axis: Vec, folds: Sequence[int]
) -> tuple[list[Vec], Vec, Vec, float]:
    """Return the result of `_curling` for a limb that bends to both sides, by equal angles."""
    hinge = cross(folded_bend(points_of(joints), axis, folds), axis)
    turns, heading, mean, square = [ORIGIN], 0, 0.0, 0.0
    for i, fold in enumerate(folds):
        heading += fold
        turns.append(scaled(hinge, float(heading)))
        weight = joints[i + 1].size
        mean += heading * weight
        square += heading * heading * weight
    variance = max(0.0, square - mean * mean) * dot(hinge, hinge)
    return turns, scaled(hinge, mean), ORIGIN, variance


def farthest_from(axis: Vec, joints: list[Joint]) -> float:
    """Return the largest distance of any joint from the axis, at most `STRAIGHT`.

    Returns early, because nearly all chains are bent at their first joints.
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
    """Return a chain's joints, moved exactly into its plane if it is flat except for rounding.

    The farther they are from the plane, up to `FLAT`, the less they move. The second value is the
    plane's normal, zero if the chain isn't flat. A straight chain's plane contains its bend
    direction.
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
        off = abs(nx * joint.x + ny * joint.y + nz * joint.z)
        if off > spread:
            if off >= FLAT:
                return joints, ORIGIN
            spread = off
    factor = eased(spread / FLAT) ** 2 - 1.0
    flat: list[Joint] = []
    for joint in joints:
        x = joint.x
        y = joint.y
        z = joint.z
        off = factor * (nx * x + ny * y + nz * z)
        flat.append(Joint(x + nx * off, y + ny * off, z + nz * off, joint.size))
    set_lengths(flat)
    return flat, normal


def in_plane(point: Vec, normal: Vec, remaining: float) -> Vec:
    """Return a point with its distance from a plane scaled by ``remaining`` (unit normal)."""
    return add(point, scaled(normal, (remaining - 1.0) * dot(normal, point)))


def rounded_to_plane(point: Vec, normal: Vec) -> Vec:
    """Return a flat chain's target or pole, moved into its plane if only rounding moved it out."""
    off = abs(dot(normal, point))
    return in_plane(point, normal, eased(off / IN_PLANE) ** 2) if off < IN_PLANE else point


def set_lengths(joints: list[Joint]) -> None:
    """Restore bone lengths along their directions; a bone without a direction uses the axis."""
    ax, ay, az = axis_of(joints)
    ox, oy, oz = joints[0].at()
    x, y, z = ox, oy, oz
    size = joints[0].size
    for i in range(1, len(joints)):
        joint = joints[i]
        dx = joint.x - ox
        dy = joint.y - oy
        dz = joint.z - oz
        ox = joint.x
        oy = joint.y
        oz = joint.z
        distance = length((dx, dy, dz))
        if distance < 1e-300:
            dx, dy, dz, distance = ax, ay, az, 1.0
        ratio = size / distance
        x += dx * ratio
        y += dy * ratio
        z += dz * ratio
        joint.x = x
        joint.y = y
        joint.z = z
        size = joint.size


def off_axis(direction: Vec, axis: Vec) -> Vec | None:
    """Return the direction's component perpendicular to the axis, or None if it is negligible."""
    side = across(unit(direction) or ORIGIN, axis)
    return side if length(side) > ON_AXIS else None


def side_of(bends: Sequence[Vec | None], axis: Vec) -> Vec:
    """Return a unit vector perpendicular to the axis, toward the first usable bend.

    If no bend is usable, the vector is arbitrary.
    """
    for bend in bends:
        side = None if bend is None else off_axis(bend, axis)
        if side is not None:
            return unit(side) or side
    return any_perpendicular(axis)


def bend_direction(joints: Sequence[Vec], axis: Vec) -> Vec | None:
    """Return the mean direction from the axis to the joints, or None if they cancel out."""
    total = ORIGIN
    for joint in joints[1:-1]:
        total = add(total, across(joint, axis))
    return unit(total) if length(total) > ON_AXIS else None


Swivel = tuple[float, float]
"""The cosine and the sine of the angle of a swivel about root → target."""


def swivel_to(pole: Vec, bend: Vec, axis: Vec, pole_angle: float, weight: float) -> Swivel:
    """Return the swivel about the axis that makes a chain's bend face the pole.

    With a weight below 1 the chain faces the mean of both directions, which stays continuous as the
    pole comes around from behind. If the side of the pole or bend is unclear, the weight fades to
    0, and the chain keeps its plane instead of flipping.

    No rule is continuous everywhere (it would retract a disc onto its rim). This rule jumps if the
    faded weight is one half and the pole is behind. As the weight fades, the chain aims past a pole
    behind it, so a limb that moves in its plane turns around gradually. Only an exactly flat chain
    flips.

    Args:
        pole: The pole.
        bend: The bend direction of the chain (see `bend_of`).
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
    swivel = _swivelled((cosine / size, sine / size), pole_angle)
    if swivel[1] != 0.0:
        behind = 0.5 * (1.0 - swivel[0])
        swivel = _swivelled(swivel, PAST * 4.0 * clear * (1.0 - clear) * behind)
    return mean_swivel((1.0, 0.0), swivel, weight)


def _swivelled(swivel: Swivel, angle: float) -> Swivel:
    if angle == 0.0:
        return swivel
    c, s = cos(angle), sin(angle)
    return (swivel[0] * c - swivel[1] * s, swivel[1] * c + swivel[0] * s)


def mean_swivel(a: Swivel, b: Swivel, factor: float) -> Swivel:
    """Return the normalized mean of two swivels, or the first if they are opposite.

    Unlike a fraction of the angle, it is continuous at half a turn. A two-dimensional chain that
    flips stays in its plane.
    """
    if factor >= 1.0:
        return b
    cosine = (1.0 - factor) * a[0] + factor * b[0]
    sine = (1.0 - factor) * a[1] + factor * b[1]
    size = sqrt(cosine * cosine + sine * sine)
    return a if size <= ON_AXIS else (cosine / size, sine / size)


def swivel_turn(axis: Vec, swivel: Swivel) -> Quat:
    """Return a swivel about a unit vector as a quaternion."""
    cosine, sine = swivel
    # The half-angle formula with the larger square, which doesn't cancel.
    if cosine >= 0.0:
        half = sqrt(0.5 * (1.0 + cosine))
        return (half, *scaled(axis, 0.5 * sine / half))
    half = sqrt(0.5 * (1.0 - cosine))
    return (0.5 * sine / half, *scaled(axis, half))


def turn_joints(joints: list[Joint], turn: Quat) -> None:
    """Rotate a whole chain."""
    for joint in joints:
        joint.move(rotate(turn, joint.at()))


def clarity(bend: Vec, spread: float, side: Vec, bones: int) -> float:
    """Return how clearly a limb's pose shows its bend direction, from 0 to 1.

    A bend toward the preferred side is clear sooner than a bend toward the opposite side.

    Args:
        bend: The direction in which the limb's joints are bent.
        spread: The sum of the joints' distances from the axis.
        side: The unit vector of the preferred side.
        bones: The number of bones.
    """
    if bones < 2:
        return 1.0
    apart = spread / (bones - 1)
    along = dot(unit(bend) or side, side)
    forward, backward = 0.5 * (1.0 + along) * apart, 0.5 * (1.0 - along) * apart
    backward_clarity = eased(max(0.0, backward - BACKWARD) / (CLEAR - BACKWARD))
    return 1.0 - (1.0 - eased(forward / CLEAR)) * (1.0 - backward_clarity)


def newness(posed_span: float, target_span: float) -> float:
    """Return how much of a limb's bend is new, from 0 to 1.

    Args:
        posed_span: The posed distance from the root to the tip, in chain lengths.
        target_span: The distance from the root to the target, in chain lengths.
    """
    nearer = posed_span - target_span
    if nearer <= 0.0:
        return 0.0
    bent = sqrt(max(0.0, 1.0 - target_span * target_span))
    new_bend = bent - sqrt(max(0.0, 1.0 - posed_span * posed_span))
    return eased((nearer / ROUNDING) ** 2) * eased(new_bend / (NEW_BEND * bent))


def forward_turn(axis: Vec, bend: Vec, side: Vec, factor: float) -> Quat:
    """Return the swivel of a limb with an unclear pose to its preferred side.

    A limb that only extends bends as posed. The more of its bend is new, the more it turns to the
    preferred side. A knee posed slightly backward or sideways thus flexes forward.

    Args:
        axis: The unit vector from the root to the tip.
        bend: The direction in which its joints are bent.
        side: The direction of further bending.
        factor: How far it turns, such as `newness`.
    """
    if factor <= 0.0 or length(bend) <= ON_AXIS:
        return QUAT_IDENTITY
    return quat_about(axis, factor * atan2(dot(axis, cross(bend, side)), dot(bend, side)))


def eased(fraction: float) -> float:
    """Return the smoothstep of a nonnegative fraction."""
    return fraction * fraction * (3.0 - 2.0 * fraction) if fraction < 1.0 else 1.0
