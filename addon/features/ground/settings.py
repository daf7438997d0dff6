"""The settings of a foot on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...blender.axes import axis_items
from ...blender.rays import source_items
from ...loop.properties import FabrikConstraint
from ...loop.property_kinds import animated, fixed, stored

SOURCE_ITEMS = source_items({"OBJECT": 0, "COLLECTION": 1, "SCENE": 2})


class FabrikGround(bpy.types.PropertyGroup):
    """How a foot on the ground moves."""

    if TYPE_CHECKING:
        use: bool
        source: str
        object: bpy.types.Object | None
        collection: bpy.types.Collection | None
        axis: str
        use_local_axis: bool
        ray_above: float
        ray_below: float
        offset: float
        blend: float
        lift_only: bool
        max_angle: float
        use_lock: bool
        speed: float
        height: float
        shortest: int
        hip: str
        hip_follow: float
        hip_reach: float
        history: bytes
    else:
        use: fixed(
            BoolProperty,
            "On the Ground",
            "Put the target on the ground below it before the chain reaches for it",
            default=False,
        )
        source: fixed(
            EnumProperty, "Source", "What counts as ground", items=SOURCE_ITEMS, default="OBJECT"
        )
        object: fixed(
            PointerProperty, "Object", "Mesh that the foot stands on", type=bpy.types.Object
        )
        collection: fixed(
            PointerProperty,
            "Collection",
            "Collection of the meshes that the foot stands on",
            type=bpy.types.Collection,
        )
        axis: fixed(
            EnumProperty,
            "Down",
            "Where the ground is looked for",
            items=axis_items("the world's or the armature's"),
            default="NEGATIVE_Z",
        )
        use_local_axis: fixed(
            BoolProperty,
            "Local",
            "Down is an axis of the armature, which climbs, and not of the world",
            default=False,
        )
        ray_above: animated(
            FloatProperty,
            "Look Above",
            "How far above the floor of the animation ground is looked for",
            default=1.0,
            min=0.0,
            soft_max=10.0,
            subtype="DISTANCE",
        )
        ray_below: animated(
            FloatProperty,
            "Look Below",
            "How far below the floor of the animation ground is looked for",
            default=1.0,
            min=0.0,
            soft_max=10.0,
            subtype="DISTANCE",
        )
        offset: animated(
            FloatProperty,
            "Offset",
            "How much higher above the ground the foot is than above the floor of the animation",
            default=0.0,
            soft_min=-1.0,
            soft_max=1.0,
            subtype="DISTANCE",
        )
        blend: animated(
            FloatProperty,
            "Blend Height",
            (
                "Height of the animated foot from which on the ground counts less, and from twice "
                "it on not at all, as in a jump; 0 lets it always count"
            ),
            default=0.0,
            min=0.0,
            soft_max=5.0,
            subtype="DISTANCE",
        )
        lift_only: animated(
            BoolProperty,
            "Lift Only",
            "Never put the foot lower than the animation has it",
            default=False,
        )
        max_angle: animated(
            FloatProperty,
            "Max Angle",
            "How far the foot turns with the slope at most, if the tip matches its target",
            default=0.7853981633974483,
            min=0.0,
            max=1.0471975511965976,
            subtype="ANGLE",
        )
        use_lock: animated(
            BoolProperty,
            "Lock Contacts",
            "Keep the foot at one place while it stands; needs what Simulate finds out",
            default=True,
        )
        speed: fixed(
            FloatProperty,
            "Speed",
            "Up to which speed a foot may stand, in metres a second; 0 is found by itself",
            default=0.0,
            min=0.0,
            soft_max=1.0,
            unit="VELOCITY",
        )
        height: fixed(
            FloatProperty,
            "Height",
            "Up to which height above its lowest a foot may stand; 0 is found by itself",
            default=0.0,
            min=0.0,
            soft_max=0.5,
            subtype="DISTANCE",
        )
        shortest: fixed(
            IntProperty,
            "Shortest",
            "Frames from the beginning to the end of a contact, at least",
            default=2,
            min=1,
            soft_max=20,
        )
        hip: fixed(
            StringProperty,
            "Hip",
            "Bone above the leg that goes down so that all feet reach; none if it is empty",
        )
        hip_follow: animated(
            FloatProperty,
            "Follow Ground",
            "How far the hip rises and sinks with the feet; at 0 it only goes down to reach",
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        hip_reach: animated(
            FloatProperty,
            "Straightest",
            "To which share of its length the hip lets a leg be stretched, so that no knee snaps",
            default=0.98,
            min=0.5,
            max=1.0,
            subtype="FACTOR",
        )
        history: stored("History", "What Simulate found out: where the animation has the foot")


def ground_settings(item: FabrikConstraint) -> FabrikGround:
    """Return how the chain of a constraint stands."""
    return cast(Any, item).ground
