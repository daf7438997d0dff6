"""Operators and panels: they draw and call, they do not compute."""

from . import joints, learn, operators, panels, snap


def register() -> None:
    """Add the operators, then the panels and the menu entry that call them."""
    operators.register()
    learn.register()
    snap.register()
    panels.register()
    joints.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    joints.unregister()
    panels.unregister()
    snap.unregister()
    learn.unregister()
    operators.unregister()
