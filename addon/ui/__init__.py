"""Operators and panels: they draw and call, they do not compute."""

from . import joints, learn, operators, overlay, panels


def register() -> None:
    """Add the operators, the panels and the menu entry that call them, and the overlay."""
    operators.register()
    learn.register()
    panels.register()
    joints.register()
    overlay.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    overlay.unregister()
    joints.unregister()
    panels.unregister()
    learn.unregister()
    operators.unregister()
