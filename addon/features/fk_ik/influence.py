"""Keys on the influence of a constraint, so that it is on for some frames and off for others."""

from __future__ import annotations

import bpy

from ...blender import animation
from ...blender.errors import ProblemError
from ...blender.keying import set_span
from ...loop.properties import settings
from .span import Span


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
