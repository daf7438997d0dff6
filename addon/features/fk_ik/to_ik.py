"""IK to FK: the bones take the solved pose as their FK pose."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...blender.access import pose_bones
from ...blender.errors import listed
from ...blender.keying import set_span
from ...blender.refusals import refuse_unkeyable
from ...blender.rotation import KINDS, channel_of, continuous, mode_of
from ...editing.constraints import is_on
from ...editing.playing import updated
from ...loop.chain_plan import ChainPlan
from ...loop.muting import insisting, muting
from .applying import Channel, Values, apply_pose, posed_channels, refuse_driven, shown, taken
from .snap import (
    ROUNDED,
    Look,
    Snapped,
    compared,
    keeping_unkeyed,
    look,
    on_top,
    others_on,
    planned,
    present_frame,
)
from .span import Span, key_influence

OTHERS = tuple(channel_of(kind)[0] for kind in KINDS[1:])
"""The channels that are no rotation."""

WHY_NOT_FK = (
    "Its bones do not keep the pose: check for constraints, drivers or NLA strips that affect them"
)
WHY_OTHERS = (
    "It shares bones with {}, which changes the pose further: snap them together, with "
    "Constraints set to All"
)
WHY_NOT_IK = (
    "Its FK pose now matches the solved pose, but as long as it is enabled it is solved again "
    "from there, which Stretch, Softness, weights below 1 and solvers that have not converged "
    "change: set its Influence to 0"
)


def snap_to_ik(armature: bpy.types.Object, indices: Sequence[int], span: Span) -> Snapped:
    """Let the bones of constraints take the pose that is shown as their FK pose.

    A constraint that is off counts as wholly on for it.

    Args:
        armature: The armature.
        indices: The constraints, by their places in its list.
        span: The frames. The constraints are off there if it switches, and on at other frames.

    Raises:
        ProblemError: If it cannot be done; then nothing has changed.
    """
    chains = planned(armature, indices, span)
    channels = posed_channels(chains)
    refuse_driven(armature, channels)
    if span.is_keyed:
        refuse_unkeyable(armature)
    with present_frame(span):
        wanted, found = _shown(armature, chains, channels, span)
        before = taken(armature, channels)
        if not span.is_range:
            apply_pose(armature, found[0])
        with keeping_unkeyed([armature], span):
            if span.is_keyed:
                _key(armature, span, found, before)
            if span.switches:
                for index in indices:
                    key_influence(armature, index, span, is_on=False)
        with muting(armature, indices):
            difference, problem = compared(
                chains,
                span,
                wanted,
                lambda chain, is_rounded: _why_not_fk(chain, is_rounded, indices),
            )
        updated()
        other, reason = compared(
            chains, span, wanted, lambda _, is_rounded: ROUNDED if is_rounded else WHY_NOT_IK
        )
    bones = dict.fromkeys(bone for bone, _ in channels)
    return Snapped(list(bones), max(difference, other), problem or reason)


def _shown(
    armature: bpy.types.Object, chains: Sequence[ChainPlan], channels: Sequence[Channel], span: Span
) -> tuple[list[Look], list[Values]]:
    """Return the pose of each frame as it is shown, and its channels beneath layers on top."""
    looks: list[Look] = []
    found: list[Values] = []
    above = on_top(chains)
    for _ in span.visit():
        idle = [chain.item for chain in chains if not is_on(chain)]
        with insisting(armature, idle):
            looks.append(look(updated(), chains))
            if above:
                with muting(armature, above):
                    updated()
                    found.append(shown(armature, channels))
            else:
                found.append(shown(armature, channels))
    return looks, found


def _why_not_fk(chain: ChainPlan, is_rounded: bool, indices: Sequence[int]) -> str:
    others = others_on(chain, indices)
    if others:
        return WHY_OTHERS.format(listed(others))
    return ROUNDED if is_rounded else WHY_NOT_FK


def _key(armature: bpy.types.Object, span: Span, found: Sequence[Values], before: Values) -> None:
    """Key channels as they were found at the frames of a span."""
    for (name, channel), outside in before.items():
        bone = pose_bones(armature)[name]
        rows = [values[name, channel] for values in found]
        if channel not in OTHERS:
            rows = continuous(mode_of(bone), rows)
        columns = list(zip(*rows, strict=True))
        set_span(bone, channel, span.frames, columns, span.guards, outside)
