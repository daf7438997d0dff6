"""Pinning bones, and dragging with the whole body."""

from __future__ import annotations

import bpy

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...settings.definitions import defined
from ...ui.refusing import Working, active_armature, armature_refusal
from ...ui.registering import registering
from ..drag import drag
from .dragging import begin
from .settings import BOTH, LOCATION, NONE, pin_kind, set_pin

NEXT = "NEXT"

AFTER = {NONE: LOCATION, LOCATION: BOTH, BOTH: NONE}
"""The pin after each, as the key P goes through them."""

KIND_ITEMS = (
    (NEXT, "Next", "Location, then location and rotation, then free", 0),
    (LOCATION, "Location", "The bone stays where it is, and may rotate", 1),
    (BOTH, "Location and Rotation", "The bone stays where it is, with its orientation", 2),
    (NONE, "Free", "The bone is not pinned", 3),
)

DONE = {
    LOCATION: msg("“{bone}” stays where it is while others are dragged"),
    BOTH: msg("“{bone}” stays where it is, with its orientation, while others are dragged"),
    NONE: msg("“{bone}” is not pinned"),
}


class FABRIK_OT_pin(Working, bpy.types.Operator):
    """Pin a bone."""

    bl_idname = "fabrik.pin"
    bl_label = "Pin Bone"
    bl_description = (
        "Let a bone stay where it is while others are dragged: its location, then its rotation as "
        "well, then nothing"
    )
    asks = (armature_refusal,)

    bone: str = defined(
        "Bone",
        "Name of the bone to pin. Without a name the active bone is used",
        options={"SKIP_SAVE"},
    )
    kind: str = defined(
        "Pin", "What of the bone is pinned", items=KIND_ITEMS, options={"SKIP_SAVE"}
    )

    def work(self, context: bpy.types.Context) -> str:
        """Pin it."""
        armature = active_armature(context)
        name = self.bone
        if not name:
            active = context.active_pose_bone
            if active is None:
                raise ProblemError("There is no active bone: click the bone to pin")
            name = active.name
        if name not in pose_bones(armature):
            raise ProblemError(
                "There is no bone “{name}” in “{object}”: choose another bone",
                name=name,
                object=armature.name,
            )
        before = pin_kind(armature, name)
        kind = AFTER[before] if self.kind == NEXT else self.kind
        set_pin(armature, name, kind)
        return msg(DONE[kind], bone=name)


register, unregister = registering((FABRIK_OT_pin,), (drag.WAYS, begin))
