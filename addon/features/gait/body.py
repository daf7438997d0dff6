"""The bones that a walk poses before its legs: the body, and the spine between the girdles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import atan

from fabrik_solver import (
    bone_frame,
    frame_in,
    inverse,
)
from fabrik_solver.core.vectors import (
    ORIGIN,
    mat_columns,
    mat_product,
    quat_about,
    quat_matrix,
    quat_product,
)
from fabrik_solver.motion.gait import bob_at, lean_at
from fabrik_solver.motion.stance import Lean, leaned

from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton
from ...frame.carried_foot import carried_feet
from ...plan.chain_plan import ChainPlan, Snapshot
from ...plan.pre_pass import BoneInput, PrePassBone
from ...plan.results import NOTHING, SolveResult
from .gait_plan import resolve_gaits
from .sampling import WalkGoal, WalkSample, WalkSampler


@dataclass(eq=False)
class WalkingBone(PrePassBone):
    """A bone that a walk poses.

    Attributes:
        sampler: The walk.
    """

    sampler: WalkSampler = field(kw_only=True)

    def __post_init__(self) -> None:
        """Mark the bone as time-dependent."""
        super().__post_init__()
        self.is_timed = True

    def groups(self) -> list[str]:
        """Return the path of the walk."""
        return [self.sampler.plan.path]

    def needs(self) -> list[Point]:
        """Return no points, because the bone needs only its parent."""
        return []

    def _walk_at(self, snapshot: Snapshot) -> WalkSample | None:
        """Return the walk; None if it or all its legs are disabled."""
        pose = snapshot.poses[self.rig.uid]
        if not any(pose.settings[leg.item].enabled for leg in self.chains):
            return None
        walk = self.sampler.sample(snapshot)
        return None if isinstance(walk, str) else walk


@dataclass(eq=False)
class WalkingBody(WalkingBone):
    """Lifts and tilts the body of a walk above its feet."""

    def __post_init__(self) -> None:
        """Add the location channel, if the bone has one."""
        super().__post_init__()
        if self.bone not in self.rig.connected or self.root_parent < 0:
            self.more = [self.rig.slot(LOCATION, self.bone)]

    def read(self, snapshot: Snapshot) -> BoneInput | None:
        """Return the body's lean; None if the walk is disabled."""
        walk = self._walk_at(snapshot)
        if walk is None:
            return None
        lean = lean_at(walk.record, walk.time)
        raised = bob_at(walk.record, self.sampler.plan.groups, walk.time)
        lean = Lean(*(walk.influence * part for part in lean))
        return self.inputs(snapshot, (lean, walk.influence * walk.bob * raised))

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the bone's rotation and location."""
        assert isinstance(inputs, BoneInput)
        rig, bone = self.rig, self.rig.bone(self.bone)
        local = snapshot.poses[rig.uid].posed_local(self.bone)
        frame = bone_frame(bone, local, inputs.parent)
        body = self.sampler.plan.body_frame(inputs.world, frame)
        try:
            moved = frame_in(leaned(body, *inputs.wanted), inverse(body))
            undone = rig.from_world(inputs.world)
        except ValueError:
            raise self.zero_scale_problem() from None
        axes, head = frame_in(undone, frame_in(moved, frame_in(inputs.world, frame)))
        rotation = self.rotation_to(axes, inputs.parent, local)
        placed = {self.bone: self.location_to(head, inputs.parent)} if self.more else NOTHING
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, placed)


@dataclass(eq=False)
class WalkingSpine(WalkingBone):
    """Rotates a bone between two girdles by its fraction of their twist and bend.

    Attributes:
        span: Where the bone's head and tail are, as fractions of the spine's length.
    """

    span: tuple[float, float] = field(kw_only=True)

    def read(self, snapshot: Snapshot) -> BoneInput | None:
        """Return the rotation of the bone; None if the walk is disabled."""
        walk = self._walk_at(snapshot)
        if walk is None:
            return None
        lean = lean_at(walk.record, walk.time)
        roll_head, roll_tail = (atan(lean.right_at(spine_share)) for spine_share in self.span)
        pitch_head, pitch_tail = (atan(lean.ahead_at(spine_share)) for spine_share in self.span)
        body = snapshot.frame(self.rig, self.sampler.plan.body)
        roll, pitch = roll_head - roll_tail, pitch_tail - pitch_head
        return self.inputs(snapshot, (body, walk.influence * roll, walk.influence * pitch))

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the bone's rotation."""
        assert isinstance(inputs, BoneInput)
        rig, bone = self.rig, self.rig.bone(self.bone)
        local = snapshot.poses[rig.uid].posed_local(self.bone)
        bone_in_armature, roll, pitch = inputs.wanted
        body, _ = self.sampler.plan.body_frame(inputs.world, bone_in_armature)
        right, ahead, _ = mat_columns(body)
        axes, _ = frame_in(inputs.world, bone_frame(bone, local, inputs.parent))
        turn = quat_product(quat_about(right, pitch), quat_about(ahead, roll))
        turned = mat_product(quat_matrix(turn), axes)
        try:
            axes, _ = frame_in(rig.from_world(inputs.world), (turned, ORIGIN))
        except ValueError:
            raise self.zero_scale_problem() from None
        rotation = self.rotation_to(axes, inputs.parent, local)
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, NOTHING)


def bodies_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[PrePassBone]:
    """Yield the bones that an armature's walks pose; set the goals of their legs."""
    for plan in resolve_gaits(rig, chains):
        if plan.problem:
            continue
        sampler = WalkSampler(plan)
        for number, leg in enumerate(plan.legs):
            leg.chain.goal_source = WalkGoal(sampler, number)
            leg.chain.is_timed = True
            leg.chain.watched += plan.ground.objects
        yield from carried_feet(rig, [leg.chain for leg in plan.legs])
        if plan.leans:
            legs = [leg.chain for leg in plan.legs]
            yield WalkingBody(rig, plan.body, legs, sampler=sampler)
            head_share = 0.0
            for bone, tail_share in plan.spine.items():
                yield WalkingSpine(rig, bone, legs, sampler=sampler, span=(head_share, tail_share))
                head_share = tail_share
