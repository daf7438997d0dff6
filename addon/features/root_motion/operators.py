"""Operators and panel for root motion."""

from __future__ import annotations

from math import degrees, hypot
from typing import TYPE_CHECKING, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ...ui.layout import Layout, OfArmature
from ...ui.refusing import Working, active_armature, armature_refusal
from ...ui.wording import length_text

if TYPE_CHECKING:
    from .travelling import Options, Outcome

# `travelling` imports numpy, so it is imported when it is needed.

SLIDING = 0.02
"""The slide from which on a warning is shown, as a share of the leg."""

ONTO_ROOT = ("ROOT", "Root Bone", "Key the topmost parent of the hips")
ONTO_OBJECT = ("OBJECT", "Object", "Key the armature object")
IN_PLACE = ("NONE", "In Place", "Leave the character in place")


class _Travelling(Working):
    """The options of both operators."""

    if TYPE_CHECKING:
        onto: str
        use_turn: bool
        use_cycles: bool
        use_range: bool
        frame_start: int
        frame_end: int
    else:
        use_turn: BoolProperty(
            name="Turn",
            description="Include rotation about the up axis if the character turns",
            default=True,
        )
        use_cycles: BoolProperty(
            name="Loop",
            description=(
                "If the last pose of the action equals the first, extend it beyond its range: the "
                "body repeats, and the travel repeats with offset"
            ),
            default=True,
        )
        use_range: BoolProperty(
            name="Custom Range",
            description="Use Start and End instead of the range of the action",
            default=False,
        )
        frame_start: IntProperty(name="Start", description="First frame", default=1)
        frame_end: IntProperty(name="End", description="Last frame", default=250)

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Ask for an armature in Object or Pose Mode."""
        reason = armature_refusal(context)
        if not reason and context.mode not in ("OBJECT", "POSE"):
            return "Switch to Object Mode or Pose Mode"
        return reason

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout: Layout = self.layout  # type: ignore[attr-defined]
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "onto")
        layout.prop(self, "use_turn")
        layout.prop(self, "use_cycles")
        layout.prop(self, "use_range")
        frames = layout.column(align=True)
        frames.active = self.use_range
        frames.prop(self, "frame_start")
        frames.prop(self, "frame_end")

    def chosen(self) -> Options:
        """Return the options."""
        from .travelling import Options

        span = (float(self.frame_start), float(self.frame_end)) if self.use_range else None
        return Options(self.onto, self.use_turn, self.use_cycles, span)


class FABRIK_OT_root_motion_add(_Travelling, bpy.types.Operator):
    """Compute root motion from the feet."""

    bl_idname = "fabrik.root_motion_add"
    bl_label = "Root Motion from Feet"
    bl_description = (
        "Make a walk or run in place travel so that the feet on the floor do not slide. The legs "
        "are found automatically"
    )
    bl_options = {"REGISTER", "UNDO"}

    if not TYPE_CHECKING:
        onto: EnumProperty(
            name="Onto",
            description="What gets the travel",
            items=(ONTO_ROOT, ONTO_OBJECT),
            default="ROOT",
        )

    def work(self, context: bpy.types.Context) -> str:
        """Compute the travel and key it."""
        from .travelling import add

        scene = cast(bpy.types.Scene, context.scene)
        done = add(scene, active_armature(context), self.chosen())
        if done.after > SLIDING * done.size:
            self.warn(
                [
                    f"A foot still slides {length_text(scene, done.after)}, as the feet on the "
                    "floor contradict each other"
                ]
            )
        return (
            f"{_travelled(scene, done)}; feet slide up to "
            f"{length_text(scene, done.after)} ({length_text(scene, done.before)} before)"
        )


class FABRIK_OT_root_motion_extract(_Travelling, bpy.types.Operator):
    """Extract root motion."""

    bl_idname = "fabrik.root_motion_extract"
    bl_label = "Extract Root Motion"
    bl_description = (
        "Remove the travel from the hips, the root bone and the object, and key it on the root "
        "bone or the object, or leave the character in place, as games need it"
    )
    bl_options = {"REGISTER", "UNDO"}

    if not TYPE_CHECKING:
        onto: EnumProperty(
            name="Onto",
            description="What gets the travel",
            items=(ONTO_ROOT, ONTO_OBJECT, IN_PLACE),
            default="ROOT",
        )

    def work(self, context: bpy.types.Context) -> str:
        """Extract the travel and key it."""
        from .travelling import extract

        scene = cast(bpy.types.Scene, context.scene)
        return _travelled(scene, extract(scene, active_armature(context), self.chosen()))


def _travelled(scene: bpy.types.Scene, done: Outcome) -> str:
    """Return a description of the travel."""
    text = f"Travels {length_text(scene, hypot(done.travel.x, done.travel.y))}"
    if done.travel.angle:
        text = f"{text} and turns {degrees(done.travel.angle):.0f}°"
    return f"{text} in {done.frames:.4g} frames{' and loops' if done.loops else ''}"


class FABRIK_PT_root_motion(OfArmature, bpy.types.Panel):
    """Root motion, in the sidebar."""

    bl_label = "Root Motion"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "FABRIK"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the buttons."""
        layout: Layout = self.layout
        layout.operator("fabrik.root_motion_add")
        layout.operator("fabrik.root_motion_extract")


CLASSES = (FABRIK_OT_root_motion_add, FABRIK_OT_root_motion_extract, FABRIK_PT_root_motion)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
