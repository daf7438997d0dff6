"""Solving what was read, one unit after the other, each on top of those before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.errors import INTERNAL_ERROR, ProblemError, listed, report_once
from ..core import ChainInput, Frame, Posture
from ..core.vectors import Vec
from .body import body_answer, present_member, read_body
from .body_plan import BodyPlan, Unit, chains_of
from .chain_plan import ChainPlan
from .plan import Plan, current
from .pre_pass import PrePassBone
from .read import SceneSnapshot
from .results import NOTHING, OFF, Answer, Report
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene
from .task import Task, input_of, read_chain, solve_chain

FARTHEST = 1e30
"""The farthest that a bone may leave its place: behind it Blender's single precision overflows."""

MOST_REMEMBERED = 250_000
"""Bones whose solutions are remembered at most, over all chains and frames: 50 to 80 MB."""


def solve_scene(snapshot: SceneSnapshot, frame: float | None) -> SolvedScene:
    """Solve all that poses the armatures of a snapshot, in the order of the plan.

    Each unit is read from the snapshot with all that was solved before it.

    Args:
        snapshot: What was read. It stays as it is.
        frame: The frame that Blender went to; None if it stayed at one.
    """
    solved = SolvedScene(snapshot)
    for unit in snapshot.plan.units:
        if unit.rig.uid in snapshot.rigs:
            _solve_next(solved, unit, frame)
    return solved


def _solve_next(solved: SolvedScene, unit: Unit, frame: float | None) -> None:
    """Solve a unit, and pose it for those that come after it."""
    answer = _answer(solved, unit, frame)
    if not answer.bones:
        _forget(solved.plan, unit)
    else:
        unit.last = answer
        if frame is not None and solved.plan.changes_with_time(unit.rig.uid):
            _remember(solved.plan, unit, frame, answer)
    solved.add(unit, answer)


def _answer(solved: SolvedScene, unit: Unit, frame: float | None) -> Answer:
    """Return the solution of a unit, or why there is none."""
    try:
        answer = _solution(solved, unit, frame)
        if answer is None:
            return _unposed(unit, Report("DISABLED"))
        if answer.locations:
            _refuse_far(answer.locations)
        return answer
    except ProblemError as problem:
        return _unposed(unit, Report("INVALID", message=str(problem)))
    except ReferenceError:
        raise
    except Exception:
        report_once(f"could not pose {_named(unit)}")
        if isinstance(unit, PrePassBone):
            solved.failed = {*solved.failed, *unit.chains}
        return _unposed(unit, Report("INVALID", message=INTERNAL_ERROR))


def _solution(solved: SolvedScene, unit: Unit, frame: float | None) -> Answer | None:
    """Return the solution of a unit, None if it is off.

    Raises:
        ProblemError: If there can be none.
    """
    if solved.failed and any(one in solved.failed for one in (unit.rig.uid, *chains_of(unit))):
        raise ProblemError(INTERNAL_ERROR)
    pose = solved.poses[unit.rig.uid]
    if isinstance(unit, ChainPlan):
        task = read_chain(solved, unit)
        return task and (_known(unit, task, frame) or _chain_answer(unit, pose, task))
    if isinstance(unit, PrePassBone):
        carrying = unit.read(solved)
        if carrying is None:
            return None
        return _known(unit, carrying, frame) or unit.answer(solved, carrying)
    body_task = read_body(solved, unit)
    return _known(unit, body_task, frame) or body_answer(unit, pose, body_task)


def _unposed(unit: Unit, report: Report) -> Answer:
    """Return what comes of a unit that poses nothing."""
    return Answer(None, (), (), (report,) * len(unit.items), NOTHING, NOTHING)


def _named(unit: Unit) -> str:
    return listed([chain.name for chain in chains_of(unit)] or [unit.rig.names[unit.bones[0]]])


def _refuse_far(locations: Mapping[int, Vec]) -> None:
    """Refuse locations where Blender cannot have a bone.

    Raises:
        ProblemError: If one is there.
    """
    if any(max(map(abs, place)) > FARTHEST for place in locations.values()):
        raise ProblemError("A target is too far away (single precision overflows): move it closer")


def _known(unit: Unit, task: object, frame: float | None) -> Answer | None:
    """Return the solution of a task if it was the last one, or that of the frame before."""
    answer = unit.last
    if answer is not None and answer.task == task:
        return answer
    answer = unit.answers.get(frame) if frame is not None else None
    return answer if answer is not None and answer.task == task else None


def _chain_answer(chain: ChainPlan, pose: SolvedPose, task: Task) -> Answer:
    posture, report, location = solve_chain(chain, pose, task)
    scales = dict(zip(chain.bones, posture.scales, strict=True)) if posture.scales else NOTHING
    locations = NOTHING if location is None else {chain.bones[0]: location}
    return Answer(task, chain.bones, posture.numbers, (report,), scales, locations)


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
) -> SolvedScene:
    """Return everything as the last update of a depsgraph solved it, and write nothing.

    Args:
        depsgraph: What was updated.
        armatures: Those that are looked at, with all that is solved with them.
    """
    plan = current()
    groups = [plan.groups.get(session_uid(armature), set[int]()) for armature in armatures]
    rigs = held_by(plan, depsgraph, set[int]().union(*groups))
    return solve_scene(SceneSnapshot(plan, depsgraph, rigs, rigs), None)


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
    solved = SolvedScene(SceneSnapshot(plan, depsgraph, rigs, rigs))
    for unit in plan.units:
        if unit.rig.object == armature and index in unit.items:
            if isinstance(unit, BodyPlan):
                return present_member(solved, unit, index)
            chain = cast(ChainPlan, unit)  # A pre-pass bone has no constraint of its own.
            task = read_chain(solved, chain)
            if task is None:
                raise ProblemError(OFF)
            pose = solved.poses[chain.rig.uid]
            given = input_of(chain, pose, task)
            return given, solve_chain(chain, pose, task).posture, task.world
        if unit.rig.uid in rigs:
            _solve_next(solved, unit, None)
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
