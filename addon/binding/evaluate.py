"""One update: read, solve, write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import bpy

from ..core import ChainInput, Frame, Posture
from . import animation
from .access import session_uid
from .body import body_answer, present_member, read_body
from .body_plan import BodyPlan, Unit
from .chain_plan import NOTHING, OFF, Answer, ChainPlan, ProblemError, Report
from .motion.carrier import Carrier
from .plan import Plan, current, discard, is_empty
from .pose import Pose
from .read import Snapshot
from .task import Task, input_of, read, solve
from .write import write_channels, write_pose, write_reports

OFF_REPORTS = (Report("DISABLED"),)

FARTHEST = 1e30
"""The farthest that a bone may leave its place: behind it Blender's single precision overflows."""

MOST_REMEMBERED = 250_000
"""Bones whose solutions are remembered at most, over all chains and frames: 50 to 80 MB."""


def evaluate(depsgraph: bpy.types.Depsgraph, is_frame_change: bool, is_undo: bool) -> bool:
    """Pose all chains that an update of a depsgraph concerns; return whether there are any.

    Args:
        depsgraph: What was updated.
        is_frame_change: Whether its animation was evaluated for it.
        is_undo: Whether it is the update of an undo or redo.
    """
    moment = _look(depsgraph, is_frame_change, is_undo)
    if moment is None:
        return False
    frame = cast(bpy.types.Scene, depsgraph.scene).frame_current_final if is_frame_change else None
    for unit in moment.plan.units:
        if unit.rig.uid in moment.rigs:
            _pose(moment, unit, frame)
    for uid in moment.rigs:
        write_pose(moment.poses[uid], moment.is_foreign)
        write_reports(moment.poses[uid])
    if not moment.plan.freed.isdisjoint(moment.rigs):
        discard()  # Their bones are the animator's again, and Blender's to place.
    return True


def _pose(moment: Snapshot, unit: Unit, frame: float | None) -> None:
    """Read and solve what is solved together, and pose it for those that come after it."""
    pose = moment.poses[unit.rig.uid]
    answer = None
    try:
        if isinstance(unit, ChainPlan):
            task = read(moment, unit)
            if task is not None:
                answer = _known(unit, task, frame) or _chain_answer(unit, pose, task)
        elif isinstance(unit, Carrier):
            carrying = unit.read(moment)
            if carrying is not None:
                answer = _known(unit, carrying, frame) or unit.answer(moment, carrying)
        else:
            body_task = read_body(moment, unit)
            answer = _known(unit, body_task, frame) or body_answer(unit, pose, body_task)
        reports = OFF_REPORTS if answer is None else _reports(answer)
    except ProblemError as problem:
        answer = None
        reports = (Report("INVALID", message=str(problem)),) * len(unit.items)
    for i, item in enumerate(unit.items):
        pose.reports[item] = reports[i]
    unit.last = answer
    if answer is None or not answer.bones:
        _forget(moment.plan, unit)
        return
    if (pose.is_animated or unit.rig.uid in moment.plan.timed) and frame is not None:
        _remember(moment.plan, unit, frame, answer)
    moment.turn(pose, answer)


def _reports(answer: Answer) -> tuple[Report, ...]:
    """Return how the constraints of an answer did.

    Raises:
        ProblemError: If a bone would be where Blender cannot have it.
    """
    for place in answer.placed.values():
        if max(map(abs, place)) > FARTHEST:
            raise ProblemError("A target is farther away than Blender can reckon: bring it nearer")
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


def anticipate(frame: float) -> None:
    """Write what was solved at a frame before, ahead of its evaluation.

    If that is still right, Blender's one evaluation of the frame is all that is needed; what goes
    in is looked at after it in any case. Chains with bones whose animation Blender evaluates, or
    that hold anything else than what was written last, are left to that. So are armatures that
    are not animated: those Blender evaluates once in any case.
    """
    if is_empty():
        return
    plan = current()
    for uid, pose in plan.poses.items():
        fk_input = pose.fk_input
        is_still = not pose.is_animated and uid not in plan.timed
        if is_still or fk_input is None or not fk_input.is_as_left():
            continue
        units = [unit for unit in plan.units if unit.rig.uid == uid]
        if not all(frame in unit.answers for unit in units):
            continue
        pose.start()
        for unit in units:
            pose.turn(unit.answers[frame])
        if write_channels(pose, fk_input):
            pose.rig.object.update_tag(refresh={"OBJECT"})


def snapshot(depsgraph: bpy.types.Depsgraph, armatures: Iterable[bpy.types.Object]) -> Snapshot:
    """Return everything as the last update of a depsgraph solved it, and write nothing.

    Args:
        depsgraph: What was updated.
        armatures: Those that are looked at, with all that is solved with them.
    """
    plan = current()
    groups = [plan.groups.get(session_uid(armature), set[int]()) for armature in armatures]
    rigs = _held(plan, depsgraph, set[int]().union(*groups))
    moment = Snapshot(plan, depsgraph, rigs, set(), set(rigs), _is_foreign(depsgraph))
    for unit in plan.units:
        if unit.rig.uid in rigs:
            _pose(moment, unit, None)
    return moment


def present(
    depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
) -> tuple[ChainInput, Posture, Frame]:
    """Solve a constraint as the last update of a depsgraph did, and write nothing.

    Returns:
        The chain under its FK input, the solved one, and the armature's frame in world space.

    Raises:
        ProblemError: If the constraint is off or cannot work.
    """
    plan = current()
    rigs = _held(plan, depsgraph, plan.groups[session_uid(armature)])
    moment = Snapshot(plan, depsgraph, rigs, set(), set(rigs), _is_foreign(depsgraph))
    for unit in plan.units:
        if unit.rig.object == armature and index in unit.items:
            pose = moment.poses[unit.rig.uid]
            if isinstance(unit, BodyPlan):
                return present_member(moment, unit, pose, index)
            chain = cast(ChainPlan, unit)  # A carrier has no constraint of its own.
            task = read(moment, chain)
            if task is None:
                raise ProblemError(OFF)
            return input_of(chain, pose, task), solve(chain, pose, task).posture, task.world
        if unit.rig.uid in rigs:
            _pose(moment, unit, None)
    raise ProblemError(f"“{armature.name}” has no such constraint")


_seen: dict[tuple[int, str], set[int]] = {}
"""For each view layer the armatures that were solved for it, or are none of its."""


def forget_seen() -> None:
    """Solve all armatures once more in each view layer."""
    _seen.clear()


def _look(depsgraph: bpy.types.Depsgraph, is_frame_change: bool, is_undo: bool) -> Snapshot | None:
    """Look at the armatures to solve: at those that an update concerns.

    Concerned is an armature that Blender evaluated, or whose list of constraints a script changed,
    or that this view layer has not shown yet; and all that are solved with it.
    """
    plan = current()
    updates = depsgraph.updates
    changed = [False] * len(updates)
    updates.foreach_get("is_updated_geometry", changed)
    if is_frame_change and len(changed) > len(plan.units) and not plan.is_animated():
        # It is cheaper to look at all armatures than to ask which of them Blender evaluated. Of
        # animated ones that has to be known: their channels hold the animation only if it did.
        updated = set(plan.rigs)
    else:
        updated = {session_uid(update.id) for update in updates}
    touched: set[int] = set()
    if any(changed):
        pairs = zip(updates, changed, strict=True)
        touched = {session_uid(update.id) for update, is_changed in pairs if is_changed}
    stale = plan.stale(plan.rigs if is_frame_change else plan.rigs.keys() & updated)
    if stale:
        discard()
        plan = current()
        updated = {session_uid(update.id) for update in updates}  # It may know other armatures.
    touched |= stale
    if not is_frame_change:
        touched |= _unseen(plan, depsgraph)
    rigs: set[int] = set()
    # The scene has the gravity and the frame rate.
    is_timed = is_frame_change or session_uid(depsgraph.scene) in updated
    for uid in plan.rigs.keys() & (updated | touched | _woken(plan, updated, is_timed)):
        rigs |= plan.groups[uid]
    held = _held(plan, depsgraph, rigs)
    if not held:
        return None
    if is_frame_change:
        fresh = rigs
    elif is_undo:
        fresh = set[int]()  # All actions are new then, but their curves were not evaluated for it.
    else:
        fresh = {uid for uid in held if _has_new_animation(plan, uid, updated)}
    is_foreign = _is_foreign(depsgraph)
    touched |= {uid for uid in held if is_foreign or plan.poses[uid].is_animated}
    return Snapshot(plan, depsgraph, held, fresh, touched, is_foreign)


def _woken(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that the time wakes up, if it does, or anything that they watch."""
    found = set(plan.timed) if is_timed else set[int]()
    return found.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


def _has_new_animation(plan: Plan, uid: int, updated: set[int]) -> bool:
    actions = animation.actions(plan.rigs[uid].object)
    return any(action.session_uid in updated for action in actions)


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


def _held(
    plan: Plan, depsgraph: bpy.types.Depsgraph, rigs: set[int]
) -> dict[int, bpy.types.Object]:
    """Return the evaluated copies of those of the armatures that the depsgraph holds."""
    copies = {uid: plan.rigs[uid].object.evaluated_get(depsgraph) for uid in rigs}
    return {uid: copy for uid, copy in copies.items() if copy.is_evaluated}


def _is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the file's data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph
