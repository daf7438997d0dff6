"""Where the joints of all bones of an armature are over a clip.

They are compared all at once with numpy, as a rig has hundreds of bones beside each limb.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import Final, cast

import bpy
import numpy as np
from mathutils import Matrix, Vector

SAME_PLACE: Final = 0.05
"""The largest distance of two joints that are one, as a fraction of the bone that ends there."""

MOST: Final = 0.75
"""The share of a clip's frames at which they are one, or the foot is farther off in the direction
of the bone: where a target was out of reach of baked IK, the leg ended short of its foot. At half
of the frames they are as near as `SAME_PLACE`; where keys were left out, up to twice as far."""

STAYS: Final = 0.25
"""The most that they are apart, as a fraction of how far the limb moves the place where it ends:
where nothing moves much, many joints stay near each other."""

LENGTHS: Final = (0.3, 3.0)
"""The least and the largest length of the last bone, as fractions of the one before."""


class JointPaths:
    """Where the heads of all bones are, at rest and in the clip."""

    def __init__(
        self, bones: Sequence[bpy.types.Bone], poses: Sequence[Mapping[str, Matrix]]
    ) -> None:
        """Collect the heads.

        Args:
            bones: All bones.
            poses: Their matrices at frames of the clip, by their names.
        """
        self._index = {bone.name: i for i, bone in enumerate(bones)}
        self._poses = poses
        self._rest = np.array([bone.head_local for bone in bones]).reshape(-1, 3)
        heads = [[pose[name].translation for name in self._index] for pose in poses]
        self._heads = np.array(heads).reshape(len(poses), len(bones), 3)

    def extent(self, names: Collection[str]) -> float:
        """Return the largest extent of bones at rest along an axis."""
        heads = self._rest[[self._index[name] for name in names]]
        return float(np.ptp(heads, axis=0).max()) if len(heads) else 0.0

    def joints(
        self, last: bpy.types.Bone, beside: Sequence[bpy.types.Bone]
    ) -> Iterator[tuple[bpy.types.Bone, float, Vector]]:
        """Yield which bones are where the last bone of a limb ends, and where in its rest space.

        How far apart they are in the clip stands between, as a fraction of how far they move.

        Args:
            last: The last bone.
            beside: The bones that may be its hand or foot.
        """
        before = cast("bpy.types.Bone", last.parent)
        indices = [self._index[one.name] for one in beside]
        least, most = (share * (last.head_local - before.head_local).length for share in LENGTHS)
        tail = last.matrix_local.inverted_safe() @ last.tail_local
        away = np.linalg.norm(self._rest[indices] - np.array(last.tail_local), axis=1)
        is_end = (away <= SAME_PLACE * tail.length) & (least <= tail.length <= most)
        joints = np.tile(np.array(tail), (len(beside), 1))
        offs = np.zeros(len(beside))
        if self._poses:
            places = self._places(last, indices)
            middles = np.median(places, axis=0)
            sizes = np.linalg.norm(middles, axis=1)
            limits = SAME_PLACE * sizes
            apart = np.sort(_short_of(places, middles), axis=0)
            worst = apart[ceil(MOST * len(apart)) - 1]
            near = (np.median(apart, axis=0) <= limits) & (worst <= 2.0 * limits)
            is_long = (sizes >= least) & (sizes <= most) & (sizes > 0.0)
            if not ((near | is_end) & is_long).any():
                return
            swaying = self._places(before, indices)
            sways = np.linalg.norm(swaying - np.median(swaying, axis=0), axis=2).max(axis=0)
            moves = sways > limits
            is_end = is_long & np.where(moves, near & (worst <= STAYS * sways), is_end)
            joints[moves], offs[moves] = middles[moves], worst[moves] / sways[moves]
        for k in np.flatnonzero(is_end):
            yield beside[k], float(offs[k]), Vector(joints[k].tolist())

    def _places(self, bone: bpy.types.Bone, indices: Sequence[int]) -> np.ndarray:
        """Return the heads of bones at each frame in the space of a bone there."""
        spaces = [pose[bone.name].inverted_safe() for pose in self._poses]
        matrices = np.array([[*m[0], *m[1], *m[2]] for m in spaces]).reshape(-1, 3, 4)
        heads = self._heads[:, indices]
        return heads @ matrices[:, :, :3].transpose(0, 2, 1) + matrices[:, None, :, 3]


def _short_of(places: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Return how far places are from the ends of a bone, or from where it points to beyond them.

    Args:
        places: Where other bones are at each frame, in the space of the bone.
        joints: Where it would end at each of these.
    """
    sizes = np.maximum((joints**2).sum(axis=1), np.finfo(float).tiny)
    along = np.maximum(1.0, (places * joints).sum(axis=2) / sizes)
    return np.linalg.norm(places - along[:, :, None] * joints, axis=2)
