"""The track of a foot, and when it stands by that."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import bpy

from ...blender.rays import recalled
from ...core.vectors import Vec, scaled
from ...motion.contacts import Contact, Thresholds, contacts_of
from .track import IN_WORLD, Sample, Track


class Footprint(NamedTuple):
    """Where a foot stands in a contact.

    Attributes:
        ob: The object that is below it, None if nothing is.
        place: Where it stands in the mean, in the space of that.
        end: Where its other end is, seen from there (see `Sample`).
        low: How high it is above the floor of the animation, where it is lowest.
        end_low: How high the other end is, in the middle of the contact.
    """

    ob: bpy.types.Object | None
    place: Vec
    end: Vec
    low: float
    end_low: float


class Walk:
    """The track of a foot, and what follows from it.

    Attributes:
        track: The track.
        contacts: When the foot stands, counted from the track's first frame.
        spans: The first and last frames of the same.
        prints: Where it stands then.
        grounds: The objects that the track names, as far as there still are any.
        has_ground: Whether there was any below it at any frame.
        lowest: How high it is above the floor of the animation, where it is lowest.
        end_lowest: The same of its other end, as it stands.
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
        self.has_ground = any(sample.under != IN_WORLD for sample in track.samples)
        self.lowest = min(track.heights, default=0.0)
        self.end_lowest = min([one.end_low for one in self.prints], default=0.0)
        self.spans = [(track.start + c.first, track.start + c.last) for c in self.contacts]
        self._firsts = [first for first, _ in self.spans]

    def _footprint(self, contact: Contact) -> Footprint:
        samples = self.track.samples[contact.first : contact.last + 1]
        middle = samples[len(samples) // 2]
        xs, ys, zs = zip(*[s.place for s in samples if s.under == middle.under], strict=True)
        place = scaled((sum(xs), sum(ys), sum(zs)), 1.0 / len(xs))
        ob = None if middle.under == IN_WORLD else self.grounds[middle.under]
        low = min(sample.height for sample in samples)
        return Footprint(ob, place, middle.end, low, middle.end_height)

    def sample(self, frame: int) -> Sample:
        """Return what was recorded of a frame."""
        return self.track.samples[frame - self.track.start]

    def covers(self, time: float) -> bool:
        """Return whether a time is in the range of the track, and there are contacts in it."""
        first = self.track.start
        return bool(self.contacts) and first <= time <= first + len(self.track.samples) - 1

    def before(self, time: float) -> int:
        """Return the number of the last contact that began by a time, -1 if none did."""
        return bisect_right(self._firsts, time) - 1
