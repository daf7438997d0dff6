"""How far a chain's targets and poles are lifted with the body, at the last update."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import bpy

from fabrik_solver.core.vectors import ORIGIN, Vec, sub, sum_of

from ..blender.moving import move_to, place_of
from ..blender.skeleton import Point
from ..frame.solved_scene import SolvedScene
from ..frame.solving import solve_armatures
from ..plan.chain_plan import ChainPlan
from ..plan.planner import chains_in
from .playing import updated


def lifts_of(depsgraph: bpy.types.Depsgraph, chain: ChainPlan) -> tuple[Vec, Vec]:
    """Return a chain's offset from target to goal, and from pole target to effective pole.

    Args:
        depsgraph: The depsgraph, up to date.
        chain: The chain.
    """
    if not _is_tied(chain):
        return ORIGIN, ORIGIN
    return _lifts(depsgraph, solve_armatures(depsgraph, [chain.rig.object]), chain)


def lift_to_goal(depsgraph: bpy.types.Depsgraph, chain: ChainPlan) -> Vec:
    """Return the offset from a chain's target to its animated goal.

    Like `lifts_of`, but also for a foot on the ground, whose target is at the animated foot without
    the hip's lift.
    """
    if chain.goal_source is None:
        return lifts_of(depsgraph, chain)[0]
    solved = solve_armatures(depsgraph, [chain.rig.object])
    if chain.target is None or chain.is_held_at(solved.time):
        return ORIGIN
    lifts, above = solved.poses[chain.rig.uid].lifts, chain.rig.chain_up(chain.bones[0])
    target = place_of(depsgraph, chain.target)[1]
    return sum_of([lifts[bone].moved(target) for bone in above if bone in lifts])


def _named(point: Point) -> tuple[bpy.types.Object, str]:
    rig = point.skeleton
    return point.object, "" if rig is None else rig.names[point.bone]


def _is_tied(chain: ChainPlan) -> bool:
    return (chain.target_tie, chain.pole_tie) != (None, None)


def _lifts(
    depsgraph: bpy.types.Depsgraph, solved: SolvedScene, chain: ChainPlan
) -> tuple[Vec, Vec]:
    ties = (chain.target, chain.target_tie), (chain.pole, chain.pole_tie)
    target, pole = (
        ORIGIN
        if point is None or tie is None
        else solved.lift(chain, tie, place_of(depsgraph, point)[1])
        for point, tie in ties
    )
    return target, pole


def set_down(
    armature: bpy.types.Object,
    indices: Iterable[int],
    new: Collection[tuple[bpy.types.Object, str]],
) -> None:
    """Lower new targets and poles by the amount that the body lifts them.

    This keeps the displayed pose.

    Args:
        armature: The armature of the constraints.
        indices: The constraints.
        new: The targets and poles that were added for the displayed pose: objects, and the names of
            their bones, empty for the object itself.
    """
    depsgraph = updated()
    wanted = set(indices)
    tied = [chain for chain in chains_in(armature) if chain.item in wanted and _is_tied(chain)]
    if not tied:
        return
    solved, moved = solve_armatures(depsgraph, [armature]), False
    for chain in tied:
        lifts = _lifts(depsgraph, solved, chain)
        for point, lift in zip((chain.target, chain.pole), lifts, strict=True):
            if point is not None and lift != ORIGIN and _named(point) in new:
                move_to(depsgraph, point, sub(place_of(depsgraph, point)[1], lift), None)
                moved = True
    if moved:
        updated()
