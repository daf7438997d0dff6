"""Options of a bake, and checks to refuse it before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.refusals import linked_problem, rest_problem, tweak_problem
from ...blender.rotation import channel_of
from .selecting import BakeSelection

LEAVE, DISABLE, REMOVE, EXPORT = "LEAVE", "DISABLE", "REMOVE", "EXPORT"
"""What to do with the constraints after the bake. EXPORT also removes what only served them."""

FARTHEST = 1_048_574
"""The last frame that Blender supports; the first is its negative."""


@dataclass(frozen=True)
class BakeOptions:
    """Options of a bake.

    Attributes:
        start: The first frame.
        end: The last frame.
        step: Frames between keys; the last frame always has a key.
        error: Maximum error of simplified channels, in radians; 0 keeps all keys.
        is_new: Whether to bake to a copy of the current action.
        afterwards: What to do with the constraints.
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
        """The frames that may get keys, counted from the start of the range."""
        last = self.end - self.start
        return sorted({*range(0, last + 1, self.step), last})


def check(selections: Sequence[BakeSelection], options: BakeOptions) -> None:
    """Check that a bake can succeed.

    Raises:
        ProblemError: If the bake would fail.
    """
    if options.end < options.start:
        raise ProblemError(
            "End ({end}) is before Start ({start}): increase End",
            end=options.end,
            start=options.start,
        )
    if not -FARTHEST <= options.start <= options.end <= FARTHEST:
        raise ProblemError(
            "Frames must be between {first:,} and {last:,}: choose another range",
            first=-FARTHEST,
            last=FARTHEST,
        )
    if options.step < 1 or not 0.0 <= options.error <= pi:
        raise ProblemError("Step must be 1 or more, and Simplify between 0° and 180°")
    used_actions: set[tuple[int, int]] = set()
    for selection in selections:
        _check_armature(selection.armature, options)
        if not options.is_new:
            _check_action(selection, used_actions)


def _check_armature(ob: bpy.types.Object, options: BakeOptions) -> None:
    if problem := linked_problem(ob) or tweak_problem(ob):
        raise ProblemError(problem)
    name = msg("“{object}”", object=ob.name)
    if options.afterwards in (REMOVE, EXPORT) and ob.override_library is not None:
        raise ProblemError(
            "The constraints of {name} come from a linked file and can't be removed: disable "
            "them instead",
            name=name,
        )
    if problem := rest_problem(ob):
        raise ProblemError(problem)
    data = ob.animation_data
    if data is None or not data.use_nla or not data.nla_tracks:
        return
    if any(track.is_solo for track in data.nla_tracks):
        raise ProblemError(
            "An NLA track of {name} is solo and would hide the baked keys: turn solo off",
            name=name,
        )
    if data.action_blend_type != "REPLACE" or data.action_influence < 1.0:
        raise ProblemError(
            "The active action of {name} blends with the NLA, which would change the baked keys: "
            "set its blending to Replace and its influence to 1",
            name=name,
        )


def _check_action(selection: BakeSelection, used_actions: set[tuple[int, int]]) -> None:
    """Check that keys can be inserted into the current action."""
    data: Any = selection.armature.animation_data
    if data is None or data.action is None:
        return
    action = data.action
    hint = msg("bake into a new action")
    if not action.is_editable:
        raise ProblemError("The action “{action}” is linked: {hint}", action=action.name, hint=hint)
    action_key = (action.session_uid, getattr(data, "action_slot_handle", 0))
    if action_key in used_actions:
        raise ProblemError(
            "The action “{action}” is used by several armatures: {hint}",
            action=action.name,
            hint=hint,
        )
    used_actions.add(action_key)
    paths = _paths(selection)
    for curve in animation.all_active_curves(selection.armature):
        if curve.data_path in paths and (curve.lock or (curve.group and curve.group.lock)):
            raise ProblemError(
                "The channel “{channel}” is locked in the Graph Editor: unlock it, or {hint}",
                channel=curve.data_path,
                hint=hint,
            )


def _paths(selection: BakeSelection) -> set[str]:
    bones = pose_bones(selection.armature)
    return {
        bones[selection.names[bone]].path_from_id(channel_of(channel.mode)[0])
        for channel in selection.channels
        for bone in channel.bones
    }
