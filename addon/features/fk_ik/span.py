"""The frames that an operator works on, and how keys go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy

from ...editing.playing import go_to, updated


@dataclass(frozen=True)
class Span:
    """One or more frames of the scene.

    Attributes:
        frames: Ascending; at least one.
        is_range: Whether the scene goes to each of them; else the only one is the present one.
        is_keyed: Whether keys are set.
        switches: Whether the influence is keyed as well, so that constraints are on, or off, there
            and stay as they are elsewhere; only with keys.
        tell: Called with how far the work has come, from 0 to 1.
    """

    frames: tuple[float, ...]
    is_range: bool = False
    is_keyed: bool = False
    switches: bool = False
    tell: Callable[[float], None] = lambda _share: None

    @property
    def guards(self) -> list[float]:
        """The last frame before a switch, and the first one after it if it is one of a range."""
        if not self.switches:
            return []
        first, last = self.frames[0] - 1.0, self.frames[-1] + 1.0
        return [first, last] if self.is_range else [first]

    def visit(self) -> Iterator[bpy.types.Depsgraph]:
        """Go to the frames, one after the other, and yield what each shows."""
        for done, frame in enumerate(self.frames):
            if self.is_range:
                go_to(frame)
            self.tell(done / len(self.frames))
            yield updated()
