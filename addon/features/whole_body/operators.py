"""Pinning bones, and dragging with the whole body."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import bpy

from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.messages import counted, msg
from ...settings.definitions import defined
from ...ui.refusing import Working, active_armature, armature_refusal, rest_refusal
from ...ui.registering import registering
from ..drag import drag
from ..drag.picking import bone_under
from ..drag.selection import PoseSelection
from .keeping import bake, keep
from .settings import (
    AFTER,
    ANIMATION,
    BOTH,
    FRAMES_ITEMS,
    LOCATION,
    NONE,
    PLACE,
    POSING,
    pin_kind,
    set_pin,
)
from .starting import begin

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

NEXT = "NEXT"

KIND_ITEMS = (
    (NEXT, "Next", "Location, then location and rotation, then free", 0),
    (LOCATION, "Location", "The bone stays in place but may rotate", 1),
    (BOTH, "Location and Rotation", "The bone stays in place and keeps its orientation", 2),
    (NONE, "Free", "The bone isn't pinned", 3),
)

WHILE_PLAYING = {
    PLACE: msg("Pinned “{bone}”: it stays in place during playback too, and the body follows"),
    ANIMATION: msg("“{bone}” stays where its animation puts it while the body follows other pins"),
}

DONE = {
    LOCATION: msg("Pinned “{bone}”: it stays in place while others are dragged"),
    BOTH: msg(
        "Pinned “{bone}”: it stays in place and keeps its orientation while others are dragged"
    ),
    NONE: msg("“{bone}” isn't pinned"),
}


class FABRIK_OT_pin(Working, bpy.types.Operator):
    """Pin a bone."""

    bl_idname = "fabrik.pin"
    bl_label = "Pin Bone"
    bl_description = (
        "Keep a bone in place while others are dragged. Press again to pin its rotation too, and "
        "again to unpin it"
    )
    asks = (armature_refusal,)

    bone: str = defined(
        "Bone",
        "Name of the bone to pin. Empty: the active bone",
        options={"SKIP_SAVE"},
    )
    kind: str = defined("Pin", "What is pinned", items=KIND_ITEMS, options={"SKIP_SAVE"})
    frames: str = defined(
        "When Pinned", "When the bone is pinned", items=FRAMES_ITEMS, options={"SKIP_SAVE"}
    )
    armature: str = defined(
        "Armature",
        "Armature of the bone. Empty: the active armature",
        options={"HIDDEN", "SKIP_SAVE"},
    )
    under_mouse: bool = defined(
        "Under the Mouse", "Pin the bone under the mouse", options={"HIDDEN", "SKIP_SAVE"}
    )

    def invoke(
        self, context: bpy.types.Context, event: bpy.types.Event
    ) -> set[OperatorReturnItems]:
        """Pin the bone under the mouse, or the active one."""
        if self.under_mouse:
            mouse = (event.mouse_x, event.mouse_y)
            picked = bone_under(context, PoseSelection(context), mouse)
            if picked is None:
                return self.fail(
                    ProblemError("No bone under the mouse: hold the mouse over the bone to pin")
                )
            self.armature, self.bone = picked[0].name, picked[1]
        return self.execute(context)

    def work(self, context: bpy.types.Context) -> str:
        """Pin the bone."""
        named = bpy.data.objects.get(self.armature)
        armature = named if named and named.pose else active_armature(context)
        name = self.bone
        if not name:
            active = context.active_pose_bone
            if active is None:
                raise ProblemError("No active bone: click the bone to pin")
            armature, name = cast(bpy.types.Object, active.id_data), active.name
        if name not in pose_bones(armature) and self.kind != NONE:
            raise ProblemError(
                "“{object}” has no bone “{name}”: choose another bone",
                name=name,
                object=armature.name,
            )
        previous = pin_kind(armature, name)
        kind = AFTER[previous] if self.kind == NEXT else self.kind
        set_pin(armature, name, kind)
        done = msg(DONE[kind], bone=name)
        if kind == NONE or not self.properties.is_property_set("frames"):
            return done
        try:
            feet = keep(armature, name, self.frames)
        except ProblemError:
            set_pin(armature, name, previous)
            raise
        if self.frames != POSING:
            done = msg(WHILE_PLAYING[self.frames], bone=name)
        if not feet:
            return done
        staying = msg("Pinned as animated: {bones}", bones=listed(feet))
        return f"{done}. {staying}"


class FABRIK_OT_pin_bake(Working, bpy.types.Operator):
    """Key a body with pins at each frame."""

    bl_idname = "fabrik.pin_bake"
    bl_label = "Bake Pins"
    bl_description = (
        "Key the pinned body at every frame of the scene, then use the pins only while posing"
    )
    asks = (armature_refusal, rest_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Bake the pins."""
        done = bake(
            cast(bpy.types.Scene, context.scene),
            cast(bpy.types.ViewLayer, context.view_layer),
            active_armature(context),
        )
        return msg(
            "Baked {count}: the largest difference is {distance:.3g} mm",
            count=counted(done.bones, "{count} bone", "{count} bones"),
            distance=1000.0 * done.distance,
        )


register, unregister = registering(__name__, (drag.WAYS, begin))
