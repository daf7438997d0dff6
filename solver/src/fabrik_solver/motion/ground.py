"""Move a foot to uneven ground, and lower the hip so that it reaches.

In stance a foot stays in place. During the swing, its offset from the animation blends from one
contact to the next, with zero velocity at both ends. Over obstacles it is lifted along the
smoothest curve. A body is pitched by the legs that stand at each end of its trunk. Everything is a
function of time, the contacts and the ground.
"""

from collections.abc import Callable, Mapping, Sequence
from math import acos, atan2, ceil, cos, floor, fsum, inf, pi, sqrt
from typing import NamedTuple

from ..core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    across,
    add,
    cross,
    dot,
    length,
    quat_about,
    quat_exp,
    quat_inverse,
    rotate,
    scaled,
    solve_symmetric,
    sub,
    sum_of,
    unit,
)
from .easing import smooth
from .knee import FLEXED, LEAST, ROOM, folded

STEEPEST = 0.5
"""Cosine of the slope above which a face is a wall: 60°."""

FLAT = 0.2
"""The vertical extent of a leg, as a fraction of its length, below which the hip gives up on its
foot. Such a foot is far to the side."""

DEEPEST = 0.5
"""How far the hip is lowered at most, in leg lengths."""

STRIDE = 1.0
"""The assumed duration of a stride, in seconds: a knee bends at least once in it."""

CALM = 0.5 * STRIDE / (2.0 * pi)
"""How long smoothed values take to follow, in seconds. Oscillations with a period of 2π times this
are halved, and a stride has two steps."""


class Pose(NamedTuple):
    """A pose in world space, or a rigid motion to it from the origin.

    Attributes:
        place: The location, or how far the origin moves.
        turn: The orientation, or the rotation about the origin.
    """

    place: Vec
    turn: Quat = QUAT_IDENTITY

    def moved(self, point: Vec) -> Vec:
        """Return how far the motion moves a point."""
        if self.turn == QUAT_IDENTITY:
            return self.place
        return add(self.place, sub(rotate(self.turn, point), point))

    def before(self, point: Vec) -> Vec:
        """Return where a point was before the motion."""
        return rotate(quat_inverse(self.turn), sub(point, self.place))


def is_ground(normal: Vec, up: Vec) -> bool:
    """Return whether a face is flat enough to stand on, from its normal and the up direction."""
    return dot(normal, up) > STEEPEST


def tilt_of(normal: Vec, up: Vec, most: float) -> Vec:
    """Return the rotation vector from up to a normal, limited to an angle.

    It is perpendicular to up, so a foot keeps its heading.
    """
    axis = unit(cross(up, normal))
    if axis is None:
        return ORIGIN
    return scaled(axis, min(acos(min(1.0, dot(up, normal))), most))


def turn_of(tilt: Vec) -> Quat:
    """Return the rotation of a tilt."""
    return QUAT_IDENTITY if tilt == ORIGIN else quat_exp(tilt)


def influence(height: float, blend: float) -> float:
    """Return the influence of the ground: 1 up to the blend height, 0 from twice that height.

    Args:
        height: The height of the animated foot above the animation's floor.
        blend: The blend height; 0 if the ground always counts.
    """
    return 1.0 if blend <= 0.0 else 1.0 - smooth(height / blend - 1.0)


class CarriedLeg(NamedTuple):
    """A leg that a hip carries, at one frame.

    Attributes:
        root: The animated location of its hip joint.
        target: The animated location of the foot.
        goal: The location of the foot on the ground.
        length: The length of the straight leg.
        rise: How far the ground below it is above the animation's floor.
        stands: Whether it is known to stand.
        lock: How far the lock of its foot moves its ankle.
    """

    root: Vec
    target: Vec
    goal: Vec
    length: float
    rise: float
    stands: bool = False
    lock: Vec = ORIGIN


def hip_lift(
    legs: Sequence[CarriedLeg], up: Vec, extension: float, follow: float
) -> tuple[float, float]:
    """Return how far the hip should be lifted (negative: lowered), and how far it can be.

    The hip rises with the ground below the feet that carry the body, or below all feet if none is
    known to carry it. It also rises for a swinging leg that the ground would fold farther than its
    knee allows (see `knee.folded`). All legs must still reach.

    Legs are extended up to a fraction of their length, so that no knee snaps. A leg that the
    animation extends farther may use half of its remaining length. A leg that doesn't reach in the
    animation needn't reach here.

    Args:
        legs: All its legs, at least one.
        up: The unit vector along which it moves.
        extension: The maximum extension of a leg, as a fraction of its length.
        follow: The fraction of the mean rise that it follows, from 0 to 1.
    """
    rise = _mean_rise(legs, follow)
    lacks = [_lack(leg, up, extension, rise) for leg in legs if leg.length > 0.0]
    wanted = _mean_rise([leg for leg in legs if leg.stands] or legs, follow)
    folds = [_crowded(leg, up, wanted) for leg in legs if leg.length > 0.0 and not leg.stands]
    return wanted + max(folds, default=0.0), rise - max(lacks, default=-inf)


def pitched(ends: tuple[Vec, Vec], lifts: tuple[float, float], up: Vec) -> Pose:
    """Return how a body moves if its ends are lifted.

    It turns about its middle, in the vertical plane through both ends, and keeps its length.

    Args:
        ends: The points between its hind legs and between its front legs.
        lifts: How far each end is lifted.
        up: The unit vector up.
    """
    hind, front = ends
    trunk = sub(front, hind)
    axis = unit(cross(trunk, up))
    shift = scaled(up, 0.5 * (lifts[0] + lifts[1]))
    if axis is None or lifts[0] == lifts[1]:
        return Pose(shift)
    level, high = length(across(trunk, up)), dot(trunk, up)
    angle = atan2(high + lifts[1] - lifts[0], level) - atan2(high, level)
    turn, middle = quat_about(axis, angle), scaled(add(hind, front), 0.5)
    return Pose(add(shift, sub(middle, rotate(turn, middle))), turn)


def follow_locks(legs: Sequence[CarriedLeg]) -> Vec:
    """Return how far the hip moves with its locked feet, so that straight legs stay straight.

    A nearly straight knee moves many times as far as its ankle approaches the hip. This minimizes
    the summed squares of the motions of knees and hip. To first order, a knee h off the line
    between ends d apart moves d/4h times as far as its ankle. This assumes bones of equal length.

    Args:
        legs: All its legs.
    """
    diagonal, others, wanted = (1.0, 1.0, 1.0), ORIGIN, ORIGIN
    for leg in legs:
        leg_vector, size = sub(leg.target, leg.root), leg.length
        apart = length(leg_vector)
        along = unit(leg_vector)
        if along is None or size == 0.0:
            continue
        square = max(0.25 * (size * size - apart * apart), (LEAST * size) ** 2)
        weight = apart * apart / (16.0 * square)
        x, y, z = along
        diagonal = add(diagonal, scaled((x * x, y * y, z * z), weight))
        others = add(others, scaled((x * y, x * z, y * z), weight))
        wanted = add(wanted, scaled(along, weight * dot(along, leg.lock)))
    return ORIGIN if wanted == ORIGIN else solve_symmetric(diagonal, others, wanted)


def shared_jolt(jumps: Sequence[tuple[Vec, Vec]]) -> Vec:
    """Return how far the hip moves with its locked feet where a whole capture jumps.

    It is the mean motion that the locks remove from the ankles, as far as the hip jumps too.

    Args:
        jumps: For each leg, how far the lock moves its ankle, and where its hip joint is. Both are
            relative to their means over a short time.
    """
    root = scaled(sum_of([root for _, root in jumps]), 1.0 / len(jumps))
    total = ORIGIN
    for lock, _ in jumps:
        square = dot(lock, lock)
        if square > 0.0:
            total = add(total, scaled(lock, min(max(0.0, -dot(root, lock) / square), 1.0)))
    return scaled(total, 1.0 / len(jumps))


def averaged(at: Mapping[int, float], time: float, ease: int, stride: int) -> float:
    """Return the mean of numbers around a time, as a smooth function of time.

    Args:
        at: The numbers at all multiples of the stride.
        time: See `smoothed`.
        ease: See `smoothed`.
        stride: See `smoothed`.
    """
    weights = dict(_weights(time, ease, stride))
    return fsum([weight * at[frame] for frame, weight in weights.items()]) / fsum(weights.values())


def smoothed(at: Callable[[int], Vec | None], time: float, ease: int, stride: int) -> Vec:
    """Return the mean of locations around a time, as a smooth function of time.

    Args:
        at: Returns the location at a frame, a multiple of the stride; None if the frame has none.
        time: The time, in frames.
        ease: Half the width of the window in frames, a multiple of the stride.
        stride: How many frames apart the locations are.
    """
    total, weights = ORIGIN, 0.0
    for frame, weight in _weights(time, ease, stride):
        location = at(frame)
        if location is not None:
            total = add(total, scaled(location, weight))
            weights += weight
    return scaled(total, 1.0 / weights) if weights > 0.0 else ORIGIN


def _weights(time: float, ease: int, stride: int) -> list[tuple[int, float]]:
    """Return the frames in a window around a time, with their weights."""
    numbers = range(ceil((time - ease) / stride), floor((time + ease) / stride) + 1)
    frames = [number * stride for number in numbers]
    return [(frame, cos(0.5 * pi * (frame - time) / ease) ** 2) for frame in frames]


def _mean_rise(legs: Sequence[CarriedLeg], follow: float) -> float:
    return follow * fsum([leg.rise for leg in legs]) / len(legs)


def _lack(leg: CarriedLeg, up: Vec, extension: float, rise: float) -> float:
    """Return how far the hip must be lowered for a leg; negative if it could rise."""
    distance = length(sub(leg.root, leg.target))
    reach = max(extension * leg.length, distance + ROOM * max(0.0, leg.length - distance))
    apart = add(sub(leg.root, leg.goal), scaled(up, rise))
    aside = length(across(apart, up))
    lack = dot(apart, up) - _upright(reach * reach - aside * aside, FLAT * leg.length)
    return min(lack, DEEPEST * leg.length)


def _crowded(leg: CarriedLeg, up: Vec, rise: float) -> float:
    """Return how far the hip must rise so that a leg doesn't fold beyond its knee's limit.

    It doesn't rise for a foot kicked as high as the hip.
    """
    apart = add(sub(leg.root, leg.goal), scaled(up, rise))
    far, high = length(apart), dot(apart, up)
    wanted = folded(far, length(sub(leg.root, leg.target)), FLEXED * leg.length)
    if wanted <= far or high <= 0.0:
        return 0.0
    more = sqrt(wanted * wanted - far * far + high * high) - high
    return smooth(2.0 * high / wanted) * more


def _upright(square: float, least: float) -> float:
    """Return the square root; below ``least``, where it is steep, its tangent."""
    if square >= least * least:
        return sqrt(square)
    return 0.5 * (least + square / least)
