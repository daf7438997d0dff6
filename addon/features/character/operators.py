"""Recognizing a character, setting it up, and removing that: operators and panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty

from ...blender.errors import ProblemError
from ...ui.layout import Layout, OfArmature, draw_sentence
from ...ui.refusing import Working, active_armature, armature_refusal, rest_refusal, tweak_refusal
from ...ui.registering import registering
from ...ui.wording import length_text
from .recognizing import fill, parts_of
from .setting_up import Options, remove, set_up
from .settings import FabrikPart, character_settings

HOW_TO = "Recognize the parts of the character, correct them, then set it up"

KIND_ICONS = {"ARM": "VIEW_PAN", "LEG": "MOD_DYNAMICPAINT", "SPINE": "BONE_DATA", "HEAD": "USER"}

CONTROL_ITEMS = (
    ("EMPTY", "Empties", "Add Empties as targets and poles", 0),
    ("BONE", "Control Bones", "Add bones to the armature as targets and poles", 1),
    ("ARMATURE", "New Armature", "Add targets and poles as bones of a new armature", 2),
)


class OfCharacter(Working):
    """An operator for a character."""

    asks = (armature_refusal, rest_refusal, tweak_refusal)


class FABRIK_OT_character_recognize(OfCharacter, bpy.types.Operator):
    """Find the limbs, spine and head of a character."""

    bl_idname = "fabrik.character_recognize"
    bl_label = "Recognize Character"
    bl_description = (
        "Find the arms, legs, spine and head of the armature by its names and its shape, and "
        "list them to be corrected"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Fill the list."""
        armature = active_armature(context)
        held = character_settings(armature)
        if any(part.key for part in held.parts):
            raise ProblemError("The character is set up already: remove its set-up first")
        found = parts_of(armature)
        if not found:
            raise ProblemError(
                f"“{armature.name}” has no pairs of limbs and no head that could be recognized: "
                "add parts to the list yourself"
            )
        fill(held, found)
        return f"Recognized {_listed([part.kind for part in found])}"


class FABRIK_OT_character_set_up(OfCharacter, bpy.types.Operator):
    """Rig a character in one step."""

    bl_idname = "fabrik.character_set_up"
    bl_label = "Set Up Character"
    bl_description = (
        "Add IK with targets and poles to the listed parts, and put the animation onto them so "
        "that it stays as it is. Recognizes the parts if none are listed"
    )

    if TYPE_CHECKING:
        controls: str
        poles: bool
        hinges: bool
        animation: bool
    else:
        controls: EnumProperty(
            name="Controls", description="Kind of targets and poles", items=CONTROL_ITEMS
        )
        poles: BoolProperty(
            name="Poles", description="Add pole targets to arms and legs", default=True
        )
        hinges: BoolProperty(
            name="Hinges",
            description=(
                "Limit elbows and knees to the axis about which they bend, unless they are animated"
            ),
            default=True,
        )
        animation: BoolProperty(
            name="Animation",
            description=(
                "Key the controls at each frame of the bones' animation, so that it stays as it is"
            ),
            default=True,
        )

    def work(self, context: bpy.types.Context) -> str:
        """Recognize if need be, and set up."""
        armature = active_armature(context)
        held = character_settings(armature)
        is_new = not held.parts
        if is_new:
            fill(held, parts_of(armature))
        try:
            done = set_up(armature, Options(self.controls, self.poles, self.hinges, self.animation))
        except ProblemError:
            if is_new:
                held.parts.clear()
            raise
        self.severity = "WARNING" if done.problem else "INFO"
        kinds = [part.kind for part in held.parts if part.use]
        text = f"Set up {_listed(kinds)}"
        if done.frames:
            apart = length_text(context.scene, done.difference)
            text += f", keyed at {done.frames} frames; the poses differ by {apart}"
        return f"{text}. {done.problem}" if done.problem else text


class FABRIK_OT_character_remove(OfCharacter, bpy.types.Operator):
    """Remove what setting up made."""

    bl_idname = "fabrik.character_remove"
    bl_label = "Remove Set-Up"
    bl_description = (
        "Remove the constraints, targets, poles and limits that Set Up Character added. The "
        "animation of the bones stays as it is"
    )

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a character that is set up."""
        reason = super().refusal(context)
        held = None if reason else character_settings(active_armature(context))
        if held is not None and not any(part.key for part in held.parts):
            return "The character is not set up"
        return reason

    def work(self, context: bpy.types.Context) -> str:
        """Remove it."""
        count = remove(active_armature(context))
        return f"Removed {count} constraints with their controls"


class FABRIK_OT_character_part_add(OfCharacter, bpy.types.Operator):
    """Add a part to the list."""

    bl_idname = "fabrik.character_part_add"
    bl_label = "Add Part"
    bl_description = "Add the active bone to the list as the end of a part"

    def work(self, context: bpy.types.Context) -> str:
        """Add it."""
        held = character_settings(active_armature(context))
        part = held.parts.add()
        bone = context.active_pose_bone
        part.bone = "" if bone is None else bone.name
        held.active_part = len(held.parts) - 1
        return f"Added “{part.bone}”"


class FABRIK_OT_character_part_remove(OfCharacter, bpy.types.Operator):
    """Remove a part from the list."""

    bl_idname = "fabrik.character_part_remove"
    bl_label = "Remove Part"
    bl_description = "Remove the selected part from the list"

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a part that nothing was made of."""
        reason = super().refusal(context)
        if reason:
            return reason
        held = character_settings(active_armature(context))
        if not 0 <= held.active_part < len(held.parts):
            return "There is no part: recognize the character first"
        if held.parts[held.active_part].key:
            return "The character is set up: remove its set-up first"
        return ""

    def work(self, context: bpy.types.Context) -> str:
        """Remove it."""
        held = character_settings(active_armature(context))
        name = held.parts[held.active_part].bone
        held.parts.remove(held.active_part)
        held.active_part = max(0, held.active_part - 1)
        return f"Removed “{name}” from the list"


def _listed(kinds: list[str]) -> str:
    """Return how many parts there are of each kind."""
    words = {"ARM": "arm", "LEG": "leg", "SPINE": "spine", "HEAD": "head"}
    counts = {kind: kinds.count(kind) for kind in words if kind in kinds}
    texts = [f"{n} {words[kind]}{'s' if n > 1 else ''}" for kind, n in counts.items()]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


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
        """Draw one row: what it is, its bone, and whether it is used."""
        row = layout.row(align=True)
        row.active = item.use
        row.label(text=item.bone, icon=KIND_ICONS[item.kind])
        layout.prop(item, "use", text="")


class FABRIK_PT_character(OfArmature, bpy.types.Panel):
    """Setting up a character, in the 3D view."""

    bl_label = "Character"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "FABRIK"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the parts, and the buttons."""
        layout: Layout = self.layout
        armature = active_armature(context)
        held = character_settings(armature)
        is_set_up = any(part.key for part in held.parts)
        layout.operator("fabrik.character_recognize")
        row = layout.row()
        row.active = not is_set_up
        row.template_list(
            "FABRIK_UL_character_parts", "", held, "parts", held, "active_part", rows=4
        )
        buttons = row.column(align=True)
        buttons.operator("fabrik.character_part_add", text="", icon="ADD")
        buttons.operator("fabrik.character_part_remove", text="", icon="REMOVE")
        if 0 <= held.active_part < len(held.parts):
            part = held.parts[held.active_part]
            column = layout.column()
            column.enabled = not is_set_up
            column.use_property_split = True
            column.prop(part, "kind")
            column.prop_search(part, "bone", armature.pose, "bones")
            column.prop(part, "chain_count")
        else:
            draw_sentence(layout, context, HOW_TO)
        row = layout.row(align=True)
        row.operator("fabrik.character_set_up")
        row.operator("fabrik.character_remove", text="Remove")


CLASSES = (
    FABRIK_OT_character_recognize,
    FABRIK_OT_character_set_up,
    FABRIK_OT_character_remove,
    FABRIK_OT_character_part_add,
    FABRIK_OT_character_part_remove,
    FABRIK_UL_character_parts,
    FABRIK_PT_character,
)

register, unregister = registering(CLASSES)
