"""One update: read, solve and write what was not solved ahead of Blender's evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.animated_values import flush_to_original
from ..blender.listeners import on_invalidate
from ..blender.meshes import note_changes
from ..blender.skeleton import skeleton_of
from ..blender.updates import Updates, changed_in, geometry_in, tagged_in
from ..settings.notifications import take_followed
from .ahead import agrees, compose_all, take_differing, take_solved_ahead
from .evaluated import Evaluated
from .plan import Plan, current, discard, known
from .read import SceneSnapshot, SnapshotAhead
from .solved_scene import SolvedScene
from .solving import evaluated_copies, solve_scene
from .write import (
    PoseWriter,
    SavedPose,
    keep_flushed,
    on_report,
    restore_channels,
    write_pose,
    write_reports,
)

misses = 0
"""How often solving ahead was wrong, so that Blender had to evaluate again (for tests)."""


class Update(NamedTuple):
    """An evaluation by Blender.

    Attributes:
        depsgraph: The evaluated depsgraph.
        updates: What it has updated.
        is_frame_change: Whether its animation was evaluated.
        is_played: Whether it was evaluated for nothing else: no data-block was edited.
        is_rebuilt: Whether its relations were rebuilt.
        is_undo: Whether it follows an undo or redo.
        changed: Armatures whose dependencies were just declared, so that Blender evaluates them
            again in any case.
        has_other_handlers: Whether handlers of other extensions ran before, which may have changed
            something.
    """

    depsgraph: bpy.types.Depsgraph
    updates: Updates
    is_frame_change: bool
    is_played: bool
    is_rebuilt: bool
    is_undo: bool
    changed: Set[int] = frozenset()
    has_other_handlers: bool = False

    @property
    def frame(self) -> float | None:
        """The new frame; None if the frame did not change."""
        scene = cast(bpy.types.Scene, self.depsgraph.scene)
        return scene.frame_current_final if self.is_frame_change else None


def evaluate(update: Update) -> bool:
    """Pose all chains that an update affects; return whether there are any.

    Results that were solved ahead and are still valid are kept. All others are read from the
    evaluated depsgraph, solved and written, and Blender evaluates them again.
    """
    ahead, differing = take_solved_ahead(), take_differing(update.depsgraph)
    scope = _scope_of(update)
    plan, evaluated = scope.plan, scope.evaluated
    released, plan.released = plan.released, {}
    if not evaluated and not released:
        return False
    if released:
        # Other chains would be solved from bones that still show a pose that is gone.
        _evaluate_again(scope, set(), evaluated.keys() - released.keys(), released.values())
        # That has cleared the list of updates.
        update = update._replace(updates=Updates(update.depsgraph))
        scope = scope._replace(update=update, new=set(evaluated))
    differing &= evaluated.keys()
    outdated = _outdated(scope, ahead, differing)
    for solved in _read_and_solve(scope, outdated):
        compose_all(solved)
    again = {uid for uid in outdated if not _is_shown(plan.writers[uid], evaluated[uid])}
    again |= (evaluated.keys() & scope.changed) | differing
    others = _may_be_evaluated(scope, again)
    if again or others:
        _evaluate_again(scope, again, others)
    has_news = any([write_reports(plan.writers[uid]) for uid in evaluated])
    if has_news and update.depsgraph.mode == "VIEWPORT":  # Renders may run in another thread.
        on_report.notify()
    plan.is_solved = True
    return True


def _outdated(
    scope: _Scope, ahead: tuple[Plan, SolvedScene | None] | None, differing: Set[int]
) -> set[int]:
    """Return the armatures whose shown pose may be outdated, with all that are solved with them."""
    plan, update = scope.plan, scope.update
    current = set[int]()
    if ahead is not None and ahead[0] is plan and not update.is_undo:
        current = _up_to_date(scope, ahead[1])
    if not (update.is_frame_change or update.is_undo):
        current |= _unaffected(scope)
    wrong = (scope.evaluated.keys() - current) | differing
    return {uid for one in wrong for uid in plan.groups[one]} & scope.evaluated.keys()


def _may_be_evaluated(scope: _Scope, again: Set[int]) -> set[int]:
    """Return the other armatures that Blender may evaluate in the same pass."""
    plan, others = scope.plan, scope.evaluated.keys() - again
    if scope.changed:
        # It evaluates what is tagged for any view layer, or shares armature data with these.
        return others
    if scope.update.has_other_handlers:
        tagged = tagged_in([scope.update.depsgraph])
        return {uid for uid in others if plan.rigs[uid].object.name in tagged}
    return set()


def _up_to_date(scope: _Scope, ahead: SolvedScene | None) -> set[int]:
    """Return the armatures whose pose is final after Blender's own evaluation."""
    global misses
    current, foreseen = set[int](), set[int]()
    if ahead is not None and not scope.has_new_curves:
        foreseen = scope.evaluated.keys() & ahead.rigs.keys()
        if agrees(ahead, scope.update.depsgraph):
            current |= foreseen
        else:
            misses += 1
    if scope.update.is_frame_change:  # No input of the others has changed then.
        lookahead = scope.plan.lookahead
        current |= scope.evaluated.keys() & (lookahead.known - lookahead.timed) - foreseen
    return {uid for uid in current if _is_shown(scope.plan.writers[uid], scope.evaluated[uid])}


def _unaffected(scope: _Scope) -> set[int]:
    """Return the armatures whose inputs an update did not change.

    Blender lists all objects after rebuilding relations, and armatures whose selection changed.
    """
    plan, depsgraph, is_rebuilt = scope.plan, scope.update.depsgraph, scope.update.is_rebuilt
    may_be_other = is_rebuilt or depsgraph.id_type_updated("ARMATURE")
    if not (may_be_other and plan.is_solved) or scope.has_new_curves:
        return set()
    changed = changed_in(scope.update.updates, is_rebuilt)
    concerned = scope.new | scope.changed | plan.driven | changed
    concerned |= _depending(plan, changed, depsgraph.id_type_updated("SCENE"))
    concerned = concerned.union(*[plan.sources[uid] for uid in plan.sources.keys() & changed])
    others = {uid for uid in scope.evaluated if concerned.isdisjoint(plan.groups[uid])}
    return {uid for uid in others if _is_unchanged(plan, uid, scope.evaluated[uid])}


def _read_and_solve(scope: _Scope, outdated: set[int]) -> list[SolvedScene]:
    """Read and solve armatures.

    Those that can be solved ahead are read in the same way as then, so that the result is the same
    bit for bit; if the evaluation differs from that, they are read from it like the others.
    """
    global misses
    plan, depsgraph, frame = scope.plan, scope.update.depsgraph, scope.update.frame
    found: list[SolvedScene] = []
    touched = _touched(scope) if outdated else set[int]()
    animated = scope.evaluated.keys() & plan.animated
    known = outdated & plan.lookahead.known
    if known:
        solved = solve_scene(_read_ahead(scope, known, touched | animated), frame)
        if agrees(solved, depsgraph):
            found.append(solved)
        else:
            misses += 1
            known = set[int]()
    others = outdated - known
    if others:
        touched |= plan.lookahead.known
        if not scope.update.is_played:
            touched |= animated
        found.append(solve_scene(_read(scope, others, touched), frame))
    return found


def _read_ahead(scope: _Scope, rigs: set[int], touched: set[int]) -> SnapshotAhead:
    """Read armatures from the original data."""
    depsgraph = scope.update.depsgraph
    frame = scope.update.frame if scope.is_foreign else None
    scene = cast(bpy.types.Scene, depsgraph.scene)
    return SnapshotAhead(scope.plan, scene, rigs, touched, frame, depsgraph)


def _read(scope: _Scope, rigs: set[int], touched: set[int]) -> SceneSnapshot:
    """Read armatures from the evaluated data."""
    evaluated = {uid: scope.evaluated[uid] for uid in rigs}
    has_foreign_animation = scope.is_foreign and scope.update.is_frame_change
    return SceneSnapshot(
        scope.plan,
        scope.update.depsgraph,
        evaluated,
        touched,
        has_foreign_animation,
        scope.update.is_played,
    )


def _is_shown(writer: PoseWriter, evaluated: bpy.types.Object) -> bool:
    """Return whether an evaluated copy has the composed channel values."""
    if not writer.poses_any:
        return True
    return writer.is_shown(Evaluated(evaluated, writer.rows).channels)


def _is_unchanged(plan: Plan, uid: int, evaluated: bpy.types.Object) -> bool:
    """Return the same, also comparing the settings, which may be driven."""
    is_shown = _is_shown(plan.writers[uid], evaluated)
    return is_shown and plan.readers[uid].has_settings_of(Evaluated(evaluated))


TRIES = 2
"""Maximum number of evaluations. After undo, and where a script sets the frame, Blender evaluates
the animation again in the first one, which resets animated channels."""


def _evaluate_again(
    scope: _Scope,
    again: set[int],
    others: set[int],
    released: Iterable[bpy.types.Object] = (),
) -> None:
    """Write results and have Blender evaluate them.

    In a render Blender does so by itself after the handlers; doing it here would hide the changes
    from the renderer. The next handler restores the FK pose.

    Args:
        scope: The scope of the update.
        again: The armatures that have to be evaluated.
        others: Those that may be evaluated as well.
        released: Those with bones that no chain poses any more.
    """
    released = [armature for armature in released if _exists(armature) and not is_edited(armature)]
    for armature in released:
        armature.update_tag(refresh={"OBJECT"})
    writers, depsgraph = scope.plan.writers, scope.update.depsgraph
    if depsgraph.mode == "RENDER":
        _write_again(scope, again)
        return
    may_be_rebuilt = depsgraph.id_type_updated("SCENE")
    if may_be_rebuilt:
        # Without this, Blender up to 4.5 crashes later, because the view layer lacks its bases.
        cast(Any, depsgraph.scene).original.update_tag()
    # The channels may get animation from another depsgraph, or from another frame.
    is_other = scope.is_foreign or may_be_rebuilt
    kept: list[SavedPose] = []
    if is_other:
        rigs = [*(scope.plan.rigs[uid] for uid in again | others), *map(skeleton_of, released)]
        kept = [SavedPose(rig) for rig in rigs]
    for uid in others:
        write_pose(writers[uid], is_quiet=True)
    try:
        for _ in range(TRIES):
            _write_again(scope, again)
            try:
                _update_quietly(depsgraph)
            finally:
                # Taking flushed values back would tag the armature: Blender would copy it once
                # more after this handler. The next one does.
                restore_channels(has_new_bones=may_be_rebuilt)
            # Only animation can have changed the channels meanwhile.
            again = {uid for uid in again if scope.plan.lookahead.animated[uid]}
            again = {uid for uid in again if not _is_shown(writers[uid], scope.evaluated[uid])}
            if not again:
                break
    finally:
        for one in kept:
            one.restore()


def _exists(armature: bpy.types.Object) -> bool:
    try:
        return armature.pose is not None
    except ReferenceError:  # It was removed.
        return False


def _write_again(scope: _Scope, again: Iterable[int]) -> None:
    for uid in again:
        writer = scope.plan.writers[uid]
        if scope.is_foreign:
            keep_flushed(writer.rig, flush_to_original(scope.evaluated[uid], writer.rig.object))
        write_pose(writer)
        # The object's own data is not tagged: it would be copied and evaluated once more.
        writer.rig.object.update_tag(refresh={"OBJECT"})


def _update_quietly(depsgraph: bpy.types.Depsgraph) -> None:
    """Evaluate without update handlers, as Blender does what handlers have changed.

    A handler of our own notes what is evaluated: the updates are not listed any more afterwards.
    """
    before: list[Any] = bpy.app.handlers.depsgraph_update_pre
    after: list[Any] = bpy.app.handlers.depsgraph_update_post
    kept = before[:], after[:]
    before.clear()
    after[:] = [_note_changes]
    try:
        depsgraph.update()
    finally:
        before[:], after[:] = kept


def _note_changes(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    note_changes(Updates(depsgraph))


_seen: dict[tuple[int, str], set[int]] = {}
"""By view layer, the armatures that were solved for it or are not in it."""


@on_invalidate
def forget_seen() -> None:
    """Solve all armatures again in each view layer."""
    _seen.clear()


class _Scope(NamedTuple):
    """The armatures that an update affects.

    Attributes:
        update: The update.
        plan: The plan.
        evaluated: The affected armatures, evaluated.
        new: Those that this view layer has not shown yet, or whose lists a script changed.
        changed: Those that Blender evaluates again in any case.
        is_foreign: Whether Blender does not flush the depsgraph's animation to the original data.
        has_new_curves: Whether F-curves may have been edited.
    """

    update: Update
    plan: Plan
    evaluated: dict[int, bpy.types.Object]
    new: set[int]
    changed: Set[int]
    is_foreign: bool
    has_new_curves: bool


def _scope_of(update: Update) -> _Scope:
    """Return the armatures that an update affects.

    These are the updated ones, those that depend on something updated or on the frame, and those
    that this view layer has not shown yet, each with all that are solved with it. If dependencies
    changed, all armatures are affected.
    """
    depsgraph, is_frame_change, changed = update.depsgraph, update.is_frame_change, update.changed
    plan = current()
    is_shown = is_frame_change and depsgraph.mode != "RENDER"
    updated = None
    # Where the frame affects all armatures, there is nothing to find out.
    if not (is_shown and plan.rigs.keys() <= plan.timed | plan.lookahead.timed):
        # Checking all armatures is cheaper than walking more updates than there are units.
        updated = _updated(update, len(plan.units) if is_shown else None)
    if updated is None:
        updated = set(plan.rigs)
    # Gravity and frame rate are settings of the scene.
    is_timed = is_frame_change or session_uid(depsgraph.scene) in updated
    concerned = updated | _depending(plan, updated, is_timed)
    unseen = set[int]() if is_frame_change else _take_unseen(depsgraph)
    # Scripts change lists without a notification, so all that will be solved is checked.
    is_all = is_frame_change or changed
    new = plan.stale(plan.rigs if is_all else _solved_with(plan, concerned | unseen))
    if new:
        discard()
        plan = current()
        # The new plan may have other armatures.
        updated = _updated(update) or set[int]()
        concerned = updated | _depending(plan, updated, is_timed)
        changed = changed | take_followed()
        unseen |= set[int]() if is_frame_change else _take_unseen(depsgraph)
    new |= unseen
    concerned |= new
    if changed:
        # Blender rebuilds its relations, and may evaluate any armature for that.
        concerned |= plan.rigs.keys()
    evaluated = evaluated_copies(plan, depsgraph, _solved_with(plan, concerned))
    has_new_curves = not is_frame_change and depsgraph.id_type_updated("ACTION")
    return _Scope(update, plan, evaluated, new, changed, is_foreign(depsgraph), has_new_curves)


def _updated(update: Update, most: int | None = None) -> set[int] | None:
    """Return the `session_uid`s of the updated data-blocks; None if there are too many.

    Args:
        update: The update.
        most: The largest number to list; None for all.
    """
    if most is not None and update.updates.are_more_than(most):
        return None
    return {block.session_uid for block in update.updates.blocks}


def _touched(scope: _Scope) -> set[int]:
    """Return the armatures whose own channels or settings may have changed without animation."""
    found = set(scope.new)
    if not scope.update.is_played:
        found |= geometry_in(scope.update.updates)
    return found | scope.evaluated.keys() if scope.is_foreign else found


def _solved_with(plan: Plan, affected: Set[int]) -> set[int]:
    """Return the armatures among some data-blocks, each with all that are solved with it."""
    return {uid for one in plan.rigs.keys() & affected for uid in plan.groups[one]}


def _depending(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that depend on the frame, if it changed, or on updated objects."""
    found = set(plan.timed) if is_timed else set[int]()
    return found.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures of a view layer that were not solved for it yet.

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
    """Return the `unseen` armatures of a depsgraph's view layer, and mark them as seen."""
    scene, layer = depsgraph.scene, depsgraph.view_layer
    if depsgraph.mode == "RENDER" or scene is None or layer is None:
        return set()
    found = unseen(scene, layer)
    _seen.setdefault((session_uid(scene), layer.name), set()).update(found)
    return found


def is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the original data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph
