"""Why a bone can't be held: refused when holding it, and shown in the list."""

from __future__ import annotations

import bpy

from ...blender.errors import ProblemError


def missing(name: str, ob: bpy.types.Object) -> ProblemError:
    """Return the problem of a bone that doesn't exist."""
    return ProblemError(
        "“{object}” has no bone “{name}”: choose another bone", name=name, object=ob.name
    )


def connected(bone: str) -> ProblemError:
    """Return the problem of a bone that is connected to its parent."""
    return ProblemError(
        "“{bone}” is connected to its parent and can't be held elsewhere: disconnect it in Edit "
        "Mode, or hold its IK target",
        bone=bone,
    )


def unlinked(holder: str, bone: str) -> ProblemError:
    """Return the problem of a bone whose holder isn't in any scene."""
    return ProblemError(
        "“{holder}” holds “{bone}” but isn't in any scene: link it to one, or remove its events",
        holder=holder,
        bone=bone,
    )


def removed(bone: str) -> ProblemError:
    """Return the problem of a bone whose holder no longer exists."""
    return ProblemError("What held “{bone}” was removed: remove the hold's events", bone=bone)
