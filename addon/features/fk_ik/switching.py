"""The toggle between FK and IK: its operator, and its buttons in the panel."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import CONTEXT, Message, msg
from ...editing.constraints import is_in_ik
from ...plan import planner
from ...settings.definitions import ItemList, defined
from ...settings.properties import FabrikConstraint, settings
from ...ui.choosing import WHICH_ITEMS, chosen, selected_in
from ...ui.layout import Layout
from ...ui.refusing import active_armature
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section, reaches
from ...ui.selecting import is_clickable, select_alone
from ...ui.wording import named
from .operators import Spanning


class FABRIK_OT_switch(Spanning, bpy.types.Operator):
    """Switch constraints between FK and IK, and select the controls to animate next."""

    bl_idname = "fabrik.switch"
    bl_label = "Switch FK/IK"
    bl_description = (
        "Switch the limb between FK and IK from this frame on. Key the pose and the influence so "
        "that nothing jumps, and select the controls"
    )

    which: str = defined(
        "Constraints",
        "Constraints to switch",
        items=WHICH_ITEMS,
        default="SELECTED",
        options={"SKIP_SAVE"},
    )
    to: str = defined(
        "To",
        "What to switch the constraints to",
        translation_context=CONTEXT,
        items=(
            ("TOGGLE", "Toggle", "Switch from FK to IK, or from IK to FK"),
            ("FK", "FK", "Rotate the bones"),
            ("IK", "IK", "Move the target"),
        ),
        options={"SKIP_SAVE"},
    )

    def work(self, context: bpy.types.Context) -> str:
        """Switch the constraints that aren't switched yet, and select their controls."""
        armature = active_armature(context)
        items = settings(armature).constraints
        reaching = _reaching(items, chosen(context, armature, self.which))
        first = settings(armature).active_index
        leading = first if first in reaching else reaching[0]
        is_to_ik = not is_in_ik(items[leading]) if self.to == "TOGGLE" else self.to == "IK"
        indices = [i for i in reaching if is_in_ik(items[i]) != is_to_ik]
        if not indices:
            names = named([items[i].name for i in reaching])
            if is_to_ik:
                raise ProblemError("Already in IK at this frame: {names}", names=names)
            raise ProblemError("Already in FK at this frame: {names}", names=names)
        self._is_to_ik = is_to_ik
        result, report = self.snapped(context, indices, is_to_ik)
        switched = [i for i in indices if items[i].name not in result.left_out]
        switched.sort(key=lambda i: i != leading)
        select_alone(context, [_animated(armature, items[i], is_to_ik) for i in switched])
        return report

    def done(self, names: Message) -> Message:
        """Return the first part of the report."""
        if self._is_to_ik:
            return msg("Switched to IK: {names}", names=names)
        return msg("Switched to FK: {names}", names=names)

    def draw_choice(self, layout: Layout) -> None:
        """Draw the settings above the range."""
        layout.prop(self, "which")
        layout.prop(self, "to", expand=True)


def _reaching(items: ItemList[FabrikConstraint], indices: Sequence[int]) -> list[int]:
    """Return the constraints that can be switched in both directions.

    Raises:
        ProblemError: If there is no such constraint.
    """
    switchable = [i for i in indices if reaches(items[i].solver)]
    if not switchable:
        raise ProblemError(
            "“{chain}” doesn't reach for a target, so it can't match a pose: choose another "
            "constraint",
            chain=items[indices[0]].name,
        )
    return switchable


def _animated(
    armature: bpy.types.Object, item: FabrikConstraint, is_in_ik: bool
) -> tuple[bpy.types.Object, str]:
    """Return the object and bone with which to animate a limb.

    If the rig hides the joint of a hand or foot, the bone is the control at that joint.
    """
    if is_in_ik and item.target is not None:
        return item.target, item.subtarget
    tip = pose_bones(armature)[item.bone]
    controls = [
        bone for bone in tip.children if (bone.bone.head_local - tip.bone.head_local).length == 0.0
    ]
    clickable = [bone.name for bone in (tip, *controls) if is_clickable(armature, bone.name)]
    return armature, clickable[0] if clickable else item.bone


def _draw(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    # Drawing mustn't make a plan.
    indices = [] if planner.known() is None else selected_in(bpy.context, armature)
    fabrik = settings(armature)
    # A constraint chosen in the list, not by selecting bones, is switched alone.
    is_single = len(indices) < 2 or fabrik.active_index not in indices
    which = "ACTIVE" if is_single else "SELECTED"
    states = {
        is_in_ik(limb)
        for limb in ([item] if is_single else [fabrik.constraints[i] for i in indices])
    }
    column = layout.column(align=True)
    toggle = column.row(align=True)
    for to, is_ik in (("FK", False), ("IK", True)):
        text = to if is_single else f"{to} ({len(indices)})"
        # If the selected limbs differ, neither button is pressed.
        button = toggle.operator(
            "fabrik.switch", text=text, translate=False, depress=states == {is_ik}
        )
        button.to, button.which = to, which
    # The pose that isn't shown is the one to match; the menu has both.
    column.operator("fabrik.snap_to_ik" if True in states else "fabrik.snap_to_fk").which = which


register, unregister = registering(__name__, (SECTIONS, Section(1, "", _draw, reaches)))
