"""Blender's own constraints on the parents of chains."""

from __future__ import annotations

from typing import Any

import bpy

from .skeleton import Point, skeleton_of

TURNED_ONLY = ("COPY_ROTATION",)
"""Bone constraints that set the axes and leave the head where the parent carries it."""


def active_constraints(owner: bpy.types.Object | bpy.types.PoseBone) -> list[Any]:
    """Return the active constraints of Blender's on an object or bone."""
    return [con for con in owner.constraints if not con.mute and con.influence > 0.0]


def constraint_point(con: Any) -> Point | None:
    """Return what one of Blender's constraints looks at."""
    ob = getattr(con, "target", None)
    if ob is None:
        return None
    name = getattr(con, "subtarget", "")
    if name and ob.type == "ARMATURE" and ob.pose:
        skeleton = skeleton_of(ob.original)
        if name in skeleton.index:
            return Point(ob.original, skeleton, skeleton.index[name])
    return Point(ob.original)


def acts_plainly(con: Any, on_bone: bool) -> bool:
    """Return whether `read` places what this constraint acts on as Blender will."""
    if con.influence < 1.0 or con.owner_space != "WORLD" or con.target_space != "WORLD":
        return False
    if on_bone:
        return con.type in TURNED_ONLY and con.mix_mode == "REPLACE" and _all_axes(con)
    if con.type == "CHILD_OF":
        parts = [
            f"use_{part}_{axis}" for part in ("location", "rotation", "scale") for axis in "xyz"
        ]
        return all(getattr(con, part) for part in parts)
    if con.type == "COPY_LOCATION":
        return _all_axes(con) and con.head_tail == 0.0 and not con.use_offset
    return con.type == "COPY_TRANSFORMS" and con.mix_mode == "REPLACE" and con.head_tail == 0.0


def _all_axes(con: Any) -> bool:
    used = con.use_x and con.use_y and con.use_z
    return used and not (con.invert_x or con.invert_y or con.invert_z)
