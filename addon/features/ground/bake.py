"""Bake feet on the ground to sparse keys of their targets, hips, and everything that hips lift.

Targets get keys where contacts begin and end, and as many in between as the error requires. The
keys go to copies of the actions, so the original animation is kept.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

import bpy

from fabrik_solver.core.vectors import length, sub
from fabrik_solver.motion.sole import Sole

from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.rotation import LOCATION, mode_of
from ...plan.chain_plan import ChainPlan
from ...plan.planner import chains_in, current
from ...settings.properties import settings
from ..bake.goal_keys import (
    TargetBake,
    TargetBakeResult,
    TargetChannel,
    lifted_controls,
    target_channels,
)
from .goal import GroundGoal
from .hips import Hip
from .settings import ground_settings


def bake(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    armature: bpy.types.Object,
    frames: range,
    error: float,
) -> Generator[float, None, TargetBakeResult]:
    """Key the targets of an armature's grounded feet and its hips, then turn the ground off.

    See `Bake.run`.

    Args:
        scene: The scene to play.
        layer: The view layer to evaluate.
        armature: The armature object.
        frames: The range.
        error: The maximum error of a foot, in meters.

    Yields:
        The progress, from 0 to 1.

    Raises:
        ProblemError: If baking fails; nothing is changed.
    """
    if len(frames) < 2:
        raise ProblemError("No frames between Start and End: increase End")
    feet = {chain.item: _channels(chain, frames, error) for chain in _feet(armature)}
    edges = {edge for channels in feet.values() for edge in channels[0].required}
    hips = [unit for unit in current().units if isinstance(unit, Hip)]
    bones = [
        channel
        for hip in hips
        if hip.rig.object == armature
        for channel in _body_channels(hip, error, edges)
    ]

    def switch(is_on: bool) -> None:
        for index in feet:
            ground_settings(settings(armature).constraints[index]).use = is_on

    lifted = lifted_controls([c for c in chains_in(armature) if not c.problem], error)
    work = TargetBake(scene, layer, frames, armature, feet, bones, error, switch, lifted)
    return (yield from work.run())


def _body_channels(hip: Hip, error: float, edges: set[int]) -> list[TargetChannel]:
    """Return the channels of a bone that moves for its legs.

    Args:
        hip: The bone.
        error: The maximum error of a foot, in meters.
        edges: The frames that always get keys.
    """
    bone = pose_bones(hip.rig.object)[hip.rig.names[hip.bone]]
    channels = [TargetChannel(bone, LOCATION, error, required=set(edges))]
    if len(hip.ends) > 1:
        angle = error / max(map(_leg_length, hip.chains))
        channels.append(TargetChannel(bone, mode_of(bone), angle, required=set(edges)))
    return channels


def _feet(armature: bpy.types.Object) -> list[ChainPlan]:
    """Return the constraints of feet on the ground.

    Raises:
        ProblemError: If no foot is on the ground, or one has an offset.
    """
    chains = [c for c in chains_in(armature) if isinstance(c.goal_source, GroundGoal)]
    chains = [c for c in chains if not c.problem]
    if not chains:
        raise ProblemError("No foot is on the ground: enable On the Ground and choose a ground")
    offset = [c.name for c in chains if c.offset is not None]
    if offset:
        raise ProblemError(
            "Tips with an offset from their target: {names}. Disable Keep Offset",
            names=listed(offset),
        )
    return chains


def _channels(chain: ChainPlan, frames: range, error: float) -> list[TargetChannel]:
    """Return the channels of a foot's target, with keys at the start and end of each contact.

    An error in the rotation is seen at the other end of the foot.
    """
    ground = ground_settings(settings(chain.rig.object).constraints[chain.item])
    track, _ = cast(GroundGoal, chain.goal_source).contact_track(chain, ground, frames[0])
    foot = track.track.foot if track else Sole()
    size = length(sub(foot.ball, foot.heel)) or _leg_length(chain)
    channels = target_channels(chain, error, error / size)
    last = len(frames) - 1
    for begin, end in track.flats if track and ground.use_lock else ():
        span = range(max(0, begin - frames[0]), min(last, end - frames[0]) + 1)
        for channel in channels if span else ():
            channel.required |= {span[0], span[-1]}
            if len(span) > 1:
                channel.still.update(span)
    return channels


def _leg_length(chain: ChainPlan) -> float:
    return sum(chain.rig.bone(bone).length for bone in chain.bones)
