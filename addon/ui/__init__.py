"""Operators, panels and what is drawn over the 3D view: they draw and call, they do not compute."""

from . import (
    bake,
    command,
    convert,
    copying,
    drag,
    gait,
    ground,
    joints,
    learn,
    look,
    menus,
    operators,
    overlay,
    panels,
    presets,
    rendering,
    ropes,
    simulate,
    snap,
    timeline,
)

PARTS = (
    operators,
    look,
    ropes,
    learn,
    snap,
    convert,
    copying,
    presets,
    panels,
    gait,
    joints,
    bake,
    simulate,
    rendering,
    ground,
    command,
    drag,
    menus,
    overlay,
    timeline,
)
"""In an order in which each finds what it hangs on."""


def register() -> None:
    """Add everything that people see."""
    for part in PARTS:
        part.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    for part in reversed(PARTS):
        part.unregister()
