"""The body of an armature as it is at the press, which is solved and posed in FK."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import atan2, radians
from typing import Any, Final

import bpy

from fabrik_solver import (
    WHOLE,
    Frame,
    Hinge,
    Local,
    bone_frame,
    head_in_parent,
    inherited_axes,
    inverse,
    moved_location,
    point_in,
)
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    orthonormalize,
    quat_about,
    quat_of,
    quat_product,
    rotate,
    scaled,
    sub,
)
from fabrik_solver.core.whole_body import (
    DRAGGED,
    Support,
    WholeBody,
    WholeBodyGoal,
    WholeBodyJoint,
    WholeBodyPose,
)

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.relations import active_constraints
from ...blender.skeleton import skeleton_of, vector
from ...editing.flexion import flexion_of
from ...editing.playing import updated
from ...editing.posing import PosedRotation, fixed
from ...frame.evaluated import Evaluated
from ...settings.joint_limits import joint_problem, limit_of
from .balancing import middle_of
from .carriers import Carriers
from .roles import Roles

MOST_FLEXION: Final = radians(165.0)
"""The flexion of an elbow or knee without a limit of its own, from the straight limb."""

MOST_SHARE: Final = 0.99
"""The largest share of a clavicle, which leaves the arm a rest."""

ROUNDS: Final = 8
"""The most solutions, each for goals that are corrected by how far the last pose missed them. Where
scales shear the bones, each leaves about a third of the miss; elsewhere the first one is exact."""

MEASURED: Final = 5
"""The same where constraints carry the bones, so that Blender has to evaluate each pose."""

EXACT: Final = 1e-5
"""The largest miss that is not corrected, as a fraction of the size of the body."""


class Wanted:
    """What is wanted of a point of a bone.

    Attributes:
        bone: The index of the bone.
        goal: The goal of the solver, in the space of the armature.
    """

    def __init__(self, bone: int, goal: WholeBodyGoal) -> None:
        self.bone, self.goal = bone, goal


class PosedBody:
    """The bones between the root of a body and all that is pulled at.

    Attributes:
        rig: The skeleton.
        root: The bone that moves the body.
        bones: The bones of the body, parents first.
        joints: Those that rotate.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        armature: bpy.types.Object,
        roles: Roles,
        carriers: Carriers,
        root: int,
        pulled: Iterable[int],
        clavicle: float,
        posed: Collection[int] = (),
        kept: Collection[int] = (),
    ) -> None:
        """Read the pose.

        Args:
            depsgraph: The evaluated depsgraph.
            armature: The armature.
            roles: The roles of its bones.
            carriers: What carries the bones.
            root: The bone that moves the body.
            pulled: The bones that goals are for.
            clavicle: The share of clavicles in the rotation of arms.
            posed: The bones that constraints pose, so that their channels do not show how they are.
            kept: Those that go along with their parent, because their constraints decide.

        Raises:
            ProblemError: If it cannot be posed.
        """
        rig = self.rig = skeleton_of(armature)
        self._armature, self._roles, self._carriers = armature, roles, carriers
        now = self._now = Evaluated(armature.evaluated_get(depsgraph))
        self.root, self._kept, self._posed = root, kept, posed
        ends = [*pulled, *(rig.index[name] for name in roles.ends if name in rig.index)]
        lines = [carriers.up(end) for end in ends if carriers.carries(root, end)]
        self.bones = carriers.sorted({i for line in lines for i in line[line.index(root) :]})
        self._frames = {bone: now.frame(bone) for bone in self.bones}
        above = rig.parents[self.root]
        self._above = WHOLE if above < 0 else now.frame(above)
        if not all(map(_is_finite, self._frames.values())):
            raise ProblemError(
                "“{name}” cannot be dragged: “{armature}” has zero scale, or one of "
                "its bones has an invalid transform",
                name=rig.names[self.root],
                armature=armature.name,
            )
        self._axes = {bone: _rotation_of(self._frames[bone]) for bone in self.bones}
        self._rotations = {bone: PosedRotation(self._bone(bone)) for bone in self.bones}
        self._turns = {bone: self._shown_turn(bone, bone in posed) for bone in self.bones}
        self._start = vector(self._bone(self.root).location)
        self._location = self._shown_location(self.root in posed)
        self.can_move = not self._is_location_fixed()
        self.joints = [bone for bone in self.bones if self._is_joint(bone)]
        self._index = {bone: i for i, bone in enumerate(self.joints)}
        self._clavicle = min(clavicle, MOST_SHARE)
        self._locals = {bone: self._local(bone) for bone in self.bones}
        heads = [self._frames[bone][1] for bone in self.bones]
        self.size = max(length(sub(head, heads[0])) for head in heads)
        self._is_exact = self._follows_channels()

    def _shown_turn(self, bone: int, is_posed: bool) -> Quat:
        """Return the rotation of a bone that is shown, in its channel."""
        if not is_posed:
            return self._rotations[bone].turn
        parent = self.rig.parents[bone]
        above = WHOLE if parent < 0 else self._now.frame(parent)
        inherited = _rotation_of((inherited_axes(self.rig.bone(bone), above[0])[0], ORIGIN))
        w, x, y, z = inherited
        return quat_product((w, -x, -y, -z), self._axes[bone])

    def _shown_location(self, is_posed: bool) -> Vec:
        """Return the location of the root that is shown, in its channel."""
        if not is_posed:
            return self._start
        bone = self.rig.bone(self.root)
        at = point_in(self._above, head_in_parent(bone, Local(self._start)))
        way = sub(self._frames[self.root][1], at)
        return moved_location(bone, self._start, self._above[0], way)

    def _bone(self, bone: int) -> Any:
        return pose_bones(self._armature)[self.rig.names[bone]]

    def _is_location_fixed(self) -> bool:
        root = self._bone(self.root)
        if self.root in self.rig.connected or any(active_constraints(root)):
            return True
        return any(root.lock_location) or animation.has_driver(self._armature, root, "location")

    def _is_joint(self, bone: int) -> bool:
        """Return whether a bone does not simply go along with the one that carries it."""
        return bone == self.root or self._bends(bone) or not self._carriers.turns(bone)

    def _bends(self, bone: int) -> bool:
        """Return whether a bone rotates by itself."""
        name, controls = self.rig.names[bone], self._roles.controls
        if bone in self._kept or name in self._roles.rigid or (controls and name not in controls):
            return bone == self.root
        if self._rotations[bone].is_fixed:
            return False
        return bone in self._posed or not any(active_constraints(self._bone(bone)))

    def _local(self, bone: int) -> Local:
        location = ORIGIN if bone in self.rig.connected else vector(self._bone(bone).location)
        return Local(location, self._turns[bone], vector(self._bone(bone).scale))

    def _follows_channels(self) -> bool:
        """Return whether nothing but the channels poses the body, as for most skeletons."""
        inner = [bone for bone in self.bones if bone != self.root]
        if any(self._carriers.of(bone) != self.rig.parents[bone] for bone in inner):
            return False
        composed = self._composed({}, self._location)
        return all(
            length(sub(point_in(composed[bone], end), point_in(self._frames[bone], end)))
            <= 1e-4 * self.size
            for bone in self.bones
            for end in (ORIGIN, (0.0, self.rig.bone(bone).length, 0.0))
        )

    def _composed(self, turns: dict[int, Quat], location: Vec) -> dict[int, Frame]:
        """Return the frames of the bones as Blender will compute them."""
        frames: dict[int, Frame] = {}
        for bone in self.bones:
            local = self._locals[bone]
            moved = location if bone == self.root else local.location
            turned = turns.get(bone, local.rotation)
            above = self._above if bone == self.root else frames[self.rig.parents[bone]]
            frames[bone] = bone_frame(self.rig.bone(bone), Local(moved, turned, local.scale), above)
        return frames

    # Where the bones are

    def point_of(self, bone: int) -> Vec:
        """Return the point of a bone that is dragged or pinned, in the space of the armature."""
        frame = self._now.frame(bone)
        if self.rig.names[bone] in self._roles.ends:
            return frame[1]
        return point_in(frame, (0.0, self.rig.bone(bone).length, 0.0))

    def in_bone(self, bone: int, point: Vec) -> Vec:
        """Return a point of the armature in the space of a bone."""
        return point_in(inverse(self._now.frame(bone)), point)

    def joint_of(self, bone: int) -> int:
        """Return the index of the joint that moves a bone."""
        while bone not in self._index:
            bone = self._carriers.of(bone)
        return self._index[bone]

    # Solving

    def body(self, is_free: bool) -> WholeBody:
        """Return the body as the solver takes it.

        Args:
            is_free: Whether its root may move.

        Raises:
            ProblemError: If a joint is not possible.
        """
        return WholeBody([self._joint(bone, is_free) for bone in self.joints])

    def _joint(self, bone: int, is_free: bool) -> WholeBodyJoint:
        rig, roles, name = self.rig, self._roles, self.rig.names[bone]
        posed, rotation = self._bone(bone), self._rotations[bone]
        if problem := joint_problem(posed):
            raise ProblemError(problem)
        limit, turn, preferred = rotation.limited(limit_of(posed)), self._turns[bone], ORIGIN
        if not self._bends(bone) or (name in roles.follows and self._clavicle == 0.0):
            limit = fixed(turn)
        elif name in roles.hinges:
            hinge, angle = self._hinge(bone)
            if hinge is not None:
                preferred = hinge.axis
                if limit is None:
                    limit, turn = hinge, quat_about(hinge.axis, angle)
        follows = rig.index[roles.follows[name]] if name in roles.follows else -1
        stiff: float = posed.fabrik_joint.stiffness
        return WholeBodyJoint(
            -1 if bone == self.root else self.joint_of(self._carriers.of(bone)),
            self._frames[bone][1],
            self._axes[bone],
            is_free=is_free and bone == self.root and self.can_move,
            inherits=self._carriers.turns(bone),
            stiffness=roles.stiffness.get(name, 1.0) / (1.0 - min(stiff, MOST_SHARE)),
            limit=limit,
            rotation=turn,
            preferred=preferred,
            follows=self._index.get(follows, -1),
            share=self._clavicle if follows in self._index else 0.0,
            mass=roles.masses.get(name, 0.0),
            centre=middle_of(pose_bones(self._armature), name, roles),
        )

    def _end(self, bone: int) -> Vec:
        """Return the end of a bone: the head of the next one of the body, or else its tail."""
        after = next((i for i in self.bones if self._carriers.of(i) == bone), -1)
        if after >= 0 and after in self._frames:
            return self._frames[after][1]
        return point_in(self._frames[bone], (0.0, self.rig.bone(bone).length, 0.0))

    def _hinge(self, bone: int) -> tuple[Hinge | None, float]:
        """Return the hinge of an elbow or knee in its own axes, and its angle, 0 for straight."""
        flexion = flexion_of(self._armature, self.rig.names[bone])
        if flexion is None:
            return None, 0.0
        w, x, y, z = self._turns[bone]
        axis = rotate((w, -x, -y, -z), vector(flexion.axis))
        about = rotate(self._axes[bone], axis)
        upper = self.joints[self.joint_of(self._carriers.of(bone))]
        head = self._frames[bone][1]
        before, after = sub(head, self._frames[upper][1]), sub(self._end(bone), head)
        before, after = (sub(way, scaled(about, dot(way, about))) for way in (before, after))
        angle = atan2(dot(about, cross(before, after)), dot(before, after))
        return Hinge(axis, (min(0.0, angle), max(MOST_FLEXION, angle))), angle

    def pose(
        self,
        body: WholeBody,
        wanted: Sequence[Wanted],
        support: Support | None,
        write: Callable[[WholeBodyPose], None],
    ) -> WholeBodyPose:
        """Write the pose in which the goals are met as Blender computes it, and return it.

        Where scales shear the bones, or constraints carry them, the goals are corrected by how far
        it misses them.
        """
        shifts = [ORIGIN] * len(wanted)
        pose = body.solve([one.goal for one in wanted], support)
        for _ in range(ROUNDS - 1 if self._is_exact else MEASURED):
            missed = self._missed(self._frames_of(pose, write), pose, wanted)
            pairs = zip(missed, shifts, strict=True)
            if max([length(sub(now, shift)) for now, shift in pairs]) <= EXACT * self.size:
                break
            shifts = missed
            pairs = zip(wanted, shifts, strict=True)
            pose = body.solve([_shifted(one.goal, shift) for one, shift in pairs], support)
        write(pose)
        return pose

    def _frames_of(
        self, pose: WholeBodyPose, write: Callable[[WholeBodyPose], None]
    ) -> Callable[[int], Frame]:
        """Return the frames of bones as Blender computes them in a pose."""
        if self._is_exact:
            return self._composed(self._turned(pose), self._moved(pose)).__getitem__
        write(pose)
        self._armature.update_tag()
        return Evaluated(self._armature.evaluated_get(updated())).frame

    def _missed(
        self, frame: Callable[[int], Frame], pose: WholeBodyPose, wanted: Sequence[Wanted]
    ) -> list[Vec]:
        """Return how far the points that have to be exact are from where the solver has them."""
        missed: list[Vec] = []
        for one in wanted:
            goal = one.goal
            if goal.location is None or goal.rank > DRAGGED:
                missed.append(ORIGIN)
                continue
            expected, _ = self.placed(pose, one.bone, goal.point)
            missed.append(
                sub(expected, point_in(frame(one.bone), self.in_bone(one.bone, goal.point)))
            )
        return missed

    def _turned(self, pose: WholeBodyPose) -> dict[int, Quat]:
        return {
            bone: quat_product(self._turns[bone], turn)
            for bone, turn in zip(self.joints, pose.turns, strict=True)
        }

    def _moved(self, pose: WholeBodyPose) -> Vec:
        moved = pose.moved[0]
        return moved_location(self.rig.bone(self.root), self._location, self._above[0], moved)

    def placed(self, pose: WholeBodyPose, bone: int, point: Vec) -> tuple[Vec, Quat]:
        """Return where a point of a bone is now, and how the bone has rotated since the press."""
        joint = self.joint_of(bone)
        head, axes = self._frames[self.joints[joint]][1], self._axes[self.joints[joint]]
        w, x, y, z = axes
        change = quat_product(pose.axes[joint], (w, -x, -y, -z))
        return add(pose.heads[joint], rotate(change, sub(point, head))), change

    def head(self, bone: int) -> Vec:
        """Return the head of a bone at the press."""
        return self._frames[bone][1]

    # Writing

    def write(self, pose: WholeBodyPose, without: Collection[int] = ()) -> None:
        """Pose the bones in FK.

        Args:
            pose: The pose.
            without: The bones that something else poses.
        """
        for bone, turn in self._turned(pose).items():
            if bone not in without:
                self._rotations[bone].write(turn)
        if self.can_move and self.root not in without:
            self._bone(self.root).location = self._moved(pose)

    def restore(self) -> None:
        """Pose the bones as at the press."""
        for bone in self.joints:
            self._rotations[bone].restore()
        if self.can_move:
            self._bone(self.root).location = self._start

    def channels(self, bones: Collection[int]) -> list[tuple[Any, str]]:
        """Return the channels that posing some bones sets: their pose bone, and the name."""
        found = [
            (self._bone(bone), self._rotations[bone].channel)
            for bone in self.joints
            if bone in bones and not self._rotations[bone].is_fixed
        ]
        if self.can_move and self.root in bones:
            found.append((self._bone(self.root), "location"))
        return found


def root_of(carriers: Carriers, roles: Roles, pulled: Iterable[int]) -> int:
    """Return the bone that moves a body with all that is pulled at.

    That is the lowest one that carries all of it, or of a skeleton without hips the topmost one; if
    it is connected to its parent, the first one above it that is not.
    """
    rig = carriers.rig
    bone = _common(carriers, roles, pulled)
    while bone in rig.connected and rig.parents[bone] >= 0:
        bone = rig.parents[bone]
    return bone


def _common(carriers: Carriers, roles: Roles, pulled: Iterable[int]) -> int:
    index = carriers.rig.index
    lines = [carriers.up(bone) for bone in pulled]
    if roles.hips not in index:
        return lines[0][0]
    lines += [carriers.up(index[name]) for name in roles.ends if name in index]
    common = top = lines[0][0]
    for level in zip(*[line for line in lines if line[0] == top], strict=False):
        if len({*level}) > 1:
            break
        common = level[0]
    return common


def _is_finite(frame: Frame) -> bool:
    try:
        inverse(frame)
    except ValueError:
        return False
    return True


def _rotation_of(frame: Frame) -> Quat:
    return quat_of(orthonormalize(frame[0]) or IDENTITY)


def _shifted(goal: WholeBodyGoal, way: Vec) -> WholeBodyGoal:
    if goal.location is None:
        return goal
    return WholeBodyGoal(
        goal.joint,
        goal.point,
        goal.rank,
        location=add(goal.location, way),
        location_weights=goal.location_weights,
        rotation=goal.rotation,
        rotation_weights=goal.rotation_weights,
        weight=goal.weight,
    )
