"""The only part that reads and writes Blender's data."""

from . import handlers, properties
from .motion.follow import heads
from .motion.gait.simulation import walk_refusals, walks
from .motion.ground.recording import tracks_of
from .motion.shot_simulation import shots
from .motion.simulating import history

PROVIDERS = (heads, tracks_of, walks, shots)
"""What tells what can be simulated of an armature."""


def register() -> None:
    """Add the properties, then the handlers that use them."""
    properties.register()
    history.PROVIDERS.extend(PROVIDERS)
    history.REFUSALS.append(walk_refusals)
    handlers.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    handlers.unregister()
    history.REFUSALS.clear()
    history.PROVIDERS.clear()
    properties.unregister()
