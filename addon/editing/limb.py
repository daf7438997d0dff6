"""Finding a limb from one of its bones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import bpy

from fabrik_solver.motion.anatomy import HAND, words_of
from fabrik_solver.motion.anatomy import Limb as Found

from ..blender.access import pose_bones
from ..blender.character import Character, character_of
from ..blender.errors import ProblemError
from ..blender.limbs import limb_length
from ..blender.skeleton import Skeleton, skeleton_of
from .flexion import next_in_limb

ENDS: Final = HAND | {"ankle", "foot", "hoof", "palm", "paw"}
"""Words in the names of bones at the ends of limbs, which have rotations of their own."""


class Limb(NamedTuple):
    """A limb that IK can be added to.

    Attributes:
        bones: The names of the bones that bend, root first.
        hand: The hand or foot after them; empty if there is none.
        kind: ``'ARM'`` or ``'LEG'`` of a recognized character; empty for any other limb.
    """

    bones: tuple[str, ...]
    hand: str = ""
    kind: str = ""

    def tip(self, is_oriented: bool) -> str:
        """Return the tip bone of a constraint that orients the hand, or does not."""
        return self.hand if is_oriented and self.hand else self.bones[-1]


def find_limbs(armature: bpy.types.Object, bones: Iterable[str]) -> list[tuple[Limb, bool]]:
    """Return the limb of each bone, and whether the bone is its hand, foot or toe.

    Arms and legs of a character are recognized from any of their bones, or the clavicle. Any other
    limb goes from the bone to the tip, and up to where the skeleton branches.

    Raises:
        ProblemError: If a bone is not part of a limb.
    """
    character = character_of(armature)
    return [_find(armature, character, bone) for bone in bones]


def _find(armature: bpy.types.Object, character: Character, bone: str) -> tuple[Limb, bool]:
    index = character.names.index(bone)
    for limb in character.anatomy.limbs:
        toe = limb.toe if limb.kind == "LEG" else -1  # An arm's is a finger.
        if index in (limb.end, toe) and _is_end(character, limb):
            return _recognized(character, limb), True
        if index in (*limb.carriers, *limb.bones) and _is_end(character, limb):
            return _recognized(character, limb), False
    rig = skeleton_of(armature)
    found, is_hand = _find_any(rig, rig.index[bone])
    if len(found.bones) < 2 or index == character.anatomy.hips:
        raise ProblemError(
            "“{bone}” is not part of a limb: click a hand, a foot, or a bone of the chain",
            bone=bone,
        )
    return found, is_hand


def _is_end(character: Character, limb: Found) -> bool:
    """Return whether a recognized limb ends at a hand or foot, and not at a claw."""
    if limb.end < 0 or limb.toe >= 0 or len(character.anatomy.limbs) == 4:
        return True
    return bool(ENDS & set(words_of(character.bones[limb.end].name)))


def _recognized(character: Character, limb: Found) -> Limb:
    names = character.names
    hand = names[limb.end] if limb.end >= 0 else ""
    return Limb(tuple(names[i] for i in limb.bones), hand, limb.kind)


def _find_any(rig: Skeleton, bone: int) -> tuple[Limb, bool]:
    is_hand = _is_hand(rig, bone)
    hand = bone if is_hand else -1
    last = rig.parents[bone] if is_hand else bone
    while not is_hand and (after := next_in_limb(rig, last)) >= 0:
        if _is_hand(rig, after):
            hand = after
            break
        last = after
    up = rig.chain_up(last)
    bones = up[-limb_length(rig, last) :]
    if bone not in (*bones, hand):
        bones, hand = rig.chain_up(bone)[-limb_length(rig, bone) :], -1
    names = tuple(rig.names[i] for i in bones)
    return Limb(names, rig.names[hand] if hand >= 0 else ""), is_hand


def _is_hand(rig: Skeleton, bone: int) -> bool:
    """Return whether a bone is a hand or foot by its name, and not a finger of one."""
    parent = rig.parents[bone]
    if parent < 0 or ENDS & set(words_of(rig.names[parent])):
        return False
    return bool(ENDS & set(words_of(rig.names[bone])))


def other_limb(armature: bpy.types.Object, limb: Limb) -> Limb | None:
    """Return the limb on the other side, None if there is none."""
    character = character_of(armature)
    for found in character.anatomy.limbs if limb.kind else ():
        if _recognized(character, found) != limb:
            continue
        same = [one for one in character.anatomy.limbs if one.kind == found.kind]
        place = [one for one in same if one.side == found.side].index(found)
        others = [one for one in same if one.side == -found.side]
        return _recognized(character, others[place]) if place < len(others) else None
    names = [bpy.utils.flip_name(name) for name in (*limb.bones, limb.hand)]
    bones = pose_bones(armature)
    if names[-2] == limb.bones[-1] or not all(name in bones for name in filter(None, names)):
        return None
    return limb._replace(bones=tuple(names[:-1]), hand=names[-1])
