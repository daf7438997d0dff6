"""Operators and panels: they draw and call, they do not compute."""

from . import bake, joints, learn, operators, panels


def register() -> None:
    """Add the operators, then the panels and the menu entry that call them."""
    operators.register()
    learn.register()
    panels.register()
    joints.register()
    bake.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    bake.unregister()
    joints.unregister()
    panels.unregister()
    learn.unregister()
    operators.unregister()
