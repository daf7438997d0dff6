"""Positions of an armature's joints over a clip, to detect the hand or foot of a limb.

NumPy compares them all at once, because a rig has hundreds of candidate bones for each limb.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix, Vector

from fabrik_solver.motion.anatomy.thresholds import COMPARABLE, MOST, NEAR, STAYS_AT_END


class JointPaths:
    """The head positions of all bones, at rest and in the clip, in armature space."""

    def __init__(
        self, bones: Sequence[bpy.types.Bone], poses: Sequence[Mapping[str, Matrix]]
    ) -> None:
        """Collect the heads, from the matrices of all bones at frames of the clip by name."""
        self._index = {bone.name: i for i, bone in enumerate(bones)}
        self._poses = poses
        self._rest = np.array([bone.head_local for bone in bones]).reshape(-1, 3)
        heads = [[pose[name].translation for name in self._index] for pose in poses]
        self._heads = np.array(heads).reshape(len(poses), len(bones), 3)

    def extent(self, names: Collection[str]) -> float:
        """Return the largest extent of bones' heads at rest, along any axis of the armature."""
        heads = self._rest[[self._index[name] for name in names]]
        return float(np.ptp(heads, axis=0).max()) if len(heads) else 0.0

    def joints(
        self,
        last: bpy.types.Bone,
        beside: Sequence[bpy.types.Bone],
        named: Collection[str],
    ) -> Iterator[tuple[bpy.types.Bone, float, Vector]]:
        """Yield the bones whose head is at the end of a limb's last bone.

        Each comes with its distance from that end in the clip, as a fraction of the end's motion.
        The third value is its joint in the last bone's rest space.

        Args:
            last: The last bone.
            beside: The candidates for its hand or foot.
            named: The candidates named after the limb. Their rest positions count, even if an
                importer put the tail elsewhere.
        """
        bone_above = cast("bpy.types.Bone", last.parent)
        indices = [self._index[bone.name] for bone in beside]
        least, most = (
            fraction * (last.head_local - bone_above.head_local).length
            for fraction in (COMPARABLE, 1.0 / COMPARABLE)
        )
        to_last = last.matrix_local.inverted_safe()
        tail = to_last @ last.tail_local
        away = np.linalg.norm(self._rest[indices] - np.array(last.tail_local), axis=1)
        is_tail = away <= NEAR * tail.length
        is_named = np.array([bone.name in named for bone in beside], bool)
        joints = np.tile(np.array(tail), (len(beside), 1))
        for k in np.flatnonzero(is_named & ~is_tail):
            joints[k] = to_last @ beside[k].head_local
        rest_sizes = np.linalg.norm(joints, axis=1)
        is_end = (is_tail | is_named) & (least <= rest_sizes) & (rest_sizes <= most)
        offs = np.zeros(len(beside))
        if self._poses:
            positions = self._places(last, indices)
            middles = np.median(positions, axis=0)
            sizes = np.linalg.norm(middles, axis=1)
            limits = NEAR * sizes
            apart = np.sort(_short_of(positions, middles), axis=0)
            worst = apart[ceil(MOST * len(apart)) - 1]
            near = (np.median(apart, axis=0) <= limits) & (worst <= 2.0 * limits)
            is_long = (sizes >= least) & (sizes <= most) & (sizes > 0.0)
            if not ((near | is_end) & is_long).any():
                return
            swaying = self._places(bone_above, indices)
            sways = np.linalg.norm(swaying - np.median(swaying, axis=0), axis=2).max(axis=0)
            moves = sways > limits
            is_end = is_long & np.where(
                moves, near & (is_named | (worst <= STAYS_AT_END * sways)), is_end
            )
            joints[moves], offs[moves] = middles[moves], worst[moves] / sways[moves]
        for k in np.flatnonzero(is_end):
            yield beside[k], float(offs[k]), Vector(joints[k].tolist())

    def _places(self, bone: bpy.types.Bone, indices: Sequence[int]) -> np.ndarray:
        """Return the heads of bones at each frame, in the space of a posed bone."""
        spaces = [pose[bone.name].inverted_safe() for pose in self._poses]
        matrices = np.array([[*m[0], *m[1], *m[2]] for m in spaces]).reshape(-1, 3, 4)
        heads = self._heads[:, indices]
        return heads @ matrices[:, :, :3].transpose(0, 2, 1) + matrices[:, None, :, 3]


def _short_of(positions: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Return the distances of positions from the ray that continues a bone beyond its end.

    ``positions`` are heads of other bones at each frame, in the space of the bone. ``joints`` are
    the assumed ends of the bone for each of them.
    """
    sizes = np.maximum((joints**2).sum(axis=1), np.finfo(float).tiny)
    along = np.maximum(1.0, (positions * joints).sum(axis=2) / sizes)
    return np.linalg.norm(positions - along[:, :, None] * joints, axis=2)
