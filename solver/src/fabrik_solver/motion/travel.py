"""The travel of a body that keeps standing feet from sliding.

The input is the feet relative to a root that stays in place, as in an in-place cycle. In each step
from sample to sample, the root translates and rotates over level ground. All steps are a single
linear least-squares problem. It minimizes the squared velocities of the soles' points, weighted by
contact, plus the squared changes of the root's velocity. While a foot is in contact, the changes of
velocity are negligible. In a flight phase, only these changes count, so the velocity is
interpolated. In a loop, the last step is adjacent to the first. Iterative reweighting refines the
weights, so that a foot that swings low has little weight.

This finds only a local minimum. The iteration starts from the contact weights. If the feet mostly
stand as animated, it also starts from a root that stays in place. If both fit about equally well,
the second result is closer to the clip.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import atan, dist, fsum, hypot, radians
from typing import Final, NamedTuple

from ..core.vectors import Vec
from .easing import smooth
from .planar import STILL, Planar

FLOOR_QUANTILE: Final = 0.05
"""The quantile of heights that is the floor, because clips have outliers, rounded soles roll,
and running feet penetrate the ground."""

FLAT: Final = 0.02
"""Maximum height difference between the points of a flat sole, in leg lengths."""

FLAT_SHARE: Final = 0.1
"""Minimum fraction of samples with a flat sole for these to determine the floor.

The tip of a pitched foot is only estimated, and may be far below the floor."""

FLOOR_WINDOW: Final = 1.4
"""The time window of the floor, in seconds. The ground of motion captures drifts, and each foot
has a stance phase within the window."""

MAX_FLOOR_RISE: Final = 0.15
"""Maximum height of the floor above its lowest height, in leg lengths. A higher foot is in the
air."""

MAX_SOLE_RISE: Final = 0.03
"""Maximum height of a point's floor above the floor of its foot, in leg lengths. The sole is
estimated from the joints."""

ON_FLOOR: Final = 0.01
"""Maximum height above the floor of a point in full contact, in leg lengths."""

OFF_FLOOR: Final = 0.04
"""The height above which a point has no contact, in leg lengths."""

IN_FLOOR: Final = 0.05
"""Maximum depth below the floor of a point in full contact, in leg lengths."""

UPWARD: Final = 3.0
"""The vertical speed at which the weight of a point is halved, in leg lengths per second."""

SLIP: Final = 0.5
"""The speed over the floor at which a point's weight is quartered, in leg lengths per second."""

ITERATIONS: Final = 8
"""The number of reweighting iterations."""

SWING: Final = 1.0
"""Minimum speed over the floor of a low foot that swings, in leg lengths per second. It must
also be faster than the body on average."""

SMOOTHING: Final = 0.003
"""The time over which the velocity is smoothed while a point is in full contact, in seconds."""

MIN_WEIGHT: Final = 1e-9
"""The weight that regularizes the equations."""

STRAIGHT: Final = radians(10.0)
"""Minimum rotation of a turn within a clip, because feet twist at toe-off and bodies sway."""

MAX_TURN_SLIDE: Final = 0.8
"""Maximum slide of an accepted turning path, relative to that of a straight path."""

MOSTLY: Final = 0.5
"""Maximum fraction of contacts that slip with the root in place, if feet mostly stand."""

NEARER_MISFIT: Final = 1.2
"""Maximum misfit of the solution started with the root in place, relative to the other one."""

LOOP_TOLERANCE: Final = 0.02
"""Maximum distance between points at the ends of a loop, in leg lengths."""


class Steps(NamedTuple):
    """Feet relative to a root that stays in place, with Z up.

    Attributes:
        times: The times of the samples in seconds, ascending; at least two.
        feet: For each foot and sample, the positions of points of the sole.
        body: For each sample, the position of a point in the middle of the body.
        leg: The length of a leg.
    """

    times: Sequence[float]
    feet: Sequence[Sequence[Sequence[Vec]]]
    body: Sequence[Vec]
    leg: float


Stance = tuple[int, range]
"""A stance phase: the index of the foot, and the steps from sample to sample during which it
stands."""

Rate = tuple[float, float, float]
"""The velocity of the root at the middle of the body: along X, along Y, and about Z, per second.

The rotation is the Cayley transform's, twice the tangent of half the angle per step. The linear
equations are exact for it."""

Point = tuple[Vec, Vec, float]
"""A point of a sole in a step: its positions at the start and end of the step, and its weight."""


def travel_of(steps: Steps, is_loop: bool, use_turn: bool) -> list[Planar]:
    """Return the motion of the root from the first sample to each.

    Args:
        steps: The feet.
        is_loop: Whether the last sample is followed by the first.
        use_turn: Whether the root may rotate. It only rotates if the clip clearly turns, even if
            the clip turns back later.
    """
    weights = _weights(steps)
    straight = _path(steps, _rates(steps, weights, is_loop, False))
    if not use_turn:
        return straight
    turning = _path(steps, _rates(steps, weights, is_loop, True))
    if max(abs(move.angle) for move in turning) < STRAIGHT:
        return straight
    slides, most = (_all_slides(steps, path) for path in (turning, straight))
    # Standing feet always twist a little.
    if max(most, default=0.0) < ON_FLOOR * steps.leg:
        return straight
    return turning if fsum(slides) < MAX_TURN_SLIDE * fsum(most) else straight


def _all_slides(steps: Steps, path: Sequence[Planar]) -> list[float]:
    """Return how far feet slide on a path, in its stance phases and those of the in-place clip.

    Both count, because a path may treat a sliding foot as swinging.
    """
    still = stances_of(steps, [STILL] * len(path))
    return slides_of(steps, path, [*stances_of(steps, path), *still])


def is_loop(steps: Steps, travel: Planar = STILL) -> bool:
    """Return whether the last sample equals the first one moved over the ground."""
    limit = LOOP_TOLERANCE * steps.leg
    ends = [(foot[0], foot[-1]) for foot in steps.feet] + [((steps.body[0],), (steps.body[-1],))]
    return all(
        dist(travel.moved(a), b) <= limit
        for first, last in ends
        for a, b in zip(first, last, strict=True)
    )


def stances_of(steps: Steps, path: Sequence[Planar]) -> list[Stance]:
    """Return the stance phases of all feet.

    Args:
        steps: The feet.
        path: The motion of the root from the first sample to each.
    """
    stances: list[Stance] = []
    traveled = fsum(hypot(b.x - a.x, b.y - a.y) for a, b in pairwise(path))
    fastest = max(SWING * steps.leg, traveled / (steps.times[-1] - steps.times[0]))
    spans = [b - a for a, b in pairwise(steps.times)]
    for number, foot in enumerate(steps.feet):
        contacts = _contacts(foot, steps)
        on_floor = [
            max(map(min, *pair)) >= 0.5 and hypot(*displacement) <= fastest * span
            for pair, displacement, span in zip(
                pairwise(contacts), _displacements(foot, contacts, path), spans, strict=True
            )
        ]
        first = -1
        for i, is_on_floor in enumerate([*on_floor, False]):
            if is_on_floor and first < 0:
                first = i
            elif not is_on_floor and first >= 0:
                stances.append((number, range(first, i)))
                first = -1
    return stances


def slides_of(steps: Steps, path: Sequence[Planar], stances: Sequence[Stance]) -> list[float]:
    """Return the slide of each stance phase: the largest distance between two of its samples.

    Only standing points count. They take turns while the foot rolls from heel to toe.

    Args:
        steps: The feet.
        path: The motion of the root from the first sample to each.
        stances: The stance phases.
    """
    displacements = [_displacements(foot, _contacts(foot, steps), path) for foot in steps.feet]
    slides: list[float] = []
    for foot, stood in stances:
        positions = [(0.0, 0.0)]
        for x, y in displacements[foot][stood.start : stood.stop]:
            positions.append((positions[-1][0] + x, positions[-1][1] + y))
        slides.append(max(dist(a, b) for a in positions for b in positions))
    return slides


def _displacements(
    foot: Sequence[Sequence[Vec]], contacts: Sequence[Sequence[float]], path: Sequence[Planar]
) -> list[tuple[float, float]]:
    """Return the displacement of the standing points over the floor, for each step."""
    moved = [[root.moved(p) for p in points] for root, points in zip(path, foot, strict=True)]
    displacements: list[tuple[float, float]] = []
    for i, (starts, ends) in enumerate(pairwise(moved)):
        loads = [min(a, b) + MIN_WEIGHT for a, b in zip(contacts[i], contacts[i + 1], strict=True)]
        rows = list(zip(loads, starts, ends, strict=True))
        x = fsum(load * (q[0] - p[0]) for load, p, q in rows) / fsum(loads)
        y = fsum(load * (q[1] - p[1]) for load, p, q in rows) / fsum(loads)
        displacements.append((x, y))
    return displacements


def _contacts(foot: Sequence[Sequence[Vec]], steps: Steps) -> list[list[float]]:
    """Return how much each point of a foot is in contact at each sample, from 0 to 1."""
    rows = [[p[2] / steps.leg for p in points] for points in foot]
    most = _floor_height(rows) + MAX_FLOOR_RISE
    contacts: list[list[float]] = []
    first = last = 0
    for time, row in zip(steps.times, rows, strict=True):
        # At the ends of the clip, the window is shifted, not shortened.
        start = max(steps.times[0], min(time - 0.5 * FLOOR_WINDOW, steps.times[-1] - FLOOR_WINDOW))
        while steps.times[first] < start:
            first += 1
        while last < len(rows) and steps.times[last] <= start + FLOOR_WINDOW:
            last += 1
        floor = min(most, _floor_height(rows[first:last]))
        quantiles = [
            _quantile([sample_heights[k] for sample_heights in rows[first:last]])
            for k in range(len(row))
        ]
        heights = [
            z - max(floor, min(low, floor + MAX_SOLE_RISE))
            for z, low in zip(row, quantiles, strict=True)
        ]
        contacts.append([_contact(z) for z in heights])
    return contacts


def _contact(height: float) -> float:
    """Return how much a point is in contact, from 0 to 1.

    Args:
        height: Its height above the floor, in leg lengths.
    """
    away = height - ON_FLOOR if height >= 0.0 else -height - IN_FLOOR
    return 1.0 - smooth(away / (OFF_FLOOR - ON_FLOOR))


def _floor_height(rows: Sequence[Sequence[float]]) -> float:
    """Return the height of the floor from the heights of a sole's points at each sample."""
    lowest = _quantile([min(row) for row in rows])
    flat = [min(row) for row in rows if max(row) - min(row) <= FLAT]
    if len(flat) < FLAT_SHARE * len(rows):
        return lowest
    floor = _quantile(flat)
    return floor if floor <= lowest + MAX_FLOOR_RISE else lowest


def _quantile(heights: Sequence[float]) -> float:
    return sorted(heights)[int(FLOOR_QUANTILE * (len(heights) - 1))]


def _weights(steps: Steps) -> list[list[Point]]:
    """Return the points that may be in contact, for each step."""
    spans = [b - a for a, b in pairwise(steps.times)]
    weights: list[list[Point]] = [[] for _ in spans]
    for foot in steps.feet:
        contacts = _contacts(foot, steps)
        for i, span in enumerate(spans):
            for k, (p, q) in enumerate(zip(foot[i], foot[i + 1], strict=True)):
                rise = (q[2] - p[2]) / (span * steps.leg * UPWARD)
                weight = contacts[i][k] * contacts[i + 1][k] / (1.0 + rise * rise)
                if weight > 0.0:
                    # A point that lands or lifts off is already moving.
                    weights[i].append((p, q, weight**4))
    return weights


def _rates(
    steps: Steps, weights: Sequence[Sequence[Point]], is_loop: bool, use_turn: bool
) -> list[Rate]:
    """Return the velocity of the root in each step."""
    far = _refined(steps, weights, weights, is_loop, use_turn)
    still = [(0.0, 0.0, 0.0)] * len(weights)
    if _misfit(steps, weights, still) > MOSTLY:
        return far
    near = _refined(steps, weights, _reweighted(steps, weights, still), is_loop, use_turn)
    most = NEARER_MISFIT * _misfit(steps, weights, far)
    return near if _misfit(steps, weights, near) <= most else far


def _refined(
    steps: Steps,
    weights: Sequence[Sequence[Point]],
    start: Sequence[Sequence[Point]],
    is_loop: bool,
    use_turn: bool,
) -> list[Rate]:
    """Return the velocities from iterative reweighting of contacts, starting with some weights."""
    count = len(weights)
    # A loop is extended by half its length at both ends.
    around = count // 2 if is_loop else 0
    order = [i % count for i in range(-around, count + around)]
    rates: list[Rate] = []
    weighted = start
    for _ in range(ITERATIONS):
        rates = _solved(steps, weighted, order, use_turn)[around : around + count]
        weighted = _reweighted(steps, weights, rates)
    return rates


def _reweighted(
    steps: Steps, weights: Sequence[Sequence[Point]], rates: Sequence[Rate]
) -> list[list[Point]]:
    """Return the contact weights, reduced for points that slip at some velocities of the root."""
    return [
        [(p, q, w / (1.0 + _slip(steps, i, p, q, rates[i]) ** 2) ** 2) for p, q, w in points]
        for i, points in enumerate(weights)
    ]


def _misfit(steps: Steps, weights: Sequence[Sequence[Point]], rates: Sequence[Rate]) -> float:
    """Return the fraction of slipping contacts, to be minimized by the reweighting."""
    slipping = whole = 0.0
    for i, points in enumerate(weights):
        span = steps.times[i + 1] - steps.times[i]
        for p, q, w in points:
            square = _slip(steps, i, p, q, rates[i]) ** 2
            slipping += w * span * square / (1.0 + square)
            whole += w * span
    return slipping / whole if whole else 0.0


def _slip(steps: Steps, i: int, p: Vec, q: Vec, rate: Rate) -> float:
    """Return the speed of a point over the floor in a step, relative to `SLIP`."""
    x, y = _lever(steps, i, p, q)
    span = steps.times[i + 1] - steps.times[i]
    u = rate[0] - rate[2] * y + (q[0] - p[0]) / span
    v = rate[1] + rate[2] * x + (q[1] - p[1]) / span
    return hypot(u, v) / (SLIP * steps.leg)


def _lever(steps: Steps, i: int, p: Vec, q: Vec) -> tuple[float, float]:
    """Return the position of a point relative to the middle of the body, halfway through a step."""
    a, b = steps.body[i], steps.body[i + 1]
    return (0.5 * (p[0] + q[0] - a[0] - b[0]), 0.5 * (p[1] + q[1] - a[1] - b[1]))


def _solved(
    steps: Steps, weights: Sequence[Sequence[Point]], order: Sequence[int], use_turn: bool
) -> list[Rate]:
    """Return the least-squares velocities of steps in a certain order."""
    leg = steps.leg
    spans = [b - a for a, b in pairwise(steps.times)]
    size = 3 * len(order)
    rows = [[0.0, 0.0, 0.0, MIN_WEIGHT] for _ in range(size)]
    right = [0.0] * size
    for n, i in enumerate(order):
        for p, q, weight in weights[i]:
            w = weight * spans[i]
            x, y = _lever(steps, i, p, q)
            u, v = (q[0] - p[0]) / spans[i], (q[1] - p[1]) / spans[i]
            a, b, c = rows[3 * n], rows[3 * n + 1], rows[3 * n + 2]
            a[3] += w
            b[3] += w
            c[1] -= w * y / leg
            c[2] += w * x / leg
            c[3] += w * (x * x + y * y) / (leg * leg)
            right[3 * n] -= w * u
            right[3 * n + 1] -= w * v
            right[3 * n + 2] -= w * (x * v - y * u) / leg
        if n:
            near = SMOOTHING * SMOOTHING / (0.5 * (spans[i] + spans[order[n - 1]]))
            for k in range(3):
                rows[3 * n + k][0] -= near
                rows[3 * n + k][3] += near
                rows[3 * n + k - 3][3] += near
        if not use_turn:
            rows[3 * n + 2] = [0.0, 0.0, 0.0, 1.0]
            right[3 * n + 2] = 0.0
    rates = _banded_solved(rows, right)
    return [(rates[n], rates[n + 1], rates[n + 2] / leg) for n in range(0, size, 3)]


def _banded_solved(rows: list[list[float]], right: list[float]) -> list[float]:
    """Return the solution of a symmetric positive definite band system of half-bandwidth 3.

    It uses L D Lᵀ factorization in place.

    Args:
        rows: For each row of the matrix, the three elements before the diagonal, and the diagonal.
        right: The right-hand side.
    """
    count = len(right)
    for i in range(count):
        row = rows[i]
        for k in range(max(0, 3 - i), 3):
            other = rows[i - 3 + k]
            for m in range(max(0, 3 - i), k):
                row[k] -= row[m] * other[m + 3 - k]
        for k in range(max(0, 3 - i), 3):
            pivot = rows[i - 3 + k][3]
            factor = row[k] / pivot
            row[3] -= factor * row[k]
            row[k] = factor
            right[i] -= factor * right[i - 3 + k]
    values = [value / row[3] for value, row in zip(right, rows, strict=True)]
    for i in range(count - 1, -1, -1):
        for k in range(max(0, 3 - i), 3):
            values[i - 3 + k] -= rows[i][k] * values[i]
    return values


def _path(steps: Steps, rates: Sequence[Rate]) -> list[Planar]:
    """Return the motion of the root from the first sample to each."""
    path = [STILL]
    for i, (x, y, turn) in enumerate(rates):
        span = steps.times[i + 1] - steps.times[i]
        half = 0.5 * turn * span
        factor = span / (1.0 + half * half)
        move = Planar(factor * (x - half * y), factor * (half * x + y), 2.0 * atan(half))
        a, b = steps.body[i], steps.body[i + 1]
        out = Planar(0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.0)
        path.append(path[-1].after(out).after(move).after(out.inverse()))
    return path
