"""What a walk does at a frame: where its feet are wanted, and how its body stands on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import atan, isfinite
from typing import NamedTuple
from weakref import ReferenceType, ref

from ...blender.errors import ProblemError
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton
from ...core import (
    WHOLE,
    Frame,
    bone_frame,
    facing,
    frame_in,
    head_in_parent,
    inherited_axes,
    inverse,
    point_in,
)
from ...core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    cross,
    inverse_apply,
    length,
    mat_apply,
    mat_columns,
    mat_from_columns,
    mat_product,
    mix,
    quat_about,
    quat_compatible,
    quat_matrix,
    quat_of,
    scaled,
    slerp,
    sub,
)
from ...loop.chain_plan import Aim, ChainPlan, Snapshot
from ...loop.pre_pass import PrePassBone
from ...loop.results import NOTHING, SolveResult
from ...motion.footfall import Foot, Grounds, foot_at
from ...motion.foothold import held_in
from ...motion.gait import RecordedWalk, WalkingLeg, bob_at, lean_at
from ...motion.packing import unpacked
from ...motion.stance import Lean, leaned
from ..simulation import history
from .gait_plan import GaitPlan, resolve_gaits, transposed
from .settings import gait_settings
from .standing import Standing, read

Y_AXIS: Vec = (0.0, 1.0, 0.0)
Z_AXIS: Vec = (0.0, 0.0, 1.0)


class Walked(NamedTuple):
    """A walk at one moment.

    Attributes:
        record: What was simulated.
        time: The moment, in frames.
        influence: How far it counts.
        grounds: Where the grounds are.
        legs: The legs, at the size that they have.
        bob: How far the body bobs at most, in metres.
        note: What the user should know.
    """

    record: RecordedWalk
    time: float
    influence: float
    grounds: Grounds
    legs: list[WalkingLeg]
    bob: float
    note: str


@lru_cache(maxsize=32)
def known(blob: bytes) -> tuple[RecordedWalk, list[str]] | None:
    """Return a walk that was kept in the file, None if it cannot be read."""
    try:
        return unpacked(blob)
    except ValueError:
        return None


class Stepping:
    """A walk as it is looked at by its body and its legs, once at each moment."""

    def __init__(self, plan: GaitPlan) -> None:
        """Take a walk that can work."""
        self.plan = plan
        self._at: ReferenceType[Snapshot] | None = None
        self._walked: Walked | str = ""
        self._named: list[str] = []
        self._grounds: list[Standing | None] = []

    def look(self, snapshot: Snapshot) -> Walked | str:
        """Return the walk at a moment, or what is to be said instead; empty if it is off.

        Raises:
            ProblemError: If the armature is scaled to nothing.
        """
        if self._at is None or self._at() is not snapshot:
            self._walked = self._look(snapshot)
            self._at = ref(snapshot)
        return self._walked

    def _look(self, snapshot: Snapshot) -> Walked | str:
        plan, rig = self.plan, self.plan.rig
        gaits = gait_settings(snapshot.rigs[rig.uid]).gaits
        if plan.index >= len(gaits):  # The copy was made before the walk was added.
            gaits = gait_settings(rig.object).gaits
        gait = gaits[plan.index]
        if not gait.enabled or gait.influence <= 0.0 or history.is_running(rig.object, plan.path):
            return ""
        found = history.data(rig.object, plan.path)
        if found is None:
            unknown = f"The steps of “{gait.name}” are not simulated: press Simulate"
            return history.lack(rig.object, plan.path, unknown)
        record = known(found.blob)
        outdated = f"The simulation of “{gait.name}” is outdated: press Simulate"
        if record is None or len(record[0].falls) != len(plan.legs):
            return outdated
        if not isfinite(gait.influence + gait.body_bob):
            return (
                f"Influence or Body Bob of “{gait.name}” is not a finite number: enter a valid "
                "number"
            )
        legs = plan.measured(snapshot.world(rig.object, rig.uid))
        note = history.note(found, snapshot.time)
        if not found.is_fresh:
            note = outdated
        return Walked(
            record[0],
            snapshot.time,
            min(gait.influence, 1.0),
            _frames(snapshot, self._recalled(record[1])),
            legs,
            max(0.0, gait.body_bob) * min(leg.reach for leg in legs),
            note,
        )

    def _recalled(self, names: list[str]) -> list[Standing | None]:
        """Return the grounds that move or are deformed, looked for once."""
        if names != self._named:
            self._named, self._grounds = names, read(names, self.plan.ground.objects)
        return self._grounds


def _frames(snapshot: Snapshot, grounds: Sequence[Standing | None]) -> Grounds:
    frames: dict[int, Frame] = {}

    def at(ground: int) -> Frame:
        if ground not in frames:
            standing = grounds[ground]
            frames[ground] = WHOLE if standing is None else standing.frame(snapshot)
        return frames[ground]

    return at


@dataclass(eq=False)
class LegGoal:
    """Leads the foot of one leg.

    Attributes:
        stepping: The walk.
        leg: The leg's place in it.
    """

    stepping: Stepping
    leg: int

    def goal(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return where the foot is wanted, given where its target is.

        Raises:
            ProblemError: While the steps are being simulated, for which nobody looks at the legs.
        """
        if history.is_running(chain.rig.object, self.stepping.plan.path):
            raise ProblemError("The steps are being simulated")
        walked = self.stepping.look(snapshot)
        if isinstance(walked, str):
            return aim._replace(note=walked or aim.note)
        foot = foot_at(walked.record.falls[self.leg], walked.time, walked.grounds)
        plan = self.stepping.plan
        world = snapshot.world(chain.rig.object, chain.rig.uid)
        height = length(mat_apply(world[0], plan.beneath(plan.legs[self.leg])))
        place = add(foot.place, scaled(foot.normal, height))
        if foot.swing is not None:
            root = _root(snapshot, chain)
            place = held_in(place, root, 0.999 * walked.legs[self.leg].reach)
        axes = aim.axes
        if axes is not None:
            axes = _mixed(axes, self._foot_axes(foot), walked.influence)
        if walked.influence < 1.0:
            place = mix(aim.place, place, walked.influence)
        return Aim(place, axes, walked.note or aim.note)

    def _foot_axes(self, foot: Foot) -> Mat3:
        """Return how the foot is turned in the world: as it rests on the body, on the ground."""
        plan = self.stepping.plan
        rest = plan.legs[self.leg].axes
        right = cross(foot.ahead, foot.normal)
        ground = mat_from_columns(right, foot.ahead, foot.normal)
        turned = mat_product(ground, transposed(plan.axes))
        return turned if rest is None else mat_product(turned, rest)


def _mixed(a: Mat3, b: Mat3, share: float) -> Mat3:
    return b if share >= 1.0 else quat_matrix(slerp(quat_of(a), quat_of(b), share))


def _root(snapshot: Snapshot, chain: ChainPlan) -> Vec:
    """Return where a leg begins, in world space."""
    rig, first = chain.rig, chain.bones[0]
    parent = WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent)
    local = snapshot.poses[rig.uid].posed_local(first)
    head = point_in(parent, head_in_parent(rig.bone(first), local))
    return point_in(snapshot.world(rig.object, rig.uid), head)


class WalkTask(NamedTuple):
    """All that the pose of a walking body depends on, to the last bit.

    Attributes:
        channels: Its FK pose, and what was solved of it before.
        parent: The frame of its parent, in armature space.
        world: Where the armature is.
        lean: How it stands on its feet.
        bob: How far its steps have raised it, in metres.
    """

    channels: tuple[object, ...]
    parent: Frame
    world: Frame
    lean: Lean
    bob: float


@dataclass(eq=False)
class WalkingBody(PrePassBone):
    """Lifts and tilts the body of a walk to stand on its feet.

    Attributes:
        stepping: The walk.
    """

    stepping: Stepping = field(kw_only=True)

    def __post_init__(self) -> None:
        """Say that it moves its bone, and with the time."""
        super().__post_init__()
        self.is_timed = True
        if self.bone not in self.rig.connected or self.root_parent < 0:
            self.more = [self.rig.slot(LOCATION, self.bone)]

    def needs(self) -> list[Point]:
        """Return the places that have to be right before: none but its parent's."""
        return []

    def read(self, snapshot: Snapshot) -> WalkTask | None:
        """Return how the body leans, None while the walk is off."""
        rig = self.rig
        pose = snapshot.poses[rig.uid]
        if not any(pose.settings[leg.item].enabled for leg in self.chains):
            return None
        walked = self.stepping.look(snapshot)
        if isinstance(walked, str):
            return None
        lean = lean_at(walked.record, walked.time)
        raised = bob_at(walked.record, self.stepping.plan.groups, walked.time)
        return WalkTask(
            (*pose.bits_of(self.runs, -1), pose.beneath(self.bones)),
            WHOLE if self.root_parent < 0 else snapshot.frame(rig, self.root_parent),
            snapshot.world(rig.object, rig.uid),
            Lean(*(walked.influence * part for part in lean)),
            walked.influence * walked.bob * raised,
        )

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the bone's rotation and location."""
        assert isinstance(inputs, WalkTask)
        rig, bone = self.rig, self.rig.bone(self.bone)
        pose = snapshot.poses[rig.uid]
        local = pose.posed_local(self.bone)
        frame = bone_frame(bone, local, inputs.parent)
        body = self.stepping.plan.body_frame(inputs.world, frame)
        try:
            moved = frame_in(leaned(body, inputs.lean, inputs.bob), inverse(body))
            undone, parent = rig.from_world(inputs.world), inverse(inputs.parent)
        except ValueError:
            name = rig.names[self.bone]
            raise ProblemError(f"“{name}” is parented to a bone with zero scale") from None
        axes, head = frame_in(undone, frame_in(moved, frame_in(inputs.world, frame)))
        inherited, _ = inherited_axes(bone, inputs.parent[0])
        _, y, z = mat_columns(axes)
        turn = facing(inherited, (Y_AXIS, Z_AXIS), (y, z)) or local.rotation
        place = sub(point_in(parent, head), bone.head)
        if bone.local_location:
            place = inverse_apply(bone.rest, place)
        placed = {self.bone: place} if self.more else NOTHING
        return SolveResult(
            inputs, self.bones, quat_compatible(turn, local.rotation), (), NOTHING, placed
        )


class SpineTask(NamedTuple):
    """All that the pose of a bone of the spine depends on, to the last bit.

    Attributes:
        channels: Its FK pose, and what was solved of it before.
        parent: The frame of its parent, in armature space.
        body: The frame of the body, in armature space.
        world: Where the armature is.
        angle: By how much it turns about the body's way ahead, in radians.
    """

    channels: tuple[object, ...]
    parent: Frame
    body: Frame
    world: Frame
    angle: float


@dataclass(eq=False)
class WalkingSpine(PrePassBone):
    """Turns a bone between body and chest by its share of the twist between their feet.

    Attributes:
        stepping: The walk.
        span: From which share of the spine to which it reaches.
    """

    stepping: Stepping = field(kw_only=True)
    span: tuple[float, float] = field(kw_only=True)

    def __post_init__(self) -> None:
        """Say that it moves with the time."""
        super().__post_init__()
        self.is_timed = True

    def needs(self) -> list[Point]:
        """Return the places that have to be right before: none but its parent's."""
        return []

    def read(self, snapshot: Snapshot) -> SpineTask | None:
        """Return how far it turns, None while the walk is off."""
        rig = self.rig
        pose = snapshot.poses[rig.uid]
        if not any(pose.settings[leg.item].enabled for leg in self.chains):
            return None
        walked = self.stepping.look(snapshot)
        if isinstance(walked, str):
            return None
        lean = lean_at(walked.record, walked.time)
        before, after = (atan(lean.right_at(share)) for share in self.span)
        return SpineTask(
            (*pose.bits_of(self.runs, -1), pose.beneath(self.bones)),
            snapshot.frame(rig, self.root_parent),
            snapshot.frame(rig, self.stepping.plan.body),
            snapshot.world(rig.object, rig.uid),
            walked.influence * (before - after),
        )

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the bone's rotation."""
        assert isinstance(inputs, SpineTask)
        rig, bone = self.rig, self.rig.bone(self.bone)
        local = snapshot.poses[rig.uid].posed_local(self.bone)
        body = self.stepping.plan.body_frame(inputs.world, inputs.body)
        turn = quat_matrix(quat_about(mat_columns(body[0])[1], inputs.angle))
        axes, _ = frame_in(inputs.world, bone_frame(bone, local, inputs.parent))
        try:
            axes, _ = frame_in(rig.from_world(inputs.world), (mat_product(turn, axes), ORIGIN))
        except ValueError:
            axes = inputs.parent[0]
        inherited, _ = inherited_axes(bone, inputs.parent[0])
        _, y, z = mat_columns(axes)
        rotation = facing(inherited, (Y_AXIS, Z_AXIS), (y, z)) or local.rotation
        rotation = quat_compatible(rotation, local.rotation)
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, NOTHING)


def bodies_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[PrePassBone]:
    """Yield the bodies of an armature's walks, and let these lead their legs."""
    for plan in resolve_gaits(rig, chains):
        if plan.problem:
            continue
        stepping = Stepping(plan)
        for place, leg in enumerate(plan.legs):
            leg.chain.goal_source = LegGoal(stepping, place)
            leg.chain.is_timed = True
            leg.chain.watched += plan.ground.objects
        if plan.leans:
            led = [leg.chain for leg in plan.legs]
            yield WalkingBody(rig, plan.body, led, stepping=stepping)
            for before, (bone, share) in zip(
                (0.0, *plan.spine.values()), plan.spine.items(), strict=False
            ):
                yield WalkingSpine(rig, bone, led, stepping=stepping, span=(before, share))
