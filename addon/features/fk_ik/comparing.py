"""How far two poses of an armature are from each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist

import bpy

from ...blender.skeleton import Skeleton, matrix_frame
from ...core import frame_in, point_in
from ...core.vectors import ORIGIN, Vec
from ...loop.evaluated import Evaluated


def bone_points(depsgraph: bpy.types.Depsgraph, rig: Skeleton, bones: Sequence[int]) -> list[Vec]:
    """Return three points of each bone in world space, which tell its place, turn and scale.

    They are its head, its tail, and a point as far from the head along its X axis.
    """
    armature = rig.object.evaluated_get(depsgraph)
    shown = Evaluated(armature)
    world = matrix_frame(armature.matrix_world)
    points: list[Vec] = []
    for bone in bones:
        frame, length = frame_in(world, shown.frame(bone)), rig.bone(bone).length
        points += [point_in(frame, at) for at in (ORIGIN, (0.0, length, 0.0), (length, 0.0, 0.0))]
    return points


def farthest(a: Sequence[Vec], b: Sequence[Vec]) -> float:
    """Return the largest distance between points of one pose and of another."""
    return max((dist(p, q) for p, q in zip(a, b, strict=True)), default=0.0)


def bones_length(points: Sequence[Vec]) -> float:
    """Return the length of all bones together whose points these are."""
    return sum(dist(points[i], points[i + 1]) for i in range(0, len(points), 3))
