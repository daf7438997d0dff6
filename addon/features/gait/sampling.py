"""A simulated walk at a frame, and its feet's goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import NamedTuple
from weakref import ReferenceType, ref

import bpy

from fabrik_solver import WHOLE, Frame, bone_frame, head_in_parent, point_in
from fabrik_solver.core.vectors import (
    Mat3,
    Vec,
    add,
    cross,
    length,
    mat_apply,
    mat_from_columns,
    mat_product,
    mix,
    orthonormalize,
    quat_matrix,
    quat_of,
    scaled,
    slerp,
)
from fabrik_solver.motion.footfall import Footfall, Grounds, foot_at
from fabrik_solver.motion.foothold import within_reach
from fabrik_solver.motion.gait import RecordedWalk, WalkingLeg
from fabrik_solver.motion.packing import unpacked

from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...frame.chain import tip_of
from ...plan.chain_plan import Aim, ChainPlan, Snapshot
from ..simulation import history
from .gait_plan import GaitPlan, transposed
from .ground_anchor import GroundAnchor, read
from .settings import gait_settings


class WalkSample(NamedTuple):
    """A simulated walk at a frame.

    Attributes:
        record: The simulated walk.
        time: The frame, which may be fractional.
        influence: The influence of the walk.
        grounds: The frames of the grounds, in world space.
        legs: The legs, at world scale.
        bob: The largest height of the body's bob, in meters.
        note: A message to show.
    """

    record: RecordedWalk
    time: float
    influence: float
    grounds: Grounds
    legs: list[WalkingLeg]
    bob: float
    note: str


@lru_cache(maxsize=32)
def stored_walk(blob: bytes) -> tuple[RecordedWalk, list[str]] | None:
    """Unpack a simulated walk and the names of its grounds; None if it can't be read."""
    try:
        return unpacked(blob)
    except ValueError:
        return None


class WalkSampler:
    """Samples a simulated walk for its body and legs, once per snapshot."""

    def __init__(self, plan: GaitPlan) -> None:
        """Set the walk, which has no problem."""
        self.plan = plan
        self._at: ReferenceType[Snapshot] | None = None
        self._sampled: WalkSample | str = ""
        self._named: list[str] = []
        self._grounds: list[GroundAnchor | None] = []

    def sample(self, snapshot: Snapshot) -> WalkSample | str:
        """Return the walk in a snapshot, or else a status message (empty for a disabled walk).

        Raises:
            ProblemError: If the armature has zero scale.
        """
        if self._at is None or self._at() is not snapshot:
            self._sampled = self._sample(snapshot)
            self._at = ref(snapshot)
        return self._sampled

    @property
    def is_in_full(self) -> bool:
        """Whether the walk had full influence when last sampled."""
        return isinstance(self._sampled, WalkSample) and self._sampled.influence == 1.0

    def _sample(self, snapshot: Snapshot) -> WalkSample | str:
        plan, rig = self.plan, self.plan.rig
        gaits = gait_settings(snapshot.rigs[rig.uid]).gaits
        if plan.index >= len(gaits):  # A copy from before the walk was added.
            gaits = gait_settings(rig.object).gaits
        gait = gaits[plan.index]
        if not gait.enabled or gait.influence <= 0.0 or history.is_running(rig.object, plan.path):
            return ""
        simulated = history.data(rig.object, plan.path)
        if simulated is None:
            missing = msg("The steps of “{walk}” aren't simulated: press Simulate", walk=gait.name)
            return history.why_missing(rig.object, plan.path, missing)
        record = stored_walk(simulated.blob)
        outdated = msg("The simulation of “{walk}” is outdated: press Simulate", walk=gait.name)
        if record is None or len(record[0].falls) != len(plan.legs):
            return outdated
        if not isfinite(gait.influence + gait.body_bob):
            return msg(
                "Influence or Body Bob of “{walk}” is invalid: enter a valid number",
                walk=gait.name,
            )
        legs = plan.measured(snapshot.world(rig.object, rig.uid))
        note = history.note(simulated, snapshot.time)
        if not simulated.is_fresh:
            note = outdated
        return WalkSample(
            record[0],
            snapshot.time,
            min(gait.influence, 1.0),
            _ground_frames(snapshot, self._recalled(record[1])),
            legs,
            max(0.0, gait.body_bob) * min(leg.reach for leg in legs),
            note,
        )

    def _recalled(self, names: list[str]) -> list[GroundAnchor | None]:
        """Return the anchors of moving or deforming grounds, resolved once."""
        if names != self._named:
            self._named, self._grounds = names, read(names, self.plan.ground.objects)
        return self._grounds


def _ground_frames(snapshot: Snapshot, grounds: Sequence[GroundAnchor | None]) -> Grounds:
    frames: dict[int, Frame] = {}

    def at(ground: int) -> Frame:
        if ground not in frames:
            anchor = grounds[ground]
            frames[ground] = WHOLE if anchor is None else anchor.frame(snapshot)
        return frames[ground]

    return at


@dataclass(eq=False)
class WalkGoal:
    """The goal of a walking leg: its simulated foot, instead of its target.

    Attributes:
        sampler: The walk.
        leg: The index of the leg in the walk.
    """

    sampler: WalkSampler
    leg: int

    @property
    def is_known_ahead(self) -> bool:
        """False, because the goal can't be read before an evaluation."""
        return False

    def seen(self, depsgraph: bpy.types.Depsgraph) -> object | None:
        """Return None, because the goal can't be read ahead."""
        return None

    @property
    def replaces_target(self) -> bool:
        """Whether the foot is moved by the walk alone."""
        return self.sampler.is_in_full

    def goal(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the foot's goal, blended with its target.

        Raises:
            ProblemError: While the steps are being simulated.
        """
        if history.is_running(chain.rig.object, self.sampler.plan.path):
            raise ProblemError("The steps are being simulated")
        walked = self.sampler.sample(snapshot)
        if isinstance(walked, str):
            # The leg would stretch toward its target, which the body may have left far behind.
            return _carried(snapshot, chain, aim)._replace(note=walked) if walked else aim
        foot, swing = foot_at(walked.record.falls[self.leg], walked.time, walked.grounds)
        plan = self.sampler.plan
        world = snapshot.world(chain.rig.object, chain.rig.uid)
        height = length(mat_apply(world[0], plan.above_ground(plan.legs[self.leg])))
        goal_point = add(foot.place, scaled(foot.normal, height))
        if swing is not None:
            root = _root(snapshot, chain)
            goal_point = within_reach(goal_point, root, 0.999 * walked.legs[self.leg].reach)
        axes = aim.axes
        if axes is not None:
            axes = _blended(axes, self._foot_axes(foot), walked.influence)
        if walked.influence < 1.0:
            goal_point = mix(aim.place, goal_point, walked.influence)
        return Aim(goal_point, axes, walked.note or aim.note)

    def _foot_axes(self, foot: Footfall) -> Mat3:
        """Return the foot's rest axes in world space, aligned to the ground."""
        plan = self.sampler.plan
        rest = plan.legs[self.leg].axes
        right = cross(foot.ahead, foot.normal)
        ground = mat_from_columns(right, foot.ahead, foot.normal)
        turned = mat_product(ground, transposed(plan.axes))
        return turned if rest is None else mat_product(turned, rest)


def _carried(snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
    """Return the goal of a leg that moves with the body in its FK pose."""
    rig, bones = chain.rig, chain.bones
    world, pose = snapshot.world(rig.object, rig.uid), snapshot.poses[rig.uid]
    frame = WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent)
    for bone in bones:
        frame = bone_frame(rig.bone(bone), pose.posed_local(bone), frame)
    tip_world = point_in(world, point_in(frame, tip_of(chain, pose)))
    axes = aim.axes
    if axes is not None and chain.limb.foot < 0:
        axes = orthonormalize(mat_product(world[0], frame[0]))
    return Aim(tip_world, axes, aim.note)


def _blended(a: Mat3, b: Mat3, weight: float) -> Mat3:
    return b if weight >= 1.0 else quat_matrix(slerp(quat_of(a), quat_of(b), weight))


def _root(snapshot: Snapshot, chain: ChainPlan) -> Vec:
    """Return the position of a leg's root in world space."""
    rig, first = chain.rig, chain.bones[0]
    parent = WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent)
    local = snapshot.poses[rig.uid].posed_local(first)
    head = point_in(parent, head_in_parent(rig.bone(first), local))
    return point_in(snapshot.world(rig.object, rig.uid), head)
