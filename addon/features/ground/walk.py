"""The track of a foot with its contacts."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...blender.rays import resolve_ground
from ...motion.contacts import BALL, FLAT, HEEL, Contact, Thresholds, contacts_of
from ...motion.planted import Sole, sole_of
from .track import IN_WORLD, Sample, Track


class Walk:
    """The track of a foot, and what is found from it.

    Attributes:
        track: The track.
        contacts: Its contacts, counted from the track's first frame.
        spans: The first and last frames of the contacts.
        flats: The first and last frames of the phases in which it is flat.
        unders: The number in the track of what is below it in each contact.
        grounds: The objects that the track names, None for those that are gone.
        used: The numbers of those that were below the foot.
        has_ground: Whether any of them ever was.
        standing: Its heights above the armature's origin in the frames of contacts.
    """

    def __init__(
        self, track: Track, thresholds: Thresholds, grounds: Sequence[bpy.types.Object]
    ) -> None:
        """Find the contacts of a track."""
        self.track = track
        heel, ball = track.heel(), track.ball()
        turns = [sample.turn for sample in track.samples]
        self.contacts: list[Contact] = contacts_of(
            heel, ball, turns, track.rate, track.leg, thresholds
        )
        self.grounds = resolve_ground(track.grounds, grounds)
        self.used = {sample.under for sample in track.samples}
        self.has_ground = self.used != {IN_WORLD} and bool(self.used)
        middles = [(contact.first + contact.last) // 2 for contact in self.contacts]
        self.unders = [track.samples[middle].under for middle in middles]
        self.spans = [(track.start + c.first, track.start + c.last) for c in self.contacts]
        self.flats = [
            (track.start + part.first, track.start + part.last)
            for contact in self.contacts
            for part in contact.parts
            if part.kind == FLAT
        ]
        self.standing = self._standing((ball.heights, BALL), (heel.heights, HEEL))
        self._soles: dict[float, Sole] = {}

    def _standing(self, *points: tuple[Sequence[float], str]) -> list[float]:
        """Return the heights of the ball in contacts, or of the heel if the ball has none."""
        rests = {HEEL: self.track.foot.heel_rest, BALL: self.track.foot.ball_rest}
        for heights, kind in points:
            found = [
                heights[frame] - rests[kind]
                for contact in self.contacts
                for part in contact.parts
                if part.kind in (FLAT, kind)
                for frame in range(part.first, part.last + 1)
            ]
            if found:
                return found
        return []

    def sole(self, floor: float) -> Sole:
        """Return the points that touch a floor of a height above the armature's origin."""
        if floor not in self._soles:
            samples = self.track.samples
            self._soles = {
                floor: sole_of(
                    (self.track.foot.heel, self.track.foot.ball),
                    self.contacts,
                    [sample.height - floor for sample in samples],
                    [sample.up for sample in samples],
                )
            }
        return self._soles[floor]

    def sample(self, frame: int) -> Sample:
        """Return what was recorded of a frame."""
        return self.track.samples[frame - self.track.start]

    def covers(self, time: float) -> bool:
        """Return whether a time is within the track."""
        first = self.track.start
        return first <= time <= first + len(self.track.samples) - 1
