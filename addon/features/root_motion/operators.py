"""Operators and panel for root motion."""

from __future__ import annotations

from math import degrees, hypot
from typing import TYPE_CHECKING, cast

import bpy

from ...blender.messages import msg
from ...settings.definitions import defined
from ...ui.layout import Layout, SidebarPanel
from ...ui.refusing import Asking, active_armature, armature_refusal
from ...ui.registering import registering
from ...ui.wording import length_text

if TYPE_CHECKING:
    from .root_motion import Options, TravelResult

# `root_motion` imports numpy (through `bake`), so it is imported only when needed.

SLIDING = 0.02
"""The foot slide above which a warning is shown, as a fraction of the leg length."""

ONTO_ROOT = ("ROOT", "Root Bone", "Key the topmost parent of the hips")
ONTO_OBJECT = ("OBJECT", "Object", "Key the armature object")
IN_PLACE = ("NONE", "In Place", "Leave the character in place")


def _mode_refusal(context: bpy.types.Context) -> str:
    """Return why the mode is wrong; empty in Object and Pose Mode."""
    return "" if context.mode in ("OBJECT", "POSE") else msg("Switch to Object Mode or Pose Mode")


class RootMotionOperator(Asking):
    """Base of both root motion operators: their options."""

    asks = (armature_refusal, _mode_refusal)

    onto: str
    use_turn: bool = defined(
        "Turn", "Include the character's rotation about the up axis", default=True
    )
    use_cycles: bool = defined(
        "Loop",
        "If the action's last pose equals its first, repeat the motion beyond its range, and "
        "add the travel each time",
        default=True,
    )
    use_range: bool = defined(
        "Custom Range", "Use Start and End instead of the action's range", default=False
    )
    frame_start: int = defined("Start", "First frame", default=1)
    frame_end: int = defined("End", "Last frame", default=250)

    def draw_options(self, layout: Layout) -> None:
        """Draw the options."""
        for name in ("onto", "use_turn", "use_cycles", "use_range"):
            layout.prop(self, name)
        frames = layout.column(align=True)
        frames.active = self.use_range
        frames.prop(self, "frame_start")
        frames.prop(self, "frame_end")

    def chosen_options(self) -> Options:
        """Return the chosen options."""
        from .root_motion import Options

        span = (float(self.frame_start), float(self.frame_end)) if self.use_range else None
        return Options(self.onto, self.use_turn, self.use_cycles, span)


class FABRIK_OT_root_motion_add(RootMotionOperator, bpy.types.Operator):
    """Compute root motion from the feet."""

    bl_idname = "fabrik.root_motion_add"
    bl_label = "Root Motion from Feet"
    bl_description = (
        "Make an in-place walk or run cycle travel, so that the feet don't slide. The legs are "
        "recognized automatically"
    )

    onto: str = defined(
        "Destination",
        "Where to key the travel",
        items=(ONTO_ROOT, ONTO_OBJECT),
        default="ROOT",
    )

    def work(self, context: bpy.types.Context) -> str:
        """Compute and key the travel."""
        from .root_motion import add

        scene = cast(bpy.types.Scene, context.scene)
        result = add(scene, active_armature(context), self.chosen_options())
        if result.after > SLIDING * result.leg:
            self.warn(
                [
                    msg(
                        "A foot still slides {after}, because the feet on the floor move "
                        "relative to each other",
                        after=length_text(scene, result.after),
                    )
                ]
            )
        return msg(
            "{travel}; feet slide up to {after} ({before} before)",
            travel=_travel_text(scene, result),
            after=length_text(scene, result.after),
            before=length_text(scene, result.before),
        )


class FABRIK_OT_root_motion_extract(RootMotionOperator, bpy.types.Operator):
    """Extract root motion."""

    bl_idname = "fabrik.root_motion_extract"
    bl_label = "Extract Root Motion"
    bl_description = (
        "Remove the travel from the hips, root bone and object. Key it on the root bone or "
        "object, or leave the character in place, for games"
    )

    onto: str = defined(
        "Destination",
        "Where to key the travel",
        items=(ONTO_ROOT, ONTO_OBJECT, IN_PLACE),
        default="ROOT",
    )

    def work(self, context: bpy.types.Context) -> str:
        """Extract and key the travel."""
        from .root_motion import extract

        scene = cast(bpy.types.Scene, context.scene)
        return _travel_text(scene, extract(scene, active_armature(context), self.chosen_options()))


def _travel_text(scene: bpy.types.Scene, result: TravelResult) -> str:
    text = msg(
        "Travel: {distance}", distance=length_text(scene, hypot(result.travel.x, result.travel.y))
    )
    if result.travel.angle:
        text = msg("{text}, turn: {angle:.0f}°", text=text, angle=degrees(result.travel.angle))
    return msg(
        "{text}, in {frames:.4g} frames{value}",
        text=text,
        frames=result.frames,
        value=msg(", looped") if result.loops else "",
    )


class FABRIK_PT_root_motion(SidebarPanel, bpy.types.Panel):
    """The panel for root motion."""

    bl_label = "Root Motion"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the buttons."""
        layout: Layout = self.layout
        layout.operator("fabrik.root_motion_add")
        layout.operator("fabrik.root_motion_extract")


register, unregister = registering(__name__)
