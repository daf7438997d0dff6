"""Applying a solved pose to bones as their FK pose, for snapping FK to IK."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import set_span
from ...blender.messages import channel_name
from ...blender.rotation import KINDS, channel_of, continuous, mode_of
from ...editing.playing import updated
from ...plan.chain_plan import ChainPlan
from .span import Span

OTHERS = tuple(channel_of(kind)[0] for kind in KINDS[1:])
"""The channels that aren't rotations."""

ChannelKey = tuple[str, str]
"""Names of a pose bone and of one of its transform properties."""

Values = dict[ChannelKey, list[float]]


def posed_channels(chains: Iterable[ChainPlan]) -> list[ChannelKey]:
    """Return the channels that constraints of an armature pose."""
    channels: dict[ChannelKey, None] = {}
    for chain in chains:
        names, count = chain.rig.names, len(chain.rig.names)
        bones = pose_bones(chain.rig.object)
        for i in [bone for bone in chain.posed if bone not in chain.driven]:
            channels[names[i], channel_of(mode_of(bones[names[i]]))[0]] = None
        for slot in chain.more:
            channels[names[slot % count], channel_of(KINDS[slot // count])[0]] = None
    return list(channels)


def refuse_driven(armature: bpy.types.Object, channels: Iterable[ChannelKey]) -> None:
    """Refuse driven channels, because values set to them would be lost.

    Raises:
        ProblemError: If any channel is driven.
    """
    for name, channel in channels:
        if animation.has_driver(armature, pose_bones(armature)[name], channel):
            raise ProblemError(
                "The {channel} of “{bone}” is driven and can't be set: remove the driver first",
                channel=channel_name(channel),
                bone=name,
            )


def shown_values(armature: bpy.types.Object, channels: Iterable[ChannelKey]) -> Values:
    """Return the values of channels in the evaluated pose."""
    layer: Any = bpy.context.view_layer
    return fk_values(armature.evaluated_get(layer.depsgraph), channels)


def fk_values(armature: bpy.types.Object, channels: Iterable[ChannelKey]) -> Values:
    """Return the values of channels in the FK pose."""
    bones = pose_bones(armature)
    return {(bone, name): list(getattr(bones[bone], name)) for bone, name in channels}


def apply_pose(armature: bpy.types.Object, values: Values) -> None:
    """Set channel values as the FK pose, without keys.

    Animated channels return to their keys at the next frame change.

    Args:
        armature: The armature.
        values: The values, as returned by `shown_values`.
    """
    bones: Any = pose_bones(armature)
    for (bone, name), channel_values in values.items():
        setattr(bones[bone], name, channel_values)
    updated()


def key_values(
    armature: bpy.types.Object, span: Span, shown: Sequence[Values], fk_before: Values
) -> None:
    """Insert keys with the values at each frame of a span, and the earlier values at its guards.

    Args:
        armature: The armature.
        span: The frames.
        shown: The values at each frame.
        fk_before: The earlier FK values, by channel.
    """
    for (name, channel), outside_values in fk_before.items():
        bone = pose_bones(armature)[name]
        rows = [values[name, channel] for values in shown]
        if channel not in OTHERS:
            rows = continuous(mode_of(bone), rows)
        columns = list(zip(*rows, strict=True))
        set_span(bone, channel, span.frames, columns, span.guards, outside_values)
