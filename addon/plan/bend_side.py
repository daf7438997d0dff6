"""The side to which a chain bends where its pose does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from mathutils import Vector

from fabrik_solver.core.vectors import Vec

from ..blender.access import pose_bones
from ..blender.limbs import rest_bend
from ..blender.skeleton import Skeleton, vector

AGREED: Final = 0.7
"""The least length of the mean of several joints' sides, which have length 1, for them to agree."""


def stored_flexion(rig: Skeleton, bone: int) -> Vector | None:
    """Return the axis about which the joint above a bone flexes, None if none is stored.

    It is a unit vector in the bone's rest space.
    """
    axis = Vector(cast(Any, pose_bones(rig.object)[rig.names[bone]]).fabrik_flexion)
    return axis.normalized() if axis.length > 0.0 else None


def bend_side(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> Vec | None:
    """Return the side to which a chain bends, None if nothing tells.

    Its joints' stored flexion tells, else its rest pose. It is a unit vector in the space of the
    first bone.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 for the last bone's tail.
    """
    sides: list[Vector] = []
    for i, bone in enumerate(chain[1:], 1):
        axis = stored_flexion(rig, bone)
        if axis is None:
            continue
        rest = rig.rest(bone)
        after = chain[i + 1] if i + 1 < len(chain) else tip_bone
        end = rig.rest(after).head_local if after >= 0 else rest.tail_local
        along = (end - rest.head_local).normalized()
        # The joint bulges to where its bone does not go.
        sides.append(cast(Vector, along.cross(rest.matrix_local.to_3x3() @ axis)))
    total = sum(sides, Vector())
    if not sides or total.length < AGREED * len(sides):
        return rest_bend(rig, chain, tip_bone)
    axes = rig.rest(chain[0]).matrix_local.to_3x3()
    return vector(axes.transposed() @ total.normalized())
