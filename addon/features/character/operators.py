"""Operators and panel for setting up a character."""

from __future__ import annotations

from typing import cast

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import CONTEXT, counted, enumerated, joined, msg, recalled, store
from ...body.chains import common_name
from ...editing.controls import uneditable_problem
from ...editing.unused import AFTER_REMOVAL
from ...settings.definitions import defined
from ...ui.adding import Parenting
from ...ui.bending import bend_sentences, evidence_of
from ...ui.layout import REDO, Layout, SidebarPanel, draw_sentence
from ...ui.refusing import (
    Asking,
    Working,
    active_armature,
    armature_refusal,
    rest_refusal,
    tweak_refusal,
)
from ...ui.registering import registering
from ...ui.removing import KEEP_CONTROLS, Removing
from ...ui.wording import length_text
from .recognizing import fill, inner_joints, recognize_parts
from .removing import forget_removed, remove
from .setting_up import Options, SetUpResult, set_up
from .settings import (
    FabrikCharacter,
    FabrikPart,
    add_part,
    character_settings,
    is_set_up,
)

HOW_TO = msg("Recognize the parts of the character, correct the list, then set up the character")

KIND_ICONS = {"ARM": "VIEW_PAN", "LEG": "MOD_DYNAMICPAINT", "SPINE": "BONE_DATA", "HEAD": "USER"}

CONTROL_ITEMS = (
    ("BONE", "Control Bones", "Add bones to the armature as targets and poles", 1),
    ("EMPTY", "Empties", "Add Empties as targets and poles", 0),
    ("ARMATURE", "New Armature", "Add targets and poles as bones of a new armature", 2),
)


def _set_up_refusal(context: bpy.types.Context) -> str:
    if is_set_up(character_settings(active_armature(context))):
        return msg("The character is already set up: remove its setup first")
    return ""


def _no_set_up_refusal(context: bpy.types.Context) -> str:
    if is_set_up(character_settings(active_armature(context))):
        return ""
    return msg("The character isn't set up")


def _part_refusal(context: bpy.types.Context) -> str:
    character = character_settings(active_armature(context))
    if 0 <= character.active_part < len(character.parts):
        return ""
    return msg("No parts are listed: recognize the character first")


def _meant_bone(context: bpy.types.Context) -> str:
    """Return the bone of the character that the user means; empty if there is none."""
    active = cast(bpy.types.Armature, active_armature(context).data).bones.active
    return "" if active is None else active.name


class CharacterOperator(Working):
    """An operator for a character."""

    asks = (armature_refusal, rest_refusal, tweak_refusal)


class FABRIK_OT_character_recognize(CharacterOperator, bpy.types.Operator):
    """Recognize the parts of a character."""

    bl_idname = "fabrik.character_recognize"
    bl_label = "Recognize Character"
    bl_description = (
        "Find the arms, legs, spine and head of the armature by bone names and shape, and list "
        "them for you to correct"
    )
    asks = (*CharacterOperator.asks, _set_up_refusal)

    told: str = defined(
        "Bending",
        "How the bend directions of elbows and knees were found (read only)",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    def work(self, context: bpy.types.Context) -> str:
        """Fill the list."""
        armature = active_armature(context)
        parts, missing, frame = recognize_parts(armature, _meant_bone(context))
        fill(character_settings(armature), parts)
        self.told = bend_sentences(evidence_of(inner_joints(armature, parts)))
        store(self.told)
        self.severity = "WARNING" if missing else "INFO"
        done = msg("Recognized {listed}", listed=_listed([part.kind for part in parts]))
        if frame is not None:
            done = msg("{text}, at frame {frame:.0f} of the animation", text=done, frame=frame)
        return joined(". ", [*filter(None, [done, missing, recalled(self.told)])])

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the sentence on how the limbs bend, in Adjust Last Operation."""
        draw_sentence(self.layout, context, self.told, REDO)


class FABRIK_OT_character_set_up(CharacterOperator, Parenting, Asking, bpy.types.Operator):
    """Set up a character in one step."""

    bl_idname = "fabrik.character_set_up"
    bl_label = "Set Up Character"
    bl_description = (
        "Add IK with targets and poles to the listed parts, and transfer the animation to "
        "these targets and poles. If no parts are listed, they are recognized first"
    )
    asks = (*CharacterOperator.asks, _set_up_refusal)

    controls: str = defined(
        "Controls", "Type of targets and poles", items=CONTROL_ITEMS, default="BONE"
    )
    poles: bool = defined("Poles", "Add pole targets to arms and legs", default=True)
    hinges: bool = defined(
        "Hinges",
        "Limit elbows and knees to their bend axis, unless they are animated",
        default=True,
    )
    roll: bool = defined(
        "Foot Roll",
        "Add controls that roll feet from heel to ball to toe, and rotate their toes",
        default=True,
    )
    animation: bool = defined(
        "Animation",
        "Keep the animation by keying the controls at every frame",
        default=True,
    )
    error: float = defined(
        "Simplify",
        "Remove keys as long as each joint stays within this distance of its animated path, "
        "relative to the character's size. At 0, every frame is keyed",
        default=0.0,
        min=0.0,
        soft_max=0.01,
        max=1.0,
        precision=4,
        step=0.01,
    )

    def work(self, context: bpy.types.Context) -> str:
        """Recognize the parts if none are listed, and set up."""
        armature = active_armature(context)
        character = character_settings(armature)
        self._prefer_empties(armature)
        is_new = not character.parts
        missing = ""
        if is_new:
            parts, missing, _ = recognize_parts(armature, _meant_bone(context))
            fill(character, parts)
        options = Options(
            self.controls,
            self.poles,
            self.hinges,
            self.animation,
            self.chosen_parent(),
            self.roll,
            self.error,
        )
        try:
            result = set_up(armature, options)
        except ProblemError:
            if is_new:
                character.parts.clear()
            raise
        self.severity = "WARNING" if result.is_off or missing else "INFO"
        text = msg(
            "Set up {listed}", listed=_listed([part.kind for part in character.parts if part.use])
        )
        if result.frames:
            difference = length_text(context.scene, result.difference)
            text += msg(
                ", keyed at {frames}; the poses differ by {difference}",
                frames=counted(result.frames, "{count} frame", "{count} frames"),
                difference=difference,
            )
        if result.most:
            keys = counted(result.keys, "{count:,} key", "{count:,} keys")
            text += msg(", {keys} instead of {most:,}", keys=keys, most=result.most)
        sentences = [result.problem, _moved(context, result), *result.notes, missing]
        return joined(". ", [text, *filter(None, sentences)])

    def _prefer_empties(self, armature: bpy.types.Object) -> None:
        """Use Empties by default if no bones can be added."""
        if not self.properties.is_property_set("controls") and uneditable_problem(armature):
            self.controls = "EMPTY"

    def draw_options(self, layout: Layout) -> None:
        """Draw the options."""
        layout.prop(self, "controls")
        if self.controls == "BONE":
            self.draw_parent(layout, active_armature(bpy.context))
        column = layout.column(heading="Add", heading_ctxt=CONTEXT)
        column.prop(self, "poles")
        column.prop(self, "hinges")
        if self.controls == "BONE":
            column.prop(self, "roll")
        layout.prop(self, "animation")
        if self.animation:
            layout.prop(self, "error")


class FABRIK_OT_character_remove(Removing, bpy.types.Operator):
    """Remove everything that setting up added."""

    bl_idname = "fabrik.character_remove"
    bl_label = "Remove Setup"
    bl_description = (
        "Remove the constraints, targets, poles and limits that Set Up Character added. The "
        "bones' animation doesn't change"
    )
    asks = (*CharacterOperator.asks, _no_set_up_refusal)

    keep_controls: bool = KEEP_CONTROLS

    def work(self, context: bpy.types.Context) -> str:
        """Remove the setup, and report how many constraints were removed."""
        count = remove(active_armature(context), self.keep_controls)
        if self.keep_controls:
            return counted(
                count,
                "Removed {count} constraint and kept its controls",
                "Removed {count} constraints and kept their controls",
            )
        return counted(
            count,
            "Removed {count} constraint with its controls",
            "Removed {count} constraints with their controls",
        )


class FABRIK_OT_character_part_add(CharacterOperator, bpy.types.Operator):
    """Add a part to the list."""

    bl_idname = "fabrik.character_part_add"
    bl_label = "Add Part"
    bl_description = "Add the active bone to the list as the end of a part"

    def work(self, context: bpy.types.Context) -> str:
        """Add the active bone."""
        character = character_settings(active_armature(context))
        bone = context.active_pose_bone
        part = add_part(character, "" if bone is None else bone.name)
        character.active_part = len(character.parts) - 1
        return msg("Added “{bone}”", bone=part.bone)


class FABRIK_OT_character_part_remove(CharacterOperator, bpy.types.Operator):
    """Remove a part from the list."""

    bl_idname = "fabrik.character_part_remove"
    bl_label = "Remove Part"
    bl_description = "Remove the selected part from the list"
    asks = (*CharacterOperator.asks, _part_refusal, _set_up_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Remove the selected part."""
        character = character_settings(active_armature(context))
        name = character.parts[character.active_part].bone
        character.parts.remove(character.active_part)
        character.active_part = max(0, character.active_part - 1)
        return msg("Removed “{name}” from the list", name=name)


def _moved(context: bpy.types.Context, result: SetUpResult) -> str:
    """Return a message on the bone that moved farthest; empty if the move isn't visible."""
    if not result.moved:
        return ""
    return msg(
        "“{bone}” moved farthest, by {distance} at frame {frame:.0f}: check the pose there",
        bone=result.moved,
        distance=length_text(context.scene, result.distance),
        frame=result.moved_at,
    )


PARTS = {
    "ARM": (msg("{count} arm"), msg("{count} arms")),
    "LEG": (msg("{count} leg"), msg("{count} legs")),
    "SPINE": (msg("{count} spine"), msg("{count} spines")),
    "HEAD": (msg("{count} head"), msg("{count} heads")),
}
"""Templates for the number of parts, by kind."""


def _listed(kinds: list[str]) -> str:
    """Format the number of parts of each kind: 2 arms and 1 head."""
    return enumerated(
        [counted(kinds.count(kind), *names) for kind, names in PARTS.items() if kind in kinds]
    )


class FABRIK_UL_character_parts(bpy.types.UIList):
    """The parts of a character."""

    def draw_item(  # type: ignore[override]
        self,
        _context: bpy.types.Context,
        layout: Layout,
        _data: object,
        item: FabrikPart,
        _icon: int,
        _active_data: object,
    ) -> None:
        """Draw one row: kind, bone, and whether it is used."""
        row = layout.row(align=True)
        row.active = item.use
        row.label(text=common_name(item.bone), translate=False, icon=KIND_ICONS[item.kind])
        layout.prop(item, "use", text="")


def _draw_parts(layout: Layout, context: bpy.types.Context, character: FabrikCharacter) -> None:
    layout.operator("fabrik.character_recognize")
    row = layout.row()
    row.template_list(
        "FABRIK_UL_character_parts", "", character, "parts", character, "active_part", rows=4
    )
    buttons = row.column(align=True)
    buttons.operator("fabrik.character_part_add", text="", icon="ADD")
    buttons.operator("fabrik.character_part_remove", text="", icon="REMOVE")
    if 0 <= character.active_part < len(character.parts):
        part = character.parts[character.active_part]
        column = layout.column()
        column.use_property_split = True
        column.prop(part, "kind")
        column.prop_search(part, "bone", active_armature(context).pose, "bones")
        column.prop(part, "chain_count")
    else:
        draw_sentence(layout, context, HOW_TO)


class FABRIK_PT_character(SidebarPanel, bpy.types.Panel):
    """The panel for setting up a character."""

    bl_label = "Character"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the parts and the buttons."""
        layout: Layout = self.layout
        character = character_settings(active_armature(context))
        if is_set_up(character):
            buttons = layout.column(align=True)
            buttons.operator("fabrik.ground_add")
        else:
            _draw_parts(layout, context, character)
            buttons = layout.column(align=True)
            buttons.operator("fabrik.character_set_up")
        buttons.operator("fabrik.character_remove", text="Remove")


register, unregister = registering(
    __name__,
    (AFTER_REMOVAL, forget_removed),
)
