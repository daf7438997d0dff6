"""The hip over feet on the ground: it rises with them, and is lowered until all of them reach."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isfinite
from typing import ClassVar, NamedTuple, TypeVar

from fabrik_solver import WHOLE, Frame, moved_location
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    length,
    mat_apply,
    mat_columns,
    mix,
    scaled,
    sub,
)
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion.ground import LIFTED, SUNK, CarriedLeg, hip_drop, hip_lift, hip_rise

from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.relations import node_at, parents, walk_dependencies
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton
from ...frame.chain import aim_of
from ...plan.chain_plan import Aim, ChainPlan, Snapshot, refuse_connected
from ...plan.pre_pass import PrePassBone
from ...plan.resolving import bone_index
from ...plan.results import NOTHING, SolveResult
from ...settings.properties import settings
from ..simulation.history import owner_path
from .goal import GroundGoal
from .leg import joints_of, leg_length
from .settings import FabrikGround, ground_settings
from .stances import Stances

Value = TypeVar("Value")

SEEN_UP = 0.4
"""How long before and after a frame the hip heeds how high it can be, in seconds."""

SEEN_DOWN = 0.3
"""The same for how it gets there without falling."""

EASE = 0.12
"""The same for the mean of that."""

FOLLOW = 9.0 / 60.0
"""How long before and after a frame the locks count that the hip follows, in seconds."""

ALONE = msg(
    "No bone carries all legs on the ground, so the body doesn't move: parent them to one bone, "
    "or disable Move Hip"
)

LOOKED = 1.0 / 60.0
"""The time between the frames that it looks at, in seconds."""


class HipInput(NamedTuple):
    """All that the location of a hip depends on, exactly.

    Attributes:
        channels: The results of `FkPose.bits_of` and, for a layer, `SolvedPose.beneath`.
        parent: The frame of its parent, in armature space.
        world: The transform of the armature in world space.
        shift: Its translation, in world space.
    """

    channels: tuple[object, ...]
    parent: Frame
    world: Frame
    shift: Vec


@dataclass(eq=False)
class Hip(PrePassBone):
    """A bone that is moved so that all feet reach.

    What it needs at other frames is kept as long as the footholds stay the same.
    """

    is_known_ahead: ClassVar[bool] = True
    lifts_body: ClassVar[bool] = True

    _now: tuple[weakref.ref[Snapshot], list[ChainPlan], list[Stances], Vec] | None = None
    _made_for: object = None
    _key: object = None
    _highest: dict[int, float] = field(default_factory=dict)
    _bent_up: dict[int, float] = field(default_factory=dict)
    _lifts: dict[int, float] = field(default_factory=dict)
    _over: dict[int, float] = field(default_factory=dict)
    _peaks: dict[int, float] = field(default_factory=dict)
    _follows: dict[int, Vec] = field(default_factory=dict)
    _foreseen_at: dict[float, tuple[float, Vec]] = field(default_factory=dict)

    def groups(self) -> list[str]:
        """Return the paths of the settings that let its legs stand."""
        return [owner_path(leg.item, "ground") for leg in self.chains]

    def needs(self) -> list[Point]:
        """Return the targets of its legs."""
        return [point for leg in self.chains if (point := leg.aimed_at()) is not None]

    def read(self, snapshot: Snapshot) -> HipInput | None:
        """Return its translation, None if it stays."""
        pose = snapshot.poses[self.rig.uid]
        aims = {leg: self._aim(snapshot, leg) for leg in self.chains if not leg.problem}
        working = [leg for leg, aim in aims.items() if aim is not None]
        if not working:
            return None
        first = ground_settings(snapshot.item(working[0]))
        stances = [_ground_goal(chain).stances(snapshot, chain) for chain in working]
        known = [stance for stance in stances if stance is not None]
        goal = _ground_goal(working[0])
        probe = stances[0].probe if stances[0] else goal.probe(snapshot, working[0], first)
        up = probe.up
        if len(known) == len(working):
            self._now = weakref.ref(snapshot), working, known, up
            lift, follow = self._foreseen(snapshot, snapshot.time, working, known, up)
            shift = add(follow, _jolt(_free(working, known, snapshot.time), snapshot.time))
        else:
            self._now = None
            free = _free(working, working, snapshot.time)
            legs = [
                self._leg(snapshot, leg, aim) for leg, aim in aims.items() if leg in free and aim
            ]
            if not legs:
                return None
            rise = hip_rise(legs, first.hip_follow)
            lift, shift = rise - hip_drop(legs, up, first.hip_reach, rise), ORIGIN
        shift = add(shift, scaled(up, lift))
        if shift == ORIGIN:
            return None
        beneath = pose.beneath(self.bones) if self.is_layered else None
        return HipInput(
            (*pose.fk_bits(self.ranges), beneath),
            WHOLE if self.root_parent < 0 else snapshot.frame(self.rig, self.root_parent),
            snapshot.world(self.rig.object, self.rig.uid),
            shift,
        )

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return its location.

        Raises:
            ProblemError: If the armature has zero scale.
        """
        assert isinstance(inputs, HipInput)
        pose, bone = snapshot.poses[self.rig.uid], self.rig.bone(self.bone)
        shift = mat_apply(self.rig.from_world(inputs.world)[0], inputs.shift)
        local = pose.posed_local(self.bone)
        location = moved_location(bone, local.location, inputs.parent[0], shift)
        locations = {self.bone: location}
        rotation = local.rotation
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, locations, inputs.shift)

    def ahead(self, snapshot: Snapshot) -> tuple[object, Callable[[int], Vec]] | None:
        """Return how far it is moved at any frame, and what that depends on.

        None if its feet are not known ahead.
        """
        if self._now is None or self._now[0]() is not snapshot:
            return None
        _, chains, stances, up = self._now

        def moved(frame: int) -> Vec:
            lift, follow = self._foreseen(snapshot, frame, chains, stances, up)
            jolt = _jolt(_free(chains, stances, frame), frame)
            return add(add(follow, jolt), scaled(up, lift))

        return self._made_for, moved

    def _foreseen(
        self,
        snapshot: Snapshot,
        time: float,
        chains: Sequence[ChainPlan],
        stances: Sequence[Stances],
        up: Vec,
    ) -> tuple[float, Vec]:
        """Return how far it is lifted at a time, seen from before and after, and moves with feet.

        It is as high above the ground below them as in the animation, or as high as the legs reach,
        and accelerates no more than a body does.
        """
        first = ground_settings(snapshot.item(chains[0]))
        track = stances[0].clip.contact_track.track
        fixed = (up, first.hip_follow, first.hip_reach, first.blend)
        is_same = self._made_for == (fixed, stances)
        if is_same and time in self._foreseen_at:
            return self._foreseen_at[time]
        stride = max(1, round(track.rate * LOOKED))
        ease, down, high = (
            stride * max(2, round(span * track.rate / stride))
            for span in (EASE, SEEN_DOWN, SEEN_UP)
        )
        near = stride * max(2, round(FOLLOW / LOOKED))
        # The same frames whatever the time is.
        middle = range(stride * ceil((time - ease) / stride), floor(time + ease) + 1, stride)
        over = _wider(middle, ease + stride)
        upper = _wider(over, ease)
        lower = _wider(upper, down)
        looked = _wider(lower, high)
        if not is_same:
            clips = [stance.clip for stance in stances]
            around = _wider(looked, near)
            key = fixed, clips, [stance.between(around) for stance in stances]
            is_near = key == self._key  # The ground has changed elsewhere only.
            self._highest = _within(self._highest, looked if is_near else range(0))
            self._bent_up = _within(self._bent_up, lower if is_near else range(0))
            self._lifts = _within(self._lifts, upper if is_near else range(0))
            self._over = _within(self._over, over if is_near else range(0))
            self._peaks = _within(self._peaks, middle if is_near else range(0))
            self._follows = _within(self._follows, around if is_near else range(0))
            self._foreseen_at = {}
            self._made_for, self._key = (fixed, stances), key
        for frame in _wider(looked, near):
            if frame not in self._follows and not _is_cut(stances, frame):
                free = _free(chains, stances, frame)
                self._follows[frame] = shape.follow_locks([one.locked_leg(frame) for one in free])
        for frame in looked:
            if frame not in self._highest:
                follow = shape.smoothed(self._follows, frame, near, stride)
                legs = [_leg_at(one, frame, follow) for one in _free(chains, stances, frame)]
                self._highest[frame] = (
                    hip_lift(legs, up, first.hip_reach, first.hip_follow) if legs else 0.0
                )
        unit = track.leg / (track.rate * track.rate)
        shape.bent_up(self._highest, self._bent_up, lower, LIFTED * unit, high)
        shape.bent_down(self._bent_up, self._lifts, upper, SUNK * unit, down)
        for frame in over:
            if frame not in self._over:
                mean = shape.averaged(self._lifts, frame, ease, stride)
                self._over[frame] = max(0.0, mean - self._highest[frame])
        shape.peaks(self._over, self._peaks, middle, ease + stride)
        lift = shape.averaged(self._lifts, time, ease, stride)
        lift -= shape.averaged(self._peaks, time, ease, stride)
        lifts = self._foreseen_at[time] = lift, shape.smoothed(self._follows, time, near, stride)
        return lifts

    def _aim(self, snapshot: Snapshot, leg: ChainPlan) -> Aim | None:
        """Return the goal of a leg; None if it is disabled, or not finite, as its chain reports.

        The body is where the ground has it whether a leg is in IK or FK, so that nothing moves at
        the frame at which one is switched.
        """
        if not snapshot.poses[self.rig.uid].settings[leg.item].enabled:
            return None
        aim = aim_of(snapshot, leg)
        return aim if isfinite(sum(aim.place)) else None

    def _leg(self, snapshot: Snapshot, chain: ChainPlan, given: Aim) -> CarriedLeg:
        joints = joints_of(snapshot, chain)
        foothold = _ground_goal(chain).foothold(snapshot, chain, given)
        target, goal = given.place, foothold.base
        size = leg_length(joints, chain)
        if chain.tip_bone < 0 and chain.has_hand:
            # The foot copies its target's rotation, so its head has to come within reach.
            foot = length(sub(joints[-1], joints[-2]))
            target = _heel(target, given.axes, foot)
            goal = _heel(goal, foothold.aim.axes, foot)
        return CarriedLeg(joints[0], target, goal, size, foothold.rise)


def hips_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[Hip]:
    """Yield the hips of an armature's legs; a problem of a hip is reported by its legs."""
    hips: dict[int, Hip] = {}
    common, reason = _common_parent(rig, chains)
    for chain in chains:
        if chain.problem or not isinstance(chain.goal_source, GroundGoal):
            continue
        given = ground_settings(settings(rig.object).constraints[chain.item])
        if not given.use_hip:
            continue
        bone = common
        if given.hip:
            try:
                bone = _hip_bone(rig, chain, given)
            except ProblemError as problem:
                chain.problem = str(problem)
                continue
        if bone < 0:
            chain.goal_source.hip_note = reason
            continue
        if bone not in hips:
            hips[bone] = Hip(rig, bone, [], [rig.slot(LOCATION, bone)], is_timed=True)
        hips[bone].chains.append(chain)
        chain.goal_source.hip = hips[bone]
    yield from hips.values()


def _common_parent(rig: Skeleton, chains: Sequence[ChainPlan]) -> tuple[int, str]:
    """Return the lowest movable bone that moves the body of the legs whose hip is not set.

    -1 with the reason if none can be moved for them, without one if there are no two of them.
    """
    legs: list[ChainPlan] = []
    for chain in chains:
        if not isinstance(chain.goal_source, GroundGoal) or chain.problem:
            continue
        given = ground_settings(settings(rig.object).constraints[chain.item])
        if given.use_hip and not given.hip:
            legs.append(chain)
    if len(legs) < 2:
        return -1, ""
    reasons: list[str] = []
    for bone in reversed(rig.trunk_above([leg.bones[0] for leg in legs])):
        try:
            for leg in legs:
                _refuse_unmovable(rig, leg, bone)
        except ProblemError as problem:
            reasons.append(str(problem))
            continue
        return bone, ""
    return -1, reasons[0] if reasons else ALONE


def _hip_bone(rig: Skeleton, chain: ChainPlan, given: FabrikGround) -> int:
    """Return the bone that is the hip of a leg.

    Raises:
        ProblemError: If it cannot be the hip.
    """
    bone = bone_index(rig, given, "hip")
    name = rig.names[bone]
    if bone in chain.bones or bone not in rig.chain_up(chain.bones[0]):
        raise ProblemError(
            "“{name}” isn't a parent of the leg: choose a bone that carries “{bones}”, or "
            "decrease Chain Length",
            name=name,
            bones=rig.names[chain.bones[0]],
        )
    _refuse_unmovable(rig, chain, bone)
    return bone


def _refuse_unmovable(rig: Skeleton, chain: ChainPlan, bone: int) -> None:
    """Refuse a hip that cannot be moved for a leg.

    Raises:
        ProblemError: With the reason.
    """
    refuse_connected(rig, bone, msg("choose another hip"))
    target = chain.target
    if target is not None and (rig.object, bone) in walk_dependencies([node_at(target)], parents):
        raise ProblemError(
            "Dependency cycle: the target depends on the hip “{name}”, which moves for it. "
            "Parent the target to something else, or choose another hip",
            name=rig.names[bone],
        )


def _within(values: dict[int, Value], frames: range) -> dict[int, Value]:
    return {frame: value for frame, value in values.items() if frame in frames}


def _free(chains: Sequence[ChainPlan], feet: Sequence[Value], time: float) -> list[Value]:
    """Return what belongs to legs whose feet nothing holds: the ground is nothing to the others."""
    pairs = zip(chains, feet, strict=True)
    return [foot for chain, foot in pairs if not chain.is_held_at(time)]


def _is_cut(feet: Sequence[Stances], time: float) -> bool:
    return any([foot.is_cut(time) for foot in feet])


def _wider(frames: range, more: int) -> range:
    return range(frames[0] - more, frames[-1] + more + 1, frames.step)


def _leg_at(stances: Stances, frame: int, follow: Vec) -> CarriedLeg:
    """Return a leg at another frame, on a hip that has moved with the locked feet.

    Beyond a cut, or the end of the clip, it is as before it.
    """
    clip = stances.clip
    local = min(max(frame - clip.contact_track.track.start, clip.first), clip.last)
    time = local + clip.contact_track.track.start
    seen = stances.foreseen(time)
    goal = add(seen.goal, scaled(stances.probe.up, stances.arc(time)))
    stands = clip.planted.around(local)[1]
    return CarriedLeg(
        seen.root, seen.target, sub(goal, follow), clip.contact_track.track.leg, seen.rise, stands
    )


def _jolt(feet: Sequence[Stances], time: float) -> Vec:
    """Return how far the hip moves with the feet that are locked, where a capture jumps as a whole.

    Else the knees would take all of what the lock keeps from the ankles.
    """
    if not feet or _is_cut(feet, time):
        return ORIGIN
    frame = floor(time)
    here = shape.shared_jolt([foot.jumps(frame) for foot in feet])
    if time == frame:
        return here
    return mix(here, shape.shared_jolt([foot.jumps(frame + 1) for foot in feet]), time - frame)


def _ground_goal(chain: ChainPlan) -> GroundGoal:
    assert isinstance(chain.goal_source, GroundGoal)
    return chain.goal_source


def _heel(tip: Vec, axes: Mat3 | None, size: float) -> Vec:
    """Return the head of a foot, given its tip."""
    return tip if axes is None else sub(tip, scaled(mat_columns(axes)[1], size))
