"""Feet and hands that aren't parented to their limbs, as in game rigs with baked IK.

Such a foot is a child of the root, and its joint is where the leg ends, also in an animation. Only
these positions show that the two belong together: the tail of a last bone may be anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import cast

import bpy
from mathutils import Vector

from fabrik_solver.motion.anatomy import (
    ARM_PARTS,
    FRONT_OR_HIND,
    LEG_PARTS,
    part_of,
    side_of,
    words_of,
)
from fabrik_solver.motion.anatomy.thresholds import NO_LENGTH, SMALL_BONE

from ..blender.clip import Clip
from ..blender.skeleton import vector
from .body import LooseEnd, Row


def loose_ends(
    armature: bpy.types.Object, clip: Clip, body: Collection[str], names: Collection[str]
) -> dict[str, LooseEnd]:
    """Return the hands and feet that aren't parented to their limbs, by name.

    They are matched to limbs by their positions in the clip if the limb bends in it, and by tails
    and joints at rest otherwise.

    Args:
        armature: The armature.
        clip: Its clip.
        body: The bones that may belong to the body and its limbs.
        names: All candidates for hands and feet: some may be named as controls.
    """
    from .joint_paths import JointPaths  # Blender starts without numpy: it takes 50 ms to import.

    bones = cast("bpy.types.Armature", armature.data).bones
    poses = [clip.matrices(frame) for frame in clip.frames]
    children, below = _children_and_below(bones)
    paths = JointPaths(list(bones), poses)
    size = paths.extent(body)
    candidates: list[tuple[tuple[bool, int, bool, float, int], LooseEnd]] = []
    for last in bones:
        upper = last.parent
        if upper is None or last.name not in body or not _may_end(last, upper, children, size):
            continue
        beside = _beside(last, upper, children, names)
        named = _named_ends(last, beside)
        for candidate, off, joint in paths.joints(last, beside, named):
            tip = _tip(last, children.get(last.name, ()), joint)
            end = LooseEnd(candidate.name, last.name, vector(joint), tip)
            count = len(below[candidate.name])
            is_named = candidate.name in named
            # A hand or foot named after the limb belongs to the limb's last bone.
            depth = -len(upper.parent_recursive) if is_named else 0
            candidates.append(((not is_named, depth, count == 0, round(off, 2), -count), end))
    ends: dict[str, LooseEnd] = {}
    limbs = {end.limb for _, end in candidates}
    # Among several, the one named after its limb is preferred, or else the nearest one with toes. A
    # control may also be there.
    for _, end in sorted(candidates, key=lambda pair: pair[0]):
        is_taken = end.name in ends or end.limb in {other.limb for other in ends.values()}
        if not is_taken and limbs.isdisjoint({end.name, *below[end.name]}):  # It doesn't carry any.
            ends[end.name] = end
    return ends


def _may_end(
    last: bpy.types.Bone,
    upper: bpy.types.Bone,
    children: Mapping[str, Sequence[bpy.types.Bone]],
    size: float,
) -> bool:
    """Return whether a bone may be the last of a limb whose hand or foot is loose.

    Args:
        last: The bone.
        upper: The bone above it.
        children: The children of each bone, by name.
        size: The size of the skeleton.
    """
    if any(child.name in children for child in children.get(last.name, ())):
        return False
    is_small = (last.head_local - upper.head_local).length < SMALL_BONE * size
    return upper.parent is not None and not is_small


def _beside(
    last: bpy.types.Bone,
    upper: bpy.types.Bone,
    children: Mapping[str, Sequence[bpy.types.Bone]],
    names: Collection[str],
) -> list[bpy.types.Bone]:
    """Return the bones that may be a loose hand or foot: children of any bone above a limb.

    Args:
        last: The last bone of the limb.
        upper: The bone above it.
        children: The children of each bone, by name.
        names: The candidates.
    """
    above = ["", *(bone.name for bone in upper.parent_recursive)]
    line = {last, upper, *upper.parent_recursive}
    return [
        child
        for name in above
        for child in children.get(name, ())
        if child.name in names and child not in line
    ]


def _children_and_below(
    bones: Iterable[bpy.types.Bone],
) -> tuple[dict[str, list[bpy.types.Bone]], dict[str, set[str]]]:
    """Return the children of each bone, and the names of all bones below it."""
    # `Bone.children` searches all bones at each call.
    children: dict[str, list[bpy.types.Bone]] = {}
    below: dict[str, set[str]] = {}
    for bone in reversed([*bones]):  # Parents come first.
        above = bone.parent.name if bone.parent else ""
        children.setdefault(above, []).insert(0, bone)
        below.setdefault(above, set()).update({bone.name}, below.setdefault(bone.name, set()))
    return children, below


def _named_ends(last: bpy.types.Bone, ends: Iterable[bpy.types.Bone]) -> set[str]:
    """Return the deforming bones that are named after the limb of a last bone, so they may end it.

    Files may store no animation, and importers guess where a last bone ends.
    """
    limb = _named_limb(last.name)
    if limb is None:
        return set()
    return {end.name for end in ends if end.use_deform and _named_limb(end.name) == limb}


@cache
def _named_limb(name: str) -> tuple[bool, int, frozenset[str]] | None:
    """Return whether the limb that a bone is named after is a leg, its side, and its row.

    None if the name doesn't identify a limb.
    """
    words = words_of(name)
    part, side = part_of(words), side_of(name)
    if not side or part not in LEG_PARTS | ARM_PARTS:
        return None
    return part in LEG_PARTS, side, frozenset(FRONT_OR_HIND & {*words})


def attached(rows: Sequence[Row], ends: Mapping[str, LooseEnd]) -> list[Row]:
    """Return bones, parents first, with loose hands and feet as children of their limbs."""
    parents = {row.name: rows[row.parent].name if row.parent >= 0 else "" for row in rows}
    parents.update({name: end.limb for name, end in ends.items()})
    index: dict[str, int] = {"": -1}
    ordered: list[Row] = []
    pending = [*rows]
    while pending:
        row = next(row for row in pending if parents[row.name] in index)
        pending.remove(row)
        index[row.name] = len(ordered)
        parent = index[parents[row.name]]
        ordered.append(row._replace(parent=parent, is_foot=row.name in ends))
    return ordered


def _tip(last: bpy.types.Bone, children: Sequence[bpy.types.Bone], joint: Vector) -> str:
    """Return the child of a bone at a point in its space; empty if there is none."""
    to_last = last.matrix_local.inverted_safe()
    near = {child.name: (to_last @ child.head_local - joint).length for child in children}
    name = min(near, key=lambda child: near[child], default="")
    return name if name and near[name] <= NO_LENGTH * joint.length else ""
