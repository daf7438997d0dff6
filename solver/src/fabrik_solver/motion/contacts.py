"""Detect contacts: when a foot stands on the ground, and on which part of its sole.

A point of the foot is in contact while it is slow and low. The thresholds are those used to label
captures and to measure foot skating. They are published in meters for a person; here they are
fractions of the leg's length, and durations are in seconds. So a character's size, its units and
the frame rate don't matter. A contact has the phases of gait analysis. The heel stands from heel
strike to foot-flat, the whole sole until heel-off, and the ball until toe-off.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Final, NamedTuple

from ..core.vectors import Quat, Vec, length, quat_angle, quat_compatible, quat_unit, scaled, sub

PERSON: Final = 0.85
"""The leg length that the published thresholds assume, in meters."""

HEEL_SPEED, HEEL_HEIGHT = 0.35 / PERSON, 0.05 / PERSON
"""The maximum speed of a heel in contact, in leg lengths per second, and its maximum height above
its lowest position, in leg lengths."""

BALL_SPEED, BALL_HEIGHT = 0.3 / PERSON, 0.04 / PERSON
"""The same for the ball of the foot."""

SWIFT: Final = 0.9
"""The quantile of a foot's speeds that counts as its swing speed."""

HURRY: Final = 0.055
"""The fraction of the swing speed below which a foot always counts as slow. In a run, the ball
passes over the floor faster than in a walk, and in less time."""

WINDOW: Final = 1.0 / 30.0
"""The time before and after a frame over which speed is measured, in seconds: captures jitter. No
phase is shorter."""

OUTLIERS: Final = 0.05
"""The fraction of frames that may be below the lowest position: captures have outliers."""

QUICKEST: Final = 0.1
"""The shortest time between two contacts of a foot, in seconds."""

GAP: Final = 0.5 * QUICKEST
"""The longest gap in a contact that is ignored, in seconds."""

MOST_TURN: Final = 0.35
"""How far a foot may turn while it is flat, in radians."""

FOOT: Final = 2.0
"""The length of a foot from the back of its heel to the tip of its toes, relative to the distance
between the joints above heel and ball."""

HEEL, FLAT, BALL = "HEEL", "FLAT", "BALL"

KINDS = {(True, True): FLAT, (True, False): HEEL, (False, True): BALL, (False, False): ""}
"""The part of the sole that stands, if the heel, the ball, both, or neither does."""


class Thresholds(NamedTuple):
    """The thresholds of a contact that the user may set.

    Attributes:
        speed: The maximum speed, in meters per second; 0 uses the published threshold.
        height: The maximum height above the lowest position in the clip, in meters; 0 uses the
            published threshold.
        shortest: The minimum number of frames from a contact's first frame to its last.
    """

    speed: float = 0.0
    height: float = 0.0
    shortest: int = 0


class Trajectory(NamedTuple):
    """The trajectory of a point of a foot.

    Attributes:
        path: Its position at each frame, relative to the ground below it, in meters.
        heights: Its height at each frame, in meters above any fixed level.
    """

    path: Sequence[Vec]
    heights: Sequence[float]


class Part(NamedTuple):
    """A phase of a contact, with one part of the sole standing.

    Attributes:
        kind: `HEEL`, `FLAT` or `BALL`.
        first: The frame at which it starts, counted from the track's first frame.
        last: The frame at which it ends.
    """

    kind: str
    first: int
    last: int


class Contact(NamedTuple):
    """A contact of a foot with the ground.

    Attributes:
        parts: Its phases, without gaps.
    """

    parts: tuple[Part, ...]

    @property
    def first(self) -> int:
        """The frame at which the contact starts, counted from the track's first frame."""
        return self.parts[0].first

    @property
    def last(self) -> int:
        """The frame at which the contact ends, counted from the track's first frame."""
        return self.parts[-1].last


def contacts_of(
    heel: Trajectory,
    ball: Trajectory,
    turns: Sequence[Quat],
    rate: float,
    leg: float,
    thresholds: Thresholds,
) -> list[Contact]:
    """Return a foot's contacts with the ground, in order.

    Args:
        heel: The trajectory of its heel, or of the joint above the heel.
        ball: The trajectory of its ball; the heel's if only one point of the foot is known.
        turns: Its orientation at each frame.
        rate: Frames per second.
        leg: The length of the leg, in meters.
        thresholds: The thresholds of a contact.
    """
    if len(heel.path) < 2 or not rate > 0.0 or not leg > 0.0:
        return []
    hurry = 1.0 if thresholds.speed > 0.0 else _hurry(ball.path, rate, leg)
    least = round(WINDOW * rate / hurry)
    heel_limits = _limits(HEEL_SPEED, HEEL_HEIGHT, leg, thresholds)
    ball_limits = _limits(BALL_SPEED, BALL_HEIGHT, leg, thresholds)
    foot = _lower(heel, ball)
    valleys = _valleys(foot, BALL_HEIGHT * leg)
    drifts = _drifts(foot, valleys, leg)
    heel_stands, ball_stands = (
        _standing(point, _low(point.heights, valleys, drifts, leg, high), rate, leg, fast, hurry)
        for point, (fast, high) in ((heel, heel_limits), (ball, ball_limits))
    )
    kinds = [KINDS[on] for on in zip(heel_stands, ball_stands, strict=True)]
    _roll_turned(kinds, turns, least)
    _drop_lone_heels(kinds)
    _join(kinds, round(QUICKEST * rate))
    shortest = max(least, thresholds.shortest)
    contacts = [_contact(kinds, first, last) for first, last in _spans(kinds)]
    return [contact for contact in contacts if contact.last - contact.first >= shortest]


def _roll_turned(kinds: list[str], turns: Sequence[Quat], least: int) -> None:
    """Mark a flat foot as rolling on its ball before and after its angle is steady.

    Args:
        kinds: The part that stands at each frame; changed in place.
        turns: The foot's orientation at each frame.
        least: The minimum number of frames with a steady angle.
    """
    for first, last in runs(kinds, FLAT):
        begin, end = _steady(first, last, lambda a, b: quat_angle(turns[a], turns[b]) <= MOST_TURN)
        if end - begin < least:
            begin = last + 1
        for i in (*range(first, min(begin, last + 1)), *range(end + 1, last + 1)):
            kinds[i] = BALL


def strikes_and_offs(
    contacts: Sequence[Contact],
    heel: Trajectory,
    ball: Trajectory,
    turns: Sequence[Quat],
    rate: float,
    size: float,
) -> list[tuple[int, int]]:
    """Return the frames of heel strike and toe-off of contacts.

    A foot lands on the back of its heel and leaves from the tip of its toes. It pivots about these
    points while the joints above heel and ball move fast. A swinging foot turns about a point more
    than a foot's length away.

    Args:
        contacts: The contacts.
        heel: The heel's trajectory.
        ball: The ball's trajectory.
        turns: The foot's orientation at each frame.
        rate: Frames per second.
        size: The distance between heel and ball.
    """
    ends = _windows(len(turns), rate)
    spins = [quat_angle(turns[a], turns[b]) * rate / max(1, b - a) for a, b in ends]
    swings = [
        [pace > FOOT * size * spin for pace, spin in zip(speeds(path, rate), spins, strict=True)]
        for path in (heel.path, ball.path)
    ]
    for flags in swings:
        for first, last in runs(flags, True):
            if last - first < round(GAP * rate):
                flags[first : last + 1] = [False] * (last - first + 1)
    spans: list[tuple[int, int]] = []
    for contact in contacts:
        first, last = contact.first, contact.last
        while first > 0 and not swings[0][first - 1]:
            first -= 1
        while last < len(turns) - 1 and not swings[1][last + 1]:
            last += 1
        spans.append((first, last))
    return spans


def _hurry(path: Sequence[Vec], rate: float, leg: float) -> float:
    """Return how much faster than in a walk a foot swings, as a factor of at least 1."""
    return max(1.0, HURRY * quantile(speeds(path, rate), SWIFT) / (BALL_SPEED * leg))


def _limits(speed: float, height: float, leg: float, thresholds: Thresholds) -> tuple[float, float]:
    """Return a point's maximum speed in contact, and maximum height above its lowest position.

    Args:
        speed: The published speed, in leg lengths per second.
        height: The published height, in leg lengths.
        leg: The length of the leg, in meters.
        thresholds: The user's thresholds, which replace the published ones.
    """
    return (
        thresholds.speed if thresholds.speed > 0.0 else speed * leg,
        thresholds.height if thresholds.height > 0.0 else height * leg,
    )


def _standing(
    trajectory: Trajectory,
    low: Sequence[bool],
    rate: float,
    leg: float,
    limit: float,
    hurry: float,
) -> list[bool]:
    """Return for each frame whether a point is in contact.

    A contact in which the point creeps is split. A remainder at its start or end may be too short
    for a contact. Such a remainder joins the first or last part, because the foot lands or rolls
    off there.
    """
    slow = hurry * limit
    least = round(WINDOW * rate / hurry)
    pairs = zip(_paces(trajectory, rate, hurry), low, strict=True)
    in_contact = [is_low and speed < slow for speed, is_low in pairs]
    creep = HEEL_HEIGHT * leg  # It may be as far from its mean as it may be above its lowest place.
    _close(in_contact, round(GAP * rate))
    for first, last in runs(in_contact, True):
        in_contact[first : last + 1] = [False] * (last - first + 1)
        pieces = _pieces(trajectory.path, (first, last), creep, max(1, round(QUICKEST * rate)))
        long = max(least, 2.0 * creep / slow * rate)
        whole = [(a, b) for a, b in pieces if b - a >= long] or pieces
        if pieces[0] != whole[0]:
            whole[0] = (pieces[0][0], whole[0][1])
        if pieces[-1] != whole[-1]:
            whole[-1] = (whole[-1][0], pieces[-1][1])
        for a, b in whole:
            if b - a >= least:
                in_contact[a : b + 1] = [True] * (b - a + 1)
    return in_contact


def _close(in_contact: list[bool], gap: int) -> None:
    """Close gaps between contacts that are shorter than a number of frames."""
    for first, last in runs(in_contact, False):
        if first > 0 and last < len(in_contact) - 1 and last - first < gap:
            in_contact[first : last + 1] = [True] * (last - first + 1)


def _low(
    heights: Sequence[float],
    valleys: Sequence[tuple[int, int]],
    drifts: Sequence[float],
    leg: float,
    most: float,
) -> list[bool]:
    """Return for each frame whether a point is no higher than its nearby lowest position allows.

    If the clip cuts off a stance, that position is unknown, and the floor counts instead.

    Args:
        heights: The height of the point at each frame.
        valleys: The spans from `_valleys`.
        drifts: The drift of the floor at each frame.
        leg: The length of the leg, in meters.
        most: The maximum height above the lowest position, in meters.
    """
    lowest = quantile(heights, OUTLIERS)
    above = [height - lowest for height in heights]
    begin = valleys[0][1] + 1
    end = max(begin, valleys[-1][0])
    floors = [*drifts[:begin], *_drifts(above, valleys, leg)[begin:end], *drifts[end:]]
    return [height - floor < most for height, floor in zip(above, floors, strict=True)]


def floor_drifts(heel: Trajectory, ball: Trajectory, leg: float) -> list[float]:
    """Return the height of the clip's floor at each frame, above the floor's lowest height.

    The floor of a capture drifts as the character moves, because the captured volume isn't level.
    The floor is as low as the lower of heel and ball gets between two swings. From one stance to
    the next, it drifts less than twice `BALL_HEIGHT`: once for each step of a stride. A larger
    change is a step on the ground, or a cut.

    Args:
        heel: The heel's trajectory.
        ball: The ball's trajectory.
        leg: The length of the leg, in meters.
    """
    foot = _lower(heel, ball)
    return _drifts(foot, _valleys(foot, BALL_HEIGHT * leg), leg)


def _lower(heel: Trajectory, ball: Trajectory) -> list[float]:
    """Return the height of the lower of heel and ball, each above its own lowest position."""
    lows = quantile(heel.heights, OUTLIERS), quantile(ball.heights, OUTLIERS)
    pairs = zip(heel.heights, ball.heights, strict=True)
    return [min(a - lows[0], b - lows[1]) for a, b in pairs]


def _drifts(
    heights: Sequence[float], valleys: Sequence[tuple[int, int]], leg: float
) -> list[float]:
    """Return the drift of the floor at each frame, below a point whose lowest height is 0.

    Args:
        heights: The height of the point at each frame.
        valleys: The spans from `_valleys`.
        leg: The length of the leg, in meters.
    """
    levels = [quantile(heights[first : last + 1], OUTLIERS) for first, last in valleys]
    base = min(range(len(levels)), key=lambda i: abs(levels[i]))
    for numbers in (range(base + 1, len(levels)), range(base - 1, -1, -1)):
        level = levels[base]
        for i in numbers:
            is_near = abs(levels[i] - level) < 2.0 * BALL_HEIGHT * leg
            level = levels[i] = levels[i] if is_near else level
    spans = [last - first + 1 for first, last in valleys]
    return [level for level, span in zip(levels, spans, strict=True) for _ in range(span)]


def _valleys(heights: Sequence[float], least: float) -> list[tuple[int, int]]:
    """Return the spans between a height's peaks, which rise and fall by more than ``least``."""
    peaks: list[int] = []
    peak = valley = 0
    is_up = True
    for i, height in enumerate(heights):
        if height > heights[peak]:
            peak = i
        if height < heights[valley]:
            valley = i
        if is_up and height < heights[peak] - least:
            peaks.append(peak)
            valley, is_up = i, False
        elif not is_up and height > heights[valley] + least:
            peak, is_up = i, True
    starts = [0, *[peak for peak in peaks if peak > 0]]
    return list(zip(starts, [*[start - 1 for start in starts[1:]], len(heights) - 1], strict=True))


def _paces(trajectory: Trajectory, rate: float, hurry: float) -> list[float]:
    """Return a point's speeds; vertical speeds count less if the foot is faster than in a walk.

    The ball of a running foot touches down and leaves at full speed, but doesn't slide.
    """
    paces = speeds(trajectory.path, rate)
    if hurry > 1.0:
        rises = speeds([(0.0, 0.0, height) for height in trajectory.heights], rate)
        fraction = 1.0 - 1.0 / (hurry * hurry)
        paces = [
            sqrt(max(0.0, speed * speed - fraction * rise * rise))
            for speed, rise in zip(paces, rises, strict=True)
        ]
    return paces


def speeds(path: Sequence[Vec], rate: float) -> list[float]:
    """Return a point's speed at each frame, measured over `WINDOW` before and after it.

    It is 0 for a single frame.
    """
    ends = _windows(len(path), rate)
    return [length(sub(path[b], path[a])) * rate / max(1, b - a) for a, b in ends]


def _windows(frames: int, rate: float) -> list[tuple[int, int]]:
    """Return the pairs of frames over which the speed at each frame is measured."""
    window, last = max(1, round(WINDOW * rate)), frames - 1
    return [(max(0, i - window), min(last, i + window)) for i in range(frames)]


def quantile(values: Sequence[float], fraction: float) -> float:
    """Return a quantile of values, with linear interpolation."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * fraction
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def mean(places: Sequence[Vec]) -> Vec:
    """Return the mean of points."""
    xs, ys, zs = zip(*places, strict=True)
    return scaled((sum(xs), sum(ys), sum(zs)), 1.0 / len(places))


def median_of(places: Sequence[Vec]) -> Vec:
    """Return the median of points, separately for each axis."""
    x, y, z = (quantile(values, 0.5) for values in zip(*places, strict=True))
    return x, y, z


def mean_turn(turns: Sequence[Quat]) -> Quat:
    """Return the mean of rotations that are close to one another."""
    w = x = y = z = 0.0
    for turn in turns:
        a, b, c, d = quat_compatible(turn, turns[0])
        w, x, y, z = w + a, x + b, y + c, z + d
    return quat_unit((w, x, y, z))


def runs(flags: Sequence[object], wanted: object) -> list[tuple[int, int]]:
    """Return the first and last frame of each run of frames with the wanted flag."""
    spans: list[tuple[int, int]] = []
    start = -1
    for i, flag in enumerate(flags):
        if flag == wanted and start < 0:
            start = i
        elif flag != wanted and start >= 0:
            spans.append((start, i - 1))
            start = -1
    return [*spans, (start, len(flags) - 1)] if start >= 0 else spans


def _pieces(
    path: Sequence[Vec], run: tuple[int, int], drift: float, gap: int
) -> list[tuple[int, int]]:
    """Return the pieces of a run, split where a point drifts too far, with a gap in between."""
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
    """Return the first and last frame of the steady middle of a run.

    Args:
        first: The first frame of the run.
        last: The last one.
        is_near: Whether the poses of two frames are nearly equal.
    """
    middle = begin = end = (first + last) // 2
    while begin > first and is_near(begin - 1, middle):
        begin -= 1
    while end < last and is_near(end + 1, middle):
        end += 1
    return begin, end


def _drop_lone_heels(kinds: list[str]) -> None:
    """Ignore heel contacts that aren't right before or after foot-flat."""
    for first, last in runs(kinds, HEEL):
        beside = {kinds[i] for i in (first - 1, last + 1) if 0 <= i < len(kinds)}
        if FLAT not in beside or BALL in beside:
            kinds[first : last + 1] = [""] * (last - first + 1)


def _join(kinds: list[str], quickest: int) -> None:
    """Let a foot keep standing if it slips for less time than a swing takes.

    Args:
        kinds: The part that stands at each frame; changed in place.
        quickest: The number of frames of the quickest swing.
    """
    for first, last in runs(kinds, ""):
        beside = {kinds[i] for i in (first - 1, last + 1) if 0 <= i < len(kinds)}
        if last - first + 2 < quickest and 0 < first <= last < len(kinds) - 1 and len(beside) == 1:
            kinds[first : last + 1] = [kinds[first - 1]] * (last - first + 1)


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
