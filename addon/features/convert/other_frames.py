"""Measuring how much a conversion changes the pose at frames other than the current frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import degrees
from typing import Any

import bpy

from ...blender import animation
from ...blender.errors import listed
from ...blender.messages import msg
from ...blender.relations import parents, walk_dependencies
from ...editing.playing import go_to, returning
from .matching import NEAR, Replacement
from .poses import Change, PoseMatrices, change, evaluated_pose, size_world

MOST = 24
"""Maximum number of compared frames."""


def other_frames(armature: bpy.types.Object, constraints: Iterable[Any]) -> list[int]:
    """Return frames to compare, without the current frame.

    These are the frames with keys of the armature, its targets and their dependencies. If there are
    few, evenly spaced frames from the first to the last are added.

    Args:
        armature: The armature.
        constraints: Its constraints, native or ours.
    """
    chosen: set[int] = set()
    ends = [
        (end, -1)
        for constraint in constraints
        for end in (constraint.target, constraint.pole_target)
        if end
    ]
    for ob in {armature, *(ob for ob, _ in walk_dependencies(ends, parents))}:
        for curve in animation.all_active_curves(ob):
            chosen.update(round(key.co[0]) for key in curve.keyframe_points)
    if len(chosen) < 2:
        return []
    first, last = min(chosen), max(chosen)
    keyed = sorted(chosen)
    spare = max(MOST - len(keyed), 0)
    chosen.update(first + (last - first) * i // (spare + 1) for i in range(1, spare + 1))
    frames = sorted(chosen) if spare else [keyed[i * len(keyed) // MOST] for i in range(MOST)]
    scene = bpy.context.scene
    return [frame for frame in frames if scene is None or frame != scene.frame_current_final]


def poses_at(armature: bpy.types.Object, frames: Sequence[int]) -> list[PoseMatrices]:
    """Return the evaluated poses at the frames, and keep unkeyed changes."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    if not frames or scene is None or layer is None:
        return []
    poses: list[PoseMatrices] = []
    with returning(scene, layer, in_any_case=True):
        for frame in frames:
            go_to(frame)
            poses.append(evaluated_pose(armature))
    return poses


def notes_on(
    armature: bpy.types.Object,
    replacements: Sequence[Replacement],
    frames: Sequence[int],
    original: Sequence[PoseMatrices],
    converted: Sequence[PoseMatrices],
) -> list[str]:
    """Return notes on chains whose poses differ at other frames.

    Args:
        armature: The armature.
        replacements: The new constraints.
        frames: The frames.
        original: The previous poses at these frames.
        converted: The new poses at these frames.
    """
    notes: list[str] = []
    chains: dict[tuple[str, ...], list[Replacement]] = {}
    for new in replacements:  # A limb may have several, with and without poles.
        chains.setdefault(tuple(new.chain.bones), []).append(new)
    for bones, sharing in chains.items():
        off = [change(armature, a, b, bones) for a, b in zip(original, converted, strict=True)]
        sizes = [size_world(armature, sharing[0].chain, pose) for pose in original]
        is_off = [_is_off(difference, size) for difference, size in zip(off, sizes, strict=True)]
        if not any(is_off):
            continue
        moved, turned = (max(values) for values in zip(*off, strict=True))
        worst = max(range(len(frames)), key=lambda i: off[i].moved)
        titles = listed([new.title for new in sharing])
        notes.append(
            msg(
                "{titles}: at other frames the pose differs by up to {moved:.3g} m and "
                "{angle:.3g}°, most at frame {frame} ({off} of {count} tested frames)",
                titles=titles,
                moved=moved,
                angle=degrees(turned),
                frame=frames[worst],
                off=sum(is_off),
                count=len(frames),
            )
        )
    return notes


def _is_off(change: Change, size: float) -> bool:
    return change.moved > NEAR * size or change.turned > 10.0 * NEAR
