"""Operators that select, hide and move the targets and poles of constraints."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import bpy

from ...blender.access import hiding, pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import counted, msg
from ...editing.placed import walk_problem
from ...editing.playing import updated
from ...editing.uses import named_controls
from ...settings.properties import settings
from ...ui.choosing import selected_in
from ...ui.paint import is_dragging
from ...ui.refusing import Refusing, Working, active_armature, active_refusal
from ...ui.registering import registering
from ...ui.selecting import Handle, is_clickable, select_alone
from .sentences import control_of, posed_alone


def _controls(
    context: bpy.types.Context, armature: bpy.types.Object, indices: list[int]
) -> list[Handle]:
    """Return the targets in the view layer, then the poles and the other controls."""
    present = {*cast(bpy.types.ViewLayer, context.view_layer).objects.values()}
    items = [settings(armature).constraints[index] for index in indices]
    ends = [(item.target, item.subtarget) for item in items]
    ends += [(item.pole_target, item.pole_subtarget) for item in items]
    ends += [(armature, name) for item in items for name in named_controls(armature, item)]
    return [
        (ob, bone) for ob, bone in dict.fromkeys(ends) if ob and ob in present and _exists(ob, bone)
    ]


def _exists(ob: bpy.types.Object, bone: str) -> bool:
    """Return whether a target is an object without bones, or a bone."""
    return not bone if ob.pose is None else bone in pose_bones(ob)


class FABRIK_OT_controls_select(Working, bpy.types.Operator):
    """Select the targets and poles of the selected limbs, or of all limbs."""

    bl_idname = "fabrik.controls_select"
    bl_label = "Select Controls"
    bl_description = (
        "Select the targets and poles of the selected bones, or of all constraints if none of "
        "their bones is selected"
    )
    asks = (active_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Select the controls."""
        armature = active_armature(context)
        indices = selected_in(context, armature)
        controls = _controls(
            context, armature, indices or [*range(len(settings(armature).constraints))]
        )
        if not any(is_clickable(*handle) for handle in controls):
            raise ProblemError("No control can be selected: choose Hide Controls to show them")
        select_alone(context, controls)
        return counted(len(controls), "Selected {count} control", "Selected {count} controls")


class FABRIK_OT_controls_hide(Working, bpy.types.Operator):
    """Hide or show the targets and poles of an armature."""

    bl_idname = "fabrik.controls_hide"
    bl_label = "Hide Controls"
    bl_description = "Hide the targets and poles of the armature, or show them if all are hidden"
    asks = (active_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Hide or show the controls."""
        armature = active_armature(context)
        controls = _controls(context, armature, [*range(len(settings(armature).constraints))])
        is_shown = any(not _is_hidden(*handle) for handle in controls)
        for ob, bone in controls:
            if bone:
                hiding(ob, bone).hide = is_shown
            else:
                ob.hide_set(is_shown)
        if is_shown:
            return counted(len(controls), "Hid {count} control", "Hid {count} controls")
        return counted(len(controls), "Showing {count} control", "Showing {count} controls")


def _is_hidden(ob: bpy.types.Object, bone: str) -> bool:
    return hiding(ob, bone).hide if bone else ob.hide_get()


def _taken(context: bpy.types.Context, turns: bool) -> dict[Handle, Handle]:
    """Return the controls of the selected bones that constraints pose, by bone.

    Only includes controls in Pose Mode.

    Args:
        context: The context.
        turns: Whether the controls will be rotated. Omits controls on which this has no effect.
    """
    taken: dict[Handle, Handle] = {}
    for bone, chain in posed_alone(context, turns).items():
        ob, name = control_of(chain, bone[1])
        is_moving = not walk_problem(chain) and (chain.has_hand or not turns)
        if is_moving and ob in context.objects_in_mode and name and is_clickable(ob, name):
            taken[bone] = ob, name
    return taken


def _moves_by_key(context: bpy.types.Context) -> bool:
    """Return whether G and R transform in the keymap; in Industry Compatible they don't."""
    configs = cast(bpy.types.WindowManager, context.window_manager).keyconfigs
    keymaps: Any = configs.active.keymaps if configs.active else {}
    shared = [keymaps[name] for name in ("Pose", "3D View") if name in keymaps]
    items = [item for keymap in shared for item in keymap.keymap_items]
    # Without a window there are no keymaps.
    return not items or any(
        item.idname == "transform.translate" and item.type == "G" for item in items
    )


def _take_refusal(context: bpy.types.Context, turns: bool = False) -> str:
    """Return why a key press is left to Blender; empty if a selected bone has a control to move.

    A move that was just made can be adjusted in the redo panel, even though its control is then
    selected.

    Args:
        context: The context.
        turns: Whether the control is to be rotated instead.
    """
    last = cast(bpy.types.WindowManager, context.window_manager).operators[-1:]
    if context.mode == "POSE" and any(op.bl_idname.startswith(MOVING) for op in last):
        return ""
    if context.mode == "POSE" and _moves_by_key(context) and _taken(context, turns):
        return ""
    return msg("No selected bone has an IK control: select a hand or foot with IK")


def _turn_refusal(context: bpy.types.Context) -> str:
    """Return why a key press is left to Blender; empty if a control would rotate."""
    return _take_refusal(context, turns=True)


class TakingControls(Refusing):
    """Selects the controls of selected bones posed by IK, so that Blender moves them instead.

    Attributes:
        turns: Whether Blender then rotates them.
    """

    turns = False

    def execute(self, context: bpy.types.Context) -> set[Any]:
        """Select the controls."""
        updated()  # The redo panel undoes first, and Blender's operator then needs matrices.
        taken = _taken(context, self.turns)
        select_alone(context, [taken.get(handle, handle) for handle in _selected(context)])
        return {"FINISHED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        """Select the controls, and reselect the bones if the move is cancelled."""
        bones = _selected(context)
        done = self.execute(context)
        controls = [pose_bones(ob)[name] for ob, name in _selected(context)]
        matrices = [bone.matrix_basis.copy() for bone in controls]
        names = [(ob.name, name) for ob, name in bones]
        moved = [(bone.id_data.name, bone.name) for bone in controls]

        def end() -> float | None:
            if is_dragging(MOVING):
                return 0.05
            with suppress(KeyError):  # Something was renamed or removed meanwhile.
                posed = [bpy.data.objects[ob].pose.bones[name] for ob, name in moved]
                if [bone.matrix_basis for bone in posed] == matrices:
                    select_alone(bpy.context, [(bpy.data.objects[ob], name) for ob, name in names])
            return None

        bpy.app.timers.register(end)
        return done


class FABRIK_OT_controls_take(TakingControls, bpy.types.Operator):
    """Select the controls of the chains that pose the selected bones."""

    bl_idname = "fabrik.controls_take"
    bl_label = "Select Controls of Solved Bones"
    bl_description = (
        "Replace the selection with the controls of the IK chains that pose the selected bones"
    )
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}
    asks = (_take_refusal,)


class FABRIK_OT_controls_turn(TakingControls, bpy.types.Operator):
    """Select the controls whose rotation the selected bones copy."""

    bl_idname = "fabrik.controls_turn"
    bl_label = "Select Controls to Rotate"
    bl_description = (
        "In the selection, replace each bone that copies its control's rotation with that control"
    )
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}
    asks = (_turn_refusal,)
    turns = True


def _selected(context: bpy.types.Context) -> list[Handle]:
    """Return the selected bones, the active one first."""
    bones: list[Any] = list(context.selected_pose_bones or ())
    active = context.active_pose_bone
    return [(bone.id_data, bone.name) for bone in sorted(bones, key=lambda bone: bone != active)]


MOVING = ("FABRIK_OT_control_",)
"""Prefix of the names of the macros below."""


class FABRIK_OT_control_move(bpy.types.Macro):
    """Move the IK controls of the selected bones."""

    bl_idname = "fabrik.control_move"
    bl_label = "Move Control"
    bl_description = "Move the control of a bone that IK poses. Other bones move as usual"
    bl_options = {"REGISTER", "UNDO"}


class FABRIK_OT_control_rotate(bpy.types.Macro):
    """Rotate the IK controls of the selected bones."""

    bl_idname = "fabrik.control_rotate"
    bl_label = "Rotate Control"
    bl_description = "Rotate the control of a bone that IK poses. Other bones rotate as usual"
    bl_options = {"REGISTER", "UNDO"}


MACROS = (
    (FABRIK_OT_control_move, FABRIK_OT_controls_take, "TRANSFORM_OT_translate"),
    (FABRIK_OT_control_rotate, FABRIK_OT_controls_turn, "TRANSFORM_OT_rotate"),
)
"""Macros that select the controls, then run one of Blender's operators."""

_register, _unregister = registering(__name__)


def register() -> None:
    """Register the operators, and add the steps of the macros."""
    _register()
    for macro, select, transform in MACROS:
        macro.define(select.__name__)
        macro.define(transform)


unregister = _unregister
