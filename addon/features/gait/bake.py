"""Bake a walk to keys on its foot targets, body and spine."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from math import ceil, floor
from typing import Any, cast

import bpy

from fabrik_solver.motion.footfall import STILL, Footfall
from fabrik_solver.motion.gait import RecordedWalk

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.rotation import LOCATION, mode_of
from ...blender.skeleton import matrix_frame
from ...editing.constraints import changed
from ...plan import planner
from ..bake.goal_keys import TargetBake, TargetBakeResult, TargetChannel, target_channels
from ..simulation import history
from .gait_plan import GaitPlan, plans_of
from .sampling import stored_walk
from .settings import gait_settings


def bake_gait(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    armature: bpy.types.Object,
    index: int,
    tolerance: float,
) -> Generator[float, None, tuple[TargetBakeResult, float]]:
    """Bake the steps of a walk to keys, and disable the walk.

    The keys go into copies of the actions (see `Bake.run`).

    Args:
        scene: The scene to play.
        layer: The view layer to evaluate.
        armature: The armature.
        index: The index of the walk.
        tolerance: The largest error of the curves, in lengths of the shortest leg or in radians.

    Yields:
        The progress, from 0 to 1.

    Returns:
        The result, and the length of the shortest leg in meters.

    Raises:
        ProblemError: If nothing can be baked, or a target can't be keyed.
    """
    walking, frames, record = _checked(armature, index)
    evaluated = armature.evaluated_get(cast(Any, layer.depsgraph))
    size = min(leg.reach for leg in walking.measured(matrix_frame(evaluated.matrix_world)))
    feet: dict[int, list[TargetChannel]] = {}
    for leg, falls in zip(walking.legs, record.falls, strict=True):
        feet[leg.chain.item] = target_channels(leg.chain, tolerance * size, tolerance)
        for channel in feet[leg.chain.item]:
            _mark(channel, falls, frames)
    body = _body_channels(walking, armature, tolerance * size, tolerance)

    def switch(is_on: bool) -> None:
        gait = gait_settings(armature).gaits[index]
        if not is_on:
            animation.mute(armature, gait.path_from_id("enabled"))
        gait.enabled = is_on
        changed(armature)

    work = TargetBake(scene, layer, frames, armature, feet, body, tolerance * size, switch)
    if armature not in work.owners:  # Its action may key `enabled`.
        work.owners.append(armature)
    return (yield from work.run()), size


def _checked(armature: bpy.types.Object, index: int) -> tuple[GaitPlan, range, RecordedWalk]:
    gait = gait_settings(armature).gaits[index]
    planner.current()
    walking = plans_of(armature)[index]
    if walking.problem:
        raise ProblemError(
            "“{name}” can't walk. {problem}", name=gait.name, problem=walking.problem
        )
    if not gait.enabled or gait.influence <= 0.0:
        raise ProblemError(
            "“{walk}” is disabled, or its influence is 0: enable it, and increase Influence",
            walk=gait.name,
        )
    walk = history.data(armature, walking.path)
    if walk is None or not walk.is_fresh:
        raise ProblemError("The steps of “{walk}” aren't simulated: press Simulate", walk=gait.name)
    record = stored_walk(walk.blob)
    if record is None or len(record[0].falls) != len(gait.legs):
        raise ProblemError("The simulation is damaged: press Simulate")
    return walking, walk.frames, record[0]


def _body_channels(
    walking: GaitPlan, armature: bpy.types.Object, distance: float, angle: float
) -> list[TargetChannel]:
    if not walking.leans:
        return []
    bones = pose_bones(armature)
    body, *spine = (bones[walking.rig.names[bone]] for bone in (walking.body, *walking.spine))
    turns = [TargetChannel(bone, mode_of(bone), angle) for bone in (body, *spine)]
    return [TargetChannel(body, LOCATION, distance), *turns]


def _mark(channel: TargetChannel, falls: Sequence[Footfall], frames: range) -> None:
    """Request keys of a foot's channel at toe-off, mid-swing and landing."""
    for previous, fall in pairwise(falls):
        for frame, ground in ((floor(fall.lift), previous.ground), (ceil(fall.land), fall.ground)):
            if frame in frames:
                channel.required.add(frame - frames[0])
                if ground == STILL:
                    channel.still.add(frame - frames[0])
        top = round(0.5 * (fall.lift + fall.land))
        if fall.lift < top < fall.land and top in frames:
            channel.required.add(top - frames[0])
