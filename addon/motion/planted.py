"""A foot that stays where it stands, on the flat floor of its animation.

What stands is locked: the heel, the whole sole, or the ball of the foot. The foot pivots on it as
the animation rolls it. What that takes from where the animation has it is the offset. It ends with
the contact, but not at once: before a contact it comes, and after one it goes, over a short time,
so that the foot has no speed while it is locked, and that of its animation where the offset is
gone. As all contacts are known ahead, a foot that stands is locked for as long as it does, and none
of it depends on how many frames there are in a second.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import atan2, floor
from typing import NamedTuple

from ..core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mix,
    quat_about,
    quat_compatible,
    quat_exp,
    quat_product,
    rotate,
    scaled,
    sub,
    unit,
)
from .contacts import BALL, FLAT, HEEL, Contact, Part, mean, mean_turn, median_of
from .easing import smoother

ROOM = 0.55
"""The share of what the animation leaves of a leg's length that a lock may take of it."""

SOFT = 0.003
"""Over which share of the leg the heel begins to rise, at most."""

MOST_RISE = 0.5
"""By how much a foot is turned about its ball to raise its heel, at most, in radians."""

NEWTON, LEAST_GAIN = 4, 0.2
"""How often that angle is corrected, and the least share of it that has to bring the foot near."""

WEIGHT = 0.02
"""By which share a leg has to be bent more for its foot to count half as much for its place."""

EDGE = 1.0 / 60.0
"""For how many seconds from the end of a contact on the speed there is taken over."""


class Pose(NamedTuple):
    """Where a foot is.

    Attributes:
        place: Its goal, in world space; the height is meant from the floor of the animation.
        turn: How it is turned in world space.
    """

    place: Vec
    turn: Quat = QUAT_IDENTITY


class Sole(NamedTuple):
    """Where a foot touches the floor, seen from its goal, in its own axes.

    Attributes:
        heel: The point below the heel.
        ball: The point below the ball.
    """

    heel: Vec = ORIGIN
    ball: Vec = ORIGIN


class Leg(NamedTuple):
    """What carries a foot.

    Attributes:
        root: Returns where its first joint is at a frame, seen from the goal of the foot.
        ankle: Where its last joint is, seen from there, in the axes of the foot.
        length: From the one to the other, if it is straight.
    """

    root: Callable[[int], Vec]
    ankle: Vec
    length: float


class Anchor(NamedTuple):
    """What a part of a contact is locked to.

    Attributes:
        part: The part.
        turn: How the foot is turned while it is flat.
        start: Where the goal is while it is flat, or else the point that stands, at its beginning.
        end: The same at its end.
    """

    part: Part
    turn: Quat
    start: Vec
    end: Vec


class Place(NamedTuple):
    """Where a contact is.

    Attributes:
        contact: The contact.
        anchors: One for each of its parts.
        base: Where the goal of the foot is in the mean, on flat ground.
        turn: How it is turned there.
    """

    contact: Contact
    anchors: tuple[Anchor, ...]
    base: Vec
    turn: Quat


class Edge(NamedTuple):
    """The end of a while in which something is locked.

    Attributes:
        frame: When that is.
        offset: What is taken from the animation there.
        rate: How fast that changes from there on, away from what is locked, a frame.
    """

    frame: int
    offset: Vec
    rate: Vec


def sole_of(
    points: tuple[Vec, Vec],
    contacts: Sequence[Contact],
    heights: Sequence[float],
    ups: Sequence[Vec],
) -> Sole:
    """Return where a foot touches the floor, as it stands at most times.

    That is the median, which a contact on a step, or one that the capture has off its floor, does
    not move.

    Args:
        points: The joints above its heel and its ball, seen from its goal, in its own axes.
        contacts: When it stands.
        heights: How high its goal is above the floor at each frame.
        ups: The direction of length 1 in which heights are meant, in its own axes.
    """
    parts = [part for contact in contacts for part in contact.parts]
    found: list[Vec] = []
    for point, other in zip(points, (BALL, HEEL), strict=True):
        frames = _frames([part for part in parts if part.kind == FLAT]) or _frames(
            [part for part in parts if part.kind != other]
        )
        down = [sub(point, scaled(ups[f], heights[f] + dot(point, ups[f]))) for f in frames]
        found.append(median_of(down) if down else point)
    return Sole(found[0], found[1])


def _frames(parts: Sequence[Part]) -> list[int]:
    return [frame for part in parts for frame in range(part.first, part.last + 1)]


class Planted:
    """A foot over all frames, locked where it stands."""

    def __init__(
        self,
        contacts: Sequence[Contact],
        counted: Callable[[int], bool],
        pose: Callable[[int], Pose],
        frames: int,
        leg: Leg,
        up: Vec,
        sole: Sole,
        rate: float,
        blend: float,
    ) -> None:
        """Take a foot.

        Args:
            contacts: When it stands.
            counted: Whether a frame of a contact tells of its place.
            pose: Where the animation has it at a frame.
            frames: How many frames there are.
            leg: What carries it.
            up: The direction of length 1 against which it stands.
            sole: Where it touches the floor.
            rate: Frames a second.
            blend: For how many seconds an offset comes and goes.
        """
        self._pose = pose
        self._last = frames - 1
        self._leg = leg
        self._up = up
        self._sole = sole
        self._window = max(1, round(EDGE * rate))
        self._blend = blend * rate
        self.places = [self._place(contact, counted) for contact in contacts]
        self._starts = [contact.first for contact in contacts]
        self._flats = [
            anchor for place in self.places for anchor in place.anchors if anchor.part.kind == FLAT
        ]
        self._flat_starts = [anchor.part.first for anchor in self._flats]
        self._turned: dict[tuple[int, bool], Edge] = {}
        self._ends: dict[tuple[int, bool], tuple[Edge, Edge]] = {}

    def around(self, time: float) -> tuple[int, bool]:
        """Return the number of the last contact that began by a time, and whether it lasts."""
        number = bisect_right(self._starts, time) - 1
        return number, number >= 0 and time <= self.places[number].contact.last

    def at(self, time: float, pose: Pose) -> Pose:
        """Return a foot as it is locked, or on its way, given where the animation has it now."""
        number, stands = self.around(time)
        if stands:
            return self._standing(number, time, pose)
        offset, turned = ORIGIN, ORIGIN
        span = min(self._blend, self._gap(number))
        for moved, turning, gone in self._edges(number, time):
            if gone < span:
                offset = add(offset, eased(moved, gone, span))
                turned = add(turned, eased(turning, gone, span))
        return Pose(add(pose.place, offset), _turned(pose.turn, turned))

    def _reaching(self, time: float, given: Pose, foot: Pose) -> Pose:
        """Return a foot whose heel rises where its leg would be stretched for its lock.

        As one does who stands on a foot that is left behind: the ball stays where it is. A knee
        that is nearly straight turns by a lot for a little more of reach.
        """
        leg = self._leg
        root = self._root(time)
        ankle = add(foot.place, rotate(foot.turn, leg.ankle))
        lever = sub(ankle, add(foot.place, rotate(foot.turn, self._sole.ball)))
        axis = unit(cross(lever, self._up))
        if axis is None or self._sole.heel == self._sole.ball:
            return foot
        stretch = length(sub(root, rotate(given.turn, leg.ankle)))
        root = add(given.place, root)
        most = stretch + ROOM * max(0.0, leg.length - stretch)
        soft = min(SOFT * leg.length, most - stretch)
        far = length(sub(root, ankle))
        excess = _over(far - most, soft)
        if excess <= 0.0:
            return foot
        angle, turned = 0.0, lever
        for _ in range(NEWTON):
            apart = sub(root, add(sub(ankle, lever), turned))
            size = length(apart)
            gain = dot(apart, cross(axis, turned)) / size if size > 0.0 else 0.0
            if gain < LEAST_GAIN * length(lever):
                break
            angle = min(max(0.0, angle + (size - far + excess) / gain), MOST_RISE)
            turned = rotate(quat_about(axis, angle), lever)
        turn = quat_product(quat_about(axis, angle), foot.turn)
        ankle = add(sub(ankle, lever), turned)
        return Pose(sub(ankle, rotate(turn, leg.ankle)), turn)

    def _root(self, time: float) -> Vec:
        """Return where the leg begins, seen from the foot as the animation has both."""
        frame = min(max(0, floor(time)), self._last)
        if time <= frame or frame >= self._last:
            return self._leg.root(frame)
        return mix(self._leg.root(frame), self._leg.root(frame + 1), time - frame)

    def _weight(self, frame: int) -> float:
        """Return how much a frame counts for where a foot is locked: more, the less it can reach.

        A bent leg goes where it is told, and a straight one has to be let stay.
        """
        ankle = rotate(self._pose(frame).turn, self._leg.ankle)
        stretch = length(sub(self._leg.root(frame), ankle)) / self._leg.length
        return 1.0 / (max(0.0, 1.0 - stretch) + WEIGHT)

    def _mean(self, frames: Sequence[int], point: Vec) -> Vec:
        """Return where a point of the foot is in the mean."""
        weights = [self._weight(frame) for frame in frames]
        total = ORIGIN
        for frame, weight in zip(frames, weights, strict=True):
            total = add(total, scaled(self._point(frame, point), weight))
        return scaled(total, 1.0 / sum(weights))

    def _gap(self, number: int) -> float:
        """Return how many frames there are after a contact to the next one."""
        if number < 0 or number + 1 >= len(self.places):
            return float(self._last + 1)
        after, before = self.places[number + 1].contact, self.places[number].contact
        return float(after.first - before.last)

    def _edges(self, number: int, time: float) -> list[tuple[Edge, Edge, float]]:
        """Return the ends of the contacts before and after a time, and how far away they are."""
        found: list[tuple[Edge, Edge, float]] = []
        if number >= 0:
            frame = self.places[number].contact.last
            found.append((*self._contact_edges(number, frame, False), time - frame))
        if number + 1 < len(self.places):
            frame = self.places[number + 1].contact.first
            found.append((*self._contact_edges(number + 1, frame, True), frame - time))
        return found

    def _contact_edges(self, number: int, frame: int, is_entry: bool) -> tuple[Edge, Edge]:
        """Return what takes the animated foot to its place in a contact, at one end of that."""
        key = (number, is_entry)
        if key not in self._ends:

            def moved(at: int) -> Vec:
                given = self._pose(at)
                return sub(self._standing(number, at, given).place, given.place)

            def turned(at: int) -> Vec:
                given = self._pose(at).turn
                return rotation_vector(given, self._standing(number, at, self._pose(at)).turn)

            self._ends[key] = (
                self._edge(frame, is_entry, moved),
                self._edge(frame, is_entry, turned),
            )
        return self._ends[key]

    def _edge(self, frame: int, is_entry: bool, offset: Callable[[int], Vec]) -> Edge:
        """Return the end of a lock, seen from there into the time in which there is none."""
        # Towards where it goes: what the animation does there is what is taken from it.
        away = max(0, frame - self._window) if is_entry else min(self._last, frame + self._window)
        here = offset(frame)
        return Edge(frame, here, scaled(sub(offset(away), here), 1.0 / max(1, abs(away - frame))))

    def _standing(self, number: int, time: float, pose: Pose) -> Pose:
        """Return a foot in a contact, or as it would be if that went on before and after."""
        anchors = self.places[number].anchors
        # Between the last frame of a part and the first of the next one, the former goes on.
        anchor = next((a for a in reversed(anchors) if a.part.first <= time), anchors[0])
        turn = anchor.turn if anchor.part.kind == FLAT else self._turn(time, pose.turn)
        return self._reaching(time, pose, Pose(self._locked_goal(anchor, time, turn), turn))

    def _locked_goal(self, anchor: Anchor, time: float, turn: Quat) -> Vec:
        """Return where the goal of a foot is that stands."""
        place = anchor.start
        if anchor.start != anchor.end:
            first, last = anchor.part.first - 1, anchor.part.last + 1
            place = mix(place, anchor.end, smoother((time - first) / (last - first)))
        if anchor.part.kind == FLAT:
            return place
        point = self._sole.heel if anchor.part.kind == HEEL else self._sole.ball
        return sub(place, rotate(turn, point))

    def _turn(self, time: float, given: Quat) -> Quat:
        """Return how a foot is turned that the animation turns as given."""
        number = bisect_right(self._flat_starts, time) - 1
        before = self._flats[number] if number >= 0 else None
        if before is not None and time <= before.part.last:
            return before.turn
        after = self._flats[number + 1] if number + 1 < len(self._flats) else None
        gap = float(self._last + 1)
        if before is not None and after is not None:
            gap = float(after.part.first - before.part.last)
        span = min(self._blend, gap)
        offset = ORIGIN
        if before is not None and time - before.part.last < span:
            edge = self._turn_edge(number, False)
            offset = add(offset, eased(edge, time - before.part.last, span))
        if after is not None and after.part.first - time < span:
            edge = self._turn_edge(number + 1, True)
            offset = add(offset, eased(edge, after.part.first - time, span))
        return _turned(given, offset)

    def _turn_edge(self, number: int, is_entry: bool) -> Edge:
        key = (number, is_entry)
        if key not in self._turned:
            flat = self._flats[number]
            frame = flat.part.first if is_entry else flat.part.last
            self._turned[key] = self._edge(
                frame, is_entry, lambda f: rotation_vector(self._pose(f).turn, flat.turn)
            )
        return self._turned[key]

    def _place(self, contact: Contact, counted: Callable[[int], bool]) -> Place:
        """Return where a contact is."""
        points: dict[int, Vec] = {}
        parts = contact.parts
        for first, last in _without(parts, HEEL):
            frames = self._counted(parts[first].first, parts[last].last, counted)
            ball = self._mean(frames, self._sole.ball)
            points.update(dict.fromkeys(range(first, last + 1), ball))
        anchors: list[Anchor] = []
        for i, part in enumerate(parts):
            start = points.get(i, ORIGIN)
            turn = QUAT_IDENTITY
            if part.kind == FLAT:
                frames = self._counted(part.first, part.last, counted)
                turn = mean_turn([self._pose(frame).turn for frame in frames])
                start = sub(start, rotate(turn, self._sole.ball))
            anchors.append(Anchor(part, turn, start, start))
        for i, part in enumerate(parts):
            if part.kind == HEEL:
                frames = self._counted(part.first, part.last, counted)
                heels = [
                    add(anchors[j].start, rotate(anchors[j].turn, self._sole.heel))
                    for j in (i - 1, i + 1)
                    if 0 <= j < len(parts)
                ] or [self._mean(frames, self._sole.heel)]
                anchors[i] = anchors[i]._replace(start=heels[0], end=heels[-1])
        flats = [anchor for anchor in anchors if anchor.part.kind == FLAT]
        if flats:
            longest = max(flats, key=lambda anchor: anchor.part.last - anchor.part.first)
            return Place(contact, tuple(anchors), longest.start, longest.turn)
        frames = self._counted(contact.first, contact.last, counted)
        poses = [self._pose(frame) for frame in frames]
        turn = mean_turn([pose.turn for pose in poses])
        return Place(contact, tuple(anchors), mean([pose.place for pose in poses]), turn)

    def _counted(self, first: int, last: int, counted: Callable[[int], bool]) -> list[int]:
        frames = list(range(first, last + 1))
        return [frame for frame in frames if counted(frame)] or frames

    def _point(self, frame: int, point: Vec) -> Vec:
        pose = self._pose(frame)
        return add(pose.place, rotate(pose.turn, point))


def eased(edge: Edge, gone: float, span: float) -> Vec:
    """Return what is left of an offset some frames away from its end.

    It goes on at the rate that it has there, and is gone for good after a span: the polynomial of
    the fifth degree that begins without a bend, and ends at rest.
    """
    s = gone / span
    left = 1.0 - s * s * s * (10.0 - s * (15.0 - 6.0 * s))
    moved = s - s * s * s * (6.0 - s * (8.0 - 3.0 * s))
    return add(scaled(edge.offset, left), scaled(edge.rate, moved * span))


def _without(parts: Sequence[Part], kind: str) -> list[tuple[int, int]]:
    """Return the first and last numbers of the parts next to one another that are not of a kind."""
    found: list[tuple[int, int]] = []
    for i, part in enumerate(parts):
        if part.kind == kind:
            continue
        if found and found[-1][1] == i - 1:
            found[-1] = (found[-1][0], i)
        else:
            found.append((i, i))
    return found


def rotation_vector(a: Quat, b: Quat) -> Vec:
    """Return the axis of the turn from one rotation to another, as long as its angle."""
    w, x, y, z = quat_compatible(quat_product(b, (a[0], -a[1], -a[2], -a[3])), QUAT_IDENTITY)
    size = length((x, y, z))
    return scaled((x, y, z), 2.0 * atan2(size, w) / size if size > 1e-12 else 2.0)


def _turned(given: Quat, offset: Vec) -> Quat:
    """Return a rotation with an offset; to the last bit itself if there is none."""
    return given if offset == ORIGIN else quat_product(quat_exp(offset), given)


def _over(excess: float, soft: float) -> float:
    """Return by how much something is too much, which begins softly that much before it is."""
    if excess <= -soft:
        return 0.0
    if excess >= soft:
        return excess
    return 0.25 * (excess + soft) ** 2 / soft
