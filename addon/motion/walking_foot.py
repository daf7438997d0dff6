"""What is known of the feet of a walk while it is simulated, brought to each look at the body."""

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple, final

from ..core import Frame, inverse, point_in
from ..core.vectors import ORIGIN, Vec, across, add, length, mat_columns, scaled, sub
from .footfall import STILL, Footfall, Grounds, place_of
from .foothold import Cast
from .gait import WalkingLeg, WalkSettings
from .stance import Lean, leaned
from .stride import STANDING, Stride, losing_reach, stride_of, time_left

SETTLED: Final = 0.05
"""The share of the threshold by which a foot may be off its rest place while the body stands."""


class Now(NamedTuple):
    """One look at the body and the ground.

    Attributes:
        time: In frames.
        passed: How many frames ago the look before was.
        body: The body as animated, in the world.
        up: The way up of the body as it leans, a unit vector in the world.
        ahead: Its way ahead.
        cast: Asks the ground, as it is at the next whole frame.
        grounds: Where the grounds are at the time.
        whole: Where they are at the next whole frame.
    """

    time: float
    passed: float
    body: Frame
    up: Vec
    ahead: Vec
    cast: Cast
    grounds: Grounds
    whole: Grounds


@final
class WalkingFoot:
    """What is known of a foot while the simulation runs.

    Attributes:
        leg: Its leg.
        falls: Its footfalls so far.
        aim: What the last one was meant for, in the space of its ground.
        next: The footfall that it is on its way to, as foreseen when it was lifted.
        home: Where it should be now, in the world.
        place: Where its last footfall is now, in the world.
        root: Where its leg begins now, in the world.
        velocity: How fast home moves away from the place, in a frame, along the ground.
        away: How fast the root does, in any direction.
        quiet: For how many frames the velocity has been hardly anything.
        stride: How it steps at this speed.
    """

    __slots__ = (
        "aim",
        "away",
        "falls",
        "home",
        "leg",
        "next",
        "place",
        "quiet",
        "root",
        "stride",
        "velocity",
    )
    leg: WalkingLeg
    falls: list[Footfall]
    aim: Vec
    next: Footfall | None
    home: Vec
    place: Vec
    root: Vec
    velocity: Vec
    away: Vec
    quiet: float
    stride: Stride

    def __init__(self, leg: WalkingLeg) -> None:
        """Begin without footfalls."""
        self.leg = leg
        self.falls = []
        self.aim = self.home = self.place = self.root = ORIGIN
        self.rest()

    def rest(self) -> None:
        """Forget how it moved."""
        self.next = None
        self.velocity = self.away = ORIGIN
        self.quiet = 0.0
        self.stride = STANDING

    def support(self) -> Footfall:
        """Return what it stands on, or will when its step is done."""
        return self.next or self.falls[-1]

    def put(self, fall: Footfall, aim: Vec, grounds: Grounds) -> None:
        """Set it down at a footfall that was meant for a place in the world."""
        self.falls.append(fall)
        moved = fall.ground != STILL
        self.aim = point_in(inverse(grounds(fall.ground)), aim) if moved else aim
        self.next, self.place = None, place_of(fall, grounds)

    def wanted(self) -> Vec:
        """Return where it should come down now: on its way, ahead of where it should be."""
        return add(add(self.home, self.stride.middle), self.stride.lead)

    def off(self, now: Now) -> float:
        """Return how far along the ground it is from where it is meant to be."""
        fall = self.falls[-1]
        aim = self.aim if fall.ground == STILL else point_in(now.grounds(fall.ground), self.aim)
        return length(across(sub(add(self.home, self.stride.middle), aim), now.up))

    def is_there(self, now: Now, settings: WalkSettings) -> bool:
        """Whether a step would end where it stands: it was set down for this place."""
        return self.off(now) <= SETTLED * settings.threshold * self.leg.reach

    def time_left(self, now: Now, settings: WalkSettings) -> float:
        """Return in how many frames its leg loses it, if all goes on as it does."""
        if self.is_there(now, settings):
            return inf
        return time_left(self.place, self.root, self.away, losing_reach(self.leg, settings))


def brought(
    feet: Sequence[WalkingFoot],
    now: Now,
    settings: WalkSettings,
    lean: Lean,
    others: int,
    is_moving: bool = True,
) -> Now:
    """Bring what is known of the feet to the present, with the body as it leans now.

    Args:
        feet: The feet.
        now: The present, still without the body's ways up and ahead.
        settings: How the body walks.
        lean: How it leans.
        others: How many other groups have to step in turn.
        is_moving: Whether the places before are known, from which the speeds follow.

    Returns:
        The present, with these ways.
    """
    body = leaned(now.body, lean)
    now = now._replace(up=mat_columns(body[0])[2], ahead=mat_columns(body[0])[1])
    for foot in feet:
        leg = foot.leg
        home, root = point_in(body, leg.rest), point_in(body, leg.root)
        place = place_of(foot.falls[-1], now.grounds)
        if is_moving:
            carried = sub(place, foot.place)
            off = sub(sub(home, foot.home), carried)
            foot.velocity = scaled(across(off, now.up), 1.0 / now.passed)
            foot.away = scaled(sub(sub(root, foot.root), carried), 1.0 / now.passed)
            far = SETTLED * settings.threshold * leg.reach
            slow = length(foot.velocity) * settings.duration < far
            foot.quiet = foot.quiet + now.passed if slow else 0.0
        foot.home, foot.root, foot.place = home, root, place
        foot.stride = stride_of(leg, settings, sub(home, root), foot.velocity, others)
    return now
