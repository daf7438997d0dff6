"""Who holds what when, for the list and for drawing."""

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
    """An event, as the list shows it.

    Attributes:
        armature: The armature whose bone is held.
        hold: The index of the hold.
        what: The name of what is held.
        by: The name of what holds it.
        holder: What holds it.
        start: The first frame.
        end: The first frame at which that changes again, or at which it is back in its own place;
            None if neither happens.
    """

    armature: bpy.types.Object
    hold: int
    what: str
    by: str
    holder: FabrikHolder
    start: float
    end: float | None

    def is_at(self, frame: float) -> bool:
        """Return whether it holds at a frame."""
        return self.start <= frame and (self.end is None or frame < self.end)


def holds_with(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the armatures whose holds concern one.

    Those are its own, those of its targets and poles, and those of what it holds.
    """
    plan = planner.known()
    # A hold watches the objects of all that ever hold it.
    watching = plan.watched.get(session_uid(armature), set[int]()) if plan is not None else ()
    rigs = [plan.rigs[uid].object for uid in watching] if plan is not None else []
    others = {ob for ob in rigs if _is_held_by(ob, armature)}
    for item in settings(armature).constraints:
        controls = (item.target, item.subtarget), (item.pole_target, item.pole_subtarget)
        held = [find_hold(Held(ob, bone)) for ob, bone in controls if ob is not None]
        others.update([one[0] for one in held if one is not None])
    return [armature, *sorted(others - {armature}, key=lambda ob: ob.name)]


def _is_held_by(held: bpy.types.Object, armature: bpy.types.Object) -> bool:
    return any(one.object == armature for hold in holds_of(held) for one in hold.holders)


def shown_holds(armature: bpy.types.Object) -> list[ShownHold]:
    """Return what is held by or of an armature, by frame."""
    found: list[ShownHold] = []
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
                    found.append(ShownHold(ob, index, hold.name, by, holder, event.frame, end))
    return sorted(found, key=lambda one: one.start)


def name_of(holder: FabrikHolder) -> str:
    """Return what a holder is called."""
    if holder.kind == WORLD:
        return shown(msg("World"))
    if holder.kind == OWN:
        return shown(msg("Own Place"))
    return holder.bone or (holder.object.name if holder.object is not None else "?")
