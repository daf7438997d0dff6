"""Generated Rigify rigs: the skeleton that they were generated from, and their FK controls.

The bones of the metarig are still in the rig, with a prefix. Rigify moves each to the control that
carries it, so the parents of the trunk are found at the deforming bones.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, cast

import bpy

from fabrik_solver.motion.anatomy import Limb as LimbAnatomy

from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.skeleton import skeleton_of
from .body import Body, Limb, Row
from .carriers import Carriers

ORIGINAL: Final = "ORG-"
DEFORMING: Final = "DEF-"
MECHANISM: Final = "MCH-"

PREFIXED: Final = re.compile(r"(?:(?:ORG|DEF|MCH|VIS|WGT)[-_])+")
"""The prefixes of a bone's name."""

SIDED: Final = re.compile(r"(.+?)(?:(\.[LR])(?:\.\d+)?)?", re.DOTALL)
"""Splits a name without prefixes into the rest and its side, without a number after that."""

SWITCH: Final = "IK_FK"
"""The property that switches a limb: 0 for IK, 1 for FK."""


TRUNK: Final = {"torso": "hips", "hips": "hips", "chest": "chest", "head": "head"}
"""The controls of trunk and head that aren't named after bones of the metarig, by part."""

TWEAK: Final = "tweak"


class RigifyRig:
    """A generated Rigify rig: the metarig is its body, and its controls pose it."""

    is_keyed = False

    def marks(self, armature: bpy.types.Object) -> object:
        """Return which bones have a limb's IK/FK switch."""
        return switched(armature)

    def rows(self, armature: bpy.types.Object) -> list[Row]:
        """Return the bones of the metarig; their titles are their names in the metarig."""
        return original_bones(armature)

    def limb(self, body: Body, limb: LimbAnatomy) -> Limb | None:
        """Return a limb along its FK controls; None if it has none.

        A paw without its own control moves with the control above it, where the limb then ends.
        """
        armature, rig = body.armature, skeleton_of(body.armature)
        first, last, end = (
            fk_control(armature, body.names[bone]) if bone >= 0 else ""
            for bone in (limb.bones[0], limb.bones[-1], limb.end)
        )
        line = [rig.names[i] for i in rig.chain_up(rig.index[last])] if last else []
        if not first or first not in line:
            return None
        hand = fk_joint(armature, end) if end else ""
        bones = tuple(line[line.index(first) :])
        return Limb(body, bones, hand, limb.kind, fk_switch(armature, first), shape=limb)

    def part_of(self, armature: bpy.types.Object, limb: Limb) -> tuple[str, int]:
        """Return the bone that ends a limb, and the number of bending bones.

        This is the hand or foot, or else the carrier of the last control.
        """
        end = limb.hand or fk_joint(armature, limb.bones[-1])
        return end, limb.bones.index(end) if end in limb.bones else len(limb.bones)

    def meant(self, body: Body, bone: str) -> str:
        """Return the bone of the metarig to which a control or mechanism belongs by name."""
        anatomy = body.anatomy
        chest = anatomy.spine[body.chest] if anatomy.spine else -1
        parts = {"hips": anatomy.hips, "chest": chest, "head": anatomy.head}
        part = parts.get(TRUNK.get(bone, ""), -1)
        return body.names[part] if part >= 0 else original_name(bone, body.names)

    def control(self, armature: bpy.types.Object, bone: str) -> str:
        """Return the control that poses this bone of the metarig and no other."""
        return own_control(armature, bone)

    def poser(self, carriers: Carriers, bone: str) -> str:
        """Return the control that carries a bone of the metarig, or the bone itself."""
        rig = carriers.rig
        for above in carriers.up(rig.index[bone])[::-1]:
            name = rig.names[above]
            is_own = not PREFIXED.match(name) and TWEAK not in name
            if is_own and not carriers.is_constrained(above):
                return name
        return bone


def switched(armature: bpy.types.Object) -> list[bool]:
    """Return, for each bone of an armature, whether it has a limb's IK/FK switch."""
    return [SWITCH in cast(Any, bone) for bone in pose_bones(armature)]


def original_bones(armature: bpy.types.Object) -> list[Row]:
    """Return the metarig's bones in a generated rig, parents first; empty for other armatures.

    Bones that mechanisms carry, such as those of a face, are left out.
    """
    bones = cast("bpy.types.Armature", armature.data).bones
    if not any(switched(armature)):
        return []
    parents = {bone.name: _parent(bones, bone) for bone in bones if bone.name.startswith(ORIGINAL)}
    rows: dict[str, Row] = {}
    indices: dict[str, int] = {}

    def add(name: str) -> int:
        """Add a bone after its parents, and return its index; -1 if it is left out."""
        if name not in indices:
            parent, title = parents[name], name.removeprefix(ORIGINAL)
            above = -1 if parent is None else add(parent)
            if DEFORMING + title not in bones or (parent and above < 0):
                return -1
            indices[name] = len(rows)
            rows[name] = Row(name, title, bones[name], above, True)
        return indices[name]

    for name in parents:
        add(name)
    return [*rows.values()]


def _parent(bones: bpy.types.ArmatureBones, bone: bpy.types.Bone) -> str | None:
    """Return the name of an original bone's original parent; None without a parent."""
    if bone.parent is not None and bone.parent.name.startswith(ORIGINAL):
        return bone.parent.name
    deforming = bones.get(DEFORMING + bone.name.removeprefix(ORIGINAL))
    for above in deforming.parent_recursive if deforming else ():
        name = ORIGINAL + above.name.removeprefix(DEFORMING)
        if above.name.startswith(DEFORMING) and name in bones:
            return name
    return None


def original_name(bone: str, names: Collection[str]) -> str:
    """Return the bone of the metarig that a bone of the rig belongs to by name.

    A control's name begins with that of its bone. Empty if there is no such bone.
    """
    stem, side = _split(PREFIXED.sub("", bone, count=1))
    original = ""
    for name in names:
        base, own_side = _split(name.removeprefix(ORIGINAL))
        is_same = own_side == side and stem.startswith(base) and not stem[len(base) :][:1].isalnum()
        if is_same and len(name) > len(original):
            original = name
    return original


def _split(name: str) -> tuple[str, str]:
    match = SIDED.fullmatch(name)
    return (match[1], match[2] or "") if match else (name, "")


def fk_control(armature: bpy.types.Object, name: str) -> str:
    """Return the FK control of a bone of the metarig; empty if there is none.

    Args:
        armature: The generated rig.
        name: The name of the bone of the metarig, as in the rig.
    """
    name = name.removeprefix(ORIGINAL)
    base, dot, side = name.rpartition(".")
    control = f"{base}_fk.{side}" if dot else f"{name}_fk"
    return control if control in pose_bones(armature) else ""


def own_control(armature: bpy.types.Object, name: str) -> str:
    """Return the control that poses this bone of the metarig and no other; empty if there is none.

    In limbs this is the FK control, in fingers the control with the bone's name.

    Args:
        armature: The generated rig.
        name: The name of the bone of the metarig, as in the rig.
    """
    title = name.removeprefix(ORIGINAL)
    return fk_control(armature, name) or (title if title in pose_bones(armature) else "")


def fk_joint(armature: bpy.types.Object, control: str) -> str:
    """Return the bone that carries an FK control at its joint, or the control itself.

    The control's own pose comes on top of that bone's.
    """
    above = pose_bones(armature)[control].parent
    return above.name if above is not None and above.name == MECHANISM + control else control


def fk_switch(armature: bpy.types.Object, control: str) -> str:
    """Return the bone with the switch of an FK control's limb; empty if there is none."""
    bones = pose_bones(armature)
    for above in bones[control].parent_recursive:
        name = above.name.removeprefix(MECHANISM)
        if name in bones and SWITCH in cast(Any, bones[name]):
            return name
    return ""


def switched_below(armature: bpy.types.Object, switch: str, end: str) -> dict[str, str]:
    """Return the controls below the end of a limb that its switch also switches.

    These are the controls of toes and hooves.

    Args:
        armature: The generated rig.
        switch: The bone with the switch.
        end: The hand or foot of the metarig.

    Returns:
        The bones of the metarig by their controls, parents first.
    """
    data = armature.animation_data
    switched = {
        split_bone_path(curve.data_path)[0]
        for curve in (data.drivers if data is not None else ())
        if any(
            target.data_path == f'pose.bones["{switch}"]["{SWITCH}"]'
            for variable in cast(Any, curve.driver).variables
            for target in variable.targets
        )
    }
    names_by_control: dict[str, str] = {}
    originals = original_bones(armature)
    below: set[int] = set()
    for i, row in enumerate(originals):
        name, parent = row.name, row.parent
        if parent in below or (parent >= 0 and originals[parent].name == end):
            below.add(i)
            control = own_control(armature, name)
            above = pose_bones(armature)[control].parent if control else None
            if control and {name, above.name if above else ""} & switched:
                names_by_control[control] = name
    return names_by_control


def is_for_ik(control: str) -> bool:
    """Return whether a control is for IK, by its name."""
    return "_ik" in control and not control.startswith(MECHANISM)


def use_fk(armature: bpy.types.Object, switches: Collection[str], value: float = 1.0) -> None:
    """Set the switches of limbs, by their bones: 1 is FK, 0 is IK."""
    for switch in switches:
        cast(Any, pose_bones(armature)[switch])[SWITCH] = value
    if switches:
        armature.update_tag()
