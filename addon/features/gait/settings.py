"""The settings of a walk: its legs' constraints, and how they step."""

from __future__ import annotations

from typing import Any, Protocol, cast

import bpy
from mathutils import Matrix

from ...blender.axes import axis_items
from ...blender.rays import source_items
from ...settings.definitions import (
    FACTOR,
    OVERRIDABLE,
    ItemList,
    animated,
    defined,
    fixed,
    stored,
    structure_changed,
)
from ...settings.properties import FabrikSettings, settings

PATTERN_ITEMS = (
    (
        "ALTERNATING",
        "Alternating",
        (
            "Alternate legs step together: a trot with four legs, a tripod with six, a tetrapod "
            "with eight"
        ),
        0,
    ),
    ("PAIRS", "Pairs", "Two diagonally opposite legs step together", 1),
    ("WAVE", "Wave", "One leg steps at a time, from back to front", 2),
    ("GROUPS", "Custom Groups", "Use each leg's group", 3),
)

SOURCE_ITEMS = source_items({"SCENE": 0, "OBJECT": 1, "COLLECTION": 2})


Rows = tuple[
    float, float, float, float, float, float, float, float, float, float, float, float
]  # fmt: skip
"""Three rows of four numbers."""


class FabrikGaitLeg(bpy.types.PropertyGroup):
    """A leg of a walk."""

    constraint: str = fixed("Leg", "Constraint of the armature whose tip is the foot")
    key: int = defined(
        "Identifier",
        "Number of the constraint, to follow it when it is renamed",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    group: int = fixed(
        "Group", "Legs in the same group step together. Groups step in order", default=1, min=1
    )
    offset: tuple[float, float, float] = fixed(
        "Offset",
        "Offset of the foot from its rest position, in armature space",
        subtype="TRANSLATION",
    )
    height: float = fixed(
        "Height",
        "Height of the foot's joint above the ground in the rest pose, in armature space. 0 puts "
        "the tip itself on the ground",
        default=0.0,
        min=0.0,
        subtype="DISTANCE",
    )


class FabrikGaitStand(bpy.types.PropertyGroup):
    """A bone's pose in a standing character whose rest pose doesn't stand."""

    name: str = defined("Bone", "Name of the bone", options={"HIDDEN"}, override=OVERRIDABLE)
    rows: Rows = defined(
        "Rows",
        "Upper three rows of the matrix of the bone, in armature space",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )

    @property
    def matrix(self) -> Matrix:
        """The bone's matrix, in armature space."""
        rows = self.rows
        return Matrix((rows[:4], rows[4:8], rows[8:], (0.0, 0.0, 0.0, 1.0)))

    @matrix.setter
    def matrix(self, matrix: Matrix) -> None:
        """Set the bone's matrix."""
        self.rows = cast(Rows, tuple(value for row in matrix[:3] for value in row))


class FabrikGait(bpy.types.PropertyGroup):
    """A walk: some legs, and an animated body."""

    name: str = defined(
        "Name", "Name of the walk", default="Walk", override=OVERRIDABLE, update=structure_changed
    )
    enabled: bool = animated(
        "Enabled",
        "Make the legs walk. When disabled, they reach for their targets",
        default=True,
        in_presets=False,
    )
    influence: float = animated(
        "Influence",
        "Blend feet and body: 0 leaves the feet on their targets and the body in its animation, "
        "1 is the walk",
        default=1.0,
        **FACTOR,
        in_presets=False,
    )
    body: str = fixed(
        "Body",
        "Common parent of the legs. Empty: the armature object",
        in_presets=False,
    )
    up_axis: str = fixed(
        "Up",
        "Up direction in the rest pose. Rays are cast in the opposite direction, "
        "relative to the body",
        items=axis_items("the armature's"),
        default="Z",
        in_presets=False,
    )
    front_axis: str = fixed(
        "Front",
        "Direction in which the body faces in the rest pose",
        items=axis_items("the armature's"),
        default="NEGATIVE_Y",
        in_presets=False,
    )
    legs: ItemList[FabrikGaitLeg] = defined(
        "Legs", "Constraints of the legs", override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    stand: ItemList[FabrikGaitStand] = defined(
        "Stand",
        "Standing pose, if the character isn't standing in the rest pose",
        override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
    )
    active_leg: int = defined(
        "Active Leg", "Leg whose settings are shown", options={"HIDDEN"}, override=OVERRIDABLE
    )
    pattern: str = fixed(
        "Pattern", "Which legs step together", items=PATTERN_ITEMS, default="ALTERNATING"
    )
    threshold: float = animated(
        "Threshold",
        "Distance from its rest position at which a foot steps, relative to the leg's length",
        default=0.25,
        min=0.001,
        soft_max=1.0,
    )
    step_height: float = animated(
        "Step Height",
        "Height of a step, relative to the length of the leg",
        default=0.15,
        min=0.0,
        soft_max=1.0,
    )
    duration: float = animated(
        "Duration",
        "Duration of a step in frames. Steps are quicker if the body moves too fast for it",
        default=6.0,
        min=0.1,
        soft_max=48.0,
    )
    overshoot: float = animated(
        "Overshoot",
        "How far a foot lands ahead of its rest position, relative to the threshold",
        default=0.5,
        **FACTOR,
    )
    ray_height: float = animated(
        "Ray Height",
        "Height above a foot's rest position from which rays are cast, relative to the leg's "
        "length",
        default=0.5,
        min=0.0,
        soft_max=2.0,
    )
    body_height: float = animated(
        "Body Height", "How far the body follows the height of its feet", default=1.0, **FACTOR
    )
    body_tilt: float = animated(
        "Body Tilt", "How far the body follows the slope under its feet", default=1.0, **FACTOR
    )
    body_bob: float = animated(
        "Body Bob",
        "How far the body rises with each step, relative to the length of the shortest leg",
        default=0.0,
        min=0.0,
        max=0.3,
        soft_max=0.1,
    )
    source: str = fixed(
        "Ground",
        "Objects that the feet can stand on",
        items=SOURCE_ITEMS,
        default="SCENE",
        in_presets=False,
    )
    ground: bpy.types.Object | None = fixed("Object", "Mesh object that the feet stand on")
    collection: bpy.types.Collection | None = fixed(
        "Collection", "Collection of the meshes that the feet stand on"
    )
    climbs: bool = fixed("Climb", "Step onto walls ahead and around edges", default=False)
    history: bytes = stored("History", "Simulated steps")


NOT_SIMULATED = ("enabled", "influence", "pattern")
"""Settings that the simulation ignores; the pattern applies through the groups of the legs.

All others apply. The order of their definition determines the keys of stored histories."""


class GaitSettings(Protocol):
    """The settings of walks on an armature object."""

    gaits: ItemList[FabrikGait]
    active_gait: int


def gait_settings(armature: bpy.types.ID) -> GaitSettings:
    """Return the settings of walks on an armature object."""
    return cast(Any, settings(armature))


def legs_of_walks(fabrik: FabrikSettings) -> object:
    """Return the names of an armature's walks, each with the constraints of its legs."""
    walks = cast(Any, fabrik).gaits
    return [(gait.name, [leg.constraint for leg in gait.legs]) for gait in walks]
