"""The length of a leg, and the points of its foot that touch the floor, from its joints.

The tails of imported bones may be anywhere, so joints are preferred wherever they are known.
"""

from __future__ import annotations

import itertools

from fabrik_solver import WHOLE, ChainInput, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    across,
    add,
    cross,
    dot,
    inverse_apply,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.anatomy import floor_below
from fabrik_solver.motion.sole import Sole

from ...blender.skeleton import matrix_frame
from ...frame.chain import tip_of
from ...frame.solved_scene import SolvedScene
from ...plan.chain_plan import ChainPlan, Snapshot

LONGEST_FOOT = 0.5
"""The length from which on a bone is too long for a foot, in legs."""

STEEPEST_TAIL = 0.5
"""The sine of the angle by which the bone of a foot without toes rises at rest, up to which it ends
at its ball: 30°."""

KNOWN = 0.01
"""How far a knee counts to be off its line to the side that it is known to bend to, in legs."""

IN_THE_AIR = 0.5
"""The share of the height at which a leg ends at rest, below which other bones stand for it."""


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
    ends_in_foot = chain.tip_bone < 0 and chain.has_hand
    pairs = itertools.pairwise(joints[:-1] if ends_in_foot else joints)
    return sum(length(sub(b, a)) for a, b in pairs)


def foot_of(chain: ChainPlan, world: Mat3, leg: float, up: Vec) -> Sole:
    """Return the joints above the heel and the ball of a foot, in the rest pose.

    A foot that copies its target's rotation has both; the ball is the joint of its toes, or where
    its bone ends without toes. Of any other foot only the goal is known, and of one that ends above
    itself at rest, as importers guess.

    Args:
        chain: The constraint.
        world: The axes of the armature in world space.
        leg: The length of the leg in metres.
        up: The unit vector up, in world space.
    """
    scale = sum(map(length, mat_columns(world))) / 3.0
    rig, foot = chain.rig, _foot(chain)
    up_rest = unit(inverse_apply(world, up)) or (0.0, 0.0, 1.0)
    axes, head = matrix_frame(rig.rest(foot).matrix_local)
    end = ORIGIN
    if chain.has_hand and chain.tip_bone < 0:
        end = (0.0, -rig.bone(foot).length, 0.0)
    elif chain.has_foot:
        toes = [rig.bone(toe).head for toe in rig.children[foot]]
        toes = [toe for toe in toes if 0.0 < length(toe) * scale < LONGEST_FOOT * leg]
        tail = (0.0, rig.bone(foot).length, 0.0)
        if dot(mat_apply(axes, tail), up_rest) > STEEPEST_TAIL * length(tail):
            tail = ORIGIN
        end = max(toes, key=length, default=tail)
    if length(end) * scale >= LONGEST_FOOT * leg:
        end = ORIGIN
    goal = head
    if chain.tip_bone < 0 and chain.foot < 0:
        goal = add(head, mat_apply(axes, (0.0, rig.bone(foot).length, 0.0)))
    floor = _rest_floor(chain, foot, up_rest, leg / scale if scale > 0.0 else leg)
    goal_rest = max(0.0, scale * (dot(goal, up_rest) - floor))
    end_rest = max(0.0, scale * (dot(add(goal, mat_apply(axes, end)), up_rest) - floor))
    if chain.has_hand and chain.tip_bone < 0:
        heel = scaled(end, scale)
        return Sole(heel, ankle=heel, heel_rest=end_rest, ball_rest=goal_rest)
    return Sole(ball=scaled(end, scale), heel_rest=goal_rest, ball_rest=end_rest)


def has_toes(chain: ChainPlan) -> bool:
    """Return whether a foot carries bones, which begin at the joint above its ball as toes do."""
    return chain.has_foot and bool(chain.rig.children[_foot(chain)])


def _foot(chain: ChainPlan) -> int:
    """Return the bone that stands: the foot of a leg, or its last bone."""
    if chain.foot >= 0:
        return chain.foot
    return chain.tip_bone if chain.tip_bone >= 0 else chain.bones[-1]


def knee_axis(snapshot: SolvedScene, chain: ChainPlan) -> Vec:
    """Return the axis about which the knee of a leg flexes under its FK pose, in world space.

    It is as long as the knee is off the line from hip to ankle; the side to which the leg is known
    to bend counts as well, for `KNOWN`. 0 for legs that do not have one knee.
    """
    rig, pose = chain.rig, snapshot.poses[chain.rig.uid]
    chain_input = ChainInput(
        [rig.bone(bone) for bone in chain.bones],
        [pose.fk.posed(bone) for bone in chain.bones],
        tip_of(chain, pose),
        WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent),
        chain.rest_bend,
        has_hand=chain.has_hand,
        limb_bend=chain.limb_bend,
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
    off = add(across(sub(knee, hip), along), scaled(side, KNOWN * length(leg_vector)))
    return cross(along, off)


def _rest_floor(chain: ChainPlan, foot: int, up: Vec, leg: float) -> float:
    """Return the height of the floor of the rest pose, in the armature's own space.

    It is the origin as well if the leg ends in the air: what stands there is not part of it, as
    feet that follow controls.
    """
    rig = chain.rig
    joints: list[float] = []
    ends: list[float] = []
    for bone in sorted(rig.below({foot})):
        axes, head = matrix_frame(rig.rest(bone).matrix_local)
        joints.append(dot(head, up))
        if not rig.children[bone] and rig.bone(bone).length < LONGEST_FOOT * leg:
            tail = add(head, mat_apply(axes, (0.0, rig.bone(bone).length, 0.0)))
            ends.append(dot(tail, up))
    floor = floor_below(joints, ends, leg)
    if floor > 0.0 and not rig.children[foot]:
        above = set(rig.chain_up(foot))
        lowest = next((low for low, bone in rig.by_height(up) if bone not in above), floor)
        if 0.0 <= lowest < IN_THE_AIR * floor:
            return 0.0
    return floor
