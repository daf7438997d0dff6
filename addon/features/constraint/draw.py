"""Contents of the constraint panels."""

from __future__ import annotations

from typing import cast

import bpy

from ...blender.errors import listed
from ...blender.messages import Message, counted, label, msg, shown
from ...blender.refusals import rest_problem
from ...editing.constraints import active_constraint
from ...plan.registry import kind_of
from ...settings.properties import FabrikConstraint, settings
from ...settings.shot_keys import lost
from ...ui.layout import Layout, active_column, draw_bone_of, draw_sentence
from ...ui.refusing import active_armature
from ...ui.registering import registering
from ...ui.sections import (
    SECTIONS,
    Section,
    always,
    draw_main,
    draw_notes,
    draw_sections,
    has_target,
    has_tip,
    is_exact,
    properties,
    reaches,
)
from ...ui.wording import length_text
from .sentences import owner_of, posed_by, sentence_of

STATE_ICONS = {
    "REACHED": "CHECKMARK",
    "OUT_OF_REACH": "INFO",
    "LIMITED": "CON_ROTLIMIT",
    "INVALID": "ERROR",
    "DISABLED": "PAUSE",
}

SENTENCE = 3
"""Lines reserved for the sentence below the state. Without them, everything below would move
when it changes while a target or setting is dragged."""

AT_REST = msg("Showing the rest position")

HOW_TO = msg(
    "Click a hand, a foot or another bone of a limb in Pose Mode, and press Add IK Limb. To use "
    "your own target, select it first, then the tip bone of a chain, and press +."
)


def draw_armature(layout: Layout, context: bpy.types.Context) -> None:
    """Draw the armature's constraints, and the settings of the active one."""
    armature = active_armature(context)
    _draw_list(layout, armature)
    if names := lost(armature):
        text = msg(
            "Some keys or drivers have no effect, because the linked file no longer has {names}: "
            "restore them there, or delete the keys here",
            names=listed(names),
        )
        draw_sentence(layout, context, text)
    layout.operator("fabrik.limb_add", icon="ADD")
    if active_constraint(armature) is None:
        draw_sentence(layout, context, HOW_TO)
    else:
        bone = getattr(context, "active_pose_bone", None)
        active = bone.name if bone is not None and bone.id_data == armature else ""
        item = cast(FabrikConstraint, active_constraint(armature))
        text = shown(owner_of(armature, item, active))
        layout.label(text=text, translate=False)
        _draw_active(layout, context, armature)


def draw_bone(layout: Layout, context: bpy.types.Context, bone: str) -> None:
    """Draw the constraints with a bone of the active object as tip, or a button to add one."""
    armature = cast(bpy.types.Object, context.object)
    fabrik = settings(armature)
    of_bone = [i for i, item in enumerate(fabrik.constraints) if item.bone == bone]
    if not of_bone:
        layout.operator("fabrik.constraint_add", icon="ADD")
        draw_sentence(layout, context, posed_by(armature, bone))
        return
    if of_bone != [fabrik.active_index]:
        layout.template_list(
            "FABRIK_UL_bone_constraints",
            bone,
            fabrik,
            "constraints",
            fabrik,
            "active_index",
            rows=2,
        )
    if fabrik.active_index in of_bone:
        _draw_active(layout, context, armature)


def _draw_active(layout: Layout, context: bpy.types.Context, armature: bpy.types.Object) -> None:
    item = cast(FabrikConstraint, active_constraint(armature))
    # The most used settings come first: nothing above them changes its height.
    main = layout.column()
    main.use_property_split = True
    # For linked data Blender grays out values, but not pointers.
    main.enabled = armature.is_editable
    draw_main(main, armature, item)
    report = layout.box().column()
    _draw_report(report, context, item)
    sentence = sentence_of(armature, settings(armature).active_index)
    draw_sentence(report, context, sentence, least=SENTENCE)
    draw_notes(report, armature)
    layout.use_property_split = True
    draw_sections(layout, armature, item)


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
    """Draw the result of the last evaluation in a single line."""
    state = layout.row()
    if rest_problem(cast(bpy.types.Object, item.id_data)):
        state.label(text=shown(AT_REST), translate=False, icon="PAUSE")
        return
    state.alert = item.state == "INVALID"
    text = state_name(item)
    if item.state not in ("INVALID", "DISABLED") and has_target(item.solver):
        text += msg(" · Error {error}", error=length_text(context.scene, item.error))
        # Two Bone iterates only if bones change their length, and has no setting Iterations.
        if reaches(item.solver) and not is_exact(item.solver) and item.iterations_used:
            text += msg(
                " · {count}",
                count=counted(item.iterations_used, "{count} iteration", "{count} iterations"),
            )
    state.label(text=shown(text), translate=False, icon=STATE_ICONS[item.state])


def _draw_pole_target(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    row = layout.row(align=True)
    row.prop(item, "pole_target")
    row.operator("fabrik.pole_add", text="", icon="ADD")
    draw_bone_of(layout, item, "pole_subtarget", item.pole_target)


def _draw_chain(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop_search(item, "bone", armature.pose, "bones")
    layout.prop(item, "chain_count")


def _draw_target(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "target")
    draw_bone_of(layout, item, "subtarget", item.target)


def _draw_advanced(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "weight")
    layout.prop(item, "softness")
    layout.prop(item, "chain_bias")
    # Two Bone and poles always swing the whole chain first.
    if not is_exact(item.solver) and item.pole_target is None:
        layout.prop(item, "swing")
    root = layout.column(heading="Move Root")
    root.prop(item, "use_free_root", text="")
    if item.use_free_root:
        root.prop(item, "root_weight")


def _draw_offset(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.operator("fabrik.offset_set", text="Set to Current")
    layout.prop(item, "offset_location", text="Location")
    column = active_column(layout, item.use_rotation)
    column.prop(item, "offset_rotation", text="Rotation")


def _draw_pole(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    column = active_column(layout, item.pole_target is not None)
    column.prop(item, "pole_angle")
    column.prop(item, "pole_weight")
    follow = column.column(heading="Pole Follow")
    follow.prop(item, "use_pole_follow", text="")
    if item.use_pole_follow:
        follow.prop(item, "pole_follow")


def _draw_solver(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "solver")
    if is_exact(item.solver):
        return
    if reaches(item.solver):
        layout.prop(item, "iterations")
    if has_target(item.solver):
        layout.prop(item, "tolerance")


def state_name(item: FabrikConstraint) -> Message:
    """Return the label of a constraint's state."""
    kind = kind_of(item.solver)
    if kind.doing and item.state == "REACHED":
        return label(kind.doing)
    if item.state == "DISABLED" and item.enabled and item.influence == 0.0:
        return msg("Influence is 0: showing FK pose")
    states = cast(bpy.types.EnumProperty, item.bl_rna.properties["state"])
    return label(states.enum_items[item.state].name)


TURNED = properties("rotation_weight", "twist_spread")
STRETCHED = properties("stretch_max", "use_volume")

OWN = (
    Section(0, "", properties("influence"), always),
    Section(2, "", _draw_pole_target, reaches),
    Section(10, msg("Chain"), _draw_chain, always),
    Section(11, msg("Chain"), _draw_target, has_target),
    Section(35, msg("Keep Offset"), _draw_offset, has_tip, is_closed=True, switch="use_offset"),
    Section(40, msg("Copy Target Rotation"), TURNED, reaches, True, "use_rotation"),
    Section(50, msg("Stretch"), STRETCHED, reaches, True, "use_stretch"),
    Section(60, msg("Pole"), _draw_pole, reaches, is_closed=True),
    Section(80, msg("Solver"), _draw_solver, always, is_closed=True),
    Section(90, msg("Advanced"), properties("use_tail"), has_tip, is_closed=True),
    Section(91, msg("Advanced"), _draw_advanced, reaches, is_closed=True),
)

register, unregister = registering(__name__, *[(SECTIONS, section) for section in OWN])
