"""The balance of a body: its center of mass, and what it stands on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from fabrik_solver.core.vectors import Vec
from fabrik_solver.core.whole_body import Support

from ...blender.session import part
from ...blender.skeleton import skeleton_of, vector
from .roles import Roles, roles_of


class _KnownRoles(dict[int, tuple[list[str], Roles]]):
    """The roles of armatures by their session UID, with the names that their bones had."""


def known_roles(armature: bpy.types.Object, shown: bpy.types.Object) -> Roles:
    """Return the roles of the bones of an armature, as they were when its bones were named so.

    Args:
        armature: The armature.
        shown: Its evaluated copy.
    """
    known, names = part(_KnownRoles), skeleton_of(armature).names
    before = known.get(armature.session_uid)
    if before is None or before[0] != names:
        before = known[armature.session_uid] = names, roles_of(armature, shown)
    return before[1]


def middle_of(bones: Any, name: str, roles: Roles) -> Vec:
    """Return the center of mass of a bone, in the space of the armature: halfway to the next one.

    Args:
        bones: The pose bones.
        name: The bone.
        roles: The roles of the bones.
    """
    after = roles.after.get(name, "")
    end = bones[after].head if after in bones else bones[name].tail
    return vector((bones[name].head + end) / 2.0)


def centre_of_mass(bones: Any, roles: Roles) -> Vec | None:
    """Return the center of mass of a body, in the space of the armature; None if it has none."""
    masses = {name: mass for name, mass in roles.masses.items() if name in bones}
    whole = sum(masses.values())
    if whole == 0.0:
        return None
    places = [(mass, middle_of(bones, name, roles)) for name, mass in masses.items()]
    x, y, z = (sum([mass * place[i] for mass, place in places]) / whole for i in range(3))
    return x, y, z


def support_of(bones: Any, pinned: Iterable[str], up: Vec) -> Support:
    """Return what a body stands on, in the space of the armature: pinned bones and those below."""
    corners = [
        vector(end)
        for name in pinned
        if name in bones
        for bone in (bones[name], *bones[name].children_recursive)
        for end in (bone.head, bone.tail)
    ]
    return Support(corners, up)
