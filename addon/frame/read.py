"""Reads the scene into an immutable snapshot.

Armatures are read right away, and object transforms when needed. Until the last of them is read,
the scene doesn't change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import dist
from typing import Any, TypeVar, cast

import bpy

from fabrik_solver import Frame, are_near
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    mat_product,
    quat_matrix,
    scale_columns,
    times,
)

from ..blender.access import pose_bones
from ..blender.curves import Sampler
from ..blender.errors import report_once
from ..blender.rotation import PoseChannels, Rows, channel_of, mode_of, quaternion
from ..blender.skeleton import Skeleton, matrix3, matrix_frame
from ..plan.chain_plan import ChainPlan, GoalSource
from ..plan.plan import Plan
from ..settings.properties import FabrikConstraint, settings
from .armature import Evaluated, FkPose, FkReader, Unevaluated, Varying, animated_from
from .following import Followers
from .replay import ShownFrame

T = TypeVar("T")

PRECISION = 1e-5
"""Tolerance of single precision. Locations: relative to the largest coordinate of the object and
its parents. Axes: relative to their length."""

ROUNDED = 10.0 * PRECISION
"""The same for bones with constraints, because some of these amplify rounding."""


class PlayedRig:
    """Values of an armature cached during playback.

    Attributes:
        varying: Which of its values are animated; None before the first reading.
        followers: Its bones that follow something solved; None before they are asked for.
        columns: If a few of its bones are posed, the channels of all without F-curve values.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.varying: Varying | None = None
        self.followers: Followers | None = None
        self.columns: dict[str, array[Any]] = {}


class Played:
    """Values cached during playback; any edit discards them.

    Attributes:
        rigs: The values of each armature read during playback.
        still: The world-space frames of objects that animation doesn't move.
        frames: The frames at which all armatures were solved.
        shown: For each frame and armature, what it showed, if its chains follow computed bones.
        copies: The armatures evaluated by `depsgraph`.
        depsgraph: The depsgraph that evaluated last.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.rigs: defaultdict[int, PlayedRig] = defaultdict(PlayedRig)
        self.still: dict[int, Frame] = {}
        self.frames: set[float] = set()
        self.shown: dict[float, dict[int, ShownFrame]] = {}
        self.copies: dict[int, bpy.types.Object] = {}
        self.depsgraph: bpy.types.Depsgraph | None = None


class SceneSnapshot(ABC):
    """The state of armatures and objects in one update.

    Attributes:
        plan: The plan.
        depsgraph: The depsgraph.
        rigs: The armatures to solve, evaluated or about to be.
        scene: The scene.
        time: Its frame.
        evaluated: For each armature, its evaluated data.
        poses: For each armature, its FK pose.
        failed: Armatures that an unexpected error kept from being read.
        locations: World locations of the objects read so far.
        played: The playback cache, if nothing was edited; otherwise None.
        posed: For each armature, its bones that follow something solved; None if more than the pose
            of bones may have been edited.
        settled: The armatures of which only bones were posed since their settings were read.
    """

    evaluated: Mapping[int, Evaluated]
    poses: Mapping[int, FkPose]
    failed: Collection[int]

    def __init__(
        self,
        plan: Plan,
        readers: Mapping[int, FkReader],
        depsgraph: bpy.types.Depsgraph | None,
        scene: bpy.types.Scene,
        rigs: Mapping[int, bpy.types.Object],
        played: Played | None,
    ) -> None:
        """Start without reading."""
        self.plan = plan
        untyped: Any = depsgraph  # Never read if it is None.
        self.depsgraph: bpy.types.Depsgraph = untyped
        self.scene = scene
        self.time = scene.frame_current_final
        self.rigs = rigs
        self.locations: dict[int, Vec] = {}
        self.played = played
        self.posed: dict[int, Followers] | None = None
        self.settled: Collection[int] = ()
        self._readers = readers

    def _read_all(self, touched: Collection[int]) -> None:
        """Read all armatures; the touched ones in full."""
        evaluated: dict[int, Evaluated] = {}
        poses: dict[int, FkPose] = {}
        failed: tuple[int, ...] = ()
        for uid in self.rigs:
            reader = self._readers[uid]
            try:
                evaluated[uid], poses[uid] = self._read(uid, reader, uid in touched)
            except ReferenceError:
                raise
            except Exception:
                report_once(f"could not read “{reader.rig.object.name}”")
                failed += (uid,)
                evaluated[uid] = Evaluated(self.rigs[uid], reader.rows)
                poses[uid] = reader.last or FkPose(reader.rig, reader.rows)
        self.evaluated, self.poses, self.failed = evaluated, poses, failed

    def _read(self, uid: int, reader: FkReader, is_touched: bool) -> tuple[Evaluated, FkPose]:
        played = self.played
        if played is not None and is_touched:
            played.rigs.pop(uid, None)
        current = self._opened(uid, reader)
        if played is None or is_touched:
            channels, has_settings = self._fk_channels(current, reader), uid not in self.settled
            return current, reader.read(current, channels, is_touched, is_touched and has_settings)
        rig = played.rigs[uid]
        varying = rig.varying
        is_any = varying is None or varying.has_pose or varying.has_channels or varying.settings
        if not is_any and reader.last is not None:
            return current, reader.last
        varying = varying or reader.varying(uid in self.plan.lookahead.known)
        fk = reader.read_played(current, self._fk_channels(current, reader), varying)
        rig.varying = varying
        return current, fk

    @abstractmethod
    def _opened(self, uid: int, reader: FkReader) -> Evaluated:
        """Return an armature to be read, evaluated or about to be."""

    def _fk_channels(self, evaluated: Evaluated, _reader: FkReader) -> PoseChannels:
        """Return the channels that hold the FK pose of an armature."""
        return evaluated.channels

    def followers(self, rig: Skeleton) -> Followers | None:
        """Return the cached bones with native constraints; None without a cache."""
        played = self.played
        if self.posed is not None and rig.uid in self.plan.lookahead.constrained:
            if rig.uid not in self.posed:
                self.posed[rig.uid] = Followers(rig, {}, is_posed=True)
            return self.posed[rig.uid]
        if played is None or rig.uid not in played.rigs or rig.uid not in self.rigs:
            return None
        cached = played.rigs[rig.uid]
        if cached.followers is None and cached.varying is not None:
            animated = self.plan.lookahead.without_settled(rig, cached.varying.bones)
            cached.followers = Followers(rig, animated, is_posed=False)
        return cached.followers

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return an evaluated constraint."""
        items = settings(self.rigs[chain.rig.uid]).constraints
        if chain.item >= len(items):  # The copy is older than the constraint.
            items = settings(chain.rig.object).constraints
        return items[chain.item]

    def cached(self, chain: ChainPlan, make: Callable[[FabrikConstraint], T]) -> T:
        """Return a value that a function derives from an evaluated constraint.

        The function is called again whenever the armature's settings are read again.
        """
        cached = self._readers[chain.rig.uid].cached
        key = chain.item, make
        if key not in cached:
            cached[key] = make(self.item(chain))
        return cached[key]

    @abstractmethod
    def unsolved(self, rig: Skeleton, rows: Rows) -> Evaluated:
        """Return an armature that isn't being solved."""

    @abstractmethod
    def moved(self, rig: Skeleton) -> Collection[int]:
        """Return an armature's bones whose frames must be computed."""

    @abstractmethod
    def copy(self, ob: bpy.types.Object) -> bpy.types.Object:
        """Return the copy of an object to read: the original or the evaluated one."""

    @abstractmethod
    def location(self, ob: bpy.types.Object, uid: int) -> Vec | None:
        """Return an object's world location; None if it must be computed."""

    @abstractmethod
    def world(self, ob: bpy.types.Object, uid: int) -> Frame | None:
        """Return an object's frame in world space; None if it must be computed."""

    @abstractmethod
    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return an object's frame in its parent's space, if it has a parent."""

    def came_true(
        self,
        _depsgraph: bpy.types.Depsgraph,
        _worlds: Mapping[int, Frame],
        _frames: Mapping[int, Mapping[int, Frame]],
    ) -> bool:
        """Return whether a depsgraph evaluated the values that were read ahead."""
        return True


class EvaluatedSnapshot(SceneSnapshot):
    """A snapshot of the values that a depsgraph evaluated."""

    def __init__(
        self,
        plan: Plan,
        readers: Mapping[int, FkReader],
        depsgraph: bpy.types.Depsgraph,
        rigs: Mapping[int, bpy.types.Object],
        touched: Collection[int],
        has_foreign_animation: bool = False,
        played: Played | None = None,
    ) -> None:
        """Read a scene.

        Args:
            plan: The plan.
            readers: The readers, by armature.
            depsgraph: The depsgraph to read.
            rigs: The armatures to solve, as evaluated by it.
            touched: Those whose channels or settings may have changed since the last reading.
            has_foreign_animation: Whether Blender doesn't flush evaluated animation to the original
                data, as in a render.
            played: The playback cache, if only animation may have changed the other armatures;
                otherwise None.
        """
        scene = cast("bpy.types.Scene", depsgraph.scene)
        super().__init__(plan, readers, depsgraph, scene, rigs, played)
        self._has_foreign_animation = has_foreign_animation
        self._read_all(touched)

    def _opened(self, uid: int, reader: FkReader) -> Evaluated:
        return Evaluated(self.rigs[uid], reader.rows)

    def _fk_channels(self, evaluated: Evaluated, reader: FkReader) -> PoseChannels:
        channels = PoseChannels(pose_bones(reader.rig.object), reader.rows)
        if self._has_foreign_animation:
            channels = animated_from(evaluated.channels, reader.rig.object, channels)
        return channels

    def unsolved(self, rig: Skeleton, rows: Rows) -> Evaluated:
        """Return an armature that isn't being solved."""
        return Evaluated(self.copy(rig.object), rows)

    def moved(self, rig: Skeleton) -> Collection[int]:
        """Return the posed bones, and those below them."""
        return self.plan.moved[rig.uid] if rig.uid in self.rigs else ()

    def copy(self, ob: bpy.types.Object) -> bpy.types.Object:
        """Return the evaluated object."""
        return ob.evaluated_get(self.depsgraph)

    def location(self, ob: bpy.types.Object, uid: int) -> Vec | None:
        """Return an object's world location; None if it must be computed."""
        location = self.locations.get(uid)
        if location is None and uid not in self.plan.carried:
            untyped: Any = ob
            world = untyped.evaluated_get(self.depsgraph).matrix_world
            location = self.locations[uid] = world.translation.to_tuple()
        return location

    def world(self, ob: bpy.types.Object, uid: int) -> Frame | None:
        """Return an object's frame in world space; None if it must be computed."""
        return None if uid in self.plan.carried else matrix_frame(self.copy(ob).matrix_world)

    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return an object's frame in its parent's space."""
        return matrix_frame(self.copy(ob).matrix_basis)


class ChannelSnapshot(SceneSnapshot):
    """A snapshot from channels and F-curves alone, if these are enough (see `lookahead`).

    It can be read before an evaluation, and has the same values after it.

    Attributes:
        seen: For each goal source, what it reads from evaluated meshes.
        objects: Objects whose transforms were computed, by session UID.
        locations: World locations of objects without a parent.
    """

    def __init__(
        self,
        plan: Plan,
        readers: Mapping[int, FkReader],
        scene: bpy.types.Scene,
        rigs: Iterable[int],
        touched: Collection[int],
        frame: float | None = None,
        depsgraph: bpy.types.Depsgraph | None = None,
        seen: Mapping[GoalSource, object] | None = None,
        played: Played | None = None,
        posed: dict[int, Followers] | None = None,
    ) -> None:
        """Read a scene.

        Args:
            plan: The plan.
            readers: The readers, by armature.
            scene: The scene.
            rigs: The armatures to solve.
            touched: Those edited since the last reading.
            frame: The frame to be evaluated next; None if the channels already hold its values.
            depsgraph: The depsgraph. After an evaluation its objects without a parent have the same
                transforms.
            seen: What goal sources read from its meshes before its evaluation; None after it.
            played: The playback cache, if only animation may have changed anything; otherwise None.
            posed: The bones that follow something solved; None if more than the pose of bones may
                have been edited.
        """
        objects = {uid: plan.rigs[uid].object for uid in rigs}
        super().__init__(plan, readers, depsgraph, scene, objects, played)
        self.objects: dict[int, bpy.types.Object] = {}
        self._frame_ahead = frame
        self.posed, self.settled = posed, () if posed is None else [*posed]
        self.seen = {} if seen is None else seen
        self._seen_in = depsgraph if seen is None else None
        self._samplers: dict[int, Sampler | None] = {}
        self._still = {} if played is None else played.still
        self._constrained_objects = plan.lookahead.constrained_objects
        self._read_all(touched)

    def _opened(self, uid: int, reader: FkReader) -> Evaluated:
        played = self._curves(uid) if uid in self.plan.lookahead.curves else None
        set_by = self._set_by(reader.rig) if self.plan.lookahead.driving else None
        opened = Unevaluated(reader.rig, reader.rows, played, set_by)
        if self.played is not None and opened.has_animated_bones and reader.rows.are_few:
            opened.channels.buffers = self.played.rigs[uid].columns
        return opened

    def _set_by(self, rig: Skeleton) -> bpy.types.Object | None:
        """Return an armature's evaluated copy, if it has driven settings and was evaluated."""
        depsgraph = self._seen_in
        if depsgraph is None or rig.uid not in self.plan.lookahead.driving:
            return None
        return rig.object.evaluated_get(depsgraph)

    def _curves(self, uid: int) -> Sampler | None:
        """Return an object's F-curves at the next frame; None if it has none."""
        if uid not in self._samplers:
            curves, frame = self.plan.lookahead.curves.get(uid), self._frame_ahead
            sampler = None if curves is None or frame is None else Sampler(curves, frame)
            self._samplers[uid] = sampler
        return self._samplers[uid]

    def unsolved(self, rig: Skeleton, rows: Rows) -> Evaluated:
        """Return an armature that isn't being solved."""
        return Unevaluated(rig, rows, self._curves(rig.uid), self._set_by(rig))

    def moved(self, rig: Skeleton) -> Collection[int]:
        """Return the bones whose frames must be computed: all of them."""
        return range(len(rig.names))

    def copy(self, ob: bpy.types.Object) -> bpy.types.Object:
        """Return the original object."""
        return ob

    def location(self, ob: bpy.types.Object, uid: int) -> Vec | None:
        """Return an object's world location at the next frame; None if it must be computed."""
        location = self.locations.get(uid)
        if location is not None or ob.parent is not None or uid in self._constrained_objects:
            return location
        untyped: Any = ob  # Unlike `cast`, this costs nothing, and runs very often.
        if self._seen_in is not None:
            location = untyped.evaluated_get(self._seen_in).matrix_world.translation.to_tuple()
        else:
            self.objects[uid] = ob
            is_placed = self._frame_ahead is not None and uid in self.plan.lookahead.placed
            played = self._curves(uid) if is_placed else None
            if played is None:
                location = untyped.matrix_basis.translation.to_tuple()
            else:
                location = object_place(ob, played)
        self.locations[uid] = location
        return location

    def world(self, ob: bpy.types.Object, uid: int) -> Frame | None:
        """Return an object's world-space frame at the next frame; None if it must be computed."""
        world = self._still.get(uid)
        if world is not None or ob.parent is not None or uid in self._constrained_objects:
            return world
        if self._seen_in is None or uid in self.plan.lookahead.placed:
            return self.basis(ob, uid)
        world = self._still[uid] = matrix_frame(ob.evaluated_get(self._seen_in).matrix_world)
        return world

    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return an object's frame in its parent's space at the next frame, if it has a parent."""
        self.objects[uid] = ob
        if uid not in self.plan.lookahead.placed:
            return matrix_frame(ob.matrix_basis)
        return object_frame(ob, self._curves(uid), uid in self.plan.lookahead.turned)

    def came_true(
        self,
        depsgraph: bpy.types.Depsgraph,
        worlds: Mapping[int, Frame],
        frames: Mapping[int, Mapping[int, Frame]],
    ) -> bool:
        """Return whether a depsgraph evaluated the expected values.

        Transforms are compared to single precision, meshes exactly.

        Args:
            depsgraph: The depsgraph.
            worlds: The frames of objects in world space, computed from the snapshot.
            frames: The frames of bones in armature space, by armature.
        """
        for source, seen in self.seen.items():
            if source.seen(depsgraph) != seen:
                return False
        for uid in self.plan.lookahead.constrained.keys() & frames.keys():
            if not self._has_expected_bones(uid, depsgraph, frames[uid]):
                return False
        extents: dict[int, float] = {}
        for uid, ob in self.objects.items():
            copy: Any = ob.evaluated_get(depsgraph)
            if not copy.is_evaluated:
                continue
            world, matrix = worlds.get(uid), copy.matrix_world
            if world is None:
                is_exact = matrix.translation[:] == self.locations.get(uid)
            else:
                is_exact = matrix_frame(matrix) == world
            if is_exact:  # The usual case.
                continue
            largest = _extent(ob, worlds, extents)
            if not self._has_expected_transform(uid, copy, worlds, largest):
                return False
        for uid, read in self.evaluated.items():
            if isinstance(read, Unevaluated) and read.has_animated_bones:
                copy = self.rigs[uid].evaluated_get(depsgraph)
                posed = self.plan.lookahead.animated[uid]
                if copy.is_evaluated and not read.has_played(copy, posed):
                    return False
        return True

    def _has_expected_bones(
        self, uid: int, depsgraph: bpy.types.Depsgraph, frames: Mapping[int, Frame]
    ) -> bool:
        """Return whether bones with constraints were evaluated as computed."""
        rig, constrained = self.plan.lookahead.constrained[uid]
        copy = rig.object.evaluated_get(depsgraph)
        if not copy.is_evaluated:
            return True
        bones, names = pose_bones(copy), rig.names
        present = [bone for bone in constrained if bone in frames]
        shown = [matrix_frame(bones[names[bone]].matrix) for bone in present]
        return are_near([frames[bone] for bone in present], shown, ROUNDED)

    def _has_expected_transform(
        self,
        uid: int,
        copy: bpy.types.Object,
        worlds: Mapping[int, Frame],
        largest: float,
    ) -> bool:
        """Return whether an object's evaluated transform is the expected one.

        Args:
            uid: The session UID of the object.
            copy: Its evaluated copy.
            worlds: The expected frames of objects in world space.
            largest: The largest coordinate of which its location is made (see `_extent`).
        """
        world = worlds.get(uid)
        location = world[1] if world is not None else self.locations.get(uid)
        if location is None or uid in self.plan.carried:
            return True  # It follows a solved bone.
        evaluated = copy.matrix_world.translation.to_tuple()
        if not dist(evaluated, location) <= PRECISION * max(largest, *map(abs, location)):
            return False
        if world is None:
            return True
        near = PRECISION * max(map(abs, world[0]))
        pairs = zip(matrix3(copy.matrix_world), world[0], strict=True)
        return all([abs(a - b) <= near for a, b in pairs])


def _extent(ob: bpy.types.Object, worlds: Mapping[int, Frame], extents: dict[int, float]) -> float:
    """Return the largest absolute world coordinate of an object and its parents.

    Args:
        ob: The object.
        worlds: The frames of objects in world space.
        extents: A cache of results, extended here.
    """
    uids: list[int] = []
    above: bpy.types.Object | None = ob
    while above is not None and above.session_uid not in extents:
        uids.append(above.session_uid)
        extents[uids[-1]] = 0.0  # Blender 4.2 allows parent cycles.
        above = above.parent
    largest = 0.0 if above is None else extents[above.session_uid]
    for uid in reversed(uids):
        world = worlds.get(uid)
        largest = extents[uid] = max(largest, *map(abs, world[1])) if world else largest
    return largest


def object_place(ob: bpy.types.Object, played: Sampler | None) -> Vec:
    """Return an object's location from its channels, as in `matrix_basis`.

    Args:
        ob: The object.
        played: Its F-curves at the frame; None if the channels already hold their values.
    """
    location = _vec(_channel(ob, played, "location"))
    delta = _vec(_channel(ob, played, "delta_location"))
    # Blender adds them in single precision.
    return location if delta == ORIGIN else _vec(array("f", add(location, delta)))


def object_frame(ob: bpy.types.Object, played: Sampler | None, turns: bool) -> Frame:
    """Return an object's frame from its channels; see `object_place`.

    Args:
        ob: The object.
        played: Its F-curves at the frame.
        turns: Whether F-curves set its rotation or scale.
    """
    if not turns:
        return matrix3(ob.matrix_basis), object_place(ob, played)
    mode = mode_of(ob)
    name, _ = channel_of(mode)
    turn = _matrix(mode, _channel(ob, played, name))
    if name != "rotation_axis_angle":  # RNA doesn't expose the delta of this one.
        turn = mat_product(_matrix(mode, _channel(ob, played, f"delta_{name}")), turn)
    scale = _vec(_channel(ob, played, "scale"))
    size = times(scale, _vec(_channel(ob, played, "delta_scale")))
    return scale_columns(turn, size), object_place(ob, played)


def _channel(ob: bpy.types.Object, played: Sampler | None, name: str) -> list[float]:
    numbers = list(getattr(ob, name))
    if played is not None:
        for i, number in played.at(name):
            numbers[i] = number
    return numbers


def _matrix(mode: int, numbers: list[float]) -> Mat3:
    return quat_matrix(quaternion(mode, numbers))


def _vec(numbers: Sequence[float]) -> Vec:
    x, y, z = numbers
    return (x, y, z)
