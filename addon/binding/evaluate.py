"""One update: read, solve, write."""

from __future__ import annotations

from dataclasses import replace
from math import dist

import bpy

from ..core import Posture, point_in
from . import animation
from .access import session_uid, settings
from .chain_plan import ChainPlan, ProblemError
from .plan import Plan, current, discard
from .read import Snapshot
from .task import Task, read, solve
from .write import Report, write_poses, write_report


def evaluate(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    """Pose all chains that an update of a depsgraph concerns."""
    plan, rigs, fresh = _concerned(depsgraph, is_frame_change)
    if not rigs:
        return
    moment = Snapshot(plan, depsgraph, rigs, fresh)
    reports = [(c, _posed(moment, c)) for c in plan.chains if c.rig.uid in rigs]
    write_poses(moment, plan, _is_foreign(depsgraph))
    for chain, report in reports:
        write_report(settings(chain.rig.object).constraints[chain.item], report)
    if plan.freed & rigs:
        discard()  # Their bones are the animator's again, and Blender's to place.


def _posed(moment: Snapshot, chain: ChainPlan) -> Report:
    """Read and solve one chain, and pose it for those that come after it."""
    try:
        task = read(moment, chain)
        if task is None:
            return Report("DISABLED")
        posture = solve(task)
    except ProblemError as problem:
        return Report("INVALID", message=str(problem))
    moment.turn(chain.rig, chain.bones, posture.rotations)
    error = dist(point_in(task.world, posture.tip), task.target_world)
    message = chain.note or _explanation(task, posture)
    return Report(posture.state, error, posture.solution.sweeps, message)


def present(
    depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
) -> tuple[Task, Posture]:
    """Solve a constraint as the last update of a depsgraph did, and write nothing.

    Returns:
        What was solved, and the whole solution beside the frames of the FK input.

    Raises:
        ProblemError: If the constraint is off or cannot work.
    """
    plan = current()
    rigs = _held(plan, depsgraph, plan.groups[session_uid(armature)])
    moment = Snapshot(plan, depsgraph, rigs, set())
    for chain in plan.chains:
        if chain.rig.object == armature and chain.item == index:
            task = read(moment, chain)
            if task is None:
                raise ProblemError("The constraint is off: turn it on, and its Influence up")
            return task, solve(replace(task, influence=0.0))
        if chain.rig.uid in rigs:
            _posed(moment, chain)
    raise ProblemError(f"“{armature.name}” has no such constraint")


def _explanation(task: Task, posture: Posture) -> str:
    if posture.state == "REACHED":
        return ""
    if posture.solution.in_reach:
        sweeps = posture.solution.sweeps
        return f"Not there yet after {sweeps} sweeps: raise Iterations or Tolerance"
    joints = posture.solution.joints
    if dist(task.goal.target, joints[0]) > dist(joints[-1], joints[0]):
        return "The target is farther away than the chain is long"
    return "The target is nearer to the root than the chain can fold"


_seen: dict[tuple[int, str], set[int]] = {}
"""For each view layer the armatures that were solved for it, or are none of its."""


def forget_seen() -> None:
    """Solve all armatures once more in each view layer."""
    _seen.clear()


def _concerned(
    depsgraph: bpy.types.Depsgraph, is_frame_change: bool
) -> tuple[Plan, set[int], set[int]]:
    """Return the plan, the armatures to solve, and those whose animation was evaluated just now.

    Concerned is an armature that Blender evaluated, or whose list of constraints a script changed,
    or that this view layer has not shown yet; and all that are solved with it.
    """
    plan = current()
    due = plan.stale()
    if due:
        discard()
        plan = current()
    if not plan.rigs and not due:
        return plan, set(), set()
    updated = {session_uid(update.id) for update in depsgraph.updates}
    due |= _unseen(plan, depsgraph) | updated
    rigs: set[int] = set()
    for uid in plan.rigs.keys() & due:
        rigs |= plan.groups[uid]
    rigs = _held(plan, depsgraph, rigs)
    if is_frame_change:
        return plan, rigs, rigs
    return (
        plan,
        rigs,
        {
            uid
            for uid in rigs
            if any(
                action.session_uid in updated for action in animation.actions(plan.rigs[uid].object)
            )
        },
    )


def _unseen(plan: Plan, depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the armatures of a view layer that were not solved for it yet.

    Blender calls no handler at the first update of a view layer.
    """
    scene, layer = depsgraph.scene, depsgraph.view_layer
    if depsgraph.mode == "RENDER" or scene is None or layer is None:
        return set()
    seen = _seen.setdefault((session_uid(scene), layer.name), set())
    unseen = plan.rigs.keys() - seen
    if not unseen:
        return set()
    seen |= unseen
    return {uid for uid in unseen if plan.rigs[uid].object.name in layer.objects}


def _held(plan: Plan, depsgraph: bpy.types.Depsgraph, rigs: set[int]) -> set[int]:
    """Return those of the armatures that the depsgraph holds."""
    return {uid for uid in rigs if plan.rigs[uid].object.evaluated_get(depsgraph).is_evaluated}


def _is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the file's data."""
    context = bpy.context
    if depsgraph.mode == "RENDER" or context.view_layer is None:
        return True
    layer, scene = depsgraph.view_layer, depsgraph.scene
    if layer is None or scene is None:
        return True
    return layer.name != context.view_layer.name or scene.original != context.scene
