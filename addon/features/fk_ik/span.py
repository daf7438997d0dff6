"""The frames that an operator works on, and keys of the influence that go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy

from ...blender import animation
from ...blender.errors import ProblemError
from ...blender.keying import set_span
from ...editing.playing import go_to, updated
from ...loop.properties import settings


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


def refuse_unswitchable(armature: bpy.types.Object, index: int) -> None:
    """Refuse a constraint whose influence cannot decide at which frames it is on.

    Raises:
        ProblemError: Saying what is in the way.
    """
    item = settings(armature).constraints[index]
    path = item.path_from_id("influence")
    if any(found == path for found, _ in animation.driven(armature)):
        raise ProblemError(
            f"The influence of “{item.name}” is driven and cannot be keyed: key what drives it, "
            "or remove the driver"
        )
    if animation.animated(armature).sets(item.path_from_id("enabled")):
        raise ProblemError(
            f"Whether “{item.name}” is enabled is animated, which conflicts with switching: "
            "remove that animation and key the influence instead"
        )


def key_influence(armature: bpy.types.Object, index: int, span: Span, is_on: bool) -> None:
    """Key a constraint on, or off, for the frames of a span; nothing changes at other frames.

    If it was not keyed, it gets the opposite there; but if it was partly on, it stays that.

    Args:
        armature: The armature.
        index: Of the constraint.
        span: The frames, which are a switch. If they are no range, it stays so until its next key.
        is_on: Whether it is on at them.
    """
    item = settings(armature).constraints[index]
    value = 1.0 if is_on else 0.0
    outside = 0.0 if is_on else item.influence or 1.0
    frames = [span.frames[0], span.frames[-1]] if span.is_range else [span.frames[0]]
    if frames[0] == frames[-1]:
        frames = frames[:1]
    item.enabled = True
    item.influence = value
    set_span(item, "influence", frames, [[value] * len(frames)], span.guards, [outside])
    item.influence = value
