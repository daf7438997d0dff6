"""Reading the scene into an immutable snapshot.

Armatures are read at once, transforms of objects on demand; the scene does not change meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar, cast

import bpy

from fabrik_solver import Frame
from fabrik_solver.core.vectors import Vec

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.curves import Sampler
from ..blender.errors import report_once
from ..blender.rotation import PoseChannels, Rows
from ..blender.skeleton import Skeleton, matrix_frame
from ..settings.properties import FabrikConstraint, settings
from .chain_plan import ChainPlan, GoalSource
from .evaluated import Evaluated
from .fk_pose import FkPose, FkReader
from .plan import Plan
from .unevaluated import Unevaluated, animated_from, object_frame, object_place

T = TypeVar("T")


class SceneSnapshot:
    """The state of armatures and objects in one depsgraph.

    Attributes:
        plan: The plan.
        rigs: The evaluated armatures to solve.
        scene: The scene.
        time: Its frame.
        evaluated: By armature, its evaluated data.
        poses: By armature, its FK pose.
        failed: Armatures that could not be read because of an unexpected error.
        locations: World locations of objects that were read.
    """

    def __init__(
        self,
        plan: Plan,
        depsgraph: bpy.types.Depsgraph,
        rigs: Mapping[int, bpy.types.Object],
        touched: Collection[int],
        has_foreign_animation: bool = False,
        is_played: bool = False,
    ) -> None:
        """Read a scene.

        Args:
            plan: The plan.
            depsgraph: The depsgraph to read.
            rigs: The armatures to solve, as it has evaluated them.
            touched: Those whose own channels or settings may have changed since the last reading.
            has_foreign_animation: Whether it has evaluated animation that Blender does not flush
                to the original data, as in a render.
            is_played: Whether nothing but animation may have changed the other armatures.
        """
        self.plan = plan
        self.depsgraph = depsgraph
        self.rigs = rigs
        self.scene = cast(bpy.types.Scene, depsgraph.scene)
        self.time = self.scene.frame_current_final
        self.locations: dict[int, Vec] = {}
        self._has_foreign_animation = has_foreign_animation
        self._is_played = is_played
        self.evaluated, self.poses, self.failed = self._read_all(touched)

    def _read_all(
        self, touched: Collection[int]
    ) -> tuple[Mapping[int, Evaluated], Mapping[int, FkPose], Collection[int]]:
        evaluated: dict[int, Evaluated] = {}
        poses: dict[int, FkPose] = {}
        failed: tuple[int, ...] = ()
        for uid in self.rigs:
            reader = self.plan.readers[uid]
            try:
                evaluated[uid], poses[uid] = self._read(uid, reader, uid in touched)
            except ReferenceError:
                raise
            except Exception:
                report_once(f"could not read “{reader.rig.object.name}”")
                failed += (uid,)
                evaluated[uid] = Evaluated(self.rigs[uid], reader.rows)
                poses[uid] = reader.last or FkPose(reader.rig, reader.rows)
        return evaluated, poses, failed

    def _read(self, uid: int, reader: FkReader, is_touched: bool) -> tuple[Evaluated, FkPose]:
        now = Evaluated(self.rigs[uid], reader.rows)
        channels = PoseChannels(pose_bones(reader.rig.object), reader.rows)
        if self._has_foreign_animation:
            channels = animated_from(now.channels, reader.rig.object, channels)
        known = self.plan.lookahead.varying
        if is_touched or not self._is_played:
            known.pop(uid, None)  # Other channels may be animated now.
            return now, reader.read(now, channels, is_touched)
        if uid not in known:
            known[uid] = reader.varying_in(animation.animated(reader.rig.object))
        names = known[uid].settings
        return now, reader.read(now, channels, known[uid].has_channels, bool(names), names)

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return an evaluated constraint."""
        items = settings(self.rigs[chain.rig.uid]).constraints
        if chain.item >= len(items):  # The copy predates the constraint.
            items = settings(chain.rig.object).constraints
        return items[chain.item]

    def derived(self, chain: ChainPlan, make: Callable[[FabrikConstraint], T]) -> T:
        """Return what a function makes of an evaluated constraint.

        It is called again whenever the settings of the armature are read again.
        """
        derived = self.plan.readers[chain.rig.uid].derived
        key = chain.item, make
        if key not in derived:
            derived[key] = make(self.item(chain))
        return derived[key]

    def unsolved(self, rig: Skeleton, rows: Rows) -> Evaluated:
        """Return an armature that is not being solved."""
        return Evaluated(self.copy(rig.object), rows)

    def moved(self, rig: Skeleton) -> Collection[int]:
        """Return the bones of an armature whose frames must be computed."""
        return self.plan.moved[rig.uid] if rig.uid in self.rigs else ()

    def copy(self, ob: bpy.types.Object) -> bpy.types.Object:
        """Return the evaluated object."""
        return ob.evaluated_get(self.depsgraph)

    def location(self, ob: bpy.types.Object, uid: int) -> Vec | None:
        """Return the world location of an object; None if it must be computed."""
        place = self.locations.get(uid)
        if place is None and uid not in self.plan.carried:
            world = ob.evaluated_get(self.depsgraph).matrix_world
            place = self.locations[uid] = cast(Vec, world.translation.to_tuple())
        return place

    def world(self, ob: bpy.types.Object, uid: int) -> Frame | None:
        """Return the frame of an object in world space; None if it must be computed."""
        return None if uid in self.plan.carried else matrix_frame(self.copy(ob).matrix_world)

    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return the frame of an object in the space of its parent."""
        return matrix_frame(self.copy(ob).matrix_basis)


class SnapshotAhead(SceneSnapshot):
    """A snapshot ahead of an evaluation, where all inputs are known (see `lookahead`).

    It is read from original data, and from F-curves at a frame that is not evaluated yet.

    Attributes:
        seen: By the source of a goal, what it reads of evaluated meshes.
        objects: Objects whose transforms were computed, by session UID.
        locations: World locations of those without a parent.
    """

    def __init__(
        self,
        plan: Plan,
        scene: bpy.types.Scene,
        rigs: Iterable[int],
        touched: Collection[int],
        frame: float | None = None,
        depsgraph: bpy.types.Depsgraph | None = None,
        seen: Mapping[GoalSource, object] | None = None,
    ) -> None:
        """Read a scene.

        Args:
            plan: The plan.
            scene: The scene.
            rigs: The armatures to solve.
            touched: Those that were edited since the last reading.
            frame: The frame that will be evaluated; None if the channels already have its values.
            depsgraph: The depsgraph. After its evaluation it has the same transforms of objects
                without a parent.
            seen: What the sources of goals read of its meshes, if it will be evaluated now; None if
                that has happened.
        """
        self.plan = plan
        self.rigs = {uid: plan.rigs[uid].object for uid in rigs}
        self.scene = scene
        self.time = scene.frame_current_final
        self.objects: dict[int, bpy.types.Object] = {}
        self.locations: dict[int, Vec] = {}
        self._frame_ahead = frame
        self.seen = {} if seen is None else seen
        self.depsgraph = cast(bpy.types.Depsgraph, depsgraph)  # Nothing reads it if there is none.
        self._seen_in = depsgraph if seen is None else None
        self._played: dict[int, Sampler | None] = {}
        self.evaluated, self.poses, self.failed = self._read_all(touched)

    def _read(self, uid: int, reader: FkReader, is_touched: bool) -> tuple[Unevaluated, FkPose]:
        now = Unevaluated(reader.rig, reader.rows, self._curves(uid))
        return now, reader.read(
            now,
            now.channels,
            is_touched or now.has_animated_bones,
            is_touched or now.has_animated_settings,
        )

    def _curves(self, uid: int) -> Sampler | None:
        """Return the F-curves of an object at the coming frame; None if it has none."""
        if uid not in self._played:
            curves, frame = self.plan.lookahead.curves.get(uid), self._frame_ahead
            self._played[uid] = None if curves is None or frame is None else Sampler(curves, frame)
        return self._played[uid]

    def unsolved(self, rig: Skeleton, rows: Rows) -> Evaluated:
        """Return an armature that is not solved."""
        return Unevaluated(rig, rows, self._curves(rig.uid))

    def moved(self, rig: Skeleton) -> Collection[int]:
        """Return the bones whose frames must be computed: all."""
        return range(len(rig.names))

    def copy(self, ob: bpy.types.Object) -> bpy.types.Object:
        """Return the original object."""
        return ob

    def location(self, ob: bpy.types.Object, uid: int) -> Vec | None:
        """Return the coming world location of an object; None if it must be computed."""
        place = self.locations.get(uid)
        if place is None and ob.parent is None:
            place = self.locations[uid] = self._location(ob, uid)
        return place

    def _location(self, ob: bpy.types.Object, uid: int) -> Vec:
        if self._seen_in is not None:
            copy = ob.evaluated_get(self._seen_in)
            return cast(Vec, copy.matrix_world.translation.to_tuple())
        self.objects[uid] = ob
        played = self._curves(uid)
        if played is not None and self._is_animated(uid):
            return object_place(ob, played)
        return cast(Vec, ob.matrix_basis.translation.to_tuple())

    def _is_animated(self, uid: int) -> bool:
        """Return whether F-curves set the transform of an object."""
        return uid in self.plan.lookahead.placed

    def world(self, ob: bpy.types.Object, uid: int) -> Frame | None:
        """Return the coming frame of an object in world space; None if it must be computed."""
        if ob.parent is not None:
            return None
        if self._seen_in is not None and not self._is_animated(uid):
            return matrix_frame(ob.evaluated_get(self._seen_in).matrix_world)
        return self.basis(ob, uid)

    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return the coming frame of an object in the space of its parent, if it has one."""
        self.objects[uid] = ob
        if not self._is_animated(uid):
            return matrix_frame(ob.matrix_basis)
        return object_frame(ob, self._curves(uid), uid in self.plan.lookahead.turned)

    def has_played(self, uid: int, depsgraph: bpy.types.Depsgraph) -> bool:
        """Return whether the bones of an armature were animated as expected."""
        now = self.evaluated[uid]
        if not isinstance(now, Unevaluated) or not now.has_animated_bones:
            return True  # It could not be read, or no F-curve sets its bones.
        copy = self.rigs[uid].evaluated_get(depsgraph)
        posed = self.plan.lookahead.animated[uid]
        return not copy.is_evaluated or now.has_played(PoseChannels(pose_bones(copy)), posed)
