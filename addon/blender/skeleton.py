"""The bones of an armature object as set up in Edit Mode."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, cast
from weakref import WeakValueDictionary

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver import WHOLE, Bone, Frame, inverse
from fabrik_solver.core.vectors import ORIGIN, Mat3, Vec, dot, orthonormalize, quat_of

from .access import is_edited, pose_bones, rest_bone
from .errors import ProblemError
from .rotation import KINDS, SPARSE, Rows
from .session import part


class Column(NamedTuple):
    """A channel of the bones of an armature.

    Writing doesn't tag the armature. Setting a property, or from 4.3 on using `foreach_set` on all
    bones, would make Blender copy the armature again. `foreach_set` on the array of a single
    property doesn't.

    Attributes:
        values: The values of all bones, flat: those read last, or those to write.
        readers: For each of a few bones, a function that reads its values.
        writers: For each bone, a function that writes them.
    """

    values: array[float]
    readers: dict[int, Callable[[], None]]
    writers: dict[int, Callable[[], None]]


class Skeleton:
    """The names, parents and rest pose of an armature object's bones, by index in its pose.

    References to bones become invalid when Blender rebuilds the pose. It then rebuilds relations
    too.
    """

    def __init__(self, armature: bpy.types.Object) -> None:
        """Read the hierarchy. Rest poses are read on demand."""
        self.object = armature
        self.uid: int = armature.session_uid
        self._rest_pose = rest_pose = _rest_pose_of(armature)
        self.names, self.index, self.parents = rest_pose.names, rest_pose.index, rest_pose.parents
        self._recorded: dict[int, bool] = {}  # Whether their rest poses are recorded.
        self._missing: set[str] = set()
        self.renamed: dict[str, str] = {}
        """The new names of renamed bones by old name, for references that use the old names."""
        self._bones: dict[int, Bone] = {}
        self._rest_frames: dict[int, Frame] = {}
        self._heads: dict[int, Vec] = {}
        self._columns: dict[tuple[str, Rows | None], Column] = {}
        self._world_and_inverse = (WHOLE, WHOLE)
        self._up_and_heights: tuple[Vec, list[tuple[float, int]]] = (ORIGIN, [])

    def from_world(self, world: Frame) -> Frame:
        """Return the transform from world space to armature space.

        Args:
            world: The frame of the armature object in world space.

        Raises:
            ProblemError: If the armature has zero scale, or an invalid transform.
        """
        if world != self._world_and_inverse[0]:
            try:
                self._world_and_inverse = world, inverse(world)
            except ValueError:
                raise ProblemError(
                    "“{object}” has zero scale or an invalid transform: change its scale",
                    object=self.object.name,
                ) from None
        return self._world_and_inverse[1]

    def bone(self, i: int) -> Bone:
        """Return the rest pose of a bone in the solver's form."""
        return self._bones.get(i) or self.bones((i,))[0]

    def bones(self, indices: Sequence[int]) -> list[Bone]:
        """Return the rest poses of some bones in the solver's form."""
        bones, parents = self._bones, self.parents
        new = [i for i in indices if i not in bones]
        if new:
            self._record_rests([*new, *[parents[i] for i in new]])
            bones |= {i: self._rest_pose.bone(i) for i in new}
        return [bones[i] for i in indices]

    def rest_pose(self, bones: Iterable[int]) -> RestPose:
        """Return the rest pose, which armatures share, and record bones for `has_changed`."""
        self._record_rests(bones)
        return self._rest_pose

    def rest_frame(self, i: int) -> Frame:
        """Return the rest frame of a bone, in armature space."""
        if i not in self._rest_frames:
            self._rest_frames[i] = matrix_frame(self.rest(i).matrix_local)
        return self._rest_frames[i]

    def head(self, i: int) -> Vec:
        """Return the head of a bone at rest, in armature space."""
        if i not in self._heads:
            self._heads[i] = vector(self.rest(i).head_local)
        return self._heads[i]

    @cached_property
    def heads(self) -> list[Vec]:
        """The heads of all bones at rest, in armature space."""
        return [self.head(i) for i in range(len(self.names))]

    def by_height(self, up: Vec) -> list[tuple[float, int]]:
        """Return the heights of the heads of all bones at rest, relative to the lowest one."""
        if up != self._up_and_heights[0]:
            self._up_and_heights = up, sorted((dot(h, up), i) for i, h in enumerate(self.heads))
        return self._up_and_heights[1]

    def rest(self, i: int) -> bpy.types.Bone:
        """Return a bone of the armature data, and record its rest pose for `has_changed`."""
        self._record_rests([i])
        return rest_bone(self.object, self.names[i])

    def _record_rests(self, bones: Iterable[int]) -> None:
        if self._is_sparse:  # Once many bones are recorded, all are compared.
            self._recorded |= {i: True for i in bones if i >= 0}

    def record(self, bones: Iterable[int]) -> None:
        """Record bones for `has_same_names`, without their rest poses."""
        if self._is_sparse:
            self._recorded = dict.fromkeys(bones, False) | self._recorded

    def record_missing(self, name: str) -> None:
        """Record for `has_same_names` that a bone with this name is missing."""
        self._missing.add(name)

    def column(self, channel: str, size: int, rows: Rows | None = None) -> Column:
        """Return the access to a channel of bones.

        Args:
            channel: The channel.
            size: Its number of components.
            rows: The bones needed; None for all. A few are looked up by name, because other bones
                may have been removed.

        Raises:
            KeyError: If one of a few bones is missing.
            IndexError: If one of many bones is missing.
        """
        column = self._columns.get((channel, rows))
        if column is None:
            buffer, bones = array("f", bytes(4 * size * len(self.names))), pose_bones(self.object)
            if rows is None:
                needed = [*enumerate(bones)]
            else:
                keys = self.names if rows.are_few else range(len(self.names))
                needed = [(i, bones[keys[i]]) for i in rows.bones]
            view, readers, writers = memoryview(buffer), {}, {}
            for i, bone in needed:
                values, prop = view[i * size : (i + 1) * size], bone.path_resolve(channel, False)
                if rows is not None and rows.are_few:  # Many are read in bulk.
                    readers[i] = partial(prop.foreach_get, values)
                writers[i] = partial(prop.foreach_set, values)
            column = self._columns[channel, rows] = Column(buffer, readers, writers)
        return column

    def forget_columns(self) -> None:
        """Release references to bones: Blender may have rebuilt them."""
        self._columns.clear()

    def has_same_bones(self) -> bool:
        """Return whether the armature still has the same bones in the same order."""
        return pose_bones(self.object).keys() == self.names

    @property
    def _is_sparse(self) -> bool:
        """Whether so few bones are recorded that each is checked individually."""
        return len(self._recorded) * SPARSE < len(self.names)

    def has_same_names(self) -> bool:
        """Return whether the recorded bones still have their names.

        Bones are added, removed or reordered only when Blender rebuilds relations.
        """
        if not self._is_sparse:
            return self.has_same_bones()
        bones = pose_bones(self.object)
        return all([self.names[i] in bones for i in self._recorded]) and not any(
            [name in bones for name in self._missing]
        )

    def has_changed(self, at_all: bool = False) -> bool:
        """Return whether the name or rest pose of a recorded bone has changed.

        Args:
            at_all: Whether to check all bones, not only the recorded ones.
        """
        if at_all:
            return self._rest_pose.read != _rests_of(self.object)
        if not self.has_same_names():
            return True
        bones, rests = pose_bones(self.object), cast(Any, self.object.data).bones
        if not self._is_sparse:
            return self._rest_pose.read[FIXED:] != _poses_of(rests)
        recorded = [i for i, has_rest in self._recorded.items() if has_rest]
        names = [self.names[i] for i in recorded]
        # As `rest_bone`, without a call for each.
        present = _rest_states([bones[name].bone or rests[name] for name in names])
        return present != [*map(self._rest_pose.state, recorded)]

    def slot(self, kind: int, bone: int) -> int:
        """Return the slot of a bone's channel; see `KINDS`."""
        return KINDS.index(kind) * len(self.names) + bone

    @cached_property
    def connected(self) -> frozenset[int]:
        """The connected bones, whose location channel Blender ignores."""
        return self._rest_pose.connected

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each bone."""
        return self._rest_pose.children

    def chain_up(self, tip: int) -> list[int]:
        """Return a bone's ancestors and the bone itself, topmost first."""
        chain = [tip]
        while self.parents[chain[-1]] >= 0:
            chain.append(self.parents[chain[-1]])
        return chain[::-1]

    def trunk_above(self, limbs: Sequence[int]) -> list[int]:
        """Return the shared ancestors of limbs and the remaining body, topmost first.

        The lowest ancestor moves the body with its limbs. In many characters it isn't the pelvis,
        which carries only the legs while the spine is parented to a bone above it. The remaining
        body is the longest line of bones beside the limbs, from the topmost bone down. Controls
        parented to a root have shorter lines.

        Args:
            limbs: The first bone of each limb.
        """
        lines = [self.chain_up(bone)[:-1] for bone in limbs]
        shared = [b for b in (lines[0] if lines else ()) if all(b in line for line in lines)]
        if not shared:
            return []
        beside = self.below({*shared[:1]}) - self.below({*limbs})
        longest = max([self.chain_up(bone) for bone in sorted(beside)], key=self._length)
        return [bone for bone in shared if bone in longest]

    def _length(self, line: Sequence[int]) -> float:
        """Return the length of a line of bones at rest, from head to head, in armature space."""
        heads = [rest_bone(self.object, self.names[i]).head_local for i in line]
        return sum([(b - a).length for a, b in pairwise(heads)])

    def below(self, bones: set[int]) -> set[int]:
        """Return the bones and their descendants."""
        bones_below, pending = set(bones), [*bones]
        while pending:
            new = [child for child in self.children[pending.pop()] if child not in bones_below]
            bones_below.update(new)
            pending += new
        return bones_below


INHERIT_SCALE = {
    item.value: item.identifier
    for item in cast(Any, bpy.types.Bone.bl_rna.properties["inherit_scale"]).enum_items
}
"""The modes of inheriting scale, by number."""


class Rests(NamedTuple):
    """The names and rest poses of an armature's bones, as Blender stores them.

    Attributes:
        names: The names of its pose bones.
        rest_names: The names of its data's bones. The attributes below are in the same order.
        connected: Whether they are connected to their parents.
        matrices: Their frames in armature space, as bytes.
        lengths: Their lengths, as bytes.
        inherit_scale: Numbers of their modes, as bytes.
        inherit_rotation: Whether they inherit rotation.
        local_location: Whether their location is local.
    """

    names: tuple[str, ...]
    rest_names: tuple[str, ...]
    connected: tuple[bool, ...]
    matrices: bytes
    lengths: bytes
    inherit_scale: bytes
    inherit_rotation: tuple[bool, ...]
    local_location: tuple[bool, ...]


FIXED = Rests._fields.index("matrices")
"""How many attributes of `Rests` change only with names of pose bones, or new relations."""


def _rests_of(armature: bpy.types.Object) -> Rests:
    """Return the names and rest poses of all bones. They may change without new relations."""
    rests: Any = cast("bpy.types.Armature", armature.data).bones
    connected = [False] * len(rests)
    rests.foreach_get("use_connect", connected)
    names = tuple(pose_bones(armature).keys()), tuple(rests.keys())
    return Rests(*names, tuple(connected), *_poses_of(rests))


def _poses_of(rests: bpy.types.bpy_prop_collection[Any]) -> tuple[Any, ...]:
    """Return the rest poses of an armature data's bones, as the last attributes of `Rests`."""
    columns: list[Any] = []
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
        columns.append(tuple(flags))
    return tuple(columns)


class RestPose:
    """The bones of an armature at rest, shared by all armatures with equal rest poses.

    All values are computed from a copy, so they stay right while one of the armatures is edited.

    Attributes:
        read: The names and rest poses as Blender stores them.
        names: The names of the bones.
        index: The index of each name.
        parents: The indices of the parents, -1 for none.
        derived: Values that other modules computed from the rest pose alone, by key.
    """

    def __init__(self, read: Rests, rest_names: Sequence[str], parents: Sequence[str]) -> None:
        """Store what was read; everything else is computed on demand.

        Args:
            read: The names and rest poses as Blender stores them.
            rest_names: The name that each bone has in the data.
            parents: The names of the parents; empty for none.
        """
        self.read, self.names = read, [*read.names]
        self.index = {name: i for i, name in enumerate(self.names)}
        self.parents = [self.index.get(name, -1) for name in parents]
        rows = {name: row for row, name in enumerate(read.rest_names)}
        # Newly assigned data may lack bones until the next update.
        self._rows = [rows.get(name, -1) for name in rest_names]
        self.derived: dict[object, Any] = {}
        self._bones: dict[int, Bone] = {}
        self._states: dict[int, object] = {}

    def bone(self, i: int) -> Bone:
        """Return the rest pose of a bone in the solver's form.

        Raises:
            KeyError: If the data lacks it.
        """
        if i not in self._bones:
            read, row, parent = self.read, self._row(i), self.parents[i]
            self._bones[i] = _bone_of(
                self.matrix(i),
                Matrix.Identity(4) if parent < 0 else self.matrix(parent),
                self.length(i),
                INHERIT_SCALE[array("i", read.inherit_scale)[row]],
                read.inherit_rotation[row],
                read.local_location[row],
            )
        return self._bones[i]

    @cached_property
    def _lengths(self) -> array[float]:
        return array("f", self.read.lengths)

    @cached_property
    def _matrices(self) -> array[float]:
        return array("f", self.read.matrices)

    def _row(self, i: int) -> int:
        row = self._rows[i]
        if row < 0:
            raise KeyError(self.names[i])
        return row

    def length(self, i: int) -> float:
        """Return the length of a bone in armature space.

        Raises:
            KeyError: If the data lacks it.
        """
        return self._lengths[self._row(i)]

    def matrix(self, i: int) -> Matrix:
        """Return the 4 × 4 matrix of a bone in armature space.

        Raises:
            KeyError: If the data lacks it.
        """
        row = self._row(i)
        numbers = self._matrices[16 * row : 16 * row + 16]  # Column by column.
        return Matrix([numbers[k::4] for k in range(4)])

    def state(self, i: int) -> object:
        """Return the rest pose of a bone as `_rest_states` does."""
        if i not in self._states:
            read, row = self.read, self._row(i)
            mode = INHERIT_SCALE[array("i", read.inherit_scale)[row]]
            flags = mode, read.inherit_rotation[row], read.local_location[row]
            self._states[i] = read.matrices[64 * row : 64 * row + 64], self.length(i), flags
        return self._states[i]

    @cached_property
    def connected(self) -> frozenset[int]:
        """The connected bones."""
        return frozenset(
            [i for i, row in enumerate(self._rows) if row >= 0 and self.read.connected[row]]
        )

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each bone."""
        children: list[list[int]] = [[] for _ in self.names]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(i)
        return children


_rest_poses: WeakValueDictionary[object, RestPose] = WeakValueDictionary()
"""The rest poses of all skeletons, by what was read."""


def _rest_pose_of(armature: bpy.types.Object) -> RestPose:
    read = _rests_of(armature)
    rest_names = read.names
    if rest_names != read.rest_names:  # Renamed in Edit Mode, or in another order.
        bones = pose_bones(armature)
        rest_names = tuple([rest.name if (rest := bone.bone) else bone.name for bone in bones])
    key = read, rest_names, tuple(_parents_of(armature))
    rest_pose = _rest_poses.get(key)
    if rest_pose is None:
        rest_pose = _rest_poses[key] = RestPose(*key)
    return rest_pose


def _rest_states(bones: Iterable[Any]) -> list[object]:
    """Return the rest poses of bones in a comparable form."""
    numbers = array("f", bytes(64))
    states: list[object] = []
    for bone in bones:  # Asked for each bone in use, whenever any is posed.
        bone.path_resolve("matrix_local", False).foreach_get(numbers)
        flags = bone.inherit_scale, bone.use_inherit_rotation, bone.use_local_location
        states.append((numbers.tobytes(), bone.length, flags))
    return states


def rest_of(bone: bpy.types.Bone) -> Bone:
    """Return the rest pose of a bone in the solver's form."""
    return _bone_of(
        bone.matrix_local,
        bone.parent.matrix_local if bone.parent else Matrix.Identity(4),
        bone.length,
        bone.inherit_scale,
        bone.use_inherit_rotation,
        bone.use_local_location,
    )


def _bone_of(
    matrix: Matrix,
    parent_matrix: Matrix,
    length: float,
    inherit_scale: str,
    inherit_rotation: bool,
    local_location: bool,
) -> Bone:
    # Blender's arithmetic computes the offset, so that ordinary bones have no shear at all.
    # A bone of 1e20 meters has a rest matrix without axes, which has no inverse.
    offset = parent_matrix.inverted_safe() @ matrix
    return Bone(
        rest=matrix3(offset),
        head=vector(offset.translation),
        length=length,
        parent_rest=matrix3(parent_matrix),
        inherit_scale=inherit_scale,
        inherit_rotation=inherit_rotation,
        local_location=local_location,
    )


def matrix3(matrix: Matrix) -> Mat3:
    """Return the upper left 3 × 3 of a matrix in the solver's form, row by row."""
    a, b, c = matrix[0], matrix[1], matrix[2]
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


def upright(matrix: Matrix) -> Quaternion:
    """Return the rotation with the Y axis of a matrix, and its Z axis as closely as possible.

    Unlike `Matrix.to_quaternion`, it doesn't reverse Y and Z if the matrix is mirrored, nor rotate
    them with shear.
    """
    axes = orthonormalize(matrix3(matrix))
    return Quaternion() if axes is None else Quaternion(quat_of(axes))


def vector(values: Vector | Sequence[float]) -> Vec:
    """Return a vector in the solver's form."""
    return (values[0], values[1], values[2])


def matrix_frame(matrix: Matrix) -> Frame:
    """Return a 4 × 4 matrix as a frame."""
    # Indexing rows takes half as long as unpacking the matrix.
    a, b, c, translation = matrix[0], matrix[1], matrix[2], matrix.translation
    axes = (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
    return axes, (translation[0], translation[1], translation[2])


def _parents_of(armature: bpy.types.Object) -> list[str]:
    """Return the parent's name of each of an armature's pose bones; empty without a parent.

    In Edit Mode, Blender frees deleted and dissolved pose bones, but their children still point to
    them. The armature data has all bones until Edit Mode is left.
    """
    bones = pose_bones(armature)
    if not is_edited(armature):
        return [parent.name if (parent := bone.parent) else "" for bone in bones]
    rests = cast("bpy.types.Armature", armature.data).bones
    names: list[str] = []
    for bone in bones:
        data_bone: Any = rests.get(bone.name)
        ancestor_names = [parent.name for parent in data_bone.parent_recursive] if data_bone else []
        names.append(next((parent for parent in ancestor_names if parent in bones), ""))
    return names


@dataclass(slots=True)
class Point:
    """The origin of an object, or the head of one of its bones.

    Attributes:
        object: The object.
        skeleton: Its bones, if the point is the head of a bone.
        bone: The index of the bone; -1 for the object's origin.
        uid: The `session_uid` of the object.
    """

    object: bpy.types.Object
    skeleton: Skeleton | None = None
    bone: int = -1
    uid: int = field(init=False)

    def __post_init__(self) -> None:
        """Look up the `session_uid` once."""
        self.uid = self.object.session_uid


class Landmarks:
    """The bones of an armature that don't just follow their parents."""

    def __init__(self, rig: Skeleton, bones: Iterable[int]) -> None:
        """Mark the bones."""
        self._rig = rig
        self._nearest = {-1: -1} | {bone: bone for bone in bones}

    def nearest(self, bone: int) -> int:
        """Return the lowest landmark at or above a bone, or -1 if there is none.

        The bones passed on the way are recorded for `Skeleton.has_same_names`.
        """
        nearest, rig = self._nearest, self._rig
        passed: list[int] = []
        while bone not in nearest:
            passed.append(bone)
            bone = rig.parents[bone]
        landmark = nearest[bone]
        rig.record(passed if landmark < 0 else (*passed, landmark))
        nearest.update(dict.fromkeys(passed, landmark))
        return landmark


class Skeletons(dict[int, Skeleton]):
    """The session's cached skeletons, by the session UID of the armature."""


def forget_skeletons(armatures: Collection[bpy.types.ID] | None = None) -> None:
    """Discard cached skeletons: bones may have changed, or references may be invalid.

    Args:
        armatures: The armature data; None for all.
    """
    cached = part(Skeletons)
    for uid, skeleton in list(cached.items()):
        if armatures is None or skeleton.object.data in armatures:
            del cached[uid]


def forget_replaced(armatures: Collection[int]) -> None:
    """Discard the cached skeletons of armature objects, by session UID."""
    cached = part(Skeletons)
    for uid in cached.keys() & armatures:
        del cached[uid]


def forget_bones() -> None:
    """Release references to the bones of all armatures: Blender may have rebuilt them."""
    for skeleton in part(Skeletons).values():
        skeleton.forget_columns()


def have_bones_changed(armatures: Collection[bpy.types.ID] | None = None) -> bool:
    """Return whether the names or order of a cached armature's bones have changed.

    Args:
        armatures: The armature data to check; None for all.
    """
    try:
        return not all(skeleton.has_same_bones() for skeleton in _known_of(armatures))
    except ReferenceError:
        return True  # The armature was removed, like all when a file is loaded.


def have_hidden_bones_changed(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether names have changed in a cached armature that a depsgraph doesn't evaluate.

    Blender sends no notification about these.
    """
    hidden = [
        skeleton
        for skeleton in part(Skeletons).values()
        if not skeleton.object.evaluated_get(depsgraph).is_evaluated
    ]
    return not all([skeleton.has_same_bones() for skeleton in hidden])


def skeletons_by_name() -> dict[str, list[Skeleton]]:
    """Return the cached skeletons by the names of their object and armature data."""
    by_name: dict[str, list[Skeleton]] = {}
    for skeleton in part(Skeletons).values():
        for block in (skeleton.object, cast("bpy.types.ID", skeleton.object.data)):
            by_name.setdefault(block.name, []).append(skeleton)
    return by_name


def have_skeletons_changed(armatures: Collection[bpy.types.ID] | None) -> bool:
    """Return whether names or rest poses of cached armatures have changed.

    Args:
        armatures: The armature data whose recorded bones to check; None checks all bones of all.
    """
    return any(skeleton.has_changed(at_all=armatures is None) for skeleton in _known_of(armatures))


def _known_of(armatures: Collection[bpy.types.ID] | None) -> list[Skeleton]:
    cached = part(Skeletons).values()
    return [
        skeleton for skeleton in cached if armatures is None or skeleton.object.data in armatures
    ]


def skeleton_of(armature: bpy.types.Object) -> Skeleton:
    """Return the skeleton of an armature object, cached until `forget_skeletons`."""
    cached, uid = part(Skeletons), armature.session_uid
    if uid not in cached:
        cached[uid] = Skeleton(armature)
    return cached[uid]


def rebuild_poses() -> None:
    """Rebuild the poses of all armatures whose bones were replaced by undo.

    Blender only rebuilds the poses that it evaluates. Up to 4.5, other poses, such as those in a
    hidden scene, may point to freed bones. Reading these crashes.
    """
    for ob in bpy.data.objects:
        if (
            ob.type == "ARMATURE"
            and ob.pose is not None
            and ob.library is None
            and _has_freed_bones(ob)
        ):
            ob.data = cast(Any, ob.data)


def _has_freed_bones(armature: bpy.types.Object) -> bool:
    rests = cast("bpy.types.Armature", armature.data).bones
    pointers = {bone.name: bone.as_pointer() for bone in rests}
    posed = [(bone.name, bone.bone) for bone in pose_bones(armature)]
    return any(bone is None or bone.as_pointer() != pointers.get(name) for name, bone in posed)
