"""The track of a foot: where the animation has it at each frame, seen from the ground below it.

What is recorded stands in the space of the object that was below the foot, so that it rides along
with ground that moves. When the foot stands is worked out from it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import bpy

from ...core import Frame, inverse, point_in
from ...core.vectors import Vec, add, mat_apply, sub
from ...motion import codec

FORM = codec.Form(b"FABT", 1)

IN_WORLD = -1
"""Stands for the world where there was no ground below the foot."""

NUMBERS = 14
"""How many numbers are kept of a frame, besides what was below the foot."""


class Sample(NamedTuple):
    """Where the animation has a foot at a frame.

    Attributes:
        under: Number of the object that was below it, or `IN_WORLD`.
        place: Where it was, in the space of that object.
        step: How far it went since the frame before, seen from the ground, in metres.
        height: How high it was above the floor of the animation, in metres.
        root: Where the first joint of its leg was, seen from the foot, in the same space.
        end: Where its other end was, in the same way; at the foot itself if it has none.
        end_height: How high that was above the floor of the animation, in metres.
    """

    under: int
    place: Vec
    step: Vec
    height: float
    root: Vec
    end: Vec
    end_height: float


class Track(NamedTuple):
    """Where the animation has a foot.

    Attributes:
        start: The first frame.
        rate: Frames a second.
        leg: The leg's length in metres.
        grounds: The names of the objects that counted as ground, and of others below it.
        samples: One a frame.
    """

    start: int
    rate: float
    leg: float
    grounds: tuple[str, ...]
    samples: list[Sample]

    @property
    def path(self) -> list[Vec]:
        """Where the foot was at each frame, seen from the ground."""
        places: list[Vec] = []
        for sample in self.samples:
            places.append(add(places[-1], sample.step) if places else sample.step)
        return places

    @property
    def heights(self) -> list[float]:
        """How high it was at each frame."""
        return [sample.height for sample in self.samples]


def packed(track: Track) -> bytes:
    """Return a track as bytes."""
    numbers = [track.rate, track.leg]
    for s in track.samples:
        numbers += (*s.place, *s.step, s.height, *s.root, *s.end, s.end_height)
    integers = [track.start, *[sample.under for sample in track.samples]]
    return FORM.packed(integers, track.grounds, numbers)


def unpacked(blob: bytes) -> Track | None:
    """Return a track from bytes, None if they are none."""
    try:
        (start, *unders), grounds, (rate, leg, *numbers) = FORM.unpacked(blob)
    except ValueError:
        return None
    is_sound = rate > 0.0 <= leg and all(IN_WORLD <= under < len(grounds) for under in unders)
    if not is_sound or len(numbers) != NUMBERS * len(unders):
        return None
    rows = [numbers[i : i + NUMBERS] for i in range(0, len(numbers), NUMBERS)]
    samples = [
        Sample(under, _vec(r, 0), _vec(r, 3), r[6], _vec(r, 7), _vec(r, 10), r[13])
        for under, r in zip(unders, rows, strict=True)
    ]
    return Track(start, rate, leg, tuple(grounds), samples)


def _vec(row: Sequence[float], first: int) -> Vec:
    return row[first], row[first + 1], row[first + 2]


class TrackMaker:
    """Puts a track together, frame after frame."""

    def __init__(self) -> None:
        """Begin without samples."""
        self.samples: list[Sample] = []
        self._grounds: list[bpy.types.Object] = []
        self._last: tuple[bpy.types.Object | None, Vec] | None = None

    @property
    def grounds(self) -> tuple[str, ...]:
        """The names of the objects that counted as ground, and of others below the foot."""
        return tuple(ob.name for ob in self._grounds)

    def start(self, grounds: Sequence[bpy.types.Object]) -> None:
        """Begin with what counts as ground."""
        self._grounds = list(grounds)

    def add(
        self,
        under: bpy.types.Object | None,
        frames: Sequence[Frame],
        place: Vec,
        height: float,
        root: Vec,
        end: tuple[Vec, float],
    ) -> None:
        """Add a frame.

        Args:
            under: The object below the foot.
            frames: Where that stands in world space now, and where the one of the last sample does.
            place: Where the foot is in world space.
            height: How high it is above the floor of the animation.
            root: Where the first joint of its leg is in world space.
            end: Where the other end of the foot is, seen from it, and how high.
        """
        now, before = frames
        undone = inverse(now)
        local = point_in(undone, place)
        step = (0.0, 0.0, 0.0)
        if self._last is not None:
            step = sub(place, point_in(before, self._last[1]))
        number = IN_WORLD
        if under is not None:
            if under not in self._grounds:
                self._grounds.append(under)
            number = self._grounds.index(under)
        leg = sub(point_in(undone, root), local)
        other = mat_apply(undone[0], end[0])
        self.samples.append(Sample(number, local, step, height, leg, other, end[1]))
        self._last = (under, local)

    @property
    def last_under(self) -> bpy.types.Object | None:
        """The object that was below the foot at the last frame."""
        return self._last[0] if self._last else None
