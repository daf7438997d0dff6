"""Presets of constraints."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...editing.constraints import active_constraint
from ...editing.copying import values_of
from ...loop.properties import FabrikConstraint
from ...ui.presets import Adding, Applying, PresetPanel
from ...ui.refusing import active_armature, active_refusal

FOLDER = "fabrik_ik/constraint"

CONSTRAINT_SETTINGS = (
    "solver",
    "chain_count",
    "chain_bias",
    "use_free_root",
    "root_weight",
    "weight",
    "use_rotation",
    "rotation_weight",
    "twist_spread",
    "softness",
    "swing",
    "use_stretch",
    "stretch_max",
    "use_volume",
    "pole_weight",
    "use_continuous",
    "iterations",
    "tolerance",
)
"""What a preset sets of a constraint: neither what it is for nor how far it is on."""


def is_plain(value: object) -> bool:
    """Return whether a setting means the same in any file: not an object of this one."""
    return isinstance(value, bool | int | float | str | tuple)


class FABRIK_OT_constraint_preset_apply(Applying, bpy.types.Operator):
    """Give the active constraint the settings of a preset."""

    bl_idname = "fabrik.constraint_preset_apply"
    bl_label = "Apply Constraint Preset"
    bl_description = (
        "Apply a preset to the active constraint. Its name, bones, target, pole target and "
        "joints are kept"
    )
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a constraint."""
        return active_refusal(context)

    def work(self, context: bpy.types.Context) -> str:
        """Apply it."""
        self.apply()
        item: Any = active_constraint(active_armature(context))
        return f"Applied “{self.title}” to “{item.name}”"


class FABRIK_OT_constraint_preset_add(Adding, bpy.types.Operator):
    """Keep the settings of the active constraint as a preset."""

    bl_idname = "fabrik.constraint_preset_add"
    bl_label = "Add Constraint Preset"
    bl_description = "Save the settings of the active constraint as a preset, or remove a preset"
    preset_menu = "FABRIK_PT_constraint_presets"
    preset_subdir = FOLDER
    preset_defines = [
        "fabrik = bpy.context.object.fabrik",
        "item = fabrik.constraints[fabrik.active_index]",
    ]

    @property
    def preset_values(self) -> list[str]:
        """What is saved: also how the constraint moves by itself, but nothing of the scene."""
        values = values_of(cast(FabrikConstraint, active_constraint(active_armature(bpy.context))))
        moving = [name for name, value in values.items() if "." in name and is_plain(value)]
        return [f"item.{name}" for name in (*CONSTRAINT_SETTINGS, *moving)]

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a constraint."""
        return active_refusal(context)


class FABRIK_PT_constraint_presets(PresetPanel, bpy.types.Panel):
    """The presets of constraints."""

    bl_label = "Constraint Presets"
    bl_description = "Apply, add and remove presets of constraints"
    preset_subdir = FOLDER
    preset_operator = "fabrik.constraint_preset_apply"
    preset_add_operator = "fabrik.constraint_preset_add"


CLASSES = (
    FABRIK_OT_constraint_preset_apply,
    FABRIK_OT_constraint_preset_add,
    FABRIK_PT_constraint_presets,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
