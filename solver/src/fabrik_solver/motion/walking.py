"""Walking: plan the steps of an animated body, frame by frame.

A foot stays in stance until it is too far from its rest position. It then steps to where its rest
position will be. The legs of a group step together, one group at a time. A step depends only on the
present and the past, so one pass over the frames is enough. The result is a `gait.RecordedWalk`.

Reach has priority over rhythm: a foot about to leave its leg's reach is lifted at once, and feet in
the air land early. Steps start early enough, and are short enough, to make this rare.
"""

from collections.abc import Sequence
from math import ceil, inf
from typing import Final

from ..core import Frame, inverse, point_in
from ..core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    any_perpendicular,
    inverse_apply,
    length,
    mix,
    quat_of,
    scaled,
    sub,
    unit,
)
from .footfall import STILL, Footfall, Grounds, in_ground_space, normal_of, place_of
from .foothold import Cast, Search, foothold_at
from .gait import RecordedWalk, WalkingLeg, WalkSettings
from .interpolation import body_between, carried, grounds_between
from .stance import UPRIGHT, Lean, LeanState, bend_of_ground, eased_to, plane_through
from .stride import landing_reach, least_height, losing_reach, root_height
from .swing import Arc, arc_over
from .turns import next_to_step, of_group, step_duration, stepping_along
from .walking_foot import Substep, WalkingFoot, update_feet

HIGH: Final = 0.5
"""The greatest height to which a foot is lifted over obstacles, as a fraction of its leg's
reach."""

SOLE: Final = 0.03
"""Half the width of a sole that swings over an obstacle, as a fraction of the leg's reach. This is
half a hoof or a paw."""

SINK: Final = 0.25
"""How far the body may sink for a foot that can't reach the ground, as a fraction of the reach."""

TICK: Final = 0.05
"""How far a leg's root may move in a substep, as a fraction of its reach."""

MOST: Final = 32
"""The maximum number of substeps per frame."""


class StepPlanner:
    """Plans a walk: created at the first frame, then advanced frame by frame.

    Args:
        legs: The legs, at least one.
        settings: The settings at the first frame.
        frame: The first frame.
        body: The animated frame of the body in world space, with orthonormal axes.
        cast: Casts rays at the ground of the first frame.
        grounds: The frames of the grounds at the first frame.
    """

    def __init__(
        self,
        legs: Sequence[WalkingLeg],
        settings: WalkSettings,
        frame: int,
        body: Frame,
        cast: Cast,
        grounds: Grounds,
    ) -> None:
        self.settings = settings
        self.start = self.frame = frame
        self.body = body
        self.groups = sorted({leg.group for leg in legs})
        self.last_group = self.groups[-1]
        self.before: dict[int, Frame] = {}
        self.state = LeanState(UPRIGHT, UPRIGHT)
        self.feet = [WalkingFoot(leg) for leg in legs]
        self.was_placed = True
        self._place_feet(self.frame, cast, grounds, grounds, [ORIGIN] * len(self.feet))
        self._remember(grounds)
        self.lean_states = [self.state]

    def step(self, settings: WalkSettings, body: Frame, cast: Cast, grounds: Grounds) -> None:
        """Advance by a whole frame; the arguments are those of the new frame."""
        self.settings = settings
        self.frame += 1
        is_teleport = self._is_teleport(body, grounds)
        if is_teleport:
            self.body = body
            for foot in self.feet:
                foot.rest()
            self._place_feet(self.frame, cast, grounds, grounds, [ORIGIN] * len(self.feet))
        else:
            if self.was_placed:
                self._start_in_stride(body, cast, grounds)
            count = self._substep_count(body)
            turns = quat_of(self.body[0]), quat_of(body[0])
            for look in range(1, count + 1):
                fraction = look / count
                between = body if look == count else body_between(self.body, body, turns, fraction)
                time = self.frame - 1 + fraction
                grounds_here = grounds_between(self.before, grounds, fraction)
                self._substep(
                    Substep(time, 1.0 / count, between, ORIGIN, ORIGIN, cast, grounds_here, grounds)
                )
            self.body = body
        self.was_placed = is_teleport
        self._remember(grounds)
        self.lean_states.append(self.state)

    def record(self) -> RecordedWalk:
        """Return the walk so far, with feet in the air landing as planned."""
        falls = tuple((*foot.falls, *([foot.next] if foot.next else ())) for foot in self.feet)
        return RecordedWalk(self.start, falls, tuple(self.lean_states))

    # From frame to frame

    def _is_teleport(self, body: Frame, grounds: Grounds) -> bool:
        for foot in self.feet:
            moved = sub(point_in(body, foot.leg.root), point_in(self.body, foot.leg.root))
            ridden = sub(place_of(foot.falls[-1], grounds), foot.place)
            if not length(sub(moved, ridden)) <= foot.leg.reach:
                return True
        return False

    def _substep_count(self, body: Frame) -> int:
        """Return the number of substeps of a frame, which grows with the body's speed."""
        roots = [(foot.leg.root, foot.leg.reach) for foot in self.feet]
        distance = max(
            length(sub(point_in(body, root), point_in(self.body, root))) / reach
            for root, reach in roots
        )
        fine = TICK / max(1.0, 0.5 * (len(self.groups) - 1))
        return min(MOST, max(1, ceil(distance / fine)))

    def _remember(self, grounds: Grounds) -> None:
        falls = [fall for foot in self.feet for fall in (foot.falls[-1], foot.support())]
        self.before = {f.ground: grounds(f.ground) for f in falls if f.ground != STILL}

    def _start_in_stride(self, body: Frame, cast: Cast, grounds: Grounds) -> None:
        """Place the feet in mid-stride if the body moves from the start, as in a cycle.

        Args:
            body: The body's animated frame one frame later.
            cast: Casts rays at the ground of that frame.
            grounds: The frames of the grounds at that frame.
        """
        old_grounds, time = grounds_between(self.before, grounds, 0.0), self.frame - 1
        self._update(
            Substep(time, 1.0, body, ORIGIN, ORIGIN, cast, grounds, grounds), is_moving=True
        )
        at = self.groups.index(self.last_group) + 1
        turns = (*self.groups[at:], *self.groups[:at])
        offsets = [foot.phased(turns, self.settings) for foot in self.feet]
        if any(offset != ORIGIN for offset in offsets):
            for foot in self.feet:
                foot.falls.pop()
            self._place_feet(time, cast, old_grounds, grounds, offsets)
            self.lean_states[-1] = self.state
        else:
            self._update(
                Substep(time, 1.0, self.body, ORIGIN, ORIGIN, cast, old_grounds, grounds), False
            )

    def _place_feet(
        self, time: int, cast: Cast, grounds: Grounds, whole: Grounds, offsets: Sequence[Vec]
    ) -> None:
        """Place all feet on the ground at once, and the body on its feet.

        Args:
            time: The frame.
            cast: Casts rays at the ground.
            grounds: The frames of the grounds at that frame.
            whole: The frames of the grounds at the whole frame at which rays are cast.
            offsets: The offsets of the feet from their rest positions, in world space.
        """
        self.state = LeanState(UPRIGHT, UPRIGHT)
        for foot in self.feet:
            nowhere = Footfall(time, time, ORIGIN, ORIGIN, ORIGIN, STILL, 0.0, True)
            foot.falls.append(nowhere)
        substep = Substep(time, 1.0, self.body, ORIGIN, ORIGIN, cast, grounds, whole)
        # Feet and body depend on each other; a few iterations converge.
        for _ in range(4):
            substep = self._update(substep, is_moving=False)
            for foot, offset in zip(self.feet, offsets, strict=True):
                aim = add(foot.home, offset)
                fall = self._plan_footfall(substep, foot, time, time, aim, ORIGIN)
                foot.falls.pop()
                foot.put(fall, aim, grounds)
            self.state = LeanState(self._target_lean(substep), UPRIGHT)
        self._update(substep, is_moving=False)

    # One substep

    def _substep(self, substep: Substep) -> None:
        self.state = eased_to(
            self.state, self._target_lean(substep), substep.passed, self.settings.duration
        )
        substep = self._update(substep, is_moving=True)
        for foot in self.feet:
            if foot.next is not None and foot.next.land <= substep.time:
                self._land(substep, foot, foot.next)
        overdue = [
            foot
            for foot in self.feet
            if foot.next is None and self._gets_out_of_reach(substep, foot)
        ]
        if overdue:
            self._step_at_once(substep, overdue)
        elif all([foot.next is None for foot in self.feet]):
            at = self.groups.index(self.last_group) + 1
            turns = (*self.groups[at:], *self.groups[:at])
            self._begin_step(substep, next_to_step(self.feet, turns, substep, self.settings))

    def _update(self, substep: Substep, is_moving: bool) -> Substep:
        other_groups = max(1, len(self.groups) - 1)
        return update_feet(
            self.feet, substep, self.settings, self.state.lean, other_groups, is_moving
        )

    def _target_lean(self, substep: Substep) -> Lean:
        """Return the lean of the body at rest on its feet, low enough for all feet to reach."""
        if not self.settings.leans:
            return UPRIGHT
        back = inverse(substep.body)
        falls = [(foot, foot.support()) for foot in self.feet]
        positions = {
            foot: point_in(back, place_of(f, substep.grounds)) for foot, f in falls if f.has_ground
        }
        legs = [foot.leg for foot in positions]
        plane = plane_through(
            [*positions.values()], [leg.rest for leg in legs], [leg.spine for leg in legs]
        )
        normals = [
            inverse_apply(substep.body[0], normal_of(f, substep.grounds))
            for _, f in falls
            if f.has_ground
        ]
        tilt = self.settings.tilt
        bend = tilt * bend_of_ground(normals, [leg.spine for leg in legs])
        # The spine as a whole slopes like the line from the hind feet to the front feet.
        lean = Lean(
            self.settings.height * plane.lift,
            tilt * plane.right,
            tilt * plane.ahead - 0.5 * bend,
            tilt * plane.twist,
            bend,
        )
        other_groups = max(1, len(self.groups) - 1)
        sunk, lowest = inf, -inf
        for foot in self.feet:
            leg, speed = foot.leg, length(foot.velocity)
            # A foot without ground is assumed to be on the plane of the others.
            x, y, z = positions.get(foot, leg.rest)
            if foot not in positions:
                z += plane.lift + plane.right_at(leg.spine) * x + plane.ahead * y
            slope = lean.right_at(leg.spine) * leg.root[0] + lean.climb_at(leg.spine) * leg.root[1]
            drop = z - leg.root[2] - slope
            sunk = min(sunk, drop + root_height(leg, self.settings, speed, other_groups))
            lowest = max(lowest, drop + least_height(leg))
        # A foot far below lowers the body, but not into the ground of the other feet.
        return lean._replace(lift=min(lean.lift, max(sunk, lowest)))

    # Steps

    def _gets_out_of_reach(self, substep: Substep, foot: WalkingFoot) -> bool:
        """Return whether a foot leaves its leg's reach before the next substep."""
        ahead = add(foot.root, scaled(foot.away, substep.passed))
        far = max(length(sub(foot.place, foot.root)), length(sub(foot.place, ahead)))
        is_far = far > losing_reach(foot.leg, self.settings)
        return is_far and not foot.is_there(substep, self.settings)

    def _begin_step(self, substep: Substep, feet: Sequence[WalkingFoot]) -> None:
        if not feet:
            return
        self.last_group = feet[0].leg.group
        frames = step_duration(self.feet, self.last_group, substep, self.settings)
        for foot in feet:
            coming = scaled(foot.velocity, frames)
            aim = add(foot.wanted(), coming)
            foot.next = self._plan_footfall(
                substep, foot, substep.time, substep.time + frames, aim, coming
            )

    def _land(self, substep: Substep, foot: WalkingFoot, foreseen: Footfall) -> None:
        aim = foot.wanted()
        fall = self._plan_footfall(substep, foot, foreseen.lift, foreseen.land, aim, ORIGIN)
        foot.put(fall, aim, substep.grounds)

    def _land_early(self, substep: Substep, foot: WalkingFoot, foreseen: Footfall) -> None:
        """Land a foot at its current position within its step."""
        fraction = (substep.time - foreseen.lift) / (foreseen.land - foreseen.lift)
        aim = mix(foot.place, foot.wanted(), fraction)
        fall = self._plan_footfall(
            substep, foot, foreseen.lift, substep.time, aim, ORIGIN, fraction
        )
        foot.put(fall, aim, substep.grounds)

    def _step_at_once(self, substep: Substep, overdue: Sequence[WalkingFoot]) -> None:
        """Land the feet in the air, then lift the feet that are about to be out of reach."""
        for foot in self.feet:
            if foot.next is not None:
                self._land_early(substep, foot, foot.next)
        groups = sorted({foot.leg.group for foot in overdue})
        if len(groups) == 1:
            members = of_group(self.feet, groups[0])
            self._begin_step(substep, stepping_along(members, substep, self.settings))
            return
        # Groups must not step together. So each gets a part of the time until the next substep,
        # which may be shorter.
        interval = min(substep.passed, 1.0 / MOST) / len(groups)
        for turn, group in enumerate(groups):
            lift, land = substep.time + turn * interval, substep.time + (turn + 1) * interval
            for foot in of_group(overdue, group):
                aim = add(foot.wanted(), scaled(foot.velocity, land - substep.time))
                foot.put(
                    self._plan_footfall(substep, foot, lift, land, aim, ORIGIN),
                    aim,
                    substep.grounds,
                )
            self.last_group = group

    def _plan_footfall(
        self,
        substep: Substep,
        foot: WalkingFoot,
        lift: float,
        land: float,
        aim: Vec,
        coming: Vec,
        fraction: float = 1.0,
    ) -> Footfall:
        """Return the footfall for a desired foothold.

        Args:
            substep: The current substep.
            foot: The foot.
            lift: The time of toe-off.
            land: The time of landing.
            aim: The desired foothold, in world space.
            coming: How far the leg's root moves until landing.
            fraction: The completed fraction of a whole step.
        """
        leg, last = foot.leg, foot.falls[-1]
        lift = max(lift, last.land)  # Rounding may put the landing later.
        carry = carried(last.ground, substep.grounds, substep.whole)
        above = self.settings.ray_height * leg.reach
        root = point_in(carry, add(foot.root, coming))
        search = Search(
            substep.cast,
            substep.up,
            root,
            landing_reach(leg, self.settings),
            above,
            self.settings.climbs,
        )
        hit, has_ground = foothold_at(search, point_in(carry, aim))
        if not has_ground and self.settings.leans:
            below = sub(root, scaled(substep.up, SINK * leg.reach))
            foothold, has_ground = foothold_at(search._replace(root=below), point_in(carry, aim))
            hit = foothold if has_ground else hit
        arc = Arc(fraction * self.settings.step_height * leg.reach, 0.0, 0.0)
        if land > lift:
            start = place_of(last, substep.whole)
            rise = unit(add(normal_of(last, substep.whole), hit.normal)) or substep.up
            most, sole = HIGH * leg.reach, SOLE * leg.reach
            arc = arc_over(substep.cast, start, hit.place, rise, arc.height, most, sole)
        ahead = unit(across(substep.ahead, hit.normal)) or any_perpendicular(hit.normal)
        height, late, early = arc
        fall = Footfall(
            lift, land, hit.place, hit.normal, ahead, hit.ground, height, has_ground, late, early
        )
        return in_ground_space(fall, substep.whole)
