"""Presets of constraints and joints, in Blender's own preset system.

Those of the extension are files in its folder ``presets``; those of users are where Blender keeps
theirs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel
from bpy.props import BoolProperty, StringProperty

from ...blender.errors import ProblemError
from ...blender.refusals import joints_problem
from ...editing.constraints import active_constraint
from ...editing.copying import copy_joint, values_of
from ...ui.refusing import Refusing, Working, active_armature, active_refusal
from ..joints.panel import shown_bone

if TYPE_CHECKING:
    from ...loop.properties import FabrikConstraint

HOME = Path(__file__).resolve().parents[2]

CONSTRAINTS, JOINTS = "fabrik_ik/constraint", "fabrik_ik/joint"

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

JOINT_SETTINGS = (
    "limit_type",
    "hinge_axis",
    "hinge_vector",
    "hinge_min",
    "hinge_max",
    "swing_x",
    "swing_z",
    "center",
    "twist_min",
    "twist_max",
    "stiffness",
)


def is_plain(value: object) -> bool:
    """Return whether a setting means the same in any file: not an object of this one."""
    return isinstance(value, bool | int | float | str | tuple)


class Applying(Working):
    """An operator that runs a preset's file, and can be undone as Blender's own cannot."""

    if TYPE_CHECKING:
        filepath: str
    else:
        filepath: StringProperty(
            name="File",
            description="The preset, a script that sets the settings",
            subtype="FILE_PATH",
            options={"SKIP_SAVE"},
        )

    def apply(self) -> None:
        """Run the file.

        Raises:
            ProblemError: If it does not run.
        """
        if not self.filepath:
            raise ProblemError("There is no preset to apply: choose one in the menu")
        try:
            bpy.utils.execfile(self.filepath)
        except Exception as error:  # It is anybody's script.
            raise ProblemError(f"“{self.title}” is no preset for this: {error}") from None

    @property
    def title(self) -> str:
        """The preset as the menu calls it."""
        return bpy.path.display_name(self.filepath, title_case=False)


class FABRIK_OT_constraint_preset_apply(Applying, bpy.types.Operator):
    """Give the active constraint the settings of a preset."""

    bl_idname = "fabrik.constraint_preset_apply"
    bl_label = "Apply Constraint Preset"
    bl_description = (
        "Set the active constraint up for this; its name, bones, target and pole stay, and so do "
        "the joints of its chain"
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
        return f"“{item.name}” is set up as “{self.title}”"


class FABRIK_OT_joint_preset_apply(Applying, bpy.types.Operator):
    """Give the selected bones the joint of a preset."""

    bl_idname = "fabrik.joint_preset_apply"
    bl_label = "Apply Joint Preset"
    bl_description = "Limit the active bone, and the other selected ones, in this way"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a bone."""
        return _joint_refusal(context)

    def work(self, context: bpy.types.Context) -> str:
        """Apply it."""
        self.apply()
        bone = shown_bone(context)
        bones: list[Any] = list(context.selected_pose_bones or ())
        others = copy_joint(bone, [one for one in bones if not joints_problem(one.id_data)])
        more = f" and {len(others)} more" if others else ""
        return f"“{bone.name}”{more} bends as “{self.title}”"


def _joint_refusal(context: bpy.types.Context) -> str:
    bone = shown_bone(context)
    if bone is None:
        return "Enter Pose Mode and click a bone"
    return joints_problem(bone.id_data)


Base: Any = AddPresetBase
"""Whose stubs do not know what its methods return."""


class Adding(Refusing, Base):
    """An operator that adds a preset to the user's, or removes one."""

    if TYPE_CHECKING:
        remove_name: bool
        remove_active: bool
    else:
        remove_name: BoolProperty(
            name="Remove",
            description="Remove the preset of this name, instead of adding one",
            default=False,
            options={"HIDDEN", "SKIP_SAVE"},
        )
        remove_active: BoolProperty(
            name="Remove Active",
            description="Remove the preset that was applied last, instead of adding one",
            default=False,
            options={"HIDDEN", "SKIP_SAVE"},
        )


class FABRIK_OT_constraint_preset_add(Adding, bpy.types.Operator):
    """Keep the settings of the active constraint as a preset."""

    bl_idname = "fabrik.constraint_preset_add"
    bl_label = "Add Constraint Preset"
    bl_description = "Keep the settings of the active constraint as a preset, or remove a preset"
    preset_menu = "FABRIK_PT_constraint_presets"
    preset_subdir = CONSTRAINTS
    preset_defines = [
        "fabrik = bpy.context.object.fabrik",
        "item = fabrik.constraints[fabrik.active_index]",
    ]

    @property
    def preset_values(self) -> list[str]:
        """What is saved: also how the constraint moves by itself, but nothing of the scene."""
        values = values_of(
            cast("FabrikConstraint", active_constraint(active_armature(bpy.context)))
        )
        moving = [name for name, value in values.items() if "." in name and is_plain(value)]
        return [f"item.{name}" for name in (*CONSTRAINT_SETTINGS, *moving)]

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a constraint."""
        return active_refusal(context)


class FABRIK_OT_joint_preset_add(Adding, bpy.types.Operator):
    """Keep the joint of the active bone as a preset."""

    bl_idname = "fabrik.joint_preset_add"
    bl_label = "Add Joint Preset"
    bl_description = "Keep the joint of the active bone as a preset, or remove a preset"
    preset_menu = "FABRIK_PT_joint_presets"
    preset_subdir = JOINTS
    preset_defines = [
        "ob = bpy.context.object",
        "joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint",
    ]
    preset_values = [f"joint.{name}" for name in JOINT_SETTINGS]

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for a bone."""
        return _joint_refusal(context)


class FABRIK_PT_constraint_presets(PresetPanel, bpy.types.Panel):
    """The presets of constraints."""

    bl_label = "Constraint Presets"
    preset_subdir = CONSTRAINTS
    preset_operator = "fabrik.constraint_preset_apply"
    preset_add_operator = "fabrik.constraint_preset_add"


class FABRIK_PT_joint_presets(PresetPanel, bpy.types.Panel):
    """The presets of joints."""

    bl_label = "Joint Presets"
    preset_subdir = JOINTS
    preset_operator = "fabrik.joint_preset_apply"
    preset_add_operator = "fabrik.joint_preset_add"


CLASSES = (
    FABRIK_OT_constraint_preset_apply,
    FABRIK_OT_joint_preset_apply,
    FABRIK_OT_constraint_preset_add,
    FABRIK_OT_joint_preset_add,
    FABRIK_PT_constraint_presets,
    FABRIK_PT_joint_presets,
)


def register() -> None:
    """Add the popovers, and the folder with the presets of the extension."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.utils.register_preset_path(str(HOME))


def unregister() -> None:
    """Take them away."""
    bpy.utils.unregister_preset_path(str(HOME))
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
