"""Base classes of operators that add constraints: which bones get one, and their target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

import bpy

from ..blender.access import session_uid
from ..blender.errors import ProblemError, listed
from ..blender.messages import COMMA, CONTEXT, joined, msg
from ..blender.relations import deformers, moves_with
from ..editing import constraints as editing
from ..editing.bending import native_limits_notes
from ..editing.control_parents import Parent
from ..editing.controls import refuse_uneditable, uneditable_problem, use_bones
from ..editing.lifting import set_down
from ..settings.definitions import defined
from ..settings.properties import FabrikConstraint, settings
from .refusing import Outcome, Working, armature_refusal
from .selecting import select_alone

MOTION_OPERATORS: list[tuple[str, str]] = []
"""Operators of the Add Motion menu, with their labels."""

Target = tuple[bpy.types.Object, str]
"""An object and the name of its bone; empty for the object itself."""

TIP = msg("the tip bone")
"""The default name of the active bone in messages."""


class Selection(NamedTuple):
    """The selection, as interpreted by all operators that add constraints.

    Attributes:
        armature: The armature of the active bone.
        tips: The bones that each get a constraint, the active one first.
        target: The target of all constraints; None without a target.
        subtarget: The target's bone; empty for the object itself.
    """

    armature: bpy.types.Object
    tips: list[str]
    target: bpy.types.Object | None
    subtarget: str


def selection_of(context: bpy.types.Context, others: str, active: str) -> Selection:
    """Return the selected tips of chains, and their target.

    A bone whose descendant is also selected belongs to the chain of that descendant. Importers
    leave a character's meshes selected, so objects that the armature deforms are never targets. If
    several remain, those that move with the armature are ignored.

    Args:
        context: The context.
        others: The role of the armature's other selected bones. ``'EACH'``: tips. ``'TARGET'``: the
            target. ``'AUTO'``: a control bone is the target of the others.
        active: The name of the active bone in messages.

    Raises:
        ProblemError: If several targets are selected.
    """
    tip: Any = context.active_pose_bone
    armature: bpy.types.Object = tip.id_data
    bones: list[Any] = [bone for bone in context.selected_pose_bones or () if bone != tip]
    bones_of_tip = [tip, *(bone for bone in bones if bone.id_data == armature)]
    targets: list[Target] = [(b.id_data, b.name) for b in bones if b.id_data != armature]
    tips = _tips(bones_of_tip, others)
    targets = [(armature, bone.name) for bone in bones_of_tip if bone not in tips] + targets
    objects: list[Target] = [(ob, "") for ob in selected_objects(context, armature)]
    target = _only(targets or objects, active)
    above = {parent.name for bone in tips for parent in bone.parent_recursive}
    return Selection(armature, [b.name for b in tips if b.name not in above], *target)


def _tips(bones: list[Any], others: str) -> list[Any]:
    """Return the bones that are tips; the others are the target."""
    if others == "EACH":
        return bones
    if others == "TARGET":
        return bones[:1]
    return [bone for bone in bones if not _is_control(bone)] or bones


def selected_objects(
    context: bpy.types.Context, armature: bpy.types.Object
) -> list[bpy.types.Object]:
    """Return the selected objects that can be a target of an armature."""
    objects = [ob for ob in context.selected_objects if ob.mode != "POSE"]
    objects = [ob for ob in objects if armature not in deformers(ob)]
    if len(objects) > 1:
        objects = [ob for ob in objects if not moves_with(ob, {session_uid(armature)})]
    return objects


def _is_control(bone: Any) -> bool:
    """Return whether a pose bone looks like a control: it doesn't deform, or has no relatives."""
    return not bone.bone.use_deform or (bone.parent is None and not bone.children)


def _only(targets: Sequence[Target], active: str) -> tuple[bpy.types.Object | None, str]:
    """Return the only target, or None and an empty name.

    Raises:
        ProblemError: If there are several targets.
    """
    if len(targets) > 1:
        names = joined(COMMA, [msg("“{bone}”", bone=bone or ob.name) for ob, bone in targets[:4]])
        raise ProblemError(
            "Select only one target in addition to {active}, not {count}: {names}",
            active=active,
            count=len(targets),
            names=names,
        )
    return targets[0] if targets else (None, "")


def tip_refusal(context: bpy.types.Context, active: str = TIP) -> str:
    """Return a message if Pose Mode or an active bone is missing; ``active`` names the bone."""
    reason = armature_refusal(context)
    if reason:
        return reason
    if context.mode != "POSE":
        return msg("Enter Pose Mode and click {active}", active=active)
    if context.active_pose_bone is None:
        return msg("No active bone: click {active}", active=active)
    return ""


PART_ITEMS: Final = (
    ("HIPS", "Hips", "Hips of the body"),
    ("CHEST", "Chest", "Bone of the spine that the arms are parented to"),
    ("HEAD", "Head", "Head of the body"),
)
"""The parts of a body that controls can be parented to (see `control_parents.PARTS`)."""


class Parenting:
    """An operator that adds control bones with a choice of their parent."""

    parent: str = defined(
        "Parent",
        "What the new control bones are parented to, and move with",
        items=(
            (
                "ROOT",
                "Root",
                "Root bone above the body. Without one, only the armature object moves them",
            ),
            ("WORLD", "World", "No bone: only the armature object moves them"),
            *PART_ITEMS,
            ("BONE", "Bone", "The bone chosen below"),
        ),
        default="ROOT",
        options={"SKIP_SAVE"},
    )
    parent_bone: str = defined(
        "Parent Bone", "Parent of new control bones, if Parent is Bone", options={"SKIP_SAVE"}
    )

    def chosen_parent(self) -> Parent:
        """Return the chosen parent."""
        return Parent(self.parent, self.parent_bone)

    def draw_parent(self, layout: Any, armature: bpy.types.Object) -> None:
        """Draw the choice of the parent."""
        layout.prop(self, "parent")
        if self.parent == "BONE":
            layout.prop_search(self, "parent_bone", armature.pose, "bones")


class MakingControls(Parenting, Working):
    """An operator that adds targets or poles: control bones when called from the interface.

    Attributes:
        word: The part of a control bone's name that describes its purpose.
    """

    word = "IK"

    controls: str = defined(
        "Controls",
        "Type of the new target or pole. Default: control bones from the interface, Empties from "
        "scripts",
        items=(
            ("BONE", "Control Bones", "Add bones to the armature, and select them"),
            ("EMPTY", "Empties", "Add Empties"),
        ),
        default="EMPTY",
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Use control bones by default."""
        self.prefer_bones(context)
        return self.execute(context)

    def prefer_bones(self, context: bpy.types.Context) -> None:
        """Use control bones, unless Empties were chosen or the armature is not editable."""
        is_chosen = cast(Any, self).properties.is_property_set("controls")
        if not is_chosen and not uneditable_problem(self.armature(context)):
            self.controls = "BONE"

    def armature(self, context: bpy.types.Context) -> bpy.types.Object:
        """Return the armature that gets control bones."""
        return cast(Any, context.active_pose_bone).id_data

    def refuse_controls(self, armature: bpy.types.Object) -> None:
        """Refuse control bones if bones can't be added to the armature.

        Raises:
            ProblemError: If bones can't be added; the message says why.
        """
        if self.controls == "BONE":
            refuse_uneditable(armature)

    def make_controls(
        self, armature: bpy.types.Object, indices: Sequence[int], old_uids: Collection[int]
    ) -> None:
        """Put control bones in place of Empties that were added for constraints, and select them.

        If the body is lifted, new controls are moved down to where the body is animated.

        Args:
            armature: The armature.
            indices: The indices of the constraints.
            old_uids: The session UIDs of all previous objects.
        """
        empties = [ob for ob in bpy.data.objects if ob.session_uid not in old_uids]
        if empties and self.controls == "BONE":
            names = use_bones(armature, indices, armature, self.word, empties, self.chosen_parent())
            select_alone(bpy.context, [(armature, name) for name in names])
        elif empties:
            set_down(armature, indices, [(ob, "") for ob in empties])


def known_objects() -> set[int]:
    """Return the session UIDs of all objects."""
    return {ob.session_uid for ob in bpy.data.objects}


@contextmanager
def all_or_none(armature: bpy.types.Object, old_uids: Collection[int]) -> Iterator[None]:
    """If the block fails, remove the constraints and objects that were added in it.

    Args:
        armature: The armature of the constraints.
        old_uids: The session UIDs of all previous objects.
    """
    fabrik = settings(armature)
    start, active = len(fabrik.constraints), fabrik.active_index
    try:
        yield
    except BaseException:
        for index in reversed(range(start, len(fabrik.constraints))):
            editing.remove(armature, index)
        for ob in [ob for ob in bpy.data.objects if ob.session_uid not in old_uids]:
            bpy.data.objects.remove(ob)
        fabrik.active_index = active
        raise


class AddMotionOperator(Working):
    """An operator that adds a motion without a target to the chains of the selected bones.

    Attributes:
        solver: The motion's identifier.
        active: The name of the active bone in messages.
        others: The role of the other selected bones; see `selection_of`.
    """

    asks = (tip_refusal,)
    solver = ""
    active = TIP
    others = "EACH"

    def completed(self, chosen: Selection) -> Selection:
        """Return the selection, with a shared new target if the operator adds one."""
        return chosen

    def add(self, chosen: Selection, tip: str) -> FabrikConstraint:
        """Add a constraint to a tip bone."""
        return editing.add(
            chosen.armature, tip, chosen.target, chosen.subtarget, solver=self.solver
        )

    def done(self, bone: str, target: str) -> str:
        """Return the report on a single constraint, from the names of its bone and target."""
        raise NotImplementedError

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraints."""
        chosen = selection_of(context, self.others, self.active)
        armature, old_uids = chosen.armature, known_objects()
        self.refuse_controls(armature)
        start = len(settings(armature).constraints)
        with all_or_none(armature, old_uids):
            chosen = self.completed(chosen)
            for tip in chosen.tips:
                self.add(chosen, tip)
            indices = range(start, len(settings(armature).constraints))
            self.make_controls(armature, indices, old_uids)
        settings(armature).active_index = start
        items: list[Any] = [settings(armature).constraints[index] for index in indices]
        return joined(". ", [self._done(items), *native_limits_notes(armature, items)])

    def _done(self, items: Sequence[Any]) -> str:
        names = [item.subtarget or (item.target.name if item.target else "") for item in items]
        if len(items) == 1:
            return self.done(items[0].bone, names[0])
        tips = listed([item.bone for item in items])
        targets = [*dict.fromkeys(filter(None, names))]
        if not targets:
            return msg("Added to {tips}", tips=tips)
        return msg("Added to {tips}: move {targets}", tips=tips, targets=listed(targets))

    def refuse_controls(self, armature: bpy.types.Object) -> None:
        """Accept any armature, because no controls are made."""

    def make_controls(
        self, armature: bpy.types.Object, indices: Sequence[int], old_uids: Collection[int]
    ) -> None:
        """Make no controls."""


class AddWithTargetOperator(MakingControls, AddMotionOperator):
    """An operator that adds constraints with a target to the chains of the selected bones."""

    others: str = defined(
        "Selected Bones",
        "How to use the other selected bones",
        translation_context=CONTEXT,
        items=(
            (
                "AUTO",
                "Automatic",
                "Add a constraint to each of them. If one is a control bone, use it as the "
                "target instead",
            ),
            ("EACH", "Add to Each", "Add a constraint to each of them"),
            ("TARGET", "Target", "Use the other selected bone as the target"),
        ),
        options={"SKIP_SAVE"},
    )
