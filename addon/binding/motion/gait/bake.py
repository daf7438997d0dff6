"""Baking a walk: its steps become keys on the targets of the feet, its lean keys on the body."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import chain as chained
from itertools import pairwise
from math import ceil, dist, floor
from typing import Any, NamedTuple

import bpy
import numpy as np

from ....core import point_in
from ....core.vectors import Vec
from ....motion.footfall import STILL, Footfall
from ....motion.gait import Record
from ... import animation, plan
from ...access import pose_bones, settings
from ...baking.recording import returning
from ...baking.simplifying import between, errors, knots, slopes
from ...baking.turns import Numbers
from ...chain_plan import ChainPlan, ProblemError
from ...editing import changed
from ...evaluate import snapshot
from ...keying import ActiveCurves, put_keys
from ...moving import channels_of, move_to, owner_of, refuse_unmovable
from ...read import Snapshot
from ...rotation import LOCATION, channel_of, continuous, mode_of
from ...skeleton import Point, matrix3, vector
from ..goals import aim_of
from ..simulating import history
from .body import LegGoal, known
from .gait_plan import GaitPlan, plans_of


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


@dataclass
class _Channel:
    """A channel over the frames, and where it needs keys in any case.

    Attributes:
        owner: What has it.
        name: Its name.
        rows: Its numbers at each frame.
        wanted: The frames, counted from the first, that have keys.
        still: Those of them at which it stands.
    """

    owner: Any
    name: str
    rows: list[list[float]] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    still: set[int] = field(default_factory=set)


def bake_gait(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    armature: bpy.types.Object,
    index: int,
    tolerance: float,
) -> Generator[float, None, Baked]:
    """Turn the steps of a walk into keys, and the walk off.

    If it is closed while it plays the walk, or fails, everything is as it was.

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
    frames = range(found.start, found.end + 1)
    owners = [owner_of(_target(leg.chain)) for leg in walking.legs]
    before = [_numbers(owner) for owner in owners]
    feet = [_channels(leg.chain) for leg in walking.legs]
    body = _body_channels(walking, armature)
    tips: list[list[Vec]] = []
    try:
        with returning(scene, layer):
            for frame in frames:
                scene.frame_set(frame)
                depsgraph: Any = layer.depsgraph
                moment = snapshot(depsgraph, [armature])
                tips.append([_tip(moment, leg.chain) for leg in walking.legs])
                _keep(body)
                for leg, own in zip(walking.legs, feet, strict=True):
                    _lead(moment, leg.chain)
                    _keep(own)
                yield 0.6 * len(tips) / len(frames)
    finally:
        for owner, numbers in zip(owners, before, strict=True):
            for name, values in numbers.items():
                setattr(owner, name, values)
    for own, falls in zip(feet, record.falls, strict=True):
        for channel in own:
            _mark(channel, falls, frames)
    size = min(leg.reach for leg in _legs(walking, layer))
    channels = [*chained.from_iterable(feet), *body]
    keys = sum(_write(one, frames, tolerance, size) for one in channels)
    most = sum(len(frames) * len(one.rows[0]) for one in channels)
    _turn_off(armature, index)
    worst = 0.0
    with returning(scene, layer):
        for frame, wanted in zip(frames, tips, strict=True):
            scene.frame_set(frame)
            moment = snapshot(layer.depsgraph, [armature])  # type: ignore[arg-type]
            found_tips = [_tip(moment, leg.chain) for leg in plans_of(armature)[index].legs]
            worst = max(worst, *map(dist, wanted, found_tips))
            yield 0.6 + 0.4 * (frame - frames[0] + 1) / len(frames)
    return Baked(keys, most, worst, size)


def _checked(armature: bpy.types.Object, index: int) -> tuple[GaitPlan, history.History]:
    gait = settings(armature).gaits[index]
    plan.current()
    walking = plans_of(armature)[index]
    if walking.problem:
        raise ProblemError(f"“{gait.name}” cannot walk. {walking.problem}")
    if not gait.enabled or gait.influence <= 0.0:
        raise ProblemError(f"“{gait.name}” is off: turn it on, and its Influence up")
    found = history.data(armature, walking.path)
    if found is None or not found.is_fresh:
        raise ProblemError(f"The steps of “{gait.name}” are not simulated: press Simulate first")
    owners: list[Any] = []
    for leg in walking.legs:
        target = _target(leg.chain)
        refuse_unmovable(target, leg.chain.has_hand)
        if owner_of(target) in owners:
            raise ProblemError(
                f"“{owner_of(target).name}” is the target of two legs: give each foot its own"
            )
        owners.append(owner_of(target))
    return walking, found


def _record(found: history.History, armature: bpy.types.Object, index: int) -> Record:
    record = known(found.blob)
    if record is None:
        name = settings(armature).gaits[index].name
        raise ProblemError(f"The steps of “{name}” cannot be read: press Simulate first")
    return record[0]


def _target(chain: ChainPlan) -> Point:
    assert chain.target is not None  # Or the walk had a problem.
    return chain.target


def _legs(walking: GaitPlan, layer: bpy.types.ViewLayer) -> Sequence[Any]:
    matrix = walking.rig.object.evaluated_get(layer.depsgraph).matrix_world  # type: ignore[arg-type]
    return walking.measured((matrix3(matrix), vector(matrix.translation)))


def _channels(chain: ChainPlan) -> list[_Channel]:
    target = _target(chain)
    return [_Channel(owner_of(target), name) for name in channels_of(target, chain.has_hand)]


def _body_channels(walking: GaitPlan, armature: bpy.types.Object) -> list[_Channel]:
    if not walking.leans:
        return []
    bone = pose_bones(armature)[walking.rig.names[walking.body]]
    names = [channel_of(LOCATION)[0], channel_of(mode_of(bone))[0]]
    return [_Channel(bone, name) for name in names]


def _numbers(owner: Any) -> dict[str, list[float]]:
    names = (channel_of(LOCATION)[0], channel_of(mode_of(owner))[0])
    return {name: list(getattr(owner, name)) for name in names}


def _keep(channels: Sequence[_Channel]) -> None:
    for one in channels:
        one.rows.append(list(getattr(one.owner, one.name)))


def _lead(moment: Snapshot, chain: ChainPlan) -> None:
    """Put the target of a leg where the walk has its foot."""
    assert isinstance(chain.goal_source, LegGoal)
    given = aim_of(moment, chain)
    aim = chain.goal_source.goal(moment, chain, given)
    target = _target(chain)
    place = tuple(
        there + to - at
        for there, to, at in zip(moment.place(target)[1], aim.place, given.place, strict=True)
    )
    move_to(moment.depsgraph, target, vector(place), aim.axes)


def _tip(moment: Snapshot, chain: ChainPlan) -> Vec:
    """Return where the tip of a leg is, in world space."""
    rig = chain.rig
    world = moment.world(rig.object, rig.uid)
    if chain.tip_bone >= 0:
        return point_in(world, moment.frame(rig, chain.tip_bone)[1])
    last = chain.bones[-1]
    tail = point_in(moment.frame(rig, last), (0.0, rig.bone(last).length, 0.0))
    return point_in(world, tail)


def _mark(channel: _Channel, falls: Sequence[Footfall], frames: range) -> None:
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


def _write(channel: _Channel, frames: range, tolerance: float, size: float) -> int:
    """Write the keys of a channel, and return how many."""
    mode = LOCATION if channel.name == "location" else mode_of(channel.owner)
    rows = channel.rows if mode == LOCATION else continuous(mode, channel.rows)
    column = np.array(rows, np.float64)
    slope = slopes(column)
    slope[sorted(channel.still)] = 0.0
    ends = sorted({0, len(frames) - 1} | channel.wanted)

    def misses(first: int, last: int) -> Numbers:
        curve = between(column, slope, first, last)
        return errors(mode, column[first + 1 : last], curve, size)

    standing = {0}
    for first, last in pairwise(ends):
        standing.update(knots(range(first, last + 1), misses, tolerance))
    places = sorted(standing)
    curves = ActiveCurves(channel.owner.id_data)
    path = channel.owner.path_from_id(channel.name)
    group = channel.owner.name if isinstance(channel.owner, bpy.types.PoseBone) else ""
    for i in range(column.shape[1]):
        put_keys(
            curves.at(path, i, group),
            [frames[place] for place in places],
            column[places, i].tolist(),
            slope[places, i].tolist(),
        )
    return len(places) * column.shape[1]


def _turn_off(armature: bpy.types.Object, index: int) -> None:
    gait = settings(armature).gaits[index]
    animation.mute(armature, gait.path_from_id("enabled"))
    gait.enabled = False
    changed(armature)
