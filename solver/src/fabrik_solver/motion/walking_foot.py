"""A walk's feet while its steps are planned, updated at each substep."""

from collections.abc import Sequence
from math import fsum, inf
from typing import Final, NamedTuple, final

from ..core import Frame, inverse, point_in
from ..core.vectors import ORIGIN, Vec, across, add, dot, length, mat_columns, scaled, sub
from .easing import smooth
from .footfall import STILL, Footfall, Grounds, place_of
from .foothold import Cast
from .gait import WalkingLeg, WalkSettings
from .stance import Lean, leaned
from .stride import STANDING, Stride, losing_reach, root_height, stride_of, time_left

SETTLED: Final = 0.05
"""How far from its rest position a foot may stand at rest, as a fraction of the threshold."""


class Substep(NamedTuple):
    """The body and the ground at a substep.

    Attributes:
        time: The time, in frames.
        passed: How many frames have passed since the previous substep.
        body: The animated frame of the body in world space.
        up: The up direction of the leaning body, a unit vector in world space.
        ahead: The forward direction of the leaning body, also a unit vector.
        cast: Casts rays at the ground at the next whole frame.
        grounds: The frames of the grounds at this time.
        whole: The frames of the grounds at the next whole frame.
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
    """The state of a foot while the steps are planned.

    Attributes:
        leg: Its leg.
        falls: Its footfalls so far.
        aim: The desired foothold of the last footfall, in the space of its ground.
        next: The footfall that it swings to, as planned at toe-off.
        home: Its current rest position, in world space.
        place: The current location of its last footfall, in world space.
        root: The current location of its leg's root, in world space.
        velocity: The velocity of `home` relative to `place`, per frame, along the ground.
        away: The velocity of `root` relative to `place`, per frame, in any direction.
        quiet: How many frames the velocity has been almost 0.
        stride: Its stride at this speed.
    """

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
        """Start without footfalls."""
        self.leg = leg
        self.falls: list[Footfall] = []
        self.aim = self.home = self.place = self.root = ORIGIN
        self.rest()

    def rest(self) -> None:
        """Reset the motion of the foot, which has just been placed."""
        self.next = None
        self.velocity = self.away = ORIGIN
        self.quiet = 0.0
        self.stride = STANDING

    def support(self) -> Footfall:
        """Return the footfall on which the foot stands, or will stand after its step."""
        return self.next or self.falls[-1]

    def put(self, fall: Footfall, aim: Vec, grounds: Grounds) -> None:
        """Put the foot in stance at a footfall that was planned for this aim, in world space."""
        self.falls.append(fall)
        moved = fall.ground != STILL
        self.aim = point_in(inverse(grounds(fall.ground)), aim) if moved else aim
        self.next, self.place = None, place_of(fall, grounds)

    def wanted(self) -> Vec:
        """Return the desired foothold at this moment, ahead of the rest position."""
        return add(add(self.home, self.stride.middle), self.stride.lead)

    def phased(self, turns: Sequence[int], settings: WalkSettings) -> Vec:
        """Return the mid-stride offset from the rest position, depending on the step order.

        Args:
            turns: The groups in the order of their next steps.
            settings: The settings of the walk.
        """
        speed, stride = length(self.velocity), self.stride
        if speed == 0.0:
            return ORIGIN
        step = speed * settings.duration
        lead_length = length(stride.lead)
        cycle = lead_length + stride.limit + step
        fraction = turns.index(self.leg.group) / len(turns)
        along = min(lead_length, fraction * cycle - stride.limit)
        middle = add(stride.middle, scaled(self.velocity, along / speed))
        # A body that hardly moves stands in its rest positions.
        return scaled(middle, smooth(step / (settings.threshold * self.leg.reach)))

    def off(self, substep: Substep) -> float:
        """Return the distance of the foot from its desired position, along the ground."""
        fall = self.falls[-1]
        aim = self.aim if fall.ground == STILL else point_in(substep.grounds(fall.ground), self.aim)
        return length(across(sub(add(self.home, self.stride.middle), aim), substep.up))

    def is_there(self, substep: Substep, settings: WalkSettings) -> bool:
        """Return whether a step would end where the foot is standing already."""
        return self.off(substep) <= SETTLED * settings.threshold * self.leg.reach

    def time_left(self, substep: Substep, settings: WalkSettings) -> float:
        """Return how many frames remain until the foot is out of reach, at constant velocities."""
        if self.is_there(substep, settings):
            return inf
        return time_left(self.place, self.root, self.away, losing_reach(self.leg, settings))


def update_feet(
    feet: Sequence[WalkingFoot],
    substep: Substep,
    settings: WalkSettings,
    lean: Lean,
    other_groups: int,
    is_moving: bool,
) -> Substep:
    """Update the feet to a substep, with the body's current lean.

    Args:
        feet: The feet.
        substep: The substep, still without the body's up and forward directions.
        settings: The settings of the walk.
        lean: The body's lean.
        other_groups: The number of other groups that take turns.
        is_moving: Whether previous locations can be used for velocities.

    Returns:
        The substep with these directions.
    """
    spines = {foot.leg.spine for foot in feet}
    bodies = {spine: leaned(substep.body, lean, spine=spine) for spine in (0.0, *spines)}
    body = bodies[0.0]
    substep = substep._replace(up=mat_columns(body[0])[2], ahead=mat_columns(body[0])[1])
    middle = fsum([foot.leg.rest[0] for foot in feet]) / len(feet)
    for foot in feet:
        leg = foot.leg
        carrier = bodies[leg.spine]
        home, root = point_in(carrier, leg.rest), point_in(carrier, leg.root)
        position = place_of(foot.falls[-1], substep.grounds)
        if is_moving:
            carried = sub(position, foot.place)
            off = sub(sub(home, foot.home), carried)
            foot.velocity = scaled(across(off, substep.up), 1.0 / substep.passed)
            foot.away = scaled(sub(sub(root, foot.root), carried), 1.0 / substep.passed)
            far = SETTLED * settings.threshold * leg.reach
            slow = length(foot.velocity) * settings.duration < far
            foot.quiet = foot.quiet + substep.passed if slow else 0.0
        foot.home, foot.root, foot.place = home, root, position
        # At the height of the foothold, under a body that has sunk completely. Otherwise a sinking
        # body would cut the stride short and hurry the other legs.
        deep = dot(sub(root, position), substep.up)
        if settings.leans:
            deep = min(deep, root_height(leg, settings, length(foot.velocity), other_groups))
        out = sub(across(sub(home, root), substep.up), scaled(substep.up, deep))
        inward = scaled(mat_columns(carrier[0])[0], middle - leg.rest[0])
        foot.stride = stride_of(leg, settings, out, inward, foot.velocity, other_groups)
    return substep
