"""The track of a foot with its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, sqrt

import bpy

from fabrik_solver.core.vectors import (
    ORIGIN,
    Quat,
    add,
    cross,
    dot,
    length,
    rotate,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.anatomy import THICKEST_SOLE, floor_below
from fabrik_solver.motion.columns import Latest
from fabrik_solver.motion.contacts import (
    BALL,
    BALL_HEIGHT,
    FLAT,
    HEEL,
    OUTLIERS,
    Contact,
    Part,
    Thresholds,
    Trajectory,
    contacts_of,
    floor_drifts,
    quantile,
    strikes_and_offs,
)
from fabrik_solver.motion.planted import sole_of
from fabrik_solver.motion.sole import Sole

from ...blender.rays import resolve_ground
from .track import IN_WORLD, Sample, Track

SAME = 1e-6
"""How far a foot in single precision is from where it was recorded, in legs."""

LEVEL = 0.5
"""The sine of the angle by which a foot may be turned from how it rests to count as level: 30°."""


class ContactTrack:
    """The track of a foot, and what follows from it.

    Attributes:
        track: The track.
        contacts: Its contacts, counted from the track's first frame.
        kneels: Whether the knee rests on the ground, and the foot doesn't stand.
        spans: The first and last frames of the contacts, in which the foot is locked.
        extents: The frames of heel strike and toe off of the contacts, counted as these.
        flats: The first and last frames of the phases in which it is flat.
        unders: The number, in the track, of the object below it in each contact.
        grounds: The objects named by the track; None for those that no longer exist.
        used: The numbers of those that were below the foot.
        has_ground: Whether any of them ever was.
        drifts: How much higher the floor is in each contact than where it is lowest.
        standing: Its heights above the armature's origin in each frame of its contacts, less the
            drifts.
        tilted: The frames of contacts in which its angle to the floor isn't its resting angle.
        level: The height at which it stands; None if it never stands at its resting angle.
    """

    def __init__(
        self,
        track: Track,
        thresholds: Thresholds,
        grounds: Sequence[bpy.types.Object],
        thigh: float = 0.5,
    ) -> None:
        """Find the contacts of a track, with a thigh of some share of the leg's length."""
        self.track = track
        heel, ball = track.heel(), track.ball()
        turns = [sample.turn for sample in track.samples]
        contacts = self._contacts((heel, ball), turns, thresholds)
        knees = [self._knee(sample, thigh * track.leg) for sample in track.samples]
        self.contacts = self._upright(contacts, (heel, ball), knees)
        self.kneels = len(self.contacts) < len(contacts)
        self.grounds = resolve_ground(track.grounds, grounds)
        self.used = {sample.under for sample in track.samples}
        self.has_ground = bool(self.used - {IN_WORLD})
        self.unders = [track.samples[(c.first + c.last) // 2].under for c in self.contacts]
        self.spans = [(track.start + c.first, track.start + c.last) for c in self.contacts]
        self.extents = strikes_and_offs(
            self.contacts,
            heel,
            ball,
            turns,
            track.rate,
            length(sub(track.foot.ball, track.foot.heel)),
        )
        parts = [part for contact in self.contacts for part in contact.parts if part.kind == FLAT]
        self.flats = [(track.start + part.first, track.start + part.last) for part in parts]
        drifts = floor_drifts(heel, ball, track.leg)
        self.drifts = [quantile(drifts[c.first : c.last + 1], 0.5) for c in self.contacts]
        self.standing, self.tilted = self._standing((ball.heights, BALL), (heel.heights, HEEL))
        if self.kneels:
            knee = floor_below([quantile(knees, OUTLIERS)], [], track.leg)
            self.standing = self.standing or [knee] * len(knees)
        self.level = quantile(self.standing, 0.5) if self.standing else None
        self._sole: Latest[Sole] = Latest()

    def _contacts(
        self, points: Sequence[Trajectory], turns: Sequence[Quat], thresholds: Thresholds
    ) -> list[Contact]:
        """Return the contacts of animated frames; they last while the leg is held before or after.

        A foot in the air at the end of its animation doesn't stand, although it is still.
        """
        track, samples = self.track, self.track.samples
        moves = [
            i
            for i, (a, b) in enumerate(pairwise(samples))
            if max(map(length, (b.step, b.end_step, sub(b.root, a.root)))) > SAME * track.leg
        ] or [0, len(samples) - 2]
        begin, end = moves[0], moves[-1] + 1
        heel, ball = [
            Trajectory(point.path[begin : end + 1], point.heights[begin : end + 1])
            for point in points
        ]
        turns = turns[begin : end + 1]
        contacts: list[Contact] = []
        for contact in contacts_of(heel, ball, turns, track.rate, track.leg, thresholds):
            parts = [Part(kind, a + begin, b + begin) for kind, a, b in contact.parts]
            if contact.first == 0:
                parts[0] = parts[0]._replace(first=0)
            if contact.last == end - begin:
                parts[-1] = parts[-1]._replace(last=len(samples) - 1)
            contacts.append(Contact(tuple(parts)))
        return contacts

    def _upright(
        self, contacts: Sequence[Contact], points: tuple[Trajectory, Trajectory], knees: list[float]
    ) -> list[Contact]:
        """Return the contacts in which the knee of the leg is not lower than its sole."""
        foot = self.track.foot
        pairs = zip(points[0].heights, points[1].heights, strict=True)
        soles = [min(heel - foot.heel_rest, ball - foot.ball_rest) for heel, ball in pairs]
        spans = [slice(contact.first, contact.last + 1) for contact in contacts]
        return [
            contact
            for contact, span in zip(contacts, spans, strict=True)
            if not quantile(knees[span], 0.5) < quantile(soles[span], 0.5)  # If it is known.
        ]

    def _standing(self, *points: tuple[Sequence[float], str]) -> tuple[list[float], list[float]]:
        """Return the heights of the ball in contacts, or of the heel if the ball has none.

        Where a foot is flat its joint is as high as at rest; as it rolls, toes may be pressed down.
        Each contact counts by its median. The second list is of feet held at another angle than at
        rest, as in sitting.
        """
        foot = self.track.foot
        rests = {HEEL: foot.heel_rest, BALL: foot.ball_rest}
        sole = min(foot.heel_rest, foot.ball_rest)
        if sole > max(THICKEST_SOLE * self.track.leg, length(sub(foot.ball, foot.heel))):
            return [], []  # The leg ends above its foot.
        for part_kind in (FLAT, ""):
            for heights, kind in points:
                above = [height - rests[kind] for height in heights]
                level, tilted = self._by_angle(above, part_kind or kind)
                if part_kind and self._hovers_at_rest(level, sole):
                    return [height + sole for height in level], tilted
                if level or tilted:
                    return level, tilted
        return [], []

    def _by_angle(self, heights: Sequence[float], kind: str) -> tuple[list[float], list[float]]:
        """Return the median of each contact for its frames of a kind; of tilted feet apart."""
        level: list[float] = []
        tilted: list[float] = []
        for contact, drift in zip(self.contacts, self.drifts, strict=True):
            frames = frames_of(contact, kind)
            if frames:
                height = quantile([heights[frame] for frame in frames], 0.5) - drift
                is_level = 2 * sum(map(self._is_level, frames)) >= len(frames)
                (level if is_level else tilted).extend([height] * len(frames))
        return level, tilted

    def _knee(self, sample: Sample, thigh: float) -> float:
        """Return the height of the knee above the armature's origin; infinite if it is unknown."""
        foot = self.track.foot
        along = unit(sub(rotate(sample.turn, foot.ankle), sample.root))
        if sample.flexion == ORIGIN or along is None:
            return inf
        off = cross(sample.flexion, along)
        far = sqrt(max(0.0, thigh * thigh - dot(off, off)))
        knee = add(add(sample.root, off), scaled(along, far))
        return sample.height + dot(knee, rotate(sample.turn, sample.up))

    def _hovers_at_rest(self, standing: list[float], sole: float) -> bool:
        """Return whether the rest pose doesn't stand at the armature's origin.

        A sole as thick as the feet are high would be below the origin, though the joints never are.
        An importer has placed the hip of such a rest pose.

        Args:
            standing: The heights of flat feet, with the sole as thick.
            sole: The height of the lowest joint of the foot at rest, in meters.
        """
        if not standing:
            return False
        height = quantile(standing, 0.5)
        return height < -BALL_HEIGHT * self.track.leg and height + sole >= 0.0

    def _is_level(self, frame: int) -> bool:
        """Return whether a foot is nearly at the angle to the floor that it has at rest."""
        foot, up = self.track.foot, self.track.samples[frame].up
        sole = sub(foot.ball, foot.heel)
        return abs(dot(sole, up) - (foot.ball_rest - foot.heel_rest)) <= LEVEL * length(sole)

    def sole(self, floor: float) -> Sole:
        """Return the sole on a floor at a height above the armature's origin."""
        return self._sole.of(floor, lambda: self._sole_on(floor))

    def _sole_on(self, floor: float) -> Sole:
        foot, samples = self.track.foot, self.track.samples
        heights = [sample.height - floor for sample in samples]
        for contact, drift in zip(self.contacts, self.drifts, strict=True):
            for frame in range(contact.first, contact.last + 1):
                heights[frame] -= drift
        ups = [sample.up for sample in samples]
        return sole_of(foot, self.contacts, heights, ups)

    def covers(self, time: float) -> bool:
        """Return whether a time is within the track."""
        first = self.track.start
        return first <= time <= first + len(self.track.samples) - 1


def frames_of(contact: Contact, kind: str) -> list[int]:
    """Return the frames of a contact in which one kind of its parts stands."""
    parts = [part for part in contact.parts if part.kind == kind]
    return [frame for part in parts for frame in range(part.first, part.last + 1)]
