"""The only part that reads and writes Blender's data."""

from . import handlers, properties
from .motion import tracking


def register() -> None:
    """Add the properties, then the handlers that use them."""
    properties.register()
    tracking.register()
    handlers.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    handlers.unregister()
    tracking.unregister()
    properties.unregister()
