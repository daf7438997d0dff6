"""Blender's calls into the extension.

Ahead of an evaluation solutions are written over the FK pose; after it that is taken back. A
handler must never raise.
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
from ..blender.forgetting import forgets
from ..blender.skeleton import rebuild_poses
from ..blender.updates import armatures_in, graphs_of, has_new_relations, tagged_in
from . import changes, dependencies, legacy, plan, timing
from .ahead import foresee
from .evaluate import Update, evaluate, unseen
from .registry import note_update
from .write import take_back

_is_inside = False
"""Whether a handler is at work: what Blender updates meanwhile is part of that."""

_is_undone = False
"""Whether the next update is that of an undo or redo."""


_tagged: set[str] = set()
"""The names of what was tagged for the update that is going on."""


def _before(scene: bpy.types.Scene, is_frame_change: bool) -> None:
    global _tagged
    if _is_inside or plan.is_empty():
        return
    try:
        # A render leaves what it has evaluated, and so does what failed.
        take_back(has_new_bones=True)
        _come_last()
        dependencies.declare_noted()
        graphs = graphs_of(scene)
        _tagged = tagged_in(graphs)
        foresee(scene, graphs, is_frame_change, _tagged)
    except ReferenceError:
        _give_up()  # Something was removed, of which nobody has told us yet.
    except Exception:
        report_once("could not pose the armatures")
        _give_up()


def _give_up() -> None:
    plan.discard(skeletons=True)
    try:
        take_back(has_new_bones=True)
    except Exception:
        report_once("could not give the armatures their FK pose back")


def _come_last() -> None:
    """Have other extensions called before us, so that what they set is evaluated as well.

    It also leaves them what Blender tells of an update, which ends as we have it evaluated again.
    """
    for handlers, ours in (
        (bpy.app.handlers.frame_change_post, on_frame_change),
        (bpy.app.handlers.depsgraph_update_post, on_depsgraph_update),
    ):
        if handlers and handlers[-1] is not ours and ours in handlers:
            handlers.remove(ours)
            handlers.append(ours)


def _has_company(is_frame_change: bool) -> bool:
    """Return whether other extensions look at what is evaluated, and may change something."""
    handlers = bpy.app.handlers
    called = handlers.frame_change_post if is_frame_change else handlers.depsgraph_update_post
    ours = (on_frame_change, on_depsgraph_update)
    return len(called) > 1 and any(handler not in ours for handler in called)


def _update(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    global _is_inside, _is_undone
    if _is_inside:
        return
    is_rebuilt = has_new_relations(depsgraph)
    if plan.is_empty() and not is_rebuilt:
        return
    _is_inside = True
    try:
        take_back(is_rebuilt)
        try:
            _catch_up(depsgraph, is_frame_change, is_rebuilt)
        except ReferenceError:
            # Something was removed of which Blender tells nobody, as it was evaluated nowhere.
            _give_up()
            _catch_up(depsgraph, is_frame_change, is_rebuilt)
    except Exception:
        report_once("could not pose the armatures")
        _give_up()
    finally:
        _is_inside = _is_undone = False


def _catch_up(depsgraph: bpy.types.Depsgraph, is_frame_change: bool, is_rebuilt: bool) -> None:
    """Bring the plan up to date, and solve what an update concerns."""
    edited, clicked, moved = armatures_in(depsgraph)
    if is_rebuilt:
        # What was edited may be tagged in other scenes alone, as where this is rendered first.
        scene = cast(bpy.types.Scene, depsgraph.scene).original
        others = [other for other in bpy.data.scenes if other != scene]
        plan.revise(_tagged | tagged_in(graphs_of(*others)), edited + clicked)
    elif plan.is_outdated(edited, clicked, moved):
        plan.discard(skeletons=True)
    present = plan.kept() if depsgraph.mode == "VIEWPORT" else plan.current()
    changed = changes.take_followed()
    if (changed or not present.is_declared) and depsgraph.mode == "VIEWPORT":
        changed |= _declare_dependencies()
    if not is_frame_change:
        if depsgraph.id_type_updated("ACTION"):
            present.look_at_animation()
        note_update(depsgraph)
    started = perf_counter() if timing.is_asked else 0.0
    company = _has_company(is_frame_change)
    update = Update(depsgraph, is_frame_change, is_rebuilt, _is_undone, changed, company)
    if evaluate(update) and started:
        timing.note(started)


@persistent
def before_frame_change(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Write what is known of the frame, so that evaluating it once is enough."""
    _before(scene, is_frame_change=True)


@persistent
def before_depsgraph_update(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Write what is known after an edit."""
    _before(scene, is_frame_change=False)


@persistent
def on_frame_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Look at a frame that was evaluated, in the viewport and in renders, and take back."""
    _update(depsgraph, is_frame_change=True)


@persistent
def on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Look at an edit that was evaluated, and take back."""
    _update(depsgraph, is_frame_change=False)


@persistent
def leave(_unused: object = None, _unused_too: object = None) -> None:
    """Give the armatures their FK pose back: of a render, or ahead of saving and undo."""
    if not _is_inside:
        take_back(has_new_bones=True)


@persistent
def on_load(_path: str, _unused: object = None) -> None:
    """Forget the file before, and pose the armatures of this one."""
    forgets.notify()
    forget_reported()
    legacy.bring_over()
    refresh()


@persistent
def on_undo(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Forget references that undo or redo killed; an update follows by itself."""
    global _is_undone
    forgets.notify()
    rebuild_poses()
    _is_undone = True


def refresh() -> None:
    """Have all armatures of the file solved by an update at once."""
    layer = bpy.context.view_layer
    if layer is not None and layer.depsgraph is None:
        layer.update()  # The first update of a new depsgraph calls no handler.
    present = plan.kept()
    _declare_dependencies()
    for rig in present.rigs.values():
        rig.object.update_tag()
    if layer is not None:
        layer.update()


def solve_in(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> None:
    """Have armatures solved that a view layer shows for the first time, as soon as possible.

    While Blender draws it evaluates nothing.
    """
    if unseen(scene, layer) and not bpy.app.timers.is_registered(_solve_in_windows):
        bpy.app.timers.register(_solve_in_windows, first_interval=0.0)


def _solve_in_windows() -> None:
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        with suppress(ReferenceError):  # Something was removed; the update that is due finds out.
            new = unseen(window.scene, window.view_layer)
            for uid in new:
                plan.current().rigs[uid].object.update_tag()
            if new:
                window.view_layer.update()


def take_up() -> None:
    """Go on with a file that was opened without the extension."""
    animation.revive_drivers()
    legacy.bring_over()
    refresh()


def _declare_dependencies() -> set[int]:
    """Tell Blender what armatures depend on; return those that it did not know it of."""
    present = plan.current()
    for ob in present.left:
        if ob.library is None and dependencies.declare(ob):
            present.freed[ob.session_uid] = ob
    present.is_declared = True
    rigs = [rig for rig in present.rigs.values() if rig.object.library is None]
    return {rig.uid for rig in rigs if dependencies.declare(rig.object)}


HANDLERS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("frame_change_pre", before_frame_change),
    ("frame_change_post", on_frame_change),
    ("depsgraph_update_pre", before_depsgraph_update),
    ("depsgraph_update_post", on_depsgraph_update),
    ("render_post", leave),
    ("render_complete", leave),
    ("render_cancel", leave),
    ("save_pre", leave),
    ("undo_pre", leave),
    ("redo_pre", leave),
    ("load_post", on_load),
    ("undo_post", on_undo),
    ("redo_post", on_undo),
)


def register() -> None:
    """Have Blender call us, and look at the file that is already open as soon as that is allowed.

    While an extension registers, Blender's data is out of its reach. Without a window nothing runs
    timers, and the wheel for 4.2 crashes at its end if one was pending when a file was loaded.
    """
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)
    if not bpy.app.background:
        bpy.app.timers.register(take_up, first_interval=0.0)


def unregister() -> None:
    """Take the handlers away and keep nothing of the file."""
    for timer in (take_up, _solve_in_windows):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    for name, handler in reversed(HANDLERS):
        getattr(bpy.app.handlers, name).remove(handler)
    take_back(has_new_bones=True)
    forgets.notify()
