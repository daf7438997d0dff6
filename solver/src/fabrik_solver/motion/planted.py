"""Locking a foot during its contacts, on the flat floor of its animation.

The part of the sole that stands is locked: the heel, the whole sole, or the ball of the foot. The
foot pivots about it as the animation rolls it, on its ball about the joint of its toes. The offset
is the difference from the animation. It is blended in over a short time before a contact and out
after it. The foot is therefore at rest while it is locked, and has the animation's velocity where
the offset ends. All contacts are known in advance, so a foot is locked for the whole of each, at
any frame rate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import floor, sqrt
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
    quat_exp,
    quat_inverse,
    quat_log,
    quat_product,
    rotate,
    scaled,
    sub,
    unit,
)
from .contacts import (
    BALL,
    FLAT,
    HEEL,
    Contact,
    Part,
    mean,
    mean_turn,
    median_of,
)
from .easing import smooth, smoother
from .knee import aside
from .sole import Sole

ROOM = 0.55
"""The share of the leg's remaining extension in the animation that a lock may use up."""

SOFT = 0.006
"""The range of extension over which the heel begins to rise, in legs, at most."""

MOST_RISE = 0.5
"""The maximum angle by which the heel is raised about the ball, in radians."""

NEWTON, LEAST_GAIN = 4, 0.2
"""The number of Newton iterations for that angle, and the minimum share of the lever arm by which
rotating the foot must shorten the leg; from twice that on it is rotated as far as it takes."""

WEIGHT = 0.02
"""How much shorter than straight a leg is whose foot counts half as much for the locked position as
that of a straight leg, in legs."""

GENTLE = 14.0
"""The acceleration up to which an offset is blended, in legs per second squared; larger ones take
longer. A foot that creeps by a tenth of its leg comes to its foothold in a fifth of a second."""

EDGE = 1.0 / 60.0
"""The time after the end of a contact over which the velocity there is measured, in seconds."""


class Pose(NamedTuple):
    """The pose of a foot in world space.

    Attributes:
        place: The position of its goal.
        turn: Its orientation.
    """

    place: Vec
    turn: Quat = QUAT_IDENTITY


class Anchor(NamedTuple):
    """What a phase of a contact is locked to.

    Attributes:
        part: The phase.
        turn: The orientation of the foot if it is flat.
        start: The position of the goal if the foot is flat, else of the point that stands, at the
            beginning.
        end: The same at the end.
    """

    part: Part
    turn: Quat
    start: Vec
    end: Vec


class PlantedContact(NamedTuple):
    """The foothold of a contact.

    Attributes:
        contact: The contact.
        anchors: One for each of its phases.
        base: The mean position of the goal, on flat ground.
        turn: The mean orientation of the foot there.
    """

    contact: Contact
    anchors: tuple[Anchor, ...]
    base: Vec
    turn: Quat


class Edge(NamedTuple):
    """The first or last frame of a lock.

    Attributes:
        frame: The frame.
        offset: The offset from the animation there.
        rate: The change of the offset per frame from there on, away from the contact.
        bend: The change of that rate per frame.
    """

    frame: int
    offset: Vec
    rate: Vec
    bend: Vec = ORIGIN

    def plus(self, other: Edge) -> Edge:
        """Return this end with another offset, which is seen from the other side of it."""
        return Edge(
            self.frame,
            add(self.offset, other.offset),
            sub(self.rate, other.rate),
            add(self.bend, other.bend),
        )


def sole_of(
    foot: Sole,
    contacts: Sequence[Contact],
    heights: Sequence[float],
    ups: Sequence[Vec],
) -> Sole:
    """Return the points of a foot that touch the floor: their medians over its contacts.

    A median ignores a few contacts on a step, and a foot that sinks or rises as it rolls off.

    Args:
        foot: The joints above its heel and its ball.
        contacts: When it stands.
        heights: How high its goal is above the floor at each frame.
        ups: The direction of length 1 in which heights are meant, in its own axes.
    """
    parts = [part for contact in contacts for part in contact.parts]
    is_flat = any([part.kind == FLAT for part in parts])
    ends: list[Vec] = []
    for point, other in ((foot.heel, BALL), (foot.ball, HEEL)):
        # A joint is not below its sole: there the capture has it in the floor.
        down = [
            sub(point, scaled(ups[f], max(0.0, heights[f] + dot(point, ups[f]))))
            for part in parts
            if (part.kind == FLAT if is_flat else part.kind != other)
            for f in range(part.first, part.last + 1)
        ]
        ends.append(median_of(down) if down else point)
    return Sole(ends[0], ends[1], ankle=foot.ankle)


class Planted:
    """A foot in all frames, locked during its contacts."""

    def __init__(
        self,
        contacts: Sequence[Contact],
        counted: Callable[[int], bool],
        pose: Callable[[int], Pose],
        frames: int,
        root: Callable[[int], Vec],
        size: float,
        up: Vec,
        sole: Sole,
        rate: float,
        blend: float,
    ) -> None:
        """Lock a foot.

        Args:
            contacts: Its contacts.
            counted: Whether a frame of a contact counts for its foothold.
            pose: Its animated pose at a frame.
            frames: How many frames there are.
            root: Returns the hip joint at a frame, relative to the goal of the foot.
            size: The length of the straight leg, from there to the ankle.
            up: The direction of length 1 against which it stands.
            sole: Where it touches the floor.
            rate: Frames a second.
            blend: The time over which an offset is blended in and out, in seconds.
        """
        self._pose = pose
        self._last = frames - 1
        self._hip, self._size = root, size
        self._up = up
        self._sole = sole
        self._window = max(1, round(EDGE * rate))
        self._blend = blend * rate
        self._rate = rate
        self.places = [self._place(contact, counted) for contact in contacts]
        self._starts = [contact.first for contact in contacts]
        self._flats = [
            anchor
            for planted in self.places
            for anchor in planted.anchors
            if anchor.part.kind == FLAT
        ]
        self._flat_starts = [anchor.part.first for anchor in self._flats]
        self._turned: dict[tuple[int, bool], Edge] = {}
        self._ends: dict[tuple[int, bool], tuple[Edge, Edge]] = {}

    def around(self, time: float) -> tuple[int, bool]:
        """Return the number of the last contact that has begun at a time, and whether it lasts."""
        number = bisect_right(self._starts, time) - 1
        return number, number >= 0 and time <= self.places[number].contact.last

    def at(self, time: float, pose: Pose) -> Pose:
        """Return the pose of a foot, locked or in its swing, from its animated pose."""
        number, stands = self.around(time)
        if stands:
            return self._standing(number, time, pose)
        offset, turned = ORIGIN, ORIGIN
        gap = self._gap(number)
        for moved, turning, gone in self._edges(number, time):
            span = min(max(self._blend, self._time_for(moved.frame, moved.offset)), gap)
            if gone < span:
                offset = add(offset, eased(moved, gone, span))
                turned = add(turned, eased(turning, gone, span))
        return Pose(add(pose.place, offset), _turned(pose.turn, turned))

    def _time_for(self, frame: int, offset: Vec) -> float:
        """Return the number of frames in which an offset of the ankle is blended gently.

        The peak acceleration of a movement of minimum jerk is 10/√3 times its length over time
        squared. A knee that is nearly straight moves farther than its ankle.

        Args:
            frame: The frame at which blending starts.
            offset: The offset there.
        """
        leg_line = sub(rotate(self._pose(frame).turn, self._sole.ankle), self._hip(frame))
        knees = [aside(length(at), self._size) for at in (leg_line, add(leg_line, offset))]
        far = max(length(offset), abs(knees[1] - knees[0]))
        return self._rate * sqrt(10.0 / sqrt(3.0) * far / (GENTLE * self._size))

    def _time_to_roll(self, edge: Edge) -> float:
        """Return the same for an offset of the rotation about the ball."""
        lever = rotate(self._pose(edge.frame).turn, sub(self._sole.ankle, self._sole.pivot))
        return self._time_for(edge.frame, sub(rotate(quat_exp(edge.offset), lever), lever))

    def _reaching(self, time: float, pose: Pose, foot: Pose) -> Pose:
        """Return a foot whose heel rises where the lock would extend its leg too far.

        The ball stays in place, as at heel off in walking. A knee that is nearly straight rotates
        a lot for a little more extension.
        """
        root, joint = self._root(time), self._sole.ankle
        ankle = add(foot.place, rotate(foot.turn, joint))
        stretch = length(sub(root, rotate(pose.turn, joint)))
        root = add(pose.place, root)
        most = stretch + ROOM * max(0.0, self._size - stretch)
        soft = min(SOFT * self._size, most - stretch)
        far = length(sub(root, ankle))
        excess = _over(far - most, soft)
        if excess <= 0.0:
            return foot
        return pivoted(foot, root, self._sole, self._up, far - excess)

    def _root(self, time: float) -> Vec:
        """Return the hip joint relative to the goal of the foot, as animated."""
        frame = min(max(0, floor(time)), self._last)
        if time <= frame or frame >= self._last:
            return self._hip(frame)
        return mix(self._hip(frame), self._hip(frame + 1), time - frame)

    def _weight(self, frame: int) -> float:
        """Return the weight of a frame in the locked position: the larger, the straighter the leg.

        A bent leg reaches elsewhere with little change of its knee, and a straight one does not.
        """
        ankle = rotate(self._pose(frame).turn, self._sole.ankle)
        stretch = length(sub(self._hip(frame), ankle)) / self._size
        return 1.0 / (max(0.0, 1.0 - stretch) + WEIGHT)

    def _mean(self, frames: Sequence[int], point: Vec) -> Vec:
        """Return the weighted mean position of a point of the foot."""
        weights = [self._weight(frame) for frame in frames]
        total = ORIGIN
        for frame, weight in zip(frames, weights, strict=True):
            total = add(total, scaled(self._point(frame, point), weight))
        return scaled(total, 1.0 / sum(weights))

    def _gap(self, number: int) -> float:
        """Return the number of frames from the end of a contact to the next one."""
        if number < 0 or number + 1 >= len(self.places):
            return float(self._last + 1)
        following, previous = self.places[number + 1].contact, self.places[number].contact
        return float(following.first - previous.last)

    def _edges(self, number: int, time: float) -> list[tuple[Edge, Edge, float]]:
        """Return the ends of the contacts before and after a time, and their distance in frames."""
        edges: list[tuple[Edge, Edge, float]] = []
        if number >= 0:
            frame = self.places[number].contact.last
            edges.append((*self._contact_edges(number, frame, False), time - frame))
        if number + 1 < len(self.places):
            frame = self.places[number + 1].contact.first
            edges.append((*self._contact_edges(number + 1, frame, True), frame - time))
        return edges

    def _contact_edges(self, number: int, frame: int, is_entry: bool) -> tuple[Edge, Edge]:
        """Return the offsets of location and rotation at one end of a contact."""
        key = (number, is_entry)
        if key not in self._ends:
            is_within = (
                is_entry
                and self._window <= 1.5 * EDGE * self._rate
                and frame + 2 * self._window <= self.places[number].contact.last
            )
            held = self._locked if is_within else self._standing

            def moved(at: int) -> Vec:
                pose = self._pose(at)
                return sub(held(number, at, pose).place, pose.place)

            def turned(at: int) -> Vec:
                pose = self._pose(at)
                return _between(pose.turn, held(number, at, pose).turn)

            def raised(at: int) -> Pose:
                pose = self._pose(at)
                foot = self._locked(number, at, pose)
                reached = self._reaching(at, pose, foot)
                rise = quat_product(reached.turn, quat_inverse(foot.turn))
                return Pose(sub(reached.place, foot.place), rise)

            # Outside of the contact, where the foot must take up the velocity of the animation.
            location = self._edge(frame, is_entry, moved)
            turn = self._edge(frame, is_entry, turned)
            if is_within:
                # A running leg is far from its foothold before it lands, with its heel too high.
                # How fast the heel comes down is measured within the contact, if that is long
                # enough and its frames are close enough together.
                location = location.plus(self._edge(frame, False, lambda at: raised(at).place))
                turn = turn.plus(self._edge(frame, False, lambda at: quat_log(raised(at).turn)))
            self._ends[key] = location, turn
        return self._ends[key]

    def _edge(self, frame: int, is_backward: bool, offset: Callable[[int], Vec]) -> Edge:
        """Return one end of a lock, with the rate at which an offset changes before or after it."""
        step = -self._window if is_backward else self._window
        here = offset(frame)
        if not 0 <= frame + 2 * step <= self._last:
            away = min(max(0, frame + step), self._last)
            rate = scaled(sub(offset(away), here), 1.0 / max(1, abs(away - frame)))
            return Edge(frame, here, rate)
        near, far = sub(offset(frame + step), here), sub(offset(frame + 2 * step), here)
        # The parabola through three frames.
        rate = scaled(sub(scaled(near, 4.0), far), 0.5 / self._window)
        return Edge(frame, here, rate, scaled(sub(far, scaled(near, 2.0)), 1.0 / self._window**2))

    def _standing(self, number: int, time: float, pose: Pose) -> Pose:
        """Return a foot in a contact, or as it would be if the contact lasted longer."""
        return self._reaching(time, pose, self._locked(number, time, pose))

    def _locked(self, number: int, time: float, pose: Pose) -> Pose:
        """Return the same without what its leg needs in order to reach."""
        anchor = self._anchor(number, time)
        turn = anchor.turn if anchor.part.kind == FLAT else self._turn(time, pose.turn)
        return Pose(self._locked_goal(anchor, time, turn), turn)

    def _anchor(self, number: int, time: float) -> Anchor:
        """Return the phase of a contact at a time.

        Between the last frame of a phase and the first of the next one, the one that rolls goes on:
        how a foot rolls begins and ends where it is flat (see `_turn`).
        """
        anchors = self.places[number].anchors
        i = max((i for i, anchor in enumerate(anchors) if anchor.part.first <= time), default=0)
        part = anchors[i].part
        is_over = part.kind == FLAT and time > part.last and i + 1 < len(anchors)
        return anchors[i + 1 if is_over else i]

    def _locked_goal(self, anchor: Anchor, time: float, turn: Quat) -> Vec:
        """Return the position of the goal of a locked foot."""
        location = anchor.start
        if anchor.start != anchor.end:
            first, last = anchor.part.first - 1, anchor.part.last + 1
            location = mix(location, anchor.end, smoother((time - first) / (last - first)))
        if anchor.part.kind == FLAT:
            return location
        point = self._sole.heel if anchor.part.kind == HEEL else self._sole.pivot
        return sub(location, rotate(turn, point))

    def _turn(self, time: float, animated: Quat) -> Quat:
        """Return the orientation of a locked foot from its animated orientation."""
        number = bisect_right(self._flat_starts, time) - 1
        previous = self._flats[number] if number >= 0 else None
        if previous is not None and time <= previous.part.last:
            return previous.turn
        following = self._flats[number + 1] if number + 1 < len(self._flats) else None
        gap = float(self._last + 1)
        if previous is not None and following is not None:
            gap = float(following.part.first - previous.part.last)
        edges: list[tuple[Edge, float]] = []
        if previous is not None:
            edges.append((self._turn_edge(number, False), time - previous.part.last))
        if following is not None:
            edges.append((self._turn_edge(number + 1, True), following.part.first - time))
        offset = ORIGIN
        for edge, gone in edges:
            span = min(max(self._blend, self._time_to_roll(edge)), gap)
            if gone < span:
                offset = add(offset, eased(edge, gone, span))
        return _turned(animated, offset)

    def _turn_edge(self, number: int, is_entry: bool) -> Edge:
        key = (number, is_entry)
        if key not in self._turned:
            flat = self._flats[number]
            frame = flat.part.first if is_entry else flat.part.last
            self._turned[key] = self._edge(
                frame, is_entry, lambda f: _between(self._pose(f).turn, flat.turn)
            )
        return self._turned[key]

    def _place(self, contact: Contact, counted: Callable[[int], bool]) -> PlantedContact:
        """Return the foothold of a contact."""
        points: dict[int, Vec] = {}
        parts = contact.parts
        for first, last in _without(parts, HEEL):
            frames = self._counted(parts[first].first, parts[last].last, counted)
            ball = self._mean(frames, self._sole.pivot)
            points.update(dict.fromkeys(range(first, last + 1), ball))
        anchors: list[Anchor] = []
        for i, part in enumerate(parts):
            start = points.get(i, ORIGIN)
            turn = QUAT_IDENTITY
            if part.kind == FLAT:
                frames = self._counted(part.first, part.last, counted)
                turn = mean_turn([self._pose(frame).turn for frame in frames])
                start = sub(start, rotate(turn, self._sole.pivot))
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
            return PlantedContact(contact, tuple(anchors), longest.start, longest.turn)
        frames = self._counted(contact.first, contact.last, counted)
        poses = [self._pose(frame) for frame in frames]
        turn = mean_turn([pose.turn for pose in poses])
        return PlantedContact(contact, tuple(anchors), mean([pose.place for pose in poses]), turn)

    def _counted(self, first: int, last: int, counted: Callable[[int], bool]) -> list[int]:
        frames = list(range(first, last + 1))
        return [frame for frame in frames if counted(frame)] or frames

    def _point(self, frame: int, point: Vec) -> Vec:
        pose = self._pose(frame)
        return add(pose.place, rotate(pose.turn, point))


def pivoted(foot: Pose, root: Vec, sole: Sole, up: Vec, apart: float) -> Pose:
    """Return a foot whose ankle is at a distance from the hip joint, turned about its ball.

    The ball stays in place, as at heel off in walking. Where that hardly changes the distance, or
    takes more than `MOST_RISE`, the distance isn't reached.

    Args:
        foot: The foot.
        root: The hip joint.
        sole: Where it touches the floor.
        up: The direction of length 1 against which it stands.
        apart: The distance.
    """
    joint = add(foot.place, rotate(foot.turn, sole.ankle))
    lever = sub(joint, add(foot.place, rotate(foot.turn, sole.pivot)))
    axis = unit(cross(lever, up))
    if axis is None or sole.heel == sole.pivot:
        return foot
    angle, turned, ball, least = 0.0, lever, sub(joint, lever), LEAST_GAIN * length(lever)
    for number in range(NEWTON):
        to_root = sub(root, add(ball, turned))
        size = length(to_root)
        gain = dot(to_root, cross(axis, turned)) / size if size > 0.0 else 0.0
        if number == 0:
            if not gain >= least:  # Not a number either.
                return foot
            apart = size + smooth(gain / least - 1.0) * (apart - size)
        angle = min(max(-MOST_RISE, angle + (size - apart) / max(gain, least)), MOST_RISE)
        turned = rotate(quat_about(axis, angle), lever)
    turn = quat_product(quat_about(axis, angle), foot.turn)
    return Pose(sub(add(ball, turned), rotate(turn, sole.ankle)), turn)


def eased(edge: Edge, gone: float, span: float) -> Vec:
    """Return what is left of an offset some frames away from the end of its lock.

    A quintic: it continues at the rate and the acceleration that it has there, and ends at rest
    (minimum jerk; Flash and Hogan, 1985).

    Args:
        edge: The end of the lock.
        gone: The number of frames since, or until, that end.
        span: The number of frames after which the offset is 0.
    """
    s = gone / span
    left = 1.0 - s * s * s * (10.0 - s * (15.0 - 6.0 * s))
    moved = s - s * s * s * (6.0 - s * (8.0 - 3.0 * s))
    bent = 0.5 * s * s * (1.0 - s) ** 3
    offset = add(scaled(edge.offset, left), scaled(edge.rate, moved * span))
    return add(offset, scaled(edge.bend, bent * span * span))


def _without(parts: Sequence[Part], kind: str) -> list[tuple[int, int]]:
    """Return the first and last indices of each run of phases that are not of a kind."""
    spans: list[tuple[int, int]] = []
    for i, part in enumerate(parts):
        if part.kind == kind:
            continue
        if spans and spans[-1][1] == i - 1:
            spans[-1] = (spans[-1][0], i)
        else:
            spans.append((i, i))
    return spans


def _between(a: Quat, b: Quat) -> Vec:
    """Return the rotation vector from one rotation to another."""
    return quat_log(quat_product(b, quat_inverse(a)))


def _turned(turn: Quat, offset: Vec) -> Quat:
    """Return a rotation with an offset, unchanged if the offset is zero."""
    return turn if offset == ORIGIN else quat_product(quat_exp(offset), turn)


def _over(excess: float, soft: float) -> float:
    """Return an excess of at least 0, rounded off smoothly within ±soft."""
    if excess <= -soft:
        return 0.0
    if excess >= soft:
        return excess
    return 0.25 * (excess + soft) ** 2 / soft
