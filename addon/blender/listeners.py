"""Functions that are called when something happens, known only by that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

Given = ParamSpec("Given")


class Listeners(Generic[Given]):
    """Functions that all are called with the same; as a decorator it takes one in."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: list[Callable[Given, None]] = []

    def __call__(self, listener: Callable[Given, None]) -> Callable[Given, None]:
        """Have a function called from now on, and return it."""
        self._known.append(listener)
        return listener

    def tell(self, *given: Given.args, **named: Given.kwargs) -> None:
        """Call them all."""
        for listener in self._known:
            listener(*given, **named)
