"""What is kept of a file beside it: each cache says here how it forgets, so that none is missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Forget = TypeVar("Forget", bound=Callable[[], None])

_known: list[Callable[[], None]] = []


def forgets(function: Forget) -> Forget:
    """Have a function called when a file is loaded, after undo and redo, and at the end.

    References to Blender's data are dead by then.
    """
    _known.append(function)
    return function


def forget_all() -> None:
    """Keep nothing of the file."""
    for function in _known:
        function()
