"""The settings of an armature for what is simulated, and how that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ...loop.properties import settings
from ...loop.property_kinds import fixed
from . import history

STATES = (history.NONE, history.FRESH, history.STALE)

STATE_ITEMS = (
    ("NONE", "Not Simulated", "Nothing was simulated yet", 0),
    ("FRESH", "Simulated", "What was simulated belongs to what there is now", 1),
    ("STALE", "Outdated", "Something that counts has changed since it was simulated", 2),
)


def _state(group: bpy.types.PropertyGroup) -> int:
    return STATES.index(history.state(group.id_data))


def _message(group: bpy.types.PropertyGroup) -> str:
    return history.sentence(group.id_data)


class FabrikSimulation(bpy.types.PropertyGroup):
    """What is simulated of an armature: all that depends on more than one frame."""

    if TYPE_CHECKING:
        frame_start: int
        frame_end: int
        use_auto: bool
        state: str
        message: str
    else:
        _frame: Any = {"default": 0, "min": -1048574, "max": 1048574}
        frame_start: fixed(
            IntProperty,
            "Start",
            "First frame that is simulated; with End at 0 as well, that of the scene is taken",
            **_frame,
        )
        frame_end: fixed(IntProperty, "End", "Last frame that is simulated", **_frame)
        use_auto: fixed(
            BoolProperty,
            "Automatic",
            (
                "Simulate anew shortly after an edit that counts, though never while anything "
                "plays or is being dragged"
            ),
            default=True,
        )
        state: EnumProperty(
            name="State",
            description="Whether what was simulated belongs to what there is now (read only)",
            items=STATE_ITEMS,
            get=_state,
        )
        message: StringProperty(
            name="Message",
            description="What is wrong, and what to do about it (read only)",
            get=_message,
        )


def simulation_of(armature: bpy.types.ID) -> FabrikSimulation:
    """Return the settings of an armature object for what is simulated."""
    return cast(Any, settings(armature)).simulation
