"""A foot's contacts on the current ground, and its swings between them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, pairwise
from math import floor, inf
from typing import NamedTuple

import bpy

from fabrik_solver import WHOLE, Frame, point_in
from fabrik_solver.core.vectors import (
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
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion import knee
from fabrik_solver.motion.columns import FINE, Column, SmoothColumn, between
from fabrik_solver.motion.contacts import BALL, FLAT, WINDOW, Contact
from fabrik_solver.motion.easing import smooth
from fabrik_solver.motion.ground import Pose
from fabrik_solver.motion.planted import (
    Blend,
    Offset,
    Planted,
    Span,
    begun,
    blend_of,
    neighbors,
    swing_between,
)
from fabrik_solver.motion.smoothest import Wish

from ...plan.chain_plan import Aim, Snapshot
from .contact_track import ContactTrack, frames_of
from .grounded_foot import (
    CLIMB,
    Below,
    Foothold,
    GroundOffset,
    blended,
    depth_between,
    goal_of,
    ground_below,
    need,
    pose_of,
    sole_contact,
)
from .probe import Probe
from .track import turn_of_frame

FASTEST = 25.0
"""The highest speed of a foot, in leg lengths per second. Anything faster is a cut, as after the
rest pose in the first frame of many captures. A sprinter's body reaches 12 m/s, and the swinging
foot about twice that."""


class ClipInput(NamedTuple):
    """The inputs of a clip besides the track.

    Attributes:
        up: The unit vector up, in world space.
        floor: The height of the animation's floor along it, from the world's origin.
        rest: The height of that floor above the armature's origin.
        lock_time: How long a foot blends into its lock before a contact, and out of it afterward.
        frames: The transforms of the track's grounds, by index.
        has_toes: Whether the foot has toes, and so rolls off about their joint.
    """

    up: Vec
    floor: float
    rest: float
    lock_time: float
    frames: dict[int, Frame]
    has_toes: bool


class FootClip:
    """A foot at all frames on the animation's floor, with the ground in its current location.

    It is reused until its inputs change.

    Attributes:
        contact_track: The track with its contacts.
        sole: The points of the foot that touch the floor.
        planted: The foot, locked during its contacts.
        inputs: The other inputs.
        first: The first frame of the clip, or the frame after the last cut before all contacts.
        last: The last frame, or the frame before the first cut after all contacts.
        firm: The frames in which the foot stands without rolling.
        carrying: The frames in which the foot is on the ground, locked or not.
        flats: The locked pose of the foot on the animation's floor, by frame.
        standing: For each contact, the sole's points relative to the goal, the standing one first,
            and the height of the lower one above the floor.
    """

    def __init__(self, contact_track: ContactTrack, inputs: ClipInput) -> None:
        """Prepare a simulated foot for the current ground."""
        self.contact_track = contact_track
        self.inputs = inputs
        self.sole = contact_track.sole(inputs.rest)
        if inputs.has_toes:
            self.sole = self.sole._replace(joint=contact_track.track.foot.ball)
        self._turns = {under: turn_of_frame(frame) for under, frame in inputs.frames.items()}
        self._poses = Column(self._pose)
        self.flats = Column(self._flat)
        self._flexions = Column(self._flexion)
        self._bends = Column(self._bend)
        self.standing = Column(self._stands)
        self.first, self.last = self._uncut()
        self.firm = {frame for c in contact_track.contacts for frame in _firm_frames(c)}
        self.carrying = {f for a, b in contact_track.extents for f in range(a, b + 1)}
        self.planted = Planted(
            contact_track.contacts,
            contact_track.is_on_its_ground,
            self.pose,
            len(contact_track.track.samples),
            self.root,
            contact_track.track.leg,
            inputs.up,
            self.sole,
            contact_track.track.rate,
            inputs.lock_time,
        )

    def _uncut(self) -> tuple[int, int]:
        """Return the first and last frame between the cuts around all contacts."""
        track, contacts = self.contact_track.track, self.contact_track.contacts
        most, count = FASTEST * track.leg / track.rate, len(track.samples)
        cuts = [frame for frame, sample in enumerate(track.samples) if length(sample.step) > most]
        begin, end = (
            (contacts[0].first, contacts[-1].last) if contacts else (count // 2, count // 2)
        )
        first = max((cut for cut in cuts if cut <= begin), default=0)
        return first, min((cut - 1 for cut in cuts if cut > end), default=count - 1)

    def pose(self, time: float) -> Pose:
        """Return the animated pose of the foot, carried by the moving ground.

        It is interpolated linearly between frames.
        """
        frame = floor(time)
        if time != frame:
            here, then, fraction = self.pose(frame), self.pose(frame + 1), time - frame
            return Pose(
                mix(here.place, then.place, fraction), slerp(here.turn, then.turn, fraction)
            )
        return self._poses[frame]

    def _pose(self, frame: int) -> Pose:
        inputs, sample = self.inputs, self.contact_track.track.samples[frame]
        aside = across(point_in(inputs.frames[sample.under], sample.place), inputs.up)
        height = scaled(inputs.up, inputs.floor - inputs.rest + sample.height)
        return Pose(add(aside, height), quat_product(self._turns[sample.under], sample.turn))

    def root(self, frame: int) -> Vec:
        """Return the animated hip joint, relative to the goal of the foot."""
        sample = self.contact_track.track.samples[frame]
        return mat_apply(self.inputs.frames[sample.under][0], sample.root)

    def flexion(self, time: float) -> Vec:
        """Return the axis about which the knee flexes around a time; 0 if unknown."""
        return self._smoothed(self._bends, time, 0.5)

    def _smoothed(self, axes: Column[int, Vec | None], time: float, strides: float) -> Vec:
        """Return the mean of axes around a time, over this many strides within the clip.

        Near an end of the clip, the nearest whole strides are used. A knee that is overextended at
        the end would otherwise turn backward.
        """
        ease, stride = shape.window(strides * shape.STRIDE, self.contact_track.track.rate)
        middle = 0.5 * (self.first + self.last)
        time = max(min(time, max(middle, self.last - ease)), min(middle, self.first + ease))
        return shape.smoothed(axes.__getitem__, time, ease, stride)

    def _bend(self, frame: int) -> Vec | None:
        """Return the knee's flexion axis at a frame: 0 if overextended, None outside the clip.

        A knee flexes much farther than a capture overextends it. So a whole stride shows which way
        it bends, whatever the rest pose or a single frame suggests.
        """
        axis = self._flexions[frame]
        if axis is None or dot(axis, self._smoothed(self._flexions, frame, 1.0)) > 0.0:
            return axis
        return ORIGIN

    def _flexion(self, frame: int) -> Vec | None:
        """Return the knee's bend axis times the knee's offset; None outside the clip."""
        if not self.first <= frame <= self.last:
            return None
        sample = self.contact_track.track.samples[frame]
        return mat_apply(self.inputs.frames[sample.under][0], sample.flexion)

    def _flat(self, time: float) -> Pose:
        """Return the locked pose of the foot on the animation's floor."""
        return self.planted.at(time, self.pose(time))

    def within(self, frame: int) -> int:
        """Return the frame of the clip nearest to a frame."""
        return min(max(frame, self.first), self.last)

    def _stands(self, number: int) -> tuple[list[Vec], float]:
        """Return where the sole is in a contact (see `standing`)."""
        planted = self.planted.places[number]
        points = (self.sole.heel, self.sole.ball)
        if all(anchor.part.kind == BALL for anchor in planted.anchors):
            points = points[::-1]  # Keeps the heel out of the step behind the ball.
        ends = [rotate(planted.turn, point) for point in dict.fromkeys(points)]
        heights = [dot(add(planted.base, end), self.inputs.up) for end in ends]
        return ends, min(heights) - self.inputs.floor


class Stances:
    """A foot's contacts with the ground at one moment, in frames of its track.

    They are kept from frame to frame until the clip, the ground, or the probe's settings change.

    Attributes:
        clip: The foot on the animation's floor.
        probe: Finds the ground.
        start: The scene frame at which the track begins.
        carried: The leg at each frame; beyond a cut or the clip's end, the leg just before it.
        jumps: How far the lock moves the ankle, and where the hip joint is, relative to their means
            around a frame.
        raises: How far the foot is raised for everything below it, weighted by the ground's
            influence.
        foothold: Returns the foot's goal at a time, from its animated goal. It caches as many as
            the track has frames, so that a dragged goal doesn't fill the memory.
    """

    def __init__(self, clip: FootClip, probe: Probe, blend: float) -> None:
        """Set the foot on the animation's floor, and the current ground."""
        self.clip = clip
        self.start = clip.contact_track.track.start
        self.probe = probe
        self._up = probe.up
        self._blend = blend
        self.carried = Column(self._carried)
        self.jumps = Column(self._jump)
        self.raises: Column[float, float] = Column(self._raise)
        self.foothold = lru_cache(len(clip.contact_track.track.samples))(self._foothold)
        self._lyings = Column(self._lying)
        self._beyonds = Column(self._beyond)
        self._swings = Column(self._swing)
        self._lifts = SmoothColumn(self._clear, clip.contact_track.track.rate, shape.CALM, FINE)
        self._needs = Column(self._needed)

    def _foothold(self, time: float, aim: Aim) -> Foothold:
        """Return the goal of a foot that is locked in stance, or swinging to its next foothold."""
        animated, probe, up = pose_of(aim), self.probe, self._up
        flat = self.clip.planted.at(time, animated)
        foot, moved = self._on_ground(time, animated, flat)
        if self.is_cut(time):
            return Foothold(aim, aim.place, moved.rise, add(aim.place, self.clip.root(floor(time))))
        weight = shape.influence(dot(aim.place, up) - probe.floor, self._blend)
        base = blended(animated, foot, weight)
        rise = self.raises[time]
        if time != floor(time):  # An obstacle may only be hit between two frames.
            rise = max(rise, weight * need(probe, self.clip.sole, flat, base).depth)
        raised = base._replace(place=add(base.place, scaled(up, rise)))
        return Foothold(goal_of(probe, aim, raised), base.place, weight * moved.rise)

    def _on_ground(self, time: float, animated: Pose, flat: Pose) -> tuple[Pose, GroundOffset]:
        """Return the foot on the ground before any lift over obstacles, and its ground offset.

        Args:
            time: The frame of the track.
            animated: The animated pose.
            flat: The locked pose on the animation's floor.
        """
        moved = self._moved(time, flat)
        return blended(animated, moved.of(flat), moved.influence), moved

    def _raise(self, time: float) -> float:
        time = min(max(time, self.clip.first), self.clip.last)
        weight = self.influence(time)
        return weight * self._lifts.at(time) if weight > 0.0 else 0.0

    def clearance(self, frame: int) -> float:
        """Return how far the foot could be lowered before it is too low for the ground."""
        frame = self.clip.within(frame)
        return self.raises[frame] - self._needs[frame].depth

    def _clear(self, frame: int) -> Wish:
        """Return the least lift of the foot; a flat foot is lifted no higher."""
        frame = self.clip.within(frame)
        depth = self._depth(frame)
        return Wish(low=depth, high=depth if frame in self.clip.firm else inf)

    def _depth(self, frame: int) -> float:
        """Return how far the foot has to be lifted."""
        if self.influence(frame) <= 0.0:
            return 0.0
        if self.clip.planted.around(frame)[1]:  # It stays in place, whatever is next to it.
            return max(0.0, self._needs[frame].depth)
        near = range(max(frame - 1, self.clip.first), min(frame + 1, self.clip.last) + 1)
        beside = [self._needs[other] for other in near]
        is_free = not any([self.clip.planted.around(other)[1] for other in near])
        depth = depth_between(self.probe, self._needs[frame], beside, is_free)
        if depth <= 0.0:
            return 0.0
        # Leave room for the knee, which may still lower it a little.
        return depth + knee.MOST * self.probe.leg * smooth(depth / (CLIMB * self.probe.leg))

    def _needed(self, frame: int) -> Below:
        """Return the ground below a foot that isn't lifted yet."""
        flat = self.clip.flats[frame]
        foot, _ = self._on_ground(frame, self.clip.pose(frame), flat)
        return need(self.probe, self.clip.sole, flat, foot)

    def influence(self, time: float) -> float:
        """Return the ground's influence at the foot's animated height."""
        height = dot(self.clip.pose(time).place, self._up) - self.probe.floor
        return shape.influence(height, self._blend)

    def is_cut(self, time: float) -> bool:
        """Return whether a cut separates a time from the contacts."""
        return not self.clip.first <= time <= self.clip.last

    def stands(self, time: float) -> float:
        """Return the weight of standing: 1 in a contact, less near it, 0 if unlocked."""
        return self._near(time, self.clip.planted.spans)

    def lies(self, time: float) -> float:
        """Return the weight of lying flat: 1 in a foot-flat phase, less near it, 0 if unlocked."""
        return self._near(time, self.clip.planted.lying)

    def _near(self, time: float, spans: list[Span]) -> float:
        far = self.clip.inputs.lock_time * self.clip.contact_track.track.rate
        previous, following = neighbors(spans, begun(spans, time))
        beside = [max(0.0, time - previous[1])] if previous else []
        beside += [following[0] - time] if following else []
        nearest = min(beside, default=far)
        return 1.0 if nearest == 0.0 else 1.0 - smooth(nearest / far) if far > 0.0 else 0.0

    def root_at(self, time: float) -> Vec:
        """Return the animated hip joint, in world space."""
        return between(lambda frame: self.carried[frame].root, time)

    def reach(self, time: float) -> float:
        """Return the animated distance from ankle to hip joint."""
        ankle = between(lambda frame: self.carried[frame].target, time)
        return length(sub(ankle, self.root_at(time)))

    def _jump(self, frame: int) -> tuple[Vec, Vec]:
        clip, frame = self.clip, self.clip.within(frame)
        window = max(1, round(WINDOW * clip.contact_track.track.rate))
        window = min(window, frame - clip.first, clip.last - frame)
        lock, root = (
            sub(at(frame), shape.smoothed(at, frame, window + 1, 1))
            for at in (lambda f: self.carried[f].lock, lambda f: self.carried[f].root)
        )
        return lock, root

    def _carried(self, frame: int) -> shape.CarriedLeg:
        clip, ankle, frame = self.clip, self.clip.sole.ankle, self.clip.within(frame)
        pose, flat = clip.pose(frame), clip.flats[frame]
        foot, moved = self._on_ground(frame, pose, flat)
        weight = self.influence(frame)
        target = add(pose.place, rotate(pose.turn, ankle))
        goal = mix(target, add(foot.place, rotate(foot.turn, ankle)), weight)
        lock = sub(add(flat.place, rotate(flat.turn, ankle)), target)
        return shape.CarriedLeg(
            add(pose.place, clip.root(frame)),
            target,
            add(goal, scaled(self._up, self.raises[frame])),
            clip.contact_track.track.leg,
            weight * moved.rise,
            frame in clip.carrying,
            scaled(lock, weight * moved.influence),
        )

    def _moved(self, time: float, flat: Pose) -> GroundOffset:
        """Return how the ground moves a foot that is locked on the flat floor."""
        number, stands = self.clip.planted.around(time)
        if stands:
            return self._in_contact(number, flat)
        if not self.clip.planted.spans:
            return self._airborne(time)
        x, y, z, *tilt, rise, influence = self._swings[number].at(time)
        return GroundOffset((x, y, z), (tilt[0], tilt[1], tilt[2]), rise, influence)

    def _swing(self, number: int) -> Blend:
        """Return the ground's offset in a swing; its contact is -1 before the first one.

        The foot moves to the next contact's ground in proportion to its path. In proportion to
        time, a running foot would come too close to its hip on a slope.
        """
        clip = self.clip
        lock, next_lock = neighbors(clip.planted.spans, number)
        rate = clip.contact_track.track.rate
        fade = clip.inputs.lock_time * rate
        # A swing that the clip cuts short goes on for a moment.
        near = round(min(fade, clip.last - clip.first))
        whole = clip.first - near, clip.last + near
        first, last = swing_between(lock, next_lock, whole)
        begin = self._edge(first) if lock else self._beyonds[first]
        end = self._edge(last) if next_lock else self._beyonds[last]
        begin, end = begin or end or GroundOffset(), end or begin or GroundOffset()
        frames = map(clip.within, range(first, last + 1))
        places = [across(clip.flats[frame].place, self._up) for frame in frames]
        path = [0.0, *accumulate(length(sub(b, a)) for a, b in pairwise(places))]
        pairs = list(zip(begin.values, end.values, strict=True))
        targets = [
            tuple([a + (b - a) * gone / (path[-1] or 1.0) for a, b in pairs]) for gone in path
        ]

        def edge(frame: int) -> Offset:
            return self._edge(frame).values

        return blend_of(edge, lock, next_lock, whole, fade, rate, targets)

    def _edge(self, frame: int) -> GroundOffset:
        """Return how the ground moves the foot at a frame of a contact."""
        return self._in_contact(self.clip.planted.around(frame)[0], self.clip.flats[frame])

    def _airborne(self, time: float) -> GroundOffset:
        """Return how the ground below moves a foot that never stands, averaged around a time."""
        rate, at = self.clip.contact_track.track.rate, self._beyonds
        window = shape.window(0.5 * shape.STRIDE, rate, shape.CALM)
        shift = shape.smoothed(lambda f: (here := at[f]) and here.shift, time, *window)
        tilt = shape.smoothed(lambda f: (here := at[f]) and here.tilt, time, *window)
        return GroundOffset(shift, tilt, dot(shift, self._up))

    def _beyond(self, frame: int) -> GroundOffset | None:
        """Return how the ground moves a foot that swings at the first or last frame of the clip.

        None without ground below it. The floor is as high as in the adjacent contact.
        """
        frame = self.clip.within(frame)
        sole = self.clip.sole.heel, self.clip.sole.ball
        moved = ground_below(self.probe, self.clip.flats[frame], sole)
        number = min(max(self.clip.planted.around(frame)[0], 0), len(self.clip.planted.spans) - 1)
        if moved is None or number < 0:
            return moved
        drift = self.clip.standing[number][1]
        shift = sub(moved.shift, scaled(self._up, drift))
        return moved._replace(shift=shift, rise=moved.rise - drift)

    def _in_contact(self, number: int, flat: Pose) -> GroundOffset:
        lying = self._lyings[number]
        if lying is None:
            return GroundOffset(influence=0.0)
        base = self.clip.planted.places[number].base
        shift = lying.shift
        if lying.tilt != ORIGIN:
            apart = sub(flat.place, base)
            shift = add(shift, sub(rotate(shape.turn_of(lying.tilt), apart), apart))
        return GroundOffset(shift, lying.tilt, lying.rise - self.clip.standing[number][1])

    def _lying(self, number: int) -> GroundOffset | None:
        """Return how the foot lies in a contact; None without ground."""
        base = self.clip.planted.places[number].base
        return sole_contact(self.probe, base, self.clip.standing[number][0])


def _firm_frames(contact: Contact) -> Iterable[int]:
    """Return the frames in which a foot doesn't roll in a contact."""
    third = (contact.last - contact.first) // 3
    return frames_of(contact, FLAT) or range(contact.first + third, contact.last - third + 1)


def frame_of(snapshot: Snapshot, ob: bpy.types.Object | None) -> Frame:
    """Return the space in which a foot is carried by a ground; world space without one.

    If an object has zero scale, only its location counts: its transform has no inverse.
    """
    if ob is None:
        return WHOLE
    world = snapshot.world(ob, ob.session_uid)
    return world if mat_determinant(world[0]) else (WHOLE[0], world[1])
