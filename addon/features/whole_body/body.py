"""A body in one pose, solved for the goals of points on its bones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import atan2, copysign, inf, radians
from typing import Final

from fabrik_solver import (
    Frame,
    Hinge,
    Limit,
    Local,
    bone_frame,
    carried_turn,
    inverse,
    moved_location,
    point_in,
)
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mat_determinant,
    mat_product,
    orthonormalize,
    quat_about,
    quat_inverse,
    quat_log,
    quat_matrix,
    quat_of,
    quat_product,
    rotate,
    scale_columns,
    scaled,
    sub,
)
from fabrik_solver.core.whole_body import (
    DRAGGED,
    Link,
    Resistance,
    Support,
    WholeBody,
    WholeBodyGoal,
    WholeBodyJoint,
    WholeBodyPose,
)

from ...blender.skeleton import Skeleton
from ...body.carriers import Carriers
from ...editing.posing import fixed, limited
from .posture import HAMSTRING, KNEE, LEANING, LONGEST, TOGETHER, Part
from .response import Response
from .roles import Roles

MOST_FLEXION: Final = radians(165.0)
"""The flexion that an elbow or knee without a limit reaches, from the straight limb."""

MOST_SHARE: Final = 0.99
"""Maximum share of a clavicle; the arm does the rest."""

ROUNDS: Final = 8
"""Maximum number of solutions, each for goals corrected by the misses of the last pose. Where
scales shear the bones, each solution leaves about a third of that. Otherwise the first one is
exact."""

Turning = tuple[WholeBodyPose, float]
"""The last pose, and how far goals have moved since then, as a fraction of the body."""

Load = tuple[float, Vec]
"""A mass and its center, in armature space."""

NO_LOAD: Final[Load] = (0.0, ORIGIN)
NO_LOADS: Final[Mapping[int, Load]] = {}

EXACT: Final = 1e-5
"""Maximum miss that isn't corrected, as a fraction of the body's size."""


@dataclass(frozen=True)
class BoneFacts:
    """The properties of a body's bone that are the same in all poses.

    Attributes:
        carrier: The bone that carries it, or -1 if there is none.
        inherits: Whether it inherits that bone's rotation.
        is_joint: Whether it moves relative to its parent.
        end: The point that is dragged and pinned, in the bone's space.
        bends: Whether it rotates by itself.
        limit: The limit of its joint, or None if there is none.
        locks: The locked rotation axes.
        flexion: The axis about which an elbow or knee flexes, in the bone's rest space; None for
            other joints, or if unknown.
        stiffness: The stiffness of its joint.
        follows: The bone whose swing it shares, or -1 if there is none.
        part: The part of a person it belongs to, or None if there is none.
        axes: The front, left and up axes of the standing body, in the bone's axes.
        standing: Its local rotation in the standing pose, relative to rest.
    """

    carrier: int
    inherits: bool
    is_joint: bool
    end: Vec
    bends: bool
    limit: Limit | None
    locks: Sequence[int]
    flexion: Vec | None
    stiffness: float
    follows: int
    part: Part | None = None
    axes: tuple[Vec, ...] = ()
    standing: Quat = QUAT_IDENTITY

    @property
    def kind(self) -> str:
        """The kind of a person's part that the bone belongs to; empty if there is none."""
        return self.part.kind if self.part else ""


class Body:
    """The bones of a body in one pose, from its root to everything being pulled.

    Attributes:
        rig: The skeleton.
        bones: The bones, parents first; the first one moves the body.
        joints: The bones that rotate.
        can_move: Whether the first bone can change its location.
        size: The distance of the farthest joint from the first one, in armature space. If all
            joints coincide, or there is only one, the distance of the farthest end of a bone.
    """

    def __init__(
        self,
        rig: Skeleton,
        bones: Mapping[int, BoneFacts],
        frames: Mapping[int, Frame],
        locals_: Mapping[int, Local],
        above: Frame,
        can_move: bool,
        clavicle: float,
    ) -> None:
        """Set the pose: the bones, parents first, with their frames and channels.

        ``above`` is the frame of the first bone's parent; all frames are in armature space.
        ``clavicle`` is the clavicles' share in the rotation of arms.
        """
        self.rig = rig
        self.bones = [*bones]
        self.root = self.bones[0]
        self.joints = [bone for bone, facts in bones.items() if facts.is_joint]
        self.can_move = can_move
        self._facts, self._frames, self._locals, self._above = bones, frames, locals_, above
        self._axes = {b: rotation_of(frames[b][0], locals_[b].scale) for b in self.bones}
        self._index = {bone: i for i, bone in enumerate(self.joints)}
        self._turns = {b: self._joint_turn(b, locals_[b].rotation) for b in self.bones}
        self._clavicle = min(clavicle, MOST_SHARE)
        self.size = self._extent(self.head) or self._extent(self._end)

    # Where the bones are

    def joint_of(self, bone: int) -> int:
        """Return the index of the joint that moves a bone of the body."""
        while bone not in self._index:
            bone = self._facts[bone].carrier
        return self._index[bone]

    def head(self, bone: int) -> Vec:
        """Return the head of a bone in the pose, in armature space."""
        return self._frames[bone][1]

    def point_of(self, bone: int) -> Vec:
        """Return the point of a bone that is dragged or pinned, in armature space."""
        return point_in(self._frames[bone], self._facts[bone].end)

    def in_bone(self, bone: int, point: Vec) -> Vec:
        """Convert a point in armature space to the space of a bone."""
        return point_in(inverse(self._frames[bone]), point)

    def axes(self, bone: int) -> Quat:
        """Return the rotation of a bone in the pose, in armature space."""
        return quat_of(orthonormalize(self._frames[bone][0]) or IDENTITY)

    def _end(self, bone: int) -> Vec:
        """Return the end of a bone: the head of the body's next bone, otherwise its tail."""
        successor = next((i for i in self.bones if self._facts[i].carrier == bone), -1)
        if successor >= 0:
            return self._frames[successor][1]
        return point_in(self._frames[bone], (0.0, self.rig.bone(bone).length, 0.0))

    def _extent(self, point_of: Callable[[int], Vec]) -> float:
        """Return the distance of the farthest of the bones' points from the first joint."""
        first = self.head(self.root)
        return max([length(sub(point_of(bone), first)) for bone in self.bones])

    # Solving

    def solver(
        self,
        is_free: bool,
        loads: Mapping[int, Load] = NO_LOADS,
        links: Sequence[Link] = (),
    ) -> WholeBody:
        """Return the body in the solver's form.

        Args:
            is_free: Whether the first bone may move.
            loads: The loads that its joints carry, by joint index.
            links: Links between joints, in addition to hamstrings.
        """
        return WholeBody(
            [
                self._joint(bone, is_free, loads.get(i, NO_LOAD))
                for i, bone in enumerate(self.joints)
            ],
            [*self._hamstrings(), *links],
        )

    def _hamstrings(self) -> list[Link]:
        """Return links for a person's hamstrings, which pass both hip and knee."""
        links: list[Link] = []
        for i, hinge, angle in self._knees(self._index):
            above = self.joint_of(self._facts[self.joints[i]].carrier)
            thigh = self._facts[self.joints[above]]
            if thigh.kind != "THIGH":
                continue
            rotation = self._since_standing(self.joints[above])
            flexing = scaled(thigh.axes[1], -1.0)
            stretched = dot(quat_log(rotation), flexing) - KNEE * angle
            axis = rotate(quat_inverse(rotation), flexing)
            room = max(0.0, LONGEST - stretched)
            links.append(Link([above, i], [axis, scaled(hinge.axis, -KNEE)], -inf, room, HAMSTRING))
        return links

    def leaning(self, standing: Collection[int], pelvis: float) -> list[Link]:
        """Return links that lean a person's trunk forward as the supporting knees bend.

        Args:
            standing: The feet that stand.
            pelvis: The weight of the pelvis's link.
        """
        knees = [(i, hinge.axis) for i, hinge, _ in self._knees(self._borne_by(standing))]
        trunk: dict[str, list[tuple[int, Vec]]] = {kind: [] for kind in LEANING}
        for i, bone in enumerate(self.joints):
            facts = self._facts[bone]
            if facts.kind in LEANING:
                axis = rotate(quat_inverse(self._since_standing(bone)), facts.axes[1])
                trunk[facts.kind].append((i, axis))
        links: list[Link] = []
        for kind, bending in trunk.items():
            fraction = -LEANING[kind] / max(len(knees), 1)
            together = [*bending, *((i, scaled(axis, fraction)) for i, axis in knees)]
            weight = pelvis if kind == "HIPS" else TOGETHER
            if bending:
                joints, axes = zip(*together, strict=True)
                links.append(Link(joints, axes, 0.0, 0.0, weight))
        return links

    def _knees(self, shins: Collection[int]) -> Iterator[tuple[int, Hinge, float]]:
        """Yield a person's knees among some bones: the joint index, and the result of `_hinge`."""
        for i, bone in enumerate(self.joints):
            facts = self._facts[bone]
            if facts.kind == "SHIN" and facts.flexion is not None and bone in shins:
                yield i, *self._hinge(bone, facts.flexion)

    def _borne_by(self, feet: Iterable[int]) -> set[int]:
        """Return feet and the bones of the body that carry them."""
        borne: set[int] = set()
        for bone in feet:
            while bone in self._facts:
                borne.add(bone)
                bone = self._facts[bone].carrier
        return borne

    def _is_carried(self, bone: int) -> bool:
        """Return whether a bone doesn't inherit rotation, so its channel must follow its parent.

        Joint limits apply relative to the parent, so this applies to bones with a limit, as in
        chains.
        """
        facts = self._facts[bone]
        is_limited = facts.bends and facts.limit is not None
        return is_limited and not self.rig.bone(bone).inherit_rotation

    def _carried(self, bone: int, turned: Quat = QUAT_IDENTITY) -> Quat:
        """Return the local rotation that makes an `_is_carried` bone follow its parent.

        The parent may have turned since the pose.
        """
        parent, _ = self._frames.get(self.rig.parents[bone], self._above)
        return carried_turn(self.rig.bone(bone), mat_product(quat_matrix(turned), parent))

    def _joint_turn(self, bone: int, rotation: Quat) -> Quat:
        """Return the rotation of a bone's joint, to which limits apply, from its channel."""
        if not self._is_carried(bone):
            return rotation
        return quat_product(quat_inverse(self._carried(bone)), rotation)

    def _joint(self, bone: int, is_free: bool, load: Load) -> WholeBodyJoint:
        facts, turn, preferred = self._facts[bone], self._turns[bone], ORIGIN
        limit = limited(facts.limit, facts.locks, turn)
        if not facts.bends or (facts.follows >= 0 and self._clavicle == 0.0):
            limit = fixed(turn)
        elif facts.flexion is not None:
            hinge, angle = self._hinge(bone, facts.flexion)
            preferred = hinge.axis
            if limit is None:
                limit, turn = hinge, quat_about(hinge.axis, angle)
        return WholeBodyJoint(
            -1 if bone == self.root else self.joint_of(facts.carrier),
            self._frames[bone][1],
            self._axes[bone],
            is_free=is_free and bone == self.root and self.can_move,
            inherits=facts.inherits or self._is_carried(bone),
            stiffness=facts.stiffness,
            resistances=self._resistances(bone),
            limit=limit,
            rotation=turn,
            preferred=preferred,
            follows=self._index.get(facts.follows, -1),
            share=self._clavicle * (facts.follows in self._index),
            mass=load[0],
            center=load[1],
        )

    def _resistances(self, bone: int) -> list[Resistance]:
        facts = self._facts[bone]
        if facts.part is None:
            return []
        return facts.part.resistances(facts.axes, self._since_standing(bone))

    def _since_standing(self, bone: int) -> Quat:
        """Return a bone's local rotation relative to the standing pose.

        The root's is the identity, because a body may face any direction.
        """
        if bone == self.root:
            return QUAT_IDENTITY
        return quat_product(quat_inverse(self._facts[bone].standing), self._turns[bone])

    def _hinge(self, bone: int, flexion: Vec) -> tuple[Hinge, float]:
        """Return an elbow's or knee's hinge in the bone's axes, and its angle, 0 for straight."""
        axis = rotate(quat_inverse(self._turns[bone]), flexion)
        about = rotate(self._axes[bone], axis)
        upper = self.joints[self.joint_of(self._facts[bone].carrier)]
        head = self._frames[bone][1]
        upper_bone, lower_bone = sub(head, self._frames[upper][1]), sub(self._end(bone), head)
        upper_bone, lower_bone = (
            sub(vector, scaled(about, dot(vector, about))) for vector in (upper_bone, lower_bone)
        )
        angle = atan2(dot(about, cross(upper_bone, lower_bone)), dot(upper_bone, lower_bone))
        return Hinge(axis, (min(0.0, angle), max(MOST_FLEXION, angle))), angle

    def solve(
        self,
        solver: WholeBody,
        wanted: Sequence[WholeBodyGoal],
        support: Support | None = None,
        shown: Callable[[WholeBodyPose], Callable[[int], Frame]] | None = None,
        rounds: int = ROUNDS,
        response: Response | None = None,
        near: float = EXACT,
        turning: Turning | None = None,
    ) -> WholeBodyPose:
        """Return the pose that meets the goals.

        Where scales shear the bones, or constraints carry them, the goals are corrected by the
        miss.

        Args:
            solver: The body in the form of the solver.
            wanted: The goals, each with the index of its bone in the armature as its joint.
            support: The support below the center of mass; None if the center may be anywhere.
            shown: Returns the frames of bones in a pose; None if the channels of these bones alone
                determine them.
            rounds: Maximum number of solutions.
            response: What was learned from poses for other positions of the same goals; None for
                nothing.
            near: Maximum uncorrected miss of dragged points, as a fraction of the body's size.
            turning: The last pose and how far the goals have moved since. Bones rotate from that
                pose by no more than this. None doesn't limit them.
        """
        shown = shown or self._composed_in
        exact = [i for i, item in enumerate(wanted) if is_exact(item)]
        places = [_location(wanted[i]) for i in exact]
        response = response or response_of(wanted)
        last = inf
        while True:
            asked = response.asked(places)
            goals = [item._replace(joint=self.joint_of(item.joint)) for item in wanted]
            for i, there in zip(exact, asked, strict=True):
                goals[i] = goals[i]._replace(location=there)
            pose = solver.solve(goals, support)
            if turning is not None:
                pose = solver.toward(pose, *turning, goals)
            rounds -= 1
            if not rounds:
                response.forget()
                return pose
            seen = self._seen(shown(pose), pose, [wanted[i] for i in exact], asked)
            misses = [length(sub(item, other)) for item, other in zip(seen, places, strict=True)]
            missed = max(misses, default=0.0)
            if missed <= EXACT * self.size:
                return pose
            is_reached = max([pose.misses[i] for i in exact]) <= EXACT * self.size
            response.learn(asked, seen, is_reached and missed < last)
            last = missed
            allowed = [near if wanted[i].rank == DRAGGED else EXACT for i in exact]
            if all(item <= most * self.size for item, most in zip(misses, allowed, strict=True)):
                return pose

    def _seen(
        self,
        frame: Callable[[int], Frame],
        pose: WholeBodyPose,
        exact: Sequence[WholeBodyGoal],
        asked: Sequence[Vec],
    ) -> list[Vec]:
        """Return where points would be shown if the solver reached the requested positions.

        If no pose reaches the goals, the solver's misses aren't corrected.

        Args:
            frame: Returns the shown frame of a bone.
            pose: The solved pose.
            exact: The goals of the points.
            asked: The requested positions.
        """
        seen: list[Vec] = []
        for item, there in zip(exact, asked, strict=True):
            expected, _ = self.placed(pose, item.joint, item.point)
            local_point = self.in_bone(item.joint, item.point)
            seen.append(add(there, sub(point_in(frame(item.joint), local_point), expected)))
        return seen

    def placed(self, pose: WholeBodyPose, bone: int, point: Vec) -> tuple[Vec, Quat]:
        """Return where a pose puts a point of a bone, and the bone's rotation to that pose."""
        joint = self.joint_of(bone)
        original = self.joints[joint]
        change = quat_product(pose.axes[joint], quat_inverse(self._axes[original]))
        lever = sub(point, self._frames[original][1])
        return add(pose.heads[joint], rotate(change, lever)), change

    # The channels

    def turned(self, pose: WholeBodyPose) -> dict[int, Quat]:
        """Return the local rotations of the joints in a pose."""
        turns: dict[int, Quat] = {}
        for bone, turn in zip(self.joints, pose.turns, strict=True):
            turns[bone] = quat_product(self._turns[bone], turn)
            if self._is_carried(bone):
                parent, change = self.rig.parents[bone], QUAT_IDENTITY
                if parent in self._facts:
                    _, change = self.placed(pose, parent, ORIGIN)
                turns[bone] = quat_product(self._carried(bone, change), turns[bone])
        return turns

    def moved(self, pose: WholeBodyPose) -> Vec:
        """Return the first bone's location channel in a pose."""
        location = self._locals[self.root].location
        return moved_location(self.rig.bone(self.root), location, self._above[0], pose.moved[0])

    def _composed_in(self, pose: WholeBodyPose) -> Callable[[int], Frame]:
        return self.composed(self.turned(pose), self.moved(pose)).__getitem__

    def composed(self, turns: Mapping[int, Quat], location: Vec) -> dict[int, Frame]:
        """Return the frames of bones as Blender computes them from their channels.

        Args:
            turns: The local rotations that differ from those of the pose.
            location: The location channel of the first bone.
        """
        frames: dict[int, Frame] = {}
        for bone in self.bones:
            local = self._locals[bone]
            moved = location if bone == self.root else local.location
            turned = turns.get(bone, local.rotation)
            above = self._above if bone == self.root else frames[self.rig.parents[bone]]
            frames[bone] = bone_frame(self.rig.bone(bone), Local(moved, turned, local.scale), above)
        return frames


def bones_between(carriers: Carriers, root: int, ends: Iterable[int]) -> list[int]:
    """Return the bones from a body's root to the ends that it carries, parents first."""
    lines = [carriers.up(end) for end in ends if carriers.carries(root, end)]
    return carriers.sorted({bone for line in lines for bone in line[line.index(root) :]})


def root_of(carriers: Carriers, roles: Roles, pulled: Iterable[int]) -> int:
    """Return the bone that moves the whole body and every bone being pulled.

    It is the closest bone above all of them. Without hips, it is the topmost bone. A connected bone
    can't be moved, so the first unconnected bone above it is used instead.
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


def rotation_of(axes: Mat3, scale: Vec = (1.0, 1.0, 1.0)) -> Quat:
    """Return the rotation of axes without their scale and shear.

    A rotation turns the other way about mirrored axes, so mirrored axes are negated.

    Args:
        axes: The axes, which may be scaled and sheared.
        scale: The scale applied before the rotation. Its negative factors don't count as mirroring.
    """
    x, y, z = (copysign(1.0, size) for size in scale)
    axes = scale_columns(axes, (x, y, z))
    if mat_determinant(axes) < 0.0:
        axes = scale_columns(axes, (-1.0, -1.0, -1.0))
    return quat_of(orthonormalize(axes) or IDENTITY)


def is_exact(goal: WholeBodyGoal) -> bool:
    """Return whether a goal demands the exact location of a shown point."""
    return goal.location is not None and goal.rank <= DRAGGED


def response_of(wanted: Iterable[WholeBodyGoal]) -> Response:
    """Return an untrained response for the points of goals."""
    return Response([item.point for item in wanted if is_exact(item)])


def _location(goal: WholeBodyGoal) -> Vec:
    return goal.point if goal.location is None else goal.location
