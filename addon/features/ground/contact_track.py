"""A foot's track together with its contacts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import inf, sin, sqrt

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
    MOST_TURN,
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
"""How far single precision moves a foot from its recorded location, in leg lengths."""


class ContactTrack:
    """A foot's track, its contacts, and the heights at which it stands.

    Attributes:
        track: The track.
        contacts: Its contacts, counted from the track's first frame.
        kneels: Whether the leg kneels: the knee is on the ground and the foot doesn't stand.
        extents: Frames of heel strike and toe-off of each contact, counted like ``contacts``.
        grounds: The objects that the track names; None for deleted ones.
        used: The indices of the objects that were ever below the foot.
        has_ground: Whether an object was ever below the foot.
        drifts: For each contact, how far the floor is above its lowest height.
        level: The height above the armature's origin at which the foot or its knee stands; None if
            unknown.
        is_tilted: Whether the standing foot isn't at its resting angle to the floor, as when
            sitting.
    """

    def __init__(
        self,
        track: Track,
        thresholds: Thresholds,
        grounds: Sequence[bpy.types.Object],
        thigh: float = 0.5,
    ) -> None:
        """Find the contacts of a track; the thigh is a fraction of the leg's length."""
        self.track = track
        heel, ball = track.heel(), track.ball()
        turns = [sample.turn for sample in track.samples]
        contacts = self._contacts((heel, ball), turns, thresholds)
        knees = [self._knee(sample, thigh * track.leg) for sample in track.samples]
        self.contacts = self._upright(contacts, (heel, ball), knees)
        self.kneels = len(self.contacts) < len(contacts)
        self.grounds = resolve_ground(track.grounds, grounds)
        self.used = {sample.under for sample in track.samples}
        self.has_ground = self.used != {IN_WORLD}
        self.extents = strikes_and_offs(
            self.contacts,
            heel,
            ball,
            turns,
            track.rate,
            length(sub(track.foot.ball, track.foot.heel)),
        )
        drifts = floor_drifts(heel, ball, track.leg)
        self.drifts = [quantile(drifts[c.first : c.last + 1], 0.5) for c in self.contacts]
        self.level, self.is_tilted = self._level(heel.heights, ball.heights)
        if self.kneels and (self.level is None or self.is_tilted):
            self.level = floor_below([quantile(knees, OUTLIERS)], [], track.leg)
            self.is_tilted = False
        self._sole: Latest[Sole] = Latest()

    @property
    def flats(self) -> list[tuple[int, int]]:
        """First and last frame of each foot-flat phase, in the scene."""
        start, parts = self.track.start, [part for c in self.contacts for part in c.parts]
        return [(start + part.first, start + part.last) for part in parts if part.kind == FLAT]

    def _contacts(
        self, points: Sequence[Trajectory], turns: Sequence[Quat], thresholds: Thresholds
    ) -> list[Contact]:
        """Return the contacts of the animated frames, extended while the leg is held at either end.

        A foot in the air at the end of its animation isn't standing, even though it is still.
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
        """Return the contacts in which the knee is no lower than the sole."""
        foot = self.track.foot
        pairs = zip(points[0].heights, points[1].heights, strict=True)
        soles = [min(heel - foot.heel_rest, ball - foot.ball_rest) for heel, ball in pairs]
        spans = [slice(contact.first, contact.last + 1) for contact in contacts]
        return [
            contact
            for contact, span in zip(contacts, spans, strict=True)
            if not quantile(knees[span], 0.5) < quantile(soles[span], 0.5)  # Unknown knees pass.
        ]

    def _level(self, heels: Sequence[float], balls: Sequence[float]) -> tuple[float | None, bool]:
        """Return the height at which the foot stands (ball, else heel), and whether it is tilted.

        A flat foot's joint is as high as at rest; while it rolls, the toes may be pressed down. If
        an importer moved the hip, the rest pose doesn't stand at the armature's origin. The sole
        would then be as thick as the feet are high and reach below the origin, although no joint
        does.
        """
        foot, leg = self.track.foot, self.track.leg
        sole = min(foot.heel_rest, foot.ball_rest)
        if sole > max(THICKEST_SOLE * leg, length(sub(foot.ball, foot.heel))):
            return None, False  # The leg ends above its foot.
        ball = balls, foot.ball_rest
        for kind, (heights, rest) in ((FLAT, ball), (BALL, ball), (HEEL, (heels, foot.heel_rest))):
            upright, tilted = self._medians(heights, kind)
            standing = upright or tilted
            if standing:
                level = quantile(standing, 0.5) - rest
                is_low = level < -BALL_HEIGHT * leg and level + sole >= 0.0
                hovers = is_low and kind == FLAT and bool(upright)
                return level + sole if hovers else level, not upright
        return None, False

    def _medians(self, heights: Sequence[float], kind: str) -> tuple[list[float], list[float]]:
        """Return for each frame of a kind the median of its contact; tilted feet separately."""
        upright: list[float] = []
        tilted: list[float] = []
        for contact, drift in zip(self.contacts, self.drifts, strict=True):
            frames = frames_of(contact, kind)
            if frames:
                median = quantile([heights[frame] for frame in frames], 0.5) - drift
                is_upright = 2 * sum(map(self._is_upright, frames)) >= len(frames)
                (upright if is_upright else tilted).extend([median] * len(frames))
        return upright, tilted

    def _is_upright(self, frame: int) -> bool:
        """Return whether a foot is nearly at its resting angle to the floor."""
        foot, up = self.track.foot, self.track.samples[frame].up
        sole = sub(foot.ball, foot.heel)
        turned = abs(dot(sole, up) - (foot.ball_rest - foot.heel_rest))
        return turned <= sin(MOST_TURN) * length(sole)

    def _knee(self, sample: Sample, thigh: float) -> float:
        """Return the knee's height above the armature's origin; infinite if unknown."""
        foot = self.track.foot
        along = unit(sub(rotate(sample.turn, foot.ankle), sample.root))
        if sample.flexion == ORIGIN or along is None:
            return inf
        off = cross(sample.flexion, along)
        far = sqrt(max(0.0, thigh * thigh - dot(off, off)))
        knee = add(add(sample.root, off), scaled(along, far))
        return sample.height + dot(knee, rotate(sample.turn, sample.up))

    def sole(self, floor: float) -> Sole:
        """Return the sole for a floor at this height above the armature's origin."""
        return self._sole.of(floor, lambda: self._sole_on(floor))

    def _sole_on(self, floor: float) -> Sole:
        foot, samples = self.track.foot, self.track.samples
        heights = [sample.height - floor for sample in samples]
        for contact, drift in zip(self.contacts, self.drifts, strict=True):
            for frame in range(contact.first, contact.last + 1):
                heights[frame] -= drift
        ups = [sample.up for sample in samples]
        return sole_of(foot, self.contacts, heights, ups)

    def is_on_its_ground(self, frame: int) -> bool:
        """Return whether a foot is above the same object as in the middle of its contact."""
        number = bisect_right(self.contacts, frame, key=lambda contact: contact.first) - 1
        contact, samples = self.contacts[number], self.track.samples
        return samples[frame].under == samples[(contact.first + contact.last) // 2].under

    def covers(self, time: float) -> bool:
        """Return whether a time is within the track."""
        first = self.track.start
        return first <= time <= first + len(self.track.samples) - 1


def frames_of(contact: Contact, kind: str) -> list[int]:
    """Return the frames of a contact in which a part of the foot stands.

    Args:
        contact: The contact.
        kind: The part: `HEEL`, `FLAT` or `BALL`.
    """
    parts = [part for part in contact.parts if part.kind == kind]
    return [frame for part in parts for frame in range(part.first, part.last + 1)]
