"""Application handlers: the entry points of the update loop.

Results are written over the FK pose ahead of an evaluation, and the FK pose is restored after it.
Handlers of other add-ons always see the FK pose: ours write after theirs and restore before theirs.
A handler must never raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from functools import partial
from threading import current_thread, main_thread
from time import perf_counter
from typing import Any, cast

import bpy
from bpy.app.handlers import persistent

from ..blender import animation
from ..blender.errors import forget_reported, note_interrupt, report_once
from ..blender.listeners import on_invalidate, on_load
from ..blender.session import keeping, part, uncollected
from ..blender.skeleton import (
    Skeletons,
    forget_bones,
    have_hidden_bones_changed,
    rebuild_poses,
)
from ..blender.undone import BeforeUndo
from ..blender.updates import (
    Updates,
    armatures_in,
    graphs_of,
    has_new_relations,
    is_foreign,
    moved_in,
    tag_animation,
    tagged_in,
)
from ..plan import dependencies, planner
from ..plan.deferred import DeferredWrites
from ..plan.dependencies import PendingDeclarations
from ..plan.planner import Planner
from ..plan.registry import UPDATED
from ..settings import joining, notifications, shot_keys
from ..settings.overriding import complete_references, point_to_overrides
from .early import Coming, Early
from .solving import Runs
from .timing import Timing
from .update import (
    SeenArmatures,
    Update,
    after_edits_of_others,
    after_evaluation,
    before_evaluation,
    flush_switched,
    follow_drivers,
    forget_removed_layers,
    unseen,
)


class Events:
    """State that the handlers of the session share.

    Attributes:
        runs: The session's runs.
        early: What was solved ahead of an evaluation.
        timing: How long updates take.
        is_inside: Whether a handler is running; nested updates belong to it.
        is_rendering: Whether a render began and hasn't ended. It evaluates its own depsgraph.
        is_undone: Whether the next update follows an undo or redo.
        replaced: The data-blocks that undo or redo replaced, by session UID; None if they are
            unknown.
        may_shots_differ: Whether keys of library overrides must be checked.
        tagged: Names of the data-blocks tagged for the current update; None until they are read.
        moved: Names of the objects tagged as moved for it; None if they weren't read.
    """

    def __init__(self) -> None:
        """Start with no handler running."""
        self.runs = part(Runs)
        self.early = part(Early)
        self.timing = part(Timing)
        self.is_inside = False
        self.is_rendering = False
        self.is_undone = False
        self.replaced: set[int] | None = None
        self.may_shots_differ = False
        self.tagged: set[str] | None = None
        self.moved: set[str] | None = None


def _before(scene: bpy.types.Scene, is_frame_change: bool) -> None:
    events = part(Events)
    runs, plan = events.runs, events.runs.planner.plan
    if events.is_inside:
        return
    events.tagged = events.moved = None
    graphs = graphs_of(scene)
    kinds = _kinds_in(graphs)
    if not is_frame_change:
        add_missing()
        # A join tags both types; hardly anything else does.
        if events.is_undone or kinds >= {"ARMATURE", "SCENE"}:
            _follow_joins(events, graphs)
            plan, kinds = runs.planner.plan, _kinds_in(graphs)  # A join may have changed both.
    if plan is not None and not plan.rigs:
        return
    try:
        if runs.overwritten.is_any:  # Left by a render or a failed update.
            runs.overwritten.restore(has_new_bones=True)
        pre, post = EVENTS[is_frame_change]
        _take_ends(post)
        events.may_shots_differ |= bool(kinds & {"SCENE", "ACTION"})
        if runs.planner.pending.armatures or events.may_shots_differ:
            _keep_data(events, is_frame_change)
            kinds = _kinds_in(graphs)
        if getattr(bpy.app.handlers, pre)[-1:] != [LAST[pre]]:
            return  # Handlers after ours may do anything, and also need the FK pose.
        events.tagged = tagged_in(graphs)
        if plan is not None or events.replaced is not None:
            if plan is None:
                uncollected(runs.follow)()
            if events.replaced is None or is_frame_change:
                coming = _coming(events, scene, graphs, is_frame_change, kinds)
            else:  # It follows undo or redo.
                new, tagged = runs.follow(), events.tagged
                forget_bones()
                coming = Coming(new, scene, graphs, None, tagged, False, None, is_undone=True)
            before_evaluation(runs, events.early, coming)
    except ReferenceError:
        _give_up()  # Something was removed without notice.
    except KeyboardInterrupt:
        _interrupt()
        raise
    except Exception:
        report_once("could not pose the armatures")
        _give_up()


def _kinds_in(graphs: Iterable[bpy.types.Depsgraph]) -> set[str]:
    """Return the types of tagged data-blocks, out of those that may change more than a pose."""
    kinds = "SCENE", "ACTION", "ARMATURE"
    return {kind for kind in kinds if any([graph.id_type_updated(kind) for graph in graphs])}


def _keep_data(events: Events, is_frame_change: bool) -> None:
    """Declare dependencies, and update keys of library overrides before they refer to other items.

    Reloading a library and adding a key tag the scene or actions. A render in another thread also
    calls this, while the window reads the data to write.
    """
    pending = events.runs.planner.pending
    if _is_rendering_beside():
        return
    if pending.armatures:
        pending.declare(is_frame_change)
    if events.may_shots_differ:
        events.may_shots_differ = False
        _keep_shots()


def _coming(
    events: Events,
    scene: bpy.types.Scene,
    graphs: list[bpy.types.Depsgraph],
    is_frame_change: bool,
    kinds: Set[str],
) -> Coming:
    """Return the evaluation that Blender is about to do.

    Args:
        events: The state of the handlers.
        scene: The scene.
        graphs: The depsgraphs of its view layers.
        is_frame_change: Whether the frame changes.
        kinds: The types of tagged data-blocks (see `_kinds_in`).
    """
    runs = events.runs
    plan = runs.follow()
    may_be_rebuilt = "SCENE" in kinds
    if may_be_rebuilt:  # Resetting an override recreates bones.
        forget_bones()
    is_new = may_be_rebuilt or "ACTION" in kinds
    if is_new or plan.has_new_drivers():
        runs.planner.look_at_animation()
        plan = runs.follow()
    if is_frame_change or is_new:
        runs.posed.clear()
    else:
        events.moved = moved_in(graphs) if "ARMATURE" in kinds else set()
        if events.moved:
            runs.forget_constraints(events.moved)
    # An edited action is copied with its current F-curves.
    needs_graph = plan.lookahead.moving or plan.lookahead.meshes
    is_plain = is_frame_change and needs_graph and not is_new
    flushed = _flushed_of(events, graphs) if is_plain else None
    frame = scene.frame_current_final if is_frame_change else None
    return Coming(plan, scene, graphs, frame, events.tagged or set(), may_be_rebuilt, flushed)


def _flushed_of(events: Events, graphs: list[bpy.types.Depsgraph]) -> bpy.types.Depsgraph | None:
    """Return the depsgraph whose animation Blender flushes; None if a render may be evaluated."""
    if events.is_rendering or _is_rendering_beside():
        return None
    layer = bpy.context.view_layer
    return layer.depsgraph if layer is not None and layer.depsgraph in graphs else None


def _is_rendering_beside() -> bool:
    """Return whether a render job is running, in this thread or another."""
    return bpy.app.is_job_running("RENDER")


def _give_up() -> None:
    part(Planner).discard(skeletons=True)
    try:
        part(Runs).overwritten.restore(has_new_bones=True)
    except Exception:
        report_once("could not give the armatures their FK pose back")


def _interrupt() -> None:
    """Restore the FK pose, and notify the evaluating operator, because Blender doesn't."""
    note_interrupt()
    _give_up()


def _take_ends(*names: str) -> None:
    """Make our handlers the first and last of some events, which must not be running.

    The last handler also evaluates changes by other handlers. Evaluating again clears the
    depsgraph's list of updates, which others may read. If another add-on cleared the handlers, ours
    are added again: nothing may be written ahead unless a handler will restore it.
    """
    for name in names:
        handlers = getattr(bpy.app.handlers, name)
        if handlers != OURS[name]:
            others_handlers = [handler for handler in handlers if handler not in OURS[name]]
            split = 1 if name in FIRST else 0
            arranged = OURS[name][:split] + others_handlers + OURS[name][split:]
            if handlers != arranged:
                handlers[:] = arranged


_added: list[tuple[str, Callable[..., None]]] = []
"""The extension's handlers, each with the name of its event."""


def add(*handlers: tuple[str, Callable[..., None]]) -> None:
    """Add handlers, each with the name of its event; `add_missing` adds them again."""
    _added.extend(handlers)
    add_missing()


def remove(*handlers: tuple[str, Callable[..., None]]) -> None:
    """Remove handlers that were added."""
    for name, handler in handlers:
        _added.remove((name, handler))
        present = getattr(bpy.app.handlers, name)
        present[:] = [other for other in present if other != handler]


def add_missing() -> None:
    """Add handlers again that other add-ons removed by clearing the lists."""
    for name, handler in _added:
        handlers = getattr(bpy.app.handlers, name)
        if handler not in handlers:
            handlers.append(handler)


@notifications.structure
def _add_missing_of(_block: bpy.types.ID) -> None:
    add_missing()


def _are_missing() -> bool:
    return not all([handler in getattr(bpy.app.handlers, name) for name, handler in _added])


def _restore(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    """Restore the FK pose once the values written ahead are evaluated."""
    events = part(Events)
    overwritten = events.runs.overwritten
    if events.is_inside or not overwritten.is_any:
        return
    try:
        is_played = is_frame_change and not is_foreign(depsgraph)
        overwritten.restore(has_new_relations(depsgraph), is_played)
    except KeyboardInterrupt:
        _interrupt()
        raise
    except Exception:
        report_once("could not give the armatures their FK pose back")


def _update(
    depsgraph: bpy.types.Depsgraph, is_frame_change: bool, has_edits_of_others: bool = True
) -> None:
    """Pose the armatures that an evaluation affects.

    Args:
        depsgraph: The depsgraph.
        is_frame_change: Whether the frame changed.
        has_edits_of_others: Whether edits by other handlers may still need evaluation.
    """
    events = part(Events)
    plan = events.runs.planner.plan
    if events.is_inside:
        events.runs.meshes.tokens = None
        return
    if plan is not None and not (plan.rigs or has_new_relations(depsgraph)):
        events.replaced = None
        return
    _, post = EVENTS[is_frame_change]
    has_others = getattr(bpy.app.handlers, post) != OURS[post]
    if has_others:
        events.moved = None  # They may have edited constraints.
    has_edits_of_others &= has_others
    has_rigs = plan is not None and bool(plan.rigs)
    try:
        if has_edits_of_others and has_rigs and depsgraph.mode != "RENDER":
            follow = partial(_update, depsgraph, is_frame_change, has_edits_of_others=False)
            after_edits_of_others(events.runs, depsgraph, follow)
            return
        events.is_inside = True
        _take_ends("depsgraph_update_pre", "frame_change_pre")
        if depsgraph.mode == "RENDER":  # Until these, results stay in the channels.
            _take_ends("render_post", "render_cancel")
        updates = Updates(depsgraph, has_removed=has_edits_of_others)
        try:
            first = uncollected(_follow) if plan is None else _follow
            first(events, updates, is_frame_change, has_others)
        except ReferenceError:
            # Something was removed without notice, as it wasn't evaluated anywhere.
            _give_up()
            _follow(events, updates, is_frame_change, has_others)
    except KeyboardInterrupt:
        _interrupt()
        raise
    except Exception:
        report_once("could not pose the armatures")
        _give_up()
    finally:
        events.is_inside = events.is_undone = False
        events.replaced = events.tagged = events.moved = None


def _follow(events: Events, updates: Updates, is_frame_change: bool, has_others: bool) -> None:
    """Update the plan, and solve the armatures that an evaluation affects."""
    depsgraph, runs, plan_of = updates.depsgraph, events.runs, events.runs.planner
    is_rebuilt = has_new_relations(depsgraph)
    # Blender lists tagged edits before the evaluation; none during playback. Then
    # `Depsgraph.updates` needn't be walked, which takes milliseconds in large scenes.
    is_played = (
        is_frame_change
        and not (is_rebuilt or has_others or events.tagged or events.tagged is None)
        and depsgraph.mode != "RENDER"
    )
    if runs.meshes.is_asked:
        runs.meshes.note_evaluation(depsgraph, updates, is_played)
    edited: set[bpy.types.Armature] = set()
    if events.replaced is not None:  # What depends on it is already discarded.
        forget_bones()
        forget_removed_layers()
    elif not is_played:
        edited = _revise_plan(events, depsgraph, updates, is_rebuilt, is_frame_change)
    has_foreign_animation = is_foreign(depsgraph)
    if has_foreign_animation and is_frame_change:
        flush_switched(runs, depsgraph)
    plan = plan_of.plan
    driven = follow_drivers(plan_of, events.early, depsgraph, is_played)
    if depsgraph.mode == "VIEWPORT":
        plan_of.current_after_writes(edited)
    if plan_of.plan is not plan:
        driven = follow_drivers(plan_of, events.early, depsgraph, is_played)
    redeclared, plan_of.deferred.followed = plan_of.deferred.followed, set()
    if (redeclared or not plan_of.is_declared) and depsgraph.mode == "VIEWPORT":
        redeclared |= _declare_dependencies()
    frame, has_new_curves = None, False
    if is_frame_change:
        untyped: Any = depsgraph
        frame = untyped.scene.frame_current_final
    else:
        has_new_curves = depsgraph.id_type_updated("ACTION")
        if has_new_curves:
            plan_of.look_at_animation()
        _notify(updates)
    timing = events.timing
    started = perf_counter() if timing.is_asked else 0.0
    done = Update(
        depsgraph,
        updates,
        frame,
        is_played,
        is_rebuilt,
        events.is_undone,
        has_foreign_animation,
        has_new_curves,
        redeclared,
        has_others,
        events.replaced or frozenset(),
        driven,
    )
    if after_evaluation(runs, events.early, done) and started:
        timing.note(started)


def _notify(updates: Updates) -> None:
    """Notify the features of an edit that may concern them."""
    for note_update, needed in UPDATED:
        if needed:
            note_update(updates)


def _revise_plan(
    events: Events,
    depsgraph: bpy.types.Depsgraph,
    updates: Updates,
    is_rebuilt: bool,
    is_frame_change: bool,
) -> set[bpy.types.Armature]:
    """Discard outdated parts of the plan; return the armature data that may be edited."""
    plan_of, armatures = events.runs.planner, None
    if depsgraph.id_type_updated("ARMATURE"):
        armatures = armatures_in(updates, events.moved)
    if is_rebuilt:
        forget_bones()
        # Edits may be tagged only in other scenes, as when this scene is rendered first.
        scene = cast("bpy.types.Scene", depsgraph.scene).original
        other_scenes = [other for other in bpy.data.scenes if other != scene]
        tagged = {*(events.tagged or ()), *tagged_in(graphs_of(*other_scenes))}
        plan_of.revise(tagged, armatures.changed | armatures.clicked if armatures else ())
        forget_removed_layers()
    elif armatures is not None and plan_of.is_outdated(*armatures):
        plan_of.discard(skeletons=True)
    if not is_frame_change and have_hidden_bones_changed(depsgraph):
        plan_of.discard(skeletons=True)
    return set() if armatures is None else armatures.changed


@persistent
def before_frame_change(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Solve a frame ahead, so that one evaluation is enough."""
    _before(scene, is_frame_change=True)


@persistent
def before_depsgraph_update(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Solve an edit ahead, after following joined armatures."""
    _before(scene, is_frame_change=False)


@persistent
def after_frame_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Restore the FK pose after evaluating a frame."""
    _restore(depsgraph, is_frame_change=True)


@persistent
def after_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Restore the FK pose after evaluating an edit."""
    _restore(depsgraph, is_frame_change=False)


@persistent
def on_frame_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Verify or solve an evaluated frame, in the viewport and in renders."""
    _update(depsgraph, is_frame_change=True)


@persistent
def on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Verify or solve an evaluated edit."""
    _update(depsgraph, is_frame_change=False)


@persistent
def on_restore(_unused: object = None, _unused_too: object = None) -> None:
    """Restore the FK pose after a render, and before saving, loading and undo."""
    if not part(Events).is_inside:
        part(Runs).overwritten.restore(has_new_bones=True)


@persistent
def before_render(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Note that a render begins."""
    part(Events).is_rendering = True


@persistent
def after_render(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Note that a render ended."""
    part(Events).is_rendering = False


@persistent
def before_saving(_path: str, _unused: object = None) -> None:
    """Restore the FK pose, and make library overrides keep their settings and keys."""
    on_restore()
    _keep_shots()
    complete_references()


@persistent
def before_load(_path: str, _unused: object = None) -> None:
    """Forget the open file; Blender reads our properties while it opens the next."""
    add_missing()
    on_restore()
    on_invalidate.notify()


@persistent
def after_load(_path: str, _unused: object = None) -> None:
    """Forget the previous file, and pose the armatures of the new one."""
    on_invalidate.notify()
    on_load.notify()
    forget_reported()
    part(Events).is_rendering = False
    _keep_shots()
    if planner.is_used():
        refresh(after_load=True)


@persistent
def before_undo(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Restore the FK pose, and note the data that may survive undo or redo."""
    on_restore()
    try:
        part(Runs).before_undo()
    except ReferenceError:  # Something was removed without notice.
        part(Planner).discard(skeletons=True)
    part(BeforeUndo).note()


@persistent
@uncollected
def on_undo(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Forget the data that undo or redo replaced, and everything derived from it."""
    runs, replaced = part(Runs), part(BeforeUndo).replaced()
    # Handlers of other add-ons may edit anything before the update.
    if replaced is None or _has_others("undo_post") or _has_others("redo_post"):
        results, replaced = runs.results(), None
        on_invalidate.notify()
        part(Runs).remembered = results
    else:
        runs.after_undo(replaced)
        part(Early).forget()
        with keeping(*OUTLIVING):
            on_invalidate.notify()
    rebuild_poses()
    events = part(Events)
    events.is_undone, events.replaced = True, replaced


def _has_others(name: str) -> bool:
    """Return whether handlers of other add-ons are called at an event of undo or redo."""
    return getattr(bpy.app.handlers, name) != [on_undo]


OUTLIVING = (
    *(Events, Runs, Early, Timing, Planner, Skeletons, SeenArmatures),
    *(DeferredWrites, PendingDeclarations),
)
"""The parts of the session that survive undo and redo, except what these replaced."""


def _follow_joins(events: Events, graphs: list[bpy.types.Depsgraph]) -> None:
    plan = events.runs.planner.plan
    if (plan is not None and not plan.rigs) or current_thread() is not main_thread():
        return  # A render beside a window: nothing can be joined, and the window reads the data.
    try:
        joining.follow_joins(graphs, events.is_undone)
    except Exception:
        report_once("could not keep the constraints of joined armatures")


def _keep_shots() -> None:
    try:
        point_to_overrides()
        shot_keys.keep()
    except Exception:
        report_once("could not keep the settings and keys of library overrides")


@uncollected
def refresh(after_load: bool = False) -> None:
    """Solve all armatures of the file in one update.

    Args:
        after_load: Whether the file was just loaded. Its animation is then tagged for evaluation,
            because an earlier update may have used up Blender's own tag.
    """
    layer = bpy.context.view_layer
    plan = part(Planner).current_after_writes()
    _declare_dependencies()
    if layer is None:
        return
    if layer.depsgraph is None:
        _evaluate_first(layer)
    else:
        for rig in plan.rigs.values():
            rig.object.update_tag()
    if after_load:
        tag_animation(cast("bpy.types.Depsgraph", layer.depsgraph))
        # F-curves may change what was solved ahead from stored channels.
        part(Events).is_undone = bool(plan.rigs)
    layer.update()


def _evaluate_first(layer: bpy.types.ViewLayer) -> None:
    """Evaluate a view layer with a new depsgraph, for which Blender doesn't call handlers.

    Everything is solved ahead, so that one evaluation is enough.
    """
    events, scene = part(Events), cast("bpy.types.Scene", bpy.context.scene)
    plan = events.runs.follow()
    coming = Coming(plan, scene, None, None, plan.lookahead.sources.keys(), False, None)
    try:
        before_evaluation(events.runs, events.early, coming)
    except Exception:
        report_once("could not pose the armatures")
        _give_up()
    layer.update()
    depsgraph = cast("bpy.types.Depsgraph", layer.depsgraph)
    _restore(depsgraph, is_frame_change=False)
    _update(depsgraph, is_frame_change=False, has_edits_of_others=False)


def solve_in(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> None:
    """Schedule solving the armatures that a view layer shows for the first time.

    Blender can't evaluate while it draws. Other add-ons may have cleared the handlers.
    """
    is_due = unseen(scene, layer) or _are_missing()
    if is_due and not bpy.app.timers.is_registered(_solve_in_windows):
        bpy.app.timers.register(_solve_in_windows, first_interval=0.0)


def _solve_in_windows() -> None:
    if _are_missing():
        add_missing()
        refresh()
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        with suppress(ReferenceError):  # Something was removed; the next update notices.
            new = unseen(window.scene, window.view_layer)
            for uid in new:
                planner.current().rigs[uid].object.update_tag()
            if new:
                window.view_layer.update()


def start() -> None:
    """Pose the armatures of the file that was open before the extension was enabled."""
    animation.revive_drivers()
    refresh()


def _declare_dependencies() -> set[int]:
    """Declare the dependencies of all armatures; return the armatures that changed."""
    plan_of = part(Planner)
    plan = plan_of.current()
    plan_of.is_declared = True
    plan_of.pending.armatures.clear()
    orphaned = dependencies.declare(plan.orphaned)
    plan_of.released |= {ob.session_uid: ob for ob in plan.orphaned if ob.session_uid in orphaned}
    planned = {armature.rig.object: armature.uses for armature in plan_of.armatures.values()}
    return dependencies.declare(planned, planned)


EVENTS = (
    ("depsgraph_update_pre", "depsgraph_update_post"),
    ("frame_change_pre", "frame_change_post"),
)
"""The events before and after evaluating an edit, and a frame."""

FIRST: dict[str, Callable[..., None]] = {
    "depsgraph_update_post": after_depsgraph_update,
    "frame_change_post": after_frame_change,
    "render_post": on_restore,
    "render_cancel": on_restore,
}
"""The handlers called before those of other add-ons, by event name."""

LAST: dict[str, Callable[..., None]] = {
    "depsgraph_update_pre": before_depsgraph_update,
    "depsgraph_update_post": on_depsgraph_update,
    "frame_change_pre": before_frame_change,
    "frame_change_post": on_frame_change,
}
"""The handlers called after those of other add-ons, by event name."""

OURS = {name: [ends[name] for ends in (FIRST, LAST) if name in ends] for name in (*FIRST, *LAST)}
"""All of our handlers, by event name."""

HANDLERS: tuple[tuple[str, Callable[..., None]], ...] = (
    *FIRST.items(),
    *LAST.items(),
    ("render_init", before_render),
    ("render_complete", after_render),
    ("render_cancel", after_render),
    ("save_pre", before_saving),
    ("undo_pre", before_undo),
    ("redo_pre", before_undo),
    ("load_pre", before_load),
    ("load_post", after_load),
    ("undo_post", on_undo),
    ("redo_post", on_undo),
)


def register() -> None:
    """Add the handlers, and schedule solving the open file.

    Blender's data can't be accessed while an extension registers. Timers never run in background
    mode, and the 4.2 wheel crashes at exit if one was pending when a file was loaded.
    """
    add(*HANDLERS)
    if not bpy.app.background:
        bpy.app.timers.register(start, first_interval=0.0)


def unregister() -> None:
    """Remove the handlers and forget the file."""
    for timer in (start, _solve_in_windows):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    remove(*HANDLERS)
    runs = part(Runs)
    runs.overwritten.restore(has_new_bones=True)
    _show_fk()
    on_invalidate.notify()


def _show_fk() -> None:
    """Evaluate all armatures once more: they still show the solved pose."""
    plan = part(Planner).plan
    with suppress(ReferenceError):  # Something was removed since the last update.
        for rig in plan.rigs.values() if plan is not None else ():
            rig.object.update_tag()
    manager = bpy.context.window_manager
    layers = {window.view_layer for window in manager.windows} if manager else set()
    for layer in layers | {bpy.context.view_layer}:
        if layer is not None:
            layer.update()
