"""The simulation of a hold: its events are visited in their order, and nothing moves at any."""

from __future__ import annotations

import bpy

from ...blender.keying import NEAR
from ...blender.session import part
from ...blender.skeleton import Point
from ...frame.solved_scene import SolvedScene
from ...plan import planner
from ..simulation.digest import Source
from .events import events_of, owner_of
from .held import HeldBone
from .record import Recorded, Recording, packed
from .settings import holds_of


class HoldSimulation:
    """The simulation of one hold.

    Attributes:
        owner: The path of its settings, relative to the armature object.
        moments: The frames that it has to visit.
    """

    counts_wholly = False

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Start with a hold of an armature."""
        self.owner = owner_of(index)
        self._armature, self._index = armature, index
        self._events = events_of(armature, index)
        self.moments = [event.frame for event in self._events]

    def inputs(self) -> object:
        """Return the events, and whether each holder is the world."""
        kinds = [one.kind for one in holds_of(self._armature)[self._index].holders]
        return [tuple(event) for event in self._events], kinds

    def sources(self) -> list[Source]:
        """Return what is held and what ever holds it, and the same of all other holds.

        One may hold another.
        """
        found: list[Source] = []
        for bone in held_bones():
            own = Point(bone.rig.object, bone.rig, bone.bone)
            points = [own, *(one for one in bone.holders if one is not None)]
            is_own = (bone.rig.object, bone.index) == (self._armature, self._index)
            found = [*points, *found] if is_own else [*found, *points]
        return found or [self._armature]

    def start(self, snapshot: SolvedScene) -> None:
        """Start without any event.

        Raises:
            ProblemError: If the bone cannot be held.
        """
        part(Recording)[self._armature.session_uid, self._index] = []

    def step(self, snapshot: SolvedScene) -> None:
        """Record the event at a frame that was solved as before it."""
        bone = next(iter(held_bones(self._armature, self._index)), None)
        records = self._records()
        while len(records) < len(self._events):
            frame, holder = self._events[len(records)]
            if frame > snapshot.time + NEAR or bone is None:
                return
            local = snapshot.poses[bone.rig.uid].fk.posed(bone.bone)
            records.append(bone.record(snapshot, local, frame, holder))

    def result(self) -> bytes:
        """Return the records as bytes."""
        return packed(self._records())

    def _records(self) -> list[Recorded]:
        return part(Recording).setdefault((self._armature.session_uid, self._index), [])


def held_bones(armature: bpy.types.Object | None = None, index: int = -1) -> list[HeldBone]:
    """Return the planned bones that are held: all, or the one of a hold."""
    planned = [bone for bone in planner.current().by_state if isinstance(bone, HeldBone)]
    if armature is None:
        return planned
    return [bone for bone in planned if (bone.rig.object, bone.index) == (armature, index)]


def holds(armature: bpy.types.Object) -> list[HoldSimulation]:
    """Return the simulations of the holds of an armature that have events."""
    found = [HoldSimulation(armature, i) for i in range(len(holds_of(armature)))]
    return [one for one in found if one.moments]
