"""What puts the extension together: which features there are, and the order of registering."""

from ..features import continuous, free_chain, gait, ground, look_at, rope, simulation, wave
from ..features.bake import operators as bake
from ..features.command import command
from ..features.constraint import draw, panels
from ..features.constraint import operators as constraint
from ..features.constraint import presets as constraint_presets
from ..features.continuous import panel as shots
from ..features.convert import operators as convert
from ..features.drag import operators as drag
from ..features.fk_ik import operators as fk_ik
from ..features.free_chain import operators as free_chains
from ..features.gait import operators as walks
from ..features.ground import operators as grounds
from ..features.joints import panel as joints
from ..features.joints import presets as joint_presets
from ..features.learn import operators as learn
from ..features.look_at import operators as looks
from ..features.mirror import operators as mirror
from ..features.overlay import overlay
from ..features.rope import operators as ropes
from ..features.simulation import operators as simulate
from ..features.simulation import rendering, timeline
from ..features.wave import operators as waves
from ..loop import handlers, registry
from ..ui import presets
from . import menus

FEATURES = (
    simulation.FEATURE,
    look_at.FEATURE,
    rope.FEATURE,
    free_chain.FEATURE,
    wave.FEATURE,
    ground.FEATURE,
    gait.FEATURE,
    continuous.FEATURE,
)
"""What takes part in planning and solving; each is asked in this order."""

PARTS = (
    handlers,
    constraint,
    draw,
    looks,
    ropes,
    free_chains,
    waves,
    learn,
    fk_ik,
    convert,
    mirror,
    presets,
    constraint_presets,
    joint_presets,
    panels,
    grounds,
    walks,
    joints,
    bake,
    simulate,
    rendering,
    shots,
    command,
    drag,
    menus,
    overlay,
    timeline,
)
"""What registers classes, handlers and menus, in an order in which each finds what it hangs on."""


def register() -> None:
    """Add everything to Blender."""
    registry.install(FEATURES)
    for part in PARTS:
        part.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    for part in reversed(PARTS):
        part.unregister()
    registry.uninstall()
