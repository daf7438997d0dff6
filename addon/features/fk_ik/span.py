"""The frames of a snap, and keying the influence for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy

from ...blender import animation
from ...blender.access import frame_rate, quarter_second
from ...blender.errors import ProblemError
from ...blender.keying import key_frames, set_span
from ...editing.playing import go_to, updated
from ...settings.properties import settings


@dataclass(frozen=True)
class Span:
    """One or more frames of the scene.

    Attributes:
        frames: Frames in ascending order, at least one.
        is_range: Whether to visit all frames; otherwise there is only the current frame.
        is_keyed: Whether to insert keys.
        switches: Whether to also key the influence, so that the constraints are on or off at these
            frames only; requires `is_keyed`.
        notify: Called with the progress, from 0 to 1.
    """

    frames: tuple[float, ...]
    is_range: bool = False
    is_keyed: bool = False
    switches: bool = False
    notify: Callable[[float], None] = lambda _fraction: None

    @property
    def guards(self) -> list[float]:
        """The last frame before a switch and, for a range, the first frame after it."""
        if not self.switches:
            return []
        first, last = self.frames[0] - 1.0, self.frames[-1] + 1.0
        return [first, last] if self.is_range else [first]

    def visit(self) -> Iterator[bpy.types.Depsgraph]:
        """Go to each frame, and yield its evaluated depsgraph."""
        for index, frame in enumerate(self.frames):
            if self.is_range:
                go_to(frame)
            self.notify(index / len(self.frames))
            yield updated()


def refuse_unswitchable(armature: bpy.types.Object, index: int) -> None:
    """Refuse a constraint that can't be switched by keying its influence.

    Raises:
        ProblemError: If its influence is driven, or Enabled is animated.
    """
    item = settings(armature).constraints[index]
    path = item.path_from_id("influence")
    if animation.is_driven(armature, path):
        raise ProblemError(
            "The influence of “{constraint}” is driven and can't be keyed: key its driver's "
            "source, or remove the driver",
            constraint=item.name,
        )
    if animation.is_set(armature, item.path_from_id("enabled")):
        raise ProblemError(
            "“{constraint}” has an animated Enabled, which conflicts with switching: remove its "
            "keys and key the influence instead",
            constraint=item.name,
        )


def key_influence(armature: bpy.types.Object, index: int, span: Span, is_on: bool) -> None:
    """Key the influence of a constraint for the frames of a span, without changing other frames.

    An influence without keys gets the opposite value at other frames, or keeps a partial value.

    Args:
        armature: The armature.
        index: Index of the constraint.
        span: The frames. A single frame switches until the next key.
        is_on: Whether to turn the constraint on at these frames.
    """
    item = settings(armature).constraints[index]
    value = 1.0 if is_on else 0.0
    outside_value = 0.0 if is_on else item.influence or 1.0
    frames = [span.frames[0], span.frames[-1]] if span.is_range else [span.frames[0]]
    if frames[0] == frames[-1]:
        frames = frames[:1]
    item.enabled = True
    item.influence = value
    set_span(item, "influence", frames, [[value] * len(frames)], span.guards, [outside_value])
    item.influence = value


def key_takeover(armature: bpy.types.Object, index: int, span: Span) -> float:
    """Key the influence of a constraint from 0 at a frame to 1 a quarter of a second later.

    If the influence has keys in between, it blends to those instead.

    Args:
        armature: The armature.
        index: Index of the constraint.
        span: A single frame.

    Returns:
        The frame at which the takeover ends.
    """
    item = settings(armature).constraints[index]
    first = span.frames[0]
    last = first + quarter_second(frame_rate(bpy.context.scene))
    keys_between = [frame for frame in key_frames(item, ["influence"]) if first < frame <= last]
    values = {first: 0.0} if keys_between else {first: 0.0, last: 1.0}
    item.enabled = True
    item.influence = 0.0
    set_span(item, "influence", list(values), [[*values.values()]], span.guards, [0.0])
    item.influence = 0.0
    return max(keys_between, default=last)
