"""How a joint flexes: the axis and sign of an elbow or knee, decided from all evidence.

A single frame isn't conclusive: at heel strike, many captured knees are straight or slightly bent
backward. Evidence is checked in this order, and the first clear evidence decides:

1. ``SET``: an earlier decision, or a correction by the user (`Bone.fabrik_flexion`);
2. ``LIMIT``: a hinge that rotates more to one side;
3. ``CLIP``: the joint's rotations in all frames of the armature's actions;
4. ``REST``: the rest pose, unless it is bent only slightly, and against the body's bend direction.
   The body doesn't overrule forelegs, whose joint may be an elbow or a wrist;
5. ``POLE``: the pole of its chain;
6. ``BODY``: knees of a recognized character flex to the back, hocks and elbows, also those of
   forelegs, to the front.

All features ask a limb for its `joints`, or a body for the `joint` above any bone. `store_found`
stores what the plan can't determine by itself. Only the plan knows how chains use a joint, so that
comes from `USES`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import atan2, cos, sin
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver import Hinge, RestBend
from fabrik_solver.core.bend import LIMB, STRAIGHT, bend_direction, chain_axis, folded_bend
from fabrik_solver.core.vectors import ORIGIN, Vec, across, length, unit
from fabrik_solver.motion.anatomy import Limb
from fabrik_solver.motion.anatomy.thresholds import (
    CLIP_SAMPLES,
    IN_LINE,
    SAME_WAY,
    SLIGHT,
)

from ..blender import animation
from ..blender.access import pose_bones, rest_bone
from ..blender.rotation import channel_of, mode_of, quaternion
from ..blender.skeleton import RestPose, Skeleton, skeleton_of, vector
from ..settings.joint_limits import limit_of
from .body import Body, Joint
from .chains import end_of


class _Clip(NamedTuple):
    """How a joint moves over all frames of a clip.

    Attributes:
        axis: The mean axis about which it flexes, in the bone's rest space, not normalized.
        is_bent: Whether it ever flexes by more than `SLIGHT`.
        is_hinge: Whether it flexes about that axis, in one direction.
    """

    axis: Vector
    is_bent: bool
    is_hinge: bool

    @property
    def tells(self) -> bool:
        """Whether the clip shows how the joint flexes."""
        return self.is_bent and self.is_hinge


class Uses(NamedTuple):
    """How chains use the joints of an armature; the bone below a joint identifies it.

    Attributes:
        used: The joints that bend in a chain, or in a body that the plan poses.
        pole_axis: Returns the axis about which a joint flexes toward the pole of its chain, in the
            bone's rest space; None without a pole.
    """

    used: Collection[int]
    pole_axis: Callable[[int], Vector | None]


USES: list[Callable[[bpy.types.Object], Uses]] = []
"""Returns how chains use the joints of an armature; registered by the layer that knows them."""


def flexion_of(body: Body, name: str, after: str = "", is_twist: bool = False) -> Joint:
    """Return how the joint above a bone flexes; without an axis if that is unknown.

    Args:
        body: The body that the bone belongs to.
        name: The bone below the joint.
        after: The bone at its end. If empty, it is the next joint of the limb, or else the tail or
            the child's head.
        is_twist: Whether the bone only twists; its axis is then along it.
    """
    joint = _joint(body, name, after)
    if joint is None:
        return Joint(name)
    if is_twist:
        return Joint(name, joint.to_bone(joint.after).normalized(), 0.0, "TWIST")
    for source, evidence in EVIDENCE:
        axis = evidence(joint)
        if axis is not None:
            axis = axis.normalized()
            return Joint(name, axis, joint.angle_about(axis), source)
    return Joint(name)


def limb_flexion_of(body: Body, name: str) -> Joint:
    """Return how the joint after a bone flexes, in the rest space of that bone.

    At the start of a limb, this is the plane in which the limb bends. At its end, it is that of the
    bone's own joint.
    """
    rig = skeleton_of(body.armature)
    bone = rig.index[name]
    next_bone = next_in_limb(rig, bone)
    if next_bone < 0:
        return flexion_of(body, name)
    joint = flexion_of(body, rig.names[next_bone])._replace(bone=name, fold=0.0)
    to_bone, of_next = (rig.rest(i).matrix_local.to_3x3() for i in (bone, next_bone))
    return joint._replace(axis=to_bone.transposed() @ of_next @ joint.axis)


def next_in_limb(rig: Skeleton, bone: int) -> int:
    """Return the child that continues a limb: the only one, or the only one with children."""
    children = rig.children[bone]
    parents = [i for i in children if rig.children[i]]
    candidates = parents if len(children) > 1 else children
    return candidates[0] if len(candidates) == 1 else -1


UNSEEN: Final = ("LIMIT", "CLIP", "BODY")
"""The evidence that a chain's plan can't find by itself."""

SOURCES: Final = ("LIMIT", "CLIP", "REST", "POLE", "BODY")
"""All kinds of evidence except the stored axis."""


def store_found(
    body: Body, bones: Iterable[str], uses: Uses, sources: Collection[str] = UNSEEN
) -> None:
    """Store how newly bent joints flex, if the plan can't determine it.

    Stored directions stay, unless they were detected for a constraint that no longer exists. The
    clip or the rest pose may have changed since then.

    Args:
        body: The body.
        bones: The bones below the joints.
        uses: How chains used the joints before.
        sources: The kinds of evidence to store.
    """
    armature = body.armature
    index = skeleton_of(armature).index
    for name in bones:
        if is_found(armature, name) and index[name] not in uses.used:
            _store(armature, name, ORIGIN)
        joint = flexion_of(body, name)
        if joint.source in sources:
            _store(armature, name, vector(joint.axis))


def _store(armature: bpy.types.Object, name: str, axis: Vec) -> None:
    """Store how a joint flexes; for a linked bone, in its pose bone, which isn't linked."""
    if is_linked(armature):
        cast(Any, pose_bones(armature)[name]).fabrik_found_flexion = axis
    else:
        bone: Any = rest_bone(armature, name)
        bone.fabrik_flexion = bone.fabrik_found_flexion = axis


def is_linked(armature: bpy.types.Object) -> bool:
    """Return whether an armature's data is linked, so that its bones can't store anything."""
    return not cast("bpy.types.Armature", armature.data).is_editable


def is_found(armature: bpy.types.Object, name: str) -> bool:
    """Return whether the stored flexion of a bone was detected, not set by hand."""
    bone: Any = rest_bone(armature, name)
    if any(bone.fabrik_flexion):
        return bone.fabrik_flexion[:] == bone.fabrik_found_flexion[:]
    return any(cast(Any, pose_bones(armature)[name]).fabrik_found_flexion)


def flip(armature: bpy.types.Object, joints: Iterable[Joint]) -> None:
    """Store that joints flex in the direction opposite to the detected one."""
    for joint in joints:
        if not joint.source or joint.source == "TWIST":
            continue
        if is_linked(armature):
            _store(armature, joint.bone, vector(-joint.axis))
        else:
            cast(Any, rest_bone(armature, joint.bone)).fabrik_flexion = vector(-joint.axis)


def stored_flexion(rig: Skeleton, bone: int) -> Vector | None:
    """Return the stored axis about which the joint above a bone flexes, or None if there is none.

    It is a unit vector in the bone's rest space. If that is linked, its pose bone stores it.
    """
    rest: Any = rig.rest(bone)
    posed: Any = pose_bones(rig.object)[rig.names[bone]]
    axis, instead = Vector(rest.fabrik_flexion[:]), Vector(posed.fabrik_found_flexion[:])
    if axis.length == 0.0 or not (instead.length == 0.0 or rest.id_data.is_editable):
        axis = instead
    return axis.normalized() if axis.length > 0.0 else None


Stored = tuple[Vec, Vec, Vec]
"""The stored data of a bone: its axis of flexion, the detected axis, and the axis detected while
the bone is linked."""


def stored_flexions(armature: bpy.types.Object, bones: Iterable[str]) -> dict[str, Stored]:
    """Return the stored data of bones, for `restore_flexions`."""
    pairs: dict[str, Any] = {
        name: (rest_bone(armature, name), pose_bones(armature)[name]) for name in bones
    }
    return {
        name: (
            vector(bone.fabrik_flexion),
            vector(bone.fabrik_found_flexion),
            vector(posed.fabrik_found_flexion),
        )
        for name, (bone, posed) in pairs.items()
    }


def restore_flexions(armature: bpy.types.Object, stored: Mapping[str, Stored]) -> None:
    """Store the earlier data of bones again."""
    for name, (axis, found_flexion, linked) in stored.items():
        bone: Any = rest_bone(armature, name)
        posed: Any = pose_bones(armature)[name]
        if vector(posed.fabrik_found_flexion) != linked:
            posed.fabrik_found_flexion = linked
        if is_linked(armature):
            continue
        if vector(bone.fabrik_flexion) != axis:
            bone.fabrik_flexion = axis
        bone.fabrik_found_flexion = found_flexion


@dataclass(frozen=True)
class _Joint:
    """A joint, and the two bones that it connects.

    Attributes:
        body: The body that it is part of.
        armature: The armature.
        rig: Its skeleton.
        bone: The bone below the joint.
        before: The vector from the parent's joint to this joint at rest, in armature space.
        after: The vector from this joint to the end of its bone.
        end_bone: The child that begins at that end, or None if there is none.
    """

    body: Body
    armature: bpy.types.Object
    rig: Skeleton
    bone: int
    before: Vector
    after: Vector
    end_bone: Any

    @cached_property
    def clip(self) -> _Clip | None:
        """How this joint and its twin move in all actions; None if they aren't animated.

        The joints of a pair bend as mirror images, so both get the same result. It comes from the
        joints whose clips show how they flex. If they contradict each other, neither counts.
        """
        has_clips = any(animation.clips_of(self.armature, some) for some in (False, True))
        both = (_clip_of(self), self._clip_of_twin()) if has_clips else ()
        pair = [clip for clip in both if clip is not None]
        telling = [clip for clip in pair if clip.tells]
        axis = sum([clip.axis.normalized() for clip in telling or pair], Vector())
        if axis.length < SAME_WAY * len(telling):
            return None
        is_bent = True in [clip.is_bent for clip in pair]
        return _Clip(axis, is_bent, bool(telling)) if pair else None

    def _clip_of_twin(self) -> _Clip | None:
        """Return how the joint on the other side moves, mirrored to this side; None if unknown."""
        twin = self._twin
        clip = _clip_of(twin) if twin is not None else None
        if twin is None or clip is None:
            return None
        mirrored = twin._mirrored(twin._axes_now() @ clip.axis)
        return clip._replace(axis=self._axes_now().transposed() @ mirrored)

    @cached_property
    def uses(self) -> Uses:
        """How chains use the joints of the armature."""
        return next((uses(self.armature) for uses in USES), Uses((), lambda _: None))

    @cached_property
    def _index(self) -> int:
        """The index of the bone in the body, or -1 if it isn't part of it."""
        return self.body.index.get(self.body.meant(self.rig.names[self.bone]), -1)

    @cached_property
    def _limb(self) -> Limb | None:
        """The limb in which this is an inner joint; None if it isn't."""
        limbs = self.body.anatomy.limbs
        return next((limb for limb in limbs if self._index in limb.inner_joints), None)

    @property
    def hinge(self) -> Limb | None:
        """The limb of which this is the only elbow or knee; None if there is no such limb."""
        limb = self._limb
        return limb if limb is not None and len(limb.inner_joints) == 1 else None

    @property
    def to(self) -> Vector | None:
        """The direction in which anatomy flexes the joint, in armature space; None if unclear."""
        limb = self._limb
        if limb is None:
            return None
        count, front = len(limb.inner_joints), self.body.front
        if count == 1:
            return front if limb.kind == "ARM" or limb.is_foreleg else -front
        # After the knee of a leg that stands on its toes comes the hock.
        has_hock = count == 2 and limb.kind == "LEG" and not limb.is_foreleg
        return (-front, front)[limb.inner_joints.index(self._index)] if has_hock else None

    @cached_property
    def _twin(self) -> _Joint | None:
        """The same joint of the limb on the other side; None if there is none."""
        body, bone = self.body, self._index
        limb = next((limb for limb in body.anatomy.limbs if bone in limb.bones), None)
        other = body.opposite(limb) if limb is not None else None
        if limb is None or other is None or len(other.bones) != len(limb.bones):
            return None
        twin = body.names[other.bones[limb.bones.index(bone)]]
        return _joint(body, twin) if twin in self.rig.index else None

    def _axes_now(self) -> Any:
        """The axes of the bone in the examined pose."""
        return self.body.matrix(self.rig.rest(self.bone)).to_3x3().normalized()

    def _mirrored(self, axis: Vector) -> Vector:
        """Return the mirror image of a rotation axis in armature space."""
        across = self.body.turn @ Vector(self.body.anatomy.left)
        return 2.0 * axis.dot(across) * across - axis  # A rotation is mirrored the other way.

    @property
    def bent(self) -> Vector | None:
        """The axis of the joint's bend at rest, in the bone's rest space; None if straight."""
        axis = _bent(self.before, self.after, IN_LINE)
        return None if axis is None else self.to_bone(axis)

    @property
    def posed(self) -> Any:
        """The pose bone."""
        return pose_bones(self.armature)[self.rig.names[self.bone]]

    def to_bone(self, direction: Vector) -> Vector:
        """Convert a direction from armature space to the bone's rest space."""
        return self.rig.rest(self.bone).matrix_local.to_3x3().transposed() @ direction

    def angle_about(self, axis: Vector) -> float:
        """Return the flexion at rest about an axis in the bone's rest space, in radians."""
        a, b = (
            direction - axis * axis.dot(direction)
            for direction in map(self.to_bone, (self.before, self.after))
        )
        return atan2(axis.dot(cast(Vector, a.cross(b))), a.dot(b))


def _joint(body: Body, name: str, after: str = "") -> _Joint | None:
    armature, rig = body.armature, skeleton_of(body.armature)
    bone = rig.index[name]
    head = rig.rest(bone).head_local
    # Mechanisms put bones under controls, at the same joint.
    above = (rig.rest(i).head_local for i in reversed(rig.chain_up(bone)[:-1]))
    upper = next(
        (segment for segment in (head - start for start in above) if segment.length > 0.0), Vector()
    )
    next_bone = rig.index.get(after or body.joint_after(name), -1)
    end = rig.rest(next_bone).head_local if next_bone >= 0 else Vector(end_of(rig, bone))
    lower = end - head
    if upper.length == 0.0 or lower.length == 0.0:
        return None
    end_at = head + lower
    ends = [i for i in rig.children[bone] if (rig.rest(i).head_local - end_at).length == 0.0]
    end_bone = pose_bones(armature)[rig.names[ends[0]]] if ends else None
    return _Joint(body, armature, rig, bone, upper, lower, end_bone)


# Evidence: each returns the axis in the bone's rest space, or None without evidence.


def _set(joint: _Joint) -> Vector | None:
    if is_found(joint.armature, joint.posed.name) and joint.bone not in joint.uses.used:
        return None  # It was detected for a constraint that no longer exists.
    return stored_flexion(joint.rig, joint.bone)


def _limit(joint: _Joint) -> Vector | None:
    limit = limit_of(joint.posed)
    if not isinstance(limit, Hinge):
        return None
    middle = limit.turn[0] + limit.turn[1]
    along = abs(Vector(limit.axis).normalized().dot(joint.to_bone(joint.after).normalized()))
    # An axis along the bone only twists it.
    return Vector(limit.axis) * middle if abs(middle) > 1e-3 and along < SAME_WAY else None


def _clip(joint: _Joint) -> Vector | None:
    clip = joint.clip
    return clip.axis if clip is not None and clip.tells else None


def _clip_of(joint: _Joint) -> _Clip | None:
    if not joint.rig.rest(joint.bone).use_inherit_rotation:
        return None
    posed, end = joint.posed, joint.end_bone
    channels = [_Channel(posed, *channel_of(mode_of(posed))), _Channel(posed, "location", 3)]
    if end is not None:
        channels.append(_Channel(end, "location", 3))
    samples = [*_sampled(joint.armature, channels, everywhere=False)]
    samples = samples or [*_sampled(joint.armature, channels, everywhere=True)]
    total, weight, most = Vector(), 0.0, 0.0
    for turn, location, *ends in samples:
        # Captures may move joints as well.
        upper = (joint.to_bone(joint.before) + location).normalized()
        lower = joint.to_bone(joint.after)
        if end is not None:
            lower += joint.to_bone(end.bone.matrix_local.to_3x3() @ ends[0])
        turned = (Quaternion(quaternion(mode_of(posed), turn)) @ lower).normalized()
        normal = cast(Vector, upper.cross(turned))
        # Beyond a quarter turn, the joint is still flexed.
        flexed = normal.length if upper.dot(turned) > 0.0 else 1.0
        total += normal * flexed
        weight += normal.length * flexed
        most = max(most, flexed)
    if not samples:
        return None
    return _Clip(total, most >= sin(SLIGHT), total.length >= SAME_WAY * weight)


class _Channel(NamedTuple):
    """A channel of a pose bone: its property, and the number of its components."""

    owner: Any
    name: str
    size: int

    def at(self, curves: Mapping[int, Any], frame: float) -> Any:
        """Return the channel's values at a frame, with the components that F-curves set."""
        still = getattr(self.owner, self.name)
        values = [curves[i].evaluate(frame) if i in curves else still[i] for i in range(self.size)]
        if self.name != "location":
            return values
        return Vector() if self.owner.bone.use_connect else Vector(values)


def _sampled(
    armature: bpy.types.Object, channels: Sequence[_Channel], everywhere: bool
) -> Iterable[list[Any]]:
    """Yield the values of channels at frames where clips have keys of the first channel.

    The frames are evenly chosen.
    """
    frames: list[tuple[list[dict[int, Any]], float]] = []
    for clip in animation.clips_of(armature, everywhere):
        curves = [
            animation.channel_of_clip(clip, channel.owner.path_from_id(channel.name), channel.size)
            for channel in channels
        ]
        points = (point for curve in curves[0].values() for point in curve.keyframe_points)
        frames += [(curves, frame) for frame in sorted({point.co.x for point in points})]
    stride = -(-len(frames) // CLIP_SAMPLES)
    for curves, frame in frames[:: max(1, stride)]:
        pairs = zip(channels, curves, strict=True)
        yield [channel.at(column, frame) for channel, column in pairs]


def _rest(joint: _Joint) -> Vector | None:
    direction = joint.bent
    if direction is None:
        return None
    hinge = joint.hinge
    if hinge is None or hinge.is_foreleg:
        return direction  # The joint of a foreleg may be an elbow or a wrist, called its knee.
    if joint.before.angle(joint.after) < SLIGHT:
        body = _body(joint)
        if body is not None and body.normalized().dot(direction.normalized()) < SAME_WAY:
            return None
    return direction


def _body(joint: _Joint) -> Vector | None:
    if joint.clip is not None and joint.clip.is_bent:
        return None  # It isn't a hinge: it moves in another way.
    to, rig, body = joint.to, joint.rig, joint.body
    if to is None:
        return None
    line = [body.matrix(rig.rest(bone)) for bone in rig.chain_up(joint.bone)]
    offsets = [line[-1].translation - above.translation for above in line[-2::-1]]
    upper = next((offset for offset in offsets if offset.length > 0.0), Vector())
    axis = cast(Vector, upper.cross(to))
    axes = line[-1].to_3x3().normalized()
    return axes.transposed() @ axis if axis.length > 0.0 else None


EVIDENCE: Final = (
    ("SET", _set),
    ("LIMIT", _limit),
    ("CLIP", _clip),
    ("REST", _rest),
    ("POLE", lambda joint: joint.uses.pole_axis(joint.bone)),
    ("BODY", _body),
)


def planned_flexion(body: Body, name: str) -> Vector:
    """Return the axis about which a joint flexes as the plan sees it, in the bone's rest space.

    This is the stored axis, or else that of the rest pose; zero if neither is clear.
    """
    rig = skeleton_of(body.armature)
    stored = stored_flexion(rig, rig.index[name])
    if stored is not None:
        return stored
    joint = _joint(body, name)
    axis = joint.bent if joint is not None else None
    return Vector() if axis is None else axis.normalized()


# Chains


def bend_side(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> RestBend | None:
    """Return the bend direction of a chain; None if unknown.

    The stored flexion of its joints decides, or else its rest pose.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 for the last bone's tail.
    """
    axes = [stored_flexion(rig, bone) for bone in chain[1:]]
    flexion = tuple([None if axis is None else vector(axis) for axis in axes])
    rest_pose = rig.rest_pose((*chain, tip_bone))
    derived, key = rest_pose.derived, (_rest_side, *chain, tip_bone, flexion)
    if key not in derived:
        derived[key] = _rest_side(rest_pose, chain, tip_bone, axes)
    return derived[key]


def _rest_side(
    rest_pose: RestPose, chain: Sequence[int], tip_bone: int, flexion: Sequence[Vector | None]
) -> RestBend | None:
    """Return `bend_side` from the rest pose and the stored axes of all bones but the first."""
    matrices = [rest_pose.matrix(bone) for bone in (*chain, *([tip_bone] if tip_bone >= 0 else ()))]
    joints = [matrix.translation for matrix in matrices]
    if tip_bone < 0:
        joints.append(matrices[-1] @ Vector((0.0, rest_pose.length(chain[-1]), 0.0)))
    axes = matrices[0].to_3x3()
    stored = [
        None if axis is None else matrix.to_3x3() @ axis
        for matrix, axis in zip(matrices[1 : len(chain)], flexion, strict=True)
    ]
    side = _folded_side(joints, stored) if 3 <= len(chain) <= LIMB else None
    if side is None:
        # A joint moves to the side opposite to its bone.
        sides = [
            cast(Vector, (next_joint - at).normalized().cross(axis))
            for (at, next_joint), axis in zip(pairwise(joints[1:]), stored, strict=True)
            if axis is not None
        ]
        total = sum(sides, Vector())
        if not sides or total.length < SAME_WAY * len(sides):
            rest = _rest_bend(joints, axes)
            return None if rest is None else RestBend(rest)
        side = total.normalized(), ()
    return RestBend(vector(axes.transposed() @ side[0]), side[1])


def _folded_side(
    joints: Sequence[Vector], stored: Sequence[Vector | None]
) -> tuple[Vector, tuple[int, ...]] | None:
    """Return a limb's bend direction and its folds; None if all its joints flex one way.

    If it is bent at rest, its joints show the bend direction. ``stored`` holds the stored axis
    about which each joint between root and tip flexes, if any.
    """
    bones = [cast(Vector, second - at) for at, second in pairwise(joints)]
    axes = [
        _bent(*pair, cos(SLIGHT)) if axis is None else axis.normalized()
        for pair, axis in zip(pairwise(bones), stored, strict=True)
    ]
    folds = _folds(axes)
    if not folds:
        return None
    points = [vector(joint - joints[0]) for joint in joints]
    line = chain_axis(points)
    posed_bend = bend_direction(points, line)
    if posed_bend is not None and Vector(posed_bend).dot(folded_bend(points, line, folds)) < 0.0:
        folds = [-fold for fold in folds]
    normal = Vector()
    for fold, axis in zip(folds, axes, strict=True):
        normal += Vector() if axis is None else fold * axis
    side = unit(vector(cast(Vector, Vector(line).cross(normal))))
    return None if side is None else (Vector(side), tuple(folds))


def _folds(axes: Sequence[Vector | None]) -> list[int]:
    """Return how joints flex relative to the first one that flexes, as 1, -1 or 0 if unknown.

    Empty if all flex the same way, or if their unit axes differ.
    """
    first = next((axis for axis in axes if axis is not None), Vector())
    cosines = [0.0 if axis is None else axis.dot(first) for axis in axes]
    about = [abs(cosine) for axis, cosine in zip(axes, cosines, strict=True) if axis is not None]
    if min(cosines) > -SAME_WAY or min(about) < SAME_WAY:
        return []
    return [round(cosine) for cosine in cosines]


def _bent(first: Vector, second: Vector, straight: float) -> Vector | None:
    """Return the unit axis of the bend between two bones; None up to the angle of a cosine."""
    axis = cast(Vector, first.cross(second))
    is_straight = first.dot(second) > straight * first.length * second.length
    return None if is_straight or axis.length == 0.0 else axis.normalized()


def _rest_bend(heads_and_tip: Sequence[Vector], axes: Matrix) -> Vec | None:
    """Return the direction in which a chain is bent at rest, None if it is straight.

    It is a unit vector in the space of the first bone, whose axes are in armature space.
    """
    root = heads_and_tip[0]
    joints = [vector(joint - root) for joint in heads_and_tip]
    axis = chain_axis(joints)
    size = sum([length(vector(b - a)) for a, b in pairwise(heads_and_tip)])
    if max([length(across(joint, axis)) for joint in joints]) <= STRAIGHT * size:
        return None
    bend = bend_direction([vector((joint - root) / size) for joint in heads_and_tip], axis)
    return None if bend is None else vector(axes.transposed() @ Vector(bend))
