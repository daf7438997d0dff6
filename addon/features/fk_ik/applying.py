"""Letting bones take a solved pose as their FK pose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.rotation import KINDS, channel_of, mode_of
from ...editing.playing import updated
from ...loop.chain_plan import ChainPlan

Channel = tuple[str, str]
"""A pose bone's name, and that of one of its properties."""

Values = dict[Channel, list[float]]


def posed_channels(chains: Iterable[ChainPlan]) -> list[Channel]:
    """Return the channels that constraints of one armature pose: rotations, and what else grows."""
    found: dict[Channel, None] = {}
    for chain in chains:
        names, count = chain.rig.names, len(chain.rig.names)
        bones = pose_bones(chain.rig.object)
        for i in chain.bones:
            found[names[i], channel_of(mode_of(bones[names[i]]))[0]] = None
        for slot in chain.more:
            found[names[slot % count], channel_of(KINDS[slot // count])[0]] = None
    return list(found)


def refuse_driven(armature: bpy.types.Object, channels: Iterable[Channel]) -> None:
    """Refuse channels that a driver sets, so that nothing else can.

    Raises:
        ProblemError: If there is one.
    """
    for name, channel in channels:
        if animation.has_driver(armature, pose_bones(armature)[name], channel):
            raise ProblemError(
                f"The {channel.partition('_')[0]} of “{name}” is driven and cannot be set: "
                "remove the driver first"
            )


def shown(armature: bpy.types.Object, channels: Iterable[Channel]) -> Values:
    """Return what channels hold of the pose that is shown: as solved, or else of the FK pose."""
    layer: Any = bpy.context.view_layer
    return taken(armature.evaluated_get(layer.depsgraph), channels)


def taken(armature: bpy.types.Object, channels: Iterable[Channel]) -> Values:
    """Return what channels hold of the FK pose."""
    bones = pose_bones(armature)
    return {(bone, name): list(getattr(bones[bone], name)) for bone, name in channels}


def apply_pose(armature: bpy.types.Object, values: Values) -> None:
    """Let channels take values as FK pose; nothing is keyed.

    A frame change brings animated channels back to their keys.

    Args:
        armature: The armature.
        values: What the channels get: what `shown` gave, so that the FK pose becomes the pose that
            was shown.
    """
    bones: Any = pose_bones(armature)
    for (bone, name), numbers in values.items():
        setattr(bones[bone], name, numbers)
    updated()
