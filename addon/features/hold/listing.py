"""What holds what, and when, for the list and the viewport."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import bpy

from ...blender.access import session_uid
from ...blender.messages import msg, shown
from ...plan import planner
from ...settings.properties import settings
from .editing import Held, find_hold
from .events import events_of
from .settings import OWN, WORLD, FabrikHolder, holds_of


class ShownHold(NamedTuple):
    """An event as the list shows it.

    Attributes:
        armature: The armature whose bone is held.
        hold: The index of the hold.
        what: The name of the held bone or object.
        by: The name of the holder.
        holder: The holder.
        start: The first frame.
        end: The frame of the next event, or the end of the blend to its own animation; None if
            there is neither.
    """

    armature: bpy.types.Object
    hold: int
    what: str
    by: str
    holder: FabrikHolder
    start: float
    end: float | None

    def is_at(self, frame: float) -> bool:
        """Return whether the hold is in effect at a frame."""
        return self.start <= frame and (self.end is None or frame < self.end)


def holds_with(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the armatures with holds that involve an armature.

    That armature may have holds of its own, have held targets or poles, or be a holder.
    """
    plan = planner.known()
    # A hold watches the objects of all its holders.
    watching = plan.watched.get(session_uid(armature), set[int]()) if plan is not None else ()
    rigs = [plan.rigs[uid].object for uid in watching] if plan is not None else []
    involved = {ob for ob in rigs if _is_held_by(ob, armature)}
    for item in settings(armature).constraints:
        controls = (item.target, item.subtarget), (item.pole_target, item.pole_subtarget)
        held = [find_hold(Held(ob, bone)) for ob, bone in controls if ob is not None]
        involved.update([hold[0] for hold in held if hold is not None])
    return [armature, *sorted(involved - {armature}, key=lambda ob: ob.name)]


def _is_held_by(held: bpy.types.Object, armature: bpy.types.Object) -> bool:
    return any(holder.object == armature for hold in holds_of(held) for holder in hold.holders)


def shown_holds(armature: bpy.types.Object) -> list[ShownHold]:
    """Return all holds that involve an armature, in order of frames."""
    entries: list[ShownHold] = []
    for ob in holds_with(armature):
        for index, hold in enumerate(holds_of(ob)):
            events = events_of(ob, index)
            ends = [*[event.frame for event in events[1:]], None]
            for event, end in zip(events, ends, strict=False):
                if event.holder > 0:
                    holder = hold.holders[event.holder - 1]
                    if holder.kind == OWN:
                        end = min(inf if end is None else end, event.frame + holder.frames)
                    by = name_of(holder)
                    entries.append(ShownHold(ob, index, hold.name, by, holder, event.frame, end))
    return sorted(entries, key=lambda event: event.start)


def name_of(holder: FabrikHolder) -> str:
    """Return a holder's name as shown."""
    if holder.kind == WORLD:
        return shown(msg("World"))
    if holder.kind == OWN:
        return shown(msg("Returned"))
    return holder.bone or (holder.object.name if holder.object is not None else "?")
