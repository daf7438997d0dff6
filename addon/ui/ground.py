"""Feet on the ground: their settings in the panel."""

from __future__ import annotations

from typing import Any

import bpy

from ..binding.properties import FabrikConstraint

Layout = Any


def draw_ground(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    """Draw how the tip of a chain stands on the ground."""
    given = item.ground
    layout.prop(given, "use")
    rest = layout.column()
    rest.active = given.use
    rest.prop(given, "source")
    if given.source != "SCENE":
        rest.prop(given, given.source.lower())
    row = rest.row(heading="Down")
    row.prop(given, "axis", text="")
    row.prop(given, "use_local_axis", text="Local")
    _draw_all(rest.column(align=True), given, "ray_above", "ray_below")
    _draw_all(rest.column(), given, "offset", "blend", "lift_only")
    turn = rest.column()
    turn.active = item.use_rotation
    turn.prop(given, "max_angle")
    rest.prop(given, "use_lock")
    lock = rest.column(align=True)
    lock.active = given.use_lock
    _draw_all(lock, given, "speed", "height", "shortest")
    rest.prop_search(given, "hip", armature.pose, "bones")
    hip = rest.column(align=True)
    hip.active = bool(given.hip)
    _draw_all(hip, given, "hip_follow", "hip_reach")


def _draw_all(layout: Layout, given: bpy.types.PropertyGroup, *names: str) -> None:
    for name in names:
        layout.prop(given, name)
