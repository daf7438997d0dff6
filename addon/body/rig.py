"""Plain rigs, whose bones are the body itself and are posed by keys."""

from __future__ import annotations

from typing import cast

import bpy

from fabrik_solver.motion.anatomy import Limb as LimbAnatomy

from ..blender.access import pose_bones
from .body import Body, Limb, Row
from .carriers import Carriers


class PlainRig:
    """Any armature that isn't of another kind."""

    is_keyed = True

    def marks(self, armature: bpy.types.Object) -> object:
        """Return nothing: any armature qualifies."""
        return None

    def rows(self, armature: bpy.types.Object) -> list[Row]:
        """Return all bones, parents first."""
        bones = cast("bpy.types.Armature", armature.data).bones  # Unlike in a pose.
        index = {bone.name: i for i, bone in enumerate(bones)}
        return [
            Row(name, name, bone, index[bone.parent.name] if bone.parent else -1, bone.use_deform)
            for name, bone in bones.items()
        ]

    def limb(self, body: Body, limb: LimbAnatomy) -> Limb | None:
        """Return a limb, whose hand or foot may be loose; never None."""
        hand = body.names[limb.end] if limb.end >= 0 else ""
        loose, names = body.loose.get(hand), body.names
        bones, twists = (tuple([names[i] for i in part]) for part in (limb.bones, limb.twists))
        hand = "" if loose else hand
        return Limb(body, bones, hand, limb.kind, loose=loose, twists=twists, shape=limb)

    def part_of(self, armature: bpy.types.Object, limb: Limb) -> tuple[str, int]:
        """Return the hand or foot, or else the last bone, and the number of bending bones."""
        return limb.end.bone, len(limb.bones)

    def meant(self, body: Body, bone: str) -> str:
        """Return the bone itself, if it belongs to the body."""
        return bone if bone in body.index else ""

    def control(self, armature: bpy.types.Object, bone: str) -> str:
        """Return the bone itself."""
        return bone if bone in pose_bones(armature) else ""

    def poser(self, carriers: Carriers, bone: str) -> str:
        """Return the bone that a bone ultimately copies, or else the bone itself."""
        rig = carriers.rig
        return rig.names[carriers.source(rig.index[bone])]
