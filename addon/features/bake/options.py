"""How to bake, and what would keep it from being right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.refusals import linked_problem, rest_problem, tweak_problem
from ...blender.rotation import channel_of
from .picking import Picked

LEAVE, DISABLE, REMOVE = "LEAVE", "DISABLE", "REMOVE"
"""What becomes of the constraints."""

FARTHEST = 1_048_574
"""The last frame that Blender knows, and from 0 the other way the first one."""


@dataclass(frozen=True)
class BakeOptions:
    """How to bake.

    Attributes:
        start: The first frame.
        end: The last one.
        step: From one key to the next, in frames; the last frame has a key in any case.
        error: By what angle simplified channels may be off, in radians; 0 keeps all keys.
        is_new: Whether the keys go into a copy of the action, so that the action stays as it is.
        afterwards: What becomes of the constraints.
    """

    start: int
    end: int
    step: int = 1
    error: float = 0.0
    is_new: bool = True
    afterwards: str = DISABLE

    @property
    def frames(self) -> range:
        """All frames of the range."""
        return range(self.start, self.end + 1)

    @property
    def places(self) -> list[int]:
        """The frames at which keys may stand, counted from the first frame of the range."""
        last = self.end - self.start
        return sorted({*range(0, last + 1, self.step), last})


def check(picks: Sequence[Picked], options: BakeOptions) -> None:
    """Look for what would keep a bake from being right.

    Raises:
        ProblemError: If there is anything.
    """
    if options.end < options.start:
        raise ProblemError(f"End ({options.end}) is before Start ({options.start}): increase End")
    if not -FARTHEST <= options.start <= options.end <= FARTHEST:
        raise ProblemError(
            f"Frames must be between {-FARTHEST:,} and {FARTHEST:,}: choose another range"
        )
    if options.step < 1 or not 0.0 <= options.error <= pi:
        raise ProblemError("Step must be 1 or more, and Simplify between 0° and 180°")
    used: set[tuple[int, int]] = set()
    for picked in picks:
        _check_armature(picked.armature, options)
        if not options.is_new:
            _check_action(picked, used)


def _check_armature(ob: bpy.types.Object, options: BakeOptions) -> None:
    if problem := linked_problem(ob) or tweak_problem(ob):
        raise ProblemError(problem)
    name = f"“{ob.name}”"
    if options.afterwards == REMOVE and ob.override_library is not None:
        raise ProblemError(
            f"The constraints of {name} come from the linked file and cannot be removed: "
            "disable them instead"
        )
    if problem := rest_problem(ob):
        raise ProblemError(problem)
    data = ob.animation_data
    if data is None or not data.use_nla or not data.nla_tracks:
        return
    if any(track.is_solo for track in data.nla_tracks):
        raise ProblemError(
            f"An NLA track of {name} is solo, which would hide the baked keys: disable its solo"
        )
    if data.action_blend_type != "REPLACE" or data.action_influence < 1.0:
        raise ProblemError(
            f"The active action of {name} is blended with the NLA below it, which would change "
            "the baked keys: set its blending to Replace and its influence to 1"
        )


def _check_action(picked: Picked, used: set[tuple[int, int]]) -> None:
    """Look whether the present action can take the keys."""
    data: Any = picked.armature.animation_data
    if data is None or data.action is None:
        return
    action = data.action
    hint = "bake into a new action"
    if not action.is_editable:
        raise ProblemError(f"The action “{action.name}” is linked: {hint}")
    key = (action.session_uid, getattr(data, "action_slot_handle", 0))
    if key in used:
        raise ProblemError(f"The action “{action.name}” is used by several armatures: {hint}")
    used.add(key)
    paths = _paths(picked)
    for curve in animation.all_active_curves(picked.armature):
        if curve.data_path in paths and (curve.lock or (curve.group and curve.group.lock)):
            raise ProblemError(
                f"The channel “{curve.data_path}” is locked in the Graph Editor: unlock it, or "
                f"{hint}"
            )


def _paths(picked: Picked) -> set[str]:
    """Return the paths of all channels that are baked."""
    bones = pose_bones(picked.armature)
    return {
        bones[picked.names[bone]].path_from_id(channel_of(channel.mode)[0])
        for channel in picked.channels
        for bone in channel.bones
    }
