"""Presets of constraints."""

from __future__ import annotations

from typing import cast

import bpy

from ...blender.messages import msg
from ...editing.constraints import active_constraint
from ...settings.properties import FabrikConstraint
from ...ui.presets import AddPresetOperator, ApplyPresetOperator, PresetPanel
from ...ui.refusing import active_armature, active_refusal
from ...ui.registering import registering

FOLDER = "fabrik_ik/constraint"


class _ConstraintPreset:
    """The settings and requirements shared by both operators."""

    asks = (active_refusal,)

    @classmethod
    def group(cls, context: bpy.types.Context) -> FabrikConstraint:
        """Return the active constraint."""
        return cast(FabrikConstraint, active_constraint(active_armature(context)))


class FABRIK_OT_constraint_preset_apply(_ConstraintPreset, ApplyPresetOperator, bpy.types.Operator):
    """Apply a preset to the active constraint."""

    bl_idname = "fabrik.constraint_preset_apply"
    bl_label = "Apply Constraint Preset"
    bl_description = (
        "Apply a preset to the active constraint. Its name, bones, target, pole target and "
        "joints are kept"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Apply the preset."""
        self.apply(context)
        return msg("Applied “{name}” to “{group}”", name=self.title, group=self.group(context).name)


class FABRIK_OT_constraint_preset_add(_ConstraintPreset, AddPresetOperator, bpy.types.Operator):
    """Save the settings of the active constraint as a preset."""

    bl_idname = "fabrik.constraint_preset_add"
    bl_label = "Add Constraint Preset"
    bl_description = "Save the settings of the active constraint as a preset, or remove a preset"
    preset_menu = "FABRIK_PT_constraint_presets"
    preset_subdir = FOLDER
    preset_defines = [
        "fabrik = bpy.context.object.fabrik",
        "item = fabrik.constraints[fabrik.active_index]",
    ]


class FABRIK_PT_constraint_presets(PresetPanel, bpy.types.Panel):
    """The presets of constraints."""

    bl_label = "Constraint Presets"
    bl_description = "Apply, add and remove presets of constraints"
    preset_subdir = FOLDER
    preset_operator = "fabrik.constraint_preset_apply"
    preset_add_operator = "fabrik.constraint_preset_add"


register, unregister = registering(__name__)
