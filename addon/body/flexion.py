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

All features ask `flexion_of`. `store_found` stores what the plan can't determine by itself. Only
the plan knows how chains use a joint, so that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atan2, sin
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Quaternion, Vector

from fabrik_solver import Hinge
from fabrik_solver.core.vectors import ORIGIN, Vec
from fabrik_solver.motion.anatomy import Limb
from fabrik_solver.motion.anatomy.thresholds import (
    CLIP_SAMPLES,
    IN_LINE,
    NO_LENGTH,
    SAME_WAY,
    SLIGHT,
)

from ..blender import animation
from ..blender.access import pose_bones, rest_bone
from ..blender.rotation import channel_of, mode_of, quaternion
from ..blender.skeleton import Skeleton, skeleton_of, vector
from ..settings.joint_limits import limit_of
from .body import Body
from .chains import end_of
from .looking import body_of


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


class Flexion(NamedTuple):
    """How a joint flexes.

    Attributes:
        axis: The unit vector about which a positive rotation flexes it, in the bone's rest space.
        angle: The angle by which it is flexed at rest, in radians.
        source: The evidence, as in the module's list.
    """

    axis: Vector
    angle: float
    source: str


class Uses(NamedTuple):
    """How chains use the joints of an armature; the bone below a joint identifies it.

    Attributes:
        used: The joints at which a chain bends, or a body that the plan poses.
        pole_axis: Returns the axis about which a joint flexes toward the pole of its chain, in the
            bone's rest space; None without a pole.
    """

    used: Collection[int]
    pole_axis: Callable[[int], Vector | None]


def flexion_of(
    armature: bpy.types.Object, name: str, uses: Uses, end: Vector | None = None
) -> Flexion | None:
    """Return how the joint above a bone flexes; None without a joint, or if unknown.

    Args:
        armature: The armature.
        name: The bone below the joint.
        uses: How chains use its joints.
        end: The end of the bone at rest, in armature space. If None, it is the next joint of the
            limb, or else the tail or the child's head.
    """
    joint = _joint(armature, name, uses, end)
    if joint is None:
        return None
    for source, evidence in EVIDENCE:
        axis = evidence(joint)
        if axis is not None:
            axis = axis.normalized()
            return Flexion(axis, joint.angle_about(axis), source)
    return None


def limb_flexion_of(armature: bpy.types.Object, name: str, uses: Uses) -> Flexion | None:
    """Return how the joint after a bone flexes, in the rest space of that bone.

    At the start of a limb, this is the plane in which the limb bends. At its end, it is that of the
    bone's own joint.
    """
    rig = skeleton_of(armature)
    bone = rig.index[name]
    next_bone = next_in_limb(rig, bone)
    flexion = flexion_of(armature, name if next_bone < 0 else rig.names[next_bone], uses)
    if next_bone < 0 or flexion is None:
        return flexion
    turn = (
        rig.rest(bone).matrix_local.to_3x3().transposed()
        @ rig.rest(next_bone).matrix_local.to_3x3()
    )
    return Flexion(turn @ flexion.axis, 0.0, flexion.source)


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
    armature: bpy.types.Object,
    bones: Iterable[str],
    uses: Uses,
    sources: Collection[str] = UNSEEN,
) -> None:
    """Store how newly bent joints flex, if the plan can't determine it.

    Stored directions stay, unless they were detected for a constraint that no longer exists. The
    clip or the rest pose may have changed since then.

    Args:
        armature: The armature.
        bones: The bones below the joints.
        uses: How chains used the joints before.
        sources: The kinds of evidence to store.
    """
    rig = skeleton_of(armature)
    for name in bones:
        if is_found(armature, name) and rig.index[name] not in uses.used:
            _store(armature, name, ORIGIN)
        flexion = flexion_of(armature, name, uses)
        if flexion is not None and flexion.source in sources:
            _store(armature, name, vector(flexion.axis))


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


def flip(armature: bpy.types.Object, bones: Iterable[str], uses: Uses) -> None:
    """Store that joints flex in the direction opposite to the detected one."""
    for name in bones:
        flexion = flexion_of(armature, name, uses)
        if flexion is None:
            continue
        if is_linked(armature):
            _store(armature, name, vector(-flexion.axis))
        else:
            cast(Any, rest_bone(armature, name)).fabrik_flexion = vector(-flexion.axis)


def stored_flexion(rig: Skeleton, bone: int) -> Vector | None:
    """Return the stored axis about which the joint above a bone flexes, or None if there is none.

    It is a unit vector in the bone's rest space.
    """
    return stored_axis(
        rest_bone(rig.object, rig.names[bone]), pose_bones(rig.object)[rig.names[bone]]
    )


def stored_axis(bone: Any, posed: Any) -> Vector | None:
    """Return the axis stored in a rest bone or, if that is linked, in its pose bone."""
    at_rest, found = bone.fabrik_flexion[:], posed.fabrik_found_flexion[:]
    if not (any(at_rest) or any(found)):
        return None
    axis, instead = Vector(at_rest), Vector(found)
    if axis.length == 0.0 or not (instead.length == 0.0 or bone.id_data.is_editable):
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
        armature: The armature.
        rig: Its skeleton.
        bone: The bone below the joint.
        uses: How chains use the joints of the armature.
        before: The vector from the parent's joint to this joint at rest, in armature space.
        after: The vector from this joint to the end of its bone.
        end_bone: The child that begins at that end, or None if there is none.
    """

    armature: bpy.types.Object
    rig: Skeleton
    bone: int
    uses: Uses
    before: Vector
    after: Vector
    end_bone: Any

    @cached_property
    def clip(self) -> _Clip | None:
        """How this joint and its twin move in all actions; None if they aren't animated.

        The joints of a pair bend as mirror images, so both get the same result. It comes from the
        joints whose clips show how they flex. If they contradict each other, neither counts.
        """
        pair = self._clips_of_pair() if _has_clips(self.armature) else []
        telling = [clip for clip in pair if clip.tells]
        axis = sum([clip.axis.normalized() for clip in telling or pair], Vector())
        if axis.length < SAME_WAY * len(telling):
            return None
        is_bent = True in [clip.is_bent for clip in pair]
        return _Clip(axis, is_bent, bool(telling)) if pair else None

    def _clips_of_pair(self) -> list[_Clip]:
        return [clip for clip in (_clip_of(self), self._clip_of_twin()) if clip is not None]

    def _clip_of_twin(self) -> _Clip | None:
        """Return how the joint on the other side moves, mirrored to this side."""
        twin = self._twin
        clip = _clip_of(twin) if twin is not None else None
        if twin is None or clip is None:
            return None
        mirrored = twin._mirrored(twin._axes_now() @ clip.axis)
        return clip._replace(axis=self._axes_now().transposed() @ mirrored)

    @cached_property
    def body(self) -> Body:
        """The body that the joint is part of."""
        return body_of(self.armature, self.rig.names[self.bone])

    @cached_property
    def _place(self) -> tuple[Limb, int] | None:
        """The limb in which this is an inner joint, and its index in the limb; None if it isn't."""
        body = self.body
        index = body.index.get(body.meant(self.rig.names[self.bone]), -1)
        return next(
            (
                (limb, limb.inner_joints.index(index))
                for limb in body.anatomy.limbs
                if index in limb.inner_joints
            ),
            None,
        )

    @property
    def hinge(self) -> Limb | None:
        """The limb of which this is the only elbow or knee; None if there is no such limb."""
        limb, _ = self._place or (None, 0)
        return limb if limb is not None and len(limb.inner_joints) == 1 else None

    @property
    def to(self) -> Vector | None:
        """The direction in which anatomy flexes the joint, in armature space; None if unclear."""
        if self._place is None:
            return None
        limb, k = self._place
        count, front = len(limb.inner_joints), self.body.front
        if count == 1:
            return front if limb.kind == "ARM" or limb.is_foreleg else -front
        # After the knee of a leg that stands on its toes comes the hock.
        has_hock = count == 2 and limb.kind == "LEG" and not limb.is_foreleg
        return (-front, front)[k] if has_hock else None

    @cached_property
    def _twin(self) -> _Joint | None:
        """The joint of the limb on the other side; None unless there is exactly one."""
        body, names = self.body, self.body.names
        bone = body.index.get(body.meant(self.rig.names[self.bone]), -1)
        limbs = body.anatomy.limbs
        twins = [
            other.bones[limb.bones.index(bone)]
            for limb in limbs
            if bone in limb.bones
            for other in limbs
            if (other.kind, other.trunk, other.side) == (limb.kind, limb.trunk, -limb.side)
            and len(other.bones) == len(limb.bones)
        ]
        if len(twins) != 1 or names[twins[0]] not in self.rig.index:
            return None
        return _joint(self.armature, names[twins[0]], self.uses, None)

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
        upper, lower = self.before.normalized(), self.after.normalized()
        axis = cast(Vector, upper.cross(lower))
        is_straight = upper.dot(lower) > IN_LINE or axis.length == 0.0
        return None if is_straight else self.to_bone(axis)

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


def _joint(armature: bpy.types.Object, name: str, uses: Uses, end: Vector | None) -> _Joint | None:
    rig = skeleton_of(armature)
    bone = rig.index[name]
    head = rig.rest(bone).head_local
    # Mechanisms put bones under controls, at the same joint.
    above = (rig.rest(i).head_local for i in reversed(rig.chain_up(bone)[:-1]))
    upper = next(
        (segment for segment in (head - start for start in above) if segment.length > 0.0), Vector()
    )
    if end is None:
        joint_index = rig.index.get(body_of(armature, name).joint_after(name), -1)
        end = rig.rest(joint_index).head_local if joint_index >= 0 else Vector(end_of(rig, bone))
    lower = end - head
    if upper.length == 0.0 or lower.length == 0.0:
        return None
    end_at = head + lower
    ends = [i for i in rig.children[bone] if (rig.rest(i).head_local - end_at).length == 0.0]
    end_bone = pose_bones(armature)[rig.names[ends[0]]] if ends else None
    return _Joint(armature, rig, bone, uses, upper, lower, end_bone)


# Evidence: each returns the axis in the bone's rest space, or None without evidence.


def _set(joint: _Joint) -> Vector | None:
    if is_found(joint.armature, joint.posed.name) and joint.bone not in joint.uses.used:
        return None  # It was detected for a constraint that no longer exists.
    return stored_flexion(joint.rig, joint.bone)


def _limit(joint: _Joint) -> Vector | None:
    limit = limit_of(joint.posed)
    if not isinstance(limit, Hinge):
        return None
    low, high = limit.turn
    along = abs(Vector(limit.axis).normalized().dot(joint.to_bone(joint.after).normalized()))
    # An axis along the bone only twists it, and a range alike both ways has no preferred one.
    is_one_way = abs(low + high) > NO_LENGTH * (high - low)
    return Vector(limit.axis) * (low + high) if is_one_way and along < SAME_WAY else None


def _clip(joint: _Joint) -> Vector | None:
    clip = joint.clip
    return clip.axis if clip is not None and clip.tells else None


def _has_clips(armature: bpy.types.Object) -> bool:
    return bool(animation.clips_of(armature, False) or animation.clips_of(armature, True))


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


def _pole(joint: _Joint) -> Vector | None:
    return joint.uses.pole_axis(joint.bone)


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
    ("POLE", _pole),
    ("BODY", _body),
)


def planned_flexion(rig: Skeleton, name: str) -> Vector | None:
    """Return the axis about which a joint flexes as the plan sees it, in the bone's rest space.

    This is the stored axis, or else that of the rest pose; None if neither is clear.
    """
    stored = stored_flexion(rig, rig.index[name])
    joint = _joint(rig.object, name, Uses((), lambda _: None), None) if stored is None else None
    axis = joint.bent if joint is not None else None
    return stored if axis is None else axis.normalized()
