"""Operators, lists and panel of walks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, cast

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import CONTEXT, Message, counted, joined, msg, shown
from ...editing.bending import native_limits_notes
from ...editing.constraints import that_pose
from ...editing.controls import use_bones
from ...settings.definitions import defined
from ...settings.properties import settings
from ...ui.adding import MOTION_OPERATORS, MakingControls
from ...ui.layout import Layout, SidebarPanel, draw_sentence
from ...ui.presets import AddPresetOperator, ApplyPresetOperator, PresetPanel
from ...ui.refusing import (
    Outcome,
    Refusing,
    Working,
    active_armature,
    armature_refusal,
    rest_refusal,
    tweak_refusal,
)
from ...ui.registering import registering
from ...ui.reporting import say
from ...ui.selecting import select_alone
from ...ui.stepping import DirectProgressOperator
from ...ui.wording import length_text
from ..bake.operators import Baking
from ..simulation import history
from ..simulation.operators import Simulating
from .editing import active_gait, add_gait, add_legs, problem_of, remove_gait, remove_leg
from .message import leg_notes, status_message, walk_notes
from .settings import FabrikGait, FabrikGaitLeg, gait_settings
from .simulation import walk_refusals, walks

if TYPE_CHECKING:
    from ..bake.goal_keys import TargetBakeResult
    from ..simulation.simulate import Simulation

GAITS = "fabrik_ik/gait"

HOW_TO = msg(
    "Press + to add every leg, or select the last bones of some legs first. Then animate the "
    "common parent of the legs."
)

SWITCHED = msg("Switched the rig's own FK/IK to FK, because the walk poses the FK controls")

OFF = msg("This walk is disabled: its legs reach for their targets.")


def gait_refusal(context: bpy.types.Context) -> str:
    """Return why an armature has no active walk; empty if it has one."""
    reason = armature_refusal(context)
    if not reason and active_gait(active_armature(context)) is None:
        return msg("No walks: press +")
    return reason


def _constraint_refusal(context: bpy.types.Context) -> str:
    if settings(active_armature(context)).constraints:
        return ""
    return msg("No constraint to use as a leg: add one to the last bone of a leg")


def _leg_refusal(context: bpy.types.Context) -> str:
    gait = cast(FabrikGait, active_gait(active_armature(context)))
    if 0 <= gait.active_leg < len(gait.legs):
        return ""
    return msg("No legs: press + to add the active constraint")


class FABRIK_OT_gait_add(Simulating, MakingControls, bpy.types.Operator):
    """Add a walk, for the selected legs or for all recognized legs."""

    bl_idname = "fabrik.gait_add"
    bl_label = "Add Walk"
    bl_description = (
        "Make the legs step as their common parent moves, and simulate the walk. Use the legs of "
        "the selected bones, or all legs if fewer than two are selected"
    )
    asks = (armature_refusal, rest_refusal)
    stopped = msg("Added the walk, but it isn't simulated: press Simulate")
    _added: Message | None = None

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Use control bones by default, and simulate step by step, with its progress shown."""
        self.prefer_bones(context)
        return super().invoke(context, event)

    def armature(self, context: bpy.types.Context) -> bpy.types.Object:
        """Return the walk's armature."""
        return active_armature(context)

    def start(self, context: bpy.types.Context) -> Generator[float, None, Simulation]:
        """Add the walk, and simulate it."""
        armature = active_armature(context)
        self.refuse_controls(armature)
        start = len(settings(armature).constraints)
        gait, made, is_switched, notes = add_gait(armature, _tips(context))
        name, count = gait.body, len(gait.legs)
        self._finish(context, armature, name, range(start, start + made))
        self.warn(dict.fromkeys([*leg_notes(armature), *notes]))
        items: Any = settings(armature).constraints[start : start + made]
        for note in native_limits_notes(armature, items):
            say(self, "INFO", note)
        if is_switched:
            say(self, "INFO", SWITCHED)
        body = msg("“{body}”", body=name) if name else msg("the armature object")
        self._added = msg(
            "Added a walk with {count}, {made} of them new: animate {body}",
            count=counted(count, "{count} leg", "{count} legs"),
            made=made,
            body=body,
        )
        return super().start(context)

    def _finish(
        self,
        context: bpy.types.Context,
        armature: bpy.types.Object,
        body: str,
        indices: Sequence[int],
    ) -> None:
        """Turn the new targets into control bones, and show a leg, preferably the active bone's.

        If the armature walks as an object, the targets stay, because control bones would move with
        it. In Pose Mode, select the body to animate next, unless the active bone is part of a leg.
        """
        is_posing = context.mode == "POSE"
        active = context.active_pose_bone.name if context.active_pose_bone else ""
        items: list[Any] = [settings(armature).constraints[index] for index in indices]
        if items and body and self.controls == "BONE":
            only = [item.target for item in items]
            use_bones(armature, indices, armature, self.word, only, self.chosen_parent(), [body])
        legs = that_pose(armature, [active])
        if is_posing and body and not legs:
            select_alone(context, [(armature, body)])
        if shown := (*legs, *indices):
            settings(armature).active_index = shown[0]

    def report_of(self, text: Message) -> Message:
        """Return the report on the walk and its simulation."""
        return joined(". ", [self._added or "", text])

    def escaped(self) -> Outcome:
        """Keep the walk: adding it was finished before Escape."""
        super().escaped()
        return {"FINISHED"}

    def refuse(self, reason: str) -> Outcome:
        """Report why no walk was added, or why it can't be simulated."""
        if self._added is None:
            return super().refuse(reason)
        self.warn([reason])
        return {"FINISHED"}


def _tips(context: bpy.types.Context) -> list[str]:
    """Return the selected bones if they can end legs, otherwise an empty list."""
    bones: list[Any] = list(context.selected_pose_bones_from_active_object or ())
    names = {bone.name for bone in bones}
    is_line = any(above.name in names for bone in bones for above in bone.parent_recursive)
    return [] if len(bones) < 2 or is_line else [bone.name for bone in bones]


class FABRIK_OT_gait_remove(Working, bpy.types.Operator):
    """Remove the active walk."""

    bl_idname = "fabrik.gait_remove"
    bl_label = "Remove Walk"
    bl_description = "Remove the active walk. Its legs reach for their targets again"
    asks = (gait_refusal, tweak_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Remove the walk."""
        armature = active_armature(context)
        name = cast(FabrikGait, active_gait(armature)).name
        remove_gait(armature, gait_settings(armature).active_gait)
        return msg("Removed “{name}”", name=name)


class FABRIK_OT_gait_leg_add(Working, bpy.types.Operator):
    """Add the active constraint to the active walk as a leg."""

    bl_idname = "fabrik.gait_leg_add"
    bl_label = "Add Leg"
    bl_description = "Add the active constraint of the armature to the walk as a leg"
    asks = (gait_refusal, _constraint_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Add the leg."""
        armature = active_armature(context)
        fabrik = settings(armature)
        item = fabrik.constraints[min(fabrik.active_index, len(fabrik.constraints) - 1)]
        gait = cast(FabrikGait, active_gait(armature))
        if any(leg.constraint == item.name for leg in gait.legs):
            raise ProblemError(
                "“{constraint}” is already a leg of “{walk}”", constraint=item.name, walk=gait.name
            )
        add_legs(armature, gait, [item.name])
        return msg("Added “{constraint}” to “{walk}”", constraint=item.name, walk=gait.name)


class FABRIK_OT_gait_leg_remove(Working, bpy.types.Operator):
    """Remove the active leg from the active walk."""

    bl_idname = "fabrik.gait_leg_remove"
    bl_label = "Remove Leg"
    bl_description = "Remove the active leg from the walk. Its constraint is kept"
    asks = (gait_refusal, _leg_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Remove the leg."""
        armature = active_armature(context)
        gait = cast(FabrikGait, active_gait(armature))
        name = remove_leg(armature, gait, gait.active_leg)
        return msg("Removed “{name}” from “{walk}”", name=name, walk=gait.name)


class FABRIK_OT_gait_bake(Baking, DirectProgressOperator, Refusing, bpy.types.Operator):
    """Bake the steps of the active walk to keys."""

    bl_idname = "fabrik.gait_bake"
    bl_label = "Bake Steps"
    bl_description = (
        "Key the body, and the feet's targets at lift-off, mid-swing and landing. Write to "
        "copies of the actions and disable the walk. Press Escape to cancel"
    )
    asks = (gait_refusal, rest_refusal, tweak_refusal)

    tolerance: float = defined(
        "Tolerance",
        "Maximum distance of a foot from its path, relative to the leg's length. Keys are "
        "added until this is met",
        default=0.002,
        min=0.0,
        soft_max=0.1,
        precision=4,
    )

    def start(
        self, context: bpy.types.Context
    ) -> Generator[float, None, tuple[TargetBakeResult, float]]:
        """Bake."""
        from .bake import bake_gait  # It imports numpy.

        armature = active_armature(context)
        self._scene = context.scene
        layer = cast(bpy.types.ViewLayer, context.view_layer)
        index = gait_settings(armature).active_gait
        self._walk = gait_settings(armature).gaits[index].name
        return bake_gait(context.scene, layer, armature, index, self.tolerance)

    def finished(self, result: tuple[TargetBakeResult, float]) -> Outcome:
        """Report the number of keys, and the largest foot error."""
        baked, size = result
        text = msg(
            "Baked “{walk}”: {count} instead of {most:,}. Largest difference of a "
            "foot when played back: {foot}, "
            "{share:.2g}% of the leg's length",
            walk=self._walk,
            count=counted(baked.keys, "{count:,} key", "{count:,} keys"),
            most=baked.most,
            foot=length_text(self._scene, baked.foot),
            share=100.0 * baked.foot / size,
        )
        is_within = baked.foot <= 2.0 * self.tolerance * size  # The errors of foot and body.
        say(self, "INFO" if is_within else "WARNING", text)
        return {"FINISHED"}


class _OfActive:
    """Base of both preset operators."""

    asks = (gait_refusal,)

    @classmethod
    def group(cls, context: bpy.types.Context) -> FabrikGait:
        """Return the settings that presets apply to."""
        return cast(FabrikGait, active_gait(active_armature(context)))


class FABRIK_OT_gait_preset_apply(_OfActive, ApplyPresetOperator, bpy.types.Operator):
    """Apply a preset to the active walk."""

    bl_idname = "fabrik.gait_preset_apply"
    bl_label = "Apply Walk Preset"
    bl_description = "Apply a preset to the active walk. Its legs and ground are kept"

    def work(self, context: bpy.types.Context) -> str:
        """Apply the preset."""
        self.apply(context)
        return msg(
            "Applied “{name}” to “{group}”: press Simulate",
            name=self.title,
            group=self.group(context).name,
        )


class FABRIK_OT_gait_preset_add(_OfActive, AddPresetOperator, bpy.types.Operator):
    """Save the settings of the active walk as a preset."""

    bl_idname = "fabrik.gait_preset_add"
    bl_label = "Add Walk Preset"
    bl_description = "Save the active walk's settings as a preset, or remove a preset"
    preset_menu = "FABRIK_PT_gait_presets"
    preset_subdir = GAITS
    preset_defines = [
        "fabrik = bpy.context.object.fabrik",
        "gait = fabrik.gaits[fabrik.active_gait]",
    ]


class FABRIK_PT_gait_presets(PresetPanel, bpy.types.Panel):
    """The presets of walks."""

    bl_label = "Walk Presets"
    bl_description = "Apply, add and remove presets of walks"
    preset_subdir = GAITS
    preset_operator = "fabrik.gait_preset_apply"
    preset_add_operator = "fabrik.gait_preset_add"


class FABRIK_UL_gaits(bpy.types.UIList):
    """The walks of an armature."""

    def draw_item(  # type: ignore[override]
        self,
        _context: bpy.types.Context,
        layout: Layout,
        data: bpy.types.PropertyGroup,
        item: FabrikGait,
        _icon: int,
        _active_data: object,
        _active_property: str,
        index: int,
    ) -> None:
        """Draw a row: the walk's name, and whether it is enabled."""
        row = layout.row(align=True)
        row.active = item.enabled
        is_broken = bool(problem_of(cast(bpy.types.Object, data.id_data), index))
        row.prop(
            item, "name", text="", emboss=False, icon="ERROR" if is_broken else "CON_FOLLOWPATH"
        )
        layout.prop(item, "enabled", text="")


class FABRIK_UL_gait_legs(bpy.types.UIList):
    """The legs of a walk."""

    def draw_item(  # type: ignore[override]
        self,
        _context: bpy.types.Context,
        layout: Layout,
        data: FabrikGait,
        item: FabrikGaitLeg,
        _icon: int,
        _active_data: object,
    ) -> None:
        """Draw a row: the leg's constraint, and its group if used."""
        layout.label(text=item.constraint, translate=False, icon="BONE_DATA")
        if data.pattern == "GROUPS":
            layout.prop(item, "group", text="Group")


class FABRIK_PT_gait(SidebarPanel, bpy.types.Panel):
    """The panel of walks, in the sidebar of the 3D Viewport."""

    bl_label = "Walking"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        """Draw the button for presets."""
        presets: Any = FABRIK_PT_gait_presets
        presets.draw_panel_header(self.layout)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the walks, and the settings of the active one."""
        layout: Layout = self.layout
        armature = active_armature(context)
        fabrik = settings(armature)
        row = layout.row()
        row.template_list("FABRIK_UL_gaits", "", fabrik, "gaits", fabrik, "active_gait", rows=2)
        buttons = row.column(align=True)
        buttons.operator("fabrik.gait_add", text="", icon="ADD")
        buttons.operator("fabrik.gait_remove", text="", icon="REMOVE")
        gait = active_gait(armature)
        if gait is None:
            draw_sentence(layout, context, HOW_TO)
            return
        # Never empty, so that the buttons below don't move.
        status = status_message(armature, gait_settings(armature).active_gait)
        status = status or history.sentence(armature)
        draw_sentence(layout.box().column(), context, status if gait.enabled else OFF)
        row = layout.row(align=True)
        row.operator("fabrik.simulate")
        row.operator("fabrik.gait_bake")
        layout.use_property_split = True
        layout.active = gait.enabled
        layout.prop(gait, "influence")
        for title, draw in GROUPS:
            header, body = layout.panel(f"FABRIK_PT_walk_{title.lower()}")
            header.label(text=shown(title), translate=False)
            if body is not None:
                draw(body.column(), armature, gait)


def _draw_legs(layout: Layout, armature: bpy.types.Object, gait: FabrikGait) -> None:
    layout.prop_search(gait, "body", armature.pose, "bones")
    layout.prop(gait, "up_axis")
    layout.prop(gait, "front_axis")
    layout.prop(gait, "pattern")
    row = layout.row()
    row.template_list("FABRIK_UL_gait_legs", "", gait, "legs", gait, "active_leg", rows=4)
    buttons = row.column(align=True)
    buttons.operator("fabrik.gait_leg_add", text="", icon="ADD")
    buttons.operator("fabrik.gait_leg_remove", text="", icon="REMOVE")
    if 0 <= gait.active_leg < len(gait.legs):
        leg = gait.legs[gait.active_leg]
        layout.prop_search(leg, "constraint", settings(armature), "constraints", text="Leg")
        layout.prop(leg, "offset")
        layout.prop(leg, "height")


def _draw_steps(layout: Layout, _armature: bpy.types.Object, gait: FabrikGait) -> None:
    for name in ("threshold", "step_height", "duration", "overshoot"):
        layout.prop(gait, name)


def _draw_body(layout: Layout, _armature: bpy.types.Object, gait: FabrikGait) -> None:
    column = layout.column()
    column.active = bool(gait.body)
    column.prop(gait, "body_height", text="Height")
    column.prop(gait, "body_tilt", text="Tilt", text_ctxt=CONTEXT)
    column.prop(gait, "body_bob", text="Bob")


def _draw_ground(layout: Layout, _armature: bpy.types.Object, gait: FabrikGait) -> None:
    layout.prop(gait, "source")
    if gait.source != "SCENE":
        layout.prop(gait, "ground" if gait.source == "OBJECT" else "collection")
    layout.prop(gait, "ray_height")
    layout.prop(gait, "climbs")


GROUPS = (
    (msg("Legs"), _draw_legs),
    (msg("Steps"), _draw_steps),
    (msg("Body"), _draw_body),
    (msg("Ground"), _draw_ground),
)

register, unregister = registering(
    __name__,
    (history.PROVIDERS, walks),
    (history.REFUSALS, walk_refusals),
    (history.NOTES, walk_notes),
    (MOTION_OPERATORS, ("fabrik.gait_add", msg("Walk"))),
)
