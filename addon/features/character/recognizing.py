"""Recognizing the parts of a character that IK can be added to."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

import bpy
from mathutils import Matrix

from fabrik_solver.motion.anatomy import Anatomy, Limb, part_of, words_of

from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.messages import joined, msg
from ...body.body import Body
from ...body.body import Limb as FoundLimb
from ...body.looking import (
    Character,
    character_of,
    ends_at_tail,
    figure_among,
    figures,
    missing_parts,
    stiff_limbs,
)
from ...body.rigify import fk_joint, original_bones
from ...editing.switching import SwitchState, limbs_to_fk, restore_switch
from .settings import FabrikCharacter, add_part, character_settings

MAX_NECK_BONES = 3
"""The most bones that turn with a head, including the head itself."""


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
    generated = [part for part, _ in generated_limbs(armature)]
    if generated:
        return Recognition(generated)
    tops = figures(armature)
    top = figure_among(armature, tops, bone) or next(iter(tops), "")
    character = character_of(armature, bone=top)
    parts = _anatomical_parts(character)
    if not parts:
        raise ProblemError(
            stiff_limbs(character)
            or msg(
                "No limb pairs or head recognized in “{armature}”: add the parts to the list "
                "yourself",
                armature=armature.name,
            )
        )
    others = [one for one in tops if one != top]
    notes = [missing_parts(character), _short_spine(character), _nameless(character)]
    notes.append(_told(others) if others else "")
    return Recognition(parts, joined(". ", [*filter(None, notes)]), character.frame)


def _short_spine(character: Character) -> str:
    """Return in a sentence that a spine of one bone gets no IK; empty for any other."""
    trunk = _trunk(character)
    if len(trunk) != 1:
        return ""
    return msg("Skipped the spine: “{bone}” is its only bone", bone=character.names[trunk[0]])


def _nameless(character: Character) -> str:
    """Return in a sentence that names tell no limb, so that shape alone does; empty otherwise."""
    is_told = any(part_of(words_of(name)) not in ("", "OTHER") for name in character.names)
    if is_told or not character.anatomy.limbs:
        return ""
    return msg("Bone names don't identify any limb; guessed from shape: check the list")


def _told(others: Sequence[str]) -> str:
    return msg(
        "Skipped other characters ({bones}): make one of their bones active to recognize them",
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
    names: list[str] = []
    for part in parts:
        if part.kind in ("ARM", "LEG"):
            character, last = character_of(armature, bone=part.bone), bones[part.bone]
            if part.bone in character.detached:
                last = bones[character.detached[part.bone].limb]
            elif not ends_at_tail(character, part.bone):
                last = last.parent
            line = [last, *last.parent_recursive][: part.chain_count - 1]
            names += [bone.name for bone in reversed(line)]
    return names


def _anatomical_parts(character: Character) -> list[RecognizedPart]:
    names, anatomy = character.names, character.anatomy
    parts: list[RecognizedPart] = []
    spine = _trunk(character)
    if len(spine) > 1:
        parts.append(RecognizedPart("SPINE", names[spine[-1]], len(spine)))
    for limb in anatomy.limbs:
        if limb.end >= 0 or not limb.is_bare:
            end = names[limb.end if limb.end >= 0 else limb.bones[-1]]
            parts.append(RecognizedPart(limb.kind, end, len(limb.bones)))
    if anatomy.head >= 0:
        count = min(len(anatomy.spine) - _chest(anatomy), MAX_NECK_BONES)
        parts.append(RecognizedPart("HEAD", names[anatomy.head], count))
    return parts


def _chest(anatomy: Anatomy) -> int:
    """Return the index in the spine of the last bone that carries a limb; -1 if none does."""
    return max((_spine_index(anatomy, limb) for limb in anatomy.limbs), default=-1)


def _trunk(character: Character) -> tuple[int, ...]:
    """Return the bones of the spine up to the chest; some carry the arms on the neck."""
    spine = character.anatomy.spine[: _chest(character.anatomy) + 1]
    while spine and "neck" in words_of(character.names[spine[-1]]):
        spine = spine[:-1]
    return spine


def _spine_index(anatomy: Anatomy, limb: Limb) -> int:
    """Return the index in the spine of the bone that carries a limb; -1 if none does."""
    return anatomy.spine.index(limb.trunk) if limb.trunk in anatomy.spine else -1


def generated_limbs(armature: bpy.types.Object) -> list[tuple[RecognizedPart, FoundLimb]]:
    """Return the limbs of a generated Rigify rig, by their FK controls; none of any other.

    A paw without a control of its own ends at the control above it.
    """
    if not original_bones(armature):
        return []
    limbs: list[tuple[RecognizedPart, FoundLimb]] = []
    for _, limb in Body(armature).limbs:
        end = limb.hand or fk_joint(armature, limb.bones[-1])
        count = limb.bones.index(end) if end in limb.bones else len(limb.bones)
        limbs.append((RecognizedPart(limb.kind, end, count), limb))
    return limbs


def switch_to_fk(armature: bpy.types.Object, ends: Collection[str]) -> list[SwitchState]:
    """Switch limbs of a generated Rigify rig to their FK controls, which IK then poses.

    The controls are posed as the limbs are shown, and keyed at the frames of their animation.

    Args:
        armature: The armature.
        ends: The bones of the parts that are set up.

    Returns:
        What the limbs were.

    Raises:
        ProblemError: If a switch is animated, or the controls cannot be keyed; then nothing has
            changed.
    """
    limbs = [limb for part, limb in generated_limbs(armature) if part.bone in ends]
    states = limbs_to_fk(armature, limbs, keeps_animation=True)
    character_settings(armature).switches = "\n".join(map(_line, states))
    return states


def _line(state: SwitchState) -> str:
    """Return a state as text: value and switch, then controls with the rows of their poses."""
    poses = {name: [[*row] for row in matrix] for name, matrix in state.poses.items()}
    return f"{state.value!r} {state.switch}\t{json.dumps(poses)}"


def restore_switches(armature: bpy.types.Object) -> None:
    """Restore the FK switches from before `switch_to_fk`, and the poses of controls."""
    character, bones = character_settings(armature), pose_bones(armature)
    for line in filter(None, character.switches.split("\n")):
        text, _, rows = line.partition("\t")  # Files of earlier versions have no poses.
        value, _, switch = text.partition(" ")
        if switch in bones:
            poses = {name: Matrix(matrix) for name, matrix in json.loads(rows or "{}").items()}
            known = {name: matrix for name, matrix in poses.items() if name in bones}
            restore_switch(armature, SwitchState(switch, float(value), known))
    character.switches = ""
