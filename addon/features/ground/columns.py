"""A clip as a table: columns over frames, each a pure function of earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Frame = TypeVar("Frame", int, float, range)
Value = TypeVar("Value")


class Column(dict[Frame, Value]):
    """The values of a function of frames, each found when it is first asked for."""

    def __init__(self, find: Callable[[Frame], Value]) -> None:
        """Take what finds a value, which depends on the frame and earlier columns only."""
        super().__init__()
        self._find = find

    def __missing__(self, frame: Frame) -> Value:
        """Find a value."""
        value = self[frame] = self._find(frame)
        return value

    def keep(self, column: Column[Frame, Value], frames: range) -> None:
        """Take what another column has found at some frames, where nothing has changed since."""
        self.update((frame, value) for frame, value in column.items() if frame in frames)
