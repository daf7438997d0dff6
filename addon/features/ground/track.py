"""A foot's track: its animated pose at each frame, relative to the ground below it.

Poses are recorded in the space of the object below the foot, so that the ground carries them.
Contacts are found from the track later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from fabrik_solver import Frame
from fabrik_solver.core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    dot,
    length,
    orthonormalize,
    quat_of,
)
from fabrik_solver.motion import codec
from fabrik_solver.motion.contacts import Trajectory
from fabrik_solver.motion.sole import Sole

FORM = codec.Form(b"FABT", 2)

IN_WORLD = -1
"""Index for the world: no object is below the foot."""

NUMBERS = 23
"""How many numbers a frame stores, besides the object below the foot."""

HEAD = 10
"""How many numbers a track stores besides those of its frames."""


class Sample(NamedTuple):
    """A foot's animated pose at one frame.

    Attributes:
        under: Index of the object below it, or `IN_WORLD`.
        place: Location of its goal, in that object's space.
        step: Its displacement relative to the ground since the previous frame, in meters.
        height: Its height above the armature's origin, in meters.
        root: The hip joint relative to the goal, in the same space.
        turn: The orientation of the foot in that space; the identity if it doesn't copy its target.
        end_step: The displacement of the foot's other end, as ``step``.
        up: The unit vector up, in the axes of the foot.
        flexion: The axis about which the knee flexes, in the same space; 0 if unknown. Its length
            is the knee's distance from the line from hip to ankle, in meters.
    """

    under: int
    place: Vec
    step: Vec
    height: float
    root: Vec
    turn: Quat
    end_step: Vec
    up: Vec
    flexion: Vec = ORIGIN


class Track(NamedTuple):
    """The animated poses of a foot.

    Attributes:
        start: The first frame.
        rate: Frames per second.
        leg: The length of the leg, in meters.
        foot: The joints above heel and ball, in the rest pose.
        grounds: The names of the objects that were ground or below the foot.
        samples: One for each frame.
    """

    start: int
    rate: float
    leg: float
    foot: Sole
    grounds: tuple[str, ...]
    samples: list[Sample]

    def heel(self) -> Trajectory:
        """Return the trajectory of the joint above the heel."""
        return self._way(self.foot.heel)

    def ball(self) -> Trajectory:
        """Return the trajectory of the joint above the ball of the foot."""
        return self._way(self.foot.ball)

    def _way(self, point: Vec) -> Trajectory:
        steps = [s.step if point == ORIGIN else s.end_step for s in self.samples]
        heights = [s.height + dot(point, s.up) for s in self.samples]
        return Trajectory(list(accumulate(steps, add)), heights)


def moving(samples: Sequence[Sample], margin: int, least: float, most: float) -> tuple[int, int]:
    """Return the indices of the first and last sample that count.

    The range counts, and so do the samples around it, up to a cut or until the foot is held. There
    the foot's animation ends, and the foot isn't standing.

    Args:
        samples: The samples.
        margin: The number of samples on each side of the range.
        least: How far rounding makes a held foot seem to move in a frame, in meters.
        most: How far a foot may move in a frame, in meters; anything more is a cut.
    """
    first, last = margin, len(samples) - 1 - margin
    steps = [max(length(sample.step), length(sample.end_step)) for sample in samples]
    cuts = [i for i, step in enumerate(steps) if i > 0 and step > most]
    begin = max([i for i in cuts if i <= first], default=0)
    end = min([i for i in cuts if i > last], default=len(samples))
    moves = [i for i in range(begin + 1, end) if steps[i] > least]
    return min([first, *[move - 1 for move in moves]]), max([last, *moves])


def packed(track: Track) -> bytes:
    """Encode a track."""
    foot = track.foot
    numbers = [track.rate, track.leg, *foot.heel, *foot.ball, foot.heel_rest, foot.ball_rest]
    for s in track.samples:
        numbers += (*s.place, *s.step, s.height, *s.root, *s.turn, *s.end_step, *s.up, *s.flexion)
    integers = [track.start, *[sample.under for sample in track.samples]]
    return FORM.packed(integers, track.grounds, numbers)


def unpacked(blob: bytes) -> Track | None:
    """Decode a track; None if the bytes aren't a track."""
    try:
        (start, *unders), grounds, numbers = FORM.unpacked(blob)
        (rate, leg, *foot), numbers = numbers[:HEAD], numbers[HEAD:]
    except ValueError:
        return None
    if not rate > 0.0 <= leg or not unders or len(numbers) != NUMBERS * len(unders):
        return None
    rows = [numbers[i : i + NUMBERS] for i in range(0, len(numbers), NUMBERS)]
    samples = list(map(_sample, unders, rows))
    if not all(IN_WORLD <= under < len(grounds) for under in unders):
        return None
    if not codec.are_units([unit for sample in samples for unit in (sample.turn, sample.up)]):
        return None
    heel, ball = _vec(foot, 0), _vec(foot, 3)
    ankle = heel if ball == ORIGIN else ORIGIN
    sole = Sole(heel, ball, ankle=ankle, heel_rest=foot[6], ball_rest=foot[7])
    return Track(start, rate, leg, sole, tuple(grounds), samples)


def _sample(under: int, r: Sequence[float]) -> Sample:
    """Decode one frame."""
    place, step, root, end_step, up, flexion = (_vec(r, i) for i in (0, 3, 7, 14, 17, 20))
    turn = r[10], r[11], r[12], r[13]
    return Sample(under, place, step, r[6], root, turn, end_step, up, flexion)


def _vec(row: Sequence[float], first: int) -> Vec:
    return row[first], row[first + 1], row[first + 2]


def turn_of_frame(frame: Frame) -> Quat:
    """Return a space's rotation; the identity if its axes are degenerate."""
    axes = orthonormalize(frame[0])
    return QUAT_IDENTITY if axes is None else quat_of(axes)
