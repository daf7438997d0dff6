"""Feet on the ground: panel, operators, and bake."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, cast

import bpy

from fabrik_solver.motion.anatomy import ARM_PARTS, part_of, words_of

from ...blender.errors import ProblemError, listed
from ...blender.messages import CONTEXT, counted, msg, shown
from ...blender.refusals import linked_problem
from ...body.looking import body_of
from ...plan import planner
from ...settings.definitions import defined
from ...settings.properties import FabrikConstraint, settings
from ...ui.choosing import selected_in
from ...ui.layout import Layout
from ...ui.refusing import (
    Refusing,
    Working,
    active_armature,
    armature_refusal,
    rest_refusal,
)
from ...ui.registering import registering
from ...ui.reporting import say
from ...ui.sections import SECTIONS, Section, reaches
from ...ui.stepping import DirectProgressOperator
from ...ui.wording import length_text
from ..bake.operators import Baking
from ..simulation import history
from .goal import found_floor
from .hips import Hip
from .recording import tracks_of
from .settings import FabrikGround, ground_settings

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..bake.goal_keys import TargetBakeResult


def _may_stand(item: FabrikConstraint) -> bool:
    """Return whether a tip may stand: it is on the ground already, or its name isn't a hand's."""
    return part_of(words_of(item.bone)) not in ARM_PARTS or ground_settings(item).use


def _draw(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    """Draw the ground settings of a chain's tip."""
    ground = ground_settings(item)
    rest = layout.column()
    rest.prop(ground, "source")
    if ground.source != "SCENE":
        rest.prop(ground, ground.source.lower())
    rest.prop(ground, "axis", text="Down", text_ctxt=CONTEXT)
    rest.prop(ground, "use_local_axis", text="Local")
    _draw_all(rest.column(), ground, "offset", "blend", "lift_only")
    turn = rest.column()
    turn.active = item.use_rotation
    turn.prop(ground, "max_angle")
    rest.prop(ground, "use_lock")
    lock = rest.column(align=True)
    lock.active = ground.use_lock
    lock.prop(ground, "lock_time")
    rest.prop(ground, "use_hip")
    hip = rest.column(align=True)
    hip.active = ground.use_hip
    hip.prop_search(ground, "hip", armature.pose, "bones")
    _draw_found_hip(hip, armature, ground)
    _draw_all(hip, ground, "hip_follow", "hip_reach")
    header, detection = rest.panel("FABRIK_PT_ground_detection", default_closed=True)
    header.label(text="Detection")
    if detection is not None:
        _draw_all(detection.column(align=True), ground, "ray_above", "ray_below")
        _draw_floor(detection.column(align=True), armature, ground, item)
        _draw_all(detection.column(align=True), ground, "speed", "height", "shortest")
    buttons = rest.column(align=True)
    buttons.operator("fabrik.simulate")
    buttons.operator("fabrik.ground_bake")


def _draw_found_hip(layout: Layout, armature: bpy.types.Object, ground: FabrikGround) -> None:
    """Draw which bone is used as the hip if none is chosen."""
    plan = planner.known() if ground.use_hip and not ground.hip else None
    for hip in plan.units if plan else ():
        if isinstance(hip, Hip) and hip.rig.object == armature:
            name = hip.rig.names[hip.bone]
            layout.label(text=shown(msg("Detected: {found}", found=name)), translate=False)


def _draw_floor(
    layout: Layout, armature: bpy.types.Object, ground: FabrikGround, item: FabrikConstraint
) -> None:
    """Draw the floor of the animation, detected or set."""
    layout.prop(ground, "use_floor")
    height = layout.row()
    height.active = ground.use_floor
    height.prop(ground, "floor")
    plan = None if ground.use_floor else planner.known()
    for chain in plan.chains if plan else ():
        if chain.rig.object == armature and chain.name == item.name:
            floor = found_floor(chain)
            text = length_text(cast(bpy.types.Scene, bpy.context.scene), floor)
            layout.label(text=shown(msg("Detected: {found}", found=text)), translate=False)


def _draw_all(layout: Layout, group: bpy.types.PropertyGroup, *names: str) -> None:
    for name in names:
        layout.prop(group, name)


def _feet_refusal(context: bpy.types.Context) -> str:
    """Return why an armature's feet can't be baked; empty if they can."""
    armature = active_armature(context)
    if any(ground_settings(item).use for item in settings(armature).constraints):
        return linked_problem(armature)
    return msg("No foot of the armature is on the ground")


def _ends_of_legs(armature: bpy.types.Object) -> set[str]:
    """Return the bones where a recognized leg's constraint may end."""
    legs = body_of(armature).legs
    return {tip for leg in legs for tip in (leg.end.bone, leg.hand, leg.bones[-1])}


class FABRIK_OT_ground_add(Working, bpy.types.Operator):
    """Put the feet of the recognized legs on the ground."""

    bl_idname = "fabrik.ground_add"
    bl_label = "Put Each Foot on the Ground"
    bl_description = (
        "Put the feet of all legs with IK on the ground of the scene. If no legs are recognized, "
        "use the tips of the selected chains"
    )
    asks = (armature_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Enable the ground."""
        armature = active_armature(context)
        legs = self._legs(context, armature)
        if not legs:
            raise ProblemError("No leg has IK: choose Set Up Character or Add IK Limb first")
        for ground in map(ground_settings, legs):
            if ground.source == "OBJECT" and ground.object is None:
                ground.source = "SCENE"
            ground.use = True
        return msg("On the ground: {feet}", feet=listed([item.name for item in legs]))

    def _legs(
        self, context: bpy.types.Context, armature: bpy.types.Object
    ) -> list[FabrikConstraint]:
        """Return the constraints of the recognized legs, or else those of the selected bones."""
        items = [item for item in settings(armature).constraints if reaches(item.solver)]
        legs = [item for item in items if item.bone in _ends_of_legs(armature)]
        selected = [settings(armature).constraints[i] for i in selected_in(context, armature)]
        return legs or [item for item in items if item in selected]


class FABRIK_OT_ground_bake(Baking, DirectProgressOperator, Refusing, bpy.types.Operator):
    """Bake feet on the ground to keys of their targets."""

    bl_idname = "fabrik.ground_bake"
    bl_label = "Bake to Targets"
    bl_description = (
        "Key the targets of all feet on the ground, and the hip, with as few keys as Error allows. "
        "Write to copies of the actions, and disable On the Ground. Press Escape to cancel"
    )
    asks = (armature_refusal, _feet_refusal, rest_refusal)

    frame_start: int = defined(
        "Start", "First frame to bake. If End is 0, use the simulated range", default=0
    )
    frame_end: int = defined("End", "Last frame to bake", default=0)
    error: float = defined(
        "Error",
        "Maximum distance of a joint from its path between keys",
        default=1e-3,
        min=1e-6,
        soft_max=0.05,
        subtype="DISTANCE",
        precision=4,
    )

    def start(self, context: bpy.types.Context) -> Generator[float, None, TargetBakeResult]:
        """Bake."""
        from .bake import bake  # It imports numpy.

        armature = active_armature(context)
        start, end = self.frame_start, self.frame_end
        if start == end == 0:
            start, end = history.range_of(armature, context.scene)
        self._frames = range(start, end + 1)
        layer = cast(bpy.types.ViewLayer, context.view_layer)
        return bake(context.scene, layer, armature, self._frames, self.error)

    def finished(self, result: TargetBakeResult) -> set[OperatorReturnItems]:
        """Report what was baked, and the error."""
        frames = self._frames
        text = msg(
            "Baked {count}, frames {first} to {last}: "
            "{keys} instead of {most:,}. Largest difference when played "
            "back: {distance:.3g} mm (frame {frame})",
            count=counted(result.feet, "{count} constraint", "{count} constraints"),
            first=frames[0],
            last=frames[-1],
            keys=counted(result.keys, "{count:,} key", "{count:,} keys"),
            most=result.most,
            distance=1000.0 * result.distance,
            frame=result.frame,
        )
        say(self, "INFO", text)
        return {"FINISHED"}


register, unregister = registering(
    __name__,
    (SECTIONS, Section(70, msg("Ground"), _draw, reaches, True, "ground.use", _may_stand)),
    (history.PROVIDERS, tracks_of),
)
