"""Walking: steps found over the frames from the way of a body that is animated.

A foot stays where it stands until it is farther from its rest place than a threshold, and then
steps to where that will be. Legs of one group step together and no other group is in the air with
them. What a step depends on is the present and the past, so one pass over the frames is enough;
the answer is a `gait.Record`.

Reach comes before rhythm: a foot that its leg would lose is lifted at once, whoever is in the air
then comes down at once, and steps are shortened in time so that this hardly ever happens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, hypot, inf, sqrt
from typing import NamedTuple

from ..core import WHOLE, Frame, frame_in, inverse, point_in
from ..core.vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    across,
    add,
    any_across,
    dot,
    length,
    mat_columns,
    mat_from_columns,
    mix,
    quat_matrix,
    quat_mix,
    quat_of,
    scaled,
    sub,
    unit,
)
from .footfall import STILL, Footfall, Grounds, normal_of, place_of, set_on
from .foothold import Cast, Search, clearance, hold_at
from .gait import Leg, Record, Settings
from .stance import UPRIGHT, Lean, Swaying, eased_to, leaned, plane_through

LAND, STAND, LOSE = 0.9, 0.95, 0.97
"""Shares of a leg's reach: where a foot may land, how far the body lets it be, where it is lost."""

TICK = 0.05
"""The share of a leg's reach that its root moves at most between two looks at the legs."""

SETTLED = 0.05
"""The share of the threshold by which a foot may be off its rest place while the body stands."""


class _Stride(NamedTuple):
    """How a foot steps at the speed that its body has.

    Attributes:
        middle: Where it is meant to be from its rest place, in the world: a leg that rests far
            behind its root cannot be left behind any more, and so works farther ahead.
        limit: How far from there it may be before it steps.
        lead: How far ahead of there it comes down, in the world.
        spare: How far the body may go on after the limit until the leg is stretched out.
    """

    middle: Vec
    limit: float
    lead: Vec
    spare: float


STANDING = _Stride(ORIGIN, inf, ORIGIN, inf)


@dataclass(slots=True)
class _Foot:
    """What is known of a foot while the simulation runs.

    Attributes:
        leg: Its leg.
        falls: Its footfalls so far.
        aim: What the last one was meant for, in the space of its ground.
        next: The footfall that it is on its way to, as foreseen when it was lifted.
        home: Where it should be now, in the world.
        place: Where its last footfall is now, in the world.
        velocity: How fast home moves away from there, in a frame, along the ground.
        quiet: For how many frames that has been hardly anything.
        root: Where its leg begins now, in the world.
        stride: How it steps at this speed.
    """

    leg: Leg
    falls: list[Footfall]
    aim: Vec = ORIGIN
    next: Footfall | None = None
    home: Vec = ORIGIN
    place: Vec = ORIGIN
    velocity: Vec = ORIGIN
    quiet: float = 0.0
    root: Vec = ORIGIN
    stride: _Stride = STANDING

    def support(self) -> Footfall:
        """Return what it stands on, or will when its step is done."""
        return self.next or self.falls[-1]


class _Now(NamedTuple):
    """One look at the body and the ground.

    Attributes:
        time: In frames.
        passed: How many frames ago the look before was.
        body: The body as animated, in the world.
        up: The way up of the body as it leans, a unit vector in the world.
        ahead: Its way ahead.
        cast: Asks the ground, as it is at the next whole frame.
        grounds: Where the grounds are at the time.
        whole: Where they are at the next whole frame.
    """

    time: float
    passed: float
    body: Frame
    up: Vec
    ahead: Vec
    cast: Cast
    grounds: Grounds
    whole: Grounds


class Walk:
    """A walk in the making: made at the first frame, then stepped through the frames in order.

    Args:
        legs: The legs; 1 or more.
        settings: Those of the first frame.
        frame: The first frame.
        body: Where the body is animated to be, in the world, with axes of length 1 that stand at
            right angles.
        cast: Asks the ground of that frame.
        grounds: Where the grounds are at that frame.
    """

    def __init__(
        self,
        legs: Sequence[Leg],
        settings: Settings,
        frame: int,
        body: Frame,
        cast: Cast,
        grounds: Grounds,
    ) -> None:
        self.settings = settings
        self.start = self.frame = frame
        self.body = body
        self.groups = sorted({leg.group for leg in legs})
        self.last_group = self.groups[-1]
        self.before: dict[int, Frame] = {}
        self.sway = Swaying(UPRIGHT, UPRIGHT)
        self.feet = [_Foot(leg, []) for leg in legs]
        self._set_down(cast, grounds)
        self._remember(grounds)
        self.sways = [self.sway]

    def step(self, settings: Settings, body: Frame, cast: Cast, grounds: Grounds) -> None:
        """Go on by one whole frame; the arguments are as at the start, of the new frame."""
        self.settings = settings
        self.frame += 1
        if self._is_teleport(body, grounds):
            self.body = body
            self._set_down(cast, grounds)
        else:
            count = self._looks(body)
            turns = quat_of(self.body[0]), quat_of(body[0])
            for look in range(1, count + 1):
                share = look / count
                between = body if look == count else _between(self.body, body, turns, share)
                time = self.frame - 1 + share
                here = _grounds_between(self.before, grounds, share)
                self._look(_Now(time, 1.0 / count, between, ORIGIN, ORIGIN, cast, here, grounds))
            self.body = body
        self._remember(grounds)
        self.sways.append(self.sway)

    def record(self) -> Record:
        """Return what was found so far; a foot in the air comes down as foreseen."""
        falls = tuple((*foot.falls, *([foot.next] if foot.next else ())) for foot in self.feet)
        return Record(self.start, falls, tuple(self.sways))

    # From frame to frame

    def _is_teleport(self, body: Frame, grounds: Grounds) -> bool:
        for foot in self.feet:
            moved = sub(point_in(body, foot.leg.root), point_in(self.body, foot.leg.root))
            carried = sub(place_of(foot.falls[-1], grounds), foot.place)
            if not length(sub(moved, carried)) <= foot.leg.reach:
                return True
        return False

    def _looks(self, body: Frame) -> int:
        """Return in how many looks a frame is taken: the faster the body, the more."""
        roots = [(foot.leg.root, foot.leg.reach) for foot in self.feet]
        way = max(
            length(sub(point_in(body, root), point_in(self.body, root))) / reach
            for root, reach in roots
        )
        fine = TICK / max(1.0, 0.5 * (len(self.groups) - 1))
        return min(32, max(1, ceil(way / fine)))

    def _remember(self, grounds: Grounds) -> None:
        falls = [fall for foot in self.feet for fall in (foot.falls[-1], foot.support())]
        self.before = {f.ground: grounds(f.ground) for f in falls if f.ground != STILL}

    def _set_down(self, cast: Cast, grounds: Grounds) -> None:
        """Set all feet down at once, and the body on them."""
        self.sway = Swaying(UPRIGHT, UPRIGHT)
        for foot in self.feet:
            foot.velocity, foot.quiet, foot.next = ORIGIN, 0.0, None
            nowhere = Footfall(self.frame, self.frame, ORIGIN, ORIGIN, ORIGIN, STILL, 0.0, True)
            foot.falls.append(nowhere)
        now = _Now(self.frame, 1.0, self.body, ORIGIN, ORIGIN, cast, grounds, grounds)
        # The feet depend on the body and it on them: a few rounds agree.
        for _ in range(4):
            now = self._leaning(now, velocities=False)
            for foot in self.feet:
                foot.falls[-1] = self._fall(now, foot, self.frame, self.frame, foot.home, ORIGIN)
                foot.aim = _aimed(foot.falls[-1], foot.home, grounds)
                foot.place = place_of(foot.falls[-1], grounds)
            self.sway = Swaying(self._wish(now), UPRIGHT)
        self._leaning(now, velocities=False)

    # One look

    def _look(self, now: _Now) -> None:
        self.sway = eased_to(self.sway, self._wish(now), now.passed, self.settings.duration)
        now = self._leaning(now, velocities=True)
        for foot in self.feet:
            if foot.next is not None and foot.next.land <= now.time:
                self._land(now, foot, foot.next.land)
        lost = [foot for foot in self.feet if foot.next is None and self._is_lost(now, foot)]
        if lost:
            self._rescue(now, lost)
        elif all(foot.next is None for foot in self.feet):
            self._lift(now, self._chosen(now))

    def _leaning(self, now: _Now, velocities: bool) -> _Now:
        """Bring what is known of the feet to the present, with the body as it leans now."""
        body = leaned(now.body, self.sway.lean)
        now = now._replace(up=mat_columns(body[0])[2], ahead=mat_columns(body[0])[1])
        for foot in self.feet:
            home, root = point_in(body, foot.leg.rest), point_in(body, foot.leg.root)
            place = place_of(foot.falls[-1], now.grounds)
            if velocities:
                off = sub(sub(home, foot.home), sub(place, foot.place))
                foot.velocity = scaled(across(off, now.up), 1.0 / now.passed)
                slow = length(foot.velocity) * self.settings.duration < SETTLED * self._far(foot)
                foot.quiet = foot.quiet + now.passed if slow else 0.0
            foot.home, foot.root, foot.place = home, root, place
            foot.stride = self._stride(foot)
        return now

    def _far(self, foot: _Foot) -> float:
        return self.settings.threshold * foot.leg.reach

    def _wish(self, now: _Now) -> Lean:
        """Return the lean that the body would have on its feet, low enough for all of them."""
        back = inverse(now.body)
        falls = [(foot, foot.support()) for foot in self.feet]
        feet = [(foot, point_in(back, place_of(f, now.grounds))) for foot, f in falls if f.is_held]
        if not feet or not self.settings.leans:
            return UPRIGHT
        plane = plane_through([place for _, place in feet], [foot.leg.rest for foot, _ in feet])
        tilt = self.settings.tilt
        right, ahead = tilt * plane.right, tilt * plane.ahead
        lift = self.settings.height * plane.lift
        for foot, place in feet:
            leg = foot.leg
            aside = hypot(leg.rest[0] - leg.root[0], leg.rest[1] - leg.root[1], self._far(foot))
            tall = sqrt(max((STAND * leg.reach) ** 2 - aside * aside, 0.04 * leg.reach**2))
            slope = right * leg.root[0] + ahead * leg.root[1]
            bob = self.settings.bob * leg.reach
            lift = min(lift, place[2] + tall - leg.root[2] - slope - bob)
        return Lean(lift, right, ahead)

    # Which feet step

    def _is_lost(self, now: _Now, foot: _Foot) -> bool:
        """Whether the leg would lose its foot before the next look."""
        ahead = add(foot.root, scaled(foot.velocity, now.passed))
        far = max(length(sub(foot.place, foot.root)), length(sub(foot.place, ahead)))
        return far > (LOSE - self.settings.bob) * foot.leg.reach and not self._is_there(now, foot)

    def _is_there(self, now: _Now, foot: _Foot) -> bool:
        """Whether a step would end where the foot stands: it was set down for this place."""
        return self._off(now, foot) <= SETTLED * self._far(foot)

    def _off(self, now: _Now, foot: _Foot) -> float:
        fall = foot.falls[-1]
        aim = foot.aim if fall.ground == STILL else point_in(now.grounds(fall.ground), foot.aim)
        return length(across(sub(add(foot.home, foot.stride.middle), aim), now.up))

    def _chosen(self, now: _Now) -> list[_Foot]:
        """Return the feet to lift: those of the next group, in turn, that has one too far off."""
        at = self.groups.index(self.last_group) + 1
        for group in (*self.groups[at:], *self.groups[:at]):
            feet = [foot for foot in self.feet if foot.leg.group == group]
            shares = [self._off(now, foot) / foot.stride.limit for foot in feet]
            if max(shares) >= 1.0:
                return [foot for foot, share in zip(feet, shares, strict=True) if share >= 0.3]
            rest = [foot for foot in feet if foot.quiet >= 0.5 * self.settings.duration]
            rest = [foot for foot in rest if not self._is_there(now, foot)]
            if rest:
                return rest
        return []

    def _stride(self, foot: _Foot) -> _Stride:
        """Return how a foot steps at the speed that it has."""
        speed, far = length(foot.velocity), self._far(foot)
        if speed == 0.0:
            return _Stride(ORIGIN, far, ORIGIN, inf)
        way = scaled(foot.velocity, 1.0 / speed)
        step = speed * self.settings.duration
        back, front = self._room(foot, way)
        # The faster, the more: a body that hardly moves stands on its rest places.
        share = min(1.0, 4.0 * step / far)
        waiting = far + step * self._others()
        middle = share * min(max(0.0, waiting - back), 0.9 * front)
        limit = max(min(far, 0.5 * (back + middle)), 1e-6 * foot.leg.reach)
        lead = min(min(1.0, 2.0 * step / far) * self.settings.overshoot * limit, front - middle)
        return _Stride(scaled(way, middle), limit, scaled(way, lead), back + middle - limit)

    def _room(self, foot: _Foot, way: Vec) -> tuple[float, float]:
        """Return how far behind and ahead of its rest place a foot is within the leg's reach."""
        out = sub(foot.home, foot.root)
        along, square = dot(out, way), dot(out, out)
        reach, landing = (LOSE - self.settings.bob) * foot.leg.reach, LAND * foot.leg.reach
        back = along * along + reach * reach - square
        front = along * along + landing * landing - square
        return (
            0.95 * max(0.0, along + sqrt(back)) if back > 0.0 else 0.0,
            0.95 * max(0.0, sqrt(front) - along) if front > 0.0 else 0.0,
        )

    def _others(self) -> int:
        return max(1, len(self.groups) - 1)

    def _duration(self) -> float:
        """Return how long a step takes: as set, or as long as the other groups can wait."""
        frames = self.settings.duration
        for foot in self.feet:
            speed = length(foot.velocity)
            if speed > 0.0:
                frames = min(frames, foot.stride.spare / (speed * self._others()))
        return max(frames, 1e-3)

    # Steps

    def _lift(self, now: _Now, feet: Iterable[_Foot]) -> None:
        frames = self._duration()
        for foot in feet:
            coming = scaled(foot.velocity, frames)
            aim = add(self._aim(foot), coming)
            foot.next = self._fall(now, foot, now.time, now.time + frames, aim, coming)
            self.last_group = foot.leg.group

    def _land(self, now: _Now, foot: _Foot, time: float) -> None:
        assert foot.next is not None
        aim = self._aim(foot)
        fall = self._fall(now, foot, foot.next.lift, time, aim, ORIGIN)
        self._put(now, foot, fall, aim)

    def _put(self, now: _Now, foot: _Foot, fall: Footfall, aim: Vec) -> None:
        foot.falls.append(fall)
        foot.aim = _aimed(fall, aim, now.grounds)
        foot.next, foot.place = None, place_of(fall, now.grounds)

    def _rescue(self, now: _Now, lost: Sequence[_Foot]) -> None:
        """Lift feet that their legs would lose, after those in the air have come down."""
        for foot in self.feet:
            if foot.next is not None:
                self._land(now, foot, now.time)
        groups = sorted({foot.leg.group for foot in lost})
        if len(groups) == 1:
            self._lift(now, [foot for foot in lost if foot.leg.group == groups[0]])
            return
        # All at once is not allowed, so each has its share of the time until the next look.
        for turn, group in enumerate(groups):
            share = now.passed / len(groups)
            lift, land = now.time + turn * share, now.time + (turn + 1) * share
            for foot in lost:
                if foot.leg.group == group:
                    aim = add(self._aim(foot), scaled(foot.velocity, land - now.time))
                    self._put(now, foot, self._fall(now, foot, lift, land, aim, ORIGIN), aim)
            self.last_group = group

    def _aim(self, foot: _Foot) -> Vec:
        """Return where a foot should come down now: on its way, ahead of where it should be."""
        return add(add(foot.home, foot.stride.middle), foot.stride.lead)

    def _fall(
        self, now: _Now, foot: _Foot, lift: float, land: float, aim: Vec, coming: Vec
    ) -> Footfall:
        """Return the footfall for a place that is meant; ``coming`` is how far the root will go."""
        leg, last = foot.leg, foot.falls[-1]
        carry = _carry(last.ground, now)
        above = self.settings.ray_height * leg.reach
        root = point_in(carry, add(foot.root, coming))
        reach = LAND * leg.reach
        search = Search(now.cast, now.up, root, reach, above, self.settings.climbs)
        hit, is_held = hold_at(search, point_in(carry, aim))
        height = self.settings.step_height * leg.reach
        if land > lift:
            start = place_of(last, now.whole)
            rise = unit(add(normal_of(last, now.whole), hit.normal)) or now.up
            over = clearance(now.cast, start, hit.place, rise, leg.reach)
            height = max(height, over + 0.5 * height if over > 0.0 else 0.0)
        ahead = unit(across(now.ahead, hit.normal)) or any_across(hit.normal)
        fall = Footfall(lift, land, hit.place, hit.normal, ahead, hit.ground, height, is_held)
        return set_on(fall, now.whole)


def _aimed(fall: Footfall, aim: Vec, grounds: Grounds) -> Vec:
    """Return a place in the space of the ground of a footfall."""
    return aim if fall.ground == STILL else point_in(inverse(grounds(fall.ground)), aim)


def _between(a: Frame, b: Frame, turns: tuple[Quat, Quat], share: float) -> Frame:
    """Return the frame of a body on its way from one whole frame to the next."""
    axes: Mat3 = quat_matrix(quat_mix(*turns, share))
    return axes, mix(a[1], b[1], share)


def _grounds_between(before: dict[int, Frame], after: Grounds, share: float) -> Grounds:
    """Return where the grounds are that feet stood on at the whole frame before."""

    def at(ground: int) -> Frame:
        then, soon = before.get(ground), after(ground)
        if then is None or then == soon or share == 1.0:
            return soon
        columns = zip(mat_columns(then[0]), mat_columns(soon[0]), strict=True)
        axes = mat_from_columns(*(mix(a, b, share) for a, b in columns))
        return axes, mix(then[1], soon[1], share)

    return at


def _carry(ground: int, now: _Now) -> Frame:
    """Return how moving ground carries what is on it until the whole frame, where rays are cast."""
    here, there = (
        (grounds(ground) if ground != STILL else None) for grounds in (now.grounds, now.whole)
    )
    if here is None or there is None or here == there:
        return WHOLE
    return frame_in(there, inverse(here))
