"""Where target and pole have to be for a chain to be solved in its FK pose."""

from __future__ import annotations

from math import cos, log, sin
from typing import NamedTuple

import bpy

from ...blender.errors import ProblemError
from ...blender.moving import place_of
from ...blender.skeleton import matrix_frame
from ...core import Chain, Frame, frame_in, inverse, point_in
from ...core.bend import NEAR_AXIS, UNCLEAR, aimed_past, eased
from ...core.chain import measured
from ...core.vectors import (
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
)
from ...editing.placing import posed_chain, side_of_bend, sum_of
from ...loop.chain_plan import ChainPlan
from ...loop.evaluated import Evaluated
from ...loop.properties import settings
from ...loop.property_values import within_limits

STRAIGHT = 1e-4
"""A chain whose joints all stay this near to its axis, as a share of its length, counts as
straight: nobody sees it, and rounding of the target's place would bend it by more."""

BEYOND = 1e-6
"""How far beyond full reach, as a share of it, the target of a straight chain is put."""

SOFT_MOST = 2.0
"""How far from the root, in lengths of the chain, a target is put at most to make up for softness:
it would have to be infinitely far for the chain to be straight."""


Off = tuple[float, float]
"""Where a pole is beside the middle of a chain, in the chain's lengths: along the line from root to
tip, and off it."""


class FkGoal(NamedTuple):
    """Where a chain's target and pole are wanted, in world space.

    Attributes:
        place: Of the target.
        axes: Upright axes that the target is to have, None if they do not matter.
        pole: Place of the pole; None if there is none.
        off: How that is beside the chain.
    """

    place: Vec
    axes: Mat3 | None
    pole: Vec | None
    off: Off | None


def fk_goal(
    depsgraph: bpy.types.Depsgraph, chain: ChainPlan, start: int, off: Off | None
) -> FkGoal:
    """Return where a chain needs its target and pole so that solving leaves it as it is shown.

    Args:
        depsgraph: Which shows the chain in its FK pose.
        chain: The constraint, which has a target.
        start: The place in the chain of the first bone that no other constraint poses as well.
        off: How the pole is to be beside the chain; None if it stays as far from it as it is.

    Raises:
        ProblemError: If the armature is flat.
    """
    armature = chain.rig.object.evaluated_get(depsgraph)
    item = settings(armature).constraints[chain.item]
    shown = Evaluated(armature)
    world = matrix_frame(armature.matrix_world)
    frames = [shown.frame(bone) for bone in chain.bones]
    tip = _tip(chain, shown, frames[-1])
    joints = [*[head for _, head in frames[start:]], tip]
    if chain.has_hand and (item.rotation_weight > 0.0 or chain.tip_bone >= 0):
        joints.pop()  # The bones before the hand reach with its head.
    bent = _shown(chain, start, frames, joints) if len(joints) > 1 else None
    place = tip
    if start == 0 and bent is not None and bent.scale > 0.0:
        # What stretches makes up for softness by growing.
        softness = 0.0 if chain.stretches else within_limits(item, "softness")
        place = add(tip, _outwards(bent, softness))
    place, axes = _beside(depsgraph, chain, point_in(world, place), frame_in(world, frames[-1])[0])
    pole = None
    if chain.pole is not None and bent is not None and len(joints) > 2 and bent.scale > 0.0:
        now = _from_world(chain, world, place_of(depsgraph, chain.pole)[1])
        off = off or beside(bent, now)
        pole = point_in(world, faced_from(bent, off, item.pole_angle))
    return FkGoal(place, axes, pole, off)


def _shown(chain: ChainPlan, start: int, frames: list[Frame], joints: list[Vec]) -> Chain:
    """Return a chain, from one of its bones on, as it is shown."""
    end = start + len(joints) - 1
    tip_bone = chain.tip_bone if end == len(chain.bones) else chain.bones[end]
    axes = [axes for axes, _ in frames[start:end]]
    return posed_chain(chain.rig, chain.bones[start:end], tip_bone, axes, joints)


def _from_world(chain: ChainPlan, world: Frame, place: Vec) -> Vec:
    try:
        return point_in(inverse(world), place)
    except ValueError:
        name = chain.rig.object.name
        raise ProblemError(f"“{name}” has zero scale: change its scale") from None


def _tip(chain: ChainPlan, shown: Evaluated, last: Frame) -> Vec:
    """Return where the tip of a chain is shown in armature space."""
    if chain.tip_bone >= 0:
        return shown.frame(chain.tip_bone)[1]
    return point_in(last, (0.0, chain.rig.bone(chain.bones[-1]).length, 0.0))


def _beside(
    depsgraph: bpy.types.Depsgraph, chain: ChainPlan, tip: Vec, hand: Mat3
) -> tuple[Vec, Mat3 | None]:
    """Return where the target is wanted for the tip, and its upright axes if they matter."""
    place, axes = tip, orthonormalize(hand) if chain.has_hand else None
    if chain.offset is None or chain.target is None:
        return place, axes
    if axes is not None:
        x, y, z = mat_columns(chain.offset[0])
        axes = mat_product(axes, (*x, *y, *z))
    # As it is turned now: once it has turned, its place is looked at again.
    return sub(place, mat_apply(place_of(depsgraph, chain.target)[0], chain.offset[1])), axes


def _outwards(chain: Chain, softness: float) -> Vec:
    """Return by how much the target of a chain has to be farther out than the tip."""
    way = chain.start[-1].at()
    distance = length(way)
    if distance == 0.0:
        return ORIGIN
    is_straight = distance > 0.5 and chain.aside < STRAIGHT
    wanted = 1.0 + BEYOND if is_straight else distance
    begins = 1.0 - softness
    if distance > begins and softness > 0.0:
        left = 1.0 - (distance - begins) / softness
        far = begins - softness * log(left) if left > 0.0 and not is_straight else SOFT_MOST
        wanted = min(far, SOFT_MOST)
    return scaled(way, chain.scale * (wanted / distance - 1.0))


def beside(chain: Chain, pole: Vec) -> Off:
    """Return where a pole is beside the middle of a chain.

    Where it is so near to the line from root to tip that it has little weight, a place is taken
    that is a chain's length off the middle.

    Args:
        chain: The chain, any space.
        pole: The pole, in the same space.
    """
    now = measured(pole, chain.root, chain.scale)
    along, out = dot(now, chain.axis), length(across(now, chain.axis))
    middle = _middle(chain)
    along -= dot(middle, chain.axis)
    if out <= NEAR_AXIS * length(now) or abs(along) > out:
        return 0.0, 1.0 + length(across(middle, chain.axis))
    return along, out


def faced_from(chain: Chain, off: Off, pole_angle: float) -> Vec:
    """Return a place for the pole which the chain faces.

    Args:
        chain: The chain, any space.
        off: How it is beside the chain.
        pole_angle: By how much the chain turns on, in radians.
    """
    axis = chain.axis
    bend, _, _ = chain.bending()
    aim = -pole_angle - aimed_past(eased(length(bend) / UNCLEAR))
    direction = rotate_about(side_of_bend(chain), axis, cos(aim), sin(aim))
    along = dot(_middle(chain), axis) + off[0]
    place = add(scaled(axis, along), scaled(direction, off[1]))
    return add(chain.root, scaled(place, chain.scale))


def _middle(chain: Chain) -> Vec:
    """Return the mean of the inner joints, from the root, in lengths of the chain."""
    inner = [joint.at() for joint in chain.start[1:-1]]
    return scaled(sum_of(inner), 1.0 / len(inner))
