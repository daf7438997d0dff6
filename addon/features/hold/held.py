"""A bone that is held, as it is solved at each update.

While something holds a bone, the bone goes along with that instead of its own parent: its place is

    world(t) = holder(t) · offset · local(t)

with frames in world space, that of the holder without its scale: an object that a hand holds would
slide through it otherwise, if the hand is scaled, as it hangs on a bone that may be far from it.
``local`` are the bone's own channels, so that it can be moved and keyed
within what holds it; where these do not count, as those of a capture, it is constant. An object
that a bone carries has its channels below that, which goes against them then. The offset is
constant from one event to the next, and such that nothing moves at the event:

    offset = holder(f)⁻¹ · world(f) · local(f)⁻¹

where ``world(f)`` is as it was held before. So it is known only once the frames of the events were
visited, in their order, and it is stored (see `record`).

An event may blend: for some frames from it on, the bone goes over from where it would be if what
held it before held on, to where it is held now. At the event both are where it is. Only a bone that
goes back to its own place has no offset there, and is not held any more once it has arrived.
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
    """How a bone is held, to the last bit.

    Attributes:
        record: Since when and how.
        parent: The frame of its parent, in armature space.
        holder: The frame of what holds it, in world space.
        before: The same of what held it before, while the event blends.
        share: The share of the first in its pose then.
        carried: The frame of the object that it carries, in its own space, if its channels do not
            count.
    """

    record: Recorded
    parent: Frame = WHOLE
    holder: Frame = WHOLE
    before: Frame = WHOLE
    share: float = 1.0
    carried: Frame = WHOLE


UNTOUCHED = HeldInput(UNHELD)
"""How a bone is held before its first event, when it is back in its own place, and by what is gone.
"""


class BatchInput(NamedTuple):
    """All that the poses of held bones depend on, to the last bit.

    Attributes:
        channels: Their FK pose, and what was solved of them before.
        world: The frame of the armature in the world.
        held: How each is held; None if nothing ever does.
    """

    channels: tuple[object, ...]
    world: Frame
    held: list[HeldInput | None]


@dataclass(eq=False)
class HeldBones(UnitPlan):
    """Held bones of an armature that are solved at once.

    Attributes:
        holds: The bones.
        items: Empty: it reports for no constraint.
        chains: None: it serves those that need one of its bones.
    """

    holds: Sequence[HeldBone]
    items: tuple[int, ...] = ()
    chains: Sequence[ChainPlan] = ()

    @property
    def members(self) -> Sequence[ChainPlan]:
        """None: it solves no constraint."""
        return ()

    def __post_init__(self) -> None:
        """Set what all units have."""
        self.holds = sorted(self.holds, key=lambda hold: hold.bone)
        self.rig = self.holds[0].rig
        self.bones = [hold.bone for hold in self.holds]
        self.ranges = ranges_of(self.bones)
        self.is_layered = any(hold.is_layered for hold in self.holds)

    def read(self, snapshot: Snapshot) -> BatchInput | None:
        """Return how they are held; None if nothing ever holds any."""
        places: dict[tuple[int, int], Frame] = {}
        held = [hold.held_in(snapshot, places) for hold in self.holds]
        if not any(held):
            return None
        rig, pose = self.rig, snapshot.poses[self.rig.uid]
        beneath = pose.beneath(self.bones) if self.is_layered else None
        channels = (*pose.fk_bits(self.ranges), beneath)
        return BatchInput(channels, snapshot.world(rig.object, rig.uid), held)

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the rotation and location of all that can be held."""
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
            # Untouched it is where it is, and the frame counts as solved.
            if held.record is not UNHELD:
                record, bone, parent = held.record, self.rig.bone(hold.bone), held.parent
                space = frame_in(held.holder, record.offset)
                earlier = frame_in(held.before, record.left)
                try:
                    if record.is_fixed or record.was_fixed:
                        own = frame_in(own_frame(bone, local, parent), held.carried)
                        undone = inverse(own)
                        space = frame_in(space, undone) if record.is_fixed else space
                        earlier = frame_in(earlier, undone) if record.was_fixed else earlier
                    rotation, location = held_channels(
                        bone, local, parent, to_armature, space, earlier, held.share, held.carried
                    )
                except ValueError:
                    continue  # It or its parent has zero scale.
                if is_far(location):
                    continue
            rotations += rotation
            locations[hold.bone] = location
        return SolveResult(inputs, [*locations], rotations, (), NOTHING, locations)


@dataclass(eq=False)
class HeldBone(PrePassBone):
    """A bone that is held.

    Attributes:
        index: Its place in the list of holds.
        holders: The points that hold it, None for the world, its own place and what is gone.
        fixed: The numbers of those within which own channels do not count.
        own: The numbers of those that are its own place.
        lost: The numbers of those that do not exist any more.
        prop: The object that it carries, if its channels ever do not count.
        records: Its offsets and those of the other holds of the armature, by event.
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
        """Pose its location as well, and go along with all that ever holds it."""
        super().__post_init__()
        self.more = [self.rig.slot(LOCATION, self.bone)]
        self.is_timed = True
        by_holder = [[], *([] if one is None else [one] for one in self.holders)]
        before = by_holder if self.is_blended else by_holder[:1]
        self.states = [[*earlier, *now] for earlier in before for now in by_holder]
        holding = [one.object for one in self.holders if one is not None]
        self.watched = [*dict.fromkeys((*holding, *self.channels_of()))]

    def groups(self) -> list[str]:
        """Return the path of its hold, and of the one with the records of all."""
        return [*dict.fromkeys((OWNER, owner_of(self.index)))]

    def needs(self) -> list[Point]:
        """Return the points that it needs in each of its states: none but its parent."""
        return []

    def channels_of(self) -> Sequence[bpy.types.Object]:
        """Return the object that it carries, if it goes against the channels of that."""
        return () if self.prop is None else (self.prop,)

    def state_at(self, time: float) -> int:
        """Return its state at a frame: what holds it, and what did before if it is blended."""
        record = self._record_at(time)
        if not (self.is_blended and self._blends(record, time)):
            return record.holder
        return record.holder + record.before * (len(self.holders) + 1)

    def held_in(self, snapshot: Snapshot, places: dict[tuple[int, int], Frame]) -> HeldInput | None:
        """Return how it is held; None if nothing ever holds it.

        Args:
            snapshot: The frame.
            places: Known frames of what holds, in world space; others are added.
        """
        record, time = self._record_at(snapshot.time), snapshot.time
        is_blending = self.is_blended and self._blends(record, time)
        is_back = record.holder in self.own and not is_blending
        if record is UNHELD or is_back or record.holder in self.lost:
            return UNTOUCHED if self.records.of(self.index) else None
        parent, holder = self._parent(snapshot), self._holder_frame(snapshot, record.holder, places)
        carried = self._carried(snapshot) if record.is_fixed or record.was_fixed else WHOLE
        if not is_blending:
            return HeldInput(record, parent, holder, carried=carried)
        before = self._holder_frame(snapshot, record.before, places)
        share = eased(max(0.0, time - record.frame) / record.blend)
        return HeldInput(record, parent, holder, before, share, carried)

    def record(
        self, snapshot: Snapshot, local: Local, event: Event, before: int, blend: float
    ) -> Recorded:
        """Return how it has to be held from a frame on so that nothing moves there.

        Args:
            snapshot: The frame, solved as if nothing changed at it.
            local: The bone's own channels.
            event: The frame, and what holds it from there on.
            before: The number of what held it up to there.
            blend: For how many frames it goes over to that.

        Raises:
            ProblemError: If what holds it has no size.
        """
        rig = self.rig
        try:
            own = own_frame(rig.bone(self.bone), local, self._parent(snapshot))
        except ValueError:
            raise self.zero_scale() from None
        world = snapshot.world(rig.object, rig.uid)
        placed = frame_in(world, snapshot.frame(rig, self.bone))
        within, shown = frame_in(placed, inverse(own)), frame_in(placed, self._carried(snapshot))

        def offset(number: int) -> Frame:
            point = self.holders[number - 1] if number > 0 else None
            if point is not None:
                inverse(snapshot.place(point))
            kept = shown if number in self.fixed else within
            return frame_in(inverse(self._holder_frame(snapshot, number, {})), kept)

        try:
            left = offset(before) if blend > 0.0 else WHOLE
            fixed = event.holder in self.fixed, blend > 0.0 and before in self.fixed
            offsets = (
                WHOLE if event.holder in self.own else offset(event.holder),
                blend,
                before,
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
        self, snapshot: Snapshot, holder: int, places: dict[tuple[int, int], Frame]
    ) -> Frame:
        """Return the frame of what holds it in world space, given its number."""
        if holder == 0 or holder in self.own:
            rig = self.rig
            rest = bone_frame(rig.bone(self.bone), Local(), self._parent(snapshot))
            return frame_in(snapshot.world(rig.object, rig.uid), rest)
        point = self.holders[holder - 1]
        if point is None:
            return WHOLE
        key = point.uid, point.bone
        if key not in places:
            places[key] = rigid(snapshot.place(point))
        return places[key]

    def _carried(self, snapshot: Snapshot) -> Frame:
        """Return the frame of what it carries in its own space, if it goes against that."""
        prop = self.prop
        return WHOLE if prop is None else rigid(snapshot.basis(prop, prop.session_uid))

    def _record_at(self, time: float) -> Recorded:
        """Return how it is held at a frame.

        What was recorded of holders that were removed since does not count.
        """
        record = self.records.at(self.index, time)
        return record if record.holder <= len(self.holders) else UNHELD

    def _blends(self, record: Recorded, time: float) -> bool:
        """Return whether an event blends at a frame, if any does."""
        return time < record.frame + record.blend and record.before <= len(self.holders)

    def _parent(self, snapshot: Snapshot) -> Frame:
        return WHOLE if self.root_parent < 0 else snapshot.frame(self.rig, self.root_parent)


def held_bones(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[HeldBone]:
    """Yield the bones of an armature that are held, and tell the chains whose targets are."""
    kept = {rig.object: Records(rig.object)}
    for chain in chains:
        chain.placed_share = _placed_share(chain.target, kept)
    for index, hold in enumerate(holds_of(rig.object)):
        try:
            bone = bone_index(rig, hold, "bone")
            if bone in rig.connected and rig.parents[bone] >= 0:
                raise connected(hold.bone)
        except ProblemError:
            continue  # The list says why (see `status`).
        holders: list[Point | None] = []
        lost: set[int] = set()
        for number, one in enumerate(hold.holders, 1):
            try:
                holders.append(_holding(hold, one))
            except ProblemError:
                holders.append(None)
                lost.add(number)
        records = kept[rig.object]
        fixed = frozenset(i for i, one in enumerate(hold.holders, 1) if not one.use_animation)
        own = own_places(hold)
        # What was chosen since then counts once it is simulated.
        was_fixed = any(one.is_fixed for one in records.of(index))
        yield HeldBone(
            rig,
            bone,
            [],
            index=index,
            holders=holders,
            fixed=fixed,
            own=own,
            lost=frozenset(lost),
            prop=hold.prop if fixed or was_fixed else None,
            records=records,
            is_blended=hold.blend > 0.0 or bool(own),
        )


def _holding(hold: FabrikHold, one: FabrikHolder) -> Point | None:
    """Return the point that holds a bone; None for the world and its own place.

    Raises:
        ProblemError: If it does not exist any more.
    """
    if one.kind != BONE:
        return None
    if one.object is None:
        raise removed(hold.bone)
    if one.object.type == "ARMATURE" and one.bone:
        skeleton = skeleton_of(one.object)
        return Point(one.object, skeleton, bone_index(skeleton, one, "bone"))
    return Point(one.object)


def _placed_share(
    target: Point | None, kept: dict[bpy.types.Object, Records]
) -> Callable[[float, float], float]:
    """Return a function that tells how much what else places a target counts at a frame.

    Not at all while it is held; from a quarter of a second before to a quarter of a second after
    that it goes over, so that nothing jumps if the target is elsewhere.

    Args:
        target: The target.
        kept: The records of armatures, to which those of its own are added.
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
    records = kept.setdefault(armature, Records(armature))
    free = {0, *own_places(holds_of(armature)[index])}

    def share(time: float, rate: float) -> float:
        away = inf
        for one, after in zip_longest(records.of(index), records.of(index)[1:]):
            if one.holder not in free:
                end = inf if after is None else after.frame
                away = min(away, max(one.frame - NEAR - time, time - end, 0.0))
        return smooth(away / quarter_second(rate))

    return share
