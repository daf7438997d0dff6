"""The target and pole locations for which the solved pose is the FK pose."""

from __future__ import annotations

from math import cos, log, sin
from typing import NamedTuple

import bpy

from fabrik_solver import Chain, Frame, frame_in, inverse, point_in, posed_chain
from fabrik_solver.core.bend import NEAR_AXIS
from fabrik_solver.core.chain import measured
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    across,
    add,
    dot,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    orthonormalize,
    rotate_about,
    scaled,
    sub,
    sum_of,
)

from ...blender.errors import ProblemError
from ...blender.moving import place_of
from ...blender.precision import rounding_of
from ...blender.skeleton import Point, matrix_frame
from ...editing.lifting import lift_to_goal, lifts_of
from ...editing.placing import aim_past, side_of_bend
from ...frame.armature import Evaluated
from ...plan.bend_side import bend_side
from ...plan.chain_plan import ChainPlan, offset_turn
from ...settings.properties import settings
from ...settings.values import within_limits

STRAIGHT = 1e-4
"""Largest distance of the joints of a straight chain from its axis, as a fraction of its length.
Rounding of the target's location would bend it by more."""

BEYOND = 1e-6
"""Least distance of the target of a straight chain beyond full reach, as a fraction of it."""

MOST_SOFT = 2.0
"""Maximum distance of a target from the root, in chain lengths, to compensate for softness: an
infinite distance would be needed for a straight chain."""


PoleOffset = tuple[float, float]
"""Location of a pole relative to the middle of a chain, in chain lengths: along the line from root
to tip, and perpendicular to it."""


class FkGoal(NamedTuple):
    """Goal locations of a chain's target and pole, in world space.

    Attributes:
        place: Location of the target.
        axes: Rotation of the target; None if it does not matter.
        pole: Location of the pole; None if there is none.
        offset: Its location relative to the chain.
    """

    place: Vec
    axes: Mat3 | None
    pole: Vec | None
    offset: PoleOffset | None


def fk_goal(
    depsgraph: bpy.types.Depsgraph, chain: ChainPlan, start: int, offset: PoleOffset | None
) -> FkGoal:
    """Return the target and pole for which the solved pose is the evaluated one.

    Args:
        depsgraph: The depsgraph, with the chain in its FK pose.
        chain: The constraint, which has a target.
        start: Index in the chain of the first bone that no other constraint poses as well.
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
        joints.pop()  # Only the head of the hand reaches.
    bent = _evaluated_chain(chain, start, frames, joints) if len(joints) > 1 else None
    place = tip
    if start == 0 and bent is not None and bent.scale > 0.0:
        # Stretch compensates for softness.
        softness = 0.0 if chain.stretches else within_limits(item, "softness")
        beyond = _beyond(depsgraph, chain, bent.scale * length(mat_columns(world[0])[0]))
        place = add(tip, _reach_offset(bent, softness, beyond))
    lift, pole_lift = lift_to_goal(depsgraph, chain), lifts_of(depsgraph, chain)[1]
    place, axes = _target_goal(
        depsgraph, chain, sub(point_in(world, place), lift), frame_in(world, frames[-1])[0]
    )
    pole = None
    if chain.pole is not None and bent is not None and len(joints) > 2 and bent.scale > 0.0:
        now = _from_world(chain, world, add(place_of(depsgraph, chain.pole)[1], pole_lift))
        offset = offset or pole_offset(bent, now)
        pole = sub(point_in(world, pole_at(bent, offset, item.pole_angle)), pole_lift)
    return FkGoal(place, axes, pole, offset)


def _evaluated_chain(chain: ChainPlan, start: int, frames: list[Frame], joints: list[Vec]) -> Chain:
    """Return the evaluated chain from one of its bones on."""
    end = start + len(joints) - 1
    tip_bone = chain.tip_bone if end == len(chain.bones) else chain.bones[end]
    axes = [axes for axes, _ in frames[start:end]]
    rest = bend_side(chain.rig, chain.bones[start:end], tip_bone)
    return posed_chain(axes, joints, rest, chain.joints.limits[start:end])


def _from_world(chain: ChainPlan, world: Frame, place: Vec) -> Vec:
    try:
        return point_in(inverse(world), place)
    except ValueError:
        name = chain.rig.object.name
        raise ProblemError("“{name}” has zero scale: change its scale", name=name) from None


def _tip(chain: ChainPlan, shown: Evaluated, last: Frame) -> Vec:
    """Return the evaluated tip of a chain in armature space."""
    if chain.tip_bone >= 0:
        return shown.frame(chain.tip_bone)[1]
    return point_in(last, (0.0, chain.rig.bone(chain.bones[-1]).length, 0.0))


def _target_goal(
    depsgraph: bpy.types.Depsgraph, chain: ChainPlan, tip: Vec, hand: Mat3
) -> tuple[Vec, Mat3 | None]:
    """Return the target's goal location and, if it matters, rotation, for a tip location."""
    place, axes = tip, orthonormalize(hand) if chain.has_hand else None
    if chain.offset is None or chain.target is None:
        return place, axes
    target = place_of(depsgraph, chain.target)[0]
    if axes is not None:
        x, y, z = mat_columns(offset_turn(chain.offset, target))
        axes = mat_product(axes, (*x, *y, *z))
    # With its current rotation; the location is corrected after it has rotated.
    return sub(place, mat_apply(target, chain.offset[1])), axes


def _beyond(depsgraph: bpy.types.Depsgraph, chain: ChainPlan, size: float) -> float:
    """Return how far beyond full reach the target of a straight chain has to be.

    Short of it, the chain would bend by the square root of the rounding error.

    Args:
        depsgraph: The depsgraph.
        chain: The constraint.
        size: The length of the chain in world space.
    """
    root = Point(chain.rig.object, chain.rig, chain.bones[0])
    points = [root] if chain.target is None else [root, chain.target]
    error = sum([rounding_of(depsgraph, point).place for point in points])
    return max(BEYOND, 2.0 * error / size) if size > 0.0 else BEYOND


def _reach_offset(chain: Chain, softness: float, beyond: float) -> Vec:
    """Return the offset of the target from the tip, for straight or soft chains."""
    way = chain.start[-1].at()
    distance = length(way)
    if distance == 0.0:
        return ORIGIN
    is_straight = distance > 0.5 and chain.aside < STRAIGHT
    wanted = 1.0 + beyond if is_straight else distance
    begins = 1.0 - softness
    if distance > begins and softness > 0.0:
        left = 1.0 - (distance - begins) / softness
        far = begins - softness * log(left) if left > 0.0 and not is_straight else MOST_SOFT
        wanted = min(far, MOST_SOFT)
    return scaled(way, chain.scale * (wanted / distance - 1.0))


def pole_offset(chain: Chain, pole: Vec) -> PoleOffset:
    """Return the location of a pole relative to the middle of a chain.

    If the pole is too close to the line from root to tip to have an effect, it is moved one chain
    length away from the middle.

    Args:
        chain: The chain, in any space.
        pole: The pole, in the same space.
    """
    now = measured(pole, chain.root, chain.scale)
    along, out = dot(now, chain.axis), length(across(now, chain.axis))
    middle = _middle(chain)
    along -= dot(middle, chain.axis)
    if out <= NEAR_AXIS * length(now) or abs(along) > out:
        return 0.0, 1.0 + length(across(middle, chain.axis))
    return along, out


def pole_at(chain: Chain, offset: PoleOffset, pole_angle: float) -> Vec:
    """Return a pole location that the chain faces.

    Args:
        chain: The chain, in any space.
        offset: The pole's location relative to the chain.
        pole_angle: The constraint's Pole Angle, in radians.
    """
    axis = chain.axis
    aim = aim_past(chain.bending()[0]) - pole_angle
    direction = rotate_about(side_of_bend(chain), axis, cos(aim), sin(aim))
    along = dot(_middle(chain), axis) + offset[0]
    place = add(scaled(axis, along), scaled(direction, offset[1]))
    return add(chain.root, scaled(place, chain.scale))


def _middle(chain: Chain) -> Vec:
    """Return the mean of the inner joints relative to the root, in chain lengths."""
    inner = [joint.at() for joint in chain.start[1:-1]]
    return scaled(sum_of(inner), 1.0 / len(inner))
