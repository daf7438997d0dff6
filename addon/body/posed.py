"""A limb as a constraint poses it: its bones, its bend direction, and its end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import cos
from typing import NamedTuple, cast

from mathutils import Matrix, Vector

from fabrik_solver import RestBend
from fabrik_solver.core.bend import LIMB, STRAIGHT, bend_direction, chain_axis, folded_bend
from fabrik_solver.core.vectors import Vec, across, length, unit
from fabrik_solver.motion.anatomy.thresholds import SAME_WAY, SLIGHT

from ..blender.access import pose_bones
from ..blender.skeleton import RestPose, Skeleton, vector
from .flexion import stored_axis


class PosedLimb(NamedTuple):
    """A limb that a constraint poses.

    Attributes:
        rig: The armature.
        bones: The bones that it poses, root first; the last one is the hand if there is one.
        tip_bone: The bone whose head is the tip; -1 if the tip is the last bone's tail.
        has_hand: Whether the last bone copies the target's rotation.
        bend: Its bend direction when it is straight; None if undefined.
        bend_to_hand: The bend direction of the bones before the hand, if the tip is the hand's
            tail.
        foot: The bone that is both its foot and its target, and follows the goal, or -1 if there is
            none.
    """

    rig: Skeleton
    bones: Sequence[int]
    tip_bone: int
    has_hand: bool
    bend: RestBend | None
    bend_to_hand: RestBend | None
    foot: int = -1

    @property
    def is_oriented(self) -> bool:
        """Whether the goal has an orientation, for a hand or for a foot that is also the target."""
        return self.has_hand or self.foot >= 0

    @property
    def is_hand_at_tail(self) -> bool:
        """Whether the tip of the limb is the tail of a hand."""
        return self.has_hand and self.tip_bone < 0

    @property
    def end(self) -> int:
        """The bone at the end: the foot, the bone whose head is the tip, or else the last bone."""
        if self.foot >= 0:
            return self.foot
        return self.tip_bone if self.tip_bone >= 0 else self.bones[-1]


def posed_limb(rig: Skeleton, bones: Sequence[int], tip_bone: int, has_hand: bool) -> PosedLimb:
    """Return the limb posed by a constraint, without a foot that is also its target.

    Args:
        rig: The armature.
        bones: See `PosedLimb`.
        tip_bone: See `PosedLimb`.
        has_hand: See `PosedLimb`.
    """
    bending = bones[:-1] if has_hand and tip_bone >= 0 else bones
    bend = bend_side(rig, bending, tip_bone)
    to_hand = bend_side(rig, bones[:-1], bones[-1]) if has_hand and tip_bone < 0 else None
    return PosedLimb(rig, bones, tip_bone, has_hand, bend, to_hand)


def bend_side(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> RestBend | None:
    """Return the bend direction of a chain; None if unknown.

    The stored flexion of its joints decides, or else its rest pose.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 for the last bone's tail.
    """
    posed = pose_bones(rig.object)
    axes = [stored_axis(rig.rest(bone), posed[rig.names[bone]]) for bone in chain[1:]]
    flexion = tuple([None if axis is None else vector(axis) for axis in axes])
    rest_pose = rig.rest_pose((*chain, tip_bone))
    derived, key = rest_pose.derived, (_rest_side, *chain, tip_bone, flexion)
    if key not in derived:
        derived[key] = _rest_side(rest_pose, chain, tip_bone, axes)
    return derived[key]


def _rest_side(
    rest_pose: RestPose, chain: Sequence[int], tip_bone: int, flexion: Sequence[Vector | None]
) -> RestBend | None:
    """Return a chain's bend direction at rest, for the stored axes of all bones but the first."""
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
    axes = [_axis_of(*pair, axis) for pair, axis in zip(pairwise(bones), stored, strict=True)]
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


def _axis_of(first: Vector, second: Vector, stored: Vector | None) -> Vector | None:
    """Return the unit axis of the joint between two bones: stored, or else that of its bend."""
    if stored is not None:
        return stored.normalized()
    is_bent = first.dot(second) < cos(SLIGHT) * first.length * second.length
    return cast(Vector, first.cross(second)).normalized() if is_bent else None


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
