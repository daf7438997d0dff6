"""The operator and panel of baking."""

from __future__ import annotations

from collections.abc import Generator
from math import degrees, pi
from typing import TYPE_CHECKING, Any, cast

import bpy

from ...blender.errors import ProblemError, listed
from ...blender.messages import counted, msg
from ...settings.definitions import defined
from ...settings.properties import settings
from ...ui.choosing import ACTIVE, SELECTED, of_selection, shown_range
from ...ui.following import shown_armature
from ...ui.layout import Layout, SidebarPanel
from ...ui.refusing import Outcome, Refusing
from ...ui.registering import registering
from ...ui.reporting import say
from ...ui.stepping import ProgressOperator

if TYPE_CHECKING:
    from .bake import BakeOptions, BakeResult
    from .selecting import BakeSelection, ConstraintRef

# Baking uses numpy, which takes a tenth of a second to load, so these are imported on demand.

WHICH_ITEMS = (
    ("ACTIVE", *ACTIVE),
    ("BONES", *SELECTED),
    ("ARMATURE", "Armature", "All constraints of the active armature"),
    ("ALL", "All", "All constraints of all armatures in the view layer"),
)

INTO_ITEMS = (
    (
        "NEW",
        "New Action",
        "Bake to a copy of the current action. The current action stays unchanged",
    ),
    (
        "CURRENT",
        "Current Action",
        "Overwrite keys in the current action. Keys outside the range are kept",
    ),
)

AFTERWARDS_ITEMS = (
    (
        "LEAVE",
        "Keep",
        "Keep the constraints enabled on top of the baked keys. An Influence below 1 changes the "
        "baked pose further",
    ),
    (
        "DISABLE",
        "Disable",
        "Disable the constraints at all frames. Keys and drivers of the enabled state are muted",
    ),
    ("REMOVE", "Remove", "Remove the constraints with their keys and drivers"),
    (
        "EXPORT",
        "Remove for Export",
        "Remove the constraints, their controls and the previous action, so that an exported file "
        "has only the baked keys. Save a copy first",
    ),
)


def armatures_of(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Return the armatures in a view layer that have constraints."""
    return [ob for ob in layer.objects if ob.type == "ARMATURE" and settings(ob).constraints]


def constraints_of(context: bpy.types.Context, which: str) -> list[ConstraintRef]:
    """Return the constraints for a value of `WHICH_ITEMS`.

    Raises:
        ProblemError: If nothing is selected.
    """
    from . import selecting

    layer = cast(bpy.types.ViewLayer, context.view_layer)
    armature = shown_armature(context)
    if which == "ALL":
        return selecting.all_constraints(armatures_of(layer))
    if which == "BONES":
        return of_selection(context, armatures_of(layer))
    if armature is None:
        return []
    if which == "ACTIVE":
        index = settings(armature).active_index
        return [ref for ref in selecting.all_constraints([armature]) if ref[1] == index]
    return selecting.all_constraints([armature])


def summary(result: BakeResult, options: BakeOptions, left_out: list[str]) -> str:
    """Return the report of a bake, for the status bar."""
    shown = result.verification
    many = counted(result.constraints, "{count} constraint", "{count} constraints")
    keys = counted(result.keys, "{count:,} key", "{count:,} keys")
    if result.keys < result.most:
        keys += msg(" instead of {most:,}", most=result.most)
    text = msg(
        "Baked {many}, frames {start} to {end}: {keys}. Largest difference when "
        "played back: {distance:.3g} mm and {angle:.3g}°",
        many=many,
        start=options.start,
        end=options.end,
        keys=keys,
        distance=1000.0 * shown.distance,
        angle=degrees(shown.angle),
    )
    if shown.distance or shown.angle:
        text += msg(" (“{bone}”, frame {frame})", bone=shown.bone, frame=shown.frame)
    if not shown.holds:
        text += msg(", more than {tolerance}", tolerance=shown.tolerance)
    if shown.loss:
        text += msg(
            ". “{bone}” is sheared at frame {frame}, which glTF and FBX can't store "
            "({loss:.3g} mm): set its Inherit Scale to Full",
            bone=shown.lost_bone,
            frame=shown.lost_frame,
            loss=1000.0 * shown.loss,
        )
    if left_out:
        text += msg(
            ". Skipped, because they are linked, disabled or unsolvable: {left_out}",
            left_out=listed(left_out),
        )
    if result.still_active:
        names = listed(result.still_active)
        text += msg(
            ". Still enabled and changing the baked pose: {names}. Disable them", names=names
        )
    return text


class Baking(ProgressOperator):
    """Base of all bake operators."""

    stopped = msg("Bake cancelled: nothing was changed")
    gone = msg("Bake cancelled, because the baked data was removed: bake again")

    def status(self, done: float) -> str:
        """Return the text of the status bar."""
        doing = msg("Recording") if done < 0.5 else msg("Verifying the bake")
        return msg("{doing}: {done:.0f} %      Esc: Cancel", doing=doing, done=100.0 * done)


def _constraint_refusal(context: bpy.types.Context) -> str:
    layer = context.view_layer
    if layer is None or not armatures_of(layer):
        return msg("No constraints: add one to the tip bone of a chain")
    return ""


class FABRIK_OT_bake(Baking, Refusing, bpy.types.Operator):
    """Bake constraints to keys; modal when run from the interface."""

    bl_idname = "fabrik.bake"
    bl_label = "Bake FABRIK IK"
    bl_description = (
        "Bake the solved pose to keyframes and verify it by playing the range back. Press Escape "
        "to cancel without changes"
    )
    asks = (_constraint_refusal,)

    which: str = defined(
        "Constraints",
        "Constraints to bake. Constraints that share bones with them are included",
        items=WHICH_ITEMS,
        default="ARMATURE",
    )
    frame_start: int = defined("Start", "First frame to bake", default=1, min=-1048574, max=1048574)
    frame_end: int = defined("End", "Last frame to bake", default=250, min=-1048574, max=1048574)
    step: int = defined(
        "Step",
        "Number of frames between keys. Keys at every frame are interpolated linearly, others "
        "smoothly. The last frame always gets a key",
        default=1,
        min=1,
        soft_max=10,
    )
    into: str = defined("Output", "Action to write the keys to", items=INTO_ITEMS, default="NEW")
    error: float = defined(
        "Simplify",
        "Remove keys as long as each bone stays within this angle of its baked rotation. 0 keeps "
        "all keys. Errors add up along a chain; the report shows the total",
        default=0.0,
        min=0.0,
        soft_max=pi / 18.0,
        max=pi,
        precision=2,
        subtype="ANGLE",
    )
    afterwards: str = defined(
        "After Baking",
        "What happens to the constraints after baking",
        items=AFTERWARDS_ITEMS,
        default="DISABLE",
    )

    _is_interactive = False

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the dialog."""
        layout: Layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "which")
        frames = layout.column(align=True)
        frames.prop(self, "frame_start")
        frames.prop(self, "frame_end")
        frames.prop(self, "step")
        for name in ("error", "into", "afterwards"):
            layout.prop(self, name)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Show the dialog, with the scene's range by default."""
        start, end = shown_range(context.scene)
        props: Any = self.properties
        if not props.is_property_set("frame_start"):
            self.frame_start = start
        if not props.is_property_set("frame_end"):
            self.frame_end = end
        self._is_interactive = True
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context: bpy.types.Context) -> Outcome:
        """Bake: modally after the dialog, at once in a script."""
        from . import bake as baking
        from . import selecting

        self._options = baking.BakeOptions(
            self.frame_start,
            self.frame_end,
            self.step,
            self.error,
            self.into == "NEW",
            self.afterwards,
        )
        try:
            selections, self._left_out = selecting.select(constraints_of(context, self.which))
            baking.check(selections, self._options)
            if self._is_interactive and context.window is not None:
                self._is_interactive = False
                return self.begin(context, self._start(context, selections))
            return self.go_through(context, self._start(context, selections))
        except ProblemError as problem:
            return self.refuse(str(problem))

    def _start(
        self, context: bpy.types.Context, selections: list[BakeSelection]
    ) -> Generator[float, None, BakeResult]:
        from . import bake as baking

        layer = cast(bpy.types.ViewLayer, context.view_layer)
        return baking.bake(context.scene, layer, selections, self._options)

    def finished(self, result: BakeResult) -> Outcome:
        """Report the result of the bake."""
        shown = result.verification
        is_fine = shown.holds and not shown.loss and not result.still_active
        kind = "INFO" if is_fine else "WARNING"
        say(self, kind, summary(result, self._options, self._left_out))
        return {"FINISHED"}


class FABRIK_PT_bake(SidebarPanel, bpy.types.Panel):
    """The panel for baking, in the sidebar of the 3D Viewport."""

    bl_label = "Bake"
    bl_parent_id = "FABRIK_PT_sidebar"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the button."""
        layout: Layout = self.layout
        layout.operator("fabrik.bake", text="Bake…", icon="REC")


register, unregister = registering(__name__)
