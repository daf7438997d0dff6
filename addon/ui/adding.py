"""Bases of operators that add constraints: to which bones, with which target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import bpy

from ..blender.access import session_uid
from ..blender.errors import ProblemError, listed
from ..blender.messages import COMMA, CONTEXT, joined, msg
from ..blender.relations import deformers, moves_with
from ..editing import constraints as editing
from ..editing.bending import native_limits_notes
from ..editing.controls import refuse_uneditable, uneditable_problem, use_bones
from ..editing.lifting import set_down
from ..settings.definitions import defined
from ..settings.properties import FabrikConstraint, settings
from .refusing import Working, armature_refusal
from .selecting import select_alone

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

MOTION_OPERATORS: list[tuple[str, str]] = []
"""The operators of the menu Add Motion, and their labels there."""

Target = tuple[bpy.types.Object, str]
"""An object and the name of its bone, empty for the object itself."""

TIP = msg("the tip bone")
"""The default name of the active bone in messages."""


class Selection(NamedTuple):
    """What is selected, by the rule of all operators that add constraints.

    Attributes:
        armature: The armature of the active bone.
        tips: The bones that get a constraint each, the active one first.
        target: The target of all, None if there is none.
        subtarget: The bone of the target, empty for the object itself.
    """

    armature: bpy.types.Object
    tips: list[str]
    target: bpy.types.Object | None
    subtarget: str


def selection_of(context: bpy.types.Context, others: str, active: str) -> Selection:
    """Return what is selected: tips of chains, and their target.

    A bone above another one of these belongs to its chain. Importers leave the meshes of a
    character selected: what the armature deforms is no target, and what else it carries is none of
    several.

    Args:
        context: The context.
        others: What the selected bones of the armature are besides the active one: ``'EACH'`` for
            tips, ``'TARGET'`` for the target, or ``'AUTO'``: a control is the target of others.
        active: The name of the active bone in messages.

    Raises:
        ProblemError: If several targets are selected.
    """
    tip: Any = context.active_pose_bone
    armature: bpy.types.Object = tip.id_data
    bones: list[Any] = [bone for bone in context.selected_pose_bones or () if bone != tip]
    bones_of_tip = [tip, *(bone for bone in bones if bone.id_data == armature)]
    targets: list[Target] = [(b.id_data, b.name) for b in bones if b.id_data != armature]
    if others != "EACH":
        tips = (
            bones_of_tip[:1]
            if others == "TARGET"
            else [bone for bone in bones_of_tip if not _is_control(bone)]
        )
        bones_of_tip, given = (
            tips or bones_of_tip,
            [bone for bone in bones_of_tip if tips and bone not in tips],
        )
        targets = [(armature, bone.name) for bone in given] + targets
    target = _only(targets or _selected_objects(context, armature), active)
    above = {parent.name for bone in bones_of_tip for parent in bone.parent_recursive}
    return Selection(armature, [b.name for b in bones_of_tip if b.name not in above], *target)


def _selected_objects(context: bpy.types.Context, armature: bpy.types.Object) -> list[Target]:
    """Return the selected objects that may be a target of an armature."""
    others = [ob for ob in context.selected_objects if ob.mode != "POSE"]
    others = [ob for ob in others if armature not in deformers(ob)]
    if len(others) > 1:
        others = [ob for ob in others if not moves_with(ob, {session_uid(armature)})]
    return [(ob, "") for ob in others]


def _is_control(bone: Any) -> bool:
    """Return whether a pose bone does not deform, or stands alone as a target does."""
    return not bone.bone.use_deform or (bone.parent is None and not bone.children)


def _only(targets: Sequence[Target], active: str) -> tuple[bpy.types.Object | None, str]:
    """Return the target, None and an empty name without one.

    Raises:
        ProblemError: If there are several.
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
    """Ask for Pose Mode and an active bone, given its name in messages."""
    reason = armature_refusal(context)
    if reason:
        return reason
    if context.mode != "POSE":
        return msg("Enter Pose Mode with {active} active", active=active)
    if context.active_pose_bone is None:
        return msg("Click {active} to make it active", active=active)
    return ""


class MakingControls(Working):
    """An operator that makes targets or poles: from the interface, control bones.

    Attributes:
        word: What a control bone is, for its name.
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

    def invoke(
        self, context: bpy.types.Context, event: bpy.types.Event
    ) -> set[OperatorReturnItems]:
        """Make control bones by default."""
        self.prefer_bones(context)
        return self.execute(context)

    def prefer_bones(self, context: bpy.types.Context) -> None:
        """Choose control bones, unless Empties were chosen or the bones are linked."""
        is_chosen = cast(Any, self).properties.is_property_set("controls")
        if not is_chosen and not uneditable_problem(self.armature(context)):
            self.controls = "BONE"

    def armature(self, context: bpy.types.Context) -> bpy.types.Object:
        """Return the armature that gets control bones."""
        return cast(Any, context.active_pose_bone).id_data

    def refuse_controls(self, armature: bpy.types.Object) -> None:
        """Refuse control bones where bones cannot be added.

        Raises:
            ProblemError: With the reason.
        """
        if self.controls == "BONE":
            refuse_uneditable(armature)

    def make_controls(
        self, armature: bpy.types.Object, indices: Sequence[int], known: Collection[int]
    ) -> None:
        """Replace the Empties that were added to constraints by control bones, and select these.

        Over a body that is lifted, what is added is set down to where the body is animated.

        Args:
            armature: The armature.
            indices: The indices of the constraints.
            known: The session UIDs of all objects from before.
        """
        empties = [ob for ob in bpy.data.objects if ob.session_uid not in known]
        if empties and self.controls == "BONE":
            names = use_bones(armature, indices, armature, self.word, empties)
            select_alone(bpy.context, [(armature, name) for name in names])
        elif empties:
            set_down(armature, indices, [(ob, "") for ob in empties])


def known_objects() -> set[int]:
    """Return the session UIDs of all objects."""
    return {ob.session_uid for ob in bpy.data.objects}


@contextmanager
def all_or_none(armature: bpy.types.Object, known: Collection[int]) -> Iterator[None]:
    """Remove the constraints and objects that are added here if one of them cannot be.

    Args:
        armature: The armature of the constraints.
        known: The session UIDs of all objects from before.
    """
    fabrik = settings(armature)
    start, active = len(fabrik.constraints), fabrik.active_index
    try:
        yield
    except BaseException:
        for index in reversed(range(start, len(fabrik.constraints))):
            editing.remove(armature, index)
        for ob in [ob for ob in bpy.data.objects if ob.session_uid not in known]:
            bpy.data.objects.remove(ob)
        fabrik.active_index = active
        raise


class AddMotionOperator(Working):
    """An operator that adds a motion without target to the chains of the selected bones.

    Attributes:
        solver: The motion.
        active: The name of the active bone in messages.
        others: What the other selected bones are, see `selection_of`.
    """

    asks = (tip_refusal,)
    solver = ""
    active = TIP
    others = "EACH"

    def completed(self, chosen: Selection) -> Selection:
        """Return the selection with a new target that all share, if they do."""
        return chosen

    def add(self, chosen: Selection, tip: str) -> FabrikConstraint:
        """Add a constraint to a tip."""
        return editing.add(
            chosen.armature, tip, chosen.target, chosen.subtarget, solver=self.solver
        )

    def done(self, bone: str, target: str) -> str:
        """Return the report on one constraint, given the names of its bone and target."""
        raise NotImplementedError

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraints."""
        chosen = selection_of(context, self.others, self.active)
        armature, known = chosen.armature, known_objects()
        self.refuse_controls(armature)
        start = len(settings(armature).constraints)
        with all_or_none(armature, known):
            chosen = self.completed(chosen)
            for tip in chosen.tips:
                self.add(chosen, tip)
        indices = range(start, len(settings(armature).constraints))
        settings(armature).active_index = start
        self.make_controls(armature, indices, known)
        items: list[Any] = [settings(armature).constraints[index] for index in indices]
        return joined(". ", [self._done(items), *native_limits_notes(armature, items)])

    def _done(self, items: Sequence[Any]) -> str:
        """Return the report on the new constraints."""
        names = [item.subtarget or (item.target.name if item.target else "") for item in items]
        if len(items) == 1:
            return self.done(items[0].bone, names[0])
        tips = listed([item.bone for item in items])
        targets = [*dict.fromkeys(filter(None, names))]
        if not targets:
            return msg("Added to {tips}", tips=tips)
        return msg("Added to {tips}: move {targets}", tips=tips, targets=listed(targets))

    def refuse_controls(self, armature: bpy.types.Object) -> None:
        """Refuse control bones that are to be made."""

    def make_controls(
        self, armature: bpy.types.Object, indices: Sequence[int], known: Collection[int]
    ) -> None:
        """Make control bones of new Empties."""


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
                "Add a constraint to each of them, but use a control bone as the target",
            ),
            ("EACH", "Add to Each", "Add a constraint to each of them"),
            ("TARGET", "Target", "Use the other selected bone as the target"),
        ),
        options={"SKIP_SAVE"},
    )
