"""Operators that select and hide the targets and poles of constraints."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import counted
from ...editing.uses import named_controls
from ...settings.properties import settings
from ...ui.choosing import selected_in
from ...ui.refusing import Working, active_armature, active_refusal
from ...ui.registering import registering
from ...ui.selecting import Handle, is_clickable, select_alone


def _controls(armature: bpy.types.Object, indices: list[int]) -> list[Handle]:
    """Return the targets, then the poles and the other controls of constraints."""
    items = [settings(armature).constraints[index] for index in indices]
    ends = [(item.target, item.subtarget) for item in items]
    ends += [(item.pole_target, item.pole_subtarget) for item in items]
    ends += [(armature, name) for item in items for name in named_controls(armature, item)]
    return [(ob, bone) for ob, bone in dict.fromkeys(ends) if ob is not None and _exists(ob, bone)]


def _exists(ob: bpy.types.Object, bone: str) -> bool:
    """Return whether a target is an object without bones, or a bone."""
    return not bone if ob.pose is None else bone in pose_bones(ob)


class FABRIK_OT_controls_select(Working, bpy.types.Operator):
    """Select the targets and poles of the selected limbs, or of all."""

    bl_idname = "fabrik.controls_select"
    bl_label = "Select Controls"
    bl_description = (
        "Select the targets and poles of the selected bones, or of all constraints if no bone of "
        "them is selected"
    )
    asks = (active_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Select them."""
        armature = active_armature(context)
        indices = selected_in(context, armature)
        controls = _controls(armature, indices or [*range(len(settings(armature).constraints))])
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
        """Hide or show them."""
        armature = active_armature(context)
        controls = _controls(armature, [*range(len(settings(armature).constraints))])
        is_shown = any(not _is_hidden(*handle) for handle in controls)
        for ob, bone in controls:
            if bone:
                _hiding(ob, bone).hide = is_shown
            else:
                ob.hide_set(is_shown)
        if is_shown:
            return counted(len(controls), "Hid {count} control", "Hid {count} controls")
        return counted(len(controls), "Showing {count} control", "Showing {count} controls")


def _hiding(ob: bpy.types.Object, bone: str) -> Any:
    """Return what hides a bone in Pose Mode: the pose bone since 5.0, the bone earlier."""
    posed = pose_bones(ob)[bone]
    return posed if hasattr(posed, "hide") else cast(Any, ob.data).bones[bone]


def _is_hidden(ob: bpy.types.Object, bone: str) -> bool:
    return _hiding(ob, bone).hide if bone else ob.hide_get()


register, unregister = registering((FABRIK_OT_controls_select, FABRIK_OT_controls_hide))
