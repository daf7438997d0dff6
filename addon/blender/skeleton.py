"""The bones of an armature object as set up in Edit Mode."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, cast

import bpy
from mathutils import Matrix, Vector

from ..core import WHOLE, Bone, Frame, inverse
from ..core.vectors import Mat3, Vec
from .access import pose_bones, rest_bone
from .errors import ProblemError
from .rotation import FEW, KINDS


class Skeleton:
    """Names, parents and rest pose of an armature object's bones, by index in its pose.

    References to bones are invalid once Blender rebuilds the pose, which also rebuilds relations.
    """

    def __init__(self, armature: bpy.types.Object) -> None:
        """Read the tree of bones; rest poses are read on demand."""
        self.object = armature
        self.uid: int = armature.session_uid
        bones = pose_bones(armature)
        self.names: list[str] = bones.keys()
        self.index = {name: i for i, name in enumerate(self.names)}
        parents = [bone.parent for bone in bones]
        self.parents = [-1 if bone is None else self.index[bone.name] for bone in parents]
        self._fixed = _fixed(armature)
        self._relied: dict[int, object] = {}
        self._missing: set[str] = set()
        self.renamed: dict[str, str] = {}
        """The new names of bones that were followed, for all that still name them by the old."""
        self._bones: dict[int, Bone] = {}
        self._setters: dict[str, tuple[array[float], list[Callable[[], None]]]] = {}
        self._undone = (WHOLE, WHOLE)

    def from_world(self, world: Frame) -> Frame:
        """Return the frame of world space in the armature's, given the armature's in world space.

        Raises:
            ProblemError: If the armature is flat or has no finite place.
        """
        if world != self._undone[0]:
            try:
                self._undone = world, inverse(world)
            except ValueError:
                raise ProblemError(
                    f"“{self.object.name}” has zero scale or an invalid transform: change its scale"
                ) from None
        return self._undone[1]

    def bone(self, i: int) -> Bone:
        """Return the rest pose of a bone as the solver takes it."""
        if i not in self._bones:
            if self.parents[i] >= 0:
                self.rest(self.parents[i])
            self._bones[i] = rest_of(self.rest(i))
        return self._bones[i]

    def rest(self, i: int) -> bpy.types.Bone:
        """Return what is at rest of a bone; what is taken of it has to stay as it is."""
        bone = rest_bone(self.object, self.names[i])
        if self._relied.get(i) is None:
            self._relied[i] = _fixed_of(bone)
        return bone

    def rely_on(self, i: int) -> None:
        """Rely on the name of a bone, whatever its rest is."""
        self._relied.setdefault(i, None)

    def miss(self, name: str) -> None:
        """Rely on there being no bone of a name."""
        self._missing.add(name)

    def setters(self, channel: str, size: int) -> tuple[array[float], list[Callable[[], None]]]:
        """Return room for a channel of all bones, and what sets that of each bone from there.

        Blender notices nothing. To set a property, or one of all bones at once, makes it copy the
        armature anew: from 4.3 on the latter as well. The array of one property is set without.

        Args:
            channel: The channel.
            size: How many numbers a bone has there.
        """
        if channel not in self._setters:
            room = array("f", bytes(4 * size * len(self.names)))
            view = memoryview(room)
            self._setters[channel] = (
                room,
                [
                    partial(
                        bone.path_resolve(channel, False).foreach_set,
                        view[i * size : (i + 1) * size],
                    )
                    for i, bone in enumerate(pose_bones(self.object))
                ],
            )
        return self._setters[channel]

    def forget_setters(self) -> None:
        """Release the bones: Blender may have rebuilt them."""
        self._setters.clear()

    def has_same_bones(self) -> bool:
        """Return whether the armature has the bones that it had, in their order."""
        return pose_bones(self.object).keys() == self.names

    @property
    def _is_little(self) -> bool:
        """Whether but few of the bones are relied on, so that these alone are looked at."""
        return len(self._relied) * FEW < len(self.names)

    def has_same_names(self) -> bool:
        """Return whether the bones that are relied on have the names that they had.

        Blender makes others, or another order, only as it makes new relations.
        """
        if not self._is_little:
            return self.has_same_bones()
        bones = pose_bones(self.object)
        return all([self.names[i] in bones for i in self._relied]) and not any(
            [name in bones for name in self._missing]
        )

    def has_changed(self, at_all: bool = False) -> bool:
        """Return whether bones were renamed, or anything else that is relied on has changed.

        Args:
            at_all: Whether to look at all bones, be they relied on or not.
        """
        if at_all or not self._is_little:
            return self._fixed != _fixed(self.object)
        if not self.has_same_names():
            return True
        bones = pose_bones(self.object)
        rests = [(i, known) for i, known in self._relied.items() if known is not None]
        return any([_fixed_of(bones[self.names[i]].bone) != known for i, known in rests])

    def slot(self, kind: int, bone: int) -> int:
        """Return the slot of a bone's channel of a kind."""
        return KINDS.index(kind) * len(self.names) + bone

    @cached_property
    def connected(self) -> frozenset[int]:
        """Bones whose location channel Blender ignores."""
        return frozenset(
            i for i, bone in enumerate(pose_bones(self.object)) if bone.bone.use_connect
        )

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each bone."""
        found: list[list[int]] = [[] for _ in self.names]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(i)
        return found

    def chain_up(self, tip: int) -> list[int]:
        """Return a bone and all its parents, topmost first."""
        chain = [tip]
        while self.parents[chain[-1]] >= 0:
            chain.append(self.parents[chain[-1]])
        return chain[::-1]

    def below(self, bones: set[int]) -> set[int]:
        """Return the bones and all their descendants."""
        hangs: dict[int, bool] = {-1: False}
        for i in range(len(self.parents)):
            path: list[int] = []
            while i not in hangs and i not in bones:
                path.append(i)
                i = self.parents[i]
            verdict = hangs.get(i, True)
            hangs.update(dict.fromkeys((*path, i), verdict))
        return {i for i, verdict in hangs.items() if verdict}


def _fixed(armature: bpy.types.Object) -> tuple[object, ...]:
    """Return the names and rest poses of all bones: they may change without new relations."""
    rests = cast(bpy.types.Armature, armature.data).bones
    columns: list[object] = [pose_bones(armature).keys()]
    for name, kind, size in (
        ("matrix_local", "f", 16),
        ("length", "f", 1),
        ("inherit_scale", "i", 1),
    ):
        column = array(kind, bytes(4 * size * len(rests)))
        rests.foreach_get(name, column)
        columns.append(column.tobytes())
    for name in ("use_inherit_rotation", "use_local_location"):
        flags = [False] * len(rests)
        rests.foreach_get(name, flags)
        columns.append(flags)
    return tuple(columns)


def _fixed_of(bone: bpy.types.Bone) -> object:
    """Return the same of one bone, but for its name."""
    numbers = array("f", bytes(64))
    cast(Any, bone).path_resolve("matrix_local", False).foreach_get(numbers)
    numbers.append(bone.length)
    flags = (bone.inherit_scale, bone.use_inherit_rotation, bone.use_local_location)
    return numbers.tobytes(), flags


def rest_of(bone: bpy.types.Bone) -> Bone:
    """Return the rest pose of a bone, in the terms of the solver."""
    parent_matrix = bone.parent.matrix_local if bone.parent else Matrix.Identity(4)
    # Blender's own arithmetic for the offset, so that ordinary bones have no shear at all.
    offset = parent_matrix.inverted() @ bone.matrix_local
    return Bone(
        rest=matrix3(offset),
        head=vector(offset.translation),
        length=bone.length,
        parent_rest=matrix3(parent_matrix),
        inherit_scale=bone.inherit_scale,
        inherit_rotation=bone.use_inherit_rotation,
        local_location=bone.use_local_location,
    )


def matrix3(matrix: Matrix) -> Mat3:
    """Return the axes of a matrix as the solver takes them."""
    a, b, c = matrix[0], matrix[1], matrix[2]
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


def vector(values: Vector | Sequence[float]) -> Vec:
    """Return a vector as the solver takes it."""
    return (values[0], values[1], values[2])


def matrix_frame(matrix: Matrix) -> Frame:
    """Return a 4 × 4 matrix as a frame."""
    return matrix3(matrix), vector(matrix.translation)


@dataclass(slots=True)
class Point:
    """An object's origin, or the head of one of its bones."""

    object: bpy.types.Object
    skeleton: Skeleton | None = None
    bone: int = -1
    uid: int = field(init=False)

    def __post_init__(self) -> None:
        """Look up the object's `session_uid` once."""
        self.uid = self.object.session_uid


_skeletons: dict[int, Skeleton] = {}


def forget_skeletons(armatures: Collection[bpy.types.ID] | None = None) -> None:
    """Discard cached armatures: their bones may have changed, or references become invalid.

    Args:
        armatures: The armatures; None for all.
    """
    for uid, known in list(_skeletons.items()):
        if armatures is None or known.object.data in armatures:
            del _skeletons[uid]


def forget_bones() -> None:
    """Release the bones of all armatures: Blender may have rebuilt them."""
    for skeleton in _skeletons.values():
        skeleton.forget_setters()


def have_other_bones(armatures: Collection[bpy.types.ID] | None = None) -> bool:
    """Return whether the bones of an armature, or their order, have changed since they were read.

    Args:
        armatures: The armatures to check; None for all.
    """
    try:
        return not all(known.has_same_bones() for known in _known_of(armatures))
    except ReferenceError:
        return True  # Removed, as all are while a file is loaded.


def by_blocks() -> dict[str, list[Skeleton]]:
    """Return the cached armatures by the names of their objects and data."""
    found: dict[str, list[Skeleton]] = {}
    for known in _skeletons.values():
        for block in (known.object, cast(bpy.types.ID, known.object.data)):
            found.setdefault(block.name, []).append(known)
    return found


def have_skeletons_changed(armatures: Collection[bpy.types.ID] | None = None) -> bool:
    """Return whether bones were renamed, or anything else that is known of them has changed.

    Args:
        armatures: The armatures that are looked at, as far as they are relied on; None for all.
    """
    return any(known.has_changed(at_all=armatures is None) for known in _known_of(armatures))


def _known_of(armatures: Collection[bpy.types.ID] | None) -> list[Skeleton]:
    known = _skeletons.values()
    return [one for one in known if armatures is None or one.object.data in armatures]


def skeleton_of(armature: bpy.types.Object) -> Skeleton:
    """Return the bones of an armature object, read once until `forget_skeletons`."""
    known = _skeletons.get(armature.session_uid)
    if known is None:
        known = _skeletons[armature.session_uid] = Skeleton(armature)
    return known


def rebuild_poses() -> None:
    """Rebuild the poses of all armatures after undo has replaced bones.

    Blender only does so for what it evaluates. Up to 4.5 other poses may point to freed bones, as
    in a scene that is not shown, and reading these crashes.
    """
    for ob in bpy.data.objects:
        if ob.type == "ARMATURE" and ob.pose is not None and ob.library is None and _is_torn(ob):
            ob.data = cast(Any, ob.data)


def _is_torn(armature: bpy.types.Object) -> bool:
    rests = cast(bpy.types.Armature, armature.data).bones
    known = {bone.name: bone.as_pointer() for bone in rests}
    now = [(bone.name, bone.bone) for bone in pose_bones(armature)]
    return any(bone is None or bone.as_pointer() != known.get(name) for name, bone in now)
