"""Recognizing the parts of a character that IK can be added to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import bpy

from fabrik_solver.motion.anatomy import words_of

from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.messages import joined, msg
from ...body.body import Body, Joint, Limb
from ...body.lacking import missing_parts, stiff_limbs
from ...body.looking import body_of, figure_among, figures
from ...editing.switching import (
    SwitchState,
    hide_switched,
    limbs_to_fk,
    restore_switch,
    states_in,
    text_of,
)
from .settings import FabrikCharacter, FabrikPart, add_part, character_settings

LIMBS = ("ARM", "LEG")

MAX_NECK_BONES = 3
"""Maximum number of bones that turn with a head, including the head."""


class RecognizedPart(NamedTuple):
    """A recognized part; its fields are properties of `FabrikPart`."""

    kind: str
    bone: str
    chain_count: int


class Recognition(NamedTuple):
    """The result of recognizing a character.

    Attributes:
        parts: The parts of a character, parents first.
        missing: A sentence on missing parts; empty if the character is complete.
        frame: The examined frame of the animation; None for the rest pose.
    """

    parts: list[RecognizedPart]
    missing: str = ""
    frame: float | None = None


def recognize_parts(armature: bpy.types.Object, bone: str = "") -> Recognition:
    """Recognize the parts of a character.

    Args:
        armature: The armature object.
        bone: A bone of the character, because an armature may have several. If it isn't part of
            any, the first character is used.

    Raises:
        ProblemError: If the armature has no limbs.
    """
    tops = figures(armature)
    top = figure_among(armature, tops, bone) or next(iter(tops), "")
    body = body_of(armature, top)
    parts = _parts(body)
    if not parts:
        raise ProblemError(
            stiff_limbs(body)
            or msg(
                "No limb pairs or head recognized in “{armature}”: add the parts to the list "
                "yourself",
                armature=armature.name,
            )
        )
    others = [top_bone for top_bone in tops if top_bone != top]
    notes = [missing_parts(body), _short_spine(body), _nameless(body)]
    notes.append(_skipped_figures(others) if others else "")
    return Recognition(parts, joined(". ", [*filter(None, notes)]), body.frame)


def _short_spine(body: Body) -> str:
    """Return a sentence on a spine with a single bone, which gets no IK; otherwise empty."""
    trunk = _trunk(body)
    if len(trunk) != 1:
        return ""
    return msg("Skipped the spine: “{bone}” is its only bone", bone=body.names[trunk[0]])


def _nameless(body: Body) -> str:
    """Return a note if only the shape, not the names, identifies limbs; empty otherwise."""
    if {"SHAPE"} != {limb.why for limb in body.limbs}:
        return ""
    return msg("Bone names don't identify any limb; guessed from shape: check the list")


def _skipped_figures(others: Sequence[str]) -> str:
    return msg(
        "Skipped other characters ({bones}): make one of their bones active to recognize them",
        bones=listed(others),
    )


def fill(character: FabrikCharacter, parts: Sequence[RecognizedPart]) -> None:
    """Replace a character's listed parts."""
    character.parts.clear()
    for part in parts:
        item = add_part(character, part.bone)
        item.kind, item.chain_count = part.kind, part.chain_count
    character.active_part = 0


def inner_joints(armature: bpy.types.Object, parts: Sequence[RecognizedPart]) -> list[Joint]:
    """Return the elbows and knees of parts."""
    limbs = [part for part in parts if part.kind in LIMBS]
    return [joint for part in limbs for joint in limb_of_part(armature, part).joints[1:]]


def limb_of_part(armature: bpy.types.Object, part: RecognizedPart | FabrikPart) -> Limb:
    """Return a part's bones as a limb; an arm or leg may also have a hand or foot.

    The limb has fewer bones than the part if the armature has too few.
    """
    is_limb = part.kind in LIMBS
    body = body_of(armature, part.bone)
    alone = Limb(body, (part.bone,), part.bone if is_limb else "", part.kind)
    ending = [limb for limb in body.ended_limbs if is_limb and limb.end.bone == part.bone]
    limb = next(iter(ending), alone)
    end = pose_bones(armature)[limb.hand or limb.bones[-1]]
    line = [end.name, *(bone.name for bone in end.parent_recursive)]
    line = line[1:] if limb.hand else line
    return replace(limb, bones=tuple(line[: part.chain_count][::-1]))


def _parts(body: Body) -> list[RecognizedPart]:
    names, anatomy = body.names, body.anatomy
    parts = [RecognizedPart(limb.kind, *body.part_of(limb)) for limb in body.ended_limbs]
    spine = _trunk(body)
    if len(spine) > 1:
        parts.insert(0, RecognizedPart("SPINE", names[spine[-1]], len(spine)))
    if anatomy.head >= 0 and body.rig.is_keyed:
        count = min(len(anatomy.spine) - body.chest, MAX_NECK_BONES)
        parts.append(RecognizedPart("HEAD", names[anatomy.head], count))
    return parts


def _trunk(body: Body) -> tuple[int, ...]:
    """Return the spine's bones up to the chest; in some characters the neck carries the arms."""
    spine = body.anatomy.spine[: body.chest + 1] if body.rig.is_keyed else ()
    while spine and "neck" in words_of(body.names[spine[-1]]):
        spine = spine[:-1]
    return spine


def switch_to_fk(armature: bpy.types.Object, ends: Collection[str]) -> list[SwitchState]:
    """Switch limbs to their FK controls, if the rig has them; IK then poses these.

    The controls take the displayed pose, and are keyed at the frames where the limbs are animated.

    Args:
        armature: The armature.
        ends: The bones of the parts that are set up.

    Returns:
        The previous states of the limbs.

    Raises:
        ProblemError: If a switch is animated, or the controls can't be keyed; nothing is changed.
    """
    body = body_of(armature)
    limbs = [limb for limb in body.limbs if limb.switch and body.part_of(limb)[0] in ends]
    states = limbs_to_fk(armature, limbs, keeps_animation=True)
    hide_switched(armature, states)
    character_settings(armature).switches = text_of(states)
    return states


def restore_switches(armature: bpy.types.Object) -> None:
    """Restore the FK switches and the poses of controls from before `switch_to_fk`."""
    character = character_settings(armature)
    for state in states_in(character.switches):
        restore_switch(armature, state)
    character.switches = ""
