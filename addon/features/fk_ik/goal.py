"""The target and pole locations that make the solved pose equal the FK pose."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, log, sin
from typing import NamedTuple

import bpy

from fabrik_solver import Chain, Frame, frame_in, inverse, point_in, posed_chain
from fabrik_solver.core.bend import NEAR_AXIS
from fabrik_solver.core.chain import measured
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Vec,
    across,
    add,
    dot,
    length,
    mat_columns,
    mat_product,
    mat_transposed,
    orthonormalize,
    rotate_about,
    scaled,
    sub,
    sum_of,
)

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.moving import place_of
from ...blender.precision import rounding_of
from ...blender.skeleton import Point, matrix_frame
from ...body.flexion import bend_side
from ...editing.lifting import lift_to_goal, lifts_of
from ...editing.placing import side_of_bend
from ...frame.armature import Evaluated
from ...plan.chain_plan import ChainPlan, target_of
from ...settings.properties import settings
from ...settings.values import within_limits

STRAIGHT = 1e-4
"""Maximum distance of a straight chain's joints from its axis, as a fraction of its length.
Rounding of the target's location would bend it by more."""

BEYOND = 1e-6
"""Minimum distance of a straight chain's target beyond full reach, as a fraction of it."""

MOST_SOFT = 2.0
"""Maximum distance of a target from the root, in chain lengths, to compensate for softness. A
straight chain would need an infinite distance."""


PoleOffset = tuple[float, float]
"""Location of a pole relative to the middle of a chain, in chain lengths: along the line from root
to tip, and perpendicular to it."""


class FkGoal(NamedTuple):
    """Goal locations of a chain's target and pole, in world space.

    Attributes:
        location: Location of the target.
        axes: Rotation of the target; None if it doesn't matter.
        pole: Location of the pole; None without a pole.
        offset: Location of the pole relative to the chain.
        turns: The other controls, with their axes in world space.
    """

    location: Vec
    axes: Mat3 | None
    pole: Vec | None
    offset: PoleOffset | None
    turns: Sequence[tuple[Point, Mat3]] = ()


def _softness(chain: ChainPlan) -> float:
    """Return the softness that the target's distance must make up for; 0 if Stretch does."""
    item = settings(chain.rig.object).constraints[chain.item]
    return 0.0 if chain.stretches else within_limits(item, "softness")


def fk_goal(
    depsgraph: bpy.types.Depsgraph, chain: ChainPlan, start: int, offset: PoleOffset | None
) -> FkGoal:
    """Return the target and pole that make the solved pose equal the evaluated pose.

    Args:
        depsgraph: The depsgraph, with the chain in its FK pose.
        chain: The constraint, with a target.
        start: Index of the chain's first bone that no other constraint poses.
        offset: The pole's location relative to the chain; None to keep its distance.

    Raises:
        ProblemError: If the armature has zero scale.
    """
    armature = chain.rig.object.evaluated_get(depsgraph)
    item = settings(armature).constraints[chain.item]
    shown = Evaluated(armature)
    world = matrix_frame(armature.matrix_world)
    frames = [shown.frame(bone) for bone in chain.bones]
    tip = _tip(chain, shown, frames[-1])
    joints = [*[head for _, head in frames[start:]], tip]
    if chain.has_hand and (item.rotation_weight > 0.0 or chain.tip_bone >= 0):
        joints.pop()  # Only the hand's head reaches.
    posed = _evaluated_chain(chain, start, frames, joints) if len(joints) > 1 else None
    if posed is not None and posed.scale == 0.0:
        posed = None
    location = tip
    if start == 0 and posed is not None:
        overreach = _beyond(depsgraph, chain, posed.scale * length(mat_columns(world[0])[0]))
        location = add(tip, _reach_offset(posed, _softness(chain), overreach))
    lift, pole_lift = lift_to_goal(depsgraph, chain), lifts_of(depsgraph, chain)[1]
    location, axes, turns = _target_goal(
        depsgraph, chain, sub(point_in(world, location), lift), frame_in(world, frames[-1])[0]
    )
    pole = None
    if chain.pole is not None and posed is not None and len(joints) > 2:
        pole_local = _from_world(chain, world, add(place_of(depsgraph, chain.pole)[1], pole_lift))
        offset = offset or pole_offset(posed, pole_local)
        pole = sub(point_in(world, pole_at(posed, offset, item.pole_angle)), pole_lift)
    return FkGoal(location, axes, pole, offset, turns)


def _evaluated_chain(chain: ChainPlan, start: int, frames: list[Frame], joints: list[Vec]) -> Chain:
    """Return the evaluated chain from a start bone onward.

    Args:
        chain: The constraint.
        start: The index of the bone in the chain.
        frames: The evaluated frames of all its bones.
        joints: The joints from that bone onward.
    """
    end = start + len(joints) - 1
    tip_bone = chain.tip_bone if end == len(chain.bones) else chain.bones[end]
    axes = [axes for axes, _ in frames[start:end]]
    bend_rest = bend_side(chain.rig, chain.bones[start:end], tip_bone)
    return posed_chain(axes, joints, bend_rest, chain.joints.limits[start:end])


def _from_world(chain: ChainPlan, world: Frame, location_world: Vec) -> Vec:
    try:
        return point_in(inverse(world), location_world)
    except ValueError:
        name = chain.rig.object.name
        raise ProblemError("“{name}” has zero scale: change its scale", name=name) from None


def _tip(chain: ChainPlan, shown: Evaluated, last: Frame) -> Vec:
    """Return the evaluated tip of a chain in armature space; ``last`` is its last bone's frame."""
    if chain.tip_bone >= 0:
        return shown.frame(chain.tip_bone)[1]
    return point_in(last, (0.0, chain.rig.bone(chain.bones[-1]).length, 0.0))


def _target_goal(
    depsgraph: bpy.types.Depsgraph, chain: ChainPlan, tip: Vec, tip_axes: Mat3
) -> tuple[Vec, Mat3 | None, list[tuple[Point, Mat3]]]:
    """Return the target's location for a tip, its rotation if needed, and the other controls."""
    offset, turns = chain.offset, list[tuple[Point, Mat3]]()
    axes = orthonormalize(tip_axes) if chain.has_hand else None
    if chain.roll is not None:
        # Under non-uniform scale, the sheared axes show exactly how the target is rotated.
        axes = tip_axes
        bones = pose_bones(chain.rig.object.evaluated_get(depsgraph))
        w, x, y, z = bones[chain.posed[-1]].matrix_basis.to_quaternion()
        offset, turns = chain.roll.matched(chain, (w, x, y, z))
        sheared = mat_product(tip_axes, mat_transposed(offset[0]))
        turns = [(p, orthonormalize(mat_product(sheared, turn)) or IDENTITY) for p, turn in turns]
    if chain.target is None:
        return tip, axes, turns
    return *target_of(place_of(depsgraph, chain.target), offset, tip, axes), turns


def _beyond(depsgraph: bpy.types.Depsgraph, chain: ChainPlan, size: float) -> float:
    """Return the distance of a straight chain's target beyond full reach, as a fraction of it.

    If the target were closer, the chain would bend by the square root of the rounding error.

    Args:
        depsgraph: The depsgraph.
        chain: The constraint.
        size: Length of the chain in world space.
    """
    root = Point(chain.rig.object, chain.rig, chain.bones[0])
    points = [root] if chain.target is None else [root, chain.target]
    error = sum([rounding_of(depsgraph, point).place for point in points])
    return max(BEYOND, 2.0 * error / size) if size > 0.0 else BEYOND


def _reach_offset(chain: Chain, softness: float, overreach: float) -> Vec:
    """Return the offset from tip to target that Softness and full reach require.

    Args:
        chain: The evaluated chain.
        softness: The softness to make up for.
        overreach: The result of `_beyond`, for a straight chain.
    """
    root_to_tip = chain.start[-1].at()
    distance = length(root_to_tip)
    if distance == 0.0:
        return ORIGIN
    is_straight = distance > 0.5 and chain.deviation < STRAIGHT
    wanted = 1.0 + overreach if is_straight else distance
    start = 1.0 - softness
    if distance > start and softness > 0.0:
        left = 1.0 - (distance - start) / softness
        far = start - softness * log(left) if left > 0.0 and not is_straight else MOST_SOFT
        wanted = min(far, MOST_SOFT)
    return scaled(root_to_tip, chain.scale * (wanted / distance - 1.0))


def pole_offset(chain: Chain, pole: Vec) -> PoleOffset:
    """Return the location of a pole relative to the middle of a chain.

    A pole too close to the line from root to tip has no effect, so it is moved one chain length
    away from the middle.

    Args:
        chain: The chain, in any space.
        pole: The pole, in the same space.
    """
    pole_relative = measured(pole, chain.root, chain.scale)
    along, distance = dot(pole_relative, chain.axis), length(across(pole_relative, chain.axis))
    middle = _middle(chain)
    along -= dot(middle, chain.axis)
    if distance <= NEAR_AXIS * length(pole_relative) or abs(along) > distance:
        return 0.0, 1.0 + length(across(middle, chain.axis))
    return along, distance


def pole_at(chain: Chain, offset: PoleOffset, pole_angle: float) -> Vec:
    """Return the location of a pole that the chain faces.

    Args:
        chain: The chain, in any space.
        offset: The pole's location relative to the chain.
        pole_angle: The constraint's Pole Angle, in radians.
    """
    axis = chain.axis
    direction = rotate_about(side_of_bend(chain), axis, cos(pole_angle), -sin(pole_angle))
    along_axis = dot(_middle(chain), axis) + offset[0]
    location = add(scaled(axis, along_axis), scaled(direction, offset[1]))
    return add(chain.root, scaled(location, chain.scale))


def _middle(chain: Chain) -> Vec:
    """Return the mean of the inner joints relative to the root, in chain lengths."""
    inner = [joint.at() for joint in chain.start[1:-1]]
    return scaled(sum_of(inner), 1.0 / len(inner))
