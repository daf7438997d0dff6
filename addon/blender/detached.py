"""Feet and hands that are no children of their limbs, as in games whose IK was baked.

Such a foot hangs on the root, and its joint is where the leg ends, also in an animation: nothing
else tells that they belong together, as the tail of a last bone may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.core.vectors import Vec

from .clip import Clip
from .skeleton import vector

if TYPE_CHECKING:
    import numpy as np  # Blender starts without it, and it takes 50 ms to import.

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

SMALL: Final = 0.04
"""The length of the bone before the last one, as a fraction of the armature's largest extent, below
which it is of a finger or a face: half a limb is longer."""


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


def detached_ends(
    armature: bpy.types.Object, clip: Clip, body: Collection[str], names: Collection[str]
) -> dict[str, DetachedEnd]:
    """Return the bones that are where limbs end without being their children, by their names.

    The clip tells, if the limb bends in it; otherwise tails do, and joints at rest.

    Args:
        armature: The armature.
        clip: Its clip.
        body: The bones that may be of the body, of which limbs are.
        names: All that hands and feet may be: they may have the names of controls.
    """
    bones = cast("bpy.types.Armature", armature.data).bones
    poses = [clip.matrices(frame) for frame in clip.frames]
    # Blender looks at all bones for the children of each.
    children: dict[str, list[bpy.types.Bone]] = {}
    below: dict[str, set[str]] = {}
    for bone in reversed(bones):  # Parents come first.
        above = bone.parent.name if bone.parent else ""
        children.setdefault(above, []).insert(0, bone)
        below.setdefault(above, set()).update({bone.name}, below.setdefault(bone.name, set()))
    paths = _Paths(list(bones), poses)
    size = paths.extent(body)
    found: list[tuple[tuple[bool, float, int], DetachedEnd]] = []
    for last in bones:
        before = last.parent
        if before is None or before.parent is None or last.name not in body:
            continue
        if any(one.name in children for one in children.get(last.name, ())):
            continue
        if (last.head_local - before.head_local).length < SMALL * size:
            continue
        above = ["", *(bone.name for bone in before.parent_recursive)]
        line = {last, before, *before.parent_recursive}
        beside = [
            one
            for name in above
            for one in children.get(name, ())
            if one.name in names and one not in line
        ]
        for one, off, joint in paths.joints(last, beside):
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


class _Paths:
    """Where the heads of bones are, of all bones at once: a rig has hundreds beside each limb."""

    def __init__(
        self, bones: Sequence[bpy.types.Bone], poses: Sequence[Mapping[str, Matrix]]
    ) -> None:
        """Collect the heads.

        Args:
            bones: All bones.
            poses: Their matrices at frames of the clip, by their names.
        """
        import numpy as np

        self._index = {bone.name: i for i, bone in enumerate(bones)}
        self._poses = poses
        self._rest = np.array([bone.head_local for bone in bones]).reshape(-1, 3)
        heads = [[pose[name].translation for name in self._index] for pose in poses]
        self._heads = np.array(heads).reshape(len(poses), len(bones), 3)

    def extent(self, names: Collection[str]) -> float:
        """Return the largest extent of bones at rest along an axis."""
        import numpy as np

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
        import numpy as np

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
        import numpy as np

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
    import numpy as np

    sizes = np.maximum((joints**2).sum(axis=1), np.finfo(float).tiny)
    along = np.maximum(1.0, (places * joints).sum(axis=2) / sizes)
    return np.linalg.norm(places - along[:, :, None] * joints, axis=2)


def _tip(last: bpy.types.Bone, children: Sequence[bpy.types.Bone], joint: Vector) -> str:
    """Return the child of a bone that is at a place in its space; empty if there is none."""
    to_last = last.matrix_local.inverted_safe()
    near = {one.name: (to_last @ one.head_local - joint).length for one in children}
    name = min(near, key=lambda one: near[one], default="")
    return name if name and near[name] <= SAME_TIP * joint.length else ""
