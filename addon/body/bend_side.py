"""The side to which a chain bends where its pose does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import cos, radians
from typing import Any, Final, cast

from mathutils import Vector

from fabrik_solver import RestBend
from fabrik_solver.core.bend import LIMB, bend_direction, chain_axis, folded_bend
from fabrik_solver.core.vectors import unit

from ..blender.access import pose_bones
from ..blender.skeleton import Skeleton, vector
from .chains import SAME_AXIS, rest_bend

AGREED: Final = 0.7
"""The least length of the mean of several joints' sides, which have length 1, for them to agree."""

FOLDED: Final = cos(radians(15.0))
"""The cosine of the least angle of a joint at rest that tells to which side it flexes."""


def stored_flexion(rig: Skeleton, bone: int) -> Vector | None:
    """Return the axis about which the joint above a bone flexes, None if none is stored.

    It is a unit vector in the bone's rest space.
    """
    axis = Vector(cast(Any, pose_bones(rig.object)[rig.names[bone]]).fabrik_flexion)
    return axis.normalized() if axis.length > 0.0 else None


def bend_side(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> RestBend | None:
    """Return how a chain bends, None if nothing tells.

    Its joints' stored flexion tells, else its rest pose.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 for the last bone's tail.
    """
    last = rig.rest(chain[-1])
    tip = rig.rest(tip_bone).head_local if tip_bone >= 0 else last.tail_local
    joints = [*(rig.rest(bone).head_local for bone in chain), tip]
    stored = [
        None if axis is None else rig.rest(bone).matrix_local.to_3x3() @ axis
        for bone, axis in ((bone, stored_flexion(rig, bone)) for bone in chain[1:])
    ]
    side = _folded_side(joints, stored) if 3 <= len(chain) <= LIMB else None
    if side is None:
        # A joint bulges to where its bone does not go.
        sides = [
            cast(Vector, (after - at).normalized().cross(axis))
            for (at, after), axis in zip(pairwise(joints[1:]), stored, strict=True)
            if axis is not None
        ]
        total = sum(sides, Vector())
        if not sides or total.length < AGREED * len(sides):
            rest = rest_bend(rig, chain, tip_bone)
            return None if rest is None else RestBend(rest)
        side = total.normalized(), ()
    axes = rig.rest(chain[0]).matrix_local.to_3x3()
    return RestBend(vector(axes.transposed() @ side[0]), side[1])


def _folded_side(
    joints: Sequence[Vector], stored: Sequence[Vector | None]
) -> tuple[Vector, tuple[int, ...]] | None:
    """Return the side to which a limb bends, and its folds; None if all its joints flex one way.

    Bent as at rest, its side is that on which its joints are.

    Args:
        joints: From the root to the tip, at rest.
        stored: The axis about which each joint between them flexes, None if none is stored.
    """
    bones = [cast(Vector, after - at) for at, after in pairwise(joints)]
    axes: list[Vector | None] = []
    for (before, after), axis in zip(pairwise(bones), stored, strict=True):
        is_folded = before.dot(after) < FOLDED * before.length * after.length
        axes.append(cast(Vector, before.cross(after)) if axis is None and is_folded else axis)
    known = [axis.normalized() for axis in axes if axis is not None]
    along = [axis.dot(known[0]) for axis in known]
    if min(along, default=1.0) > -SAME_AXIS or any(abs(one) < SAME_AXIS for one in along):
        return None
    folds = [0 if axis is None else round(axis.normalized().dot(known[0])) for axis in axes]
    points = [vector(joint - joints[0]) for joint in joints]
    line = chain_axis(points)
    own = bend_direction(points, line)
    if own is not None and Vector(own).dot(folded_bend(points, line, folds)) < 0.0:
        folds = [-fold for fold in folds]
    normal = Vector()
    for fold, axis in zip(folds, axes, strict=True):
        normal += Vector() if axis is None else fold * axis.normalized()
    side = unit(vector(cast(Vector, Vector(line).cross(normal))))
    return None if side is None else (Vector(side), tuple(folds))
