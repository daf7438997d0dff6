"""The only part that reads and writes Blender's data."""

from . import handlers, properties
from .motion.gait import simulation as walks
from .motion.ground import recording as tracks


def register() -> None:
    """Add the properties, then the handlers that use them."""
    properties.register()
    tracks.register()
    walks.register()
    handlers.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    handlers.unregister()
    walks.unregister()
    tracks.unregister()
    properties.unregister()
