"""Lists of callbacks for an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

Given = ParamSpec("Given")


class Listeners(Generic[Given]):
    """Callbacks with the same arguments; use it as a decorator to add one."""

    def __init__(self) -> None:
        """Start without callbacks."""
        self._known: list[Callable[Given, None]] = []

    def __call__(self, listener: Callable[Given, None]) -> Callable[Given, None]:
        """Add a callback, and return it."""
        self._known.append(listener)
        return listener

    def tell(self, *given: Given.args, **named: Given.kwargs) -> None:
        """Call them all."""
        for listener in self._known:
            listener(*given, **named)
