"""The contacts of a foot on the ground as it is now, and its correction between them."""

from __future__ import annotations

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
    rotate,
    scaled,
    sub,
)
from ...loop.chain_plan import Snapshot
from ...motion import ground as shape
from ...motion.sole import counted
from .probe import Probe, Under
from .sole import laid
from .track import IN_WORLD
from .walk import Walk

MOST_LOOKED = 16
"""At how many places of a swing is looked for what is in its way."""


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


class Stand(NamedTuple):
    """A contact, as the ground is now.

    Attributes:
        stance: What takes the animated foot to its place.
        place: Where it stands in world space, None if nothing is below it.
        under: What is below it.
    """

    stance: shape.Stance
    place: Vec | None = None
    under: Under | None = None


class Stances:
    """The contacts of a foot at one moment."""

    def __init__(self, snapshot: Snapshot, probe: Probe, walk: Walk, blend: float) -> None:
        """Take what was simulated, and the ground now."""
        self.walk = walk
        self._snapshot = snapshot
        self._probe = probe
        self._up = probe.up
        self._blend = blend
        self._frames: dict[int, Frame] = {}
        self._stands: dict[int, Stand] = {}

    def around(self, time: float) -> tuple[Stand | None, Stand | None]:
        """Return the last contact that has begun by a time, and the next; None if there is none."""
        number = self.walk.before(time)
        before = self._stand(number) if number >= 0 else None
        has_next = number + 1 < len(self.walk.contacts)
        if before is not None and time <= before.stance.last:
            return before, None  # Nobody asks for the next one yet.
        return before, self._stand(number + 1) if has_next else None

    def needs(self, before: shape.Stance, after: shape.Stance) -> list[tuple[float, float]]:
        """Return by how much the foot would be too low at places of a swing (see `lift`)."""
        first, last = int(before.last), int(after.first)
        stride = max(1, -(-(last - first) // MOST_LOOKED))
        needs: list[tuple[float, float]] = []
        for frame in range(first + 1, last, stride):
            need = self._need(frame, shape.swing(before, after, frame))
            needs.append(((frame - first) / (last - first), need))
        return needs

    def _need(self, frame: int, swing: shape.Swing) -> float:
        sample = self.walk.sample(frame)
        place = add(self._place(frame), swing.shift)
        under = self._probe.under(place)
        if under is None:
            return 0.0
        have = self._probe.floor + dot(swing.shift, self._up)
        need = self._probe.level(under) - have
        if sample.end != ORIGIN:
            # It need not be as high above what is in the way as above the floor, but not in it.
            end = rotate(shape.turn_of(swing.tilt), self._end(frame))
            far = self._probe.under(add(place, end))
            if far is not None:
                have += sample.height + dot(end, self._up)
                low = min(self.walk.end_lowest, sample.end_height)
                rise = far.height - under.height
                reach = length(across(end, self._up))
                need = max(need, counted(self._probe.level(far) + low - have, rise, reach))
        return shape.influence(sample.height, self._blend) * need

    def foreseen(self, frame: int) -> Foreseen:
        """Return where the leg is at another frame."""
        sample = self.walk.sample(frame)
        height = scaled(self._up, self._probe.floor + sample.height)
        target = add(across(self._place(frame), self._up), height)
        leg = mat_apply(self._frame(sample.under)[0], sample.root)
        swing = self._swing(frame)
        share = shape.influence(sample.height, self._blend)
        goal = add(target, scaled(swing.shift, share))
        return Foreseen(add(target, leg), target, goal, share * swing.rise)

    def _swing(self, frame: int) -> shape.Swing:
        """Return the correction of a frame, be it in a contact or not."""
        before, after = self.around(frame)
        if before is not None and frame <= before.stance.last:
            stance = before.stance
            shift = ORIGIN if before.place is None else self._shift(frame, before.place)
            return shape.Swing(shift, stance.tilt, stance.rise)
        if before is not None and after is not None:
            return shape.swing(before.stance, after.stance, frame)
        return alone(before, after)

    def _stand(self, number: int) -> Stand:
        """Return a contact as the ground is now."""
        if number not in self._stands:
            self._stands[number] = self._found_stand(number)
        return self._stands[number]

    def _found_stand(self, number: int) -> Stand:
        begin, end = self.walk.spans[number]
        still = shape.Stance(begin, end, ORIGIN, ORIGIN, ORIGIN, ORIGIN, ORIGIN, 0.0)
        footprint = self.walk.prints[number]
        if footprint.ob is None:
            return Stand(still)
        frame = frame_of(self._snapshot, footprint.ob)
        anchor = point_in(frame, footprint.place)
        under = self._probe.under(anchor)
        if under is None:
            return Stand(still)
        other = mat_apply(frame[0], footprint.end)
        lying = laid(self._probe, under, anchor, other, footprint.low, footprint.end_low)
        place = add(across(anchor, self._up), scaled(self._up, lying.height))
        stance = still._replace(
            entry=self._shift(begin, place),
            exit=self._shift(end, place),
            entry_rate=self._rate(begin),
            exit_rate=self._rate(end),
            tilt=lying.tilt,
            rise=lying.rise,
        )
        return Stand(stance, place, under)

    def _shift(self, frame: int, place: Vec) -> Vec:
        """Return what takes the animated foot of a frame to a place."""
        aside = across(sub(place, self._place(frame)), self._up)
        rise = dot(place, self._up) - self._probe.floor - self.walk.sample(frame).height
        return add(aside, scaled(self._up, rise))

    def _rate(self, frame: int) -> Vec:
        """Return how far the animation moves the foot in a frame."""
        start, count = self.walk.track.start, len(self.walk.track.samples)
        a, b = max(frame - 1, start), min(frame + 1, start + count - 1)
        aside = across(sub(self._place(b), self._place(a)), self._up)
        rise = self.walk.sample(b).height - self.walk.sample(a).height
        return scaled(add(aside, scaled(self._up, rise)), 1.0 / max(1, b - a))

    def _place(self, frame: int) -> Vec:
        """Return where the animation has the foot at a frame, seen from the ground as it is now."""
        sample = self.walk.sample(frame)
        return point_in(self._frame(sample.under), sample.place)

    def _end(self, frame: int) -> Vec:
        """Return where it has the other end of the foot, seen from there."""
        sample = self.walk.sample(frame)
        return mat_apply(self._frame(sample.under)[0], sample.end)

    def _frame(self, under: int) -> Frame:
        if under not in self._frames:
            ob = None if under == IN_WORLD else self.walk.grounds[under]
            self._frames[under] = frame_of(self._snapshot, ob)
        return self._frames[under]


def alone(before: Stand | None, after: Stand | None) -> shape.Swing:
    """Return the correction before the first contact, or after the last."""
    if before is not None:
        return shape.Swing(before.stance.exit, before.stance.tilt, before.stance.rise)
    if after is not None:
        return shape.Swing(after.stance.entry, after.stance.tilt, after.stance.rise)
    return shape.Swing(ORIGIN, ORIGIN, 0.0)


def frame_of(snapshot: Snapshot, ob: bpy.types.Object | None) -> Frame:
    """Return the space in which a foot rides along with a ground, the world's if there is none.

    That of one that is scaled flat has its place alone, as nothing could be found again in it.
    """
    if ob is None:
        return WHOLE
    world = snapshot.world(ob, ob.session_uid)
    return world if mat_determinant(world[0]) else (WHOLE[0], world[1])
