"""Bake holds: key everything that they move on every frame, then remove them."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import set_keys
from ...blender.rotation import channel_of, channel_values, continuous, mode_of
from ...blender.skeleton import vector
from ...editing.playing import finish, frame_of, play, returning
from ...plan import planner
from .editing import Held, remove
from .events import events_of
from .settings import holds_of


class Baked(NamedTuple):
    """The result of baking.

    Attributes:
        holds: The number of holds.
        distance: The largest distance of a held item from where it was, in world space.
    """

    holds: int
    distance: float


def bake(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, armatures: Sequence[bpy.types.Object]
) -> Baked:
    """Key everything held on each frame from its first event to the scene's end; remove the holds.

    Raises:
        ProblemError: If there is nothing to bake; nothing is changed.
    """
    holds = [(ob, i) for ob in armatures for i in range(len(holds_of(ob)))]
    moved = [hold for hold in holds if holds_of(hold[0])[hold[1]].bone in pose_bones(hold[0])]
    starts = [events_of(*hold)[0].frame for hold in moved if events_of(*hold)]
    if not starts:
        raise ProblemError("Nothing is held, so there's nothing to bake")
    things = [_thing(*hold) for hold in moved]
    start = min(scene.frame_start, floor(frame_of(scene, min(starts))))
    frames = list(range(start, scene.frame_end + 1))
    depsgraph = cast(bpy.types.Depsgraph, layer.depsgraph)
    with returning(scene, layer):
        shown = finish(play(scene, frames, lambda _: [_world(depsgraph, held) for held in things]))
        for ob, index in sorted(holds, key=lambda hold: -hold[1]):
            remove(ob, index)
        layer.update()
        _key(scene, layer, things, frames, shown)
        depsgraph = cast(bpy.types.Depsgraph, layer.depsgraph)
        baked = finish(play(scene, frames, lambda _: [_world(depsgraph, held) for held in things]))
    distance = max(
        (a.translation - b.translation).length
        for shown_worlds, baked_worlds in zip(shown, baked, strict=True)
        for a, b in zip(shown_worlds, baked_worlds, strict=True)
    )
    planner.discard()
    layer.update()
    return Baked(len(holds), distance)


def _thing(armature: bpy.types.Object, index: int) -> Held:
    hold = holds_of(armature)[index]
    return Held(armature, hold.bone) if hold.prop is None else Held(hold.prop, "")


def _owner(thing: Held) -> Any:
    """Return the bone or object whose channels get the keys."""
    return pose_bones(thing.object)[thing.bone] if thing.bone else thing.object


def _world(depsgraph: bpy.types.Depsgraph, thing: Held) -> Matrix:
    """Return an item's evaluated transform in world space."""
    posed = thing.object.evaluated_get(depsgraph)
    if not thing.bone:
        return posed.matrix_world.copy()
    return posed.matrix_world @ pose_bones(posed)[thing.bone].matrix


def _key(
    scene: bpy.types.Scene,
    layer: bpy.types.ViewLayer,
    things: Sequence[Held],
    frames: Sequence[int],
    shown: Sequence[Sequence[Matrix]],
) -> None:
    """Key items where they were shown, parents before their children."""
    for index, thing in enumerate(things):
        poses: list[tuple[float, Matrix]] = finish(
            play(
                scene,
                frames,
                lambda _, thing=thing: (scene.frame_current_final, _space_of(layer, thing)),
            )
        )
        rows = [
            _channels(_owner(thing), space.inverted_safe() @ worlds[index])
            for (_, space), worlds in zip(poses, shown, strict=True)
        ]
        mode = mode_of(_owner(thing))
        name, _ = channel_of(mode)
        locations, rotations = zip(*rows, strict=True)
        times = [time for time, _ in poses]  # The frames, unless the scene remaps time.
        set_keys(_owner(thing), "location", times, [*zip(*locations, strict=True)])
        set_keys(_owner(thing), name, times, [*zip(*continuous(mode, rotations), strict=True)])


def _space_of(layer: bpy.types.ViewLayer, thing: Held) -> Matrix:
    """Return the matrix from an item's channels to world space at this frame."""
    depsgraph = cast(bpy.types.Depsgraph, layer.depsgraph)
    posed = thing.object.evaluated_get(depsgraph)
    if not thing.bone:
        return posed.matrix_world @ posed.matrix_basis.inverted_safe()
    bone = pose_bones(posed)[thing.bone]
    return posed.matrix_world @ bone.matrix @ bone.matrix_basis.inverted_safe()


def _channels(owner: Any, basis: Matrix) -> tuple[Sequence[float], Sequence[float]]:
    """Return the location and rotation channels that give a bone or object a basis matrix."""
    mode = mode_of(owner)
    location, turn, _ = basis.decompose()
    name, _ = channel_of(mode)
    rotation = channel_values(mode, (turn.w, turn.x, turn.y, turn.z), getattr(owner, name))
    return vector(location), rotation
