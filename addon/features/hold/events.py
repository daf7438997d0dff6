"""The events of a hold: keys that change the holder of a bone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy

from ...blender import animation, data_blocks
from ...blender.errors import ProblemError
from ...blender.keying import NEAR, ActiveCurves
from ...blender.offset_layers import edited_layer
from ...blender.refusals import action_problem
from .settings import holds_of

CHANNEL = "holder"


class Event(NamedTuple):
    """A change of a bone's holder.

    Attributes:
        frame: The frame of the change.
        holder: The number of the new holder: 0 for the bone's own parent, 1 for the first holder.
    """

    frame: float
    holder: int


def owner_of(index: int) -> str:
    """Return the property path of a hold, from the armature object."""
    return f"fabrik.holds[{index}]"


def curve_of(armature: bpy.types.Object, index: int) -> Any | None:
    """Return the F-curve of a hold's events, or None if there is none that applies."""
    curves = animation.active_curves(armature, f"{owner_of(index)}.{CHANNEL}")
    return curves.get(0)


def keys_of(armature: bpy.types.Object, index: int) -> list[Event]:
    """Return the keys of a hold as events, in order of time."""
    curve = curve_of(armature, index)
    keys = curve.keyframe_points if curve is not None else ()
    most = len(holds_of(armature)[index].holders)
    return [Event(key.co[0], min(max(round(key.co[1]), 0), most)) for key in keys]


def events_of(armature: bpy.types.Object, index: int) -> list[Event]:
    """Return the events of a hold in order of time, skipping keys that change nothing."""
    events: list[Event] = []
    for key in keys_of(armature, index):
        if key.holder != (events[-1].holder if events else 0):
            events.append(key)
    return events


def holder_at(events: list[Event], frame: float) -> int:
    """Return the number of the holder at a frame."""
    return next((event.holder for event in reversed(events) if event.frame <= frame + NEAR), 0)


def set_event(armature: bpy.types.Object, index: int, frame: float, holder: int) -> None:
    """Key a bone's holder from a frame on.

    Raises:
        ProblemError: If the action can't be changed, or would have no effect.
    """
    refuse_unkeyable(armature)
    path = f"{owner_of(index)}.{CHANNEL}"
    curve = ActiveCurves(armature).at(path, 0, "Holds")
    curve.keyframe_points.insert(frame, holder)
    for key in curve.keyframe_points:
        key.interpolation = "CONSTANT"
    curve.update()
    _note_edit(armature)


def set_keys(armature: bpy.types.Object, index: int, keys: Sequence[Event]) -> None:
    """Replace the keys of a hold."""
    curve = curve_of(armature, index)
    if curve is not None:
        animation.before_edit.notify(armature)
        curve.keyframe_points.clear()
        _note_edit(armature)
    for frame, holder in keys:
        set_event(armature, index, frame, holder)


def _note_edit(armature: bpy.types.Object) -> None:
    """Discard cached keys of an armature's action: Blender doesn't report edits to it."""
    holder = animation.active_holder(armature)
    if holder is not None and holder.action is not None:
        data_blocks.forget({holder.action.session_uid})


def remove_event(armature: bpy.types.Object, index: int, frame: float) -> None:
    """Remove the event at this frame, if any."""
    keys = keys_of(armature, index)
    set_keys(armature, index, [key for key in keys if abs(key.frame - frame) > NEAR])


def refuse_unkeyable(armature: bpy.types.Object) -> None:
    """Refuse an armature if keys on it would have no effect, or end up at other frames.

    Raises:
        ProblemError: If its action can't be keyed, or it has NLA strips.
    """
    if problem := action_problem(armature):
        raise ProblemError(problem)
    if animation.has_nla(armature) and edited_layer(armature) is None:
        raise ProblemError(
            "“{object}” has NLA strips that may play its holds at other frames: push its action "
            "down later, or bake the holds first",
            object=armature.name,
        )
