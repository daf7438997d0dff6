"""One update: read, solve, write."""

from __future__ import annotations

from dataclasses import dataclass
from math import dist, isfinite
from typing import TYPE_CHECKING, Any

import bpy

from ..core import Frame, Goal, Posture, head_in_parent, inverse, point_in, pose_chain
from ..core.vectors import Vec
from . import animation
from .access import session_uid, settings
from .chain_plan import ChainPlan, ProblemError
from .plan import Plan, current, discard
from .read import Snapshot
from .skeleton import Point
from .write import write_poses, write_report

if TYPE_CHECKING:
    from .properties import FabrikConstraint


def evaluate(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    """Pose all chains that an update of a depsgraph concerns."""
    plan = current()
    rigs, fresh = _concerned(plan, depsgraph, is_frame_change)
    if plan.is_stale(rigs):
        discard()
        plan = current()
        rigs, fresh = _concerned(plan, depsgraph, is_frame_change)
    if not rigs:
        return
    scene = Snapshot(plan, depsgraph, rigs, fresh)
    for chain in plan.chains:
        if chain.rig.uid in rigs:
            _solve_one(scene, chain)
    write_poses(scene, plan, _is_foreign(depsgraph))
    if plan.freed & rigs:
        discard()  # They are the animator's again, and Blender's to place.


@dataclass(slots=True)
class Task:
    """One chain, ready to be solved.

    Attributes:
        arguments: Those of `pose_chain`.
        world: Where the armature stands in world space.
        target_world: The target in world space.
    """

    arguments: dict[str, Any]
    world: Frame
    target_world: Vec


def _solve_one(scene: Snapshot, chain: ChainPlan) -> None:
    item = settings(chain.rig.object).constraints[chain.item]
    try:
        task = _read(scene, chain)
        if task is None:
            write_report(item, "DISABLED", 0.0, 0, "")
            return
        posture = _posed(chain, task)
    except ProblemError as problem:
        write_report(item, "INVALID", 0.0, 0, str(problem))
        return
    scene.turn(chain.rig, chain.bones, posture.rotations)
    tip_world = point_in(task.world, posture.tip)
    message = chain.note or _explanation(task, posture)
    error = dist(tip_world, task.target_world)
    write_report(item, posture.state, error, posture.solution.sweeps, message)


def _posed(chain: ChainPlan, task: Task) -> Posture:
    try:
        return pose_chain(**task.arguments)
    except (ValueError, OverflowError):
        raise ProblemError(
            f"“{chain.rig.object.name}” has a bone in the chain with no finite place: "
            "check its channels and its constraint's numbers"
        ) from None


def _read(scene: Snapshot, chain: ChainPlan) -> Task | None:
    """Return what is to be solved, None if the constraint is off.

    Raises:
        ProblemError: If the constraint cannot work.
    """
    item = _evaluated_item(scene, chain)
    if not item.enabled or item.influence == 0.0:
        return None
    if chain.problem or chain.target is None:
        raise ProblemError(chain.problem)
    solver = item.solver
    if solver == "TWO_BONE" and len(chain.bones) != 2:
        raise ProblemError(
            f"Two Bone needs a chain of 2 bones, and this one has {len(chain.bones)}: "
            "set Chain Length to 2 or choose another solver"
        )
    rig = chain.rig
    world = scene.world(rig.object)
    target_world = scene.point(chain.target)
    to_armature = _undone(world, rig.object)
    goal = Goal(
        target=_finite(point_in(to_armature, target_world), chain.target),
        pole=None
        if chain.pole is None
        else _finite(point_in(to_armature, scene.point(chain.pole)), chain.pole),
        pole_angle=item.pole_angle,
    )
    pose = scene.poses[rig.uid]
    bones = [rig.bone(i) for i in chain.bones]
    locals_ = [pose.posed_local(i) for i in chain.bones]
    tip = (0.0, bones[-1].length, 0.0)
    if chain.tip_bone >= 0:
        tip = head_in_parent(rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
    parent = scene.parent_frame(rig, chain.bones[0])
    if not all(isfinite(number) for number in (*parent[0], *parent[1])):
        raise ProblemError(f"“{rig.object.name}” has a bone above the chain with no finite place")
    return Task(
        {
            "bones": bones,
            "locals_": locals_,
            "tip_in_bone": tip,
            "parent": parent,
            "goal": goal,
            "rest_bend": chain.rest_bend,
            "solver": solver,
            "iterations": item.iterations,
            "tolerance": item.tolerance,
            "influence": item.influence,
        },
        world,
        target_world,
    )


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
    rigs = _evaluated(plan, depsgraph, plan.groups[session_uid(armature)])
    scene = Snapshot(plan, depsgraph, rigs, set())
    for chain in plan.chains:
        if chain.rig.object == armature and chain.item == index:
            return _input_and_solution(scene, chain)
        if chain.rig.uid in rigs:
            _turn(scene, chain)
    raise ProblemError(f"“{armature.name}” has no such constraint")


def _input_and_solution(scene: Snapshot, chain: ChainPlan) -> tuple[Task, Posture]:
    task = _read(scene, chain)
    if task is None:
        raise ProblemError("The constraint is off: turn it on, and its Influence up")
    task.arguments["influence"] = 0.0
    return task, _posed(chain, task)


def _turn(scene: Snapshot, chain: ChainPlan) -> None:
    """Pose a chain for those that hang on it."""
    try:
        task = _read(scene, chain)
        if task is not None:
            scene.turn(chain.rig, chain.bones, _posed(chain, task).rotations)
    except ProblemError:
        pass


def _evaluated_item(scene: Snapshot, chain: ChainPlan) -> FabrikConstraint:
    """Return the constraint with its animated values."""
    items = settings(scene.poses[chain.rig.uid].evaluated).constraints
    present_items = settings(chain.rig.object).constraints
    if len(items) == len(present_items):
        return items[chain.item]
    # The evaluated copy was made before a constraint was added or removed.
    return present_items[chain.item]


def _undone(world: Frame, armature: bpy.types.Object) -> Frame:
    try:
        return inverse(world)
    except ValueError:
        raise ProblemError(
            f"“{armature.name}” is scaled to zero or has no finite place: give it a scale"
        ) from None


def _finite(point: Vec, source: Point) -> Vec:
    if not all(isfinite(number) for number in point):
        raise ProblemError(f"“{source.object.name}” has no finite place: check its transform")
    return point


def _explanation(task: Task, posture: Posture) -> str:
    if posture.state == "REACHED":
        return ""
    if posture.solution.in_reach:
        sweeps = posture.solution.sweeps
        return f"Not there yet after {sweeps} sweeps: raise Iterations or Tolerance"
    joints = posture.solution.joints
    if dist(task.arguments["goal"].target, joints[0]) > dist(joints[-1], joints[0]):
        return "The target is farther away than the chain is long"
    return "The target is nearer to the root than the chain can fold"


def _concerned(
    plan: Plan, depsgraph: bpy.types.Depsgraph, is_frame_change: bool
) -> tuple[set[int], set[int]]:
    """Return the armatures to solve, and those whose animation was evaluated just now."""
    if not plan.rigs:
        return set(), set()
    updated = {session_uid(update.id) for update in depsgraph.updates}
    rigs: set[int] = set()
    for uid in plan.rigs.keys() & updated:
        rigs |= plan.groups[uid]
    rigs = _evaluated(plan, depsgraph, rigs)
    if is_frame_change:
        return rigs, rigs
    return rigs, {
        uid
        for uid in rigs
        if any(act.session_uid in updated for act, _ in animation.actions(plan.rigs[uid].object))
    }


def _evaluated(plan: Plan, depsgraph: bpy.types.Depsgraph, rigs: set[int]) -> set[int]:
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
