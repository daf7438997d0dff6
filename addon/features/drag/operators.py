"""The tool and operator that drag bones in the 3D Viewport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from fabrik_solver.core.vectors import ORIGIN, Vec

from ...blender.errors import ProblemError
from ...blender.messages import msg, shown
from ...blender.skeleton import vector
from ...settings.definitions import defined, register_class
from ...ui.layout import Layout
from ...ui.refusing import Outcome, Refusing, armature_refusal, end_running
from ...ui.reporting import say
from ...ui.wording import length_text
from . import drag
from .gesture import Gesture
from .picking import bone_under
from .protocol import Drag, PinningDrag
from .selection import PoseSelection

NAVIGATION = {
    "MIDDLEMOUSE",
    "WHEELUPMOUSE",
    "WHEELDOWNMOUSE",
    "WHEELINMOUSE",
    "WHEELOUTMOUSE",
    "TRACKPADPAN",
    "TRACKPADZOOM",
    "MOUSEROTATE",
    "MOUSESMARTZOOM",
    "NDOF_MOTION",
}
SHIFTS = {"LEFT_SHIFT", "RIGHT_SHIFT", "LEFT_CTRL", "RIGHT_CTRL"}
CONFIRMING = {"RET", "NUMPAD_ENTER", "SPACE"}

KEYS = (
    (("MOUSE_LMB",), msg("Confirm")),
    (("MOUSE_RMB",), msg("Cancel")),
    (("EVENT_X", "EVENT_Y", "EVENT_Z"), msg("Axis, Local Axis, Free")),
    (("EVENT_SHIFT", "EVENT_X", "EVENT_Y", "EVENT_Z"), msg("Plane")),
    (("EVENT_SHIFT",), msg("Precision Mode")),
    (("EVENT_CTRL",), msg("Snap")),
    (("MOUSE_MMB",), msg("Rotate View")),
)
"""Icons and texts of the status bar."""

PIN_KEY = (("EVENT_P",), msg("Pin"))
"""Icon and text for a drag that can pin the dragged bone."""


def _mode_refusal(context: bpy.types.Context) -> str:
    return "" if context.mode == "POSE" else msg("Enter Pose Mode to drag bones")


class FABRIK_OT_drag(Refusing, bpy.types.Operator):
    """Drag a bone with the mouse or by a distance."""

    bl_idname = "fabrik.drag"
    bl_label = "Drag Bone"
    bl_description = (
        "Drag a bone with the mouse. A hand or foot moves the target of its chain. Any other "
        "bone pulls its parents along in FK, up to the topmost selected one"
    )
    bl_options = {"REGISTER", "UNDO", "BLOCKING", "GRAB_CURSOR"}
    asks = (armature_refusal, _mode_refusal)

    bone: str = defined(
        "Bone",
        "Name of the bone to drag. Empty: the active bone",
        options={"SKIP_SAVE"},
    )
    value: Vec = defined(
        "Move",
        "Distance to drag the bone, in world space",
        subtype="TRANSLATION",
        options={"SKIP_SAVE"},
    )
    armature: str = defined(
        "Armature",
        "Armature of the bone. Without a name the active armature is used",
        options={"HIDDEN", "SKIP_SAVE"},
    )
    under_mouse: bool = defined(
        "Under the Mouse", "Drag the bone under the mouse", options={"HIDDEN", "SKIP_SAVE"}
    )
    as_fk: bool = defined(
        "As FK",
        "Pose the hand or foot at the tip of a chain in FK instead of moving the target",
        options={"SKIP_SAVE"},
    )

    whole_body: bool = defined(
        "Whole Body",
        "Make the whole body follow the dragged bone while the standing feet stay in "
        "place. Always on while any bone is pinned",
        options={"SKIP_SAVE"},
    )

    def execute(self, context: bpy.types.Context) -> Outcome:
        """Drag the bone by `value`."""
        picked = self._named(context)
        if picked is None:
            return {"CANCELLED"}
        dragged = None
        try:
            selected = PoseSelection(context).selected_bones(picked[0])
            dragged = drag.begin(*picked, selected, self.as_fk, self.whole_body)
            dragged.move_by(vector(self.value))
        except ProblemError as problem:
            if dragged is not None:
                dragged.cancel()
            self.report({"ERROR"}, shown(str(problem)))
            return {"CANCELLED"}
        return self._confirm(context, dragged)

    def _named(self, context: bpy.types.Context) -> tuple[bpy.types.Object, str] | None:
        """Return the bone named by the properties; None after reporting an error."""
        name = self.armature or cast(Any, context.object).name
        ob: Any = next((posed for posed in context.objects_in_mode if posed.name == name), None)
        if ob is None:
            self.report(
                {"ERROR"},
                shown(
                    msg(
                        "“{armature}” isn't in Pose Mode: select it and enter Pose Mode",
                        armature=self.armature,
                    )
                ),
            )
            return None
        active: Any = ob.data.bones.active
        if not self.bone and active is None:
            self.report({"ERROR"}, shown(msg("No active bone: click the bone to drag")))
            return None
        return ob, self.bone or active.name

    def _confirm(self, context: bpy.types.Context, dragged: Drag) -> Outcome:
        distance = length_text(context.scene, dragged.moved())
        report = msg("Dragged “{dragged}” by {distance}", dragged=dragged.name, distance=distance)
        try:
            note = dragged.confirm()
        except ProblemError as problem:
            text = msg(
                "{done}, but couldn't insert keys: {problem}", done=report, problem=str(problem)
            )
            say(self, "WARNING", text)
            return {"FINISHED"}
        if note:
            say(self, "WARNING", msg("{done}, but {note}", done=report, note=note))
            return {"FINISHED"}
        followed, reason = drag.shortfall(dragged)
        if reason:
            report += msg(
                "; the tip moved by {distance} ({why})",
                distance=length_text(context.scene, followed),
                why=reason,
            )
        say(self, "INFO", report)
        return {"FINISHED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Start dragging the bone under the mouse, or the active one."""
        if context.region_data is None:
            self.report({"ERROR"}, shown(msg("Drag with the mouse in a 3D Viewport")))
            return {"CANCELLED"}
        selection = PoseSelection(context)
        mouse = (event.mouse_x, event.mouse_y)
        if self.under_mouse:
            mouse = (event.mouse_prev_press_x, event.mouse_prev_press_y)
            picked = bone_under(context, selection, mouse)
            if picked is None:
                return {"PASS_THROUGH"}
        else:
            picked = self._named(context)
            if picked is None:
                return {"CANCELLED"}
        armature, bone = picked
        try:
            selected = selection.selected_bones(armature)
            dragged = drag.begin(armature, bone, selected, self.as_fk, self.whole_body)
        except ProblemError as problem:
            self.report({"ERROR"}, shown(str(problem)))
            return {"CANCELLED"}
        self.armature, self.bone = armature.name, bone
        self._gesture, self._shown = Gesture(context, dragged, armature, mouse), ""
        cast(Any, context.window_manager).modal_handler_add(self)
        keys = (*KEYS, PIN_KEY) if isinstance(dragged, PinningDrag) else KEYS
        draw = cast(Any, context.workspace).status_text_set
        draw(lambda header, _context: _draw_keys(header, keys))
        self._show(context)
        return {"RUNNING_MODAL"}

    def _show(self, context: bpy.types.Context) -> None:
        """Show the displacement in the header, and why the tip doesn't follow."""
        text = self._gesture.text(context.scene)
        if text != self._shown:
            self._shown = text
            cast(Any, context.area).header_text_set(shown(text))

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Handle mouse and keys."""
        if event.type in NAVIGATION:
            return {"PASS_THROUGH"}
        try:
            return self._take(context, event)
        except ProblemError as problem:
            self.report({"ERROR"}, shown(str(problem)))
            return self._cancel(context)
        except ReferenceError:  # The dragged data was removed.
            self._clean_up(context)
            return {"CANCELLED"}
        except Exception:
            self._clean_up(context)  # Blender ends the operator.
            raise

    def _take(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        is_press = event.value == "PRESS"
        if event.type in ("ESC", "RIGHTMOUSE") and is_press:
            return self._cancel(context)
        is_done = event.type == "LEFTMOUSE" and (is_press or self.under_mouse)
        if is_done or (event.type in CONFIRMING and is_press):
            if self._gesture.displacement == ORIGIN:
                return self._cancel(context)
            self._clean_up(context)
            self.value = self._gesture.displacement
            return self._confirm(context, self._gesture.dragged)
        dragged = self._gesture.dragged
        if event.type == "P" and is_press and isinstance(dragged, PinningDrag):
            dragged.next_pin()
            cast(Any, context.area).tag_redraw()
            return {"RUNNING_MODAL"}
        if event.type == "TIMER":
            self._gesture.tick()
            self._show(context)
            return {"RUNNING_MODAL"}
        if event.type == "MOUSEMOVE":
            self._gesture.mouse_move(context, event)
        elif not (event.type in SHIFTS or (is_press and self._gesture.key(event))):
            return {"RUNNING_MODAL"}
        self._gesture.move(context, event)
        self._show(context)
        return {"RUNNING_MODAL"}

    def _cancel(self, context: bpy.types.Context) -> Outcome:
        self._gesture.dragged.cancel()
        self._clean_up(context)
        return {"CANCELLED"}

    def _clean_up(self, context: bpy.types.Context) -> None:
        self._gesture.release()
        cast(Any, context.workspace).status_text_set(None)
        if context.area is not None:
            cast(Any, context.area).header_text_set(None)

    def cancel(self, context: bpy.types.Context) -> None:
        """Cancel the drag if Blender ends the operator, for example by closing the window."""
        try:
            self._cancel(context)
        except ReferenceError:
            return


def _draw_keys(header: Any, keys: Sequence[tuple[tuple[str, ...], str]]) -> None:
    layout: Layout = header.layout
    for icons, text in keys:
        row = layout.row(align=True)
        for icon in icons:
            row.label(text="", icon=icon)
        if "EVENT_CTRL" in icons:
            row.separator(factor=2.0)  # The icon is wider than its button.
        row.label(text=shown(text), translate=False)


class FABRIK_drag(bpy.types.WorkSpaceTool):
    """The Drag Bones tool in the toolbar."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "POSE"
    bl_idname = "fabrik.drag"
    bl_label = "Drag Bones"
    bl_description = (
        "Drag bones with the mouse. FABRIK IK targets follow; other chains are posed in FK. Hold "
        "Alt to pose hands and feet in FK"
    )
    bl_icon = "brush.uv_sculpt.grab"
    bl_options = {"KEYMAP_FALLBACK"}
    bl_keymap = (
        (
            "fabrik.drag",
            {"type": "LEFTMOUSE", "value": "CLICK_DRAG"},
            {"properties": [("under_mouse", True)]},
        ),
        (
            "fabrik.drag",
            {"type": "LEFTMOUSE", "value": "CLICK_DRAG", "alt": True},
            {"properties": [("under_mouse", True), ("as_fk", True)]},
        ),
        ("fabrik.pin", {"type": "P", "value": "PRESS"}, {"properties": [("under_mouse", True)]}),
    )

    @staticmethod
    def draw_settings(_context: bpy.types.Context, layout: Layout, tool: Any) -> None:
        """Draw the tool's options."""
        if drag.WAYS:
            layout.prop(tool.operator_properties("fabrik.drag"), "whole_body")


def register() -> None:
    """Add the operator, and the tool if there are windows."""
    register_class(FABRIK_OT_drag)
    if not bpy.app.background:
        bpy.utils.register_tool(FABRIK_drag, after={"builtin.transform"}, separator=True)


def unregister() -> None:
    """Remove the operator and the tool."""
    end_running(FABRIK_OT_drag)
    if not bpy.app.background:
        bpy.utils.unregister_tool(FABRIK_drag)
    bpy.utils.unregister_class(FABRIK_OT_drag)
