"""One update: read → solve → write.

Before Blender evaluates, armatures are solved from channels if that pays off, so one evaluation is
enough. Afterward, armatures with a wrong pose are solved, and evaluated again. The handlers restore
the FK pose before and after both evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import is_edited, is_there, session_uid
from ..blender.animated_values import flush_to_original
from ..blender.errors import report_once
from ..blender.rotation import PoseChannels
from ..blender.session import part
from ..blender.skeleton import skeleton_of
from ..blender.updates import Updates, changed_in, geometry_in, is_foreign, tagged_in
from ..plan import planner
from ..plan.plan import Plan
from ..plan.planner import Planner
from .armature import Evaluated
from .early import Coming, Early, chosen, compose_cached, write_early
from .following import values_at
from .read import ChannelSnapshot, EvaluatedSnapshot, Played, SceneSnapshot
from .replay import ShownFrame, digest_of
from .shown import measure_shown
from .solved_scene import SolvedScene
from .solving import Runs, evaluated_copies
from .write import ChannelBuffer, SavedPose, on_report, write_reports


def update(
    runs: Runs, scene: SceneSnapshot, frame: float | None, is_edit: bool
) -> tuple[SolvedScene, dict[int, bool]]:
    """Solve the armatures of a snapshot, and compose their channel values.

    Args:
        runs: The session's runs.
        scene: The snapshot.
        frame: The new frame; None if the frame did not change.
        is_edit: Whether this is the viewport after an edit.

    Returns:
        The solved scene, and by armature whether its channel values changed.
    """
    solved = runs.solve(scene, frame, is_edit)
    composed: dict[int, bool] = {}
    for uid in solved.rigs:
        writer = runs.writers[uid]
        try:
            composed[uid] = writer.compose(solved.poses[uid])
        except ReferenceError:
            raise
        except Exception:
            report_once(f"could not pose “{writer.rig.object.name}”")
    return solved, composed


def before_evaluation(runs: Runs, early: Early, coming: Coming) -> None:
    """Solve and write armatures that an evaluation affects, if their inputs are certain.

    Args:
        runs: The session's runs.
        early: Records the result, to be verified after the evaluation.
        coming: The evaluation.
    """
    plan, frame = coming.plan, coming.frame
    early.differing.clear()
    early.written, early.solved = set(), None
    if not (coming.tagged or coming.may_be_rebuilt or plan.lookahead.is_early):
        early.plan = plan  # Nothing to try counts as tried.
        return
    copied: set[int] = set()
    if coming.is_undone:
        copied = {*plan.rigs}
    elif coming.tagged:
        copied = {uid for name in plan.copied.keys() & coming.tagged for uid in plan.copied[name]}
        if copied:
            early.note_differing(coming, copied)
        if coming.tagged & plan.read.keys() and not plan.has_same_names(coming.tagged):
            return  # F-curves already use the new bone names, the plan still the old ones.
    choice = chosen(runs, early, coming, copied)
    composed: dict[int, bool] = {}
    if choice.is_tried:
        early.plan = plan
    if choice.snapshot is not None:
        early.solved, composed = update(runs, choice.snapshot, frame, frame is None)
    if frame is not None and choice.unknown:
        composed |= compose_cached(runs, choice.unknown, frame, bool(coming.tagged))
    # All others still show what is composed.
    played = () if frame is None else plan.lookahead.replaced
    early.written = copied.union(
        [uid for uid, is_new in composed.items() if is_new or uid in played]
    )
    for uid in early.written:
        write_early(runs, early, uid, composed.get(uid), coming)


def after_evaluation(runs: Runs, early: Early, done: Update) -> bool:
    """Pose all armatures that an evaluation affects; return whether any was.

    Results solved ahead are kept if still valid. All others are read, solved and written, and
    Blender evaluates them again.

    Args:
        runs: The session's runs.
        early: The results solved ahead of the evaluation.
        done: The evaluation.
    """
    if not done.is_played:
        runs.played = Played()
    affected = affected_by(runs, early, done)
    solved, was_tried = early.solved, early.plan is runs.plan and not done.has_others
    early.plan, early.solved = None, None
    # They may now show the pose of another depsgraph.
    foreign = early.differing.pop(done.depsgraph, set()) & affected.evaluated.keys()
    released, runs.planner.released = runs.planner.released, {}
    if not affected.evaluated and not released:
        return False
    if released:
        # Otherwise chains would be solved from bones that still show an outdated pose.
        unaffected = affected.evaluated.keys() - released.keys()
        _evaluate_again(affected, set(), unaffected, released.values())
        early.followed = None
        # This cleared the list of updates.
        done = done._replace(updates=Updates(done.depsgraph))
        affected = affected._replace(update=done, new=set(affected.evaluated))
    driven = done.driven.keys() & affected.evaluated.keys()
    shown = _verified(affected, solved) if was_tried else set()
    replayed: set[int] = set()
    if was_tried and done.frame in runs.played.shown:
        replayed = _replayed(affected, done.frame) - driven
    for uid in driven:
        runs.readers[uid].forget()
        runs.played.rigs[uid].followers = None
        early.driving[uid] = done.driven[uid]
    stale = affected.evaluated.keys() - shown - replayed
    if stale and done.frame is None:
        stale -= affected.untouched() if done.is_undo else affected.unchanged()
    stale |= driven | foreign
    again = (affected.evaluated.keys() & done.redeclared) | foreign
    if stale:
        again |= _solved_again(affected, stale, early.written)
    # Blender evaluates armatures tagged for any view layer, and those sharing their data.
    unaffected = affected.evaluated.keys() - again if done.redeclared else set()
    if again or unaffected:
        _evaluate_again(affected, again, unaffected)
        early.followed = None
    if runs.disturbed and done.depsgraph.mode != "RENDER":
        measure_shown(runs, done.depsgraph, affected.evaluated.keys())
    has_news = any([write_reports(runs.writers[uid]) for uid in affected.evaluated])
    # On a frame change Blender redraws panels itself. Renders may run in another thread.
    if has_news and done.frame is None and done.depsgraph.mode == "VIEWPORT":
        on_report.notify()
    runs.is_solved = True
    if done.is_played and done.frame is not None:
        runs.played.frames.add(done.frame)
        if runs.plan.lookahead.visited:
            _note_shown(affected, done.frame, replayed)
    return True


def follow_drivers(
    plan_of: Planner, early: Early, depsgraph: bpy.types.Depsgraph, is_played: bool
) -> dict[int, list[object]]:
    """Return the armatures with settings that drivers have changed unexpectedly, and the values.

    The plan is discarded if animation or a driver switched a native constraint or a rotation mode.

    Args:
        plan_of: The planner.
        early: What was noted at earlier evaluations.
        depsgraph: The evaluated depsgraph.
        is_played: Whether only the frame changed, so that properties that nothing animates have
            their values of its last evaluation, unless Blender copied their objects.
    """
    changed: dict[int, list[object]] = {}
    plan = plan_of.plan
    if plan is None:
        return changed
    lookahead = plan.lookahead
    if not (lookahead.driving or lookahead.unsettled or plan.switched):
        return changed
    current = lookahead, depsgraph
    steady = lookahead.steady if is_played and early.followed == current else ()
    for uid in lookahead.driving.keys() - steady:
        values: list[object] = []
        for block, paths in lookahead.driving[uid].items():
            values += values_at(block.evaluated_get(depsgraph), paths)
        if values != early.driving.get(uid):
            changed[uid] = values
    early.followed = None if changed else current
    animated = lookahead.switched if changed else lookahead.unsettled
    if (animated or plan.switched) and plan.has_switched(animated=animated):
        plan_of.discard(skeletons=True)
    return changed


def _verified(affected: Affected, solved: SolvedScene | None) -> set[int]:
    """Return the armatures that show the pose solved ahead, from confirmed inputs."""
    evaluated, update = affected.evaluated.keys(), affected.update
    still = affected.runs.plan.lookahead.still
    shown: set[int] = set()
    foreseen: set[int] = set()
    if solved is not None and not update.has_new_curves:
        foreseen = evaluated & solved.rigs.keys()
        if solved.snapshot.came_true(update.depsgraph, solved.worlds, solved.frames):
            # Undo may also evaluate animation.
            shown = foreseen & still if update.is_undo else foreseen
    if update.frame is not None:  # A frame change doesn't affect the inputs of these.
        shown = shown | evaluated & still - foreseen
    return {uid for uid in shown if affected.is_shown(uid)}


def _solved_again(affected: Affected, stale: set[int], written: Set[int]) -> set[int]:
    """Solve armatures after an evaluation; return those that don't show the result.

    Args:
        affected: The affected armatures.
        stale: Those that may show a wrong pose. All that are solved with them are added.
        written: Those whose result was written ahead, so that it may be shown although it is new.
    """
    if len(stale) < len(affected.evaluated):
        stale = _solved_with(affected.runs.plan, stale) & affected.evaluated.keys()
    composed = _read_and_solve(affected, stale)
    # A new result that wasn't written can't be shown.
    ahead = {uid for uid in stale if uid in written or not composed.get(uid)}
    return (stale - ahead) | {uid for uid in ahead if not affected.is_shown(uid)}


def _replayed(affected: Affected, frame: float) -> set[int]:
    """Return the armatures that show the same pose as when the frame was played before."""
    runs = affected.runs
    shown = runs.played.shown[frame]
    same = {
        uid for uid in affected.evaluated if affected.is_shown(uid) and _has_same_pose(runs, uid)
    }
    digests = _digests(affected, same)
    rigs = {uid for uid in digests.keys() & shown.keys() if shown[uid].digest == digests[uid]}
    for uid in rigs:
        runs.writers[uid].reports = shown[uid].reports
    for unit in runs.units_at(frame) if rigs else ():
        if unit.plan.rig.uid in rigs:
            unit.last = unit.results.get(frame)
    return rigs


def _has_same_pose(runs: Runs, uid: int) -> bool:
    """Return whether the channels have the FK pose for which a frame was composed."""
    reader = runs.readers[uid]
    groups = reader.last.groups if reader.last is not None else ()
    buffers = [ChannelBuffer(reader.rig, reader.rows, group, group.bones) for group in groups]
    return reader.has_pose_of([buffer.read().tobytes() for buffer in buffers])


def _note_shown(affected: Affected, frame: float, replayed: Set[int]) -> None:
    """Note the shown pose of armatures that weren't recognized, to recognize it in a replay."""
    runs = affected.runs
    shown = runs.played.shown.setdefault(frame, {})
    for uid, digest in _digests(affected, affected.evaluated.keys() - replayed).items():
        shown[uid] = ShownFrame(digest, runs.writers[uid].reports)


def _digests(affected: Affected, rigs: Set[int]) -> dict[int, int]:
    """Return the digests of armatures whose chains follow computed bones."""
    visited, depsgraph = affected.runs.plan.lookahead.visited, affected.update.depsgraph
    digests: dict[int, int] = {}
    for group in {id(visited[uid]): visited[uid] for uid in visited.keys() & rigs}.values():
        digest = digest_of(group, depsgraph)
        digests |= {uid: digest for uid in rigs if visited.get(uid) is group}
    return digests


def _read_and_solve(affected: Affected, rigs: set[int]) -> dict[int, bool]:
    """Read and solve armatures; return by armature whether its channel values changed.

    Armatures that channels determine are read from channels, as ahead of an evaluation, for the
    same result bit for bit. If the evaluation differs, they are read from it like the others.
    """
    done, runs, plan = affected.update, affected.runs, affected.runs.plan
    runs.posed.clear()
    touched = affected.touched()
    from_channels = rigs & plan.lookahead.known
    composed: dict[int, bool] = {}
    is_edit = done.frame is None and not done.is_foreign
    # The frame whose animation Blender doesn't flush to the original data.
    frame = done.frame if done.is_foreign else None
    depsgraph: Any = done.depsgraph
    sources, played = (plan, runs.readers), runs.played if done.is_played else None
    if from_channels:
        scene = depsgraph.scene
        ahead = ChannelSnapshot(
            *sources, scene, from_channels, touched, frame, depsgraph, played=played
        )
        solved, composed = update(runs, ahead, done.frame, is_edit)
        if not ahead.came_true(depsgraph, solved.worlds, solved.frames):
            from_channels = set()
    copies = {uid: affected.evaluated[uid] for uid in rigs - from_channels}
    if copies:
        touched |= plan.lookahead.known
        shown = EvaluatedSnapshot(*sources, depsgraph, copies, touched, frame is not None, played)
        _, again = update(runs, shown, done.frame, is_edit)
        composed |= {uid: is_new or composed.get(uid, False) for uid, is_new in again.items()}
    return composed


TRIES = 2
"""Maximum number of evaluations. After undo, and if a script sets the frame, the first one also
evaluates the animation, which resets animated channels."""


def _evaluate_again(
    affected: Affected,
    again: Set[int],
    optional: Set[int] = frozenset(),
    released: Iterable[bpy.types.Object] = (),
) -> None:
    """Write results, and let Blender evaluate them.

    In a render Blender itself evaluates after the handlers; evaluating here would hide the changes
    from the renderer. The next handler restores the FK pose.

    Args:
        affected: The affected armatures.
        again: The armatures that must be evaluated.
        optional: Armatures that Blender may also evaluate.
        released: Armatures with bones that no chain poses any more.
    """
    released = [armature for armature in released if is_there(armature) and not is_edited(armature)]
    for armature in released:
        armature.update_tag(refresh={"OBJECT"})
    runs, depsgraph = affected.runs, affected.update.depsgraph
    if depsgraph.mode == "RENDER":
        _write(affected, again)
        return
    may_be_rebuilt = depsgraph.id_type_updated("SCENE")
    if may_be_rebuilt:
        # Otherwise Blender up to 4.5 crashes later, because the view layer lacks its bases.
        cast(Any, depsgraph.scene).original.update_tag()
    saved: list[SavedPose] = []
    # The evaluation may flush animation of another depsgraph or frame to the channels.
    if affected.update.is_foreign or may_be_rebuilt:
        moving = (again | optional) & runs.plan.animated
        rigs = [*(runs.plan.rigs[uid] for uid in moving), *map(skeleton_of, released)]
        saved = [SavedPose(rig) for rig in rigs]
    for uid in optional:
        runs.overwritten.write(runs.writers[uid], is_quiet=True)
    animated = runs.plan.lookahead.animated
    try:
        for _ in range(TRIES):
            _write(affected, again)
            try:
                _update_quietly(depsgraph, [_note_changes] if runs.meshes.tokens else [])
            finally:
                # Restoring flushed values would tag the armature, and Blender would copy it once
                # more after this handler. The next handler restores them.
                runs.overwritten.restore_channels(has_new_bones=may_be_rebuilt)
            # Only animation can have changed the channels meanwhile.
            written = again | optional
            again = {uid for uid in written if animated[uid] and not affected.is_shown(uid)}
            if not again:
                break
    finally:
        for pose in saved:
            pose.restore()


def _write(affected: Affected, rigs: Iterable[int]) -> None:
    overwritten = affected.runs.overwritten
    for uid in rigs:
        writer = affected.runs.writers[uid]
        if affected.update.is_foreign:
            _flush(affected.runs, affected.evaluated[uid], writer.rig.object)
        overwritten.write(writer)
        # The armature data isn't tagged: it would be copied and evaluated once more.
        writer.rig.object.update_tag(refresh={"OBJECT"})


def _flush(runs: Runs, evaluated: bpy.types.Object, original: bpy.types.Object) -> None:
    runs.overwritten.keep_flushed(original, flush_to_original(evaluated, original))


def flush_switched(runs: Runs, depsgraph: bpy.types.Depsgraph) -> None:
    """Flush animation that switches constraints, from an `is_foreign` depsgraph.

    Planning reads constraints from the original data.
    """
    plan = runs.planner.current()
    armatures = [plan.rigs[uid].object for uid, _ in plan.lookahead.switched]
    for ob in dict.fromkeys([*armatures, *(ob for ob, *_ in plan.switched)]):
        copy = ob.evaluated_get(depsgraph)
        if copy.is_evaluated:
            _flush(runs, copy, ob)


def after_edits_of_others(
    runs: Runs, depsgraph: bpy.types.Depsgraph, follow: Callable[[], None]
) -> None:
    """Evaluate edits by other handlers, as Blender would after ours, and then call `follow`.

    Args:
        runs: The session's runs.
        depsgraph: The evaluated depsgraph; never that of a render.
        follow: Reads the depsgraph, and must not raise. It sees the updates of both evaluations.
    """
    overwritten = runs.overwritten
    rigs = [rig for rig in runs.plan.rigs.values() if is_there(rig.object)]
    if not Updates(depsgraph).are_more_than(len(rigs)):  # Else writing all is cheaper.
        tagged = tagged_in([depsgraph])
        rigs = [rig for rig in rigs if rig.object.name in tagged]
    original_poses = [SavedPose(rig) for rig in rigs] if is_foreign(depsgraph) else []
    for rig in rigs:  # These may already show the right pose.
        overwritten.write(runs.writers[rig.uid], is_quiet=True)

    def restore_and_follow(*_unused: object) -> None:
        overwritten.restore_channels(has_new_bones=depsgraph.id_type_updated("SCENE"))
        for pose in original_poses:
            pose.restore()
        follow()

    _update_quietly(depsgraph, [restore_and_follow])


def _update_quietly(depsgraph: bpy.types.Depsgraph, handlers: list[Callable[..., None]]) -> None:
    """Evaluate with only these update handlers, because Blender calls none inside a handler.

    They see the updates, which Blender doesn't list any more afterward.
    """
    pre: list[Any] = bpy.app.handlers.depsgraph_update_pre
    post: list[Any] = bpy.app.handlers.depsgraph_update_post
    saved = pre[:], post[:]
    pre.clear()
    post[:] = handlers
    try:
        depsgraph.update()
    finally:
        pre[:], post[:] = saved


def _note_changes(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    part(Runs).meshes.note_changes(Updates(depsgraph))


# The armatures that an evaluation affects.


class Update(NamedTuple):
    """An evaluation by Blender.

    Attributes:
        depsgraph: The evaluated depsgraph.
        updates: The data-blocks that it updated.
        frame: The new frame, if its animation was evaluated; else None.
        is_played: Whether only the frame changed, and no data-block was edited.
        is_rebuilt: Whether its relations were rebuilt.
        is_undo: Whether it follows an undo or redo.
        replaced: The data-blocks that undo or redo replaced, by session UID.
        is_foreign: Whether Blender doesn't flush its animation to the original data.
        has_new_curves: Whether F-curves may have been edited.
        redeclared: Armatures whose dependencies were just declared, so Blender evaluates them again
            anyway.
        has_others: Whether other handlers ran first, which may have set anything.
        driven: The armatures with settings that drivers have changed unexpectedly (see `Early`).
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
    replaced: Set[int] = frozenset()
    driven: Mapping[int, list[object]] = {}


class Affected(NamedTuple):
    """The armatures that an update affects.

    Attributes:
        update: The update.
        runs: The session's runs.
        evaluated: The affected armatures, evaluated.
        new: UIDs of armatures that this view layer hasn't shown yet, or whose lists a script
            changed.
    """

    update: Update
    runs: Runs
    evaluated: dict[int, bpy.types.Object]
    new: set[int]

    def is_shown(self, uid: int) -> bool:
        """Return whether an evaluated armature has the composed channel values."""
        writer, untyped = self.runs.writers[uid], cast(Any, self.evaluated[uid])
        if not writer.poses_any:
            return True
        return writer.is_shown(PoseChannels(untyped.pose.bones, writer.rows))

    def touched(self) -> set[int]:
        """Return the armatures whose channels or settings may have changed; see also `Varying`."""
        uids = set(self.new)
        if not self.update.is_played:
            uids |= geometry_in(self.update.updates) | self.runs.plan.animated
        return uids | self.evaluated.keys() if self.update.is_foreign else uids

    def unchanged(self) -> set[int]:
        """Return the armatures that show the right pose, because no edit changed their inputs.

        Blender lists all objects after rebuilding relations, and armatures with a changed
        selection.
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
        independent = {uid for uid in self.evaluated if affected.isdisjoint(plan.groups[uid])}
        return {uid for uid in independent if self.is_shown(uid) and self._has_known_settings(uid)}

    def untouched(self) -> set[int]:
        """Return the armatures that show the right pose, because undo or redo left them alone.

        On undo and redo, Blender evaluates all armatures, and flags their geometry and all armature
        data.
        """
        update, runs = self.update, self.runs
        plan, flags = runs.plan, update.updates
        if not runs.outlived:
            return set()
        changed = self.new | update.redeclared | plan.driven | update.replaced
        changed |= {
            session_uid(block)
            for block, moved, bent in zip(
                flags.blocks, flags.transform, flags.geometry, strict=True
            )
            if (moved or bent) and not _has_bones(block, moved)
        }
        changed |= _depending(plan, changed, False)
        changed = changed.union(*[plan.sources[uid] for uid in plan.sources.keys() & changed])
        visited = plan.lookahead.visited
        changed |= {
            uid
            for uid, objects in visited.items()
            if not changed.isdisjoint([ob.session_uid for ob in objects])
        }
        still = self.evaluated.keys() & plan.lookahead.still
        rigs = {uid for uid in still if changed.isdisjoint(plan.groups[uid])}
        return {uid for uid in rigs if runs.has_outlived(uid) and self._shows_last(uid)}

    def _shows_last(self, uid: int) -> bool:
        """Return whether an armature shows its last result, and its FK pose and settings match."""
        runs = self.runs
        return self.is_shown(uid) and _has_same_pose(runs, uid) and self._has_known_settings(uid)

    def _has_known_settings(self, uid: int) -> bool:
        """Return whether the settings are those read last; they may be driven."""
        return self.runs.readers[uid].has_settings_of(Evaluated(self.evaluated[uid]))


def _has_bones(block: bpy.types.ID, is_moved: bool) -> bool:
    """Return whether a data-block is armature data, or an armature object that was not moved."""
    if isinstance(block, bpy.types.Object):
        return block.type == "ARMATURE" and not is_moved
    return isinstance(block, bpy.types.Armature)


def affected_by(runs: Runs, early: Early, update: Update) -> Affected:
    """Return the armatures that an update affects.

    They are updated, depend on something updated or on the frame, or weren't shown by this view
    layer yet. All armatures solved with them are included. If dependencies changed, all armatures
    are affected.
    """
    depsgraph, redeclared = update.depsgraph, update.redeclared
    is_frame_change = update.frame is not None
    plan = runs.follow()
    is_every = update.is_played and plan.lookahead.is_timed
    if is_every and not runs.planner.with_changed_lists(plan.rigs):
        return Affected(update, runs, runs.played_copies(depsgraph), set())
    is_shown = is_frame_change and depsgraph.mode != "RENDER"
    # Checking all armatures is cheaper than walking more updates than there are units.
    is_long = is_shown and update.updates.are_more_than(len(plan.units))
    updated = None if is_long else {block.session_uid for block in update.updates.blocks}
    # Gravity and frame rate are settings of the scene.
    is_timed = is_frame_change or cast(Any, depsgraph.scene).session_uid in (updated or ())
    every = set(plan.rigs)
    affected = every if updated is None else updated | _depending(plan, updated, is_timed)
    unseen = _take_unseen(plan, update)
    # Blender doesn't notify of lists changed by scripts, so all armatures to be solved are checked.
    is_all = is_frame_change or redeclared
    asked = plan.rigs.keys() if is_all else _solved_with(plan, affected | unseen)
    if early.solved is not None and not update.has_others:
        asked = asked - early.solved.rigs.keys()
    new = runs.planner.with_changed_lists(asked) if asked else set()
    if new:
        runs.planner.discard()
        plan = runs.follow()
        # The new plan may have other armatures.
        updated = {block.session_uid for block in update.updates.blocks}
        affected = updated | _depending(plan, updated, is_timed)
        unseen |= _take_unseen(plan, update)
    new |= unseen
    affected |= new
    if redeclared:
        # Blender rebuilds its relations, and may then evaluate any armature.
        affected |= plan.rigs.keys()
    is_every = affected >= plan.rigs.keys()
    rigs = set(plan.rigs) if is_every else _solved_with(plan, affected)
    return Affected(update, runs, evaluated_copies(plan, depsgraph, rigs), new)


def _solved_with(plan: Plan, affected: Set[int]) -> set[int]:
    """Return the armatures among some data-blocks, and all armatures solved with them."""
    return {uid for rig in plan.rigs.keys() & affected for uid in plan.groups[rig]}


def _depending(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that depend on the frame, if it changed, or on updated objects."""
    uids: set[int] = set(plan.timed) if is_timed else set()
    return uids.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


class SeenArmatures(dict[tuple[int, str], set[int]]):
    """For each view layer, the armatures that were solved for it or aren't in it."""


def forget_removed_layers() -> None:
    """Forget removed view layers: a new one of the same name hasn't shown anything yet."""
    seen = part(SeenArmatures)
    present = {
        (session_uid(scene), layer.name) for scene in bpy.data.scenes for layer in scene.view_layers
    }
    for layer in seen.keys() - present:
        del seen[layer]


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures of a view layer that weren't solved for it yet.

    Blender doesn't call handlers at the first update of a view layer.
    """
    plan = planner.known()
    if plan is None:
        return set()
    seen = part(SeenArmatures).setdefault((scene.session_uid, layer.name), set())
    new = plan.rigs.keys() - seen
    names = {*layer.objects.keys()} if new else ()  # Blender looks each name up among all.
    shown = {uid for uid in new if plan.rigs[uid].object.name in names}
    seen |= new - shown
    return shown


def _take_unseen(plan: Plan, update: Update) -> set[int]:
    """Return the `unseen` armatures of an edit's view layer, and mark them as seen."""
    scene, layer = update.depsgraph.scene, update.depsgraph.view_layer
    if update.frame is not None or update.depsgraph.mode == "RENDER" or not (scene and layer):
        return set()
    seen = part(SeenArmatures).setdefault((scene.session_uid, layer.name), set())
    if plan.rigs.keys() <= seen:
        return set()
    uids = unseen(scene, layer)
    seen |= uids
    return uids
