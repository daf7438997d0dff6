"""A leg's joints, length, and knee axis."""

from __future__ import annotations

import itertools

from fabrik_solver import WHOLE, ChainInput, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    cross,
    length,
    mat_apply,
    mat_product,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.knee import LEAST

from ...frame.chain import tip_of
from ...frame.solved_scene import SolvedScene
from ...plan.chain_plan import ChainPlan, Snapshot


def joints_of(snapshot: Snapshot, chain: ChainPlan) -> list[Vec]:
    """Return the joints of a leg in world space, from the hip joint to the tip."""
    world = snapshot.world(chain.rig.object, chain.rig.uid)
    bones = [*chain.bones, *([chain.tip_bone] if chain.tip_bone >= 0 else ())]
    joints = [point_in(world, snapshot.frame(chain.rig, bone)[1]) for bone in bones]
    if chain.tip_bone < 0:
        last = chain.bones[-1]
        axes = mat_product(world[0], snapshot.frame(chain.rig, last)[0])
        joints.append(point_in((axes, joints[-1]), (0.0, chain.rig.bone(last).length, 0.0)))
    return joints


def leg_length(joints: list[Vec], chain: ChainPlan) -> float:
    """Return the length of a leg from the hip joint to the ankle."""
    pairs = itertools.pairwise(joints[:-1] if chain.limb.is_hand_at_tail else joints)
    return sum(length(sub(b, a)) for a, b in pairs)


def knee_axis(snapshot: SolvedScene, chain: ChainPlan) -> Vec:
    """Return the axis about which a leg's knee flexes in its FK pose, in world space.

    Its length is the knee's distance from the line from hip to ankle. The leg's bend direction
    counts too, weighted by `LEAST`. The axis is 0 unless the leg has exactly one knee.
    """
    rig, pose, limb = chain.rig, snapshot.poses[chain.rig.uid], chain.limb
    chain_input = ChainInput(
        [rig.bone(bone) for bone in chain.bones],
        [pose.fk.posed(bone) for bone in chain.bones],
        tip_of(chain, pose),
        WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent),
        limb.bend,
        has_hand=limb.has_hand,
        limb_bend=limb.bend_to_hand,
    )
    leg = chain_input.limb or chain_input
    world = snapshot.world(rig.object, rig.uid)
    if len(leg.joints) != 3:
        return ORIGIN
    hip, knee, ankle = [point_in(world, joint) for joint in leg.joints]
    leg_vector = sub(ankle, hip)
    along = unit(leg_vector)
    if along is None:
        return ORIGIN
    side = unit(across(mat_apply(world[0], leg.chain.forward()), along)) or ORIGIN
    off = add(across(sub(knee, hip), along), scaled(side, LEAST * length(leg_vector)))
    return cross(along, off)
