"""Reading: where bones and objects stand, in the solver's terms and ahead of Blender.

Blender evaluates once, we solve, and Blender evaluates again without asking us. What hangs on a
chain that was solved in this update still stands in Blender's data where it stood before. So
whatever hangs on a solved bone is placed here by our own arithmetic from its local channels, which
also makes it independent of the pose that was there before, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import bpy

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
    mat_stretched,
    unit,
)
from .access import rest_bone, settings
from .chain_plan import Answer, ChainPlan
from .native import TURNED_ONLY, active_constraints, acts_plainly, constraint_point
from .plan import Plan
from .pose import Pose
from .skeleton import Point, Skeleton, matrix_frame, skeleton_of

if TYPE_CHECKING:
    from .properties import FabrikConstraint


class Snapshot:
    """Everything the solvers ask for, at one moment of one depsgraph."""

    def __init__(
        self,
        plan: Plan,
        depsgraph: bpy.types.Depsgraph,
        rigs: Mapping[int, bpy.types.Object],
        fresh: set[int],
        touched: set[int],
        is_foreign: bool,
    ) -> None:
        """Look at a scene.

        Args:
            plan: What hangs on what.
            depsgraph: Where all input is read from.
            rigs: The armatures that are solved now, as it has evaluated them.
            fresh: Those whose animation was evaluated just now.
            touched: Those that may differ in themselves from when they were looked at last.
            is_foreign: Whether the depsgraph is not the one whose animation Blender flushes to the
                file's data, as in a render.
        """
        self.plan = plan
        self.depsgraph = depsgraph
        self.rigs = rigs
        self.is_foreign = is_foreign
        self.time = cast(bpy.types.Scene, depsgraph.scene).frame_current_final
        self.poses = {uid: plan.poses[uid] for uid in rigs}
        for uid, evaluated in rigs.items():
            plan.poses[uid].look(evaluated, uid in fresh, uid in touched)
        self._worlds: dict[int, Frame] = {}

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return a constraint as the depsgraph has evaluated it."""
        items = settings(self.rigs[chain.rig.uid]).constraints
        if chain.item >= len(items):  # The copy was made before the constraint was added.
            items = settings(chain.rig.object).constraints
        return items[chain.item]

    def point(self, point: Point) -> Vec:
        """Return where a target or pole stands, in world space."""
        if point.skeleton is None and point.uid not in self.plan.carried:
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
            pose = self.poses[rig.uid] = Pose(rig, set(), set())
            evaluated = rig.object.evaluated_get(self.depsgraph)
            pose.look(evaluated, is_fresh=False, is_touched=True)
        if rig.uid not in self.rigs or pose.now.is_at_rest:  # What chains do is not shown at rest.
            return pose.now.frame(bone)
        moved = self.plan.moved[rig.uid]
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

    def _moved_frame(self, pose: Pose, bone: int, parent: Frame) -> Frame:
        rig = pose.rig
        is_posed = bone in self.plan.posed[rig.uid]
        local = pose.posed_local(bone) if is_posed else pose.local(bone)
        axes, head = bone_frame(rig.bone(bone), local, parent)
        for con in () if is_posed else active_constraints(pose.now.bones[bone]):
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
            inverse((world, ORIGIN))[0], mat_stretched(turn, (x * sign, y * sign, z * sign))
        )

    def turn(self, pose: Pose, answer: Answer) -> None:
        """Set what was solved of an armature; what hangs on it is placed anew."""
        pose.turn(answer)
        for uid in self.plan.carried:
            self._worlds.pop(uid, None)

    def world(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return where an object, whose number is ``uid``, stands in world space."""
        if uid not in self._worlds:
            evaluated = ob.evaluated_get(self.depsgraph)
            if uid in self.plan.carried:
                self._worlds[uid] = self._carried_world(ob, evaluated)
            else:
                self._worlds[uid] = matrix_frame(evaluated.matrix_world)
        return self._worlds[uid]

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


def _rotation(axes: Mat3) -> Mat3 | None:
    """Return the axes without their sizes, None if they are sheared, mirrored or have none."""
    x, y, z = (unit(column) for column in mat_columns(axes))
    if x is None or y is None or z is None or mat_determinant(axes) <= 0.0:
        return None
    if max(abs(dot(x, y)), abs(dot(y, z)), abs(dot(z, x))) > 1e-5:
        return None
    return mat_from_columns(x, y, z)
