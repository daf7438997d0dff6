"""One update: read → solve → write.

Ahead of an evaluation by Blender, what is worth it is solved from channels, so that one evaluation
is enough. After it, whatever does not show the right pose is solved, and evaluated again. The
handlers restore the FK pose before and after both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.animated_values import flush_to_original
from ..blender.errors import report_once
from ..blender.session import part
from ..blender.skeleton import skeleton_of
from ..blender.updates import Updates, changed_in, geometry_in, tagged_in
from ..plan import planner
from ..plan.plan import Plan
from .armature import Evaluated
from .early import Coming, Early, chosen, compose_cached, write_early
from .read import ChannelSnapshot, EvaluatedSnapshot, Played, SceneSnapshot
from .shown import measure_shown
from .solved_scene import SolvedScene
from .solving import Runs, evaluated_copies
from .write import SavedPose, on_report, write_reports


def update(runs: Runs, scene: SceneSnapshot, frame: float | None) -> tuple[SolvedScene, set[int]]:
    """Solve the armatures that were read, and compose what is written of them.

    Returns:
        The solved scene, and the armatures whose channel values differ from the last ones.
    """
    solved = runs.solve(scene, frame)
    changed: set[int] = set()
    for uid in solved.rigs:
        writer = runs.writers[uid]
        try:
            if writer.compose(solved.poses[uid]):
                changed.add(uid)
        except ReferenceError:
            raise
        except Exception:
            report_once(f"could not pose “{writer.rig.object.name}”")
    return solved, changed


def before_evaluation(runs: Runs, early: Early, coming: Coming) -> None:
    """Solve what the coming evaluation affects, as far as it is known already, and write it.

    Args:
        runs: What is kept from update to update.
        early: What is done, to be verified after the evaluation.
        coming: The evaluation.
    """
    plan = coming.plan
    early.differing.clear()
    early.written = set()
    if not (coming.tagged or coming.may_be_rebuilt or plan.lookahead.is_early):
        early.plan = plan  # All was tried, as there is nothing to try.
        return
    copied: set[int] = set()
    if coming.tagged:
        copied = plan.copied_with(coming.tagged)
        early.note_differing(coming, copied)
        if not plan.has_same_names(coming.tagged):
            return  # F-curves already use the new bone names, the plan the old ones.
    choice = chosen(runs, early, coming)
    foreseen: set[int] = set()
    changed: set[int] = set()
    played: set[int] = set()
    if choice.is_tried:
        early.plan = plan
    if choice.snapshot is not None:
        early.solved, changed = update(runs, choice.snapshot, coming.frame)
        foreseen = {*early.solved.rigs}
        played = set() if coming.frame is None else {*foreseen}
    if coming.frame is not None and choice.unknown:
        cached = compose_cached(runs, choice.unknown, coming.frame, bool(coming.tagged))
        changed |= {uid for uid, is_new in cached.items() if is_new}
        played |= cached.keys() & plan.lookahead.replaced.keys()
        foreseen |= cached.keys()
    early.written = changed | copied | played
    for uid in early.written - plan.lookahead.mode_animated:
        write_early(runs, uid, uid in foreseen, coming)
    for uid in changed:
        plan.rigs[uid].object.update_tag(refresh={"OBJECT"})


def after_evaluation(runs: Runs, early: Early, done: Update) -> bool:
    """Pose all armatures that an evaluation affects; return whether there are any.

    Results that were solved ahead and are still valid are kept. All others are read, solved and
    written, and Blender evaluates them again.

    Args:
        runs: What is kept from update to update.
        early: What was done ahead of the evaluation.
        done: The evaluation.
    """
    if not done.is_played:
        runs.played = Played()
    affected = affected_by(runs, done)
    was_tried, solved = early.plan is runs.plan, early.solved
    early.plan = early.solved = None
    # They may now show the pose of another depsgraph.
    differing = early.differing.pop(done.depsgraph, set()) & affected.evaluated.keys()
    released, runs.planner.released = runs.planner.released, {}
    if not affected.evaluated and not released:
        return False
    if released:
        # Other chains would be solved from bones that still show a pose that is gone.
        others = affected.evaluated.keys() - released.keys()
        _evaluate_again(affected, set(), others, released.values())
        # That has cleared the list of updates.
        done = done._replace(updates=Updates(done.depsgraph))
        affected = affected._replace(update=done, new=set(affected.evaluated))
    may_differ = done.is_undo or done.has_others or not was_tried
    right = set() if may_differ else _confirmed(affected, solved)
    wrong = _wrong(affected, right, differing)
    changed: set[int] = _read_and_solve(affected, wrong) if wrong else set()
    # What differs from the last pose is not shown yet, unless it was written ahead.
    sure = changed - early.written
    again = sure | {uid for uid in wrong - sure if not affected.is_shown(uid)}
    again |= (affected.evaluated.keys() & done.redeclared) | differing
    # Blender evaluates what is tagged for any view layer, or shares armature data with these.
    others = affected.evaluated.keys() - again if done.redeclared else set()
    if again or others:
        _evaluate_again(affected, again, others)
    if runs.disturbed and done.depsgraph.mode != "RENDER":
        measure_shown(runs, done.depsgraph, affected.evaluated.keys())
    has_news = any([write_reports(runs.writers[uid]) for uid in affected.evaluated])
    # At another frame Blender redraws panels itself. Renders may run in another thread.
    if has_news and done.frame is None and done.depsgraph.mode == "VIEWPORT":
        on_report.notify()
    runs.is_solved = True
    if done.is_played and done.frame is not None:
        runs.played.frames.add(done.frame)
    return True


def _wrong(affected: Affected, right: set[int], differing: set[int]) -> set[int]:
    """Return the armatures that may show a wrong pose, with all that are solved with them.

    Args:
        affected: The affected armatures.
        right: Those of them that are known to show the right one.
        differing: Those that may show that of another depsgraph.
    """
    done, groups = affected.update, affected.runs.plan.groups
    if done.frame is None and not done.is_undo:
        right = right | affected.unchanged()
    wrong = (affected.evaluated.keys() - right) | differing
    if len(wrong) == len(affected.evaluated):
        return wrong
    return {uid for rig in wrong for uid in groups[rig]} & affected.evaluated.keys()


def _confirmed(affected: Affected, early: SolvedScene | None) -> set[int]:
    """Return the armatures that show what was solved ahead, and were evaluated as foreseen."""
    evaluated, lookahead = affected.evaluated.keys(), affected.runs.plan.lookahead
    right: set[int] = set()
    foreseen: set[int] = set()
    if early is not None and not affected.update.has_new_curves:
        foreseen = evaluated & early.rigs.keys()
        scene, depsgraph = early.snapshot, affected.update.depsgraph
        if scene.came_true(depsgraph, early.worlds):
            right |= foreseen
    if affected.update.frame is not None:  # No input of the others has changed then.
        right |= evaluated & lookahead.still - foreseen
    return {uid for uid in right if affected.is_shown(uid)}


def _read_and_solve(affected: Affected, rigs: set[int]) -> set[int]:
    """Read and solve armatures; return those whose channel values differ from the last ones.

    Those that follow from channels are read from them, as ahead of an evaluation, so that the
    result is the same bit for bit. If the evaluation differs from that, they are read from it like
    the others.
    """
    done, runs, plan = affected.update, affected.runs, affected.runs.plan
    touched = affected.touched()
    known = rigs & plan.lookahead.known
    changed: set[int] = set()
    if known:
        scene = _channels(affected, known, touched)
        solved, changed = update(runs, scene, done.frame)
        if not scene.came_true(done.depsgraph, solved.worlds):
            known = set()
    others = rigs - known
    if others:
        touched |= plan.lookahead.known
        _, more = update(runs, _evaluated(affected, others, touched), done.frame)
        changed |= more
    return changed


def _channels(affected: Affected, rigs: set[int], touched: set[int]) -> ChannelSnapshot:
    """Read armatures from the original data."""
    runs, done = affected.runs, affected.update
    frame = done.frame if done.is_foreign else None
    depsgraph: Any = done.depsgraph
    scene = depsgraph.scene
    played = runs.played if done.is_played else None
    return ChannelSnapshot(
        runs.plan, runs.readers, scene, rigs, touched, frame, depsgraph, played=played
    )


def _evaluated(affected: Affected, rigs: set[int], touched: set[int]) -> EvaluatedSnapshot:
    """Read armatures from the evaluated data."""
    runs, done = affected.runs, affected.update
    return EvaluatedSnapshot(
        runs.plan,
        runs.readers,
        done.depsgraph,
        {uid: affected.evaluated[uid] for uid in rigs},
        touched,
        done.is_foreign and done.frame is not None,
        runs.played if done.is_played else None,
    )


TRIES = 2
"""Maximum number of evaluations. After undo, and where a script sets the frame, Blender evaluates
the animation again in the first one, which resets animated channels."""


def _evaluate_again(
    affected: Affected,
    again: Set[int],
    others: Set[int] = frozenset(),
    released: Iterable[bpy.types.Object] = (),
) -> None:
    """Write results and have Blender evaluate them.

    In a render Blender does so by itself after the handlers; doing it here would hide the changes
    from the renderer. The next handler restores the FK pose.

    Args:
        affected: What the update affects.
        again: The armatures that have to be evaluated.
        others: Those that may be evaluated as well.
        released: Those with bones that no chain poses any more.
    """
    released = [armature for armature in released if _exists(armature) and not is_edited(armature)]
    for armature in released:
        armature.update_tag(refresh={"OBJECT"})
    runs, depsgraph = affected.runs, affected.update.depsgraph
    if depsgraph.mode == "RENDER":
        _write(affected, again)
        return
    may_be_rebuilt = depsgraph.id_type_updated("SCENE")
    if may_be_rebuilt:
        # Without this, Blender up to 4.5 crashes later, because the view layer lacks its bases.
        cast(Any, depsgraph.scene).original.update_tag()
    kept: list[SavedPose] = []
    # The channels may get animation from another depsgraph, or from another frame.
    if affected.update.is_foreign or may_be_rebuilt:
        moving = (again | others) & runs.plan.animated
        rigs = [*(runs.plan.rigs[uid] for uid in moving), *map(skeleton_of, released)]
        kept = [SavedPose(rig) for rig in rigs]
    for uid in others:
        runs.overwritten.write(runs.writers[uid], is_quiet=True)
    animated = runs.plan.lookahead.animated
    try:
        for _ in range(TRIES):
            _write(affected, again)
            try:
                _update_quietly(depsgraph, [_note_changes] if runs.meshes.tokens else [])
            finally:
                # Taking flushed values back would tag the armature: Blender would copy it once
                # more after this handler. The next one does.
                runs.overwritten.restore_channels(has_new_bones=may_be_rebuilt)
            # Only animation can have changed the channels meanwhile.
            written = again | others
            again = {uid for uid in written if animated[uid] and not affected.is_shown(uid)}
            if not again:
                break
    finally:
        for pose in kept:
            pose.restore()


def _exists(armature: bpy.types.Object) -> bool:
    try:
        return armature.pose is not None
    except ReferenceError:  # It was removed.
        return False


def _write(affected: Affected, rigs: Iterable[int]) -> None:
    overwritten = affected.runs.overwritten
    for uid in rigs:
        writer = affected.runs.writers[uid]
        if affected.update.is_foreign:
            flushed = flush_to_original(affected.evaluated[uid], writer.rig.object)
            overwritten.keep_flushed(writer.rig, flushed)
        overwritten.write(writer)
        # The object's own data is not tagged: it would be copied and evaluated once more.
        writer.rig.object.update_tag(refresh={"OBJECT"})


def after_edits_of_others(
    runs: Runs, depsgraph: bpy.types.Depsgraph, follow: Callable[[], None]
) -> None:
    """Evaluate what handlers of others have edited, as Blender would after ours, and follow then.

    Args:
        runs: What is kept from update to update.
        depsgraph: The evaluated depsgraph, not that of a render.
        follow: What reads it, and must not raise. It finds the updates of both evaluations.
    """
    tagged, overwritten = tagged_in([depsgraph]), runs.overwritten
    objects = [(rig, rig.object) for rig in runs.plan.rigs.values()]
    rigs = [rig for rig, ob in objects if _exists(ob) and ob.name in tagged]
    kept = [SavedPose(rig) for rig in rigs] if is_foreign(depsgraph) else []
    for rig in rigs:  # They may show the right pose.
        overwritten.write(runs.writers[rig.uid], is_quiet=True)

    def restore_and_follow(*_unused: object) -> None:
        overwritten.restore_channels(has_new_bones=depsgraph.id_type_updated("SCENE"))
        for pose in kept:
            pose.restore()
        follow()

    _update_quietly(depsgraph, [restore_and_follow])


def _update_quietly(depsgraph: bpy.types.Depsgraph, handlers: list[Callable[..., None]]) -> None:
    """Evaluate with other update handlers, as Blender does without any what handlers have changed.

    They see what is evaluated: the updates are not listed any more afterwards.
    """
    before: list[Any] = bpy.app.handlers.depsgraph_update_pre
    after: list[Any] = bpy.app.handlers.depsgraph_update_post
    kept = before[:], after[:]
    before.clear()
    after[:] = handlers
    try:
        depsgraph.update()
    finally:
        before[:], after[:] = kept


def _note_changes(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    part(Runs).meshes.note_changes(Updates(depsgraph))


# Which armatures an evaluation affects.


class Update(NamedTuple):
    """An evaluation by Blender.

    Attributes:
        depsgraph: The evaluated depsgraph.
        updates: What it has updated.
        frame: The new frame, if its animation was evaluated; else None.
        is_played: Whether it was evaluated for nothing else: no data-block was edited.
        is_rebuilt: Whether its relations were rebuilt.
        is_undo: Whether it follows an undo or redo.
        is_foreign: Whether Blender does not flush its animation to the original data.
        has_new_curves: Whether F-curves may have been edited.
        redeclared: Armatures whose dependencies were just declared, so that Blender evaluates them
            again in any case.
        has_others: Whether handlers of others ran before, which may have set anything.
    """

    depsgraph: bpy.types.Depsgraph
    updates: Updates
    frame: float | None
    is_played: bool
    is_rebuilt: bool
    is_undo: bool
    is_foreign: bool
    has_new_curves: bool
    redeclared: Set[int] = frozenset()
    has_others: bool = False


class Affected(NamedTuple):
    """The armatures that an update affects.

    Attributes:
        update: The update.
        runs: What is kept of them.
        evaluated: The affected armatures, evaluated.
        new: Those that this view layer has not shown yet, or whose lists a script changed.
    """

    update: Update
    runs: Runs
    evaluated: dict[int, bpy.types.Object]
    new: set[int]

    def is_shown(self, uid: int) -> bool:
        """Return whether an evaluated armature has the composed channel values."""
        writer = self.runs.writers[uid]
        if not writer.poses_any:
            return True
        return writer.is_shown(Evaluated(self.evaluated[uid], writer.rows).channels)

    def touched(self) -> set[int]:
        """Return those whose own channels or settings may have changed; see also `Varying`."""
        found = set(self.new)
        if not self.update.is_played:
            found |= geometry_in(self.update.updates) | self.runs.plan.animated
        return found | self.evaluated.keys() if self.update.is_foreign else found

    def unchanged(self) -> set[int]:
        """Return those of which an edit changed no input, so that they show the right pose.

        Blender lists all objects after rebuilding relations, and armatures whose selection changed.
        """
        update, runs = self.update, self.runs
        plan, depsgraph = runs.plan, update.depsgraph
        may_be_other = update.is_rebuilt or depsgraph.id_type_updated("ARMATURE")
        if not (may_be_other and runs.is_solved) or update.has_new_curves:
            return set()
        changed = changed_in(update.updates, update.is_rebuilt)
        affected = self.new | update.redeclared | plan.driven | changed
        affected |= _depending(plan, changed, depsgraph.id_type_updated("SCENE"))
        affected = affected.union(*[plan.sources[uid] for uid in plan.sources.keys() & changed])
        others = {uid for uid in self.evaluated if affected.isdisjoint(plan.groups[uid])}
        return {uid for uid in others if self.is_shown(uid) and self._has_known_settings(uid)}

    def _has_known_settings(self, uid: int) -> bool:
        """Return whether the settings are those that were read last; they may be driven."""
        return self.runs.readers[uid].has_settings_of(Evaluated(self.evaluated[uid]))


def affected_by(runs: Runs, update: Update) -> Affected:
    """Return the armatures that an update affects.

    These are the updated ones, those that depend on something updated or on the frame, and those
    that this view layer has not shown yet, each with all that are solved with it. If dependencies
    changed, all armatures are affected.
    """
    depsgraph, redeclared = update.depsgraph, update.redeclared
    is_frame_change = update.frame is not None
    plan = runs.follow()
    is_every = update.is_played and plan.lookahead.is_timed
    if is_every and not runs.planner.with_changed_lists(plan.rigs):
        return Affected(update, runs, runs.played_copies(depsgraph), set())
    is_shown = is_frame_change and depsgraph.mode != "RENDER"
    # Checking all armatures is cheaper than walking more updates than there are units.
    updated = _updated(update, len(plan.units) if is_shown else None)
    # Gravity and frame rate are settings of the scene.
    is_timed = is_frame_change or session_uid(depsgraph.scene) in (updated or ())
    every = set(plan.rigs)
    affected = every if updated is None else updated | _depending(plan, updated, is_timed)
    unseen: set[int] = set() if is_frame_change else _take_unseen(depsgraph)
    # Scripts change lists without a notification, so all that will be solved is checked.
    is_all = is_frame_change or redeclared
    asked = plan.rigs.keys() if is_all else _solved_with(plan, affected | unseen)
    new = runs.planner.with_changed_lists(asked)
    if new:
        runs.planner.discard()
        plan = runs.follow()
        # The new plan may have other armatures.
        updated = _updated(update) or set()
        affected = updated | _depending(plan, updated, is_timed)
        unseen |= set() if is_frame_change else _take_unseen(depsgraph)
    new |= unseen
    affected |= new
    if redeclared:
        # Blender rebuilds its relations, and may evaluate any armature for that.
        affected |= plan.rigs.keys()
    is_every = affected >= plan.rigs.keys()
    rigs = set(plan.rigs) if is_every else _solved_with(plan, affected)
    return Affected(update, runs, evaluated_copies(plan, depsgraph, rigs), new)


def _updated(update: Update, most: int | None = None) -> set[int] | None:
    """Return the `session_uid`s of the updated data-blocks; None if there are too many.

    Args:
        update: The update.
        most: The largest number to list; None for all.
    """
    if most is not None and update.updates.are_more_than(most):
        return None
    return {block.session_uid for block in update.updates.blocks}


def _solved_with(plan: Plan, affected: Set[int]) -> set[int]:
    """Return the armatures among some data-blocks, each with all that are solved with it."""
    return {uid for rig in plan.rigs.keys() & affected for uid in plan.groups[rig]}


def _depending(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that depend on the frame, if it changed, or on updated objects."""
    found: set[int] = set(plan.timed) if is_timed else set()
    return found.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


class SeenArmatures(dict[tuple[int, str], set[int]]):
    """By view layer of the session, the armatures that were solved for it or are not in it."""


def forget_removed_layers() -> None:
    """Forget view layers that were removed: another one of that name has shown nothing yet."""
    seen = part(SeenArmatures)
    present = {
        (session_uid(scene), layer.name) for scene in bpy.data.scenes for layer in scene.view_layers
    }
    for layer in seen.keys() - present:
        del seen[layer]


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures of a view layer that were not solved for it yet.

    Blender calls no handler at the first update of a view layer.
    """
    plan = planner.known()
    if plan is None:
        return set()
    seen = part(SeenArmatures).setdefault((session_uid(scene), layer.name), set())
    new = plan.rigs.keys() - seen
    names = {*layer.objects.keys()} if new else ()  # Blender looks each name up among all.
    found = {uid for uid in new if plan.rigs[uid].object.name in names}
    seen |= new - found
    return found


def _take_unseen(depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the `unseen` armatures of a depsgraph's view layer, and mark them as seen."""
    scene, layer = depsgraph.scene, depsgraph.view_layer
    if depsgraph.mode == "RENDER" or scene is None or layer is None:
        return set()
    found = unseen(scene, layer)
    part(SeenArmatures).setdefault((session_uid(scene), layer.name), set()).update(found)
    return found


def is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the original data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph
