"""When a foot is on the ground: found from how fast and how high the animation keeps it.

A foot stands while it is slow and low. Both are asked for twice, as a switch with hysteresis does:
a contact has to have a frame at which the foot is clearly at rest, and from there it goes on, both
ways in time, as long as the foot is not clearly on its way. So a foot that trembles about one
threshold does not stutter, and the answer is the same played backwards.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ..core.vectors import Vec, length, scaled, sub

AT_REST = 0.2
"""Share of the foot's own greatest speed and height, up to which it is at rest."""

ON_ITS_WAY = 1.75
"""How many times the threshold the foot has to be fast, or high, to be on its way."""

LEAST_SPEED = 0.1
"""Speed below which a foot is at rest in any case, in lengths of the leg a second."""

LEAST_HEIGHT = 0.02
"""Height above the lowest place below which a foot is low in any case, in lengths of the leg."""

MOST_DRIFT = 0.25
"""How far a foot may creep in one contact, in lengths of the leg."""

OUTLIERS = 0.05
"""The share of the fastest and highest frames that do not say how a foot goes."""


class Thresholds(NamedTuple):
    """When a foot counts as slow, as low, and as standing.

    Attributes:
        speed: In metres a second; 0 to take it from the track.
        height: Above the lowest place of the track, in metres; 0 to take it from the track.
        shortest: Frames from the first to the last of a contact, at least.
    """

    speed: float = 0.0
    height: float = 0.0
    shortest: int = 2


class Contact(NamedTuple):
    """A while in which a foot stands.

    Attributes:
        first: The frame at which it begins, counted from that of the track's first place.
        last: The frame at which it ends.
        place: Where the foot stands in the mean.
    """

    first: int
    last: int
    place: Vec


def contacts_of(
    path: Sequence[Vec],
    heights: Sequence[float],
    rate: float,
    leg: float,
    thresholds: Thresholds,
) -> list[Contact]:
    """Return the contacts of a foot with the ground, in order.

    Args:
        path: Where the foot is at each frame, seen from the ground below it, in metres.
        heights: How high it is above the floor of the animation at each frame, in metres.
        rate: Frames a second.
        leg: Length of the leg in metres.
        thresholds: When it counts as standing.
    """
    if len(path) < 2 or not rate > 0.0:
        return []
    speeds = _speeds(path, rate)
    low = min(heights)
    slow_at, low_at = limits_of(speeds, heights, leg, thresholds)
    rest = [v <= slow_at and h - low <= low_at for v, h in zip(speeds, heights, strict=True)]
    near = [
        v <= slow_at * ON_ITS_WAY and h - low <= low_at * ON_ITS_WAY
        for v, h in zip(speeds, heights, strict=True)
    ]
    found: list[Contact] = []
    for first, last in _runs(near):
        found += _standing(path, speeds, rest, (first, last), MOST_DRIFT * leg)
    shortest = max(1, thresholds.shortest)
    return [contact for contact in found if contact.last - contact.first >= shortest]


def limits_of(
    speeds: Sequence[float], heights: Sequence[float], leg: float, thresholds: Thresholds
) -> tuple[float, float]:
    """Return up to which speed and which height above the lowest place a foot is at rest.

    Where a threshold is 0 it is a share of what the track itself reaches, so that a stroll and a
    sprint both work; and never so little that a foot which only trembles would not stand.
    """
    slow, low = thresholds.speed, thresholds.height
    if not slow > 0.0:
        slow = max(AT_REST * _greatest(speeds), LEAST_SPEED * leg)
    if not low > 0.0:
        low = max(AT_REST * (_greatest(heights) - min(heights)), LEAST_HEIGHT * leg)
    return slow, low


def _greatest(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[int((len(ordered) - 1) * (1.0 - OUTLIERS))]


def _speeds(path: Sequence[Vec], rate: float) -> list[float]:
    """Return how fast the foot is at each frame: the slower of the ways to it and from it.

    So the first and the last frame on which it stands count as standing.
    """
    ways = [length(sub(b, a)) * rate for a, b in itertools.pairwise(path)]
    return [min(a, b) for a, b in zip((ways[0], *ways), (*ways, ways[-1]), strict=True)]


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the first and last frames of each run of frames that are flagged."""
    runs: list[tuple[int, int]] = []
    start = -1
    for i, flag in enumerate((*flags, False)):
        if flag and start < 0:
            start = i
        elif not flag and start >= 0:
            runs.append((start, i - 1))
            start = -1
    return runs


def _standing(
    path: Sequence[Vec],
    speeds: Sequence[float],
    rest: Sequence[bool],
    run: tuple[int, int],
    drift: float,
) -> list[Contact]:
    """Return the contacts within a run: one, or more if the foot creeps on and on."""
    first, last = run
    core = [i for i in range(first, last + 1) if rest[i]]
    if not core:
        return []
    middle = min(core, key=lambda i: (speeds[i], abs(2 * i - first - last)))
    begin = end = middle
    while begin > first and length(sub(path[begin - 1], path[middle])) <= drift:
        begin -= 1
    while end < last and length(sub(path[end + 1], path[middle])) <= drift:
        end += 1
    # A foot that goes on needs a frame to do so.
    before = _standing(path, speeds, rest, (first, begin - 2), drift)
    after = _standing(path, speeds, rest, (end + 2, last), drift)
    return [*before, Contact(begin, end, _mean(path[begin : end + 1])), *after]


def _mean(places: Sequence[Vec]) -> Vec:
    xs, ys, zs = zip(*places, strict=True)
    return scaled((sum(xs), sum(ys), sum(zs)), 1.0 / len(places))
