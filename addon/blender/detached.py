"""Feet and hands that are no children of their limbs, as in games whose IK was baked.

Such a foot hangs on the root, and its joint is where the leg ends, also in an animation: nothing
else tells that they belong together, as the tail of a last bone may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from statistics import median
from typing import Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.core.vectors import Vec

from .clip import Clip
from .skeleton import vector

SAME_PLACE: Final = 0.05
"""The largest distance of two joints that are one, as a fraction of the bone that ends there."""

SAME_TIP: Final = 1e-3
"""The same of a bone that the limb may end at, which solvers rely on."""

MOST: Final = 0.75
"""The share of a clip's frames at which they are one, or the foot is farther off in the direction
of the bone: where a target was out of reach of baked IK, the leg ended short of its foot. At half
of the frames they are as near as `SAME_PLACE`; where keys were left out, up to twice as far."""

STAYS: Final = 0.25
"""The most that they are apart, as a fraction of how far the limb moves the place where it ends:
where nothing moves much, many joints stay near each other."""

LENGTHS: Final = (0.3, 3.0)
"""The least and the largest length of the last bone, as fractions of the one before."""


class DetachedEnd(NamedTuple):
    """A foot or hand that is no child of its limb.

    Attributes:
        name: Its name.
        limb: The last bone of the limb.
        joint: Where that ends, in its rest space, whose origin is its head.
        tip: The child of the last bone whose head is there, as exporters and IK add one; empty if
            there is none.
    """

    name: str
    limb: str
    joint: Vec
    tip: str = ""


def detached_ends(armature: bpy.types.Object, clip: Clip) -> dict[str, DetachedEnd]:
    """Return the bones that are where limbs end without being their children, by their names.

    The clip tells, if the limb bends in it; otherwise tails do, and joints at rest.

    Args:
        armature: The armature.
        clip: Its clip.
    """
    bones = cast("bpy.types.Armature", armature.data).bones
    poses = [clip.matrices(frame) for frame in clip.keyed_frames()]
    # Blender looks at all bones for the children of each.
    children: dict[str, list[bpy.types.Bone]] = {}
    below: dict[str, set[str]] = {}
    for bone in reversed(bones):  # Parents come first.
        above = bone.parent.name if bone.parent else ""
        children.setdefault(above, []).insert(0, bone)
        below.setdefault(above, set()).update({bone.name}, below.setdefault(bone.name, set()))
    found: list[tuple[tuple[bool, float, int], DetachedEnd]] = []
    for last in bones:
        before = last.parent
        if before is None or before.parent is None:
            continue
        if any(one.name in children for one in children.get(last.name, ())):
            continue
        above = ["", *(bone.name for bone in before.parent_recursive)]
        line = {last, before, *before.parent_recursive}
        beside = [one for name in above for one in children.get(name, ()) if one not in line]
        spaces, swaying = (
            [pose[bone.name].inverted_safe() for pose in poses] for bone in (last, before)
        )
        for one in beside:
            heads = [pose[one.name].translation for pose in poses]
            ending = _joint(last, one, _places(spaces, heads), _places(swaying, heads))
            if ending is not None:
                off, joint = ending
                tip = _tip(last, children.get(last.name, ()), joint)
                end = DetachedEnd(one.name, last.name, vector(joint), tip)
                count = len(below[one.name])
                found.append(((count == 0, round(off, 2), -count), end))
    ends: dict[str, DetachedEnd] = {}
    limbs = {end.limb for _, end in found}
    # Of several, the nearest one that carries toes is the foot, and not its control.
    for _, end in sorted(found, key=lambda pair: pair[0]):
        is_taken = end.name in ends or end.limb in {other.limb for other in ends.values()}
        if not is_taken and limbs.isdisjoint({end.name, *below[end.name]}):  # It carries none.
            ends[end.name] = end
    return ends


def _tip(last: bpy.types.Bone, children: Sequence[bpy.types.Bone], joint: Vector) -> str:
    """Return the child of a bone that is at a place in its space; empty if there is none."""
    to_last = last.matrix_local.inverted_safe()
    near = {one.name: (to_last @ one.head_local - joint).length for one in children}
    name = min(near, key=lambda one: near[one], default="")
    return name if name and near[name] <= SAME_TIP * joint.length else ""


def _joint(
    last: bpy.types.Bone, end: bpy.types.Bone, places: Sequence[Vector], swaying: Sequence[Vector]
) -> tuple[float, Vector] | None:
    """Return where the last bone of a limb ends, in its rest space; None if not at a bone's head.

    How far apart they are in a clip comes first, as a fraction of how far they move.

    Args:
        last: The last bone.
        end: The bone that may be its hand or foot.
        places: Where its head is in the space of the last bone, at frames of the clip.
        swaying: The same in the space of the bone before that.
    """
    size = (last.head_local - cast("bpy.types.Bone", last.parent).head_local).length
    if places:
        joint = _middle(places)
        if size == 0.0 or not LENGTHS[0] * size <= joint.length <= LENGTHS[1] * size:
            return None
        limit = SAME_PLACE * joint.length
        middle = _middle(swaying)
        sway = max((place - middle).length for place in swaying)
        if sway > limit:
            apart = sorted(_short_of(place, joint) for place in places)
            worst = apart[ceil(MOST * len(apart)) - 1]
            is_one = median(apart) <= limit and worst <= min(2.0 * limit, STAYS * sway)
            return (worst / sway, joint) if is_one else None
    tail = last.matrix_local.inverted_safe() @ last.tail_local
    is_long = LENGTHS[0] * size <= tail.length <= LENGTHS[1] * size
    away = (last.tail_local - end.head_local).length
    return (0.0, tail) if is_long and away <= SAME_PLACE * tail.length else None


def _short_of(place: Vector, joint: Vector) -> float:
    """Return the distance of a place from the end of a bone, or from where it points to."""
    along = place.dot(joint) / joint.length_squared
    return (place - max(1.0, along) * joint).length


def _places(spaces: Sequence[Matrix], heads: Sequence[Vector]) -> list[Vector]:
    """Return places in armature space in those of a bone, given the matrices to them."""
    return [matrix @ head for matrix, head in zip(spaces, heads, strict=True)]


def _middle(places: Sequence[Vector]) -> Vector:
    return Vector([median(values) for values in zip(*places, strict=True)])
