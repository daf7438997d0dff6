"""Simulation: its operators and panel, and the timer of Automatic.

The timer simulates shortly after an edit; `rendering.py` handles renders.
"""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import bpy

from ...blender.access import session_uid
from ...blender.errors import report_once
from ...blender.listeners import on_load
from ...blender.messages import Message, counted, msg, shown
from ...blender.refusals import rest_problem
from ...plan import planner
from ...ui.following import shown_armature
from ...ui.layout import Layout, SidebarPanel, draw_sentence
from ...ui.refusing import Outcome, Refusing, Working, active_armature, armature_refusal
from ...ui.registering import registering
from ...ui.reporting import say
from ...ui.sections import NOTES
from ...ui.stepping import MIN_SLICE, DirectProgressOperator, advance, is_busy
from . import history
from .settings import simulation_of
from .timeline import redraw

if TYPE_CHECKING:
    from .simulate import Simulation

# Simulating imports numpy through baking, so it is only imported when needed.

NOT_DUE = msg("Nothing is outdated")

QUIET = 0.5
"""Seconds without an edit before Automatic plays the frames again, unless it can do so at once."""

AT_ONCE = 0.1
"""How many seconds a response may take and still feel immediate (Miller, 1968)."""


def simulated_with(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return an armature, if it can be simulated, and related armatures that are outdated."""
    simulated = [armature] if history.owners(armature) else []
    return simulated + [ob for ob in _others_with(armature) if history.is_due(ob)]


def _others_with(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the armatures related to an armature, such as the carrier of an object it holds."""
    plan, uid = planner.known(), session_uid(armature)
    if plan is None:
        return []
    related_uids = plan.groups.get(uid, set[int]()) | plan.watched.get(uid, set[int]())
    rigs = [plan.rigs[related_uid].object for related_uid in related_uids]
    return [ob for ob in rigs if ob != armature and ob.is_editable and history.owners(ob)]


def _nothing_refusal(context: bpy.types.Context) -> str:
    armature = active_armature(context)
    if simulated_with(armature):
        return ""
    if refused := history.refused(armature):
        return refused[0]
    if _others_with(armature):
        return NOT_DUE
    return msg("Nothing in this armature needs simulating")


def _due_refusal(context: bpy.types.Context) -> str:
    return "" if due(context.view_layer) else NOT_DUE


def _lack_refusal(context: bpy.types.Context) -> str:
    is_simulated = history.shown_range(active_armature(context)) is not None
    return "" if is_simulated else msg("This armature has no simulation")


class Simulating(DirectProgressOperator, Refusing):
    """Base of operators that simulate armatures."""

    asks = (armature_refusal, _nothing_refusal)
    stopped = msg("Simulation cancelled: nothing was changed")
    gone = msg("Simulation cancelled, because its data was removed: simulate again")

    def armatures(self, context: bpy.types.Context) -> list[bpy.types.Object]:
        """Return the armatures to simulate."""
        return simulated_with(active_armature(context))

    def start(self, context: bpy.types.Context) -> Generator[float, None, Simulation]:
        """Play the frames."""
        from .simulate import simulate

        self._started = perf_counter()
        layer = cast(bpy.types.ViewLayer, context.view_layer)
        armatures = self.armatures(context)
        for ob in armatures:
            _tried[session_uid(ob)] = history.keys_now(ob)
        return simulate(context.scene, layer, armatures)

    def status(self, done: float) -> str:
        """Return the status bar's text."""
        return msg("Simulating: {done:.0f} %      Esc: Cancel", done=100.0 * done)

    def report_of(self, text: Message) -> Message:
        """Return the report, including the simulation's."""
        return text

    def finished(self, result: Simulation) -> Outcome:
        """Report the result."""
        if not result.refused:
            _tried.clear()
        global _playing
        seconds = _playing = perf_counter() - self._started
        text = msg(
            "Simulated {count} in {seconds:.1f} s",
            count=counted(result.frames, "{count} frame", "{count} frames"),
            seconds=seconds,
        )
        if result.armatures > 1:
            count = counted(result.armatures, "{count} armature", "{count} armatures")
            text = msg("{text}, {armatures}", text=text, armatures=count)
        say(self, "INFO", self.report_of(text))
        for reason in dict.fromkeys((*result.refused, *result.notes)):
            say(self, "WARNING", reason)
        redraw()
        return {"FINISHED"}


class FABRIK_OT_simulate(Simulating, bpy.types.Operator):
    """Simulate the active armature."""

    bl_idname = "fabrik.simulate"
    bl_label = "Simulate"
    bl_description = (
        "Play the frames and store results that depend on other frames, so you can jump to any "
        "frame. Press Escape to cancel without changes"
    )


class FABRIK_OT_simulate_again(Simulating, bpy.types.Operator):
    """Simulate the outdated armatures that have Automatic enabled, without an undo step."""

    bl_idname = "fabrik.simulate_again"
    bl_label = "Simulate Again"
    bl_description = "Simulate all outdated armatures that have Automatic enabled"
    bl_options = {"INTERNAL"}
    asks = (_due_refusal,)
    blame = "WARNING"

    def armatures(self, context: bpy.types.Context) -> list[bpy.types.Object]:
        """Return the armatures to simulate."""
        return due(context.view_layer)


class FABRIK_OT_simulation_clear(Working, bpy.types.Operator):
    """Remove the simulation of the active armature."""

    bl_idname = "fabrik.simulation_clear"
    bl_label = "Clear Simulation"
    bl_description = "Remove the simulation of this armature"
    asks = (armature_refusal, _lack_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Clear the simulation; return the report."""
        from .simulate import clear

        armature = active_armature(context)
        clear(armature)
        redraw()
        return msg("Cleared the simulation of “{armature}”", armature=armature.name)


def due(layer: bpy.types.ViewLayer | None) -> list[bpy.types.Object]:
    """Return the outdated armatures of a view layer that Automatic should simulate."""
    from .simulate import outdated_armatures

    armatures = outdated_armatures(layer) if layer else []
    # Never the first time: the simulation may have been cleared or undone.
    stored = [
        ob for ob in armatures if history.shown_range(ob) is not None and not rest_problem(ob)
    ]
    automatic = [ob for ob in stored if simulation_of(ob).use_auto]
    return [ob for ob in automatic if _tried.get(session_uid(ob)) != history.keys_now(ob)]


_tried: dict[int, list[bytes]] = {}
"""Digests of unfinished simulations by armature; they are only due again after an edit."""

_edited = 0.0


def _note_edit() -> None:
    """Restart the timer of Automatic, and the simulation that it repeats."""
    global _edited, _work
    _edited = perf_counter()
    _work = None
    if bpy.app.background:
        return
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    bpy.app.timers.register(_tick, first_interval=0.0 if _repeating < AT_ONCE else QUIET)


def _tick() -> float | None:
    """Simulate outdated armatures.

    Returns:
        How many seconds to wait before the next check; None ends the timer.
    """
    try:
        window = bpy.context.window_manager.windows[0]  # type: ignore[union-attr]
        if is_busy():
            return QUIET
        with bpy.context.temp_override(window=window):
            is_repeated = repeated(window.scene, window.view_layer)
            if is_repeated is None:
                return 0.0
            if is_repeated:
                return None
            is_quick = _playing < AT_ONCE and bool(_waiting(window.view_layer))
            if not is_quick and perf_counter() - _edited < QUIET:
                return QUIET
            if due(window.view_layer):
                call = "EXEC_DEFAULT" if is_quick else "INVOKE_DEFAULT"
                cast(Any, bpy.ops).fabrik.simulate_again(call)
    except Exception:
        report_once("could not simulate what is outdated")
    return None


_work: Generator[float, None, bool] | None = None
"""The simulations that are being repeated."""

_has_status = False
"""Whether the status bar shows their progress."""

_repeating = inf
"""How many seconds repeating the simulations took last time."""

_playing = inf
"""How many seconds playing the frames took last time."""


@on_load
def _forget_file() -> None:
    """Forget the durations of the previous file's frames, and its repeated simulations."""
    global _playing, _repeating, _work, _has_status
    _playing = _repeating = inf
    _work, _has_status = None, False


def _waiting(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Return a view layer's armatures that use Automatic and are known to be outdated."""
    from .simulate import simulated

    return [ob for ob in simulated(layer) if simulation_of(ob).use_auto and history.is_due(ob)]


def repeated(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> bool | None:
    """Repeat outdated automatic simulations from recordings, for a limited time.

    Events aren't blocked, so a slider can still be dragged.

    Returns:
        Whether that was enough; None while it isn't done.
    """
    from .simulate import repeat

    global _repeating, _work
    _set_status(None)
    start = perf_counter()
    spent = _repeating if _work else 0.0
    work, _work, _repeating = _work or repeat(scene, _waiting(layer)), None, inf
    try:
        done = advance(work, MIN_SLICE)
    except StopIteration as finished:
        redraw()
        if finished.value:
            _repeating = spent + perf_counter() - start
        return finished.value
    _work, _repeating = work, spent + perf_counter() - start
    _set_status(msg("Simulating: {done:.0f} %", done=100.0 * done))
    return None


def _set_status(message: Message | None) -> None:
    """Show progress in the status bar; None restores the usual status bar."""
    global _has_status
    if message is not None:
        bpy.context.workspace.status_text_set(shown(message))
    elif _has_status:
        bpy.context.workspace.status_text_set(None)
    _has_status = message is not None


class FABRIK_PT_simulation(SidebarPanel, bpy.types.Panel):
    """The panel for simulations, in the sidebar of the 3D Viewport."""

    bl_label = "Simulation"
    bl_options = set()
    bl_parent_id = "FABRIK_PT_sidebar"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether anything can be simulated."""
        armature = shown_armature(context)
        return armature is not None and bool(history.owners(armature))

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the settings and buttons."""
        draw_simulation(self.layout, context)


def draw_simulation(layout: Layout, context: bpy.types.Context) -> None:
    """Draw the state, range and buttons."""
    simulation = simulation_of(active_armature(context))
    is_fresh = simulation.state == history.FRESH
    row = layout.row()
    row.alert = not is_fresh
    draw_sentence(row, context, history.sentence(simulation.id_data))
    layout.use_property_split = True
    layout.use_property_decorate = False
    frames = layout.column(align=True)
    frames.prop(simulation, "frame_start")
    frames.prop(simulation, "frame_end")
    layout.prop(simulation, "use_auto")
    buttons = layout.row(align=True)
    buttons.operator("fabrik.simulate", icon="FILE_REFRESH")
    buttons.operator("fabrik.simulation_clear", text="", icon="TRASH")


def _draw_note(layout: Layout, armature: bpy.types.Object) -> None:
    """Draw the Simulate button, grayed out while the simulation is up to date."""
    if history.owners(armature):
        row = layout.row()
        row.enabled = history.is_due(armature)
        row.operator("fabrik.simulate", icon="FILE_REFRESH")


register, _unregister = registering(__name__, (NOTES, _draw_note), (history.listeners, _note_edit))


def unregister() -> None:
    """Unregister the classes and the timer."""
    _unregister()
    _tried.clear()
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
