"""The frames of the animation that moves bones or objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import ceil, floor
from typing import Any, Final, cast

import bpy

from ..blender import animation
from ..blender.curves import split_bone_path
from ..blender.relations import Node, walk_dependencies
from ..blender.rotation import ALL_CHANNELS
from ..blender.skeleton import skeleton_of
from .playing import go_to, returning, updated

SAMPLES: Final = 9
"""Number of frames at which driver values are compared."""

Concerns = Callable[[str, Collection[str]], bool]
"""Whether a data path is relevant, from the path and the names of an object's bones that matter;
``""`` is the object itself."""


def animated_frames(
    starts: Iterable[Node], relations: Callable[[Node], Iterable[Node]], concerns: Concerns
) -> list[float]:
    """Return every integer frame of the animation that moves some bones or objects.

    Returns an empty list if nothing moves them. Includes actions and NLA strips. If drivers move
    them, or F-curves extend beyond their keys, the scene's frame range is included as well.

    Args:
        starts: The bones and objects.
        relations: Returns what a bone or object follows.
        concerns: Which F-curves are relevant.
    """
    moving: dict[bpy.types.Object, set[str]] = {}
    for ob, bone in walk_dependencies(starts, relations):
        moving.setdefault(ob, set()).add("" if bone < 0 else skeleton_of(ob).names[bone])
    scene = cast(bpy.types.Scene, bpy.context.scene)
    limits = [end for ob, bones in moving.items() for end in _ends(scene, ob, bones, concerns)]
    if _is_driven_over_time(scene, moving):
        limits += [scene.frame_start, scene.frame_end]
    return [float(i) for i in range(floor(min(limits)), ceil(max(limits)) + 1)] if limits else []


def is_transform(path: str, bones: Collection[str]) -> bool:
    """Return whether a path is a transform of a bone or, for ``""``, of an object."""
    bone, channel = split_bone_path(path)
    return bone in bones and (channel or path) in {name for name, _ in ALL_CHANNELS}


def _is_driven_over_time(
    scene: bpy.types.Scene, moving: Mapping[bpy.types.Object, set[str]]
) -> bool:
    """Return whether drivers change transforms within the scene's frame range."""
    paths = [
        (ob, path, i)
        for ob, bones in moving.items()
        for path, i in animation.driven(ob)
        if is_transform(path, bones)
    ]
    if not paths:
        return False
    length = scene.frame_end - scene.frame_start
    poses: set[tuple[float, ...]] = set()
    with returning(scene, cast(bpy.types.ViewLayer, bpy.context.view_layer), in_any_case=True):
        for k in range(SAMPLES):
            go_to(scene.frame_start + round(length * k / (SAMPLES - 1)))
            layer = updated()
            poses.add(
                tuple([cast(Any, ob.evaluated_get(layer)).path_resolve(p)[i] for ob, p, i in paths])
            )
    return len(poses) > 1


def _ends(
    scene: bpy.types.Scene, ob: bpy.types.Object, bones: set[str], concerns: Concerns
) -> Iterator[float]:
    """Yield the relevant frames of an object's animation: those of keys, and the ends of strips.

    If an F-curve extends beyond its keys, for example by repeating, the scene's start and end are
    yielded as well.

    Args:
        scene: The scene.
        ob: The object.
        bones: The names of the bones that count; an empty name stands for the object itself.
        concerns: Which F-curves are relevant.
    """

    def counts(curve: bpy.types.FCurve) -> bool:
        return concerns(curve.data_path, bones) and animation.has_effect(curve)

    for curve in filter(counts, animation.all_active_curves(ob)):
        yield from (key.co[0] for key in curve.keyframe_points)
        yield from animation.frames_beyond_keys(curve, scene.frame_start, scene.frame_end)
    data = ob.animation_data
    tracks = data.nla_tracks if data is not None and data.use_nla else ()
    for strip in animation.strips(track for track in tracks if not track.mute):
        slot = getattr(strip, "action_slot", None)
        for curves in animation.curve_lists(strip.action, slot):
            if any(map(counts, curves)):
                yield from (strip.frame_start, strip.frame_end)
