"""One update: read, solve, write, as far as possible ahead of Blender's evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.animated_values import bring_over
from ..blender.errors import FAULT, ProblemError, listed, say_once
from ..blender.forgetting import forgets
from ..blender.skeleton import skeleton_of
from ..blender.updates import changed_in
from ..core import ChainInput, Frame, Posture
from .body import body_answer, present_member, read_body
from .body_plan import BodyPlan, Unit, chains_of
from .chain_plan import ChainPlan
from .changes import take_followed
from .plan import Plan, current, discard, known
from .pose import Evaluated, Pose
from .pre_pass import PrePassBone
from .read import SceneSnapshot, SnapshotAhead
from .results import NOTHING, OFF, Answer, Report
from .task import Task, input_of, read, solve
from .write import Kept, compose, take_back, write_ahead, write_pose, write_reports

OFF_REPORTS = (Report("DISABLED"),)

FARTHEST = 1e30
"""The farthest that a bone may leave its place: behind it Blender's single precision overflows."""

MOST_REMEMBERED = 250_000
"""Bones whose solutions are remembered at most, over all chains and frames: 50 to 80 MB."""

_foreseen: tuple[Plan, SnapshotAhead | None] | None = None
"""The plan that was known ahead of the evaluation that is going on, and what was solved then."""

misses = 0
"""How often what was solved ahead was not right, so that Blender had to evaluate once more."""


def foresee(
    scene: bpy.types.Scene,
    graphs: Iterable[bpy.types.Depsgraph],
    is_frame_change: bool,
    tagged: Set[str],
) -> None:
    """Write the solutions of the armatures that an evaluation to come concerns.

    Where what goes in is not known yet, what was solved last is written, or at this frame before:
    if that is still right, the one evaluation is all that is needed. What is written is looked at
    after it in any case.

    Args:
        scene: What is going to be evaluated.
        graphs: The depsgraphs of its view layers.
        is_frame_change: Whether its animation will be.
        tagged: The names of what is tagged for it.
    """
    global _foreseen
    plan = known()
    if plan is None or not plan.rigs:
        return
    # Then Blender may go to another frame, or make new relations and the plan be outdated.
    may_be_rebuilt = any(graph.id_type_updated("SCENE") for graph in graphs)
    copied = {uid for name in plan.copied.keys() & tagged for uid in plan.copied[name]}
    if may_be_rebuilt or _has_new_animation(plan, graphs):
        plan.look_at_animation()
    frame = scene.frame_current_final if is_frame_change else None
    rigs = set() if may_be_rebuilt else plan.foresight.concerned(tagged, is_frame_change)
    if not plan.has_same_names(tagged):
        return  # F-curves name bones by their new names, and the plan by those before.
    if plan.stale(rigs):
        rigs = set()
    elif not may_be_rebuilt:
        snapshot = None
        if rigs:
            snapshot = SnapshotAhead(plan, scene, rigs, copied, frame)
            _solve(snapshot, frame)
        _foreseen = plan, snapshot
    changed = _composed(plan, rigs, frame)
    for uid in changed | copied | (rigs if is_frame_change else set[int]()):
        write_ahead(plan.poses[uid])
    for uid in changed:
        plan.rigs[uid].object.update_tag(refresh={"OBJECT"})


def _has_new_animation(plan: Plan, graphs: Iterable[bpy.types.Depsgraph]) -> bool:
    """Return whether other channels may be animated than when this was looked at last."""
    return plan.has_new_drivers() or any(graph.id_type_updated("ACTION") for graph in graphs)


def graphs_of(*scenes: bpy.types.Scene) -> list[bpy.types.Depsgraph]:
    """Return the depsgraphs of the view layers of scenes."""
    layers = [layer for scene in scenes for layer in scene.view_layers]
    return [graph for graph in (layer.depsgraph for layer in layers) if graph]


def tagged_in(graphs: Iterable[bpy.types.Depsgraph]) -> set[str]:
    """Return the names of the data-blocks that are tagged for an evaluation.

    Nothing but names: what was removed is still among them, and to ask for the original of its copy
    would crash Blender.
    """
    return {cast(bpy.types.ID, update.id).name for graph in graphs for update in graph.updates}


def _composed(plan: Plan, rigs: set[int], frame: float | None) -> set[int]:
    """Put together what is to be written ahead of a frame or edit.

    Returns:
        The armatures of which that is anything else than last time.
    """
    changed = _compose_all(plan, rigs)
    if frame is None:
        return changed
    others = plan.rigs.keys() - plan.foresight.known
    return changed | {uid for uid in others if _recall(plan, uid, frame)}


def _compose_all(plan: Plan, rigs: Iterable[int]) -> set[int]:
    """Put together what is to be written of armatures; return those of which it is another now."""
    changed = set[int]()
    for uid in rigs:
        try:
            if compose(plan.poses[uid]):
                changed.add(uid)
        except ReferenceError:
            raise
        except Exception:
            say_once(f"could not pose “{plan.rigs[uid].object.name}”")
    return changed


def _recall(plan: Plan, uid: int, frame: float) -> bool:
    """Put together what was solved of an armature at a frame before.

    Returns:
        Whether it is anything else than what was written last.
    """
    pose = plan.poses[uid]
    is_still = not pose.is_animated and uid not in plan.timed
    if is_still or pose.fk_pose is None:
        return False
    units = [unit for unit in plan.units if unit.rig.uid == uid]
    if not pose.fk_pose.groups or not all(frame in unit.answers for unit in units):
        return False
    pose.start()
    for unit in units:
        pose.turn(unit.answers[frame])
    return compose(pose)


def evaluate(
    depsgraph: bpy.types.Depsgraph,
    is_frame_change: bool,
    is_rebuilt: bool,
    is_undo: bool,
    changed: Set[int] = frozenset(),
    has_company: bool = False,
) -> bool:
    """Pose all chains that an update of a depsgraph concerns; return whether there are any.

    Args:
        depsgraph: What was updated.
        is_frame_change: Whether its animation was evaluated for it.
        is_rebuilt: Whether it has new relations.
        is_undo: Whether it is the update of an undo or redo.
        changed: Armatures that Blender evaluates once more in any case, as it has been told of
            more that they depend on.
        has_company: Whether other handlers were called before, which may have changed something.
    """
    global _foreseen
    ahead, _foreseen = _foreseen, None
    look = _look(depsgraph, is_frame_change, changed)
    plan, held, changed = look.plan, look.held, look.changed
    freed, plan.freed = plan.freed, {}
    if not held and not freed:
        return False
    if freed:
        # Else chains would be solved from where bones stand that nothing poses any more.
        _evaluate_again(depsgraph, look, set(), held.keys() - freed.keys(), freed.values())
        look = look._replace(new=set(held))
    right = set[int]()
    if ahead is not None and ahead[0] is plan and not is_undo:
        right = _right(look, ahead[1], depsgraph, is_frame_change)
    if not (is_frame_change or is_undo):
        right |= _unconcerned(look, depsgraph, is_rebuilt)
    redone = {uid for uid in held if uid not in right for uid in plan.groups[uid]} & held.keys()
    _redo(look, redone, depsgraph, is_frame_change)
    again = {uid for uid in redone if not _is_shown(plan.poses[uid], held[uid])}
    again |= held.keys() & changed
    beside = set[int]()
    if changed:
        # Blender evaluates what is tagged for any view layer, or shares armature data with these.
        beside = held.keys() - again
    elif has_company:
        tagged = tagged_in([depsgraph])
        beside = {uid for uid in held.keys() - again if plan.rigs[uid].object.name in tagged}
    if again or beside:
        _evaluate_again(depsgraph, look, again, beside)
    for uid in held:
        write_reports(plan.poses[uid])
    plan.is_solved = True
    return True


def _right(
    look: _Look, ahead: SnapshotAhead | None, depsgraph: bpy.types.Depsgraph, is_frame_change: bool
) -> set[int]:
    """Return the armatures of which the one evaluation was all that is needed."""
    global misses
    right, foreseen = set[int](), set[int]()
    if ahead is not None and not look.has_new_curves:
        foreseen = look.held.keys() & ahead.rigs.keys()
        if ahead.agrees(depsgraph):
            right |= foreseen
        else:
            misses += 1
    if is_frame_change:  # Nothing that the others depend on has changed then.
        foresight = look.plan.foresight
        right |= look.held.keys() & (foresight.known - foresight.timed) - foreseen
    return {uid for uid in right if _is_shown(look.plan.poses[uid], look.held[uid])}


def _unconcerned(look: _Look, depsgraph: bpy.types.Depsgraph, is_rebuilt: bool) -> set[int]:
    """Return the armatures in an update that is about something else, if they show what they did.

    Blender lists all objects after new relations, and those of which bones are selected.
    """
    plan = look.plan
    may_be_other = is_rebuilt or depsgraph.id_type_updated("ARMATURE")
    if not (may_be_other and plan.is_solved) or look.has_new_curves:
        return set()
    changed = changed_in(depsgraph, is_rebuilt)
    concerned = look.new | look.changed | plan.driven | changed
    concerned |= _woken(plan, changed, depsgraph.id_type_updated("SCENE"))
    concerned = concerned.union(*[plan.sources[uid] for uid in plan.sources.keys() & changed])
    others = {uid for uid in look.held if concerned.isdisjoint(plan.groups[uid])}
    return {uid for uid in others if _is_as_before(plan.poses[uid], look.held[uid])}


def _redo(
    look: _Look, redone: set[int], depsgraph: bpy.types.Depsgraph, is_frame_change: bool
) -> None:
    """Solve armatures from what was evaluated, and put together what is to be written of them."""
    global misses
    plan, scene = look.plan, cast(bpy.types.Scene, depsgraph.scene)
    frame = scene.frame_current_final if is_frame_change else None
    touched = _touched(look, depsgraph) if redone else set[int]()
    known = redone & plan.foresight.known
    if known:
        ahead = frame if look.is_foreign else None
        snapshot = SnapshotAhead(plan, scene, known, touched, ahead, depsgraph)
        _solve(snapshot, frame)
        if not snapshot.agrees(depsgraph):
            misses += 1
            known = set[int]()
    others = {uid: look.held[uid] for uid in redone - known}
    if others:
        touched |= plan.foresight.known
        has_foreign_animation = look.is_foreign and is_frame_change
        _solve(SceneSnapshot(plan, depsgraph, others, touched, has_foreign_animation), frame)
    _compose_all(plan, redone)


def _solve(snapshot: SceneSnapshot, frame: float | None) -> None:
    for unit in snapshot.plan.units:
        if unit.rig.uid in snapshot.rigs:
            _pose(snapshot, unit, frame)


def _is_shown(pose: Pose, evaluated: bpy.types.Object) -> bool:
    """Return whether an evaluated copy holds what was put together of an armature."""
    if pose.fk_pose is None:
        return True
    return pose.fk_pose.is_shown(Evaluated(evaluated, pose.rows).channels)


def _is_as_before(pose: Pose, evaluated: bpy.types.Object) -> bool:
    """Return the same of one of which nothing but settings that are driven may have changed."""
    return _is_shown(pose, evaluated) and pose.has_settings_of(Evaluated(evaluated))


TRIES = 2
"""How often solutions are evaluated at most. After undo, and where a script sets the frame, Blender
plays the animation once more in the first of them, and what it keys is as before."""


def _evaluate_again(
    depsgraph: bpy.types.Depsgraph,
    look: _Look,
    again: set[int],
    beside: set[int],
    freed: Iterable[bpy.types.Object] = (),
) -> None:
    """Have solutions evaluated that Blender did not evaluate yet.

    In a render Blender does so by itself after the handlers. To do it here would hide from the
    renderer what has changed; and what is written is taken back by the next handler.

    Args:
        depsgraph: What was updated.
        look: What the update concerns.
        again: The armatures that have to be evaluated.
        beside: Those that may be, for what others have tagged or what armatures now depend on.
        freed: Those of which no chain poses some bones any more.
    """
    freed = [armature for armature in freed if _is_there(armature) and not is_edited(armature)]
    for armature in freed:
        armature.update_tag(refresh={"OBJECT"})
    poses = look.plan.poses
    if depsgraph.mode == "RENDER":
        _write_again(look, again)
        return
    may_be_rebuilt = depsgraph.id_type_updated("SCENE")
    if may_be_rebuilt:
        # Up to 4.5 Blender crashes later without, for want of the bases of the view layer.
        cast(Any, depsgraph.scene).original.update_tag()
    # Other animation than what the file's channels hold may be brought there, or played.
    is_other = look.is_foreign or may_be_rebuilt
    kept: list[Kept] = []
    if is_other:
        rigs = [*(look.plan.rigs[uid] for uid in again | beside), *map(skeleton_of, freed)]
        kept = [Kept(rig) for rig in rigs]
    for uid in beside:
        write_pose(poses[uid], is_quiet=True)
    try:
        for _ in range(TRIES):
            _write_again(look, again)
            try:
                with _alone():
                    depsgraph.update()
            finally:
                take_back(has_new_bones=may_be_rebuilt)
            # Nothing but animation could have set anything else meanwhile.
            again = {uid for uid in again if (fk := poses[uid].fk_pose) and fk.animated}
            again = {uid for uid in again if not _is_shown(poses[uid], look.held[uid])}
            if not again:
                break
    finally:
        for one in kept:
            one.give_back()


def _is_there(armature: bpy.types.Object) -> bool:
    try:
        return armature.pose is not None
    except ReferenceError:  # It was removed.
        return False


def _write_again(look: _Look, again: Iterable[int]) -> None:
    for uid in again:
        pose = look.plan.poses[uid]
        if look.is_foreign:
            bring_over(look.held[uid], pose.rig.object)
        write_pose(pose)
        # The object's own data is not tagged: it would be copied and evaluated once more.
        pose.rig.object.update_tag(refresh={"OBJECT"})


@contextmanager
def _alone() -> Iterator[None]:
    """Have no handler called meanwhile, as where Blender evaluates what a handler has changed."""
    before: list[Any] = bpy.app.handlers.depsgraph_update_pre
    after: list[Any] = bpy.app.handlers.depsgraph_update_post
    kept = before[:], after[:]
    before.clear()
    after.clear()
    try:
        yield
    finally:
        before[:], after[:] = kept


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
    rigs = _held(plan, depsgraph, set[int]().union(*groups))
    snapshot = SceneSnapshot(plan, depsgraph, rigs, rigs)
    _solve(snapshot, None)
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
    rigs = _held(plan, depsgraph, plan.groups[session_uid(armature)])
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


_seen: dict[tuple[int, str], set[int]] = {}
"""For each view layer the armatures that were solved for it, or are none of its."""


@forgets
def forget_seen() -> None:
    """Solve all armatures once more in each view layer."""
    _seen.clear()


class _Look(NamedTuple):
    """What an update concerns.

    Attributes:
        plan: What hangs on what.
        held: The armatures to look at, as evaluated.
        new: Those that this view layer has not shown yet, or whose list a script has changed.
        changed: Those that Blender evaluates once more in any case.
        is_foreign: Whether Blender does not flush the depsgraph's animation to the file's data.
        has_new_curves: Whether F-curves may have been edited.
    """

    plan: Plan
    held: dict[int, bpy.types.Object]
    new: set[int]
    changed: Set[int]
    is_foreign: bool
    has_new_curves: bool


def _look(depsgraph: bpy.types.Depsgraph, is_frame_change: bool, changed: Set[int]) -> _Look:
    """Look at the armatures to solve: at those that an update concerns.

    It concerns those that are in it, that depend on something in it, or on the time if that moves,
    or that this view layer has not shown yet; and all that are solved with them. If Blender has
    been told of other dependencies, it concerns all.
    """
    plan = current()
    updates = depsgraph.updates
    if is_frame_change and len(updates) > len(plan.units) and depsgraph.mode != "RENDER":
        # It is cheaper to look at all armatures than to ask which of them Blender evaluated.
        updated = set(plan.rigs)
    else:
        updated = {session_uid(update.id) for update in updates}
    new = plan.stale(plan.rigs if is_frame_change else plan.rigs.keys() & updated)
    if new:
        discard()
        plan = current()
        updated = {session_uid(update.id) for update in updates}  # It may know other armatures.
        changed = changed | take_followed()
    if not is_frame_change:
        new |= _take_unseen(depsgraph)
    rigs: set[int] = set()
    # The scene has the gravity and the frame rate.
    is_timed = is_frame_change or session_uid(depsgraph.scene) in updated
    concerned = updated | new | _woken(plan, updated, is_timed)
    if changed:
        # Blender builds its relations anew, and may evaluate any of them for it.
        concerned |= plan.rigs.keys()
    for uid in plan.rigs.keys() & concerned:
        rigs |= plan.groups[uid]
    held = _held(plan, depsgraph, rigs)
    is_foreign = _is_foreign(depsgraph)
    has_new_curves = not is_frame_change and depsgraph.id_type_updated("ACTION")
    return _Look(plan, held, new, changed, is_foreign, has_new_curves)


def _touched(look: _Look, depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the armatures that may differ in themselves from when they were looked at last."""
    updates = depsgraph.updates
    changed = [False] * len(updates)
    updates.foreach_get("is_updated_geometry", changed)
    found = set(look.new)
    if any(changed):
        pairs = zip(updates, changed, strict=True)
        found |= {session_uid(update.id) for update, is_changed in pairs if is_changed}
    poses = look.plan.poses
    return found | {uid for uid in look.held if look.is_foreign or poses[uid].is_animated}


def _woken(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that the time wakes up, if it does, or anything that they watch."""
    found = set(plan.timed) if is_timed else set[int]()
    return found.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures of a view layer that were not solved for it yet, as far as is known.

    Blender calls no handler at the first update of a view layer.
    """
    plan = known()
    if plan is None:
        return set()
    seen = _seen.setdefault((session_uid(scene), layer.name), set())
    new = plan.rigs.keys() - seen
    found = {uid for uid in new if plan.rigs[uid].object.name in layer.objects}
    seen |= new - found
    return found


def _take_unseen(depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the `unseen` armatures of a depsgraph's view layer, from now on none of them."""
    scene, layer = depsgraph.scene, depsgraph.view_layer
    if depsgraph.mode == "RENDER" or scene is None or layer is None:
        return set()
    found = unseen(scene, layer)
    _seen.setdefault((session_uid(scene), layer.name), set()).update(found)
    return found


def _held(
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


def _is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the file's data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph
