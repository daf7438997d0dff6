"""Operators and panels: they draw and call, they do not compute."""

from . import bake, command, joints, learn, operators, panels


def register() -> None:
    """Add the operators, then the panels and menu entries that call them, and the command."""
    operators.register()
    learn.register()
    panels.register()
    joints.register()
    bake.register()
    command.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    command.unregister()
    bake.unregister()
    joints.unregister()
    panels.unregister()
    learn.unregister()
    operators.unregister()
