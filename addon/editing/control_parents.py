"""The bones that controls are parented to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

import bpy

from ..blender.errors import ChoiceError
from ..blender.skeleton import skeleton_of
from ..body.carriers import Carriers
from ..body.looking import body_of
from ..body.root import root_above

PARTS: Final = ("HIPS", "CHEST", "HEAD")
"""The parts of a body that controls can be parented to."""


class Parent(NamedTuple):
    """What controls are parented to.

    Attributes:
        kind: ``'ROOT'``, ``'WORLD'`` for no bone, one of `PARTS`, or ``'BONE'``.
        bone: The name of the bone, for ``'BONE'``.
    """

    kind: str = "ROOT"
    bone: str = ""


ROOT: Final = Parent()


def parent_bone(
    armature: bpy.types.Object, parent: Parent, chain: Collection[str], first: str
) -> str:
    """Return the bone that a chain's controls are parented to; empty if there is none.

    Args:
        armature: The armature.
        parent: The choice of their parent.
        chain: The bones posed by their constraint, and everything that moves with the chain.
        first: The topmost of these bones.

    Raises:
        ChoiceError: If that bone doesn't exist, or is chosen by its name and moved by the chain.
            The target of a chest can't follow the chest: it follows the root.
    """
    if parent.kind == "WORLD":
        return ""
    rig = skeleton_of(armature)
    moved = rig.below({rig.index[name] for name in chain})
    bone = parent.bone if parent.kind == "BONE" else ""
    if parent.kind in PARTS:
        bone = part_bone(armature, parent.kind, first)
    if parent.kind == "ROOT" or (parent.kind in PARTS and rig.index.get(bone) in moved):
        return root_above(armature, first)
    if bone not in rig.index:
        raise ChoiceError(
            "“{armature}” has no bone for this Parent: choose another one",
            {"parent": "ROOT"},
            armature=armature.name,
        )
    if rig.index[bone] in moved:
        raise ChoiceError(
            "“{bone}” moves with the chain, so it can't be the parent of its control: choose Root "
            "as Parent",
            {"parent": "ROOT"},
            bone=bone,
        )
    return bone


def part_bone(armature: bpy.types.Object, part: str, bone: str) -> str:
    """Return the bone that poses a part of the body that a bone belongs to; empty if there is none.

    Args:
        armature: The armature.
        part: One of `PARTS`.
        bone: The bone.
    """
    body = body_of(armature, bone)
    anatomy = body.anatomy
    chest = anatomy.spine[body.chest] if body.chest >= 0 else -1
    index = {"HIPS": body.pelvis, "CHEST": chest, "HEAD": anatomy.head}[part]
    if index < 0:
        return ""
    return body.rig.poser(Carriers(skeleton_of(armature), armature), body.names[index])
