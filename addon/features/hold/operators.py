"""Operators to hold and release targets, controls and props, and to remove or bake holds."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender import moving
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import Message, counted, joined, msg, shown
from ...blender.refusals import joints_problem
from ...body.clicked import find_limbs
from ...editing.constraints import that_pose
from ...editing.controls import uneditable_problem
from ...editing.limb_adding import AddingOptions, add_limbs
from ...editing.unused import BEFORE_BONES
from ...editing.uses import OF_BONES
from ...plan import planner
from ...settings.definitions import defined
from ...settings.properties import settings
from ...ui.refusing import Working, active_armature, armature_refusal, rest_refusal
from ...ui.registering import registering
from ...ui.selecting import select_alone
from ..simulation import history
from . import editing
from .baking import bake
from .editing import Held, Holder
from .events import refuse_unkeyable
from .listing import holds_with
from .settings import FabrikHold, holds_of
from .simulation import holds


class Holding(Working):
    """Base of operators that change the holders of targets, controls or props."""

    asks = (armature_refusal, rest_refusal)

    constraint: str = defined(
        "Constraint",
        "Constraint whose target is held. Empty: the selection",
        options={"SKIP_SAVE"},
    )
    object: str = defined("Object", "Object that is held", options={"SKIP_SAVE"})

    def held(self, context: bpy.types.Context) -> list[Held]:
        """Return the named or selected bones and objects.

        Raises:
            ProblemError: If nothing has that name, or nothing is selected.
        """
        armature = active_armature(context)
        if self.object:
            ob = bpy.data.objects.get(self.object)
            if ob is None:
                raise ProblemError("No object is named “{object}”", object=self.object)
            return [Held(ob, "")]
        if self.constraint:
            return [editing.goal_of(armature, self.constraint)]
        return self.selected(context, armature)

    def selected(self, context: bpy.types.Context, armature: bpy.types.Object) -> list[Held]:
        """Return the selected targets and controls, and the targets of selected limbs."""
        bone: Any = context.active_pose_bone
        if context.mode != "POSE" or bone is None:
            raise ProblemError("Enter Pose Mode and select a hand, a foot or a control")
        return [held_by_click(bone)]


def held_by_click(bone: bpy.types.PoseBone) -> Held:
    """Return what to hold for a clicked bone: the target of its limb, or the bone itself.

    A hand or foot without IK gets IK first.

    Raises:
        ProblemError: If neither the target nor the bone can be held.
    """
    armature = cast(bpy.types.Object, bone.id_data)
    bone_hold = editing.find_hold(Held(armature, bone.name))
    items = settings(armature).constraints
    if bone_hold is not None or bone.name in _goals(armature):
        return Held(armature, bone.name)
    posing = that_pose(armature, [bone.name])
    if posing:
        return editing.goal_of(armature, items[posing[0]].name)
    if not bone.bone.use_deform:
        return Held(armature, bone.name)
    refuse_unkeyable(armature)
    planner.discard_if_outdated()  # Bones may have been renamed.
    [(limb, is_hand)] = find_limbs(armature, [bone.name])
    has_limits, has_bones = not joints_problem(armature), not uneditable_problem(armature)
    options = AddingOptions(is_hand, has_bones, hinges=has_limits)
    [index], _ = add_limbs(armature, [limb], options)
    settings(armature).active_index = index
    if has_bones:
        select_alone(bpy.context, [(armature, items[index].subtarget)])
    return editing.goal_of(armature, items[index].name)


def _goals(armature: bpy.types.Object) -> set[str]:
    """Return an armature's bones that are targets or poles of its constraints."""
    items = settings(armature).constraints
    ends = [(con.target, con.subtarget) for con in items]
    ends += [(con.pole_target, con.pole_subtarget) for con in items]
    return {bone for ob, bone in ends if ob == armature and bone}


def selected_goals(context: bpy.types.Context) -> list[Held]:
    """Return the selected bones that are targets or poles of their armature's constraints."""
    selected: list[Any] = list(context.selected_pose_bones or ())
    goals = {ob: _goals(ob) for ob in {bone.id_data for bone in selected}}
    return [Held(bone.id_data, bone.name) for bone in selected if bone.name in goals[bone.id_data]]


class Taking(Holding):
    """Base of operators that attach selected or named items to a holder."""

    use_animation: bool = defined(
        "Own Animation",
        "Let the held bone's own keys offset it from its holder. Off by default if it already "
        "has such keys",
        default=True,
        options={"SKIP_SAVE"},
    )

    def take(self, held: list[Held], holder: Holder, frame: float, report: Message) -> Message:
        """Add the events; return the report, and whether the items' own keys are ignored."""
        is_chosen = cast(Any, self).properties.is_property_set("use_animation")
        chosen = self.use_animation if is_chosen else None
        # The redo panel then shows the result.
        self.use_animation = editing.hold(held, holder, frame, chosen)
        if self.use_animation:
            return report
        ignored = msg(
            "Keys of “{bone}” are ignored: to use them, enable Own Animation", bone=names_of(held)
        )
        return joined(". ", [report, ignored])


def holder_name(holder: Holder) -> str:
    """Return a holder's name as messages show it."""
    return holder.bone or (shown(msg("World")) if holder.object is None else holder.object.name)


def names_of(held: list[Held]) -> str:
    """Return the names of bones or objects as messages show them."""
    return ", ".join(item.name for item in held)


BY_ITEMS = (
    ("NAMED", "Named", "The object or bone named below, or the world"),
    ("SELECTED", "Selected", "The other selected bone or object"),
    ("WORLD", "World", "Keep the bone or object in place"),
    ("BODY", "Body", "The root of the armature"),
)


class FABRIK_OT_hold(Taking, bpy.types.Operator):
    """Attach a target, control or prop to a holder from this frame on."""

    bl_idname = "fabrik.hold"
    bl_label = "Hold"
    bl_description = (
        "From this frame on, attach a hand, foot or control to the bone selected after it, or to "
        "the selected object. Nothing jumps"
    )

    holder: str = defined("Holder", "Holding object. Empty: the world", options={"SKIP_SAVE"})
    bone: str = defined("Bone", "Bone of Holder", options={"SKIP_SAVE"})
    by: str = defined("By", "What holds the bone or object", items=BY_ITEMS, options={"SKIP_SAVE"})

    def selected(self, context: bpy.types.Context, armature: bpy.types.Object) -> list[Held]:
        """Return the bones selected before the holder, if the holder is a bone."""
        _, selected = _selected_bones(context)
        if self.by == "SELECTED" and context.mode == "POSE" and selected:
            return [held_by_click(bone) for bone in selected]
        return super().selected(context, armature)

    def work(self, context: bpy.types.Context) -> str:
        """Add the events."""
        armature = active_armature(context)
        # Adding IK to a hand selects the new control.
        selected = _selected_holder(context) if self.by == "SELECTED" else None
        held = self.held(context)
        holder = selected or self._holder(armature, held)
        frame = context.scene.frame_current_final
        return self.take(held, holder, frame, _report(held, holder, frame))

    def _holder(self, armature: bpy.types.Object, held: list[Held]) -> Holder:
        if self.by == "WORLD" or (self.by == "NAMED" and not self.holder):
            return Holder()
        if self.by == "BODY":
            root = root_of(held[0], armature)
            return Holder(armature, root)
        ob = bpy.data.objects.get(self.holder)
        if ob is None:
            raise ProblemError("No object is named “{object}”", object=self.holder)
        return Holder(ob, self.bone)


def _report(held: list[Held], holder: Holder, frame: float) -> Message:
    if holder.object is None:
        return msg(
            "“{bone}” stays in place from frame {frame:g} on", bone=names_of(held), frame=frame
        )
    return msg(
        "“{holder}” holds “{bone}” from frame {frame:g} on",
        holder=holder_name(holder),
        bone=names_of(held),
        frame=frame,
    )


def root_of(held: Held, armature: bpy.types.Object) -> str:
    """Return the root bone of an armature's body; empty if the object itself is the root."""
    bones = pose_bones(armature)
    names = [item.bone for item in settings(armature).constraints if item.bone in bones]
    roots = {[bones[name], *bones[name].parent_recursive][-1].name for name in names}
    roots -= {held.bone}
    return next(iter(roots)) if len(roots) == 1 else ""


def _selected_bones(context: bpy.types.Context) -> tuple[Any, list[Any]]:
    """Return the active bone and the other selected bones."""
    active: Any = context.active_pose_bone
    return active, [bone for bone in context.selected_pose_bones or () if bone != active]


def _selected_holder(context: bpy.types.Context) -> Holder:
    """Return the active bone if others are selected, otherwise the selected object.

    Raises:
        ProblemError: If several objects or bones could be meant, or nothing is selected.
    """
    active, selected = _selected_bones(context)
    if active is None:
        raise ProblemError("Enter Pose Mode and select a hand, a foot or a control")
    if selected:
        return Holder(active.id_data, active.name)
    objects = [ob for ob in context.selected_objects if ob.mode != "POSE"]
    if len(objects) != 1:
        raise ProblemError(
            "Select “{bone}” first, and then the bone or object that should hold it",
            bone=active.name,
        )
    return Holder(objects[0])


class FABRIK_OT_pick_up(Taking, bpy.types.Operator):
    """Attach an object to a hand from this frame on."""

    bl_idname = "fabrik.pick_up"
    bl_label = "Pick Up"
    bl_description = (
        "From this frame on, attach the selected object to the active bone. It doesn't jump, and "
        "its own keys can still move it in the hand"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Add the events."""
        active: Any = context.active_pose_bone
        objects = [ob for ob in context.selected_objects if ob.mode != "POSE"]
        if active is None or not objects:
            raise ProblemError("Select an object, then the hand's bone in Pose Mode")
        frame = context.scene.frame_current_final
        holder, held = Holder(active.id_data, active.name), [Held(ob, "") for ob in objects]
        return self.take(held, holder, frame, _report(held, holder, frame))


class FABRIK_OT_release(Holding, bpy.types.Operator):
    """Release a held bone or object to its own parent from this frame on."""

    bl_idname = "fabrik.release"
    bl_label = "Release"
    bl_description = (
        "From this frame on, return the held bone or object to its own parent, without a jump. "
        "It continues from there, or blends back to its own animation"
    )

    frames: int = defined(
        "Return",
        "Frames to blend back to its own animation. 0 leaves it where it is",
        default=0,
        min=0,
        soft_max=50,
        options={"SKIP_SAVE"},
    )

    def selected(self, context: bpy.types.Context, armature: bpy.types.Object) -> list[Held]:
        """Return the selected objects that are held, or else the selected bones."""
        objects = [ob for ob in context.selected_objects if editing.find_hold(Held(ob, ""))]
        if objects:
            return [Held(ob, "") for ob in objects]
        return super().selected(context, armature)

    def work(self, context: bpy.types.Context) -> str:
        """Add the events."""
        held = self.held(context)
        frame = context.scene.frame_current_final
        editing.release(held, frame, self.frames)
        if self.frames > 0:
            return msg(
                "“{bone}” returns to its own animation from frame {frame:g} to {end:g}",
                bone=names_of(held),
                frame=frame,
                end=frame + self.frames,
            )
        return msg("“{bone}” is released at frame {frame:g}", bone=names_of(held), frame=frame)


class OfHold(Working):
    """Base of operators on a hold in the list."""

    asks = (armature_refusal,)

    armature: str = defined("Armature", "Armature of the hold", options={"SKIP_SAVE", "HIDDEN"})
    index: int = defined("Index", "Index of the hold", default=0, options={"SKIP_SAVE", "HIDDEN"})

    def hold(self, context: bpy.types.Context) -> tuple[bpy.types.Object, str]:
        """Return the hold's armature, and the name of the held bone or object.

        Raises:
            ProblemError: If the hold doesn't exist.
        """
        armature = bpy.data.objects.get(self.armature) or active_armature(context)
        if not 0 <= self.index < len(holds_of(armature)):
            raise ProblemError("No hold to remove")
        return armature, holds_of(armature)[self.index].name


class FABRIK_OT_hold_remove(OfHold, bpy.types.Operator):
    """Remove a hold and its events."""

    bl_idname = "fabrik.hold_remove"
    bl_label = "Remove Hold"
    bl_description = "Remove all events of a hold. The held bone returns to its own animation"

    def work(self, context: bpy.types.Context) -> str:
        """Remove the hold."""
        armature, name = self.hold(context)
        editing.remove(armature, self.index)
        context.view_layer.update()  # type: ignore[union-attr]
        return msg("Removed the hold of “{bone}”", bone=name)


class FABRIK_OT_hold_event_remove(OfHold, bpy.types.Operator):
    """Remove an event of a hold."""

    bl_idname = "fabrik.hold_event_remove"
    bl_label = "Remove Event"
    bl_description = (
        "Remove this event. The hold before it continues, and the next event doesn't jump"
    )

    frame: float = defined("Frame", "Frame of the event", options={"SKIP_SAVE", "HIDDEN"})

    def work(self, context: bpy.types.Context) -> str:
        """Remove the event."""
        armature, name = self.hold(context)
        editing.remove_event_at(armature, self.index, self.frame)
        context.view_layer.update()  # type: ignore[union-attr]
        return msg("Removed the event of “{bone}” at frame {frame:g}", bone=name, frame=self.frame)


class FABRIK_OT_hold_bake(Working, bpy.types.Operator):
    """Bake everything that holds move to keys, and remove the holds."""

    bl_idname = "fabrik.hold_bake"
    bl_label = "Bake Holds"
    bl_description = (
        "Key this armature's held bones, and everything that it holds, at every frame of their "
        "holds. Then remove the holds"
    )
    asks = (armature_refusal, rest_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Bake the holds."""
        armature = active_armature(context)
        planner.current()
        done = bake(context.scene, cast(Any, context.view_layer), holds_with(armature))
        return msg(
            "Baked {count}: the largest difference is {distance:.3g} mm",
            count=counted(done.holds, "{count} hold", "{count} holds"),
            distance=1000.0 * done.distance,
        )


register, unregister = registering(
    __name__,
    (history.PROVIDERS, holds),
    (moving.HOLDING, editing.holding),
    (OF_BONES, FabrikHold),
    (BEFORE_BONES, editing.remove_of),
)
