"""Application handlers, the entry points of the update loop.

Results are written over the FK pose ahead of an evaluation, and the FK pose is restored after it.
Handlers of others always find the FK pose: ours that write are called after them, and ours that
restore before them. A handler must never raise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import cast

import bpy
from bpy.app.handlers import persistent

from ..blender import animation
from ..blender.errors import forget_reported, report_once
from ..blender.listeners import on_invalidate, on_load
from ..blender.meshes import forget as forget_meshes
from ..blender.meshes import note_evaluation
from ..blender.skeleton import have_hidden_bones_changed, rebuild_poses
from ..blender.updates import (
    NO_ARMATURES,
    Updates,
    armatures_in,
    graphs_of,
    has_new_relations,
    tag_animation,
    tagged_in,
)
from ..settings import notifications
from . import dependencies, plan, timing
from .ahead import solve_ahead
from .evaluate import Update, evaluate, is_foreign, unseen
from .registry import note_update
from .write import is_overwritten, restore_fk_pose

_is_inside = False
"""Whether a handler is running: nested updates belong to it."""

_is_undone = False
"""Whether the next update is that of an undo or redo."""


_tagged: set[str] | None = None
"""Names of the data-blocks that were tagged for the current update; None before it was asked."""


def _before(scene: bpy.types.Scene, is_frame_change: bool) -> None:
    global _tagged
    if _is_inside:
        return
    _tagged = None
    if plan.is_empty():
        return
    try:
        # Renders and failed updates leave their results in the channels.
        restore_fk_pose(has_new_bones=True)
        before, after = EVENTS[is_frame_change]
        _put(after, FIRST[after], 0)
        _put(after, LAST[after], -1)
        dependencies.declare_pending(is_frame_change)
        if getattr(bpy.app.handlers, before)[-1] is not LAST[before]:
            return  # What handlers after ours do is not known, and they need the FK pose as well.
        graphs = graphs_of(scene)
        _tagged = tagged_in(graphs)
        # While a render runs in another thread, the window may be evaluated meanwhile.
        may_mute = is_frame_change and not bpy.app.is_job_running("RENDER")
        solve_ahead(scene, graphs, is_frame_change, _tagged, may_mute)
    except ReferenceError:
        _give_up()  # Something was removed without notice.
    except Exception:
        report_once("could not pose the armatures")
        _give_up()


def _give_up() -> None:
    plan.discard(skeletons=True)
    try:
        restore_fk_pose(has_new_bones=True)
    except Exception:
        report_once("could not give the armatures their FK pose back")


def _put(name: str, handler: Callable[..., None], place: int) -> None:
    """Make a handler of ours the first (0) or last (-1) of its event, which must not be running.

    That which is called last also evaluates what others have changed. Evaluating again clears the
    depsgraph's list of updates, which others may read.
    """
    handlers = getattr(bpy.app.handlers, name)
    if handlers and handlers[place] is not handler and handler in handlers:
        handlers.remove(handler)
        handlers.insert(place % (len(handlers) + 1), handler)


def _has_other_handlers(is_frame_change: bool) -> bool:
    """Return whether other extensions have handlers here, which may change something."""
    _, after = EVENTS[is_frame_change]
    return getattr(bpy.app.handlers, after) != [FIRST[after], LAST[after]]


def _is_unedited(depsgraph: bpy.types.Depsgraph, company: bool) -> bool:
    """Return whether a frame change is known to have evaluated nothing but its animation.

    What is edited is tagged, and Blender lists that before the evaluation: nothing if the frame is
    played. Then `Depsgraph.updates` need not be walked, which takes milliseconds in large scenes.

    Args:
        depsgraph: The depsgraph that has changed its frame.
        company: Whether other extensions were called after the evaluation.
    """
    return _tagged is not None and not (company or _tagged or depsgraph.mode == "RENDER")


def _restore(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    """Give the FK pose back once what was written ahead is evaluated."""
    if _is_inside or not is_overwritten():
        return
    try:
        is_played = is_frame_change and not is_foreign(depsgraph)
        restore_fk_pose(has_new_relations(depsgraph), is_played)
    except Exception:
        report_once("could not give the armatures their FK pose back")


def _update(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    global _is_inside, _is_undone, _tagged
    if _is_inside:
        forget_meshes()
        return
    is_rebuilt = has_new_relations(depsgraph)
    if plan.is_empty() and not is_rebuilt:
        return
    _is_inside = True
    try:
        for before, _ in EVENTS:
            _put(before, LAST[before], -1)
        if depsgraph.mode == "RENDER":  # It leaves results in the channels until it calls these.
            _put("render_post", on_restore, 0)
            _put("render_cancel", on_restore, 0)
        try:
            _catch_up(depsgraph, is_frame_change, is_rebuilt)
        except ReferenceError:
            # Something was removed without notice, because it was not evaluated anywhere.
            _give_up()
            _catch_up(depsgraph, is_frame_change, is_rebuilt)
    except Exception:
        report_once("could not pose the armatures")
        _give_up()
    finally:
        _is_inside = _is_undone = False
        _tagged = None


def _catch_up(depsgraph: bpy.types.Depsgraph, is_frame_change: bool, is_rebuilt: bool) -> None:
    """Update the plan, and solve what an update affects."""
    company = _has_other_handlers(is_frame_change)
    is_played = is_frame_change and not is_rebuilt and _is_unedited(depsgraph, company)
    updates = Updates(depsgraph)
    note_evaluation(depsgraph, updates, is_played)
    edited, clicked, moved = NO_ARMATURES if is_played else armatures_in(updates)
    if is_rebuilt:
        # Edits may be tagged in other scenes only, as when this one is rendered first.
        scene = cast(bpy.types.Scene, depsgraph.scene).original
        others = [other for other in bpy.data.scenes if other != scene]
        tagged = (_tagged or set[str]()) | tagged_in(graphs_of(*others))
        plan.revise(tagged, edited + clicked)
    elif plan.is_switched() if is_played else plan.is_outdated(edited, clicked, moved):
        plan.discard(skeletons=True)
    if not is_frame_change and have_hidden_bones_changed(depsgraph):
        plan.discard(skeletons=True)
    present = plan.current_after_writes() if depsgraph.mode == "VIEWPORT" else plan.current()
    changed = notifications.take_followed()
    if (changed or not present.is_declared) and depsgraph.mode == "VIEWPORT":
        changed |= _declare_dependencies()
    if not is_frame_change:
        if depsgraph.id_type_updated("ACTION"):
            present.look_at_animation()
        note_update(depsgraph)
    started = perf_counter() if timing.is_asked else 0.0
    update = Update(
        depsgraph, updates, is_frame_change, is_played, is_rebuilt, _is_undone, changed, company
    )
    if evaluate(update) and started:
        timing.note(started)


@persistent
def before_frame_change(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Solve a frame ahead, so that one evaluation is enough."""
    _before(scene, is_frame_change=True)


@persistent
def before_depsgraph_update(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Solve an edit ahead."""
    _before(scene, is_frame_change=False)


@persistent
def after_frame_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Restore the FK pose after a frame was evaluated."""
    _restore(depsgraph, is_frame_change=True)


@persistent
def after_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Restore the FK pose after an edit was evaluated."""
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
    """Restore the FK pose, after a render and before saving and undo."""
    if not _is_inside:
        restore_fk_pose(has_new_bones=True)


@persistent
def after_load(_path: str, _unused: object = None) -> None:
    """Forget the previous file, and pose the armatures of this one."""
    on_invalidate.notify()
    on_load.notify()
    forget_reported()
    if plan.is_used():
        refresh(is_loaded=True)


@persistent
def on_undo(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Forget references that undo or redo made invalid; an update follows."""
    global _is_undone
    on_invalidate.notify()
    rebuild_poses()
    _is_undone = True


def refresh(is_loaded: bool = False) -> None:
    """Solve all armatures of the file in one update.

    Args:
        is_loaded: Whether the file has just been loaded. Then Blender plays its animation in the
            first update, but not if there has been one before.
    """
    layer = bpy.context.view_layer
    if layer is not None and layer.depsgraph is None:
        layer.update()  # The first update of a new depsgraph calls no handler.
    if layer is not None and is_loaded:
        tag_animation(cast(bpy.types.Depsgraph, layer.depsgraph))
    present = plan.current_after_writes()
    _declare_dependencies()
    for rig in present.rigs.values():
        rig.object.update_tag()
    if layer is not None:
        layer.update()


def solve_in(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> None:
    """Schedule solving the armatures that a view layer shows for the first time.

    Nothing can be evaluated while Blender draws.
    """
    if unseen(scene, layer) and not bpy.app.timers.is_registered(_solve_in_windows):
        bpy.app.timers.register(_solve_in_windows, first_interval=0.0)


def _solve_in_windows() -> None:
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        with suppress(ReferenceError):  # Something was removed; the next update notices.
            new = unseen(window.scene, window.view_layer)
            for uid in new:
                plan.current().rigs[uid].object.update_tag()
            if new:
                window.view_layer.update()


def start() -> None:
    """Pose the armatures of the file that was open before the extension was enabled."""
    animation.revive_drivers()
    refresh()


def _declare_dependencies() -> set[int]:
    """Declare the dependencies of all armatures; return those whose dependencies changed."""
    present = plan.current()
    for ob in present.orphaned:
        if ob.library is None and dependencies.declare(ob):
            present.released[ob.session_uid] = ob
    present.is_declared = True
    dependencies.forget_pending()
    rigs = [rig for rig in present.rigs.values() if rig.object.library is None]
    return {rig.uid for rig in rigs if dependencies.declare(rig.object)}


EVENTS = (
    ("depsgraph_update_pre", "depsgraph_update_post"),
    ("frame_change_pre", "frame_change_post"),
)
"""The events before and after the evaluation of an edit, and of a frame."""

FIRST: dict[str, Callable[..., None]] = {
    "depsgraph_update_post": after_depsgraph_update,
    "frame_change_post": after_frame_change,
}
"""The handlers that are called before those of others, by the name of their event."""

LAST: dict[str, Callable[..., None]] = {
    "depsgraph_update_pre": before_depsgraph_update,
    "depsgraph_update_post": on_depsgraph_update,
    "frame_change_pre": before_frame_change,
    "frame_change_post": on_frame_change,
}
"""Those that are called after them."""

HANDLERS: tuple[tuple[str, Callable[..., None]], ...] = (
    *FIRST.items(),
    *LAST.items(),
    ("render_post", on_restore),
    ("render_complete", on_restore),
    ("render_cancel", on_restore),
    ("save_pre", on_restore),
    ("undo_pre", on_restore),
    ("redo_pre", on_restore),
    ("load_post", after_load),
    ("undo_post", on_undo),
    ("redo_post", on_undo),
)


def register() -> None:
    """Add the handlers, and schedule solving the open file.

    Blender's data cannot be accessed while an extension registers. Timers never run in background
    mode, and the 4.2 wheel crashes at exit if one was pending when a file was loaded.
    """
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)
    if not bpy.app.background:
        bpy.app.timers.register(start, first_interval=0.0)


def unregister() -> None:
    """Remove the handlers and forget the file."""
    for timer in (start, _solve_in_windows):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    for name, handler in reversed(HANDLERS):
        getattr(bpy.app.handlers, name).remove(handler)
    restore_fk_pose(has_new_bones=True)
    on_invalidate.notify()
