"""Simulations: results that depend on more than one frame, and are stored in the file."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators, rendering, timeline
from .history import note_updates, watched
from .settings import FabrikSimulation

FEATURE = Feature(
    groups=(FabrikSimulation,),
    armature={
        "simulation": (
            FabrikSimulation,
            group("Simulation", "Results that depend on other frames"),
        )
    },
    on_update=note_updates,
    needed=watched,
)

PARTS = (operators, rendering, timeline)
