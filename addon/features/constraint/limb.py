"""Operator that adds IK with target, pole and hinges to limbs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import bpy

from ...blender.errors import ChoiceError, ProblemError, listed
from ...blender.messages import CONTEXT, joined, msg, store
from ...blender.refusals import joints_problem, linked_problem, rest_problem
from ...blender.skeleton import skeleton_of
from ...body.body import Limb
from ...body.clicked import find_limbs, other_limb
from ...editing.controls import uneditable_problem
from ...editing.limb_adding import AddingOptions, add_limbs, is_driven
from ...plan import planner
from ...settings.definitions import defined
from ...settings.properties import settings
from ...ui.adding import Parenting, selected_objects, tip_refusal
from ...ui.bending import bend_sentences, evidence_of
from ...ui.layout import REDO, draw_sentence
from ...ui.refusing import Asking
from ...ui.registering import registering
from ...ui.selecting import Handle, select_alone


def _added(items: Sequence[Any]) -> str:
    """Return the report on new constraints, with names that animators use."""
    tips = listed([item.name for item in items])
    ends = [item.subtarget or item.target.name for item in items]
    targets = listed([*dict.fromkeys(ends)])
    return msg("Added IK to {tips}: move {targets}", tips=tips, targets=targets)


def _bone_refusal(context: bpy.types.Context) -> str:
    return tip_refusal(context, "a hand, a foot or a bone of a limb")


def _pose_refusal(context: bpy.types.Context) -> str:
    bone: Any = context.active_pose_bone
    return rest_problem(bone.id_data)


class FABRIK_OT_limb_add(Parenting, Asking, bpy.types.Operator):
    """Add IK to the limbs of the selected bones in a single step."""

    bl_idname = "fabrik.limb_add"
    bl_label = "Add IK Limb"
    bl_description = (
        "Add IK with a target and a pole to each selected limb, and keep the pose. A hand or "
        "foot copies the target's rotation"
    )
    bl_options = {"REGISTER", "UNDO"}
    asks = (_bone_refusal, _pose_refusal)

    told: str = defined(
        "Bending",
        "How the bend directions of elbows and knees were found (read only)",
        options={"HIDDEN", "SKIP_SAVE"},
    )
    controls: str = defined(
        "Controls",
        "Type of targets and poles",
        items=(
            ("BONE", "Control Bones", "Add bones to the armature as targets and poles"),
            ("EMPTY", "Empties", "Add Empties as targets and poles"),
        ),
    )
    use_both_sides: bool = defined(
        "Both Sides", "Also add IK to the limb on the other side", default=False
    )
    use_selected: bool = defined(
        "To Selected Object",
        "Use the selected object as the target, if there is only one besides the armature",
        default=True,
        options={"SKIP_SAVE"},
    )
    use_pole: bool = defined(
        "Pole", ("Add a pole target that controls the bend direction"), default=True
    )
    use_hinges: bool = defined(
        "Hinges",
        "Limit elbows and knees to their bend axis in the rest pose, unless they are animated",
        default=True,
    )
    use_roll: bool = defined(
        "Foot Roll",
        "Add controls that roll a foot from heel to ball to toe, and rotate its toes",
        default=True,
    )
    bend: str = defined(
        "Bend",
        "Bend direction of elbows and knees that are straight in the pose",
        translation_context=CONTEXT,
        items=(
            (
                "AUTO",
                "Automatic",
                "Infer it from the hinges, the animation, the rest pose or the body's shape",
            ),
            ("FLIPPED", "Flipped", "Bend in the opposite direction"),
        ),
        options={"SKIP_SAVE"},
    )
    use_rotation: bool = defined(
        "Copy Target Rotation",
        "Rotate the hand or foot to the target's orientation. On by default if the hand or foot "
        "itself is active",
        default=True,
        options={"SKIP_SAVE"},
    )
    chain_count: int = defined(
        "Chain Length",
        "Number of bones that bend. Default: the bones of the limb, up to where the skeleton "
        "branches",
        default=0,
        min=0,
        soft_max=32,
        options={"SKIP_SAVE"},
    )
    use_finger: bool = defined(
        "Finger",
        "Add IK to the selected finger, toe or other chain instead of its arm or leg",
        default=False,
        options={"SKIP_SAVE"},
    )
    was_finger: bool = defined(
        "Was Finger",
        "Whether the chain length was found for a finger",
        options={"HIDDEN", "SKIP_SAVE"},
    )
    has_foot: bool = defined(
        "Has Foot",
        "Whether a foot gets IK, so that it can roll",
        default=False,
        options={"HIDDEN", "SKIP_SAVE"},
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add IK to the limbs of the selected bones, starting with the active bone's armature."""
        active: Any = context.active_pose_bone
        selected: Any = [active, *(context.selected_pose_bones or ())]
        planner.discard_if_outdated()  # Bones may have been renamed.
        self._forget_other()
        target = self._target(context, active.id_data)
        # The defaults suit the active limb; other limbs may differ.
        names = _names_in(active.id_data, selected)
        limb, is_hand = find_limbs(active.id_data, names, self.use_finger)[0]
        self._set_defaults(active.id_data, limb, is_hand and target is None)
        count = self.chain_count if self.chain_count != len(limb.bones) else 0
        reports: list[str] = []
        controls: list[Handle] = []
        for armature in dict.fromkeys(bone.id_data for bone in selected):
            _refuse(armature)
            names = _names_in(armature, selected)
            reports += self._add(armature, names, target, count)
            controls += _new_bones(armature)
        if controls:
            select_alone(context, controls)
        store(self.told)
        return joined(". ", reports)

    def _target(
        self, context: bpy.types.Context, armature: bpy.types.Object
    ) -> bpy.types.Object | None:
        """Return the selected object, if it becomes the target."""
        objects = selected_objects(context, armature) if self.use_selected else []
        return objects[0] if len(objects) == 1 else None

    def _add(
        self,
        armature: bpy.types.Object,
        names: list[str],
        target: bpy.types.Object | None,
        count: int,
    ) -> list[str]:
        """Add IK to the limbs of an armature's bones, and return the report."""
        limbs = [limb for limb, _ in find_limbs(armature, names, self.use_finger)]
        if count:
            limbs = [_with_length(armature, limb, count) for limb in limbs]
        limbs = [*dict.fromkeys(limbs)]
        self.has_foot |= any(limb.kind == "LEG" and limb.hand for limb in limbs)
        notes = self._add_other_sides(armature, limbs) if self.use_both_sides else []
        is_limitable = self.use_hinges and not joints_problem(armature)
        options = AddingOptions(
            self.use_rotation,
            self.controls == "BONE",
            self.use_pole,
            is_limitable,
            self.bend == "FLIPPED",
            self.chosen_parent(),
            target,
            self.use_roll,
        )
        joints = [joint for limb in limbs for joint in limb.joints[1:]]
        evidence = evidence_of([one for one in joints if not is_driven(armature, one.bone)])
        indices, warnings = add_limbs(armature, limbs, options)
        self.told = joined(
            ". ", [*filter(None, [bend_sentences(evidence, options.flip)]), *warnings]
        )
        items: Any = settings(armature).constraints
        settings(armature).active_index = indices[0]
        return [_added([items[i] for i in indices]), *notes, *warnings]

    def _set_defaults(self, armature: bpy.types.Object, limb: Limb, is_hand: bool) -> None:
        """Set the options that the user didn't choose to suit a limb."""
        if not self.properties.is_property_set("use_rotation"):
            self.use_rotation = is_hand
        if not self.properties.is_property_set("chain_count"):
            self.chain_count = len(limb.bones)
        if not self.properties.is_property_set("controls") and uneditable_problem(armature):
            self.controls = "EMPTY"

    def _add_other_sides(self, armature: bpy.types.Object, limbs: list[Limb]) -> list[str]:
        """Add the opposite limbs to the list, and return a message for each missing limb."""
        notes: list[str] = []
        for limb in [*limbs]:
            other = other_limb(armature, limb)
            if other is None:
                self.severity = "WARNING"
                notes.append(msg("“{bone}” has no opposite side", bone=limb.tip(True)))
            elif other not in limbs:
                limbs.append(other)
        return notes

    def _forget_other(self) -> None:
        """In the redo panel, discard defaults computed for the other value of Finger."""
        if self.properties.is_property_set("was_finger") and self.was_finger != self.use_finger:
            self.properties.property_unset("chain_count")
            self.properties.property_unset("use_rotation")
        self.was_finger = self.use_finger

    def draw_options(self, layout: Any) -> None:
        """Draw the options."""
        layout.prop(self, "controls")
        layout.prop(self, "chain_count")
        column = layout.column(heading="Add", heading_ctxt=CONTEXT)
        for name in ("use_both_sides", "use_pole", "use_hinges"):
            column.prop(self, name)
        if self.controls == "BONE" and self.has_foot:
            column.prop(self, "use_roll")
        layout.prop(self, "bend")
        layout.prop(self, "use_rotation")
        layout.prop(self, "use_finger")
        layout.prop(self, "use_selected")
        if self.controls == "BONE":
            self.draw_parent(layout, cast(bpy.types.Object, bpy.context.object))
        if self.told:
            draw_sentence(layout, bpy.context, self.told, REDO)


def _names_in(armature: bpy.types.Object, bones: Iterable[Any]) -> list[str]:
    return [bone.name for bone in bones if bone.id_data == armature]


def _refuse(armature: bpy.types.Object) -> None:
    """Refuse an armature that can't be posed.

    Raises:
        ProblemError: If the armature is refused; the message says why.
    """
    if problem := linked_problem(armature) or rest_problem(armature):
        raise ProblemError(problem)


def _new_bones(armature: bpy.types.Object) -> list[Handle]:
    """Return the target bones of new constraints, starting with the active one."""
    items: Any = settings(armature).constraints[settings(armature).active_index :]
    return [(item.target, item.subtarget) for item in items if item.subtarget]


def _with_length(armature: bpy.types.Object, limb: Limb, count: int) -> Limb:
    """Return a limb with another number of bones.

    Raises:
        ChoiceError: If there are fewer bones up to the root.
    """
    rig = skeleton_of(armature)
    bones = rig.chain_up(rig.index[limb.bones[-1]])
    if count > len(bones):
        raise ChoiceError(
            "Chain Length can be at most {count} for “{bone}”: decrease it",
            {"chain_count": len(bones)},
            bone=limb.bones[-1],
            count=len(bones),
        )
    return replace(limb, bones=tuple(rig.names[i] for i in bones[-count:]))


register, unregister = registering(__name__)
