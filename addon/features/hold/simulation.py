"""The simulation of holds: their events are visited in their order, and nothing moves at any."""

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
    """The simulation of the holds of an armature.

    Attributes:
        owner: The path of the settings that store its result, relative to the armature object.
        moments: The frames that it has to visit.
    """

    counts_wholly = False
    margin = 0

    def __init__(self, armature: bpy.types.Object) -> None:
        """Start with an armature."""
        self.owner = OWNER
        self._armature = armature
        self._kept: Kept = {}
        self._events = [events_of(armature, i) for i in range(len(holds_of(armature)))]
        scene = cast(bpy.types.Scene, bpy.context.scene)
        times = {one.frame for events in self._events for one in events}
        self.moments = [frame_of(scene, time) for time in sorted(times)]

    def inputs(self) -> object:
        """Return the events, what each holder is, and how long events blend."""
        own = holds_of(self._armature)
        kinds = [
            [one.frames if one.kind == OWN else one.kind for one in hold.holders] for hold in own
        ]
        events = [
            [(event.frame, signed(hold, event.holder)) for event in events]
            for hold, events in zip(own, self._events, strict=True)
        ]
        return events, kinds, [hold.blend for hold in own]

    def sources(self) -> list[Source]:
        """Return what is held and what ever holds it, and the same of all other holds.

        One may hold another.
        """
        found: dict[tuple[int, int], Point] = {}
        bones = [bone for bone in planner.current().by_state if isinstance(bone, HeldBone)]
        bones.sort(key=lambda bone: bone.rig.object != self._armature)
        for bone in bones:
            points = [Point(bone.rig.object, bone.rig, bone.bone), *bone.holders]
            for point in filter(None, points):
                found.setdefault((point.uid, point.bone), point)
        carried = [ob for bone in bones for ob in bone.channels_of()]
        return [*found.values(), *carried] or [self._armature]

    def start(self, snapshot: SolvedScene) -> None:
        """Start without any event."""
        self._kept = history.found_so_far(self._armature, OWNER)

    def step(self, snapshot: SolvedScene) -> None:
        """Record the events at a frame, which was solved as before them.

        Raises:
            ProblemError: If what holds a bone there has no size.
        """
        for bone in planner.current().by_state:
            if not isinstance(bone, HeldBone) or bone.rig.object != self._armature:
                continue
            own = self._kept.setdefault(bone.index, [])
            hold = holds_of(self._armature)[bone.index]
            for event in self._coming(bone.index, len(own), snapshot.time):
                local = snapshot.poses[bone.rig.uid].fk.posed(bone.bone)
                before = own[-1].holder if own else 0
                blend = blend_at(hold, event.holder)
                own.append(bone.record(snapshot, local, event, before, blend))
                planner.discard()  # What looks ahead, as a hip does, did not see it coming.

    def result(self) -> bytes:
        """Return the records as bytes."""
        return packed(self._kept)

    def _coming(self, index: int, known: int, time: float) -> list[Event]:
        """Return the events of a hold up to a frame that are not recorded yet."""
        return [one for one in self._events[index][known:] if one.frame <= time + NEAR]


def holds(armature: bpy.types.Object) -> list[HoldSimulation]:
    """Return the simulation of the holds of an armature, if they have or had events."""
    if not len(holds_of(armature)):
        return []
    one = HoldSimulation(armature)
    return [one] if one.moments or history.data(armature, OWNER) is not None else []
