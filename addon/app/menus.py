"""The extension's entries in Blender's menus and panels."""

from __future__ import annotations

from typing import Any

import bpy

from ..blender.access import frame_rate, quarter_second
from ..blender.messages import shown
from ..editing.constraints import active_constraint, is_in_ik
from ..plan import planner
from ..settings.properties import settings
from ..ui.adding import MOTION_OPERATORS
from ..ui.following import shown_armature
from ..ui.registering import registering
from .keymap import PIE


class FABRIK_MT_motion(bpy.types.Menu):
    """The menu of motion to add: look-ats, ropes, free chains, waves, springs and walks."""

    bl_label = "Add Motion"
    bl_description = "Add a look-at, rope, free chain, wave, spring or walk"

    def draw(self, _context: bpy.types.Context) -> None:  # type: ignore[override]
        """Draw the operators."""
        layout: Any = self.layout
        for name, title in MOTION_OPERATORS:
            layout.operator(name, text=shown(title), translate=False)


class FABRIK_MT_character(bpy.types.Menu):
    """Operators that set up whole characters, and their controls."""

    bl_label = "Character and Controls"
    bl_description = "Set up a character, put its feet on the ground, and find its controls"

    def draw(self, _context: bpy.types.Context) -> None:  # type: ignore[override]
        """Draw the operators."""
        layout: Any = self.layout
        for name in (
            "character_set_up",
            "character_remove",
            "ground_add",
            "pole_add",
            "constraint_mirror",
            "foot_roll_add",
            "controls_select",
            "controls_hide",
            "offset_layer_add",
            "offset_layer_merge",
        ):
            layout.operator(f"fabrik.{name}")


class FABRIK_MT_pie(bpy.types.Menu):
    """The most used operators, around the mouse."""

    bl_label = "FABRIK IK"
    bl_description = "Add, switch, snap, drag, bake and remove IK from a pie menu"

    def draw(self, context: bpy.types.Context) -> None:  # type: ignore[override]
        """Draw the operators: left, right, bottom, top, then the corners."""
        layout: Any = self.layout
        pie = layout.menu_pie()
        pie.operator("fabrik.switch")
        pie.operator("fabrik.limb_add")
        pie.operator("fabrik.ik_clear")
        pie.operator("fabrik.drag").under_mouse = False
        pie.operator(_snap_of(context))
        pie.operator("fabrik.look_add")
        pie.operator("fabrik.bake", text="Bake FABRIK IK…")
        pie.operator("fabrik.gait_add")


def _snap_of(context: bpy.types.Context) -> str:
    """Return the operator that snaps the hidden pose (IK or FK) to the visible one."""
    armature = shown_armature(context)
    item = active_constraint(armature) if armature is not None else None
    is_in_fk = item is not None and not is_in_ik(item)
    return "fabrik.snap_to_fk" if is_in_fk else "fabrik.snap_to_ik"


def draw_bone(menu: Any, context: bpy.types.Context) -> None:
    """Draw the entries of the bone context menu."""
    armature = shown_armature(context)
    if armature is None or not settings(armature).constraints:
        return
    menu.layout.separator()
    menu.layout.operator("fabrik.switch")
    menu.layout.operator("fabrik.controls_select")


def draw_pose(menu: Any, _context: bpy.types.Context) -> None:
    """Draw the entry of the Pose menu.

    The menu search lists entries with few words first, and counts words of shortcuts. Setting a
    property hides the shortcut.
    """
    menu.layout.separator()
    menu.layout.operator("fabrik.limb_add").use_pole = True


def draw_ik(menu: Any, context: bpy.types.Context) -> None:
    """Draw the entries of Pose > Inverse Kinematics."""
    layout = menu.layout
    layout.separator()
    layout.operator("fabrik.limb_add")
    layout.operator("fabrik.constraint_add")
    layout.operator("fabrik.ik_clear")
    layout.menu(FABRIK_MT_motion.__name__)
    layout.menu(FABRIK_MT_character.__name__)
    layout.operator("fabrik.convert_from_blender")
    layout.separator()
    layout.operator("fabrik.drag").under_mouse = False
    layout.operator("fabrik.pin")
    layout.operator("fabrik.switch")
    layout.operator("fabrik.snap_to_fk")
    layout.operator("fabrik.snap_to_ik")
    layout.operator("fabrik.bake", text="Bake FABRIK IK…")
    layout.separator()
    layout.operator("fabrik.hold").by = "SELECTED"
    layout.operator("fabrik.hold", text="Hold in World").by = "WORLD"
    layout.operator("fabrik.hold", text="Hold Relative to Body").by = "BODY"
    layout.operator("fabrik.pick_up")
    layout.operator("fabrik.release")
    layout.operator("fabrik.release", text="Return").frames = quarter_second(
        frame_rate(context.scene)
    )
    layout.separator()
    layout.operator("wm.call_menu_pie", text="FABRIK IK Pie Menu").name = PIE


def draw_animation(menu: Any, context: bpy.types.Context) -> None:
    """Draw the entries of Pose > Animation, which is also used as Object > Animation."""
    if context.mode == "POSE":
        menu.layout.operator("fabrik.bake", text="Bake FABRIK IK…")
    if context.object is not None and context.object.type == "ARMATURE":
        if context.mode == "OBJECT":
            menu.layout.operator("fabrik.character_set_up")
        menu.layout.operator("fabrik.root_motion_add")
        menu.layout.operator("fabrik.root_motion_extract")


def draw_lock(panel: Any, context: bpy.types.Context) -> None:
    """Draw Lock Interface at the top of the render properties, if the scene needs it."""
    scene: Any = context.scene
    if scene.render.use_lock_interface or not _has_constraints(scene):
        return
    row = panel.layout.row()
    row.use_property_split = False
    row.prop(scene.render, "use_lock_interface", text="Lock Interface for FABRIK IK")


def _has_constraints(scene: bpy.types.Scene) -> bool:
    plan = planner.known()
    rigs = plan.rigs.values() if plan is not None else ()
    try:
        return any(scene.objects.get(rig.object.name) == rig.object for rig in rigs)
    except ReferenceError:  # An object was removed since the last update.
        return False


types: Any = bpy.types

register, unregister = registering(
    __name__,
    (types.VIEW3D_MT_pose, draw_pose),
    (types.VIEW3D_MT_pose_ik, draw_ik),
    (types.VIEW3D_MT_pose_context_menu, draw_bone),
    (types.VIEW3D_MT_object_animation, draw_animation),
    (types.RENDER_PT_context, draw_lock),
)
