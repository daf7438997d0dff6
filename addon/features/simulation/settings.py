"""An armature's simulation settings and state."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...settings.definitions import defined, fixed
from ...settings.properties import settings
from . import history

STATES = (history.NONE, history.FRESH, history.STALE)

STATE_ITEMS = (
    ("NONE", "Not Simulated", "Nothing is simulated yet", 0),
    ("FRESH", "Simulated", "The simulation is up to date", 1),
    ("STALE", "Outdated", "The scene has changed since the simulation", 2),
)


def _state(group: bpy.types.PropertyGroup) -> int:
    try:
        return STATES.index(history.state(group.id_data))
    except ReferenceError:  # Data was removed since the last update.
        return STATES.index(history.STALE)


def _message(group: bpy.types.PropertyGroup) -> str:
    try:
        return history.sentence(group.id_data)
    except ReferenceError:  # As in `_state`.
        return history.UNKNOWN


class FabrikSimulation(bpy.types.PropertyGroup):
    """Settings and state of an armature's simulation."""

    _frame: Any = {"default": 0, "min": -1048574, "max": 1048574}
    frame_start: int = fixed(
        "Start",
        "First frame to simulate. If Start and End are 0, use the scene's frame range",
        **_frame,
    )
    frame_end: int = fixed("End", "Last frame to simulate", **_frame)
    use_auto: bool = fixed(
        "Automatic",
        "Simulate again shortly after an edit that changes the result, but not during playback "
        "or while dragging",
        default=True,
    )
    state: str = defined(
        "State", "Whether the simulation is up to date (read only)", items=STATE_ITEMS, get=_state
    )
    message: str = defined(
        "Message", "Description of the problem and its solution (read only)", get=_message
    )


def simulation_of(armature: bpy.types.ID) -> FabrikSimulation:
    """Return the simulation settings of an armature object."""
    return cast(Any, settings(armature)).simulation
