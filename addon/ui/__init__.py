"""Operators and panels: they draw and call, they do not compute."""

from . import drag, joints, learn, operators, panels


def register() -> None:
    """Add the operators, then the panels and the menu entry that call them."""
    operators.register()
    learn.register()
    panels.register()
    joints.register()
    drag.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    drag.unregister()
    joints.unregister()
    panels.unregister()
    learn.unregister()
    operators.unregister()
