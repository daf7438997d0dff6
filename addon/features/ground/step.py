"""A foot at one moment: on the ground below it, at its place, or on its way to the next one."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from ...core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    dot,
    length,
    mat_product,
    mix,
    quat_matrix,
    rotate,
    scaled,
)
from ...loop.chain_plan import Aim
from ...motion import ground as shape
from ...motion.sole import counted, turn_out
from .probe import Probe, Under
from .sole import laid
from .stances import Stances, Stand, alone


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


class Step:
    """A foot at one moment."""

    def __init__(self, time: float, probe: Probe, aim: Aim, end: Vec, blend: float) -> None:
        """Take where the animation has a foot, and its other end (see `end_of`)."""
        self._time = time
        self._probe = probe
        self._aim = aim
        self._end = end
        self._up = probe.up
        self._height = dot(aim.place, probe.up) - probe.floor
        self._end_height = self._height + dot(end, probe.up)
        self._share = shape.influence(self._height, blend)

    @cached_property
    def _below(self) -> Under | None:
        """What is below the animated foot."""
        return self._probe.under(self._aim.place)

    def unlocked(self, note: str) -> Foothold:
        """Return the foot on the ground that is below it."""
        place = self._aim.place
        if self._below is None:
            return Foothold(self._aim._replace(note=note), place)
        ends = (self._height, self._end_height)
        lying = laid(self._probe, self._below, place, self._end, *ends)
        more = self._share * (lying.height - self._probe.floor - self._height)
        base = add(place, scaled(self._up, more))
        swing = self._counting(shape.Swing(ORIGIN, lying.tilt, lying.rise))
        return self._foothold(base, 0.0, swing, (0.0, 0.0), note)

    def locked(self, stances: Stances) -> Foothold:
        """Return the foot at its place while it stands, and on its way from one to the next."""
        before, after = stances.around(self._time)
        lowest = (stances.walk.lowest, stances.walk.end_lowest)
        if before is not None and self._time <= before.stance.last:
            return self._standing(before, lowest[1])
        if before is None or after is None:
            swing = alone(before, after)
            base = self._shifted(swing)
            lift = 0.0
            if self._below is not None:
                wanted = self._probe.level(self._below) + self._height
                lift = max(0.0, self._share * (wanted - dot(base, self._up)))
            return self._foothold(base, lift, self._counting(swing), lowest)
        last, first = before.stance.last, after.stance.first
        swing = shape.swing(before.stance, after.stance, self._time)
        needs = stances.needs(before.stance, after.stance)
        lift = self._share * shape.lift((self._time - last) / (first - last), needs)
        return self._foothold(self._shifted(swing), lift, self._counting(swing), lowest)

    def _standing(self, stand: Stand, end_lowest: float) -> Foothold:
        if stand.place is None:
            return Foothold(self._aim, self._aim.place)
        place = stand.place
        if self._probe.lift_only:
            place = self._at_least(place, self._probe.floor + self._height)
        if self._share < 1.0:
            place = mix(self._aim.place, place, self._share)
        tilt = scaled(stand.stance.tilt, self._share)
        aim = self._lying(place, tilt, stand.under, end_lowest)
        return Foothold(aim, place, self._share * stand.stance.rise)

    def _shifted(self, swing: shape.Swing) -> Vec:
        """Return the animated foot with its correction; to the last bit itself if there is none."""
        if swing.shift == ORIGIN:
            return self._aim.place
        return add(self._aim.place, scaled(swing.shift, self._share))

    def _counting(self, swing: shape.Swing) -> shape.Swing:
        """Return a moment of a swing as far as the ground counts."""
        return shape.Swing(swing.shift, scaled(swing.tilt, self._share), self._share * swing.rise)

    def _foothold(
        self,
        base: Vec,
        lift: float,
        swing: shape.Swing,
        lowest: tuple[float, float],
        note: str = "",
    ) -> Foothold:
        """Return a foot that is not below the ground, nor below the animation if it must not."""
        place = add(base, scaled(self._up, lift)) if lift > 0.0 else base
        under = self._probe.under(place)
        if under is not None:
            low = min(lowest[0], self._height)
            place = self._at_least(place, self._probe.level(under) + low)
        if self._probe.lift_only:
            place = self._at_least(place, self._probe.floor + self._height)
        aim = self._lying(place, swing.tilt, under, lowest[1], lifts=True)
        return Foothold(aim._replace(note=note), base, swing.rise)

    def _lying(
        self, place: Vec, tilt: Vec, under: Under | None, lowest: float, lifts: bool = False
    ) -> Aim:
        """Return a foot that is turned with the ground, and whose other end is not in it.

        Where that end would be, the foot is turned out of the ground, so that it rolls off its
        toes; and where that is not enough, it may be lifted.

        Args:
            place: Where its goal is.
            tilt: How it is turned with the ground.
            under: What is below it.
            lowest: How high its other end is above the floor of the animation as it stands.
            lifts: Whether it may leave its place.
        """
        axes = self._aim.axes
        if axes is None:
            return Aim(place, None)
        end, turns = self._end, [tilt]
        if tilt != ORIGIN:
            end = rotate(shape.turn_of(tilt), end)
        need = 0.0 if under is None else self._need(place, end, under, lowest)
        if under is not None and need > 0.0:
            turns.append(turn_out(end, need, self._up, self._probe.most))
            end = rotate(shape.turn_of(turns[1]), end)
            if lifts:
                need = self._need(place, end, under, lowest)
                place = add(place, scaled(self._up, need))
        for turn in turns:
            if turn != ORIGIN:
                axes = mat_product(quat_matrix(shape.turn_of(turn)), axes)
        return Aim(place, axes)

    def _need(self, place: Vec, end: Vec, under: Under, lowest: float) -> float:
        """Return by how much the other end of the foot is too low."""
        other = add(place, end)
        far = self._probe.under(other)
        if far is None:
            return 0.0
        wanted = self._probe.level(far) + min(lowest, self._end_height)
        reach = length(across(end, self._up))
        rise = far.height - under.height
        return counted(wanted - dot(other, self._up), rise, reach)

    def _at_least(self, place: Vec, height: float) -> Vec:
        rise = height - dot(place, self._up)
        return add(place, scaled(self._up, rise)) if rise > 0.0 else place
