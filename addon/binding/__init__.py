"""The only part that reads and writes Blender's data."""

from . import handlers, properties
from .motion import gait_walk, tracking


def register() -> None:
    """Add the properties, then the handlers that use them."""
    properties.register()
    tracking.register()
    gait_walk.register()
    handlers.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    handlers.unregister()
    gait_walk.unregister()
    tracking.unregister()
    properties.unregister()
