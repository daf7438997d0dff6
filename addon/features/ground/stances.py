"""The contacts of a foot on the ground as it is now, and its way from one to the next."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import bpy

from ...core import WHOLE, Frame, point_in
from ...core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    dot,
    length,
    mat_apply,
    mat_determinant,
    mix,
    quat_product,
    rotate,
    scaled,
    slerp,
    sub,
)
from ...loop.chain_plan import Snapshot
from ...motion import ground as shape
from ...motion.contacts import BALL
from ...motion.easing import smoother
from ...motion.planted import Leg, Planted, Pose
from .probe import Probe
from .sole import Lying, Need, has_edge, laid, need
from .track import turn_of_frame
from .walk import Walk

LOOKED = 8
"""At how many places of a swing is looked for what is in its way."""

FASTEST = 25.0
"""How fast a foot can be, in legs a second. What is faster is a cut, as after the rest pose in the
first frame of many captures. The swinging foot of a sprinter is about twice as fast as the body,
which reaches 12 m/s."""

SWING = 0.4
"""How many seconds a swing is taken to last that begins or ends outside of the clip: 40 % of a
stride (Perry, “Gait Analysis”, 1992), which takes about one second."""

EDGE = 0.03
"""How much higher the ground is at one of them than at the next if an edge is between, in legs."""


class Foreseen(NamedTuple):
    """Where a leg is at another frame.

    Attributes:
        root: Its first joint, as the animation has it, in world space.
        target: Where the animation has the ankle.
        goal: Where that goes.
        rise: As in `Foothold`.
    """

    root: Vec
    target: Vec
    goal: Vec
    rise: float


class Moved(NamedTuple):
    """What the ground makes of a foot that is locked on the floor of its animation.

    Attributes:
        shift: How it is moved.
        tilt: The turn of the foot with the ground: its axis, as long as its angle.
        rise: How much higher the ground is than the floor of the animation.
        share: How far it counts: not at all in a contact below which there is none.
    """

    shift: Vec = ORIGIN
    tilt: Vec = ORIGIN
    rise: float = 0.0
    share: float = 1.0


class MadeOf(NamedTuple):
    """What a clip is made of besides the track.

    Attributes:
        up: The direction of length 1 against which the foot stands, in world space.
        floor: How high the floor of the animation is along it, from the origin of the world.
        rest: How high that is above the armature's origin.
        lock_time: For how many seconds a foot is locked before a contact, and released after it.
        frames: Where the grounds of the track stand, by their numbers.
    """

    up: Vec
    floor: float
    rest: float
    lock_time: float
    frames: dict[int, Frame]


class Clip:
    """A foot over all frames, on the floor of its animation and with the ground where it is now.

    It is the same as long as what it is made of is, so it may be kept from frame to frame.

    Attributes:
        walk: The track.
        sole: Where the foot touches the floor.
        ankle: The joint in which the leg ends, seen from the goal in the axes of the foot.
        planted: The foot, locked where it stands.
        made_of: What else it is made of.
        first: The first frame of the clip, or that after the last cut before all contacts.
        last: The last frame, or that before the first cut after all contacts.
    """

    def __init__(self, walk: Walk, made_of: MadeOf) -> None:
        """Take what was simulated, and where the ground is."""
        self.walk = walk
        self.made_of = made_of
        self.sole = walk.sole(made_of.rest)
        self._turns = {under: turn_of_frame(frame) for under, frame in made_of.frames.items()}
        self._poses: dict[int, Pose] = {}
        self._flats: dict[int, Pose] = {}
        self._standing: dict[int, tuple[list[Vec], float]] = {}
        samples = walk.track.samples
        unders = {
            frame: under
            for contact, under in zip(walk.contacts, walk.unders, strict=True)
            for frame in range(contact.first, contact.last + 1)
        }
        most = FASTEST * walk.track.leg / walk.track.rate
        cuts = [frame for frame, sample in enumerate(samples) if length(sample.step) > most]
        begin, end = walk.contacts[0].first, walk.contacts[-1].last
        self.first = max((cut for cut in cuts if cut <= begin), default=0)
        self.last = min((cut - 1 for cut in cuts if cut > end), default=len(samples) - 1)
        foot = walk.track.foot
        self.ankle = foot.heel if foot.ball == ORIGIN else ORIGIN
        self.planted = Planted(
            walk.contacts,
            lambda frame: samples[frame].under == unders[frame],
            self.pose,
            len(samples),
            Leg(self.root, self.ankle, walk.track.leg),
            made_of.up,
            self.sole,
            walk.track.rate,
            made_of.lock_time,
        )

    def pose(self, frame: int) -> Pose:
        """Return where the animation has the foot, seen from the ground as it is now."""
        pose = self._poses.get(frame)
        if pose is None:
            made_of, sample = self.made_of, self.walk.track.samples[frame]
            aside = across(point_in(made_of.frames[sample.under], sample.place), made_of.up)
            height = scaled(made_of.up, made_of.floor - made_of.rest + sample.height)
            turn = quat_product(self._turns[sample.under], sample.turn)
            pose = self._poses[frame] = Pose(add(aside, height), turn)
        return pose

    def root(self, frame: int) -> Vec:
        """Return where the animation has the first joint of the leg, seen from the foot."""
        sample = self.walk.track.samples[frame]
        return mat_apply(self.made_of.frames[sample.under][0], sample.root)

    def flat(self, frame: int) -> Pose:
        """Return where the foot is locked."""
        flat = self._flats.get(frame)
        if flat is None:
            flat = self._flats[frame] = self.planted.at(frame, self.pose(frame))
        return flat

    def ends(self, number: int) -> list[Vec]:
        """Return the points of the sole that stand in a contact, seen from the goal."""
        return self._stands(number)[0]

    def hover(self, number: int) -> float:
        """Return how high above its floor the animation has the foot in a contact."""
        return self._stands(number)[1]

    def _stands(self, number: int) -> tuple[list[Vec], float]:
        if number not in self._standing:
            place = self.planted.places[number]
            points = dict.fromkeys((self.sole.heel, self.sole.ball))
            if all(anchor.part.kind == BALL for anchor in place.anchors):
                points = [self.sole.ball]
            ends = [rotate(place.turn, point) for point in points]
            heights = [dot(add(place.base, end), self.made_of.up) for end in ends]
            self._standing[number] = ends, max(0.0, min(heights) - self.made_of.floor)
        return self._standing[number]


class Stances:
    """The contacts of a foot on the ground at one moment.

    Attributes:
        clip: The foot on the floor of its animation.
        probe: What looks for ground.
    """

    def __init__(self, clip: Clip, probe: Probe, blend: float) -> None:
        """Take the foot on the floor of its animation, and the ground now."""
        self.clip = clip
        self._start = clip.walk.track.start
        self.probe = probe
        self._up = probe.up
        self._blend = blend
        self._lyings: dict[int, Lying | None] = {}
        self._hangings: dict[int, Lying | None] = {}
        self._edges: dict[int, Moved] = {}

    def locked(self, time: float, pose: Pose) -> tuple[Pose, Moved]:
        """Return a foot on the ground without what it is lifted over, and what that makes of it.

        Args:
            time: The frame.
            pose: Where the animation has the foot.
        """
        return self._on_ground(time - self._start, pose, self._flat(time - self._start, pose))

    def _flat(self, time: float, pose: Pose) -> Pose:
        """Return a foot on the floor of its animation."""
        return self.clip.planted.at(time, pose)

    def _on_ground(self, time: float, given: Pose, flat: Pose) -> tuple[Pose, Moved]:
        moved = self._moved(time, flat)
        foot = Pose(add(flat.place, moved.shift), flat.turn)
        if moved.tilt != ORIGIN:
            turn = quat_product(shape.turn_of(moved.tilt), flat.turn)
            foot = foot._replace(turn=turn)
        return blended(given, foot, moved.share), moved

    def lift(self, time: float) -> float:
        """Return how much higher the foot swings for the obstacles in its way."""
        local = time - self._start
        number, stands = self.clip.planted.around(local)
        if stands:
            return 0.0
        contacts, first, last = self.clip.walk.contacts, self.clip.first, self.clip.last
        swing = max(2, round(SWING * self.clip.walk.track.rate))
        begin, end, near = first - swing, last + swing, swing // 2
        if number >= 0:
            begin = contacts[number].last
        if number + 1 < len(contacts):
            end = contacts[number + 1].first
        if number >= 0 and number + 1 < len(contacts):
            swing = near = end - begin
        stride = -(-swing // LOOKED)
        # The same frames whatever the time is, so that arcs do not come and go.
        first, last = max(begin + 1, first), min(end - 1, last)
        looked = [f for f in range(first, last + 1) if (f - first) % stride == 0 or f == last]
        looked = [f for f in looked if abs(f - local) < near + stride]
        needs = {frame: self._need(frame) for frame in looked}
        for a, b in pairwise(looked):
            self._look_between(needs, a, b)
        arcs = [
            shape.Arc(max(begin, f - near), f, min(end, f + near), self._share(f) * need.lack)
            for f, need in needs.items()
        ]
        return shape.lift(local, arcs)

    def _look_between(self, needs: dict[int, Need], a: int, b: int) -> None:
        """Find at which frame a foot comes over an edge between two."""
        if b - a > 1 and has_edge(needs[a], needs[b], EDGE * self.probe.leg):
            middle = (a + b) // 2
            needs[middle] = self._need(middle)
            self._look_between(needs, a, middle)
            self._look_between(needs, middle, b)

    def _need(self, frame: int) -> Need:
        flat = self.clip.flat(frame)
        foot, _ = self._on_ground(frame, self.clip.pose(frame), flat)
        return need(self.probe, self.clip.sole, flat, foot)

    def _share(self, frame: int) -> float:
        """Return how much of the ground counts for the height at which the animation has a foot."""
        height = dot(self.clip.pose(frame).place, self._up) - self.probe.floor
        return shape.influence(height, self._blend)

    def need(self, time: float, pose: Pose, foot: Pose) -> float:
        """Return by how much a foot is too low, given where the animation has it, and where it is.

        It need not be higher above what is below it than it is above the floor of its animation.
        """
        flat = self._flat(time - self._start, pose)
        return need(self.probe, self.clip.sole, flat, foot).lack

    def foreseen(self, frame: int) -> Foreseen:
        """Return where the leg is at another frame."""
        local = frame - self._start
        pose, ankle = self.clip.pose(local), self.clip.ankle
        foot, moved = self._on_ground(local, pose, self.clip.flat(local))
        share = self._share(local)
        target = add(pose.place, rotate(pose.turn, ankle))
        goal = mix(target, add(foot.place, rotate(foot.turn, ankle)), share)
        root = add(pose.place, self.clip.root(local))
        return Foreseen(root, target, goal, share * moved.rise)

    def between(self, first: int, last: int) -> tuple[Lying | None, ...]:
        """Return how the foot lies in all contacts on which its way between two frames depends."""
        around, contacts = self.clip.planted.around, self.clip.walk.contacts
        low, high = around(first - self._start)[0], around(last - self._start)[0] + 1
        found = [self._lying(i) for i in range(max(0, low), min(high + 1, len(contacts)))]
        found += [self._hanging(self.clip.first)] if low < 0 else []
        found += [self._hanging(self.clip.last)] if high >= len(contacts) else []
        return tuple(found)

    def _moved(self, time: float, flat: Pose) -> Moved:
        """Return what the ground makes of a foot that is locked on a flat floor."""
        number, stands = self.clip.planted.around(time)
        if stands:
            return self._in_contact(number, flat)
        contacts = self.clip.walk.contacts
        first, last = self.clip.first, self.clip.last
        if number >= 0:
            first = contacts[number].last
        if number + 1 < len(contacts):
            last = contacts[number + 1].first
        before = self._edge(number, first) if number >= 0 else self._beyond(first)
        after = self._edge(number + 1, last) if number + 1 < len(contacts) else self._beyond(last)
        before, after = before or after, after or before
        if before is None or after is None or before == after:
            return before or Moved()
        share = smoother((time - first) / max(1, last - first))
        return Moved(
            mix(before.shift, after.shift, share),
            mix(before.tilt, after.tilt, share),
            before.rise + (after.rise - before.rise) * share,
            before.share + (after.share - before.share) * share,
        )

    def _edge(self, number: int, frame: int) -> Moved:
        """Return what the ground makes of the foot at an end of a contact."""
        moved = self._edges.get(frame)
        if moved is None:
            moved = self._edges[frame] = self._in_contact(number, self.clip.flat(frame))
        return moved

    def _beyond(self, frame: int) -> Moved | None:
        """Return what the ground makes of the foot where its way begins, or ends, in a swing.

        None if there is no ground there, or the animation does not come from there.
        """
        lying = self._hanging(frame)
        if lying is None:
            return None
        shift = scaled(self._up, lying.height - dot(self.clip.flat(frame).place, self._up))
        return Moved(shift, lying.tilt, lying.rise)

    def _hanging(self, frame: int) -> Lying | None:
        """Return how the foot would lie on the ground below it at a frame of a swing."""
        if frame not in self._hangings:
            flat = self.clip.flat(frame)
            ends = dict.fromkeys((self.clip.sole.heel, self.clip.sole.ball))
            points = [level(flat, end, self._up, self.probe.floor) for end in ends]
            self._hangings[frame] = laid(self.probe, flat.place, points)
        return self._hangings[frame]

    def _in_contact(self, number: int, flat: Pose) -> Moved:
        lying = self._lying(number)
        if lying is None:
            return Moved(share=0.0)
        base = self.clip.planted.places[number].base
        height = lying.height + self.clip.hover(number) - dot(base, self._up)
        shift = scaled(self._up, height)
        if lying.tilt != ORIGIN:
            apart = sub(flat.place, base)
            shift = add(shift, sub(rotate(shape.turn_of(lying.tilt), apart), apart))
        return Moved(shift, lying.tilt, lying.rise)

    def _lying(self, number: int) -> Lying | None:
        """Return how the foot lies in a contact, None if there is no ground."""
        if number not in self._lyings:
            base = self.clip.planted.places[number].base
            self._lyings[number] = laid(self.probe, base, self.clip.ends(number))
        return self._lyings[number]


def level(foot: Pose, point: Vec, up: Vec, floor: float) -> Vec:
    """Return the place on the floor below or above a point of a foot, seen from its goal."""
    end = rotate(foot.turn, point)
    return sub(end, scaled(up, dot(add(foot.place, end), up) - floor))


def blended(given: Pose, foot: Pose, share: float) -> Pose:
    """Return a foot on the ground as far as the ground counts."""
    if share >= 1.0 or share <= 0.0:
        return foot if share >= 1.0 else given
    return Pose(mix(given.place, foot.place, share), slerp(given.turn, foot.turn, share))


def frame_of(snapshot: Snapshot, ob: bpy.types.Object | None) -> Frame:
    """Return the space in which a foot rides along with a ground, the world's if there is none.

    That of one that is scaled flat has its place alone, as nothing could be found again in it.
    """
    if ob is None:
        return WHOLE
    world = snapshot.world(ob, ob.session_uid)
    return world if mat_determinant(world[0]) else (WHOLE[0], world[1])
