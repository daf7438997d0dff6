"""Switching the parents of controls, by holds."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import label, msg, shown
from ...body.root import root_above
from ...editing.control_parents import part_bone
from ...settings.definitions import defined
from ...settings.properties import FabrikConstraint, settings
from ...ui.adding import PART_ITEMS
from ...ui.layout import Layout
from ...ui.refusing import active_armature
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section, has_target, reaches
from . import editing
from .editing import Held, Holder
from .events import events_of, holder_at
from .listing import name_of
from .operators import Taking, holder_name, names_of, selected_goals
from .settings import holds_of

SWITCH_ITEMS = (
    ("RELEASE", "Own Parent", "Parent that the control was added with"),
    ("WORLD", "World", "No parent: nothing moves the control"),
    ("ROOT", "Root", "Root bone above the body. Without one, the armature object"),
    *PART_ITEMS,
    ("ACTIVE", "Active Bone", "The active bone in Pose Mode"),
)


class FABRIK_OT_hold_parent(Taking, bpy.types.Operator):
    """Switch the parent of a constraint's target or pole from this frame on."""

    bl_idname = "fabrik.hold_parent"
    bl_label = "Switch Parent"
    bl_description = (
        "From this frame on, attach the control to another parent. This adds a hold. Nothing jumps"
    )

    parent: str = defined(
        "Parent", "Parent from this frame on", items=SWITCH_ITEMS, options={"SKIP_SAVE"}
    )
    use_pole: bool = defined(
        "Pole", "Switch the parent of the pole target", default=False, options={"SKIP_SAVE"}
    )

    def held(self, context: bpy.types.Context) -> list[Held]:
        """Return the target or pole of the named constraint, or else the selected ones."""
        if self.constraint and self.use_pole:
            return [editing.pole_of(active_armature(context), self.constraint)]
        return super().held(context)

    def selected(self, context: bpy.types.Context, armature: bpy.types.Object) -> list[Held]:
        """Return all selected targets and poles of the armature, except the new parent."""
        active = context.active_pose_bone if self.parent == "ACTIVE" else None
        parent = None if active is None else Held(cast(Any, active.id_data), active.name)
        goals = selected_goals(context)
        held = [goal for goal in goals if goal.object == armature and goal != parent]
        return held or super().selected(context, armature)

    def work(self, context: bpy.types.Context) -> str:
        """Add the event."""
        armature, held = active_armature(context), self.held(context)
        frame = context.scene.frame_current_final
        if self.parent == "RELEASE":
            editing.release(held, frame)
            return msg("“{bone}” is released at frame {frame:g}", bone=names_of(held), frame=frame)
        holder = self._holder(context, armature, held[0])
        report = msg(
            "The parent of “{bone}” is “{parent}” from frame {frame:g} on",
            bone=names_of(held),
            parent=holder_name(holder),
            frame=frame,
        )
        return self.take(held, holder, frame, report)

    def _holder(self, context: bpy.types.Context, armature: bpy.types.Object, held: Held) -> Holder:
        """Return the chosen holder.

        Raises:
            ProblemError: If the holder doesn't exist.
        """
        if self.parent == "WORLD":
            return Holder()
        tips = [con.bone for con in settings(armature).constraints if held in _controls(con)]
        tip = next(filter(pose_bones(armature).__contains__, tips), "")
        if self.parent == "ROOT":
            return Holder(armature, root_above(armature, tip) if tip else "")
        if self.parent == "ACTIVE":
            active: Any = context.active_pose_bone
            if active is None:
                raise ProblemError("No active bone: click the new parent")
            return Holder(active.id_data, active.name)
        return Holder(armature, self._part(armature, tip))

    def _part(self, armature: bpy.types.Object, tip: str) -> str:
        """Return the chosen part of the body that a limb belongs to.

        Raises:
            ProblemError: If the body has no such part.
        """
        bone = part_bone(armature, self.parent, tip) if tip else ""
        if not bone:
            raise ProblemError(
                "“{armature}” has no bone for this Parent: choose another one",
                armature=armature.name,
            )
        return bone


def _controls(con: FabrikConstraint) -> list[Held]:
    pairs = (con.target, con.subtarget), (con.pole_target, con.pole_subtarget)
    return [Held(ob, bone) for ob, bone in pairs if ob is not None]


def parent_name(held: Held, frame: float) -> str:
    """Return the name of the parent of a target or pole at a frame, as the panel shows it."""
    entry = editing.find_hold(held)
    number = 0 if entry is None else holder_at(events_of(*entry), frame)
    if entry is not None and number > 0:
        return name_of(holds_of(entry[0])[entry[1]].holders[number - 1])
    if held.bone and held.object.pose is not None and held.bone in pose_bones(held.object):
        above = pose_bones(held.object)[held.bone].parent
        return above.name if above is not None else held.object.name
    above = held.object.parent
    return above.name if above is not None else shown(msg("World"))


def _draw(layout: Layout, item: FabrikConstraint, use_pole: bool) -> None:
    ob = item.pole_target if use_pole else item.target
    if ob is None:
        return
    held = Held(ob, item.pole_subtarget if use_pole else item.subtarget)
    row = layout.row(align=True).split(factor=0.4, align=True)
    row.alignment = "RIGHT"
    row.label(text=shown(label("Parent")), translate=False)
    frame = cast(bpy.types.Scene, bpy.context.scene).frame_current_final
    switch = row.operator_menu_enum(
        FABRIK_OT_hold_parent.bl_idname,
        "parent",
        text=parent_name(held, frame),
        translate=False,
        icon="PINNED",
    )
    # All of the selected ones switch together.
    others = selected_goals(bpy.context)
    switch.constraint = "" if len(others) > 1 and held in others else item.name
    switch.use_pole = use_pole
    if entry := editing.find_hold(held):
        layout.prop(holds_of(entry[0])[entry[1]], "blend")


def _draw_target(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    _draw(layout, item, False)


def _draw_pole(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    _draw(layout, item, True)


register, unregister = registering(
    __name__,
    (SECTIONS, Section(12, msg("Chain"), _draw_target, has_target)),
    (SECTIONS, Section(61, msg("Pole"), _draw_pole, reaches, is_closed=True)),
)
