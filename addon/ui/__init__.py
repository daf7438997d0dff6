"""Operators and panels: they draw and call, they do not compute."""


def register() -> None:
    """Add the operators and the panels."""


def unregister() -> None:
    """Take them away."""
