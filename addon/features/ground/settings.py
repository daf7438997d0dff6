"""The settings of a foot on the ground."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.axes import axis_items
from ...blender.rays import source_items
from ...settings.definitions import FACTOR, animated, fixed, stored
from ...settings.properties import FabrikConstraint

SOURCE_ITEMS = source_items({"OBJECT": 0, "COLLECTION": 1, "SCENE": 2})


def _is_mesh(_settings: object, ob: bpy.types.Object) -> bool:
    return ob.type == "MESH"


class FabrikGround(bpy.types.PropertyGroup):
    """The settings of a foot on the ground."""

    use: bool = fixed(
        "On the Ground",
        "Place the target on the ground below it before the chain is solved",
        default=False,
    )
    source: str = fixed("Source", "Objects to use as ground", items=SOURCE_ITEMS, default="OBJECT")
    object: bpy.types.Object | None = fixed(
        "Object",
        "Mesh object that the feet stand on. Empty: the scene",
        poll=_is_mesh,
    )
    collection: bpy.types.Collection | None = fixed(
        "Collection", "Collection of the meshes that the feet stand on"
    )
    axis: str = fixed(
        "Down",
        "Direction in which to search for the ground",
        items=axis_items("the world's or the armature's"),
        default="NEGATIVE_Z",
    )
    use_local_axis: bool = fixed(
        "Local",
        "Use an axis of the armature as Down instead of a world axis, for characters that climb",
        default=False,
    )
    ray_above: float = animated(
        "Search Above",
        "How far to search for ground above the animation's floor. 0 finds the nearest ground",
        default=0.0,
        min=0.0,
        soft_max=10.0,
        subtype="DISTANCE",
    )
    ray_below: float = animated(
        "Search Below",
        "How far to search for ground below the animation's floor. 0 finds the nearest ground",
        default=0.0,
        min=0.0,
        soft_max=10.0,
        subtype="DISTANCE",
    )
    offset: float = animated(
        "Offset",
        "Height of the foot above the ground, added to its animated height",
        default=0.0,
        soft_min=-1.0,
        soft_max=1.0,
        subtype="DISTANCE",
    )
    blend: float = animated(
        "Blend Height",
        "Height of the animated foot above which the ground's influence fades, to zero at twice "
        "this height. 0 always uses the ground",
        default=0.0,
        min=0.0,
        soft_max=5.0,
        subtype="DISTANCE",
    )
    lift_only: bool = animated(
        "Lift Only", "Never move the foot below its animated height", default=False
    )
    max_angle: float = animated(
        "Max Angle",
        "Maximum angle by which the foot tilts to match the slope, if it copies the target's "
        "rotation",
        default=0.7853981633974483,
        min=0.0,
        max=1.0471975511965976,
        subtype="ANGLE",
    )
    use_floor: bool = animated(
        "Set Floor",
        "Set the height of the animation's floor. When disabled, it is detected from the feet's "
        "contacts",
        default=False,
    )
    floor: float = animated(
        "Floor",
        "Height of the animation's floor above the armature's origin",
        default=0.0,
        soft_min=-1.0,
        soft_max=1.0,
        subtype="DISTANCE",
    )
    use_lock: bool = animated(
        "Lock Contacts",
        "Keep the foot in place during a contact. Requires a simulation",
        default=True,
    )
    lock_time: float = animated(
        "Lock Time",
        "How long the lock fades in before a contact, and out after it",
        default=0.1,
        min=0.0,
        soft_max=0.5,
        subtype="TIME_ABSOLUTE",
    )
    speed: float = fixed(
        "Max Speed",
        "Maximum speed of a standing foot, in meters per second. 0 derives it from the leg's "
        "length",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        unit="VELOCITY",
    )
    height: float = fixed(
        "Max Height",
        "Maximum height of a standing foot above its lowest point. 0 derives it from the leg's "
        "length",
        default=0.0,
        min=0.0,
        soft_max=0.5,
        subtype="DISTANCE",
    )
    shortest: int = fixed(
        "Min Contact",
        "Minimum duration of a contact in frames. 0 is 0.03 seconds",
        default=0,
        min=0,
        soft_max=20,
    )
    use_hip: bool = fixed(
        "Move Hip",
        "Raise and lower the body with the ground, so that all feet reach it",
        default=True,
    )
    hip: str = fixed(
        "Hip",
        "Bone to raise and lower, above the legs. Empty: the common parent of all legs that use "
        "On the Ground",
    )
    hip_follow: float = animated(
        "Follow Ground",
        "How far the hip follows the height of the feet. 0 only lowers it so that they reach",
        default=1.0,
        **FACTOR,
    )
    hip_reach: float = animated(
        "Max Extension",
        "Extension of a leg, relative to its length, at which the hip is lowered. Avoids "
        "snapping knees",
        default=0.98,
        min=0.5,
        max=1.0,
        subtype="FACTOR",
    )
    history: bytes = stored("History", "Simulated motion of the animated foot")


def ground_settings(item: FabrikConstraint) -> FabrikGround:
    """Return the ground settings of a constraint."""
    return cast(Any, item).ground
