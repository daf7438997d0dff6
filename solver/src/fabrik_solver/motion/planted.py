"""Lock a foot during its contacts, on the flat floor of its animation.

The part of the sole that stands is locked: the heel, the whole sole, or the ball. The foot pivots
about that part as in the animation; on its ball, about the toe joint. The difference from the
animation is the offset. In a swing, the offset is the smoothest curve from one contact to the next
that stays near zero. All contacts are known in advance, so each lock lasts for its whole contact,
at any frame rate.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from math import acos, atan2, floor, hypot, sqrt
from operator import itemgetter
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
from .columns import LOOKED, Column, between
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
from .ground import Pose
from .knee import MOST, ROOM
from .smoothest import Wish, cubic, exactly, smoothest
from .sole import Sole

LEAST_GAIN = 0.2
"""The least gain for which a foot turns about its ball. The gain is how fast turning the foot
shortens the leg, as a fraction of the lever arm. From twice the least gain on, the foot turns as
far as necessary."""


class Anchor(NamedTuple):
    """The anchor of one phase of a contact.

    Attributes:
        part: The phase.
        turn: The orientation of the foot if it is flat.
        start: Where the phase starts: the goal's location if the foot is flat, else the standing
            point's.
        end: The same where the phase ends.
    """

    part: Part
    turn: Quat
    start: Vec
    end: Vec


class PlantedContact(NamedTuple):
    """The foothold of a contact.

    Attributes:
        anchors: One anchor for each phase.
        base: The mean location of the goal, on flat ground.
        turn: The mean orientation of the foot there.
    """

    anchors: tuple[Anchor, ...]
    base: Vec
    turn: Quat


Span = tuple[int, int]
"""The first and last frames of a lock."""

START = itemgetter(0)


class Blend(NamedTuple):
    """An offset from the animation between two locks.

    Attributes:
        first: The frame at which it starts.
        offsets: The offset at each frame, plus one frame before the first and one after the last.
    """

    first: int
    offsets: list[Vec]

    def at(self, time: float) -> Vec:
        """Return the offset at a time."""
        number = min(max(0, floor(time) - self.first), len(self.offsets) - 4)
        x, y, z = zip(*self.offsets[number : number + 4], strict=True)
        fraction = time - self.first - number
        return cubic(x, fraction), cubic(y, fraction), cubic(z, fraction)


def sole_of(
    foot: Sole,
    contacts: Sequence[Contact],
    heights: Sequence[float],
    ups: Sequence[Vec],
) -> Sole:
    """Return a foot's heel and ball as points on its sole, from its contacts.

    Each is the median over the frames in which it stands. A median ignores the few contacts on a
    stair, and frames in which the foot sinks or rises as it rolls off.

    Args:
        foot: The joints above the heel and the ball.
        contacts: Its contacts with the ground.
        heights: The height of its goal above the floor at each frame.
        ups: The unit vector up at each frame, in the foot's axes.
    """
    parts = [part for contact in contacts for part in contact.parts]
    is_flat = any([part.kind == FLAT for part in parts])
    ends: list[Vec] = []
    for point, other in ((foot.heel, BALL), (foot.ball, HEEL)):
        # A joint below its own sole is in the floor, an error of the capture.
        down = [
            sub(point, scaled(ups[f], max(0.0, heights[f] + dot(point, ups[f]))))
            for part in parts
            if (part.kind == FLAT if is_flat else part.kind != other)
            for f in range(part.first, part.last + 1)
        ]
        ends.append(median_of(down) if down else point)
    return Sole(ends[0], ends[1], ankle=foot.ankle)


class Planted:
    """A foot at all frames, locked during its contacts.

    Attributes:
        places: The foothold of each contact.
        spans: First and last frame of each contact.
        lying: First and last frame of each foot-flat phase.
    """

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
            counted: Whether a frame of a contact counts for the foothold.
            pose: Returns its animated pose at a frame.
            frames: The number of frames.
            root: Returns the hip joint at a frame, relative to the foot's goal.
            size: The length of the straight leg, from hip joint to ankle.
            up: The unit vector up.
            sole: Where it touches the floor.
            rate: Frames per second.
            blend: How long an offset takes to blend in or out, in seconds.
        """
        self._pose = pose
        self._last = frames - 1
        self._hip, self._size = root, size
        self._up = up
        self._sole = sole
        self._blend = blend
        self._rate = rate
        self._counts = counted
        self.places = [self._place(contact) for contact in contacts]
        anchors = [anchor for planted in self.places for anchor in planted.anchors]
        self._flats = [anchor for anchor in anchors if anchor.part.kind == FLAT]
        self.spans = [(contact.first, contact.last) for contact in contacts]
        self.lying = [(flat.part.first, flat.part.last) for flat in self._flats]
        self._shifts = Column(partial(self._blend_after, self.spans, self._moved))
        self._turns = Column(partial(self._blend_after, self.spans, self._rolled))
        self._levels = Column(partial(self._blend_after, self.lying, self._levelled))

    def around(self, time: float) -> tuple[int, bool]:
        """Return the index of the last contact that has begun, and whether it still lasts."""
        number = begun(self.spans, time)
        return number, number >= 0 and time <= self.spans[number][1]

    def at(self, time: float, pose: Pose) -> Pose:
        """Return the pose of a foot, locked or swinging, from its animated pose."""
        number, stands = self.around(time)
        if stands:
            return self._standing(number, time, pose)
        if not self.places:
            return pose
        turn = _turned(pose.turn, self._turns[number].at(time))
        return Pose(add(pose.place, self._shifts[number].at(time)), turn)

    def _blend_after(
        self, spans: Sequence[Span], offset: Callable[[int], Vec], number: int
    ) -> Blend:
        """Return the offset between a lock and the next one.

        Args:
            spans: The locks.
            offset: Returns the offset at a frame of a lock.
            number: The index of the first lock; -1 for the time before all locks.
        """
        far = self._blend * self._rate
        return blend_of(offset, *neighbors(spans, number), self._last, far, self._rate)

    def _moved(self, frame: int) -> Vec:
        """Return how far a standing foot is from its animated location."""
        pose = self._pose(frame)
        return sub(self._standing(self.around(frame)[0], frame, pose).place, pose.place)

    def _rolled(self, frame: int) -> Vec:
        """Return how far a standing foot is turned from its animation, as a rotation vector."""
        pose = self._pose(frame)
        return _between(pose.turn, self._standing(self.around(frame)[0], frame, pose).turn)

    def _levelled(self, frame: int) -> Vec:
        """Return the result of `_rolled` for a flat foot, before its heel rises."""
        return _between(self._pose(frame).turn, self._flats[begun(self.lying, frame)].turn)

    def _reaching(self, time: float, pose: Pose, foot: Pose) -> Pose:
        """Return a foot whose heel rises if the lock would extend its leg too far.

        The ball stays in place, as at heel-off in walking. A nearly straight knee turns a lot for a
        little more extension.
        """
        root, joint = self._root(time), self._sole.ankle
        ankle = add(foot.place, rotate(foot.turn, joint))
        stretch = length(sub(root, rotate(pose.turn, joint)))
        root = add(pose.place, root)
        room = ROOM * max(0.0, self._size - stretch)
        far = length(sub(root, ankle))
        # Rounded off over a range as wide as an ankle may give way for its knee.
        excess = _over(far - stretch - room, min(0.5 * MOST * self._size, room))
        if excess <= 0.0:
            return foot
        return pivoted(foot, root, self._sole, self._up, far - excess)

    def _root(self, time: float) -> Vec:
        """Return the animated hip joint relative to the foot's goal."""
        return between(self._hip, min(max(0.0, time), float(self._last)))

    def _standing(self, number: int, time: float, pose: Pose) -> Pose:
        """Return a foot in a contact, even past the contact's end."""
        return self._reaching(time, pose, self._locked(number, time, pose))

    def _locked(self, number: int, time: float, pose: Pose) -> Pose:
        """Return the result of `_standing`, before the heel rises to let the leg reach."""
        anchor = self._anchor(number, time)
        turn = anchor.turn if anchor.part.kind == FLAT else self._turn(time, pose.turn)
        return Pose(self._locked_goal(anchor, time, turn), turn)

    def _anchor(self, number: int, time: float) -> Anchor:
        """Return the phase of a contact at a time.

        The rolling phase also covers the gap between two phases. A roll starts and ends where the
        foot is flat (see `_turn`).
        """
        anchors = self.places[number].anchors
        i = max((i for i, anchor in enumerate(anchors) if anchor.part.first <= time), default=0)
        part = anchors[i].part
        is_over = part.kind == FLAT and time > part.last and i + 1 < len(anchors)
        return anchors[i + 1 if is_over else i]

    def _locked_goal(self, anchor: Anchor, time: float, turn: Quat) -> Vec:
        """Return the location of a locked foot's goal."""
        location = anchor.start
        if anchor.start != anchor.end:
            first, last = anchor.part.first - 1, anchor.part.last + 1
            location = mix(location, anchor.end, smoother((time - first) / (last - first)))
        if anchor.part.kind == FLAT:
            return location
        point = self._sole.heel if anchor.part.kind == HEEL else self._sole.pivot
        return sub(location, rotate(turn, point))

    def _turn(self, time: float, animated: Quat) -> Quat:
        """Return a locked foot's orientation from its animated orientation."""
        if not self._flats:
            return animated
        number = begun(self.lying, time)
        if number >= 0 and time <= self.lying[number][1]:
            return self._flats[number].turn
        return _turned(animated, self._levels[number].at(time))

    def _place(self, contact: Contact) -> PlantedContact:
        """Return the foothold of a contact."""
        anchors: list[Anchor] = []
        for is_heel, run in groupby(contact.parts, lambda part: part.kind == HEEL):
            parts = list(run)
            frames = self._counted(parts[0].first, parts[-1].last)
            ball = ORIGIN if is_heel else self._mean(frames, self._sole.pivot)
            for part in parts:
                turn, start = QUAT_IDENTITY, ball
                if part.kind == FLAT:
                    frames = self._counted(part.first, part.last)
                    turn = mean_turn([self._pose(frame).turn for frame in frames])
                    start = sub(ball, rotate(turn, self._sole.pivot))
                anchors.append(Anchor(part, turn, start, start))
        self._lock_heels(anchors)
        flats = [anchor for anchor in anchors if anchor.part.kind == FLAT]
        if flats:
            longest = max(flats, key=lambda anchor: anchor.part.last - anchor.part.first)
            return PlantedContact(tuple(anchors), longest.start, longest.turn)
        frames = self._counted(contact.first, contact.last)
        turn = mean_turn([self._pose(frame).turn for frame in frames])
        return PlantedContact(tuple(anchors), self._mean(frames, ORIGIN), turn)

    def _lock_heels(self, anchors: list[Anchor]) -> None:
        """Set where heels stand: as in the flat phases beside them."""
        for i in [i for i, anchor in enumerate(anchors) if anchor.part.kind == HEEL]:
            beside = [anchors[j] for j in (i - 1, i + 1) if 0 <= j < len(anchors)]
            heels = [add(flat.start, rotate(flat.turn, self._sole.heel)) for flat in beside]
            anchors[i] = anchors[i]._replace(start=heels[0], end=heels[-1])

    def _mean(self, frames: Sequence[int], point: Vec) -> Vec:
        """Return the mean location of a point of the foot."""
        poses = [self._pose(frame) for frame in frames]
        return mean([add(pose.place, rotate(pose.turn, point)) for pose in poses])

    def _counted(self, first: int, last: int) -> list[int]:
        frames = list(range(first, last + 1))
        return [frame for frame in frames if self._counts(frame)] or frames


def pivoted(foot: Pose, root: Vec, sole: Sole, up: Vec, apart: float) -> Pose:
    """Return a foot turned about its ball so that its ankle is at a distance from the hip joint.

    The ball stays in place, as at heel-off in walking. If turning hardly changes the distance, the
    requested distance isn't reached.

    Args:
        foot: The foot.
        root: The hip joint.
        sole: Where it touches the floor.
        up: The unit vector up.
        apart: The distance.
    """
    joint = add(foot.place, rotate(foot.turn, sole.ankle))
    lever = sub(joint, add(foot.place, rotate(foot.turn, sole.pivot)))
    axis = unit(cross(lever, up))
    if axis is None or sole.heel == sole.pivot:
        return foot
    ball, distance = sub(joint, lever), length(sub(root, joint))
    leg = sub(root, ball)
    along, ahead = dot(leg, lever), dot(leg, cross(axis, lever))
    least = LEAST_GAIN * length(lever) * distance
    if not ahead > least:  # Also true of NaN.
        return foot
    apart = distance + smooth(ahead / least - 1.0) * (apart - distance)
    # The law of cosines: along · cos(angle) + ahead · sin(angle) is known.
    known = 0.5 * (dot(leg, leg) + dot(lever, lever) - apart * apart) / hypot(along, ahead)
    spin = quat_about(axis, atan2(ahead, along) - acos(min(max(-1.0, known), 1.0)))
    turn = quat_product(spin, foot.turn)
    return Pose(sub(add(ball, rotate(spin, lever)), rotate(turn, sole.ankle)), turn)


def begun(spans: Sequence[Span], time: float) -> int:
    """Return the index of the last lock that has begun; -1 before all locks."""
    return bisect_right(spans, time, key=START) - 1


def neighbors(spans: Sequence[Span], number: int) -> tuple[Span | None, Span | None]:
    """Return a lock by its index, and the next one; None for a missing one."""
    before, after = (spans[i] if 0 <= i < len(spans) else None for i in (number, number + 1))
    return before, after


def blend_of(
    offset: Callable[[int], Vec],
    previous: Span | None,
    following: Span | None,
    last: int,
    far: float,
    rate: float,
) -> Blend:
    """Return the offset between two locks: the smoothest curve that stays near zero.

    Args:
        offset: A function that returns the offset at a frame of a lock.
        previous: First and last frame of the previous lock, if any.
        following: First and last frame of the next lock, if any.
        last: The last frame of the clip.
        far: How many frames the offset takes to fade.
        rate: Frames per second.
    """
    first = previous[1] if previous else 0
    last = following[0] if following else last
    start = [] if previous is None else _end(offset, first, previous[0], rate)
    end = [] if following is None else _end(offset, last, following[1], rate)
    free = max(1, last - first) + 3 - len(start) - len(end)
    stiffness = min(far, float(last - first)) ** 4
    columns = [
        smoothest(
            [
                *[exactly(place[k]) for place in start[::-1]],
                *[Wish()] * free,
                *[exactly(place[k]) for place in end],
            ],
            stiffness,
            sqrt(stiffness),
        )
        for k in range(3)
    ]
    return Blend(first, list(zip(*columns, strict=True)))


def _end(offset: Callable[[int], Vec], frame: int, other: int, rate: float) -> list[Vec]:
    """Return the offset at an end of a lock, and its value one frame into the lock.

    A blend that continues both matches the lock's velocity.

    Args:
        offset: Returns the offset at a frame.
        frame: The frame of this end.
        other: The frame of the other end.
        rate: The frame rate.
    """
    near = min(max(1, round(LOOKED * rate)), abs(other - frame))
    here = offset(frame)
    if near == 0:
        return [here, here]
    there = offset(frame + (near if other > frame else -near))
    return [here, mix(here, there, 1.0 / near)]


def _between(a: Quat, b: Quat) -> Vec:
    """Return the rotation vector from one rotation to another."""
    return quat_log(quat_product(b, quat_inverse(a)))


def _turned(turn: Quat, offset: Vec) -> Quat:
    """Return a rotation with an offset; the same object for a zero offset."""
    return turn if offset == ORIGIN else quat_product(quat_exp(offset), turn)


def _over(excess: float, soft: float) -> float:
    """Return an excess of at least 0, rounded off smoothly within ±soft."""
    if excess <= -soft:
        return 0.0
    if excess >= soft:
        return excess
    return 0.25 * (excess + soft) ** 2 / soft
