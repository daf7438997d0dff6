"""When a foot is on the ground, and which part of it: found from how fast and how high it is.

A point of the foot stands while it is slow and low. The notions are those by which captures are
labelled and skating is measured, given there in metres for a person; here they are shares of the
leg, and times are in seconds, so that the size of a character, its units and the frame rate make no
difference. A contact goes through the parts that gait analysis tells apart: from heel strike on the
heel stands, then the foot is flat, and from heel off until toe off the ball and the toes stand.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ..core.vectors import Quat, Vec, length, quat_angle, quat_compatible, quat_unit, scaled, sub

PERSON: Final = 0.85
"""Length of the leg, in metres, for which the published notions are meant."""

HEEL_SPEED, HEEL_HEIGHT = 0.35 / PERSON, 0.05 / PERSON
"""Up to what speed, in legs a second, and height above its lowest, in legs, a heel stands."""

BALL_SPEED, BALL_HEIGHT = 0.3 / PERSON, 0.04 / PERSON
"""The same of the ball of the foot."""

WINDOW: Final = 1.0 / 30.0
"""How many seconds before and after a frame its speed is taken over: captures jitter."""

OUTLIERS: Final = 0.05
"""The share of the lowest frames that do not say how low a point comes."""

GAP: Final = 0.05
"""For how many seconds a point that stands may seem to be on its way."""

SHORTEST: Final = 0.03
"""For how many seconds a part of a foot stands at least."""

MOST_DRIFT: Final = 0.06
"""How far from its place a foot may creep while it stands, in lengths of the leg."""

MOST_TURN: Final = 0.35
"""How far it may turn about its place while it is flat, in radians."""

HEEL, FLAT, BALL = "HEEL", "FLAT", "BALL"


class Thresholds(NamedTuple):
    """When a foot counts as slow, as low, and as standing.

    Attributes:
        speed: In metres a second; 0 for the published ones.
        height: Above the lowest place of the track, in metres; 0 for the published ones.
        shortest: Frames from the first to the last of a contact, at least.
    """

    speed: float = 0.0
    height: float = 0.0
    shortest: int = 0


class Way(NamedTuple):
    """The way of a point of a foot.

    Attributes:
        path: Where it is at each frame, seen from the ground below it, in metres.
        heights: How high it is at each frame, in metres from anywhere.
    """

    path: Sequence[Vec]
    heights: Sequence[float]


class Part(NamedTuple):
    """A while in which the same part of a foot stands.

    Attributes:
        kind: `HEEL`, `FLAT` or `BALL`.
        first: The frame at which it begins, counted from the first of the track.
        last: The frame at which it ends.
    """

    kind: str
    first: int
    last: int


class Contact(NamedTuple):
    """A while in which a foot stands.

    Attributes:
        parts: What of it stands, one part right after the other.
    """

    parts: tuple[Part, ...]

    @property
    def first(self) -> int:
        """The frame at which it begins, counted from the first of the track."""
        return self.parts[0].first

    @property
    def last(self) -> int:
        """The frame at which it ends."""
        return self.parts[-1].last


def contacts_of(
    heel: Way,
    ball: Way,
    turns: Sequence[Quat],
    rate: float,
    leg: float,
    thresholds: Thresholds,
) -> list[Contact]:
    """Return the contacts of a foot with the ground, in order.

    Args:
        heel: The way of its heel, or of the joint above it.
        ball: That of its ball; of a foot of which but one point is known, the same.
        turns: How it is turned at each frame.
        rate: Frames a second.
        leg: Length of the leg in metres.
        thresholds: When it counts as standing.
    """
    if len(heel.path) < 2 or not rate > 0.0 or not leg > 0.0:
        return []
    least = max(1, round(SHORTEST * rate))
    heel_stands = _standing(heel, rate, leg, _limits(HEEL_SPEED, HEEL_HEIGHT, leg, thresholds))
    ball_stands = _standing(ball, rate, leg, _limits(BALL_SPEED, BALL_HEIGHT, leg, thresholds))
    kinds = [
        (FLAT if on_heel else BALL) if on_ball else (HEEL if on_heel else "")
        for on_heel, on_ball in zip(heel_stands, ball_stands, strict=True)
    ]
    for first, last in runs(kinds, FLAT):
        begin, end = _steady(first, last, lambda a, b: quat_angle(turns[a], turns[b]) <= MOST_TURN)
        if end - begin < least:
            begin = last + 1
        for i in (*range(first, min(begin, last + 1)), *range(end + 1, last + 1)):
            kinds[i] = BALL
    _drop_lone_heels(kinds)
    shortest = max(least, thresholds.shortest)
    found = [_contact(kinds, first, last) for first, last in _spans(kinds)]
    return [contact for contact in found if contact.last - contact.first >= shortest]


def _limits(speed: float, height: float, leg: float, thresholds: Thresholds) -> tuple[float, float]:
    """Return up to which speed and which height above the lowest place a point stands."""
    return (
        thresholds.speed if thresholds.speed > 0.0 else speed * leg,
        thresholds.height if thresholds.height > 0.0 else height * leg,
    )


def _standing(way: Way, rate: float, leg: float, limits: tuple[float, float]) -> list[bool]:
    """Return at which frames a point stands."""
    slow, low = limits
    lowest = quantile(way.heights, OUTLIERS)
    stands = [
        speed < slow and height - lowest < low
        for speed, height in zip(speeds(way.path, rate), way.heights, strict=True)
    ]
    gap, least = round(GAP * rate), max(1, round(SHORTEST * rate))
    for first, last in runs(stands, False):
        if first > 0 and last < len(stands) - 1 and last - first < gap:
            stands[first : last + 1] = [True] * (last - first + 1)
    for first, last in runs(stands, True):
        stands[first : last + 1] = [False] * (last - first + 1)
        for a, b in _pieces(way.path, (first, last), MOST_DRIFT * leg, max(1, round(0.1 * rate))):
            if b - a >= least:
                stands[a : b + 1] = [True] * (b - a + 1)
    return stands


def speeds(path: Sequence[Vec], rate: float) -> list[float]:
    """Return how fast a point is at each frame, over a short while around it."""
    window, last = max(1, round(WINDOW * rate)), len(path) - 1
    found: list[float] = []
    for i in range(len(path)):
        a, b = max(0, i - window), min(last, i + window)
        found.append(length(sub(path[b], path[a])) * rate / (b - a))
    return found


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all is."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def mean(places: Sequence[Vec]) -> Vec:
    """Return the mean of places."""
    xs, ys, zs = zip(*places, strict=True)
    return scaled((sum(xs), sum(ys), sum(zs)), 1.0 / len(places))


def median_of(places: Sequence[Vec]) -> Vec:
    """Return the median of places, axis by axis."""
    x, y, z = (quantile(values, 0.5) for values in zip(*places, strict=True))
    return x, y, z


def mean_turn(turns: Sequence[Quat]) -> Quat:
    """Return the mean of rotations that are near one another."""
    w = x = y = z = 0.0
    for turn in turns:
        a, b, c, d = quat_compatible(turn, turns[0])
        w, x, y, z = w + a, x + b, y + c, z + d
    return quat_unit((w, x, y, z))


def runs(flags: Sequence[object], wanted: object) -> list[tuple[int, int]]:
    """Return the first and last frames of each run of frames that are flagged as wanted."""
    found: list[tuple[int, int]] = []
    start = -1
    for i, flag in enumerate(flags):
        if flag == wanted and start < 0:
            start = i
        elif flag != wanted and start >= 0:
            found.append((start, i - 1))
            start = -1
    return [*found, (start, len(flags) - 1)] if start >= 0 else found


def _pieces(
    path: Sequence[Vec], run: tuple[int, int], drift: float, gap: int
) -> list[tuple[int, int]]:
    """Return the whiles within a run in which a point stays near a place, a gap apart."""
    first, last = run
    if last <= first:
        return [run] if last == first else []
    begin, end = _steady(first, last, lambda a, b: length(sub(path[a], path[b])) <= drift)
    return [
        *(_pieces(path, (first, begin - gap), drift, gap) if begin > first else []),
        (begin, end),
        *(_pieces(path, (end + gap, last), drift, gap) if end < last else []),
    ]


def _steady(first: int, last: int, is_near: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the frames around the middle of a run that are near to it."""
    middle = begin = end = (first + last) // 2
    while begin > first and is_near(begin - 1, middle):
        begin -= 1
    while end < last and is_near(end + 1, middle):
        end += 1
    return begin, end


def _drop_lone_heels(kinds: list[str]) -> None:
    """Take no account of heels that stand, but right before or after the foot is flat."""
    for first, last in runs(kinds, HEEL):
        beside = {kinds[i] for i in (first - 1, last + 1) if 0 <= i < len(kinds)}
        if FLAT not in beside or BALL in beside:
            kinds[first : last + 1] = [""] * (last - first + 1)


def _spans(kinds: Sequence[str]) -> list[tuple[int, int]]:
    return runs([bool(kind) for kind in kinds], True)


def _contact(kinds: Sequence[str], first: int, last: int) -> Contact:
    parts: list[Part] = []
    for i in range(first, last + 1):
        if parts and parts[-1].kind == kinds[i]:
            parts[-1] = parts[-1]._replace(last=i)
        else:
            parts.append(Part(kinds[i], i, i))
    return Contact(tuple(parts))
