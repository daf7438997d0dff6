"""The body above feet on the ground: it is lifted and pitched until all feet reach the ground."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import ClassVar, NamedTuple, TypeVar

from fabrik_solver import bone_frame, moved_location, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Vec,
    add,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    quat_matrix,
    scaled,
    sub,
)
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion.columns import LOOKED, Column, SmoothColumn, between
from fabrik_solver.motion.contacts import mean
from fabrik_solver.motion.ground import CarriedLeg, Pose, hip_lift, pitched
from fabrik_solver.motion.smoothest import Wish

from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.relations import node_at, parents, walk_dependencies
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton
from ...body.looking import body_of
from ...frame.chain import aim_of
from ...plan.chain_plan import Aim, ChainPlan, Snapshot, refuse_connected
from ...plan.pre_pass import BoneInput, PrePassBone
from ...plan.resolving import bone_index
from ...plan.results import NOTHING, SolveResult
from ...settings.properties import settings
from ..simulation.history import owner_path
from .goal import GroundGoal, joints_of, leg_length
from .settings import FabrikGround, ground_settings
from .stances import Stances

Value = TypeVar("Value")

ALONE = msg(
    "Legs that use On the Ground have no common parent, so the body doesn't move: parent them to "
    "one bone, or disable Move Hip"
)


@dataclass(eq=False)
class Hip(PrePassBone):
    """A bone that moves to let all feet reach the ground.

    Its path is kept until the footholds change.
    """

    is_known_ahead: ClassVar[bool] = True
    lifts_body: ClassVar[bool] = True

    _now: tuple[weakref.ref[Snapshot], HipPath] | None = None
    _path: HipPath | None = None

    @property
    def ends(self) -> list[list[ChainPlan]]:
        """The working legs at each end of the trunk."""
        return _ends(self.rig, [leg for leg in self.chains if not leg.problem])

    def groups(self) -> list[str]:
        """Return the paths of the ground settings of the hip's legs."""
        return [owner_path(leg.item, "ground") for leg in self.chains]

    def needs(self) -> list[Point]:
        """Return the targets of the hip's legs."""
        return [point for leg in self.chains if (point := leg.aimed_at()) is not None]

    def read(self, snapshot: Snapshot) -> BoneInput | None:
        """Return how the hip moves; None if it doesn't move."""
        aims = {leg: self._aim(snapshot, leg) for leg in self.chains if not leg.problem}
        working = [leg for leg, aim in aims.items() if aim is not None]
        if not working:
            return None
        stances = {leg: _ground_goal(leg).stances(snapshot, leg) for leg in working}
        known_stances = {leg: feet for leg, feet in stances.items() if feet is not None}
        if len(known_stances) == len(working):
            move = self._foreseen(snapshot, known_stances)
        else:
            self._now = None
            move = self._unforeseen(snapshot, aims, stances[working[0]])
        if move.place == ORIGIN and move.turn == QUAT_IDENTITY:
            return None
        return self.inputs(snapshot, move)

    def _foreseen(self, snapshot: Snapshot, stances: Mapping[ChainPlan, Stances]) -> Pose:
        """Return the movement of the hip if the feet are known ahead."""
        leg, feet = next(iter(stances.items()))
        options = ground_settings(snapshot.item(leg))
        limits = HipLimits(feet.probe.up, options.hip_follow, options.hip_reach)
        path = self._path
        if path is None or not path.is_of(limits, stances):
            ends = _ends(self.rig, [*stances])
            path = self._path = HipPath(limits, ends, stances)
        self._now = weakref.ref(snapshot), path
        return path[snapshot.time]

    def _unforeseen(
        self, snapshot: Snapshot, aims: Mapping[ChainPlan, Aim | None], stances: Stances | None
    ) -> Pose:
        """Return the movement of the hip for the ground that is below the feet at this moment."""
        working = {leg: aim for leg, aim in aims.items() if aim is not None}
        first = next(iter(working))
        options = ground_settings(snapshot.item(first))
        probe = stances.probe if stances else _ground_goal(first).probe(snapshot, first, options)
        free = _free([*working], [*working], snapshot.time)
        legs = [self._leg(snapshot, leg, working[leg]) for leg in free]
        if not legs:
            return Pose(ORIGIN)
        lift = min(hip_lift(legs, probe.up, options.hip_reach, options.hip_follow))
        return Pose(scaled(probe.up, lift))

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the location and rotation of the hip.

        Raises:
            ProblemError: If the armature has zero scale.
        """
        assert isinstance(inputs, BoneInput)
        pose, bone, move = snapshot.poses[self.rig.uid], self.rig.bone(self.bone), inputs.wanted
        local = pose.posed_local(self.bone)
        undone = self.rig.from_world(inputs.world)
        axes, head = bone_frame(bone, local, inputs.parent)
        shift = mat_apply(undone[0], move.moved(point_in(inputs.world, head)))
        location = moved_location(bone, local.location, inputs.parent[0], shift)
        rotation = local.rotation
        if move.turn != QUAT_IDENTITY:
            turn = mat_product(mat_product(undone[0], quat_matrix(move.turn)), inputs.world[0])
            rotation = self.rotation_to(mat_product(turn, axes), inputs.parent, local)
        locations = {self.bone: location}
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, locations, move)

    def ahead(
        self, snapshot: Snapshot, foot: Stances
    ) -> tuple[object, Callable[[int], Vec]] | None:
        """Return how a leg's hip joint is displaced: the inputs, and a function of the frame.

        None if the feet aren't known ahead.
        """
        if self._now is None or self._now[0]() is not snapshot:
            return None
        path = self._now[1]
        return path, partial(path.shift_of, foot)

    def _aim(self, snapshot: Snapshot, leg: ChainPlan) -> Aim | None:
        """Return the goal of a leg; None if it is disabled or not finite, which its chain reports.

        The ground moves the body for legs in IK and in FK, so switching a leg makes nothing jump.
        """
        if not snapshot.poses[self.rig.uid].settings[leg.item].enabled:
            return None
        aim = aim_of(snapshot, leg)
        return aim if isfinite(sum(aim.place)) else None

    def _leg(self, snapshot: Snapshot, chain: ChainPlan, animated_aim: Aim) -> CarriedLeg:
        joints = joints_of(snapshot, chain)
        foothold = _ground_goal(chain).foothold(snapshot, chain, animated_aim)
        target, goal = animated_aim.place, foothold.base
        size = leg_length(joints, chain)
        if chain.limb.is_hand_at_tail:
            # The foot copies the target's rotation, so the leg has to reach the foot's head.
            foot = length(sub(joints[-1], joints[-2]))
            target = _heel(target, animated_aim.axes, foot)
            goal = _heel(goal, foothold.aim.axes, foot)
        return CarriedLeg(joints[0], target, goal, size, foothold.rise)


class HipLimits(NamedTuple):
    """The settings of a hip.

    Attributes:
        up: Unit vector along which it is lifted.
        follow: The fraction of the ground's rise that it follows.
        reach: The maximum extension of a leg, as a fraction of its length.
    """

    up: Vec
    follow: float
    reach: float


class HipPath(Column[float, Pose]):
    """A body's movement at any time, if all of its feet are known ahead.

    The body follows its locked feet. The standing legs at each end of the trunk lift and pitch it.
    """

    def __init__(
        self,
        limits: HipLimits,
        ends: Sequence[Sequence[ChainPlan]],
        stances: Mapping[ChainPlan, Stances],
    ) -> None:
        """Take the settings, the legs at each end of the trunk, and the feet of all legs."""
        super().__init__(self._moved)
        self._limits, self._stances = limits, stances
        self._chains, self._feet = list(stances), list(stances.values())
        rate = self._feet[0].clip.contact_track.track.rate
        self._ends = [list(end) for end in ends]
        self._lifts = [
            SmoothColumn(partial(self._ask, end), rate, shape.CALM, LOOKED) for end in self._ends
        ]
        self._stride = self._lifts[0].stride
        self._near = self._stride * max(2, round(2.0 * shape.CALM / LOOKED))
        self._follows: Column[int, Vec | None] = Column(self._follow)

    def is_of(self, limits: HipLimits, stances: Mapping[ChainPlan, Stances]) -> bool:
        """Return whether this is the path of these feet."""
        return self._limits == limits and self._stances == stances

    def shift_of(self, foot: Stances, frame: int) -> Vec:
        """Return how far a leg's hip joint moves at a frame, whether or not the foot stands."""
        return self[frame].moved(foot.carried[frame - foot.start].root)

    def _moved(self, time: float) -> Pose:
        """Return the body's movement at a time."""
        lifts = [lift.at(time) for lift in self._lifts]
        jolt = _jolt(_free(self._chains, self._feet, time), time)
        aside = add(self._followed(time), jolt)
        if len(lifts) == 1:
            return Pose(add(aside, scaled(self._limits.up, lifts[0])))
        hind, front = (self._middle(end, time) for end in self._ends)
        move = pitched((hind, front), (lifts[0], lifts[1]), self._limits.up)
        return move._replace(place=add(aside, move.place))

    def _middle(self, end: Sequence[ChainPlan], time: float) -> Vec:
        """Return the mean of some legs' animated hip joints."""
        return mean(
            [foot.root_at(time - foot.start) for foot in map(self._stances.__getitem__, end)]
        )

    def _ask(self, end: Sequence[ChainPlan], frame: int) -> Wish:
        """Return how far the legs at one end want to lift the body, and how far they can.

        The standing legs decide, or all of them if none stands.
        """
        follow, here = self._followed(frame), [self._stances[chain] for chain in end]
        free = _free(end, here, frame) or _free(self._chains, self._feet, frame)
        if not free:
            return Wish()
        legs = [foot.carried[frame - foot.start] for foot in free]
        legs = [leg._replace(goal=sub(leg.goal, follow)) for leg in legs]
        limits = self._limits
        wanted, highest = hip_lift(legs, limits.up, limits.reach, limits.follow)
        return Wish(min(wanted, highest), high=highest)

    def _followed(self, time: float) -> Vec:
        """Return how far the body moves with its feet around a time."""
        return shape.smoothed(self._follows.__getitem__, time, self._near, self._stride)

    def _follow(self, frame: int) -> Vec | None:
        """Return how far the body would move with locked feet; None at a cut."""
        if _is_cut(self._feet, frame):
            return None
        free = _free(self._chains, self._feet, frame)
        return shape.follow_locks([foot.carried[frame - foot.start] for foot in free])


def hips_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[Hip]:
    """Yield the hips of an armature's legs; a hip's problem is reported by its legs."""
    hips: dict[int, Hip] = {}
    legs = _legs_with_hips(rig, chains)
    common, reason = _common_parent(rig, [leg for leg, ground in legs.items() if not ground.hip])
    for leg, ground in legs.items():
        try:
            bone = _hip_bone(rig, leg, ground) if ground.hip else common
        except ProblemError as problem:
            leg.problem = str(problem)
            continue
        if bone < 0:
            _ground_goal(leg).hip_note = reason
            continue
        if bone not in hips:
            hips[bone] = Hip(rig, bone, [], [rig.slot(LOCATION, bone)], is_timed=True)
        hips[bone].chains.append(leg)
        _ground_goal(leg).hip = hips[bone]
    yield from hips.values()


def _legs_with_hips(rig: Skeleton, chains: Sequence[ChainPlan]) -> dict[ChainPlan, FabrikGround]:
    """Return the working legs for which a hip moves, with their settings."""
    feet = [leg for leg in chains if isinstance(leg.goal_source, GroundGoal) and not leg.problem]
    grounds = {leg: ground_settings(settings(rig.object).constraints[leg.item]) for leg in feet}
    return {leg: ground for leg, ground in grounds.items() if ground.use_hip}


def _common_parent(rig: Skeleton, legs: Sequence[ChainPlan]) -> tuple[int, str]:
    """Return the lowest movable bone that carries all legs.

    -1 and the reason if no bone can move for them; -1 and no reason for fewer than two legs.
    """
    if len(legs) < 2:
        return -1, ""
    reasons: list[str] = []
    names = [rig.names[leg.bones[0]] for leg in legs]
    for bone in map(rig.index.__getitem__, body_of(rig.object, names[0]).carriers_of(names)[::-1]):
        try:
            for leg in legs:
                _refuse_unmovable(rig, leg, bone)
        except ProblemError as problem:
            reasons.append(str(problem))
            continue
        return bone, ""
    return -1, reasons[0] if reasons else ALONE


def _hip_bone(rig: Skeleton, chain: ChainPlan, ground: FabrikGround) -> int:
    """Return the bone that is a leg's hip.

    Raises:
        ProblemError: If the chosen bone can't be the hip.
    """
    bone = bone_index(rig, ground, "hip")
    name = rig.names[bone]
    if bone in chain.bones or bone not in rig.chain_up(chain.bones[0]):
        raise ProblemError(
            "“{name}” isn't a parent of the leg: choose a parent of “{bones}”, or decrease Chain "
            "Length",
            name=name,
            bones=rig.names[chain.bones[0]],
        )
    _refuse_unmovable(rig, chain, bone)
    return bone


def _refuse_unmovable(rig: Skeleton, chain: ChainPlan, bone: int) -> None:
    """Reject a hip that can't move for a leg.

    Raises:
        ProblemError: If the hip can't move; the message says why.
    """
    refuse_connected(rig, bone, msg("choose another hip"))
    target = chain.target
    if target is not None and (rig.object, bone) in walk_dependencies([node_at(target)], parents):
        raise ProblemError(
            "Dependency cycle: the target depends on the hip “{name}”, which moves with the "
            "target. Parent the target to something else, or choose another hip",
            name=rig.names[bone],
        )


def _ends(rig: Skeleton, legs: Sequence[ChainPlan]) -> list[list[ChainPlan]]:
    """Return the legs at each end of the trunk: an animal's hind and fore legs, else one list.

    Two legs are at the same end if their lowest bone shared with another leg is the same.
    """
    lines = {leg: rig.chain_up(leg.bones[0])[:-1] for leg in legs}
    carried = Counter(bone for line in lines.values() for bone in line)
    girdles: dict[int, list[ChainPlan]] = {}
    for leg, line in lines.items():
        girdle = max([depth for depth, bone in enumerate(line) if carried[bone] > 1], default=-1)
        girdles.setdefault(girdle, []).append(leg)
    depths = sorted(girdles)
    hind = [leg for depth in depths[:-1] for leg in girdles[depth]]
    return [end for end in (hind, girdles[depths[-1]]) if end]


def _free(chains: Sequence[ChainPlan], feet: Sequence[Value], time: float) -> list[Value]:
    """Return the values of legs whose feet aren't held; the ground doesn't affect held feet.

    Args:
        chains: The legs.
        feet: A value for each leg.
        time: The frame.
    """
    pairs = zip(chains, feet, strict=True)
    return [foot for chain, foot in pairs if not chain.is_held_at(time)]


def _is_cut(feet: Sequence[Stances], time: float) -> bool:
    return any([foot.is_cut(time - foot.start) for foot in feet])


def _jolt(feet: Sequence[Stances], time: float) -> Vec:
    """Return how far the hip moves with locked feet where a whole capture jumps.

    Otherwise the knees would have to absorb the jump.
    """
    if not feet or _is_cut(feet, time):
        return ORIGIN
    return between(
        lambda frame: shape.shared_jolt([foot.jumps[frame - foot.start] for foot in feet]), time
    )


def _ground_goal(chain: ChainPlan) -> GroundGoal:
    assert isinstance(chain.goal_source, GroundGoal)
    return chain.goal_source


def _heel(tip: Vec, axes: Mat3 | None, size: float) -> Vec:
    """Return the head of a foot from its tip; the tip itself if the foot isn't oriented."""
    return tip if axes is None else sub(tip, scaled(mat_columns(axes)[1], size))
