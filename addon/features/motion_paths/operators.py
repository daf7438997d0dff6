"""Operators next to Blender's buttons for motion paths."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import counted, msg, shown
from ...settings.definitions import defined
from ...ui.layout import Layout, draw_sentence
from ...ui.refusing import Outcome, Refusing
from ...ui.registering import registering
from ...ui.stepping import DirectProgressOperator
from ...ui.wording import length_text
from .paths import Key, Path, Points, affected_paths, calculate, is_affected, paths_of
from .renewing import note_calculated


def _items(name: str) -> tuple[tuple[str, str, str], ...]:
    """Return the enum items of one of Blender's motion path settings."""
    items = cast(Any, bpy.types).AnimVizMotionPaths.bl_rna.properties[name].enum_items
    return tuple((item.identifier, item.name, item.description) for item in items)


class _Calculating(Refusing, DirectProgressOperator):
    """Calculates all motion paths in the view layer that constraints can affect."""

    stopped = msg("Cancelled: Blender's motion paths are kept")

    def status(self, done: float) -> str:
        """Return the status bar text."""
        return msg("Calculating motion paths: {done:.0f} %      Esc: Cancel", done=100.0 * done)

    def start(self, context: bpy.types.Context) -> Generator[float, None, dict[Key, Points]]:
        """Make Blender create the paths, and return the generator that calculates their points.

        Raises:
            ProblemError: If Blender refuses, for example for a range of a single frame.
        """
        try:
            self.lay_out(context)
        except RuntimeError as error:
            [reason, *_] = str(error).removeprefix("Error: ").splitlines()
            raise ProblemError(
                "Blender can't calculate motion paths here: choose another Calculation Range. "
                "“{reason}”",
                reason=reason,
            ) from None
        layer = cast(bpy.types.ViewLayer, context.view_layer)
        scene = cast(bpy.types.Scene, context.scene)
        wanted = {path: list(path.frames) for path in affected_paths(layer)}
        return calculate(scene, layer, wanted)

    def lay_out(self, context: bpy.types.Context) -> None:
        """Make Blender create the paths."""
        raise NotImplementedError

    def finished(self, result: dict[Key, Points]) -> Outcome:
        """Report the number of paths."""
        note_calculated(result)
        self.report(
            {"INFO"},
            shown(
                msg(
                    "Calculated {count}",
                    count=counted(len(result), "{count} motion path", "{count} motion paths"),
                )
            ),
        )
        return {"FINISHED"}


def _mode_refusal(context: bpy.types.Context) -> str:
    if context.mode not in ("OBJECT", "POSE"):
        return msg("Switch to Object Mode or Pose Mode")
    if context.object is None:
        return msg("Select an object or a bone")
    return ""


def _no_path_refusal(context: bpy.types.Context) -> str:
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    if not any(next(paths_of(ob), None) for ob in layer.objects):
        return msg("No motion paths: calculate one first")
    return ""


class FABRIK_OT_paths_calculate(_Calculating, bpy.types.Operator):
    """Calculate motion paths of the selected bones or objects, including IK."""

    bl_idname = "fabrik.paths_calculate"
    bl_label = "Calculate Motion Paths with FABRIK IK"
    bl_description = (
        "Calculate the motion paths of the selected bones or objects with FABRIK IK. Blender's "
        "own calculation ignores it"
    )
    asks = (_mode_refusal,)

    range: str = defined(
        "Calculation Range", "Frames to calculate", items=_items("range"), default="SCENE"
    )
    bake_location: str = defined(
        "Bake Location",
        "Point on each bone whose path to calculate",
        items=_items("bake_location"),
        default="HEADS",
    )

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the dialog."""
        layout: Layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "range")
        if context.mode == "POSE":
            layout.prop(self, "bake_location")

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Ask in a dialog."""
        return context.window_manager.invoke_props_dialog(self)

    def lay_out(self, context: bpy.types.Context) -> None:
        """Make Blender create paths of the selection."""
        if context.mode == "POSE":
            bpy.ops.pose.paths_calculate(
                range=cast(Any, self.range), bake_location=cast(Any, self.bake_location)
            )
        else:
            bpy.ops.object.paths_calculate(range=cast(Any, self.range))


class FABRIK_OT_paths_update(_Calculating, bpy.types.Operator):
    """Recalculate all motion paths, including IK."""

    bl_idname = "fabrik.paths_update"
    bl_label = "Update Motion Paths with FABRIK IK"
    bl_description = "Recalculate all motion paths in the view layer with FABRIK IK"
    asks = (_mode_refusal, _no_path_refusal)

    def lay_out(self, context: bpy.types.Context) -> None:
        """Make Blender resize the paths to their range, which only its own operators can do."""
        for update in (bpy.ops.pose.paths_update, bpy.ops.object.paths_update):
            if cast(Any, update).poll():
                update()


def _missing(context: bpy.types.Context, paths: list[Path]) -> str:
    """Return a sentence if a path misses its owner at the current frame."""
    scene, depsgraph = cast(bpy.types.Scene, context.scene), context.view_layer.depsgraph
    if depsgraph is None:
        return ""
    miss, worst = max(((path.miss(scene, depsgraph), path) for path in paths), key=lambda m: m[0])
    if not miss:
        return ""
    return msg(
        "The motion path of “{bone}” is off by {miss} at this frame: update motion paths",
        bone=worst.bone or worst.object.name,
        miss=length_text(scene, miss),
    )


def draw_panel(panel: Any, context: bpy.types.Context) -> None:
    """Draw the entries of the Motion Paths panels of objects and armatures."""
    ob = context.object
    if ob is None or not is_affected(ob):
        return
    layout: Layout = panel.layout
    paths = list(paths_of(ob))
    column = layout.column(align=True)
    sentence = _missing(context, paths) if paths else ""
    if sentence:
        draw_sentence(column, context, sentence)
    column.operator("fabrik.paths_calculate")
    column.operator("fabrik.paths_update")


def draw_menu(menu: Any, _context: bpy.types.Context) -> None:
    """Draw the entries of Pose > Motion Paths."""
    menu.layout.separator()
    menu.layout.operator("fabrik.paths_calculate", text="Calculate with FABRIK IK")
    menu.layout.operator("fabrik.paths_update", text="Update with FABRIK IK")


types: Any = bpy.types

register, unregister = registering(
    __name__,
    (types.VIEW3D_MT_pose_motion, draw_menu),
    (types.VIEW3D_MT_pose_context_menu, draw_menu),
    (types.DATA_PT_motion_paths, draw_panel),
    (types.OBJECT_PT_motion_paths, draw_panel),
)
