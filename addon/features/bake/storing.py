"""Measuring shear: glTF and FBX store only the local location, rotation and scale of each bone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...blender.skeleton import Skeleton
from ...blender.turns import Numbers

EVEN = 1e-4
"""Deviation of squared axes from a uniform scale; below it, the shear is at most half as large."""

Loss = tuple[float, int]
"""A distance in meters, and the index of the bone farthest from its pose; -1 without one."""


class Storing:
    """Measures the shear of bones relative to their parents, which glTF and FBX lose."""

    def __init__(self, armature: bpy.types.Object, posed: Collection[int]) -> None:
        """Collect the posed bones and their descendants, parents first."""
        rig = Skeleton(armature)
        self._bones = sorted(rig.below({*posed}), key=lambda bone: len(rig.chain_up(bone)))
        self._parents = [rig.parents[bone] for bone in self._bones]
        self._used = np.array(sorted({*self._bones, *self._parents} - {-1}))
        # Each bone's head, and the points a bone length from it along its axes.
        self._points = np.zeros((len(self._bones), 4, 4))
        self._points[:, 3] = 1.0
        for points, bone in zip(self._points, self._bones, strict=True):
            points[range(3), range(3)] = rig.rest(bone).length

    def loss(self, matrices: Numbers, world: Matrix) -> Loss:
        """Return the loss of a pose.

        Args:
            matrices: Matrices of all bones in armature space, bones × 4 × 4.
            world: Matrix of the armature in world space.
        """
        axes = matrices[self._used, :3, :3].astype(np.float64)
        squares = axes.transpose(0, 2, 1) @ axes
        sizes = np.trace(squares, axis1=1, axis2=2)[:, None, None] / 3.0
        if (np.abs(squares - sizes * np.eye(3)) <= EVEN * sizes).all():
            return 0.0, -1
        posed = {int(bone): Matrix(matrices[bone].tolist()) for bone in self._used}
        posed[-1] = Matrix.Identity(4)
        stored = dict(posed)
        for bone, parent in zip(self._bones, self._parents, strict=True):
            local = posed[parent].inverted_safe() @ posed[bone]
            location, rotation, scale = local.decompose()
            stored[bone] = stored[parent] @ Matrix.LocRotScale(
                cast(Any, location), rotation, cast(Any, scale)
            )
        gaps = np.array([stored[bone] - posed[bone] for bone in self._bones])
        lengths = np.linalg.norm((np.array(world) @ gaps @ self._points)[:, :3], axis=1).max(axis=1)
        worst = int(lengths.argmax())
        return float(lengths[worst]), self._bones[worst]
