"""Operators and panels: they draw and call, they do not compute."""

from . import operators, panels


def register() -> None:
    """Add the operators, then the panels and the menu entry that call them."""
    operators.register()
    panels.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    panels.unregister()
    operators.unregister()
