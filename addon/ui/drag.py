"""The tool that drags bones in the 3D view, and its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.props import BoolProperty, FloatVectorProperty, StringProperty

from ..binding import drag
from ..binding.chain_plan import ProblemError
from ..binding.motion import Lock, Typed, locked, on_grid, pressed, projected, stepped
from ..binding.selection import PoseSelection
from ..binding.snapping import seen_point
from ..core.vectors import IDENTITY, ORIGIN, Mat3, Vec, length, sub
from .draw import Layout, length_text
from .pointer import Pointer
from .refusing import Refusing, armature_refusal

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

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
AXES = ("X", "Y", "Z")
SHIFTS = {"LEFT_SHIFT", "RIGHT_SHIFT", "LEFT_CTRL", "RIGHT_CTRL"}
CONFIRMING = {"RET", "NUMPAD_ENTER", "SPACE"}
SURFACES = {"FACE", "VERTEX", "EDGE", "EDGE_MIDPOINT"}

KEYS = (
    (("MOUSE_LMB",), "Confirm"),
    (("MOUSE_RMB",), "Cancel"),
    (("EVENT_X", "EVENT_Y", "EVENT_Z"), "Axis, again for its own, again for none"),
    (("EVENT_SHIFT", "EVENT_X", "EVENT_Y", "EVENT_Z"), "Plane"),
    (("EVENT_SHIFT",), "Precise"),
    (("EVENT_CTRL",), "Snap"),
    (("MOUSE_MMB",), "Turn View"),
)
"""What the status bar says; digits need no telling to who knows Blender's own transform."""


class FABRIK_OT_drag(Refusing, bpy.types.Operator):
    """Drag a bone, with the mouse or by numbers."""

    bl_idname = "fabrik.drag"
    bl_label = "Drag Bone"
    bl_description = (
        "Drag a bone by the mouse: the target of its chain follows. Where no constraint poses the "
        "bone, it pulls along the bones above it, up to the selected one, and leaves an FK pose"
    )
    bl_options = {"REGISTER", "UNDO", "BLOCKING", "GRAB_CURSOR"}

    if TYPE_CHECKING:
        bone: str
        value: Vec
        armature: str
        under_mouse: bool
    else:
        bone: StringProperty(
            name="Bone",
            description="Bone that is dragged; without a name it is the active one",
        )
        value: FloatVectorProperty(
            name="Move",
            description="How far it is dragged, in world space",
            size=3,
            subtype="TRANSLATION",
        )
        armature: StringProperty(
            name="Armature",
            description="Armature of the bone; without a name it is the active one",
            options={"HIDDEN"},
        )
        under_mouse: BoolProperty(
            name="Under the Mouse",
            description="Drag the bone on which the mouse was pressed",
            options={"HIDDEN", "SKIP_SAVE"},
        )

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for Pose Mode."""
        reason = armature_refusal(context)
        if not reason and context.mode != "POSE":
            return "Enter Pose Mode, where bones can be dragged"
        return reason

    def execute(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Drag by numbers, or report why not and change nothing."""
        found = self._named(context)
        if found is None:
            return {"CANCELLED"}
        held = None
        try:
            held = drag.begin(*found, PoseSelection(context).selected_bones(found[0]))
            held.move_by(_vec(self.value))
        except ProblemError as problem:
            if held is not None:
                held.cancel()
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        return self._confirm(context, held)

    def _named(self, context: bpy.types.Context) -> tuple[bpy.types.Object, str] | None:
        """Return the bone that the properties name, None after a report that there is none."""
        ob: Any = bpy.data.objects.get(self.armature) if self.armature else context.object
        if ob not in context.objects_in_mode:
            self.report({"ERROR"}, f"“{self.armature}” is not in Pose Mode: select it and enter it")
            return None
        active: Any = ob.data.bones.active
        if not self.bone and active is None:
            self.report({"ERROR"}, "There is no active bone: click the one that is to be dragged")
            return None
        return ob, self.bone or active.name

    def _confirm(self, context: bpy.types.Context, held: drag.Drag) -> set[OperatorReturnItems]:
        """Keep what was dragged, and report it."""
        way = length_text(context.scene, length(_vec(self.value)))
        done = f"Dragged “{held.name}” by {way}"
        try:
            note = held.confirm()
        except ProblemError as problem:
            self.report({"WARNING"}, f"{done}, but it could not be keyed: {problem}")
            return {"FINISHED"}
        self.report({"WARNING" if note else "INFO"}, f"{done}, but {note}" if note else done)
        return {"FINISHED"}

    def invoke(
        self, context: bpy.types.Context, event: bpy.types.Event
    ) -> set[OperatorReturnItems]:
        """Take hold of the bone under the mouse, or of the active one."""
        if context.region_data is None:
            self.report({"ERROR"}, "Drag with the mouse in a 3D view")
            return {"CANCELLED"}
        selection = PoseSelection(context)
        mouse = (event.mouse_x, event.mouse_y)
        if self.under_mouse:
            mouse = (event.mouse_prev_press_x, event.mouse_prev_press_y)
            found = _bone_under(context, selection, mouse)
            if found is None:
                return {"PASS_THROUGH"}
        else:
            self.armature = self.bone = ""
            found = self._named(context)
            if found is None:
                return {"CANCELLED"}
        try:
            self._held = drag.begin(*found, selection.selected_bones(found[0]))
        except ProblemError as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        self._owner, bone = found
        self.armature, self.bone = self._owner.name, bone
        self._start(context, mouse)
        return {"RUNNING_MODAL"}

    def _start(self, context: bpy.types.Context, mouse: tuple[float, float]) -> None:
        self._pointer = Pointer(context, self._held.place, mouse)
        self._lock: Lock | None = None
        self._typed = Typed()
        self.value = ORIGIN
        cast(Any, context.window_manager).modal_handler_add(self)
        cast(Any, context.workspace).status_text_set(_draw_keys)
        self._show(context)

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Follow mouse and keys."""
        if event.type in NAVIGATION:
            return {"PASS_THROUGH"}
        try:
            return self._handle(context, event)
        except ProblemError as problem:
            self.report({"ERROR"}, str(problem))
            return self._give_up(context)
        except ReferenceError:  # What was dragged is gone.
            _leave(context)
            return {"CANCELLED"}

    def _handle(
        self, context: bpy.types.Context, event: bpy.types.Event
    ) -> set[OperatorReturnItems]:
        is_press = event.value == "PRESS"
        if event.type in ("ESC", "RIGHTMOUSE") and is_press:
            return self._give_up(context)
        is_done = event.type == "LEFTMOUSE" and (is_press or self.under_mouse)
        if is_done or (event.type in CONFIRMING and is_press):
            if _vec(self.value) == ORIGIN:
                return self._give_up(context)
            _leave(context)
            return self._confirm(context, self._held)
        if event.type == "MOUSEMOVE":
            mouse = (event.mouse_x, event.mouse_y)
            self._pointer.move(context, mouse, event.shift, _vec(self.value))
        elif not (event.type in SHIFTS or (is_press and self._key(event))):
            return {"RUNNING_MODAL"}
        self._move(context, event)
        return {"RUNNING_MODAL"}

    def _key(self, event: bpy.types.Event) -> bool:
        """Take a key, and return whether it means something."""
        count = len(self._free())
        if event.type in AXES:
            self._lock = pressed(self._lock, AXES.index(event.type), event.shift)
            self._typed.place = 0
        elif event.type == "BACK_SPACE":
            self._typed.back(count)
        elif event.type == "TAB":
            self._typed.next()
        elif event.unicode and event.unicode in "0123456789.-,":
            self._typed.key(event.unicode.replace(",", "."), count)
        else:
            return False
        return True

    def _free(self) -> tuple[int, ...]:
        return (0, 1, 2) if self._lock is None else self._lock.free()

    def _move(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        """Move what is held to where mouse and keys want it."""
        axes = self._held.axes if self._lock is not None and self._lock.is_local else IDENTITY
        motion = self._typed.motion(axes, self._free())
        if motion is None:
            motion = self._pointed(context, event, axes)
        self._held.move_by(motion)
        self.value = motion
        self._show(context)

    def _pointed(self, context: bpy.types.Context, event: bpy.types.Event, axes: Mat3) -> Vec:
        """Return the motion that the mouse wants, locked and snapped."""
        pointer, lock = self._pointer, self._lock
        tools = context.scene.tool_settings
        elements = tools.snap_elements if tools.use_snap != event.ctrl else set()
        if elements & SURFACES:
            place = seen_point(
                context.evaluated_depsgraph_get(),
                self._owner,
                *pointer.line(context),
                is_corner="FACE" not in elements,
            )
            if place is not None:
                motion = sub(place, self._held.place)
                return motion if lock is None else projected(motion, lock, axes)
        motion = pointer.motion(context)
        if lock is not None:
            sight = pointer.sight(context, motion)
            motion = locked(motion, lock, axes, sight, pointer.up(context))
        if not elements & {"INCREMENT", "GRID"}:
            return motion
        view: Any = context.space_data
        step = view.overlay.grid_scale_unit * (0.1 if event.shift else 1.0)
        if "GRID" not in elements and not tools.use_snap_grid_absolute:
            return stepped(motion, axes, step)
        motion = on_grid(self._held.place, motion, step)
        return motion if lock is None else projected(motion, lock, axes)

    def _show(self, context: bpy.types.Context) -> None:
        """Say in the header how far it is, as Blender's own transform does."""
        scene = context.scene
        parts = [
            f"D{axis.lower()}: {length_text(scene, number)}"
            for axis, number in zip(AXES, self.value, strict=True)
        ]
        whole = length_text(scene, length(_vec(self.value)))
        along = "" if self._lock is None else f" {_lock_text(self._lock)}"
        texts = [text for text in self._typed.texts if text]
        typed = f"   [{', '.join(texts)}]" if texts else ""
        area: Any = context.area
        area.header_text_set(f"“{self._held.name}”   {'   '.join(parts)}   ({whole}){along}{typed}")

    def _give_up(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        self._held.cancel()
        _leave(context)
        return {"CANCELLED"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Give everything back when Blender ends the operator, as it does with its window."""
        try:
            self._give_up(context)
        except ReferenceError:
            return


def _vec(values: Any) -> Vec:
    return (values[0], values[1], values[2])


def _lock_text(lock: Lock) -> str:
    space = "local" if lock.is_local else "global"
    return f"{'in the plane across' if lock.is_plane else 'along'} {space} {AXES[lock.axis]}"


def _leave(context: bpy.types.Context) -> None:
    """Give header and status bar back."""
    cast(Any, context.workspace).status_text_set(None)
    if context.area is not None:
        cast(Any, context.area).header_text_set(None)


def _draw_keys(header: Any, _context: bpy.types.Context) -> None:
    """Draw the keys into the status bar."""
    layout: Layout = header.layout
    for icons, text in KEYS:
        row = layout.row(align=True)
        for icon in icons:
            row.label(text="", icon=icon)
        if "EVENT_CTRL" in icons:
            row.separator(factor=2.0)  # Its picture is wider than its place.
        row.label(text=text)


def _bone_under(
    context: bpy.types.Context, selection: PoseSelection, mouse: tuple[float, float]
) -> tuple[bpy.types.Object, str] | None:
    """Return the bone at a place of the window as Blender's own click finds it, None if none."""
    region: Any = context.region
    place = (int(mouse[0] - region.x), int(mouse[1] - region.y))
    selection.clear_bones()
    try:
        bpy.ops.view3d.select(location=place)
        found: list[Any] = list(context.selected_pose_bones or ())
        return (found[0].id_data, found[0].name) if found else None
    finally:
        selection.give_back()


class FABRIK_drag(bpy.types.WorkSpaceTool):
    """The tool of the toolbar."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "POSE"
    bl_idname = "fabrik.drag"
    bl_label = "Drag Bones"
    bl_description = (
        "Drag bones by the mouse: targets of FABRIK IK follow, other chains are posed in FK"
    )
    bl_icon = "ops.transform.translate"
    bl_options = {"KEYMAP_FALLBACK"}
    bl_keymap = (
        (
            "fabrik.drag",
            {"type": "LEFTMOUSE", "value": "CLICK_DRAG"},
            {"properties": [("under_mouse", True)]},
        ),
    )


def draw_menu(menu: Any, _context: bpy.types.Context) -> None:
    """Add the operator to Pose > Inverse Kinematics."""
    menu.layout.operator("fabrik.drag").under_mouse = False


def register() -> None:
    """Add the operator and its menu entry, and the tool where there are windows."""
    bpy.utils.register_class(FABRIK_OT_drag)
    cast(Any, bpy.types).VIEW3D_MT_pose_ik.append(draw_menu)
    if not bpy.app.background:
        bpy.utils.register_tool(FABRIK_drag, after={"builtin.transform"}, separator=True)


def unregister() -> None:
    """Take them away."""
    if not bpy.app.background:
        bpy.utils.unregister_tool(FABRIK_drag)
    cast(Any, bpy.types).VIEW3D_MT_pose_ik.remove(draw_menu)
    bpy.utils.unregister_class(FABRIK_OT_drag)
