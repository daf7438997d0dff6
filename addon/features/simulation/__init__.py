"""What depends on more than one frame: simulated in one pass, kept in the file, and looked up."""

from ...loop.property_kinds import group
from ...loop.registry import Feature
from . import operators, rendering, timeline
from .history import note_updates
from .settings import FabrikSimulation

FEATURE = Feature(
    groups=(FabrikSimulation,),
    armature={
        "simulation": group(
            FabrikSimulation, "Simulation", "Results that depend on more than one frame"
        )
    },
    on_update=note_updates,
)

PARTS = (operators, rendering, timeline)
