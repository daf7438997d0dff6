"""Finding the parts of a character that IK is wanted for."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...blender.character import Character, character_of
from ...motion.anatomy import Anatomy, Limb
from .generated import generated_parts
from .settings import FabrikCharacter, Part

MOST_OF_NECK = 3
"""The most bones that turn with a head, itself among them."""


def parts_of(armature: bpy.types.Object) -> list[Part]:
    """Return the parts of a character, those first that carry others."""
    generated = [part for part, _ in generated_parts(armature)]
    return generated or _shaped(character_of(armature))


def fill(held: FabrikCharacter, parts: Sequence[Part]) -> None:
    """Put parts into the list of a character, instead of what stands there."""
    held.parts.clear()
    for part in parts:
        item = held.parts.add()
        item.kind, item.bone, item.chain_count = part
    held.active_part = 0


def _shaped(character: Character) -> list[Part]:
    names, anatomy = character.names, character.anatomy
    chest = _chest(anatomy)
    parts: list[Part] = []
    spine = anatomy.spine[: chest + 1]
    if len(spine) > 1:
        parts.append(Part("SPINE", names[spine[-1]], len(spine)))
    for limb in anatomy.limbs:
        parts.append(Part(limb.kind, names[limb.end], len(limb.bones)))
    if anatomy.head >= 0:
        neck = len(anatomy.spine) - len(spine)
        parts.append(Part("HEAD", names[anatomy.head], min(neck + 1, MOST_OF_NECK)))
    return parts


def _chest(anatomy: Anatomy) -> int:
    """Return the place in the spine of the bone that carries arms or forelegs, -1 for none."""
    return max((_place(anatomy, limb) for limb in anatomy.limbs), default=-1)


def _place(anatomy: Anatomy, limb: Limb) -> int:
    return anatomy.spine.index(limb.trunk) if limb.trunk in anatomy.spine else -1
