"""A bone that is held, as it is solved at each update.

While something holds a bone, the bone goes along with that instead of its own parent: its place is

    world(t) = holder(t) · offset · local(t)

with frames in world space. ``local`` are the bone's own channels, so that it can be moved and keyed
within what holds it. The offset is constant from one event to the next, and such that nothing moves
at the event:

    offset = holder(f)⁻¹ · world(f) · local(f)⁻¹

where ``world(f)`` is as it was held before. So it is known only once the frames of the events were
visited, in their order, and it is stored (see `record`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import bpy

from fabrik_solver import WHOLE, Frame, Local, bone_frame, frame_in, inverse

from ...blender.errors import ProblemError
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton, skeleton_of
from ...plan.chain_plan import ChainPlan, Snapshot, never
from ...plan.pre_pass import PrePassBone
from ...plan.resolving import bone_index
from ...plan.results import NOTHING, SolveResult
from .carrier import carrier_of
from .record import Recorded, Records
from .settings import WORLD, holds_of


class HeldInput(NamedTuple):
    """All that the pose of a held bone depends on, to the last bit.

    Attributes:
        channels: Its FK pose, and what was solved of it before.
        parent: The frame of its parent, in armature space.
        world: The frame of the armature in the world.
        holder: The frame of what holds it, in the world.
        offset: The frame of its own channels, in the space of that; None before the first event.
    """

    channels: tuple[object, ...]
    parent: Frame
    world: Frame
    holder: Frame
    offset: Frame | None


@dataclass(eq=False)
class HeldBone(PrePassBone):
    """A bone that is held.

    Attributes:
        index: Its place in the list of holds.
        holders: The points that hold it, None for the world.
        records: Its offsets and those of the other holds of the armature, by event.
    """

    is_known_ahead: ClassVar[bool] = True

    index: int = field(kw_only=True)
    holders: Sequence[Point | None] = field(kw_only=True)
    records: Records = field(kw_only=True)

    def __post_init__(self) -> None:
        """Pose its location as well, and go along with all that ever holds it."""
        super().__post_init__()
        self.more = [self.rig.slot(LOCATION, self.bone)]
        self.is_timed = True
        self.states = ((), *([] if one is None else [one] for one in self.holders))
        self.watched = [*dict.fromkeys(one.object for one in self.holders if one is not None)]

    def needs(self) -> list[Point]:
        """Return the points that it needs in each of its states: none but its parent."""
        return []

    def state_at(self, time: float) -> int:
        """Return the number of what holds it at a frame."""
        record = self._record_at(time)
        return record.holder if record is not None else 0

    def read(self, snapshot: Snapshot) -> HeldInput | None:
        """Return what holds it and how; None if nothing ever does."""
        if not self.records.of(self.index):
            return None
        rig, pose = self.rig, snapshot.poses[self.rig.uid]
        channels = (*pose.fk_bits(self.ranges), pose.beneath(self.bones))
        record = self._record_at(snapshot.time)
        if record is None:
            return HeldInput(channels, WHOLE, WHOLE, WHOLE, None)
        return HeldInput(
            channels,
            self._parent(snapshot),
            snapshot.world(rig.object, rig.uid),
            self.holder_frame(snapshot, record.holder),
            record.offset,
        )

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the bone's rotation and location."""
        assert isinstance(inputs, HeldInput)
        rig, parent = self.rig, inputs.parent
        local = snapshot.poses[rig.uid].posed_local(self.bone)
        if inputs.offset is None:  # It is where it is, and the frame counts as solved.
            here = {self.bone: local.location}
            return SolveResult(inputs, self.bones, local.rotation, (), NOTHING, here)
        own = self._own(local, parent)
        held = frame_in(frame_in(inputs.holder, inputs.offset), own)
        axes, head = frame_in(rig.from_world(inputs.world), held)
        rotation = self.rotation_to(axes, parent, local)
        locations = {self.bone: self.location_to(head, parent)}
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, locations)

    def record(self, snapshot: Snapshot, local: Local, frame: float, holder: int) -> Recorded:
        """Return how it has to be held from a frame on so that nothing moves there.

        Args:
            snapshot: The frame, solved as if nothing changed at it.
            local: The bone's own channels.
            frame: The frame.
            holder: The number of what holds it from there on.

        Raises:
            ProblemError: If what holds it has no size.
        """
        rig = self.rig
        own = self._own(local, self._parent(snapshot))
        world = snapshot.world(rig.object, rig.uid)
        placed = frame_in(world, snapshot.frame(rig, self.bone))
        try:
            released = frame_in(inverse(self.holder_frame(snapshot, holder)), placed)
            return Recorded(frame, holder, frame_in(released, inverse(own)))
        except ValueError:
            raise ProblemError(
                "“{bone}” cannot be held by something that has zero scale at frame {frame:g}: "
                "change that scale",
                bone=rig.names[self.bone],
                frame=frame,
            ) from None

    def holder_frame(self, snapshot: Snapshot, holder: int) -> Frame:
        """Return the frame of what holds it in world space, given its number."""
        if holder == 0:
            rig = self.rig
            rest = bone_frame(rig.bone(self.bone), Local(), self._parent(snapshot))
            return frame_in(snapshot.world(rig.object, rig.uid), rest)
        point = self.holders[holder - 1]
        return WHOLE if point is None else snapshot.place(point)

    def _record_at(self, time: float) -> Recorded | None:
        """Return how it is held at a frame; None before the first event.

        What was recorded of holders that were removed since does not count.
        """
        record = self.records.at(self.index, time)
        return record if record is not None and record.holder <= len(self.holders) else None

    def _parent(self, snapshot: Snapshot) -> Frame:
        return WHOLE if self.root_parent < 0 else snapshot.frame(self.rig, self.root_parent)

    def _own(self, local: Local, parent: Frame) -> Frame:
        """Return the frame of its own channels, in the space that it has at rest."""
        bone = self.rig.bone(self.bone)
        try:
            undone = inverse(bone_frame(bone, Local(), parent))
        except ValueError:
            raise self.zero_scale() from None
        return frame_in(undone, bone_frame(bone, local, parent))


def held_bones(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[HeldBone]:
    """Yield the bones of an armature that are held, and tell the chains whose targets are."""
    kept = {rig.object: Records(rig.object)}
    for chain in chains:
        chain.is_held_at = _held_at(chain.target, kept)
    for index, hold in enumerate(holds_of(rig.object)):
        try:
            bone = bone_index(rig, hold, "bone")
            holders: list[Point | None] = []
            for one in hold.holders:
                if one.kind == WORLD:
                    holders.append(None)
                elif one.object is None:
                    raise ProblemError("What holds it was removed")
                elif one.object.type == "ARMATURE" and one.bone:
                    skeleton = skeleton_of(one.object)
                    holders.append(Point(one.object, skeleton, bone_index(skeleton, one, "bone")))
                else:
                    holders.append(Point(one.object))
        except ProblemError:
            continue  # The list says why (see `status`).
        if bone in rig.connected and rig.parents[bone] >= 0:
            continue
        yield HeldBone(rig, bone, [], index=index, holders=holders, records=kept[rig.object])


def _held_at(
    target: Point | None, kept: dict[bpy.types.Object, Records]
) -> Callable[[float], bool]:
    """Return a function that tells whether a target is held at a frame.

    Args:
        target: The target.
        kept: The records of armatures, to which those of its own are added.
    """
    if target is None:
        return never
    if target.skeleton is None:
        armature, index = carrier_of(target.object) or (None, -1)
    else:
        armature, name = target.object, target.skeleton.names[target.bone]
        held = [i for i, hold in enumerate(holds_of(armature)) if hold.bone == name]
        index = held[0] if held else -1
    if armature is None or index < 0:
        return never
    records = kept.setdefault(armature, Records(armature))

    def is_held(time: float) -> bool:
        record = records.at(index, time)
        return record is not None and record.holder > 0

    return is_held
