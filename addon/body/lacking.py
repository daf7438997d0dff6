"""Messages about missing parts of a body."""

from __future__ import annotations

from typing import Final

from ..blender.errors import listed
from ..blender.messages import enumerated, joined, msg
from .body import Body

PARTS: Final = {"LEGS": msg("pairs of legs"), "ARMS": msg("pairs of arms"), "HEAD": msg("a head")}
"""The parts that a body may lack."""


def missing_parts(body: Body) -> str:
    """Return a sentence on the parts that a body lacks; empty if it's complete."""
    missing = body.anatomy.missing()
    absent = [PARTS[name] for name in missing if name in PARTS]
    text = msg("Not found: {parts}", parts=enumerated(absent)) if absent else ""
    notes = [text, bare_limbs(body), _left_out(body), stiff_limbs(body)]
    return joined(". ", [*filter(None, notes)]) if any(notes) else ""


def _left_out(body: Body) -> str:
    """Return a sentence on limbs left out because no bone ends them, with the solution."""
    ends = [limb.bones[-1] for limb in body.anatomy.limbs if limb.end < 0 and limb.is_bare]
    if not ends:
        return ""
    return msg("Use Add IK Limb on {bones}", bones=listed([body.names[i] for i in ends]))


def stiff_limbs(body: Body) -> str:
    """Return a sentence on limbs of a single bone; empty if all can bend."""
    bones = [body.names[limb.bones[0]] for limb in body.anatomy.stiff]
    if not bones:
        return ""
    return msg(
        ("Limbs of a single bone can't bend: subdivide {bones} in Edit Mode"), bones=listed(bones)
    )


def bare_limbs(body: Body) -> str:
    """Return a sentence on limbs without a hand or foot; empty if all have one."""
    limbs = [limb for limb in body.anatomy.limbs if limb.is_bare]
    bare = [limb.end if limb.end >= 0 else limb.bones[-1] for limb in limbs]
    if not bare:
        return ""
    names = listed([body.names[i] for i in bare])
    return msg("No hand or foot is parented to {bones}", bones=names)
