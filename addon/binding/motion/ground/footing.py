"""Where a foot goes on uneven ground: on it, and at one place while it stands."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import bpy

from ....core import WHOLE, Frame, point_in
from ....core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    dot,
    mat_apply,
    mat_product,
    mix,
    quat_matrix,
    scaled,
    sub,
)
from ....motion import ground as shape
from ....motion.contacts import Contact, Thresholds, contacts_of
from ...chain_plan import ChainPlan
from ..goals import Aim
from ..rays import Ground, recalled
from .probe import Probe, Under, probe_of
from .track import IN_WORLD, Track, unpacked

if TYPE_CHECKING:
    from ...read import Snapshot
    from .settings import FabrikGround

MOST_LOOKED = 16
"""At how many places of a swing is looked for what is in its way."""

UNKNOWN = "It is not known yet when the foot stands, so it is not locked: press Simulate"

NONE_FOUND = (
    "The foot never stands, seen from the ground: raise Speed and Height, let the armature move "
    "with the walk, or turn Lock Contacts off"
)


class Foothold(NamedTuple):
    """Where a foot goes.

    Attributes:
        aim: The goal.
        base: Where it would go if nothing were in the way of its swing, in world space.
        rise: How much higher the ground counts than the floor of the animation, in metres.
    """

    aim: Aim
    base: Vec
    rise: float = 0.0


class Foreseen(NamedTuple):
    """Where a leg is at another frame.

    Attributes:
        root: Its first joint, as the animation has it, in world space.
        target: Where the animation has the foot.
        goal: Where the foot goes.
        rise: As in `Foothold`.
    """

    root: Vec
    target: Vec
    goal: Vec
    rise: float


class Footprint(NamedTuple):
    """Where a foot stands in a contact.

    Attributes:
        ob: The object that is below it, None if nothing is.
        place: Where it stands in the mean, in the space of that.
        low: How high it is above the floor of the animation, where it is lowest.
    """

    ob: bpy.types.Object | None
    place: Vec
    low: float


class Walk:
    """The track of a foot, and what follows from it.

    Attributes:
        track: The track.
        contacts: When the foot stands, counted from the track's first frame.
        spans: The first and last frames of the same.
        prints: Where it stands then.
        grounds: The objects that the track names, as far as there still are any.
        lowest: How high it is above the floor of the animation, where it is lowest.
    """

    def __init__(
        self, track: Track, thresholds: Thresholds, grounds: Sequence[bpy.types.Object]
    ) -> None:
        """Find the contacts, on what counts as ground."""
        self.track = track
        self.contacts: list[Contact] = contacts_of(
            track.path, track.heights, track.rate, track.leg, thresholds
        )
        self.grounds = recalled(track.grounds, grounds)
        self.prints = [self._footprint(contact) for contact in self.contacts]
        self.lowest = min(track.heights, default=0.0)
        self.spans = [(track.start + c.first, track.start + c.last) for c in self.contacts]
        self._firsts = [first for first, _ in self.spans]

    def _footprint(self, contact: Contact) -> Footprint:
        samples = self.track.samples[contact.first : contact.last + 1]
        under = samples[len(samples) // 2].under
        xs, ys, zs = zip(*[s.place for s in samples if s.under == under], strict=True)
        place = scaled((sum(xs), sum(ys), sum(zs)), 1.0 / len(xs))
        ob = None if under == IN_WORLD else self.grounds[under]
        return Footprint(ob, place, min(sample.height for sample in samples))

    def covers(self, time: float) -> bool:
        """Return whether a time is in the range of the track, and there are contacts in it."""
        first = self.track.start
        return bool(self.contacts) and first <= time <= first + len(self.track.samples) - 1

    def before(self, time: float) -> int:
        """Return the number of the last contact that began by a time, -1 if none did."""
        return bisect_right(self._firsts, time) - 1


@dataclass(eq=False)
class Footing:
    """Puts the goal of a chain on the ground.

    Attributes:
        ground: What counts as ground.
    """

    ground: Ground
    _known: tuple[object, Walk | None] = (None, None)
    _last: tuple[weakref.ref[Snapshot], Aim, Foothold] | None = None

    def goal(self, moment: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the goal on the ground."""
        return self.foothold(moment, chain, aim).aim

    def foothold(self, moment: Snapshot, chain: ChainPlan, aim: Aim) -> Foothold:
        """Return where a foot goes, given where the animation has it.

        The hip asks for it before the foot does: it is found once.
        """
        last = self._last
        if last is not None and last[0]() is moment and last[1] == aim:
            return last[2]
        found = self._foothold(moment, chain, aim)
        self._last = (weakref.ref(moment), aim, found)
        return found

    def _foothold(self, moment: Snapshot, chain: ChainPlan, aim: Aim) -> Foothold:
        given = moment.item(chain).ground
        probe = probe_of(moment, chain, given, self.ground)
        step = _Step(moment, probe, given, aim)
        if not given.use_lock:
            return step.unlocked("")
        walk, note = self.walk(chain, given, moment.time)
        if walk is None or not walk.covers(moment.time):
            return step.unlocked(note)
        found = step.locked(walk)
        return found._replace(aim=found.aim._replace(note=note))

    def foreseen(
        self, moment: Snapshot, chain: ChainPlan, aim: Aim, frames: range
    ) -> dict[int, Foreseen]:
        """Return where a leg is at other frames, as far as its track tells, on ground as it is.

        Args:
            moment: The ground.
            chain: The constraint.
            aim: Where the animation has the foot now.
            frames: The frames.
        """
        given = moment.item(chain).ground
        walk, _ = self.walk(chain, given, moment.time)
        if not given.use_lock or walk is None or not walk.covers(moment.time):
            return {}
        step = _Step(moment, probe_of(moment, chain, given, self.ground), given, aim)
        return {f: step.foreseen(walk, f) for f in frames if walk.covers(f)}

    def walk(self, chain: ChainPlan, given: FabrikGround, time: float) -> tuple[Walk | None, str]:
        """Return the track of a foot with its contacts, if there is one, and what is to be said.

        Args:
            chain: The constraint.
            given: Its settings.
            time: The frame for which that is said.
        """
        from ..simulating import history  # Which knows the plan, of which this is a part.

        kept = history.data(chain.rig.object, owner_path(chain.item))
        key = (kept and kept.blob, given.speed, given.height, given.shortest)
        if key != self._known[0]:
            track = unpacked(kept.blob) if kept else None
            thresholds = Thresholds(given.speed, given.height, given.shortest)
            self._known = (key, None if track is None else Walk(track, thresholds, chain.watched))
        walk = self._known[1]
        if walk is None:
            return None, UNKNOWN
        return walk, history.note(kept, time) or ("" if walk.contacts else NONE_FOUND)


def owner_path(index: int) -> str:
    """Return the path of the settings of a constraint's ground."""
    return f"fabrik.constraints[{index}].ground"


class _Stand(NamedTuple):
    """A contact, as the ground is now.

    Attributes:
        stance: What takes the animated foot to its place.
        place: Where it stands in world space, None if nothing is below it.
    """

    stance: shape.Stance
    place: Vec | None


class _Step:
    """A foot at one moment."""

    def __init__(self, moment: Snapshot, probe: Probe, given: FabrikGround, aim: Aim) -> None:
        self.moment = moment
        self.probe = probe
        self.given = given
        self.aim = aim
        self.up = probe.up
        self.height = dot(aim.place, probe.up) - probe.floor
        self.share = shape.influence(self.height, given.blend)
        self._frames: dict[int, Frame] = {}
        self._stands: dict[int, _Stand] = {}

    @cached_property
    def below(self) -> Under | None:
        """What is below the animated foot."""
        return self.probe.under(self.aim.place)

    def unlocked(self, note: str) -> Foothold:
        """Return the foot on the ground that is below it."""
        if self.below is None:
            return Foothold(self.aim._replace(note=note), self.aim.place)
        tilt = scaled(self._tilt(self.below), self.share)
        rise = self._level(self.below) - self.probe.floor
        more = self.share * (rise + shape.raised(self.height, tilt) - self.height)
        base = add(self.aim.place, scaled(self.up, more))
        return self._foothold(base, 0.0, shape.Swing(ORIGIN, tilt, self.share * rise), 0.0, note)

    def locked(self, walk: Walk) -> Foothold:
        """Return the foot at its place while it stands, and on its way from one to the next."""
        time = self.moment.time
        number = walk.before(time)
        before = self._stand(walk, number) if number >= 0 else None
        if before is not None and time <= before.stance.last:
            return self._standing(before)
        has_next = number + 1 < len(walk.contacts)
        after = self._stand(walk, number + 1) if has_next else None
        if before is None or after is None:
            return self._alone(walk, before, after)
        return self._swinging(walk, before.stance, after.stance)

    def _standing(self, stand: _Stand) -> Foothold:
        if stand.place is None:
            return Foothold(self.aim, self.aim.place)
        place = stand.place
        if self.given.lift_only:
            place = self._at_least(place, self.probe.floor + self.height)
        if self.share < 1.0:
            place = mix(self.aim.place, place, self.share)
        aim = self._turned(place, scaled(stand.stance.tilt, self.share))
        return Foothold(aim, place, self.share * stand.stance.rise)

    def _alone(self, walk: Walk, before: _Stand | None, after: _Stand | None) -> Foothold:
        """Return the foot before the first contact, or after the last."""
        swing = shape.Swing(ORIGIN, ORIGIN, 0.0)
        if before is not None:
            swing = shape.Swing(before.stance.exit, before.stance.tilt, before.stance.rise)
        elif after is not None:
            swing = shape.Swing(after.stance.entry, after.stance.tilt, after.stance.rise)
        base = self._shifted(swing)
        lift = 0.0
        if self.below is not None:
            wanted = self._level(self.below) + self.height
            lift = max(0.0, self.share * (wanted - dot(base, self.up)))
        return self._foothold(base, lift, self._counting(swing), walk.lowest)

    def _swinging(self, walk: Walk, before: shape.Stance, after: shape.Stance) -> Foothold:
        time = self.moment.time
        swing = shape.swing(before, after, time)
        share = (time - before.last) / (after.first - before.last)
        lift = self.share * shape.lift(share, self._needs(walk, before, after))
        return self._foothold(self._shifted(swing), lift, self._counting(swing), walk.lowest)

    def _shifted(self, swing: shape.Swing) -> Vec:
        """Return the animated foot with its correction; to the last bit itself if there is none."""
        if swing.shift == ORIGIN:
            return self.aim.place
        return add(self.aim.place, scaled(swing.shift, self.share))

    def _counting(self, swing: shape.Swing) -> shape.Swing:
        """Return a moment of a swing as far as the ground counts."""
        return shape.Swing(swing.shift, scaled(swing.tilt, self.share), self.share * swing.rise)

    def _needs(
        self, walk: Walk, before: shape.Stance, after: shape.Stance
    ) -> list[tuple[float, float]]:
        """Return by how much the foot would be too low at places of a swing."""
        first, last = int(before.last), int(after.first)
        stride = max(1, -(-(last - first) // MOST_LOOKED))
        needs: list[tuple[float, float]] = []
        for frame in range(first + 1, last, stride):
            shift = shape.swing(before, after, frame).shift
            under = self.probe.under(add(self._place(walk, frame), shift))
            if under is not None:
                sample = walk.track.samples[frame - walk.track.start]
                have = self.probe.floor + dot(shift, self.up)
                share = shape.influence(sample.height, self.given.blend)
                need = share * (self._level(under) - have)
                needs.append(((frame - first) / (last - first), need))
        return needs

    def _foothold(
        self, base: Vec, lift: float, swing: shape.Swing, lowest: float, note: str = ""
    ) -> Foothold:
        """Return a foot that is not below the ground, nor below the animation if it must not."""
        place = add(base, scaled(self.up, lift)) if lift > 0.0 else base
        under = self.probe.under(place)
        if under is not None:
            place = self._at_least(place, self._level(under) + min(lowest, self.height))
        if self.given.lift_only:
            place = self._at_least(place, self.probe.floor + self.height)
        return Foothold(self._turned(place, swing.tilt, note), base, swing.rise)

    def foreseen(self, walk: Walk, frame: int) -> Foreseen:
        """Return where the leg is at another frame."""
        sample = walk.track.samples[frame - walk.track.start]
        place = self._place(walk, frame)
        height = scaled(self.up, self.probe.floor + sample.height)
        target = add(across(place, self.up), height)
        leg = mat_apply(self._frame(walk, sample.under)[0], sample.root)
        swing = self._swing(walk, frame)
        share = shape.influence(sample.height, self.given.blend)
        goal = add(target, scaled(swing.shift, share))
        return Foreseen(add(target, leg), target, goal, share * swing.rise)

    def _swing(self, walk: Walk, frame: int) -> shape.Swing:
        """Return the correction of a frame, be it in a contact or not."""
        number = walk.before(frame)
        before = self._stand(walk, number) if number >= 0 else None
        if before is not None and frame <= before.stance.last:
            stance = before.stance
            shift = ORIGIN if before.place is None else self._shift(walk, frame, before.place)
            return shape.Swing(shift, stance.tilt, stance.rise)
        if number + 1 < len(walk.contacts):
            after = self._stand(walk, number + 1).stance
            if before is not None:
                return shape.swing(before.stance, after, frame)
            return shape.Swing(after.entry, after.tilt, after.rise)
        stance = self._stand(walk, number).stance
        return shape.Swing(stance.exit, stance.tilt, stance.rise)

    def _stand(self, walk: Walk, number: int) -> _Stand:
        """Return a contact as the ground is now."""
        if number not in self._stands:
            self._stands[number] = self._found_stand(walk, number)
        return self._stands[number]

    def _found_stand(self, walk: Walk, number: int) -> _Stand:
        begin, end = walk.spans[number]
        still = shape.Stance(begin, end, ORIGIN, ORIGIN, ORIGIN, ORIGIN, ORIGIN, 0.0)
        footprint = walk.prints[number]
        if footprint.ob is None:
            return _Stand(still, None)
        anchor = point_in(frame_of(self.moment, footprint.ob), footprint.place)
        under = self.probe.under(anchor)
        if under is None:
            return _Stand(still, None)
        tilt = self._tilt(under)
        top = self._level(under) + shape.raised(footprint.low, tilt)
        place = add(across(anchor, self.up), scaled(self.up, top))
        stance = still._replace(
            entry=self._shift(walk, begin, place),
            exit=self._shift(walk, end, place),
            entry_rate=self._rate(walk, begin),
            exit_rate=self._rate(walk, end),
            tilt=tilt,
            rise=self._level(under) - self.probe.floor,
        )
        return _Stand(stance, place)

    def _shift(self, walk: Walk, frame: int, place: Vec) -> Vec:
        """Return what takes the animated foot of a frame to a place."""
        sample = walk.track.samples[frame - walk.track.start]
        aside = across(sub(place, self._place(walk, frame)), self.up)
        rise = dot(place, self.up) - self.probe.floor - sample.height
        return add(aside, scaled(self.up, rise))

    def _rate(self, walk: Walk, frame: int) -> Vec:
        """Return how far the animation moves the foot in a frame."""
        samples, start = walk.track.samples, walk.track.start
        a, b = max(frame - 1, start), min(frame + 1, start + len(samples) - 1)
        aside = across(sub(self._place(walk, b), self._place(walk, a)), self.up)
        rise = samples[b - start].height - samples[a - start].height
        return scaled(add(aside, scaled(self.up, rise)), 1.0 / max(1, b - a))

    def _place(self, walk: Walk, frame: int) -> Vec:
        """Return where the animation has the foot at a frame, seen from the ground as it is now."""
        sample = walk.track.samples[frame - walk.track.start]
        return point_in(self._frame(walk, sample.under), sample.place)

    def _frame(self, walk: Walk, under: int) -> Frame:
        if under not in self._frames:
            ob = None if under == IN_WORLD else walk.grounds[under]
            self._frames[under] = frame_of(self.moment, ob)
        return self._frames[under]

    def _level(self, under: Under) -> float:
        """Return the height at which the floor is meant to be."""
        level = under.height + self.given.offset
        return max(level, self.probe.floor) if self.given.lift_only else level

    def _tilt(self, under: Under) -> Vec:
        return ORIGIN if self.aim.axes is None else under.tilt

    def _at_least(self, place: Vec, height: float) -> Vec:
        rise = height - dot(place, self.up)
        return add(place, scaled(self.up, rise)) if rise > 0.0 else place

    def _turned(self, place: Vec, tilt: Vec, note: str = "") -> Aim:
        axes = self.aim.axes
        if axes is not None and tilt != ORIGIN:
            axes = mat_product(quat_matrix(shape.turn_of(tilt)), axes)
        return Aim(place, axes, note)


def frame_of(moment: Snapshot, ob: bpy.types.Object | None) -> Frame:
    """Return where a ground stands in world space, the world itself if there is none."""
    if ob is None:
        return WHOLE
    return moment.world(ob, ob.session_uid)
