"""The extension of a leg on the ground, chosen so that its knee moves as smoothly as animated."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, sqrt
from typing import NamedTuple

from fabrik_solver.core.vectors import (
    Vec,
    across,
    add,
    cross,
    dot,
    length,
    quat_matrix,
    rotate,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion import ground, knee
from fabrik_solver.motion.columns import FINE, Column, SmoothColumn
from fabrik_solver.motion.easing import smooth
from fabrik_solver.motion.planted import pivoted
from fabrik_solver.motion.smoothest import Wish

from ...plan.chain_plan import Aim
from .contact_track import SAME
from .grounded_foot import pose_of
from .stances import Stances


class Look(NamedTuple):
    """A knee at one frame.

    Attributes:
        animated: Its animated distance from the line from hip to ankle.
        grounded: The same on the ground, before smoothing.
        weight: How much ``grounded`` counts.
    """

    animated: float
    grounded: float
    weight: float


class Knees:
    """A leg's knee at all frames, valid until the hip moves differently.

    Attributes:
        stances: The foot on the ground.
        key: The other inputs of the hip's displacement.
    """

    def __init__(
        self, stances: Stances, key: object, shift_at: Callable[[int], Vec], inner: float
    ) -> None:
        """Start with no frames computed.

        Args:
            stances: The foot.
            key: See the class.
            shift_at: Returns the hip joint's displacement at a frame.
            inner: The shortest distance from hip to ankle that the bones allow, in meters.
        """
        self.stances = stances
        self.key = key
        self._inner = inner
        track = stances.clip.contact_track.track
        self._size = track.leg
        self._flexed = max(inner, knee.FLEXED * track.leg)
        self._shift_at = shift_at
        self._looked = Column(self._look)
        self._changed = Column(self._is_changed)
        self._path = SmoothColumn(self._ask, track.rate, knee.CALM, FINE)
        self._window = ground.window(2.0 * ground.CALM, track.rate, FINE)

    def eased(self, time: float, aim: Aim, root: Vec, weight: float) -> Aim:
        """Return a foot's goal, eased a little so that the knee moves smoothly.

        Args:
            time: The frame of the track.
            aim: The goal.
            root: The hip joint.
            weight: See `weight`.
        """
        foot, clip = pose_of(aim), self.stances.clip
        ankle = add(foot.place, rotate(foot.turn, clip.sole.ankle))
        far, size = length(sub(ankle, root)), self._size
        fall = self._fall(time, sub(ankle, root))
        if fall > 0.0:
            # Moving straight away from the hip, a foot right below it would leave its path. It is
            # lowered first, but not into the ground; then it moves away as far as its bones need.
            lower = scaled(self.stances.probe.up, max(0.0, min(fall, self._room(time))))
            foot, ankle = foot._replace(place=sub(foot.place, lower)), sub(ankle, lower)
            left = length(sub(ankle, root))
            far = self._unfolded(time, left, self._inner)
            if 0.0 < left < far:
                away = scaled(sub(ankle, root), far / left - 1.0)
                foot, ankle = foot._replace(place=add(foot.place, away)), add(ankle, away)
        off = knee.offset(far, size)
        wanted = knee.distance(max(0.0, off + self._path.at(time)), size) - far
        gives = weight * knee.softened(wanted, size)
        if gives == 0.0 or far == 0.0:
            return aim._replace(place=foot.place)
        wanted = far + gives
        stands, up = self.stances.stands(time), self.stances.probe.up
        if stands > 0.0:
            apart = far + stands * gives
            foot = pivoted(foot, root, clip.sole, up, apart)
            ankle = add(foot.place, rotate(foot.turn, clip.sole.ankle))
            far = length(sub(ankle, root))
        location = add(foot.place, scaled(sub(ankle, root), wanted / far - 1.0))
        rise = dot(sub(location, aim.place), up)
        if self.stances.probe.lift_only and rise < 0.0:
            location = sub(location, scaled(up, rise))
        axes = aim.axes if aim.axes is None else quat_matrix(foot.turn)
        return aim._replace(place=location, axes=axes)

    def weight(self, time: float) -> float:
        """Return the weight of easing and facing: the more often the ground changes the leg nearby.

        A knee that faced its mean bend only in the changed frames would turn suddenly.
        """
        changed = ground.averaged(self._changed, time, *self._window)
        return self.stances.influence(time) * changed

    def _is_changed(self, frame: int) -> float:
        """Return 1 if the ground changes the distance from hip to ankle at a frame, else 0."""
        look, size = self._looked[frame], self._size
        change = knee.distance(look.grounded, size) - knee.distance(look.animated, size)
        return float(abs(change) > SAME * size)

    def _unfolded(self, time: float, far: float, inner: float) -> float:
        """Return the distance from ankle to hip joint of a swinging leg (see `folded`)."""
        swings = 1.0 - self.stances.stands(time)
        if swings == 0.0:
            return far
        animated = self.stances.reach(time)
        return far + swings * (knee.folded(far, animated, inner) - far)

    def _fall(self, time: float, leg: Vec) -> float:
        """Return how far an ankle has to be lowered so that its leg folds no farther.

        A foot kicked above its hip joint is closest to the joint when level with it. The foot is
        lowered to that level before it gets too close, gradually as its horizontal distance falls
        below the leg's animated length.

        Args:
            time: The frame.
            leg: The vector from hip joint to ankle.
        """
        up = self.stances.probe.up
        high, aside = dot(leg, up), length(across(leg, up))
        if high <= 0.0:
            far = self._unfolded(time, length(leg), self._flexed)
            return high + sqrt(max(0.0, far * far - aside * aside)) if far > length(leg) else 0.0
        animated = self.stances.reach(time)
        room = 0.5 * (animated - min(self._flexed, animated))
        near = smooth((animated - aside) / room) if room > 0.0 else float(aside < animated)
        far = self._unfolded(time, aside, self._flexed)
        fall = near * (1.0 - self.stances.stands(time)) * high
        return fall + sqrt(max(0.0, far * far - aside * aside))

    def _room(self, time: float) -> float:
        """Return how far the foot could be lowered."""
        frames = floor(time), ceil(time)
        return min(self._size, *[self.stances.clearance(frame) for frame in frames])

    def faced(self, time: float, aim: Aim, root: Vec, weight: float) -> Aim:
        """Return a foot's goal with the point that its knee faces, if that is known."""
        foot = pose_of(aim)
        along = unit(sub(add(foot.place, rotate(foot.turn, self.stances.clip.sole.ankle)), root))
        if weight == 0.0 or along is None:
            return aim
        side = unit(cross(self.stances.clip.flexion(time), along))
        point = None if side is None else add(root, scaled(side, self._size))
        return aim if point is None else aim._replace(facing=(point, weight))

    def _ask(self, frame: int) -> Wish:
        """Return what a frame requests: no displacement of the knee, and its bend as animated."""
        stride, looks = self._path.stride, self._looked
        before, look, after = looks[frame - stride], looks[frame], looks[frame + stride]
        animated = before.animated - 2.0 * look.animated + after.animated
        grounded = before.grounded - 2.0 * look.grounded + after.grounded
        clear = knee.clear(look.animated, self._size)
        return Wish(0.0, look.weight, clear * animated - grounded, low=-look.grounded)

    def _look(self, frame: int) -> Look:
        """Return the knee at a frame of the clip."""
        stances, size = self.stances, self._size
        frame = stances.clip.within(frame)
        leg = stances.carried[frame]
        animated = knee.offset(length(sub(leg.target, leg.root)), size)
        far = length(sub(leg.goal, add(leg.root, self._shift_at(frame + stances.start))))
        grounded = knee.offset(self._unfolded(frame, far, self._flexed), size)
        return Look(animated, grounded, knee.weight(animated, grounded, size, stances.lies(frame)))
