"""A held bone, as solved at each update.

While held, a bone follows its holder instead of its own parent. In world space its frame is

    world(t) = holder(t) · offset · local(t)

The holder's scale is ignored: a held object may be far from the bone that carries it, and would
slide through a scaled hand. ``local`` are the bone's own channels, so it can be moved and keyed
relative to the holder. If they are ignored, like those of a capture, ``local`` is constant. If the
bone carries an object, the object's own channels apply below the bone, and the bone cancels them.
The offset is constant from one event to the next. It is chosen so that nothing jumps at the event:

    offset = holder(f)⁻¹ · world(f) · local(f)⁻¹

``world(f)`` is the frame with the previous holder. So offsets are only known after visiting the
events' frames in order, and are stored (see `record`).

An event may blend. For some frames after it, the bone blends from where the previous holder would
put it to where the new one does. The two coincide at the event. Only a bone that blends back to its
own animation has no offset, and is free after the blend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import inf
from typing import ClassVar, NamedTuple

import bpy

from fabrik_solver import WHOLE, Frame, Local, bone_frame, frame_in, inverse
from fabrik_solver.core.bend import eased
from fabrik_solver.core.holding import held_channels, own_frame, rigid
from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.easing import smooth

from ...blender.access import quarter_second
from ...blender.errors import ProblemError
from ...blender.keying import NEAR
from ...blender.rotation import LOCATION, ranges_of
from ...blender.skeleton import Point, Skeleton, skeleton_of
from ...plan.chain_plan import ChainPlan, Snapshot, UnitPlan, wholly
from ...plan.pre_pass import PrePassBone
from ...plan.resolving import bone_index
from ...plan.results import NOTHING, SolveResult, is_far
from .carrier import carrier_of
from .events import Event, owner_of
from .problems import connected, removed
from .record import OWNER, UNHELD, Recorded, Records
from .settings import BONE, FabrikHold, FabrikHolder, holds_of, own_places


class HeldInput(NamedTuple):
    """How a bone is held, compared bit by bit.

    Attributes:
        record: Its last event.
        parent: Its parent's frame, in armature space.
        holder: Its holder's frame, in world space.
        previous: Its previous holder's frame, in world space, while the event blends.
        weight: The weight of the new holder's pose in the blend.
        carried: The frame of the carried object in its own space, if its channels are ignored.
    """

    record: Recorded
    parent: Frame = WHOLE
    holder: Frame = WHOLE
    previous: Frame = WHOLE
    weight: float = 1.0
    carried: Frame = WHOLE


UNTOUCHED = HeldInput(UNHELD)
"""The input before the first event, after a blend back, or if the holder was removed."""


class BatchInput(NamedTuple):
    """All inputs that the poses of held bones depend on, compared bit by bit.

    Attributes:
        channels: Their FK poses, and earlier solved results for them.
        world: The armature's frame, in world space.
        held: How each is held; None if nothing ever holds it.
    """

    channels: tuple[object, ...]
    world: Frame
    held: list[HeldInput | None]


@dataclass(eq=False)
class HeldBones(UnitPlan):
    """Held bones of an armature, solved together.

    Attributes:
        holds: The bones.
        items: Empty, because problems aren't reported at a constraint.
        chains: Empty, because it serves any chain that needs one of the bones.
    """

    holds: Sequence[HeldBone]
    items: tuple[int, ...] = ()
    chains: Sequence[ChainPlan] = ()

    @property
    def members(self) -> Sequence[ChainPlan]:
        """Empty, because no constraint is solved."""
        return ()

    def __post_init__(self) -> None:
        """Set the attributes that every unit has."""
        self.holds = sorted(self.holds, key=lambda hold: hold.bone)
        self.rig = self.holds[0].rig
        self.bones = [hold.bone for hold in self.holds]
        self.ranges = ranges_of(self.bones)
        self.is_layered = any(hold.is_layered for hold in self.holds)

    def read(self, snapshot: Snapshot) -> BatchInput | None:
        """Return how the bones are held; None if nothing ever holds them."""
        holder_frames: dict[tuple[int, int], Frame] = {}
        held = [hold.held_in(snapshot, holder_frames) for hold in self.holds]
        if not any(held):
            return None
        rig, pose = self.rig, snapshot.poses[self.rig.uid]
        beneath = pose.beneath(self.bones) if self.is_layered else None
        channels = (*pose.fk_bits(self.ranges), beneath)
        return BatchInput(channels, snapshot.world(rig.object, rig.uid), held)

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the rotations and locations of all holdable bones."""
        assert isinstance(inputs, BatchInput)
        to_armature = self.rig.from_world(inputs.world)
        rotations: list[float] = []
        locations: dict[int, Vec] = {}
        pose = snapshot.poses[self.rig.uid]
        for hold, held in zip(self.holds, inputs.held, strict=True):
            if held is None:
                continue
            local = pose.posed_local(hold.bone)
            rotation, location = local.rotation, local.location
            # A bone without a record stays in place and is marked as solved.
            if held.record is not UNHELD:
                record, bone, parent = held.record, self.rig.bone(hold.bone), held.parent
                space = frame_in(held.holder, record.offset)
                earlier = frame_in(held.previous, record.left)
                try:
                    if record.is_fixed or record.was_fixed:
                        own_channels = frame_in(own_frame(bone, local, parent), held.carried)
                        undone = inverse(own_channels)
                        space = frame_in(space, undone) if record.is_fixed else space
                        earlier = frame_in(earlier, undone) if record.was_fixed else earlier
                    rotation, location = held_channels(
                        bone, local, parent, to_armature, space, earlier, held.weight, held.carried
                    )
                except ValueError:
                    continue  # The bone or its parent has zero scale.
                if is_far(location):
                    continue
            rotations += rotation
            locations[hold.bone] = location
        return SolveResult(inputs, [*locations], rotations, (), NOTHING, locations)


@dataclass(eq=False)
class HeldBone(PrePassBone):
    """A bone that is held.

    Attributes:
        index: Its index in the list of holds.
        holders: The points that hold it; None for the world, its own animation, and removed
            holders.
        fixed: The numbers of the holders that it is fixed to, ignoring its own channels.
        own: The numbers of the holders that stand for its own animation.
        lost: The numbers of the holders that no longer exist.
        prop: The object that it carries, if that object's channels are ever ignored.
        records: The records of all holds of the armature, with their offsets by event.
        is_blended: Whether its events blend.
    """

    is_known_ahead: ClassVar[bool] = True
    batch = HeldBones

    index: int = field(kw_only=True)
    holders: Sequence[Point | None] = field(kw_only=True)
    fixed: frozenset[int] = field(kw_only=True)
    own: frozenset[int] = field(kw_only=True)
    lost: frozenset[int] = field(kw_only=True)
    prop: bpy.types.Object | None = field(kw_only=True)
    records: Records = field(kw_only=True)
    is_blended: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Let the bone be moved as well as rotated, and follow all its holders."""
        super().__post_init__()
        self.more = [self.rig.slot(LOCATION, self.bone)]
        self.is_timed = True
        by_holder = [[], *([] if holder is None else [holder] for holder in self.holders)]
        previous_points = by_holder if self.is_blended else by_holder[:1]
        self.states = [[*previous, *points] for previous in previous_points for points in by_holder]
        holding = [holder.object for holder in self.holders if holder is not None]
        self.watched = [*dict.fromkeys((*holding, *self.channels_of()))]

    def groups(self) -> list[str]:
        """Return the paths of the bone's hold and of the hold that stores the records."""
        return [*dict.fromkeys((OWNER, owner_of(self.index)))]

    def needs(self) -> list[Point]:
        """Return no points, because the bone needs only its parent in any state."""
        return []

    def channels_of(self) -> Sequence[bpy.types.Object]:
        """Return the object that the bone carries, if that object's channels are ever ignored."""
        return () if self.prop is None else (self.prop,)

    def state_at(self, time: float) -> int:
        """Return the bone's state at a frame: its holder, and the previous one while blending."""
        record = self._record_at(time)
        if not (self.is_blended and self._blends(record, time)):
            return record.holder
        return record.holder + record.previous * (len(self.holders) + 1)

    def held_in(self, snapshot: Snapshot, frames: dict[tuple[int, int], Frame]) -> HeldInput | None:
        """Return how the bone is held; None if nothing ever holds it.

        Args:
            snapshot: The scene at one frame.
            frames: A cache of holder frames in world space; missing ones are added.
        """
        record, time = self._record_at(snapshot.time), snapshot.time
        is_blending = self.is_blended and self._blends(record, time)
        is_back = record.holder in self.own and not is_blending
        if record is UNHELD or is_back or record.holder in self.lost:
            return UNTOUCHED if self.records.of(self.index) else None
        parent, holder = self._parent(snapshot), self._holder_frame(snapshot, record.holder, frames)
        carried = self._carried(snapshot) if record.is_fixed or record.was_fixed else WHOLE
        if not is_blending:
            return HeldInput(record, parent, holder, carried=carried)
        previous = self._holder_frame(snapshot, record.previous, frames)
        weight = eased(max(0.0, time - record.frame) / record.blend)
        return HeldInput(record, parent, holder, previous, weight, carried)

    def record(
        self, snapshot: Snapshot, local: Local, event: Event, previous: int, blend: float
    ) -> Recorded:
        """Return the record of an event, chosen so that nothing jumps at its frame.

        Args:
            snapshot: The scene at that frame, solved without the event.
            local: The bone's own channels.
            event: The frame and the new holder.
            previous: The number of the previous holder.
            blend: How many frames the blend to the new holder takes.

        Raises:
            ProblemError: If the holder has zero scale.
        """
        rig = self.rig
        try:
            basis = own_frame(rig.bone(self.bone), local, self._parent(snapshot))
        except ValueError:
            raise self.zero_scale_problem() from None
        world = snapshot.world(rig.object, rig.uid)
        placed = frame_in(world, snapshot.frame(rig, self.bone))
        within, shown = frame_in(placed, inverse(basis)), frame_in(placed, self._carried(snapshot))

        def offset(number: int) -> Frame:
            point = self.holders[number - 1] if number > 0 else None
            if point is not None:
                inverse(snapshot.place(point))
            relative = shown if number in self.fixed else within
            return frame_in(inverse(self._holder_frame(snapshot, number, {})), relative)

        try:
            left = offset(previous) if blend > 0.0 else WHOLE
            fixed = event.holder in self.fixed, blend > 0.0 and previous in self.fixed
            offsets = (
                WHOLE if event.holder in self.own else offset(event.holder),
                blend,
                previous,
                left,
            )
            return Recorded(event.frame, event.holder, *offsets, *fixed)
        except ValueError:
            raise ProblemError(
                "“{bone}” can't be held at frame {frame:g}, because its holder has zero scale: "
                "change that scale",
                bone=rig.names[self.bone],
                frame=event.frame,
            ) from None

    def _holder_frame(
        self, snapshot: Snapshot, holder: int, frames: dict[tuple[int, int], Frame]
    ) -> Frame:
        """Return a holder's frame in world space, by the holder's number."""
        if holder == 0 or holder in self.own:
            rig = self.rig
            rest = bone_frame(rig.bone(self.bone), Local(), self._parent(snapshot))
            return frame_in(snapshot.world(rig.object, rig.uid), rest)
        point = self.holders[holder - 1]
        if point is None:
            return WHOLE
        key = point.uid, point.bone
        if key not in frames:
            frames[key] = rigid(snapshot.place(point))
        return frames[key]

    def _carried(self, snapshot: Snapshot) -> Frame:
        """Return the carried object's frame in its own space, if the bone cancels its channels."""
        prop = self.prop
        return WHOLE if prop is None else rigid(snapshot.basis(prop, prop.session_uid))

    def _record_at(self, time: float) -> Recorded:
        """Return the bone's record at a frame.

        Records of removed holders are ignored.
        """
        record = self.records.at(self.index, time)
        return record if record.holder <= len(self.holders) else UNHELD

    def _blends(self, record: Recorded, time: float) -> bool:
        """Return whether an event is still blending at a frame."""
        return time < record.frame + record.blend and record.previous <= len(self.holders)

    def _parent(self, snapshot: Snapshot) -> Frame:
        return WHOLE if self.root_parent < 0 else snapshot.frame(self.rig, self.root_parent)


def held_bones(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[HeldBone]:
    """Yield the held bones of an armature, and set `placed_share` of its chains."""
    records_of = {rig.object: Records(rig.object)}
    for chain in chains:
        chain.placed_share = _placed_share(chain.target, records_of)
    for index, hold in enumerate(holds_of(rig.object)):
        try:
            bone = bone_index(rig, hold, "bone")
            if bone in rig.connected and rig.parents[bone] >= 0:
                raise connected(hold.bone)
        except ProblemError:
            continue  # The list shows the reason (see `status`).
        holders: list[Point | None] = []
        lost: set[int] = set()
        for number, holder in enumerate(hold.holders, 1):
            try:
                holders.append(_holding(hold, holder))
            except ProblemError:
                holders.append(None)
                lost.add(number)
        records = records_of[rig.object]
        fixed = frozenset(i for i, holder in enumerate(hold.holders, 1) if not holder.use_animation)
        own_numbers = own_places(hold)
        # Changes to the setting take effect when they are simulated.
        was_fixed = any(holder.is_fixed for holder in records.of(index))
        yield HeldBone(
            rig,
            bone,
            [],
            index=index,
            holders=holders,
            fixed=fixed,
            own=own_numbers,
            lost=frozenset(lost),
            prop=hold.prop if fixed or was_fixed else None,
            records=records,
            is_blended=hold.blend > 0.0 or bool(own_numbers),
        )


def _holding(hold: FabrikHold, holder: FabrikHolder) -> Point | None:
    """Return the point that holds a bone; None for the world and its own animation.

    Raises:
        ProblemError: If the holder no longer exists.
    """
    if holder.kind != BONE:
        return None
    if holder.object is None:
        raise removed(hold.bone)
    if holder.object.type == "ARMATURE" and holder.bone:
        skeleton = skeleton_of(holder.object)
        return Point(holder.object, skeleton, bone_index(skeleton, holder, "bone"))
    return Point(holder.object)


def _placed_share(
    target: Point | None, records_of: dict[bpy.types.Object, Records]
) -> Callable[[float, float], float]:
    """Return a function of the frame: the weight of everything else that moves a target.

    The weight is 0 while the target is held. It blends over a quarter of a second on either side,
    so that nothing jumps if the target is elsewhere.

    Args:
        target: The target.
        records_of: The records by armature; those of the target's armature are added.
    """
    if target is None:
        return wholly
    if target.skeleton is None:
        armature, index = carrier_of(target.object) or (None, -1)
    else:
        armature, name = target.object, target.skeleton.names[target.bone]
        held = [i for i, hold in enumerate(holds_of(armature)) if hold.bone == name]
        index = held[0] if held else -1
    if armature is None or index < 0:
        return wholly
    records = records_of.setdefault(armature, Records(armature))
    free = {0, *own_places(holds_of(armature)[index])}

    def weight(time: float, rate: float) -> float:
        away = inf
        for event, next_event in zip_longest(records.of(index), records.of(index)[1:]):
            if event.holder not in free:
                end = inf if next_event is None else next_event.frame
                away = min(away, max(event.frame - NEAR - time, time - end, 0.0))
        return smooth(away / quarter_second(rate))

    return weight
