"""Rigs that Rigify generated: IK is for their FK controls, to which the limbs are switched."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from .settings import Part, character_settings

RIGIFY_FK = (
    ("ARM", "hand_fk.{}", "upper_arm_parent.{}"),
    ("LEG", "foot_fk.{}", "thigh_parent.{}"),
)
"""The FK controls of a generated rig that end its arms and legs, and the bones that switch them."""


def generated_parts(armature: bpy.types.Object) -> list[tuple[Part, str]]:
    """Return the limbs of a rig that Rigify generated, and the bone that switches each to FK."""
    bones = pose_bones(armature)
    found: list[tuple[Part, str]] = []
    for kind, end, switch in RIGIFY_FK:
        for side in "LR":
            name, parent = end.format(side), switch.format(side)
            if name in bones and parent in bones and "IK_FK" in bones[parent]:
                above = bones[name].parent  # Stands at the same joint, and carries the control.
                tip = above.name if above and above.name == f"MCH-{name}" else name
                found.append((Part(kind, tip, 2), parent))
    return found


def use_fk(armature: bpy.types.Object) -> None:
    """Let the limbs of a rig that Rigify generated follow their FK controls."""
    found: list[str] = []
    for _, parent in generated_parts(armature):
        bone: Any = pose_bones(armature)[parent]
        found.append(f"{bone['IK_FK']!r} {parent}")
        bone["IK_FK"] = 1.0
    character_settings(armature).switches = "\n".join(found)
    if found:
        armature.update_tag()


def give_back_fk(armature: bpy.types.Object) -> None:
    """Switch the limbs back to what they were before `use_fk`."""
    held = character_settings(armature)
    for line in filter(None, held.switches.split("\n")):
        value, _, parent = line.partition(" ")
        if parent in pose_bones(armature):
            cast(Any, pose_bones(armature)[parent])["IK_FK"] = float(value)
    held.switches = ""
