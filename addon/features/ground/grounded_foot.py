"""A foot at one moment: on the ground below it, locked, or swinging to the next foothold."""

from __future__ import annotations

from typing import NamedTuple

from fabrik_solver.core.vectors import (
    Vec,
    add,
    dot,
    quat_matrix,
    quat_of,
    quat_product,
    scaled,
)
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion.planted import Pose

from ...plan.chain_plan import Aim
from .probe import Probe
from .sole import sole_contact
from .stances import Stances, blended, level


class Foothold(NamedTuple):
    """The goal of a foot on the ground.

    Attributes:
        aim: The goal.
        base: Its location without obstacles, in world space.
        rise: How much higher the ground is than the floor of the animation, in metres.
        root: The animated hip joint if the leg keeps its pose, as before a cut, else None.
    """

    aim: Aim
    base: Vec
    rise: float = 0.0
    root: Vec | None = None


class GroundedFoot:
    """A foot at one moment."""

    def __init__(self, time: float, probe: Probe, aim: Aim, blend: float) -> None:
        """Take the animated goal of a foot."""
        self._time = time
        self._probe = probe
        self._aim = aim
        self._up = probe.up
        self._given = pose_of(aim)
        self._height = dot(aim.place, probe.up) - probe.floor
        self._share = shape.influence(self._height, blend)

    def unlocked(self, points: tuple[Vec, Vec]) -> Foothold:
        """Return the foot on the ground that is below it.

        Args:
            points: The joints above its heel and its ball, relative to its goal, in its own axes.
        """
        ends = dict.fromkeys(points)
        under = [level(self._given, end, self._up, self._probe.floor) for end in ends]
        lying = sole_contact(self._probe, self._aim.place, under)
        if lying is None:
            return Foothold(self._aim, self._aim.place)
        more = self._share * (lying.height - self._probe.floor - self._height)
        base = add(self._aim.place, scaled(self._up, more))
        turn = shape.turn_of(scaled(lying.tilt, self._share))
        foot = Pose(base, quat_product(turn, self._given.turn))
        aim = self._aim_of(self._at_least(foot.place, self._probe.floor + self._height), foot)
        return Foothold(aim, base, self._share * lying.rise)

    def locked(self, stances: Stances) -> Foothold:
        """Return the foot, locked in stance, or swinging from one foothold to the next."""
        flat = stances.flat(self._time, self._given)
        if stances.is_cut(self._time):
            _, moved = stances.locked(self._time, self._given, flat)
            root = add(self._aim.place, stances.animated_root(self._time))
            return Foothold(self._aim, self._aim.place, moved.rise, root)
        foot, moved = stances.locked(self._time, self._given, flat)
        base = blended(self._given, foot, self._share)
        lack = stances.need(self._time, flat, base)
        rise = self._share * max(stances.lift(self._time), lack)
        location = add(base.place, scaled(self._up, rise)) if rise > 0.0 else base.place
        location = self._at_least(location, self._probe.floor + self._height)
        return Foothold(self._aim_of(location, base), base.place, self._share * moved.rise)

    def _aim_of(self, location: Vec, foot: Pose) -> Aim:
        """Return a pose as a goal; exactly the animated one if nothing has changed it."""
        axes = self._aim.axes
        if axes is not None and foot.turn != self._given.turn:
            axes = quat_matrix(foot.turn)
        return Aim(location, axes)

    def _at_least(self, location: Vec, height: float) -> Vec:
        """Return a location, not lower than a height if the foot may only be lifted."""
        rise = height - dot(location, self._up)
        if not self._probe.lift_only or rise <= 0.0:
            return location
        return add(location, scaled(self._up, rise))


def pose_of(aim: Aim) -> Pose:
    """Return a goal as a pose, without rotation if the goal has none."""
    return Pose(aim.place) if aim.axes is None else Pose(aim.place, quat_of(aim.axes))
