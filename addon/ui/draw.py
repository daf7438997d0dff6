"""What the panels show; the same in the Properties editor and in the sidebar."""

from __future__ import annotations

from typing import Any, cast

import blf
import bpy

from ..binding.access import settings
from ..binding.chain_plan import listed
from ..binding.editing import active_constraint
from ..binding.motion.kinds import MOTION_SOLVERS
from ..binding.motion.simulating import history
from ..binding.plan import partners
from ..binding.properties import FabrikConstraint
from .ground import draw_ground
from .wording import length_text

Layout = Any
"""A `bpy.types.UILayout`, whose stubs know neither our operators' settings nor names of icons."""

STATE_ICONS = {
    "REACHED": "CHECKMARK",
    "OUT_OF_REACH": "INFO",
    "LIMITED": "CON_ROTLIMIT",
    "INVALID": "ERROR",
    "DISABLED": "PAUSE",
}

HOW_TO = (
    "Select a target and then, in Pose Mode, the tip bone of a chain, and press +. "
    "With no target selected, one is made at the tip."
)
SHARED = "Shares bones with {}: they are solved together, by their weights."
LOCK = "To render safely, turn on:"
WAVING = "Waving"
"""Instead of having reached: a wave wants to be nowhere."""


def draw_armature(layout: Layout, context: bpy.types.Context) -> None:
    """Draw the constraints of the armature, and the settings of the active one."""
    armature = cast(bpy.types.Object, context.object)
    item = active_constraint(armature)
    _draw_list(layout, armature)
    if item is None:
        draw_sentence(layout, context, HOW_TO)
        return
    report = layout.box().column()
    _draw_report(report, context, item)
    names = partners(armature, settings(armature).active_index)
    if names and not item.message:  # Which says it, or something more urgent.
        draw_sentence(report, context, SHARED.format(listed(names)))
    if history.owners(armature) and history.state(armature) != history.FRESH:
        report.operator("fabrik.simulate", icon="FILE_REFRESH")
    layout.use_property_split = True
    layout.prop(item, "influence")
    for title, draw, solvers in GROUPS:
        if item.solver not in solvers:
            continue
        name = title.lower().replace(" ", "_").replace("-", "_")
        header, body = layout.panel(f"FABRIK_PT_{name}", default_closed=title in CLOSED)
        header.label(text=title)
        if body is not None:
            draw(body.column(), armature, item)
    if not context.scene.render.use_lock_interface:
        _draw_lock(layout.box().column(), context)


def _draw_list(layout: Layout, armature: bpy.types.Object) -> None:
    fabrik = settings(armature)
    row = layout.row()
    row.template_list(
        "FABRIK_UL_constraints", "", fabrik, "constraints", fabrik, "active_index", rows=4
    )
    buttons = row.column(align=True)
    buttons.operator("fabrik.constraint_add", text="", icon="ADD")
    buttons.operator("fabrik.constraint_remove", text="", icon="REMOVE")
    buttons.separator()
    buttons.menu("FABRIK_MT_specials", text="", icon="DOWNARROW_HLT")
    buttons.separator()
    buttons.operator("fabrik.constraint_move", text="", icon="TRIA_UP").direction = "UP"
    buttons.operator("fabrik.constraint_move", text="", icon="TRIA_DOWN").direction = "DOWN"


def _draw_report(layout: Layout, context: bpy.types.Context, item: FabrikConstraint) -> None:
    """Draw how the last evaluation ended."""
    state = layout.row()
    state.alert = item.state == "INVALID"
    state.label(text=state_name(item), icon=STATE_ICONS[item.state])
    if item.state not in ("INVALID", "DISABLED") and item.solver != "WAVE":
        layout.label(text=f"{length_text(context.scene, item.error)} off")
    if item.message:
        draw_sentence(layout, context, item.message)


def _draw_chain(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop_search(item, "bone", armature.pose, "bones")
    layout.prop(item, "chain_count")
    if item.solver in PLACING:
        layout.prop(item, "use_tail")
    if item.solver not in REACHING:
        return
    layout.prop(item, "chain_bias")
    swing = layout.column()
    # With these it always turns as a whole.
    swing.active = item.solver != "TWO_BONE" and item.pole_target is None
    swing.prop(item, "swing")
    root = layout.column(heading="Free Root")
    root.prop(item, "use_free_root", text="")
    _draw_if(root, item, "use_free_root", "root_weight")


def _draw_target(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "target")
    _draw_bone_of(layout, item, "subtarget", item.target)
    if item.solver not in PLACING:
        return
    if item.solver in REACHING:
        layout.prop(item, "weight")
    offset = layout.row(heading="Keep Offset")
    offset.prop(item, "use_offset", text="")
    if not item.use_offset:
        return
    offset.operator("fabrik.offset_set", text="Set to Present")
    layout.prop(item, "offset_location", text="Location")
    turn = layout.column()
    turn.active = item.use_rotation
    turn.prop(item, "offset_rotation", text="Rotation")


def _draw_look(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    look = item.look
    layout.prop(look, "axis")
    layout.prop(look, "up_axis")
    up = layout.column()
    up.active = look.up_axis != "NONE"
    up.prop(look, "up")
    share = layout.column()
    share.active = item.chain_count != 1
    share.prop(look, "share")
    layout.prop(look, "limit_angle")
    layout.prop(look, "limit_softness")
    layout.prop(look, "damping")


def _draw_rotation(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "use_rotation", text="Match Target")
    turn = layout.column()
    turn.active = item.use_rotation
    turn.prop(item, "rotation_weight", text="Weight")
    turn.prop(item, "twist_spread")


def _draw_reach(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "softness")
    layout.prop(item, "use_stretch")
    _draw_if(layout, item, "use_stretch", "stretch_max", "use_volume")


def _draw_pole(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "pole_target")
    if item.pole_target is None:
        layout.operator("fabrik.pole_add", icon="ADD")
        return
    _draw_bone_of(layout, item, "pole_subtarget", item.pole_target)
    layout.prop(item, "pole_angle")
    layout.prop(item, "pole_weight")


def _draw_solver(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "solver")
    sweeping = layout.column()
    sweeping.active = item.solver != "TWO_BONE"
    if item.solver in REACHING:
        sweeping.prop(item, "iterations")
        layout.prop(item, "use_continuous")
    if item.solver != "WAVE":
        sweeping.prop(item, "tolerance")


def _draw_follow(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item.follow, "use_path")


def _draw_snap(layout: Layout, _armature: bpy.types.Object, _item: FabrikConstraint) -> None:
    snap = layout.column(align=True)
    snap.operator("fabrik.snap_to_fk")
    snap.operator("fabrik.snap_to_ik")
    switch = layout.row(align=True)
    switch.operator("fabrik.snap_to_fk", text="Switch to IK").switches = True
    switch.operator("fabrik.snap_to_ik", text="Switch to FK").switches = True


def _draw_rope(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item.rope, "use_scene_gravity")
    layout.prop(item.rope, "collision")
    rest = layout.column()
    rest.active = item.rope.collision != "NONE"
    rest.prop(item.rope, "collision_object")
    rest.prop(item.rope, "thickness")
    layout.prop(item, "use_stretch")
    _draw_if(layout, item, "use_stretch", "stretch_max", "use_volume")


def _draw_wave(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    for name in ("amplitude", "wavelength", "speed", "phase", "falloff", "direction"):
        layout.prop(item.wave, name)
    layout.prop(item.wave, "noise")
    layout.prop(item.wave, "seed")


REACHING = ("FABRIK", "TWO_BONE", "CCD", "TEXTBOOK")

PLACING = (*REACHING, "ROPE", "FOLLOW")
"""What brings the tip to a place; a look-at turns the last bone as a whole."""

CLOSED = ("Rotation", "Reach", "Ground", "FK and IK")
"""What is closed at first, as few chains need it, or not all the time."""

GROUPS = (
    ("Chain", _draw_chain, (*REACHING, *MOTION_SOLVERS)),
    ("Target", _draw_target, (*REACHING, "LOOK_AT", "ROPE", "FOLLOW")),
    ("Look-at", _draw_look, ("LOOK_AT",)),
    ("Rope", _draw_rope, ("ROPE",)),
    ("Free Chain", _draw_follow, ("FOLLOW",)),
    ("Wave", _draw_wave, ("WAVE",)),
    ("Rotation", _draw_rotation, REACHING),
    ("Reach", _draw_reach, REACHING),
    ("Pole", _draw_pole, REACHING),
    ("Ground", draw_ground, REACHING),
    ("Solver", _draw_solver, (*REACHING, *MOTION_SOLVERS)),
    ("FK and IK", _draw_snap, REACHING),
)
"""What the settings are shown in, and for which solvers."""


def _draw_if(layout: Layout, item: FabrikConstraint, switch: str, *names: str) -> None:
    """Draw settings that only matter while another one is on."""
    column = layout.column()
    column.active = getattr(item, switch)
    for name in names:
        column.prop(item, name)


def _draw_bone_of(
    layout: Layout,
    item: FabrikConstraint,
    name: str,
    source: bpy.types.Object | None,
) -> None:
    if source is not None and source.type == "ARMATURE":
        layout.prop_search(item, name, source.data, "bones", text="Bone")


def _draw_lock(layout: Layout, context: bpy.types.Context) -> None:
    layout.use_property_split = False
    layout.label(text=LOCK, icon="INFO")
    layout.prop(context.scene.render, "use_lock_interface", text="Lock Interface")


def draw_sentence(layout: Layout, context: bpy.types.Context, sentence: str) -> None:
    """Draw a sentence in lines that fit."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    for line in wrapped(sentence, context):
        column.label(text=line)


def state_name(item: FabrikConstraint) -> str:
    """Return the state as people read it."""
    if item.solver == "WAVE" and item.state == "REACHED":
        return WAVING
    states = cast(bpy.types.EnumProperty, item.bl_rna.properties["state"])
    return states.enum_items[item.state].name


def wrapped(sentence: str, context: bpy.types.Context) -> list[str]:
    """Return the lines in which a sentence fits into the region, as its font runs."""
    scale = context.preferences.system.ui_scale or 1.0  # 0 without a window
    blf.size(0, context.preferences.ui_styles[0].widget.points * scale)
    room = context.region.width - 70 * scale
    lines = [""]
    for word in sentence.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and blf.dimensions(0, longer)[0] > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
