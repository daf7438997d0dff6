"""Blender's calls into the extension.

A handler that writes does not call itself, and gets one call an update. It must never raise, and
never evaluate the depsgraph.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from time import perf_counter

import bpy
from bpy.app.handlers import persistent

from . import animation, dependencies, fk_input, plan, timing
from .evaluate import anticipate, evaluate, forget_seen
from .motion import surface
from .motion.gait.gait_plan import forget_plans
from .motion.simulating import history

_is_inside = False

_is_undone = False
"""Whether the next update is that of an undo or redo."""


def _update(depsgraph: bpy.types.Depsgraph, is_frame_change: bool) -> None:
    global _is_inside, _is_undone
    # Whatever changes what hangs on what makes Blender rebuild its relations, which always
    # updates the scene.
    has_new_relations = depsgraph.id_type_updated("SCENE")
    if _is_inside or (plan.is_empty() and not has_new_relations):
        return
    _is_inside = True
    try:
        # Armatures are updated by Edit Mode, which makes new relations, but also by posing.
        has_new_armatures = depsgraph.id_type_updated("ARMATURE") and (
            has_new_relations or plan.is_outdated()
        )
        if has_new_relations or has_new_armatures:
            plan.discard(skeletons=has_new_armatures)
        if is_frame_change:
            fk_input.forget_earlier()
        else:
            if depsgraph.id_type_updated("ACTION"):
                fk_input.forget_animation()
            history.note_updates(depsgraph)
        started = perf_counter() if timing.is_asked else 0.0
        if evaluate(depsgraph, is_frame_change, _is_undone) and started:
            timing.note(started)
        if has_new_relations and depsgraph.mode == "VIEWPORT":
            _declare_dependencies()  # Clearing an armature's animation clears our driver as well.
    except Exception:
        say_once("could not pose the armatures")
        plan.discard(skeletons=True)
    finally:
        _is_inside = _is_undone = False


_said: set[str] = set()


def say_once(failure: str) -> None:
    """Print the error that is being handled once, however many frames run into it.

    Args:
        failure: What could not be done, as in “could not pose the armatures”.
    """
    report = traceback.format_exc()
    if report not in _said:
        _said.add(report)
        print(f"FABRIK IK {failure}; please report this:\n{report}")


@persistent
def before_frame_change(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Write what is known of the frame, so that evaluating it once is enough."""
    try:
        anticipate(scene.frame_current_final)
    except Exception:
        say_once("could not pose the armatures")
        plan.discard(skeletons=True)


@persistent
def on_frame_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Solve after the animation of a frame was evaluated, in the viewport and in renders."""
    _update(depsgraph, is_frame_change=True)


@persistent
def on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Solve after an edit."""
    _update(depsgraph, is_frame_change=False)


@persistent
def on_load(_path: str, _unused: object = None) -> None:
    """Forget the file before, and pose the armatures of this one."""
    _forget()
    _said.clear()
    refresh()


@persistent
def on_undo(_scene: bpy.types.Scene, _unused: object = None) -> None:
    """Forget references that undo or redo killed; an update follows by itself."""
    global _is_undone
    _forget()
    _is_undone = True


def _forget() -> None:
    plan.discard(skeletons=True)
    fk_input.forget_animation()
    fk_input.forget_earlier()
    forget_seen()
    history.forget_all()
    timing.forget()
    surface.forget()
    forget_plans()


def refresh() -> None:
    """Have all armatures of the file solved by an update at once."""
    layer = bpy.context.view_layer
    if layer is not None and layer.depsgraph is None:
        layer.update()  # The first update of a new depsgraph calls no handler.
    _declare_dependencies()
    for rig in plan.current().rigs.values():
        rig.object.update_tag()
    if layer is not None:
        layer.update()


def take_up() -> None:
    """Go on with a file that was opened without the extension."""
    animation.revive_drivers()
    refresh()


def _declare_dependencies() -> None:
    for rig in plan.current().rigs.values():
        if rig.object.library is None:
            dependencies.declare(rig.object)


HANDLERS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("frame_change_pre", before_frame_change),
    ("frame_change_post", on_frame_change),
    ("depsgraph_update_post", on_depsgraph_update),
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
    if bpy.app.timers.is_registered(take_up):
        bpy.app.timers.unregister(take_up)
    for name, handler in reversed(HANDLERS):
        getattr(bpy.app.handlers, name).remove(handler)
    _forget()
