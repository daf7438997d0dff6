"""What is known of how limbs bend, and what tells it, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import bpy

from ..blender.errors import listed
from ..blender.messages import Message, joined, msg
from ..editing.flexion import flexion_of

EVIDENCE: Final = {
    "SET": msg("was kept with the bone before"),
    "LIMIT": msg("their limits allow"),
    "CLIP": msg("the animation shows"),
    "REST": msg("the rest pose shows"),
    "POLE": msg("their pole shows"),
    "BODY": msg("the body suggests"),
}
"""What tells how a joint flexes, by `Flexion.source`, which completes a sentence."""


def evidence_of(armature: bpy.types.Object, bones: Iterable[str]) -> dict[str, list[str]]:
    """Return the bones below elbows and knees by what tells how these flex, empty if nothing does.

    It changes once a constraint has been added, which keeps it with the bone.
    """
    by_evidence: dict[str, list[str]] = {}
    for name in bones:
        flexion = flexion_of(armature, name)
        by_evidence.setdefault("" if flexion is None else flexion.source, []).append(name)
    return by_evidence


def told(evidence: Mapping[str, list[str]], is_flipped: bool = False) -> Message:
    """Return sentences on what `evidence_of` has found.

    Args:
        evidence: The bones by what tells.
        is_flipped: Whether the user has chosen the other side.
    """
    return joined(
        ". ", [_sentence(source, names, is_flipped) for source, names in evidence.items()]
    )


def _sentence(source: str, names: list[str], is_flipped: bool) -> Message:
    if not source:
        return msg("{names}: straight, and nothing tells the side of the bend", names=listed(names))
    if is_flipped:
        return msg(
            "{names}: bending to the side opposite to the one that {evidence}",
            names=listed(names),
            evidence=EVIDENCE[source],
        )
    return msg(
        "{names}: bending to the side that {evidence}",
        names=listed(names),
        evidence=EVIDENCE[source],
    )
