"""Baking feet on the ground to a few keys of their targets and of the hip.

The targets get keys where contacts begin and end, and as many between as it takes to stay within an
error. They go into copies of the actions, so that the walk itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain as chained
from typing import Any, NamedTuple, cast

import bpy
import numpy as np

from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.moving import refuse_unmovable
from ...blender.refusals import refuse_unkeyable
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, vector
from ...blender.turns import Numbers
from ...editing.playing import returning, staged
from ...loop.chain_plan import ChainPlan
from ...loop.plan import Plan, current
from ...loop.properties import settings
from ...loop.solving import take_snapshot
from ..bake.bake import drafted
from ..bake.goal_keys import Channel, led, target_channels
from .footing import Footing
from .hips import Hip
from .settings import ground_settings

TURN = 0.1
"""How many lengths of the leg away an error of a turn is as large as that of a place."""


class Outcome(NamedTuple):
    """What a bake has done.

    Attributes:
        feet: How many feet were baked.
        keys: How many keys there are.
        most: How many there would be with one at each frame.
        distance: By how much a foot or the hip is elsewhere than it was live, in metres.
        frame: Where it is by that much.
    """

    feet: int
    keys: int
    most: int
    distance: float
    frame: int


def bake(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    armature: bpy.types.Object,
    frames: range,
    error: float,
) -> Generator[float, None, Outcome]:
    """Key the targets of an armature's feet and its hips as the ground has them, and turn it off.

    If it is closed before its end, or fails, everything is as it was.

    Args:
        scene: The scene that is played.
        layer: What is evaluated.
        armature: The armature object.
        frames: The range.
        error: By how much a foot may be elsewhere, in metres.

    Yields:
        The share that is done.

    Raises:
        ProblemError: If that cannot be; then nothing has changed.
    """
    if len(frames) < 2:
        raise ProblemError("There are no frames between Start and End: increase End")
    chains = _feet(armature)
    points = [cast(Point, chain.target) for chain in chains]
    hips = [unit for unit in current().units if _is_hip(unit, armature)]
    owners = _owners(armature, points, bool(hips))
    items = [chain.item for chain in chains]
    played: list[Numbers] = []
    with staged(layer, [armature], {point.object for point in points}):
        with returning(scene, layer, in_any_case=True):
            channels, live = yield from _recorded(
                scene, layer, armature, chains, hips, frames, error
            )
        with drafted(owners) as drafts:
            counts = [channel.write(frames) for channel in channels]
            try:
                _switch(armature, items, False)
                with returning(scene, layer, in_any_case=True):
                    for done in _playing(scene, frames):
                        played.append(_places(layer, armature, items))
                        yield 0.5 + 0.5 * done
            except BaseException:
                _switch(armature, items, True)
                raise
    for draft in drafts:
        draft.keep()
    apart = np.linalg.norm(np.subtract(live, played), axis=-1).max(axis=-1)
    worst = int(apart.argmax())
    return Outcome(
        len(chains),
        sum(counts),
        len(frames) * sum(len(channel.rows[0]) for channel in channels),
        float(apart[worst]),
        frames[worst],
    )


def _feet(armature: bpy.types.Object) -> list[ChainPlan]:
    """Return the constraints of feet on the ground.

    Raises:
        ProblemError: If there are none, or the target of one cannot be keyed for it.
    """
    chains = [c for c in current().chains if c.rig.object == armature]
    chains = [c for c in chains if isinstance(c.goal_source, Footing) and not c.problem]
    if not chains:
        raise ProblemError("No foot is on the ground: enable On the Ground, and choose a ground")
    offset = [c.name for c in chains if c.offset is not None]
    if offset:
        raise ProblemError(
            f"The tip of {listed(offset)} has an offset from its target: disable Keep Offset"
        )
    targets = [(c.target.object, c.target.bone) for c in chains if c.target is not None]
    if len(set(targets)) < len(targets):
        raise ProblemError("Two feet have the same target: give each foot its own target")
    for chain in chains:
        refuse_unmovable(cast(Point, chain.target), chain.has_hand)
    return chains


def _is_hip(unit: object, armature: bpy.types.Object) -> bool:
    return isinstance(unit, Hip) and unit.rig.object == armature


def _owners(
    armature: bpy.types.Object, points: Sequence[Point], has_hips: bool
) -> list[bpy.types.Object]:
    """Return the objects whose actions get keys.

    Raises:
        ProblemError: If one cannot have any.
    """
    owners = [point.object for point in points] + ([armature] if has_hips else [])
    owners = list(dict.fromkeys(owners))
    for owner in owners:
        refuse_unkeyable(owner)
    return owners


def _recorded(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    armature: bpy.types.Object,
    chains: Sequence[ChainPlan],
    hips: Sequence[Any],
    frames: range,
    error: float,
) -> Generator[float, None, tuple[list[Channel], list[Numbers]]]:
    """Play the range, and return what gets keys, and where feet and hips are."""
    feet = [_foot_channels(chain, frames, error) for chain in chains]
    edges = {edge for channels in feet for edge in channels[0].wanted}
    bones = [pose_bones(armature)[hip.rig.names[hip.bone]] for hip in hips]
    over = [Channel(bone, LOCATION, error, wanted=edges) for bone in bones]
    items = [chain.item for chain in chains]
    live: list[Numbers] = []
    for done in _playing(scene, frames):
        snapshot = take_snapshot(cast(Any, layer.depsgraph), [armature])
        for chain, channels in zip(_of(snapshot.plan, armature, items), feet, strict=True):
            with led(snapshot, chain):
                for channel in channels:
                    channel.note()
        for channel in over:
            channel.note_shown(cast(Any, layer.depsgraph))
        live.append(_places(layer, armature, items))
        yield 0.5 * done
    return [*chained.from_iterable(feet), *over], live


def _foot_channels(chain: ChainPlan, frames: range, error: float) -> list[Channel]:
    """Return the channels of a foot's target, with keys where a contact begins and ends."""
    leg = sum(chain.rig.bone(bone).length for bone in chain.bones)
    channels = target_channels(chain, error, error / (TURN * leg))
    for first, last in _still(chain, frames):
        for channel in channels:
            channel.wanted |= {first, last}
            if first < last:
                channel.still.update(range(first, last + 1))
    return channels


def _playing(scene: bpy.types.Scene, frames: range) -> Iterator[float]:
    for i, frame in enumerate(frames):
        scene.frame_set(frame)
        yield (i + 1) / len(frames)


def _of(plan: Plan, armature: bpy.types.Object, items: Sequence[int]) -> list[ChainPlan]:
    return [c for c in plan.chains if c.rig.object == armature and c.item in items]


def _places(
    layer: bpy.types.ViewLayer, armature: bpy.types.Object, items: Sequence[int]
) -> Numbers:
    """Return where the feet's chains begin and end in world space, as evaluated."""
    evaluated = armature.evaluated_get(cast(Any, layer.depsgraph))
    bones = pose_bones(evaluated)
    found: list[Any] = []
    for chain in _of(current(), armature, items):
        names = chain.rig.names
        tip = bones[names[chain.tip_bone]].head if chain.tip_bone >= 0 else None
        last = bones[names[chain.bones[-1]]].tail if tip is None else tip
        found += [evaluated.matrix_world @ p for p in (bones[names[chain.bones[0]]].head, last)]
    return np.array([vector(place) for place in found])


def _still(chain: ChainPlan, frames: range) -> list[tuple[int, int]]:
    """Return the spans of a range in which a foot stands, counted from its first frame."""
    given = ground_settings(settings(chain.rig.object).constraints[chain.item])
    walk, _ = cast(Footing, chain.goal_source).walk(chain, given, frames[0])
    if walk is None or not given.use_lock:
        return []
    last = len(frames) - 1
    spans = [(max(0, a - frames[0]), min(last, b - frames[0])) for a, b in walk.spans]
    return [(a, b) for a, b in spans if a <= b]


def _switch(armature: bpy.types.Object, items: Sequence[int], is_on: bool) -> None:
    for index in items:
        ground_settings(settings(armature).constraints[index]).use = is_on
