"""Operators of the constraint list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from ...blender.errors import ProblemError, listed
from ...blender.messages import msg
from ...blender.refusals import linked_problem, tweak_problem
from ...blender.skeleton import skeleton_of
from ...body.chains import limb_length
from ...editing import constraints as editing
from ...editing.defaults import (
    FabrikDefaults,
    changed_defaults,
    reset_defaults,
    save_defaults,
    stored_defaults,
)
from ...editing.unused import remove_constraints
from ...plan import planner
from ...plan.registry import kind_of
from ...settings.definitions import defined
from ...settings.properties import SOLVER_ITEMS, FabrikConstraint, settings
from ...ui.adding import AddWithTargetOperator, MakingControls, Selection, known_objects
from ...ui.following import ListEntry, entries_of
from ...ui.refusing import Working, active_armature, active_refusal, rest_refusal, tweak_refusal
from ...ui.registering import registering
from ...ui.removing import KEEP_CONTROLS, Removing, select_remaining
from ...ui.sections import has_tip


def _order_refusal(context: bpy.types.Context) -> str:
    armature = active_armature(context)
    if len(settings(armature).constraints) < 2:
        return msg("There is only one constraint")
    if armature.override_library is not None:
        return msg("Constraints of a library override keep the linked file's order")
    return ""


def _pole_refusal(context: bpy.types.Context) -> str:
    item = cast(FabrikConstraint, editing.active_constraint(active_armature(context)))
    if not kind_of(item.solver).reaches:
        return msg(
            "“{constraint}” doesn't use a pole: choose a constraint that reaches a target",
            constraint=item.name,
        )
    if item.pole_target is not None:
        return msg(
            "The chain already has the pole target “{pole_target}”: clear Pole Target first",
            pole_target=item.pole_subtarget or item.pole_target.name,
        )
    return ""


def _offset_refusal(context: bpy.types.Context) -> str:
    item = cast(FabrikConstraint, editing.active_constraint(active_armature(context)))
    if not item.bone:
        return msg("No tip bone: choose the last bone of the chain")
    if item.target is None:
        return msg("No target to keep an offset from: choose one")
    if not has_tip(item.solver):
        return msg(
            "“{constraint}” doesn't use an offset: choose a constraint that reaches a target",
            constraint=item.name,
        )
    return ""


def _solver_items() -> list[tuple[str, str, str]]:
    """Return the solvers, including those that features add."""
    auto = ("AUTO", "Automatic", "Use Two Bone for a chain of two bones, FABRIK for a longer one")
    return [auto, *[item[:3] for item in SOLVER_ITEMS]]


class FABRIK_OT_constraint_add(AddWithTargetOperator, bpy.types.Operator):
    """Add a constraint to each selected bone, like Blender's Add IK to Bone."""

    bl_idname = "fabrik.constraint_add"
    bl_label = "Add FABRIK IK"
    bl_description = (
        "Make the chain that ends at each selected bone reach for the other selected object. "
        "Without one, add a control at the tip as the target"
    )

    chain_count: int = defined(
        "Chain Length",
        "Number of bones in the chain, counted from the active bone. 0 includes all bones up to "
        "the root. Default: up to where the skeleton branches",
        default=0,
        min=0,
        soft_max=32,
        options={"SKIP_SAVE"},
    )
    solver: str = defined(
        "Solver", "Algorithm that solves the chain", items=_solver_items, default="AUTO"
    )
    use_offset: bool = defined(
        "Keep Offset",
        "Keep the pose and the tip's current offset from the target",
        default=False,
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraints."""
        # The redo panel shows the length of the first chain; the others may differ.
        tip: Any = context.active_pose_bone
        planner.discard_if_outdated()  # Bones may have been renamed.
        rig = skeleton_of(tip.id_data)
        limb_bones = limb_length(rig, rig.index[tip.name])
        is_chosen = (
            self.properties.is_property_set("chain_count") and self.chain_count != limb_bones
        )
        self._count = self.chain_count if is_chosen else None
        done = super().work(context)
        self.chain_count = cast(Any, editing.active_constraint(tip.id_data)).chain_count
        return done

    def add(self, chosen: Selection, tip: str) -> FabrikConstraint:
        """Add a constraint to a tip bone."""
        return editing.add(
            chosen.armature,
            tip,
            chosen.target,
            chosen.subtarget,
            self._count,
            self.solver,
            self.use_offset,
        )

    def done(self, bone: str, target: str) -> str:
        """Return the report on a single constraint."""
        if not target:
            return msg("“{bone}” doesn't need a target", bone=bone)
        return msg("“{bone}” reaches for “{subtarget}”", bone=bone, subtarget=target)


class FABRIK_OT_constraint_remove(Removing, bpy.types.Operator):
    """Remove the active constraint and its animation."""

    bl_idname = "fabrik.constraint_remove"
    bl_label = "Remove FABRIK IK Constraint"
    bl_description = (
        "Remove the active constraint with its keys, drivers and added controls. The bones "
        "return to their FK pose"
    )
    asks = (active_refusal, tweak_refusal)

    keep_controls: bool = KEEP_CONTROLS

    def work(self, context: bpy.types.Context) -> str:
        """Remove the active constraint."""
        armature = active_armature(context)
        entry = armature, settings(armature).active_index
        return _remove(context, [entry], self.keep_controls)


def _remove(context: bpy.types.Context, places: Sequence[ListEntry], keep_controls: bool) -> str:
    """Remove constraints, select their tips if nothing else is selected, and return the report.

    Raises:
        ProblemError: If a library override inherits one of the constraints.
    """
    places = sorted(places, key=lambda entry: entry[1])
    items = [settings(armature).constraints[index] for armature, index in places]
    names = [item.name for item in items]
    tips = [(armature, item.bone) for (armature, _), item in zip(places, items, strict=True)]
    remove_constraints(places, keep_controls)
    select_remaining(context, tips)
    return msg("Removed {names}: the bones return to their FK pose", names=listed(names))


def _clear_refusal(context: bpy.types.Context) -> str:
    if context.mode != "POSE" or not entries_of(context.selected_pose_bones or ()):
        return msg("Select bones with FABRIK IK in Pose Mode")
    return ""


class FABRIK_OT_ik_clear(Removing, bpy.types.Operator):
    """Remove the selected bones' constraints, and Blender's IK as Remove IK does."""

    bl_idname = "fabrik.ik_clear"
    bl_label = "Remove FABRIK IK"
    bl_description = (
        "Remove FABRIK IK and Blender's Inverse Kinematics from the selected bones, with their "
        "keys, drivers and controls. Blender's Remove IK leaves FABRIK IK in place"
    )
    asks = (_clear_refusal,)

    keep_controls: bool = KEEP_CONTROLS

    def work(self, context: bpy.types.Context) -> str:
        """Remove the constraints."""
        bones: list[Any] = list(context.selected_pose_bones or ())
        entries = entries_of(bones)
        for armature in {ob for ob, _ in entries}:
            if problem := linked_problem(armature) or tweak_problem(armature):
                raise ProblemError(problem)
        if any(con.type == "IK" for bone in bones for con in bone.constraints):
            bpy.ops.pose.ik_clear()
        return _remove(context, entries, self.keep_controls)


class FABRIK_OT_constraint_move(Working, bpy.types.Operator):
    """Swap the active constraint with a neighbor, including its animation."""

    bl_idname = "fabrik.constraint_move"
    bl_label = "Move FABRIK IK"
    bl_description = (
        "Move the active constraint in the list. If two constraints pose the same bone, the "
        "lower one is solved last"
    )
    asks = (active_refusal, tweak_refusal, _order_refusal)

    direction: str = defined(
        "Direction",
        "Direction to move the constraint",
        items=(
            ("UP", "Up", "Solve the constraint earlier"),
            ("DOWN", "Down", "Solve the constraint later"),
        ),
    )

    def work(self, context: bpy.types.Context) -> str:
        """Swap the constraint with its neighbor in the direction, if it has one."""
        armature = active_armature(context)
        fabrik = settings(armature)
        index = fabrik.active_index
        neighbor = index + (-1 if self.direction == "UP" else 1)
        if not 0 <= neighbor < len(fabrik.constraints):
            return ""
        editing.swap(armature, index, neighbor)
        first, second = (fabrik.constraints[i].name for i in sorted((index, neighbor)))
        return msg("“{first}” is now before “{second}”", first=first, second=second)


class FABRIK_OT_pole_add(MakingControls, bpy.types.Operator):
    """Add a pole target without changing the pose."""

    bl_idname = "fabrik.pole_add"
    bl_label = "Add Pole"
    bl_description = (
        "Add a pole target in the current bend direction and keep the pose. Move it to rotate "
        "the elbow or knee"
    )
    asks = (active_refusal, rest_refusal, _pole_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Add the pole."""
        armature, old_uids = active_armature(context), known_objects()
        self.refuse_controls(armature)
        index = settings(armature).active_index
        editing.add_pole(context.evaluated_depsgraph_get(), armature, index)
        self.make_controls(armature, [index], old_uids)
        item: Any = settings(armature).constraints[index]
        name = item.pole_subtarget or item.pole_target.name
        return msg("Added the pole target “{pole}”", pole=name)

    def armature(self, context: bpy.types.Context) -> bpy.types.Object:
        """Return the armature of the constraint."""
        return active_armature(context)


class FABRIK_OT_offset_set(Working, bpy.types.Operator):
    """Set the active constraint's offset to the tip's current offset from its target."""

    bl_idname = "fabrik.offset_set"
    bl_label = "Set Offset"
    bl_description = "Keep the pose and the tip bone's current offset from the target"
    asks = (active_refusal, rest_refusal, _offset_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Set the offset."""
        armature = active_armature(context)
        editing.set_offset(armature, settings(armature).active_index)
        name = cast(Any, editing.active_constraint(armature)).name
        return msg("“{name}” keeps its tip at the current offset", name=name)


def _save_refusal(context: bpy.types.Context) -> str:
    return "" if stored_defaults() else msg("The add-on isn't enabled in the preferences")


class FABRIK_OT_constraint_default_save(Working, bpy.types.Operator):
    """Use the active constraint's settings for new constraints."""

    bl_idname = "fabrik.constraint_default_save"
    bl_label = "Save as Default"
    bl_description = (
        "Use the settings of the active constraint for new constraints. Bones, targets and the "
        "solver aren't included. Nor are foot roll, ground, and the settings of look-at, "
        "ropes, free chains, waves and springs"
    )
    bl_options = {"REGISTER"}  # Undo can't restore preferences.
    asks = (active_refusal, _save_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Store the settings."""
        item = cast(FabrikConstraint, editing.active_constraint(active_armature(context)))
        save_defaults(item, cast(FabrikDefaults, stored_defaults()))
        return msg("New constraints use the settings of “{name}”", name=item.name)


def _reset_refusal(_context: bpy.types.Context) -> str:
    return "" if changed_defaults() else msg("New constraints already use the factory defaults")


class FABRIK_OT_constraint_default_reset(Working, bpy.types.Operator):
    """Reset the settings of new constraints."""

    bl_idname = "fabrik.constraint_default_reset"
    bl_label = "Reset Defaults"
    bl_description = "Reset the settings of new constraints to the factory defaults"
    bl_options = {"REGISTER"}
    asks = (_reset_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Reset the settings."""
        reset_defaults(cast(FabrikDefaults, stored_defaults()))
        return msg("New constraints use the factory defaults")


register, unregister = registering(__name__)
