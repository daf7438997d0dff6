"""The frames that an operator works on, and how keys go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import bpy


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


def go_to(frame: float) -> None:
    """Go to a frame of the scene, or between two."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    scene.frame_set(int(frame // 1.0), subframe=frame % 1.0)


def updated() -> bpy.types.Depsgraph:
    """Have Blender evaluate what changed, and return what it shows."""
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    layer.update()
    return cast(bpy.types.Depsgraph, layer.depsgraph)
