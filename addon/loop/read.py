"""Reading: where bones and objects stand, in the solver's terms and ahead of Blender.

What hangs on a chain that is solved in this update still stands in Blender's data where it stood
before, and ahead of an evaluation all else that was edited or animated does. So it is placed here
by our own arithmetic from local channels, which also makes it independent of the pose that was
there before, to the last bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import dist
from typing import cast

import bpy

from ..blender.access import pose_bones, rest_bone
from ..blender.curves import Played
from ..blender.errors import say_once
from ..blender.relations import TURNED_ONLY, active_constraints, acts_plainly, constraint_point
from ..blender.rotation import PoseChannels
from ..blender.skeleton import Point, Skeleton, matrix3, matrix_frame, skeleton_of
from ..core import WHOLE, Frame, bone_frame, frame_in, inverse, point_in
from ..core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    dot,
    length,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_product,
    scale_columns,
    unit,
)
from .chain_plan import ChainPlan
from .plan import Plan
from .pose import Evaluated, Pose
from .properties import FabrikConstraint, settings
from .results import Answer
from .unevaluated import Unevaluated, animated_from, object_frame, object_place

SAME_PLACE = 1e-5
"""How far apart two places may be that single precision takes for one, as a share of how far from
the world's origin anything is that they hang on; and two axes, as a share of how long they are."""


class SceneSnapshot:
    """Everything the solvers ask for, at one moment of one depsgraph.

    Attributes:
        failed: The armatures that could not be read, and chains that cannot be solved for that of
            something else, for no reason known to them.
    """

    def __init__(
        self,
        plan: Plan,
        depsgraph: bpy.types.Depsgraph,
        rigs: Mapping[int, bpy.types.Object],
        touched: Collection[int],
        has_foreign_animation: bool = False,
    ) -> None:
        """Look at a scene.

        Args:
            plan: What hangs on what.
            depsgraph: Where all input is read from.
            rigs: The armatures that are solved now, as it has evaluated them.
            touched: Those that may differ in themselves from when they were looked at last.
            has_foreign_animation: Whether it has evaluated animation that Blender does not flush
                to the file's data, as in a render.
        """
        self.plan = plan
        self.depsgraph = depsgraph
        self.rigs = rigs
        self.time = cast(bpy.types.Scene, depsgraph.scene).frame_current_final
        self.poses = {uid: plan.poses[uid] for uid in rigs}
        self.failed: set[object] = set()
        self._touched = touched
        self._has_foreign_animation = has_foreign_animation
        self._look_at_all()
        self._worlds: dict[int, Frame] = {}

    def _look_at_all(self) -> None:
        for uid, pose in self.poses.items():
            try:
                self._look_at(uid, pose)
            except ReferenceError:
                raise
            except Exception:
                say_once(f"could not read “{pose.rig.object.name}”")
                self.failed.add(uid)
                pose.start()

    def _look_at(self, uid: int, pose: Pose) -> None:
        now = Evaluated(self.rigs[uid], pose.rows)
        held = PoseChannels(pose_bones(pose.rig.object), pose.rows)
        if self._has_foreign_animation:
            held = animated_from(now.channels, pose.rig.object, held)
        pose.look(now, held, uid in self._touched)

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return a constraint as the depsgraph has evaluated it."""
        items = settings(self.rigs[chain.rig.uid]).constraints
        if chain.item >= len(items):  # The copy was made before the constraint was added.
            items = settings(chain.rig.object).constraints
        return items[chain.item]

    def point(self, point: Point) -> Vec:
        """Return where a target or pole stands, in world space."""
        if point.skeleton is None and not self._is_placed(point.uid):
            evaluated = point.object.evaluated_get(self.depsgraph)
            return cast(Vec, evaluated.matrix_world.translation.to_tuple())
        world = self.world(point.object, point.uid)
        if point.skeleton is None:
            return world[1]
        return point_in(world, self.frame(point.skeleton, point.bone)[1])

    def place(self, point: Point) -> Frame:
        """Return where a target stands and how it is turned and scaled, in world space."""
        world = self.world(point.object, point.uid)
        if point.skeleton is None:
            return world
        return frame_in(world, self.frame(point.skeleton, point.bone))

    def frame(self, rig: Skeleton, bone: int) -> Frame:
        """Return where a bone stands, in armature space."""
        pose = self.poses.get(rig.uid)
        if pose is None:
            pose = self.poses[rig.uid] = self._other_pose(rig)
        if pose.now.is_at_rest:  # What chains do is not shown at rest.
            return pose.now.frame(bone)
        moved = self._moved(rig)
        # Not by recursion: a chain may have more bones than Python allows calls.
        path: list[int] = []
        while bone in moved and bone not in pose.frames:
            path.append(bone)
            bone = rig.parents[bone]
        frame = WHOLE
        if bone >= 0:
            frame = pose.frames[bone] if bone in pose.frames else pose.now.frame(bone)
        for bone in reversed(path):
            frame = pose.frames[bone] = self._moved_frame(pose, bone, frame)
        return frame

    def _other_pose(self, rig: Skeleton) -> Pose:
        """Return an armature that is not solved."""
        pose = Pose(rig, set())
        pose.look(Evaluated(rig.object.evaluated_get(self.depsgraph), pose.rows), None, True)
        return pose

    def _moved(self, rig: Skeleton) -> Collection[int]:
        """Return the bones that are placed by our own arithmetic."""
        return self.plan.moved[rig.uid] if rig.uid in self.rigs else ()

    def _is_placed(self, uid: int) -> bool:
        """Return whether an object is placed by our own arithmetic."""
        return uid in self.plan.carried

    def _moved_frame(self, pose: Pose, bone: int, parent: Frame) -> Frame:
        rig = pose.rig
        is_posed = rig.uid in self.rigs and bone in self.plan.posed[rig.uid]
        local = pose.posed_local(bone) if is_posed else pose.local(bone)
        axes, head = bone_frame(rig.bone(bone), local, parent)
        for con in () if is_posed else active_constraints(pose.rows.find(pose.now.bones, bone)):
            if con.type in TURNED_ONLY:
                turned = self._copied_rotation(rig, axes, con)
                axes = pose.now.frame(bone)[0] if turned is None else turned
        return axes, head

    def _copied_rotation(self, rig: Skeleton, axes: Mat3, con: bpy.types.Constraint) -> Mat3 | None:
        """Return a bone's axes under Copy Rotation: turned as the source, their sizes kept.

        None if only Blender knows.
        """
        source = constraint_point(con)
        if source is None or not acts_plainly(con, on_bone=True):
            return None
        world = self.world(rig.object, rig.uid)[0]
        in_world = mat_product(world, axes)
        turn = _rotation(self.place(source)[0])
        if turn is None or mat_determinant(in_world) == 0.0:
            return None
        x, y, z = (length(column) for column in mat_columns(in_world))
        sign = -1.0 if mat_determinant(in_world) < 0.0 else 1.0
        return mat_product(
            inverse((world, ORIGIN))[0], scale_columns(turn, (x * sign, y * sign, z * sign))
        )

    def turn(self, pose: Pose, answer: Answer) -> None:
        """Set what was solved of an armature; what hangs on it is placed anew."""
        pose.turn(answer)
        for uid in self.plan.carried:
            self._worlds.pop(uid, None)

    def world(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return where an object, whose number is ``uid``, stands in world space."""
        if uid not in self._worlds:
            self._worlds[uid] = self._world(ob, uid)
        return self._worlds[uid]

    def _world(self, ob: bpy.types.Object, uid: int) -> Frame:
        evaluated = ob.evaluated_get(self.depsgraph)
        if self._is_placed(uid):
            return self._carried_world(ob, evaluated)
        return matrix_frame(evaluated.matrix_world)

    def _carried_world(self, ob: bpy.types.Object, evaluated: bpy.types.Object) -> Frame:
        """Place an object that hangs on a solved bone, as Blender will in its second pass."""
        world = matrix_frame(evaluated.matrix_basis)
        if ob.parent is not None:
            link = frame_in(self._parent_world(ob), matrix_frame(evaluated.matrix_parent_inverse))
            world = frame_in(link, world)
        for con in active_constraints(evaluated):
            source = constraint_point(con)
            if source is None:
                continue
            frame = self.place(source)
            if con.type == "CHILD_OF":
                world = frame_in(frame, frame_in(matrix_frame(con.inverse_matrix), world))
            elif con.type == "COPY_TRANSFORMS":
                world = frame
            elif con.type == "COPY_LOCATION":
                world = (world[0], frame[1])
            else:
                return matrix_frame(evaluated.matrix_world)
        return world

    def _parent_world(self, ob: bpy.types.Object) -> Frame:
        parent = cast(bpy.types.Object, ob.parent)
        world = self.world(parent, parent.session_uid)
        if ob.parent_type != "BONE" or parent.type != "ARMATURE":
            return world
        rig = skeleton_of(parent)
        bone = rig.index.get(ob.parent_bone)
        if bone is None:
            return world
        axes, head = self.frame(rig, bone)
        rest = rest_bone(parent, ob.parent_bone)
        if rest.use_relative_parent:
            # They hang on the armature's origin, as the bone has moved it out of the rest pose.
            moved = frame_in((axes, head), inverse(matrix_frame(rest.matrix_local)))
            return frame_in(world, moved)
        # Children of a bone hang on its tail.
        tail = point_in((axes, head), (0.0, rig.bone(bone).length, 0.0))
        return frame_in(world, (axes, tail))


class SnapshotAhead(SceneSnapshot):
    """The same ahead of an evaluation, where all that goes in is known (see `foresight`).

    All is read from the file's own data, and from F-curves at a frame that is not evaluated yet.
    """

    def __init__(
        self,
        plan: Plan,
        scene: bpy.types.Scene,
        rigs: Iterable[int],
        touched: Collection[int],
        frame: float | None = None,
        depsgraph: bpy.types.Depsgraph | None = None,
    ) -> None:
        """Look at a scene.

        Args:
            plan: What hangs on what.
            scene: The scene.
            rigs: The armatures that are solved now.
            touched: Those that were edited since they were looked at last.
            frame: The frame whose animation is going to be evaluated; None if the channels hold
                what it gives.
            depsgraph: What was evaluated meanwhile, if anything was: objects without a parent stand
                there, to the last bit, where they were foreseen.
        """
        self.plan = plan
        self._seen_in = depsgraph
        self.rigs = {uid: plan.rigs[uid].object for uid in rigs}
        self.time = scene.frame_current_final
        self.frame_ahead = frame
        self._worlds: dict[int, Frame] = {}
        self._objects: dict[int, bpy.types.Object] = {}
        self._places: dict[int, Vec] = {}
        self._played: dict[int, Played | None] = {}
        self.poses = {uid: plan.poses[uid] for uid in self.rigs}
        self.failed = set()
        self._touched = touched
        self._look_at_all()

    def _look_at(self, uid: int, pose: Pose) -> None:
        now = self._now(pose)
        is_touched = uid in self._touched
        pose.look(
            now,
            now.channels,
            is_touched or now.has_animated_bones,
            is_touched or now.has_animated_settings,
        )

    def _now(self, pose: Pose) -> Unevaluated:
        return Unevaluated(pose.rig, pose.rows, self._curves(pose.rig.uid))

    def _curves(self, uid: int) -> Played | None:
        """Return the F-curves of an object, if they are going to be evaluated."""
        if uid not in self._played:
            curves, frame = self.plan.foresight.curves.get(uid), self.frame_ahead
            self._played[uid] = None if curves is None or frame is None else Played(curves, frame)
        return self._played[uid]

    def _other_pose(self, rig: Skeleton) -> Pose:
        pose = Pose(rig, set())
        pose.look(self._now(pose), None, True)
        return pose

    def _moved(self, rig: Skeleton) -> Collection[int]:
        return range(len(rig.names))

    def _is_placed(self, uid: int) -> bool:
        return True

    def point(self, point: Point) -> Vec:
        """Return where a target or pole stands, in world space."""
        if point.skeleton is not None or point.object.parent is not None:
            return super().point(point)
        if self._seen_in is not None:
            copy = point.object.evaluated_get(self._seen_in)
            return cast(Vec, copy.matrix_world.translation.to_tuple())
        place = self._places.get(point.uid)
        if place is None:
            self._objects[point.uid] = point.object
            played = self._curves(point.uid)
            if played is not None and self._is_animated(point.uid):
                place = object_place(point.object, played)
            else:
                place = cast(Vec, point.object.matrix_basis.translation.to_tuple())
            self._places[point.uid] = place
        return place

    def _is_animated(self, uid: int) -> bool:
        """Return whether F-curves place an object, be they evaluated now or not."""
        return uid in self.plan.foresight.placed

    def _world(self, ob: bpy.types.Object, uid: int) -> Frame:
        is_animated = self._is_animated(uid)
        if self._seen_in is not None and ob.parent is None and not is_animated:
            return matrix_frame(ob.evaluated_get(self._seen_in).matrix_world)
        self._objects[uid] = ob
        if is_animated:
            turns = uid in self.plan.foresight.turned
            basis = object_frame(ob, self._curves(uid), turns)
        else:
            basis = matrix_frame(ob.matrix_basis)
        if ob.parent is None:
            return basis
        link = frame_in(self._parent_world(ob), matrix_frame(ob.matrix_parent_inverse))
        return frame_in(link, basis)

    def agrees(self, depsgraph: bpy.types.Depsgraph) -> bool:
        """Return whether a depsgraph has evaluated what was foreseen, to single precision."""
        for uid, ob in self._objects.items():
            copy = ob.evaluated_get(depsgraph)
            if copy.is_evaluated and not self._is_at(uid, ob, copy):
                return False
        return all(self._has_played(uid, depsgraph) for uid in self.rigs)

    def _is_at(self, uid: int, ob: bpy.types.Object, copy: bpy.types.Object) -> bool:
        """Return whether an object was evaluated where it was foreseen, turned and sized so."""
        world = self._worlds.get(uid)
        place = world[1] if world is not None else self._places.get(uid)
        if place is None:
            return True  # It hangs on a solved bone.
        there = copy.matrix_world.translation.to_tuple()
        if not dist(there, place) <= SAME_PLACE * self._farthest(ob, place):
            return False
        if world is None:
            return True
        near = SAME_PLACE * max(map(abs, world[0]))
        axes = zip(matrix3(copy.matrix_world), world[0], strict=True)
        return all([abs(a - b) <= near for a, b in axes])

    def _farthest(self, ob: bpy.types.Object, place: Vec) -> float:
        """Return the largest coordinate of an object and all that it hangs on."""
        largest = max(map(abs, place))
        while ob.parent is not None:
            ob = ob.parent
            world = self._worlds.get(ob.session_uid)
            largest = max(largest, *map(abs, world[1])) if world else largest
        return largest

    def _has_played(self, uid: int, depsgraph: bpy.types.Depsgraph) -> bool:
        """Return whether the bones of an armature were animated as foreseen."""
        now = cast(Unevaluated, self.poses[uid].now)
        if not now.has_animated_bones:  # What no curve sets was copied as it was read.
            return True
        copy = self.rigs[uid].evaluated_get(depsgraph)
        return not copy.is_evaluated or now.has_played(PoseChannels(pose_bones(copy)))


def _rotation(axes: Mat3) -> Mat3 | None:
    """Return the axes without their sizes, None if they are sheared, mirrored or have none."""
    x, y, z = (unit(column) for column in mat_columns(axes))
    if x is None or y is None or z is None or mat_determinant(axes) <= 0.0:
        return None
    if max(abs(dot(x, y)), abs(dot(y, z)), abs(dot(z, x))) > 1e-5:
        return None
    return mat_from_columns(x, y, z)
