"""Feet: the heel, the ball and the tip of the toes of a standing foot, and its floor.

The tails of imported bones may be anywhere, so joints are preferred if they are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    dot,
    inverse_apply,
    length,
    mat_apply,
    mat_columns,
    scaled,
    unit,
)
from fabrik_solver.motion.anatomy import floor_below
from fabrik_solver.motion.anatomy.thresholds import (
    FOOT_LENGTH,
    LONG_BONE,
    STEEP,
    TOE_LENGTH,
)
from fabrik_solver.motion.sole import Sole

from ..blender.clip import Clip
from ..blender.skeleton import Skeleton, matrix_frame
from .body import Body, Foot, Limb
from .posed import PosedLimb


def standing_frames(foot: Iterable[str], up: Vector, clip: Clip) -> list[float]:
    """Return the frames of a clip, starting with the one at which a foot's joints are lowest.

    The foot stands at that frame.

    Args:
        foot: The names of the foot's bones.
        up: The direction up, in armature space.
        clip: The clip.
    """
    names = [*foot]
    return sorted(
        clip.frames,
        key=lambda frame: sum(clip.matrices(frame)[name].translation.dot(up) for name in names),
    )


def length_of(limb: Limb) -> float:
    """Return the length of a recognized limb down to its hand or foot, in armature space."""
    body, shape = limb.body, limb.shape
    assert shape is not None
    bones = cast(bpy.types.Armature, body.armature.data).bones
    heads = [body.matrix(bones[body.names[i]]).translation for i in (*shape.bones, shape.end)]
    return sum([(b - a).length for a, b in pairwise(heads)])


def feet_of(body: Body) -> dict[str, Foot]:
    """Return the soles of the feet of a body's legs, by bone, projected onto their common floor.

    Only joints are used.
    """
    clip = None if body.has_rest_pose else Clip(body.armature)
    legs = [leg for leg in body.legs if leg.has_foot]
    if not legs:
        return {}
    stands = [_stands(leg, clip) for leg in legs]
    heights = [pose.translation.dot(body.up) for stand in stands for pose in stand]
    floor = floor_below(heights, (), max(map(length_of, legs)))
    feet = [_foot(leg, stand, floor) for leg, stand in zip(legs, stands, strict=True)]
    return {foot.bone: foot for foot in feet}


def _foot(leg: Limb, stand: Sequence[Matrix], floor: float) -> Foot:
    body, up = leg.body, leg.body.up
    foot, *toes = _bones(leg)
    ankle, *rest = stand
    heel = _on_floor(ankle.translation, up, floor)
    if toes:
        ball = _on_floor(rest[0].translation, up, floor)
        tip = ball + (ball - heel) * TOE_LENGTH
    else:
        ball = tip = heel + body.front * (FOOT_LENGTH * (ankle.translation - heel).length)
    to_foot = ankle.inverted()
    neutral = to_foot @ rest[0] if toes else Matrix()
    heel, ball, tip = (to_foot @ point for point in (heel, ball, tip))
    toe = toes[0].name if toes else ""
    return Foot(foot.name, toe, heel, ball, tip, neutral, to_foot.to_3x3() @ up, floor)


def _bones(leg: Limb) -> list[bpy.types.Bone]:
    """Return the bones of a leg's foot and toes in the body."""
    body, shape = leg.body, leg.shape
    assert shape is not None
    bones = cast(bpy.types.Armature, body.armature.data).bones
    return [bones[body.names[i]] for i in (shape.end, shape.toe) if i >= 0]


def _stands(leg: Limb, clip: Clip | None) -> list[Matrix]:
    """Return the matrices of a standing foot and its toes, in armature space.

    They are at rest, or at the frame of a clip at which their joints are lowest.
    """
    foot = _bones(leg)
    if clip is None:
        return [bone.matrix_local for bone in foot]
    pose = clip.matrices(standing_frames([bone.name for bone in foot], leg.body.up, clip)[0])
    return [pose[bone.name] for bone in foot]


def _on_floor(point: Vector, up: Vector, floor: float) -> Vector:
    return point - up * (point.dot(up) - floor)


def sole_at_rest(limb: PosedLimb, world: Mat3, leg: float, up: Vec) -> Sole:
    """Return the joints above the heel and the ball of a foot, in the rest pose.

    A foot that copies its target's rotation has both; the ball is the joint of its toes or, without
    toes, the end of its bone. For any other foot only the goal is known. This also applies to a
    foot whose guessed tail is above its head at rest.

    Args:
        limb: The leg.
        world: The axes of the armature in world space.
        leg: The length of the leg in meters.
        up: The unit vector up, in world space.
    """
    scale = sum(map(length, mat_columns(world))) / 3.0
    rig, foot = limb.rig, limb.end
    up_rest = unit(inverse_apply(world, up)) or (0.0, 0.0, 1.0)
    axes, head = matrix_frame(rig.rest(foot).matrix_local)
    end = ORIGIN
    if limb.is_hand_at_tail:
        end = (0.0, -rig.bone(foot).length, 0.0)
    elif limb.is_oriented:
        toes = [rig.bone(toe).head for toe in rig.children[foot]]
        toes = [toe for toe in toes if 0.0 < length(toe) * scale < LONG_BONE * leg]
        tail = (0.0, rig.bone(foot).length, 0.0)
        if dot(mat_apply(axes, tail), up_rest) > STEEP * length(tail):
            tail = ORIGIN
        end = max(toes, key=length, default=tail)
    if length(end) * scale >= LONG_BONE * leg:
        end = ORIGIN
    goal = head
    if limb.tip_bone < 0 and limb.foot < 0:
        goal = add(head, mat_apply(axes, (0.0, rig.bone(foot).length, 0.0)))
    floor = _rest_floor(rig, foot, up_rest, leg / scale if scale > 0.0 else leg)
    goal_rest = max(0.0, scale * (dot(goal, up_rest) - floor))
    end_rest = max(0.0, scale * (dot(add(goal, mat_apply(axes, end)), up_rest) - floor))
    if limb.is_hand_at_tail:
        heel = scaled(end, scale)
        return Sole(heel, ankle=heel, heel_rest=end_rest, ball_rest=goal_rest)
    return Sole(ball=scaled(end, scale), heel_rest=goal_rest, ball_rest=end_rest)


def has_toes(limb: PosedLimb) -> bool:
    """Return whether the limb ends in a foot that has child bones, such as toes."""
    return limb.is_oriented and bool(limb.rig.children[limb.end])


def _rest_floor(rig: Skeleton, foot: int, up: Vec, leg: float) -> float:
    """Return the height of the floor of the rest pose, in armature space.

    A leg may end above the floor because its foot follows a control instead. The floor is then at
    the origin.
    """
    joints: list[float] = []
    ends: list[float] = []
    for bone in sorted(rig.below({foot})):
        axes, head = matrix_frame(rig.rest(bone).matrix_local)
        joints.append(dot(head, up))
        if not rig.children[bone] and rig.bone(bone).length < LONG_BONE * leg:
            tail = add(head, mat_apply(axes, (0.0, rig.bone(bone).length, 0.0)))
            ends.append(dot(tail, up))
    floor = floor_below(joints, ends, leg)
    if floor > 0.0 and not rig.children[foot]:
        above = set(rig.chain_up(foot))
        lowest = next((low for low, bone in rig.by_height(up) if bone not in above), floor)
        if 0.0 <= lowest < LONG_BONE * floor:
            return 0.0
    return floor
