"""Baking a walk: its steps become keys on the targets of the feet, its lean keys on the body."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import chain as chained
from itertools import pairwise
from math import ceil, dist, floor
from typing import Any, NamedTuple

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.moving import owner_of, refuse_unmovable
from ...blender.rotation import LOCATION, mode_of
from ...blender.skeleton import Point, matrix_frame
from ...core import point_in
from ...core.vectors import Vec
from ...editing.constraints import changed
from ...editing.playing import returning
from ...loop import plan
from ...loop.chain_plan import ChainPlan
from ...loop.solved_scene import SolvedScene
from ...loop.solving import take_snapshot
from ...motion.footfall import STILL, Footfall
from ...motion.gait import Record
from ..bake.bake import drafted
from ..bake.goal_keys import Channel, led, target_channels
from ..simulation import history
from .body import known
from .gait_plan import GaitPlan, plans_of
from .settings import gait_settings


class Baked(NamedTuple):
    """What a bake has done.

    Attributes:
        keys: How many keys there are, of all numbers together.
        most: How many there would be with one at each frame.
        error: How far a foot is from where the walk had it at most, in metres.
        size: The length of the shortest leg, in metres.
    """

    keys: int
    most: int
    error: float
    size: float


def bake_gait(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    armature: bpy.types.Object,
    index: int,
    tolerance: float,
) -> Generator[float, None, Baked]:
    """Turn the steps of a walk into keys, and the walk off.

    The keys go into copies of the actions. If it is closed before its end, or fails, everything is
    as it was.

    Args:
        scene: The scene that is played.
        layer: What is evaluated.
        armature: The armature.
        index: The place of the walk.
        tolerance: How far the curves may be off between keys, in lengths of the shortest leg, or
            in radians.

    Yields:
        The share that is done.

    Raises:
        ProblemError: If there is nothing to bake, or a target cannot be keyed.
    """
    walking, found = _checked(armature, index)
    record = _record(found, armature, index)
    frames = found.frames
    size = min(leg.reach for leg in _legs(walking, layer))
    feet = [target_channels(leg.chain, tolerance * size, tolerance) for leg in walking.legs]
    body = _body_channels(walking, armature, tolerance * size, tolerance)
    tips: list[list[Vec]] = []
    with returning(scene, layer):
        for frame in frames:
            scene.frame_set(frame)
            depsgraph: Any = layer.depsgraph
            snapshot = take_snapshot(depsgraph, [armature])
            tips.append([_tip(snapshot, leg.chain) for leg in walking.legs])
            for one in body:
                one.note_shown(depsgraph)
            for leg, own in zip(walking.legs, feet, strict=True):
                with led(snapshot, leg.chain):
                    _note(own)
            yield 0.6 * len(tips) / len(frames)
    for own, falls in zip(feet, record.falls, strict=True):
        for channel in own:
            _mark(channel, falls, frames)
    channels = [*chained.from_iterable(feet), *body]
    most = sum(len(frames) * len(one.rows[0]) for one in channels)
    worst = 0.0
    # That of the armature as well, in which what turns the walk on may be keyed.
    owners = dict.fromkeys((*(one.owner.id_data for one in channels), armature))
    with drafted(owners) as drafts:
        keys = sum(one.write(frames) for one in channels)
        try:
            _switch(armature, index, False)
            with returning(scene, layer):
                for frame, wanted in zip(frames, tips, strict=True):
                    scene.frame_set(frame)
                    snapshot = take_snapshot(layer.depsgraph, [armature])  # type: ignore[arg-type]
                    found_tips = [
                        _tip(snapshot, leg.chain) for leg in plans_of(armature)[index].legs
                    ]
                    worst = max(worst, *map(dist, wanted, found_tips))
                    yield 0.6 + 0.4 * (frame - frames[0] + 1) / len(frames)
        except BaseException:
            _switch(armature, index, True)
            raise
    for draft in drafts:
        draft.keep()
    return Baked(keys, most, worst, size)


def _checked(armature: bpy.types.Object, index: int) -> tuple[GaitPlan, history.History]:
    gait = gait_settings(armature).gaits[index]
    plan.current()
    walking = plans_of(armature)[index]
    if walking.problem:
        raise ProblemError(f"“{gait.name}” cannot walk. {walking.problem}")
    if not gait.enabled or gait.influence <= 0.0:
        raise ProblemError(
            f"“{gait.name}” is disabled, or its influence is 0: enable it, and increase Influence"
        )
    found = history.data(armature, walking.path)
    if found is None or not found.is_fresh:
        raise ProblemError(f"The steps of “{gait.name}” are not simulated: press Simulate first")
    owners: list[Any] = []
    for leg in walking.legs:
        target = _target(leg.chain)
        refuse_unmovable(target, leg.chain.has_hand)
        if owner_of(target) in owners:
            raise ProblemError(
                f"“{owner_of(target).name}” is the target of two legs: give each foot its "
                "own target"
            )
        owners.append(owner_of(target))
    return walking, found


def _record(found: history.History, armature: bpy.types.Object, index: int) -> Record:
    record = known(found.blob)
    if record is None or len(record[0].falls) != len(gait_settings(armature).gaits[index].legs):
        name = gait_settings(armature).gaits[index].name
        raise ProblemError(f"The steps of “{name}” cannot be read: press Simulate first")
    return record[0]


def _target(chain: ChainPlan) -> Point:
    assert chain.target is not None  # Or the walk had a problem.
    return chain.target


def _legs(walking: GaitPlan, layer: bpy.types.ViewLayer) -> Sequence[Any]:
    matrix = walking.rig.object.evaluated_get(layer.depsgraph).matrix_world  # type: ignore[arg-type]
    return walking.measured(matrix_frame(matrix))


def _body_channels(
    walking: GaitPlan, armature: bpy.types.Object, distance: float, angle: float
) -> list[Channel]:
    if not walking.leans:
        return []
    bone = pose_bones(armature)[walking.rig.names[walking.body]]
    return [Channel(bone, LOCATION, distance), Channel(bone, mode_of(bone), angle)]


def _note(channels: Sequence[Channel]) -> None:
    for one in channels:
        one.note()


def _tip(snapshot: SolvedScene, chain: ChainPlan) -> Vec:
    """Return where the tip of a leg is, in world space."""
    rig = chain.rig
    world = snapshot.world(rig.object, rig.uid)
    if chain.tip_bone >= 0:
        return point_in(world, snapshot.frame(rig, chain.tip_bone)[1])
    last = chain.bones[-1]
    tail = point_in(snapshot.frame(rig, last), (0.0, rig.bone(last).length, 0.0))
    return point_in(world, tail)


def _mark(channel: Channel, falls: Sequence[Footfall], frames: range) -> None:
    """Ask for keys where a foot is lifted, at the top of its step, and where it lands."""
    for before, fall in pairwise(falls):
        for frame, ground in ((floor(fall.lift), before.ground), (ceil(fall.land), fall.ground)):
            if frame in frames:
                channel.wanted.add(frame - frames[0])
                if ground == STILL:
                    channel.still.add(frame - frames[0])
        top = round(0.5 * (fall.lift + fall.land))
        if fall.lift < top < fall.land and top in frames:
            channel.wanted.add(top - frames[0])


def _switch(armature: bpy.types.Object, index: int, is_on: bool) -> None:
    gait = gait_settings(armature).gaits[index]
    if not is_on:
        animation.mute(armature, gait.path_from_id("enabled"))
    gait.enabled = is_on
    changed(armature)
