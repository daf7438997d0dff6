"""How limbs bend and the evidence for it, as sentences for the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..blender.errors import listed
from ..blender.messages import Message, joined, msg
from ..body.body import Joint

EVIDENCE: Final = {
    "SET": msg("stored in the armature"),
    "LIMIT": msg("from joint limits"),
    "CLIP": msg("from the animation"),
    "REST": msg("from the rest pose"),
    "POLE": msg("from a pole"),
    "BODY": msg("guessed from the body"),
}
"""The evidence for a joint's bend direction, by `Joint.source`; it completes a sentence."""


def evidence_of(joints: Iterable[Joint]) -> dict[str, list[str]]:
    """Return the bones below elbows and knees, by the evidence for how they flex.

    Call this before adding a constraint, which stores the flexion with the bone.
    """
    by_evidence: dict[str, list[str]] = {}
    for joint in joints:
        if joint.source != "TWIST":
            by_evidence.setdefault(joint.source, []).append(joint.bone)
    return by_evidence


def bend_sentences(evidence: Mapping[str, list[str]], is_flipped: bool = False) -> Message:
    """Return sentences on the result of `evidence_of`.

    Args:
        evidence: The bones by evidence.
        is_flipped: Whether the user has chosen the opposite bend direction.
    """
    return joined(
        ". ", [_sentence(source, names, is_flipped) for source, names in evidence.items()]
    )


def _sentence(source: str, names: list[str], is_flipped: bool) -> Message:
    if not source:
        return msg("{names}: bend direction unknown, because straight", names=listed(names))
    if is_flipped:
        return msg(
            "{names}: opposite of the bend direction {evidence}",
            names=listed(names),
            evidence=EVIDENCE[source],
        )
    return msg(
        "{names}: bend direction {evidence}",
        names=listed(names),
        evidence=EVIDENCE[source],
    )
