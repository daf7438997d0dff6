"""The balance of a body: its center of mass and its support."""

from __future__ import annotations

from collections.abc import Iterable
from math import pi
from typing import Any, cast

import bpy

from fabrik_solver.core.vectors import ORIGIN, Vec, add, scaled
from fabrik_solver.core.whole_body import Support

from ...blender.access import pose_bones
from ...blender.session import part
from ...blender.skeleton import skeleton_of, vector
from .body import Load
from .roles import Roles, roles_of
from .settings import PERSON, body_settings


class _KnownRoles(dict[int, tuple[list[str], Roles]]):
    """The roles of armatures by session UID, with the names their bones had."""


def known_roles(armature: bpy.types.Object, shown: bpy.types.Object) -> Roles:
    """Return the roles of an armature's bones, cached until a bone is renamed.

    Args:
        armature: The armature.
        shown: Its evaluated copy.
    """
    cache, names = part(_KnownRoles), skeleton_of(armature).names
    cached = cache.get(armature.session_uid)
    if cached is None or cached[0] != names:
        cached = cache[armature.session_uid] = names, roles_of(armature, shown)
    return cached[1]


def loads_of(armature: bpy.types.Object, shown: bpy.types.Object, roles: Roles) -> dict[str, Load]:
    """Return the masses of bones, each centered halfway to the next bone.

    Args:
        armature: The armature.
        shown: Its evaluated copy.
        roles: The roles of its bones.
    """
    bones, rest = pose_bones(shown), cast(Any, armature.data).bones
    is_person = bool(roles.masses) and body_settings(armature).masses == PERSON
    changed = [bone for bone in rest if bone.fabrik_mass != 1.0]
    factors = {roles.named(bone.name): bone.fabrik_mass for bone in changed}  # Controls count too.
    loads: dict[str, Load] = {}
    for name, mass in (roles.masses if is_person else _volumes(rest)).items():
        if name in bones:
            # Importers guess the tails of the last bones.
            last = bones[name].head if is_person else bones[name].tail
            end_name = roles.after.get(name, "")
            end = bones[end_name].head if end_name in bones else last
            middle = vector((bones[name].head + end) / 2.0)
            loads[name] = mass * factors.get(name, 1.0), middle
    return loads


def _volumes(bones: Any) -> dict[str, float]:
    """Return the envelope volumes of deforming bones, or of all bones if none deforms."""
    deforming = [bone for bone in bones if bone.use_deform] or bones
    volumes: dict[str, float] = {}
    for bone in deforming:
        a, b = bone.head_radius, bone.tail_radius
        volumes[bone.name] = pi / 3.0 * bone.length * (a * a + a * b + b * b)
    return volumes


def added(loads: Iterable[Load]) -> Load:
    """Return the sum of masses at their common center; the origin without mass."""
    whole, sums = 0.0, ORIGIN
    for mass, center in loads:
        whole, sums = whole + mass, add(sums, scaled(center, mass))
    return whole, scaled(sums, 1.0 / whole) if whole > 0.0 else ORIGIN


def support_of(bones: Any, pinned: Iterable[str], roles: Roles) -> Support:
    """Return the area on which a body stands, in armature space.

    Args:
        bones: The pose bones.
        pinned: The pinned bones.
        roles: The roles of the bones.
    """
    corners = [corner for name in pinned for corner in corners_of(bones, name, roles)]
    return Support(corners, roles.up)


def corners_of(bones: Any, name: str, roles: Roles) -> list[Vec]:
    """Return the points on which a bone bears weight: its head and the head of the next bone.

    Without a next bone, the second point is its tail.
    """
    if name not in bones:
        return []
    end_name = roles.after.get(name, "")
    end = bones[end_name].head if end_name in bones else bones[name].tail
    return [vector(bones[name].head), vector(end)]
