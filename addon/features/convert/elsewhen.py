"""How far the poses of other frames go by converting, which keeps the one that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import degrees
from typing import Any

import bpy

from ...blender import animation
from ...blender.errors import listed
from ...blender.relations import parents, walk_dependencies
from ...editing.playing import go_to, returning
from .poses import Change, Shown, change, shown_pose, size_world
from .settling import NEAR, Link

MOST = 24
"""The most frames that are looked at."""


def other_frames(armature: bpy.types.Object, holders: Iterable[Any]) -> list[int]:
    """Return frames but the present one at which an armature may be posed otherwise.

    They are those with keys, of its own or of what its targets hang on, and where they are few
    others evenly between the first and the last one.

    Args:
        armature: The armature.
        holders: Its constraints, Blender's or ours.
    """
    found: set[int] = set()
    ends = [(end, -1) for one in holders for end in (one.target, one.pole_target) if end]
    for ob in {armature, *(ob for ob, _ in walk_dependencies(ends, parents))}:
        for curve in animation.all_active_curves(ob):
            found.update(round(key.co[0]) for key in curve.keyframe_points)
    if len(found) < 2:
        return []
    first, last = min(found), max(found)
    keyed = sorted(found)
    left = max(MOST - len(keyed), 0)
    found.update(first + (last - first) * i // (left + 1) for i in range(1, left + 1))
    frames = sorted(found) if left else [keyed[i * len(keyed) // MOST] for i in range(MOST)]
    scene = bpy.context.scene
    return [frame for frame in frames if scene is None or frame != scene.frame_current_final]


def poses_at(armature: bpy.types.Object, frames: Sequence[int]) -> list[Shown]:
    """Return the poses that are shown at some frames; what is set and not keyed stays as it is."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    if not frames or scene is None or layer is None:
        return []
    found: list[Shown] = []
    with returning(scene, layer, in_any_case=True):
        for frame in frames:
            go_to(frame)
            found.append(shown_pose(armature))
    return found


def notes_on(
    armature: bpy.types.Object,
    links: Sequence[Link],
    frames: Sequence[int],
    before: Sequence[Shown],
    after: Sequence[Shown],
) -> list[str]:
    """Say of each chain that is not where it was at other frames by how much at most.

    Args:
        armature: Whose chains they are.
        links: The chains.
        frames: The frames.
        before: The poses of before at these.
        after: The poses of now.
    """
    notes: list[str] = []
    chains: dict[tuple[str, ...], list[Link]] = {}
    for link in links:  # A limb may have one with a pole and one without.
        chains.setdefault(tuple(link.chain.bones), []).append(link)
    for bones, sharing in chains.items():
        off = [change(armature, a, b, bones) for a, b in zip(before, after, strict=True)]
        sizes = [size_world(armature, sharing[0].chain, pose) for pose in before]
        is_off = [_is_off(one, size) for one, size in zip(off, sizes, strict=True)]
        if not any(is_off):
            continue
        moved, turned = (max(of) for of in zip(*off, strict=True))
        worst = max(range(len(frames)), key=lambda i: off[i].moved)
        titles = listed([link.title for link in sharing])
        notes.append(
            f"{titles}: at other frames of the animation the pose differs by up to {moved:.3g} m "
            f"and {degrees(turned):.3g}°, most at frame {frames[worst]} ({sum(is_off)} of "
            f"{len(frames)} tested frames)"
        )
    return notes


def _is_off(found: Change, size: float) -> bool:
    return found.moved > NEAR * size or found.turned > 10.0 * NEAR
