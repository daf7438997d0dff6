"""Operators, panels and what is drawn over the 3D view: they draw and call, they do not compute."""

from . import joints, learn, operators, overlay, panels, snap

PARTS = (operators, learn, snap, panels, joints, overlay)
"""In an order in which each finds what it hangs on."""


def register() -> None:
    """Add everything that people see."""
    for part in PARTS:
        part.register()


def unregister() -> None:
    """Undo `register`, in the opposite order."""
    for part in reversed(PARTS):
        part.unregister()
