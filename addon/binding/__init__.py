"""The only part that reads and writes Blender's data."""

from . import handlers, properties


def register() -> None:
    """Add the properties, then the handlers that use them."""
    properties.register()
    handlers.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    handlers.unregister()
    properties.unregister()
