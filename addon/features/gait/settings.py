"""The settings of a walk: which constraints are its legs, and how they step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...blender.axes import axis_items
from ...blender.rays import source_items
from ...loop.properties import FabrikSettings, settings
from ...loop.property_kinds import OVERRIDABLE, animated, fixed, stored, structure_changed

PATTERN_ITEMS = (
    (
        "ALTERNATING",
        "Alternating",
        "Every other leg at once: tripod with six legs, tetrapod with eight, trot with four",
        0,
    ),
    ("PAIRS", "Pairs", "Two legs at a time that stand diagonally", 1),
    ("WAVE", "Wave", "One leg at a time, from the hindmost to the front", 2),
    ("GROUPS", "Own Groups", "As the legs' own numbers say", 3),
)

SOURCE_ITEMS = source_items({"SCENE": 0, "OBJECT": 1, "COLLECTION": 2})


class FabrikGaitLeg(bpy.types.PropertyGroup):
    """One leg of a walk."""

    if TYPE_CHECKING:
        constraint: str
        key: int
        group: int
        offset: tuple[float, float, float]
    else:
        constraint: fixed(
            StringProperty, "Leg", "Constraint of this armature whose tip is the foot"
        )
        key: IntProperty(
            name="Key",
            description="The number of that constraint, to follow it when it gets another name",
            options={"HIDDEN"},
            override=OVERRIDABLE,
        )
        group: fixed(
            IntProperty,
            "Group",
            "Legs with the same number step together; the groups step in the order of numbers",
            default=1,
            min=1,
        )
        offset: fixed(
            FloatVectorProperty,
            "Offset",
            "How far the foot rests from where it is in the rest pose, in armature space",
            size=3,
            subtype="TRANSLATION",
        )


class FabrikGait(bpy.types.PropertyGroup):
    """A walk of some legs after a body that is animated."""

    if TYPE_CHECKING:
        name: str
        enabled: bool
        influence: float
        body: str
        up_axis: str
        legs: bpy.types.bpy_prop_collection_idprop[FabrikGaitLeg]
        active_leg: int
        pattern: str
        threshold: float
        step_height: float
        duration: float
        overshoot: float
        body_height: float
        body_tilt: float
        body_bob: float
        source: str
        ground: bpy.types.Object | None
        collection: bpy.types.Collection | None
        ray_height: float
        climbs: bool
        history: bytes
    else:
        _share: Any = {"min": 0.0, "max": 1.0, "subtype": "FACTOR"}
        name: StringProperty(
            name="Name",
            description="Name of the walk",
            default="Walk",
            override=OVERRIDABLE,
            update=structure_changed,
        )
        enabled: animated(
            BoolProperty,
            "Enabled",
            "Let the legs walk; off they reach for their targets",
            default=True,
        )
        influence: animated(
            FloatProperty,
            "Influence",
            "How far the feet leave their targets for the walk, and the body its animation",
            default=1.0,
            **_share,
        )
        body: fixed(
            StringProperty,
            "Body",
            "Bone that carries the legs; without one the armature object is the body",
        )
        up_axis: fixed(
            EnumProperty,
            "Up",
            "Which way is up in the rest pose; rays go down from there, as the body is turned",
            items=axis_items("the armature's"),
            default="Z",
        )
        legs: CollectionProperty(
            name="Legs",
            description="The constraints that walk",
            type=FabrikGaitLeg,
            override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
        )
        active_leg: IntProperty(
            name="Active Leg", description="Leg whose settings are shown", override=OVERRIDABLE
        )
        pattern: fixed(
            EnumProperty,
            "Pattern",
            "Which legs step together",
            items=PATTERN_ITEMS,
            default="ALTERNATING",
        )
        threshold: animated(
            FloatProperty,
            "Threshold",
            "How far a foot may be from its rest place before it steps, in lengths of its leg",
            default=0.25,
            min=0.001,
            soft_max=1.0,
        )
        step_height: animated(
            FloatProperty,
            "Step Height",
            "How high a foot rises in a step, in lengths of its leg",
            default=0.15,
            min=0.0,
            soft_max=1.0,
        )
        duration: animated(
            FloatProperty,
            "Duration",
            "How many frames a step takes; fewer where the body is too fast for that",
            default=6.0,
            min=0.1,
            soft_max=48.0,
        )
        overshoot: animated(
            FloatProperty,
            "Overshoot",
            "How far ahead of its rest place a foot comes down, as a share of the threshold",
            default=0.5,
            **_share,
        )
        body_height: animated(
            FloatProperty,
            "Body Height",
            "How far the body follows the height of its feet",
            default=1.0,
            **_share,
        )
        body_tilt: animated(
            FloatProperty,
            "Body Tilt",
            "How far the body follows the slope under its feet",
            default=1.0,
            **_share,
        )
        body_bob: animated(
            FloatProperty,
            "Body Bob",
            "How far the body rises with each step, in lengths of the shortest leg",
            default=0.0,
            min=0.0,
            max=0.3,
            soft_max=0.1,
        )
        source: fixed(
            EnumProperty,
            "Ground",
            "What the feet can stand on",
            items=SOURCE_ITEMS,
            default="SCENE",
        )
        ground: fixed(
            PointerProperty, "Object", "Mesh that the feet stand on", type=bpy.types.Object
        )
        collection: fixed(
            PointerProperty,
            "Collection",
            "Its meshes are what the feet stand on",
            type=bpy.types.Collection,
        )
        ray_height: animated(
            FloatProperty,
            "Ray Height",
            "How far above a foot's rest place the ground is looked for, in lengths of its leg",
            default=0.5,
            min=0.0,
            soft_max=2.0,
        )
        climbs: fixed(
            BoolProperty,
            "Climbs",
            "Let feet go up walls ahead, and wrap over edges",
            default=False,
        )
        history: stored("History", "The steps that were simulated")


STEPPING = ("threshold", "step_height", "duration", "overshoot", "ray_height")
LEANING = ("body_height", "body_tilt", "body_bob")
"""The settings that count for what is simulated and may change from frame to frame."""


class GaitSettings(Protocol):
    """What an armature object carries of walks."""

    gaits: bpy.types.bpy_prop_collection_idprop[FabrikGait]
    active_gait: int


def gait_settings(armature: bpy.types.ID) -> GaitSettings:
    """Return what an armature object carries of walks."""
    return cast(Any, settings(armature))


def legs_of_walks(own: FabrikSettings) -> object:
    """Return the names of an armature's walks, each with those of its legs' constraints."""
    walks = cast(Any, own).gaits
    return [(gait.name, [leg.constraint for leg in gait.legs]) for gait in walks]
