"""What depends on more than one frame: the buttons that simulate it, and the timer.

The timer simulates by itself shortly after an edit; what is done as a render begins stands in
`rendering.py`.
"""

from __future__ import annotations

from collections.abc import Generator
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import bpy

from ...blender.access import session_uid
from ...blender.errors import report_once
from ...blender.refusals import rest_problem
from ...ui.following import shown_armature
from ...ui.layout import Layout, draw_sentence
from ...ui.refusing import Refusing, Working, active_armature, armature_refusal
from ...ui.registering import registering
from ...ui.sections import NOTES
from ...ui.stepping import DirectProgressOperator
from ...ui.wording import counted
from . import history
from .settings import simulation_of
from .timeline import redraw

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .simulate import Simulation

# The pass shares its code with baking, which uses numpy and so is imported when it is needed.

QUIET = 0.5
"""Seconds without any edit after which is simulated by itself."""


def _nothing_refusal(context: bpy.types.Context) -> str:
    armature = active_armature(context)
    if history.owners(armature):
        return ""
    return (*history.refused(armature), "Nothing in this armature needs a simulation")[0]


def _due_refusal(context: bpy.types.Context) -> str:
    return "" if due(context.view_layer) else "Nothing is outdated"


def _lack_refusal(context: bpy.types.Context) -> str:
    is_there = history.shown_range(active_armature(context)) is not None
    return "" if is_there else "This armature has no simulation"


class _Simulating(DirectProgressOperator, Refusing):
    """What plays the frames of some armatures."""

    asks = (armature_refusal, _nothing_refusal)
    stopped = "Simulation cancelled: nothing was changed"
    gone = "Simulation cancelled: its data was removed meanwhile. Simulate again"

    def armatures(self, context: bpy.types.Context) -> list[bpy.types.Object]:
        """Return what is simulated."""
        return [active_armature(context)]

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
        """Return what the status bar says."""
        return f"Simulating: {100.0 * done:.0f} %      Esc: Cancel"

    def finished(self, result: Simulation) -> set[OperatorReturnItems]:
        """Report what was simulated, how long it took, and what could not be."""
        if not result.refused:
            _tried.clear()
        seconds = perf_counter() - self._started
        text = f"Simulated {counted(result.frames, 'frame')} in {seconds:.1f} s"
        if result.armatures > 1:
            text = f"{text}, {counted(result.armatures, 'armature')}"
        self.report({"INFO"}, text)
        for reason in dict.fromkeys((*result.refused, *result.notes)):
            self.report({"WARNING"}, reason)
        redraw()
        return {"FINISHED"}


class FABRIK_OT_simulate(_Simulating, bpy.types.Operator):
    """Simulate the active armature."""

    bl_idname = "fabrik.simulate"
    bl_label = "Simulate"
    bl_description = (
        "Play the frames and store what depends on more than one of them, so that any frame can "
        "be jumped to. Press Escape to cancel without changes"
    )


class FABRIK_OT_simulate_again(_Simulating, bpy.types.Operator):
    """Simulate what is outdated and may be by itself; no step to undo, as nobody has taken it."""

    bl_idname = "fabrik.simulate_again"
    bl_label = "Simulate Again"
    bl_description = "Simulate all outdated armatures that have Automatic enabled"
    bl_options = {"INTERNAL"}
    asks = (_due_refusal,)
    blame = "WARNING"

    def armatures(self, context: bpy.types.Context) -> list[bpy.types.Object]:
        """Return what is simulated."""
        return due(context.view_layer)


class FABRIK_OT_simulation_clear(Working, bpy.types.Operator):
    """Forget what was simulated of the active armature."""

    bl_idname = "fabrik.simulation_clear"
    bl_label = "Clear Simulation"
    bl_description = "Remove the simulation of this armature"
    asks = (armature_refusal, _lack_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Forget it."""
        from .simulate import clear

        armature = active_armature(context)
        clear(armature)
        redraw()
        return f"Cleared the simulation of “{armature.name}”"


def due(layer: bpy.types.ViewLayer | None) -> list[bpy.types.Object]:
    """Return the armatures of a view layer that are to be simulated by themselves."""
    from .simulate import stale

    found = stale(layer) if layer else []
    # The first time is the user's, who may as well have cleared it or undone it.
    begun = [ob for ob in found if history.shown_range(ob) is not None and not rest_problem(ob)]
    automatic = [ob for ob in begun if simulation_of(ob).use_auto]
    return [ob for ob in automatic if _tried.get(session_uid(ob)) != history.keys_now(ob)]


_tried: dict[int, list[bytes]] = {}
"""What was begun with and did not come to its end, by armature: only an edit makes it due again."""

_edited = 0.0


def _note_edit() -> None:
    """Have the timer look whether anything is to be simulated."""
    global _edited
    _edited = perf_counter()
    if not bpy.app.background and not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=QUIET)


def _tick() -> float | None:
    """Simulate what is outdated, or say in how many seconds to look again."""
    try:
        window = bpy.context.window_manager.windows[0]  # type: ignore[union-attr]
        if _is_busy() or perf_counter() - _edited < QUIET:
            return QUIET
        with bpy.context.temp_override(window=window):
            if due(window.view_layer):
                cast(Any, bpy.ops).fabrik.simulate_again("INVOKE_DEFAULT")
    except Exception:
        report_once("could not simulate what is outdated")
    return None


def _is_busy() -> bool:
    """Return whether something plays, is dragged or renders."""
    manager = cast(bpy.types.WindowManager, bpy.context.window_manager)
    return bpy.app.is_job_running("RENDER") or any(
        window.screen.is_animation_playing or _is_taken(window) or _is_edited(window)
        for window in manager.windows
    )


def _is_taken(window: bpy.types.Window) -> bool:
    """Return whether an operator has the mouse of a window; None is one that has lost its class.

    That of a render stays there after its end until something happens in the window of the picture.
    """
    running: list[Any] = list(window.modal_operators)
    return any(one is None or one.bl_idname != "RENDER_OT_render" for one in running)


def _is_edited(window: bpy.types.Window) -> bool:
    """Return whether what is edited in a window would first have to leave its mode."""
    ob = window.view_layer.objects.active
    return ob is not None and ob.mode not in ("OBJECT", "POSE")


class FABRIK_PT_simulation(bpy.types.Panel):
    """What is simulated, in the 3D view's sidebar."""

    bl_label = "Simulation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "FABRIK"
    bl_parent_id = "FABRIK_PT_sidebar"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show it where anything is simulated."""
        armature = shown_armature(context)
        return armature is not None and bool(history.owners(armature))

    def draw(self, context: bpy.types.Context) -> None:
        """Draw it."""
        draw_simulation(self.layout, context)


def draw_simulation(layout: Layout, context: bpy.types.Context) -> None:
    """Draw the range, the buttons, and how what was simulated is."""
    simulation = simulation_of(active_armature(context))
    is_fresh = simulation.state == history.FRESH
    row = layout.row()
    row.alert = not is_fresh
    draw_sentence(row, context, simulation.message)
    layout.use_property_split = True
    layout.use_property_decorate = False
    frames = layout.column(align=True)
    frames.prop(simulation, "frame_start")
    frames.prop(simulation, "frame_end")
    layout.prop(simulation, "use_auto")
    buttons = layout.row(align=True)
    buttons.operator("fabrik.simulate", icon="FILE_REFRESH")
    buttons.operator("fabrik.simulation_clear", text="", icon="TRASH")


CLASSES = (
    FABRIK_OT_simulate,
    FABRIK_OT_simulate_again,
    FABRIK_OT_simulation_clear,
    FABRIK_PT_simulation,
)


def _draw_note(layout: Layout, armature: bpy.types.Object) -> None:
    """Draw the button that simulates, if that is due."""
    if history.owners(armature) and history.state(armature) != history.FRESH:
        layout.operator("fabrik.simulate", icon="FILE_REFRESH")


register, _unregister = registering(
    CLASSES,
    (NOTES, _draw_note),
    (history.listeners, _note_edit),
    running=(FABRIK_OT_simulate, FABRIK_OT_simulate_again),
)


def unregister() -> None:
    """Take the operators, the panel and the timer away."""
    _unregister()
    _tried.clear()
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
