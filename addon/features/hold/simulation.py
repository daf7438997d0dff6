"""Simulate holds: visit their events in order, so that nothing jumps at any of them."""

from __future__ import annotations

from typing import cast

import bpy

from ...blender.keying import NEAR
from ...blender.skeleton import Point
from ...editing.playing import frame_of
from ...frame.solved_scene import SolvedScene
from ...plan import planner
from ..simulation import history
from ..simulation.digest import Source
from .events import Event, events_of
from .held import HeldBone
from .record import OWNER, Kept, packed
from .settings import OWN, blend_at, holds_of, signed


class HoldSimulation:
    """The simulation of an armature's holds.

    Attributes:
        owner: Property path of the settings that store the result, from the armature object.
        moments: The frames to visit.
    """

    counts_wholly = False
    margin = 0

    def __init__(self, armature: bpy.types.Object) -> None:
        """Set the armature."""
        self.owner = OWNER
        self._armature = armature
        self._kept: Kept = {}
        self._events = [events_of(armature, i) for i in range(len(holds_of(armature)))]
        scene = cast(bpy.types.Scene, bpy.context.scene)
        times = {event.frame for events in self._events for event in events}
        self.moments = [frame_of(scene, time) for time in sorted(times)]

    def inputs(self) -> object:
        """Return the events, the kinds of holders, and the blend durations."""
        fabrik_holds = holds_of(self._armature)
        kinds = [
            [holder.frames if holder.kind == OWN else holder.kind for holder in hold.holders]
            for hold in fabrik_holds
        ]
        events = [
            [(event.frame, signed(hold, event.holder)) for event in events]
            for hold, events in zip(fabrik_holds, self._events, strict=True)
        ]
        return events, kinds, [hold.blend for hold in fabrik_holds]

    def sources(self) -> list[Source]:
        """Return the held bones and their holders, in this armature and all others.

        A held bone may hold another one.
        """
        points_by_key: dict[tuple[int, int], Point] = {}
        bones = [bone for bone in planner.current().by_state if isinstance(bone, HeldBone)]
        bones.sort(key=lambda bone: bone.rig.object != self._armature)
        for bone in bones:
            points = [Point(bone.rig.object, bone.rig, bone.bone), *bone.holders]
            for point in filter(None, points):
                points_by_key.setdefault((point.uid, point.bone), point)
        carried = [ob for bone in bones for ob in bone.channels_of()]
        return [*points_by_key.values(), *carried] or [self._armature]

    def start(self, snapshot: SolvedScene) -> None:
        """Start before the first event."""
        self._kept = history.found_so_far(self._armature, OWNER)

    def step(self, snapshot: SolvedScene) -> None:
        """Record the events at a frame that was solved without them.

        Raises:
            ProblemError: If a holder has zero scale at this frame.
        """
        for bone in planner.current().by_state:
            if not isinstance(bone, HeldBone) or bone.rig.object != self._armature:
                continue
            events = self._kept.setdefault(bone.index, [])
            hold = holds_of(self._armature)[bone.index]
            for event in self._coming(bone.index, len(events), snapshot.time):
                local = snapshot.poses[bone.rig.uid].fk.posed(bone.bone)
                previous = events[-1].holder if events else 0
                blend = blend_at(hold, event.holder)
                events.append(bone.record(snapshot, local, event, previous, blend))
                planner.discard()  # Hips look ahead, and couldn't foresee this event.

    def result(self) -> bytes:
        """Encode the records."""
        return packed(self._kept)

    def _coming(self, index: int, recorded: int, time: float) -> list[Event]:
        """Return the events of a hold up to a frame that aren't recorded yet."""
        return [event for event in self._events[index][recorded:] if event.frame <= time + NEAR]


def holds(armature: bpy.types.Object) -> list[HoldSimulation]:
    """Return the simulation of an armature's holds if they have or had events."""
    if not len(holds_of(armature)):
        return []
    simulation = HoldSimulation(armature)
    return [simulation] if simulation.moments or history.data(armature, OWNER) is not None else []
