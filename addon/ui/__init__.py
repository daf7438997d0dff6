"""Operators and panels: they draw and call, they do not compute."""

from . import convert, copying, joints, learn, operators, panels, presets


def register() -> None:
    """Add the operators, then the panels and the menu entry that call them."""
    operators.register()
    learn.register()
    convert.register()
    copying.register()
    presets.register()
    panels.register()
    joints.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    joints.unregister()
    panels.unregister()
    presets.unregister()
    copying.unregister()
    convert.unregister()
    learn.unregister()
    operators.unregister()
