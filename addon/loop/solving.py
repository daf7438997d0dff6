"""Solving what was read, one unit after the other, each on top of those before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.errors import FAULT, ProblemError, listed, say_once
from ..core import ChainInput, Frame, Posture
from .body import body_answer, present_member, read_body
from .body_plan import BodyPlan, Unit, chains_of
from .chain_plan import ChainPlan
from .plan import Plan, current
from .pose import Pose
from .pre_pass import PrePassBone
from .read import SceneSnapshot
from .results import NOTHING, OFF, Answer, Report
from .task import Task, input_of, read, solve

OFF_REPORTS = (Report("DISABLED"),)

FARTHEST = 1e30
"""The farthest that a bone may leave its place: behind it Blender's single precision overflows."""

MOST_REMEMBERED = 250_000
"""Bones whose solutions are remembered at most, over all chains and frames: 50 to 80 MB."""


def solve_all(snapshot: SceneSnapshot, frame: float | None) -> None:
    """Solve all that poses the armatures of a snapshot, in the order of the plan.

    Args:
        snapshot: What was read, and what is solved of it by then.
        frame: The frame that Blender went to; None if it stayed at one.
    """
    for unit in snapshot.plan.units:
        if unit.rig.uid in snapshot.rigs:
            _pose(snapshot, unit, frame)


def _pose(snapshot: SceneSnapshot, unit: Unit, frame: float | None) -> None:
    """Read and solve what is solved together, and pose it for those that come after it."""
    pose = snapshot.poses[unit.rig.uid]
    answer = None
    try:
        answer = _answer(snapshot, unit, pose, frame)
        reports = OFF_REPORTS if answer is None else _reports(answer)
    except ProblemError as problem:
        answer, reports = None, _invalid(unit, str(problem))
    except ReferenceError:
        raise
    except Exception:
        say_once(f"could not pose {_named(unit)}")
        answer, reports = None, _invalid(unit, FAULT)
        if isinstance(unit, PrePassBone):
            snapshot.failed.update(unit.chains)
    for i, item in enumerate(unit.items):
        pose.reports[item] = reports[i]
    unit.last = answer
    if answer is None or not answer.bones:
        _forget(snapshot.plan, unit)
        return
    if frame is not None and snapshot.plan.changes_with_time(unit.rig.uid):
        _remember(snapshot.plan, unit, frame, answer)
    snapshot.turn(pose, answer)


def _answer(snapshot: SceneSnapshot, unit: Unit, pose: Pose, frame: float | None) -> Answer | None:
    """Return the solution of a unit, None if it is off.

    Raises:
        ProblemError: If there can be none.
    """
    if snapshot.failed and not snapshot.failed.isdisjoint((unit.rig.uid, *chains_of(unit))):
        raise ProblemError(FAULT)
    if isinstance(unit, ChainPlan):
        task = read(snapshot, unit)
        return task and (_known(unit, task, frame) or _chain_answer(unit, pose, task))
    if isinstance(unit, PrePassBone):
        carrying = unit.read(snapshot)
        if carrying is None:
            return None
        return _known(unit, carrying, frame) or unit.answer(snapshot, carrying)
    body_task = read_body(snapshot, unit)
    return _known(unit, body_task, frame) or body_answer(unit, pose, body_task)


def _invalid(unit: Unit, message: str) -> tuple[Report, ...]:
    return (Report("INVALID", message=message),) * len(unit.items)


def _named(unit: Unit) -> str:
    return listed([chain.name for chain in chains_of(unit)] or [unit.rig.names[unit.bones[0]]])


def _reports(answer: Answer) -> tuple[Report, ...]:
    """Return how the constraints of an answer did.

    Raises:
        ProblemError: If a bone would be where Blender cannot have it.
    """
    for place in answer.placed.values():
        if max(map(abs, place)) > FARTHEST:
            raise ProblemError(
                "A target is too far away (single precision overflows): move it closer"
            )
    return answer.reports


def _known(unit: Unit, task: object, frame: float | None) -> Answer | None:
    """Return the solution of a task if it was the last one, or that of the frame before."""
    answer = unit.last
    if answer is not None and answer.task == task:
        return answer
    answer = unit.answers.get(frame) if frame is not None else None
    return answer if answer is not None and answer.task == task else None


def _chain_answer(chain: ChainPlan, pose: Pose, task: Task) -> Answer:
    posture, report, location = solve(chain, pose, task)
    grown = dict(zip(chain.bones, posture.scales, strict=True)) if posture.scales else NOTHING
    placed = NOTHING if location is None else {chain.bones[0]: location}
    return Answer(task, chain.bones, posture.numbers, (report,), grown, placed)


def _remember(plan: Plan, unit: Unit, frame: float, answer: Answer) -> None:
    """Remember what a chain or body of an animated armature does at a frame."""
    if frame not in unit.answers:
        if plan.remembered >= MOST_REMEMBERED:
            return
        plan.remembered += len(unit.bones)
    unit.answers[frame] = answer


def _forget(plan: Plan, unit: Unit) -> None:
    """Forget the solutions of what is not solved now: nothing of it is to be written."""
    unit.last = None
    plan.remembered -= len(unit.bones) * len(unit.answers)
    unit.answers.clear()


def take_snapshot(
    depsgraph: bpy.types.Depsgraph, armatures: Iterable[bpy.types.Object]
) -> SceneSnapshot:
    """Return everything as the last update of a depsgraph solved it, and write nothing.

    Args:
        depsgraph: What was updated.
        armatures: Those that are looked at, with all that is solved with them.
    """
    plan = current()
    groups = [plan.groups.get(session_uid(armature), set[int]()) for armature in armatures]
    rigs = held_by(plan, depsgraph, set[int]().union(*groups))
    snapshot = SceneSnapshot(plan, depsgraph, rigs, rigs)
    solve_all(snapshot, None)
    return snapshot


def present(
    depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
) -> tuple[ChainInput, Posture, Frame]:
    """Solve a constraint as the last update of a depsgraph did, and write nothing.

    Returns:
        The chain under its FK pose, the solved one, and the armature's frame in world space.

    Raises:
        ProblemError: If the constraint is off or cannot work.
    """
    plan = current()
    rigs = held_by(plan, depsgraph, plan.groups[session_uid(armature)])
    snapshot = SceneSnapshot(plan, depsgraph, rigs, rigs)
    for unit in plan.units:
        if unit.rig.object == armature and index in unit.items:
            pose = snapshot.poses[unit.rig.uid]
            if isinstance(unit, BodyPlan):
                return present_member(snapshot, unit, pose, index)
            chain = cast(ChainPlan, unit)  # A pre-pass bone has no constraint of its own.
            task = read(snapshot, chain)
            if task is None:
                raise ProblemError(OFF)
            return input_of(chain, pose, task), solve(chain, pose, task).posture, task.world
        if unit.rig.uid in rigs:
            _pose(snapshot, unit, None)
    raise ProblemError(f"“{armature.name}” has no such constraint")


def held_by(
    plan: Plan, depsgraph: bpy.types.Depsgraph, rigs: set[int]
) -> dict[int, bpy.types.Object]:
    """Return the evaluated copies of those of the armatures that the depsgraph holds.

    Without those in Edit Mode, of which Blender evaluates no pose: were one evaluated of which
    bones have other names by now, Blender would give their drivers up for good.
    """
    objects = {uid: plan.rigs[uid].object for uid in rigs}
    objects = {uid: ob for uid, ob in objects.items() if not is_edited(ob)}
    copies = {uid: ob.evaluated_get(depsgraph) for uid, ob in objects.items()}
    return {uid: copy for uid, copy in copies.items() if copy.is_evaluated}
