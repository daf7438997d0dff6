"""Recognizing the parts of a character that IK can be added to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver.motion.anatomy import Anatomy, Limb, words_of

from ...blender.access import pose_bones
from ...blender.character import Character, character_of, figures, missing_parts, stiff_limbs
from ...blender.errors import ProblemError, listed
from ...blender.messages import joined, msg
from ...blender.rigify import SWITCH, fk_joint, fk_switch, use_fk
from .settings import FabrikCharacter, add_part, character_settings

MAX_NECK_BONES = 3
"""The most bones that turn with a head, including the head itself."""

RIGIFY_FK = (("ARM", "hand_fk.{}"), ("LEG", "foot_fk.{}"))
"""The FK controls at the ends of the limbs of a generated rig."""


class RecognizedPart(NamedTuple):
    """A recognized part; its fields are properties of `FabrikPart`."""

    kind: str
    bone: str
    chain_count: int


class Recognition(NamedTuple):
    """What was recognized.

    Attributes:
        parts: The parts of a character, parents first.
        missing: A sentence on what it lacks that others have, empty if nothing.
        frame: The frame of the animation that was looked at; None for the rest pose.
    """

    parts: list[RecognizedPart]
    missing: str = ""
    frame: float | None = None


def recognize_parts(armature: bpy.types.Object, bone: str = "") -> Recognition:
    """Recognize the parts of a character.

    Args:
        armature: The armature object.
        bone: A bone of the character, if there may be several in the armature. If it is none of
            theirs, the first is taken.

    Raises:
        ProblemError: If there are none.
    """
    rigify = [part for part, _ in _rigify_limbs(armature)]
    if rigify:
        return Recognition(rigify)
    tops = figures(armature)
    own = {bone, *_above(armature, bone)}
    top = next((one for one in tops if one in own), next(iter(tops), ""))
    character = character_of(armature, bone=top)
    parts = _anatomical_parts(character)
    if not parts:
        raise ProblemError(
            stiff_limbs(character)
            or msg(
                "“{armature}” has no pairs of limbs and no head that could be recognized: "
                "add parts to the list yourself",
                armature=armature.name,
            )
        )
    others = [one for one in tops if one != top]
    notes = [missing_parts(character), _told(others) if others else ""]
    return Recognition(parts, joined(". ", [*filter(None, notes)]), character.frame)


def _above(armature: bpy.types.Object, bone: str) -> list[str]:
    bones = pose_bones(armature)
    return [one.name for one in bones[bone].parent_recursive] if bone in bones else []


def _told(others: Sequence[str]) -> str:
    return msg(
        "Left out are the figures below {bones}: make a bone of one active to recognize that",
        bones=listed(others),
    )


def fill(character: FabrikCharacter, parts: Sequence[RecognizedPart]) -> None:
    """Replace the listed parts of a character."""
    character.parts.clear()
    for part in parts:
        item = add_part(character, part.bone)
        item.kind, item.chain_count = part.kind, part.chain_count
    character.active_part = 0


def inner_joints(armature: bpy.types.Object, parts: Sequence[RecognizedPart]) -> list[str]:
    """Return the bones below the elbows and knees of parts."""
    bones = pose_bones(armature)
    return [
        bone.name
        for part in parts
        if part.kind in ("ARM", "LEG")
        for bone in bones[part.bone].parent_recursive[: part.chain_count - 1][::-1]
    ]


def _anatomical_parts(character: Character) -> list[RecognizedPart]:
    names, anatomy = character.names, character.anatomy
    chest = max((_spine_index(anatomy, limb) for limb in anatomy.limbs), default=-1)
    parts: list[RecognizedPart] = []
    spine = anatomy.spine[: chest + 1]
    while spine and "neck" in words_of(names[spine[-1]]):
        spine = spine[:-1]  # Some carry the arms on the neck.
    if len(spine) > 1:
        parts.append(RecognizedPart("SPINE", names[spine[-1]], len(spine)))
    for limb in anatomy.limbs:
        if limb.end >= 0:
            parts.append(RecognizedPart(limb.kind, names[limb.end], len(limb.bones)))
    if anatomy.head >= 0:
        count = min(len(anatomy.spine) - chest, MAX_NECK_BONES)
        parts.append(RecognizedPart("HEAD", names[anatomy.head], count))
    return parts


def _spine_index(anatomy: Anatomy, limb: Limb) -> int:
    """Return the index in the spine of the bone that carries a limb; -1 if none does."""
    return anatomy.spine.index(limb.trunk) if limb.trunk in anatomy.spine else -1


def _rigify_limbs(armature: bpy.types.Object) -> list[tuple[RecognizedPart, str]]:
    """Return the limbs of a generated Rigify rig, each with the bone that has its FK switch."""
    bones = pose_bones(armature)
    limbs: list[tuple[RecognizedPart, str]] = []
    for kind, end in RIGIFY_FK:
        for side in "LR":
            name = end.format(side)
            switch = fk_switch(armature, name) if name in bones else ""
            if switch:
                limbs.append((RecognizedPart(kind, fk_joint(armature, name), 2), switch))
    return limbs


def switch_to_fk(armature: bpy.types.Object) -> None:
    """Switch the limbs of a generated Rigify rig to their FK controls, which IK then poses."""
    bones: Any = pose_bones(armature)
    switches = [switch for _, switch in _rigify_limbs(armature)]
    before = [f"{bones[switch][SWITCH]!r} {switch}" for switch in switches]
    character_settings(armature).switches = "\n".join(before)
    use_fk(armature, switches)


def restore_switches(armature: bpy.types.Object) -> None:
    """Restore the FK switches from before `switch_to_fk`."""
    character = character_settings(armature)
    for line in filter(None, character.switches.split("\n")):
        value, _, parent = line.partition(" ")
        if parent in pose_bones(armature):
            cast(Any, pose_bones(armature)[parent])[SWITCH] = float(value)
    character.switches = ""
