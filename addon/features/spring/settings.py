"""The settings of springs and of their colliders."""

from __future__ import annotations

from typing import Any, Literal, cast

import bpy

from ...settings.definitions import FACTOR, ItemList, animated, fixed, stored
from ...settings.properties import FabrikConstraint, FabrikSettings, settings

DOWN = (0.0, 0.0, -1.0)
"""The direction of gravity, unless another one is set."""

MODE_ITEMS = (
    ("STEADY", "Steady", "The same motion at any frame rate. Gravity is in m/s²", 0),
    (
        "VRM",
        "VRM 1.0",
        "Exactly as VRM 1.0 specifies it, one step per frame. The motion depends on the frame rate",
        1,
    ),
)

_TIP: dict[str, Any] = {"default": 1.0, "min": 0.0, "soft_max": 2.0}

_MIDDLE: dict[str, Any] = {"default": 0.5, **FACTOR}

_HALFWAY = (
    "How much of the change from root to tip is reached halfway along the strand. 0.5 is even"
)


class AlongStrand:
    """A spring's settings that vary along the strand."""

    stiffness: float = animated(
        "Stiffness",
        "Force that returns the bones to their FK pose",
        default=1.0,
        min=0.0,
        soft_max=4.0,
    )
    stiffness_tip: float = animated(
        "At Tip", "Stiffness of the last bone, relative to that of the first one", **_TIP
    )
    stiffness_middle: float = animated("Halfway", _HALFWAY, **_MIDDLE)
    drag: float = animated(
        "Drag", "Share of the speed that the bones lose in 1/60 s", default=0.4, **FACTOR
    )
    drag_tip: float = animated(
        "At Tip", "Drag of the last bone, relative to that of the first one", **_TIP
    )
    drag_middle: float = animated("Halfway", _HALFWAY, **_MIDDLE)
    gravity: float = animated(
        "Gravity",
        "Gravity in m/s². In VRM 1.0 mode, this is the gravity power: 1 is 60 m/s² at 60 frames "
        "a second",
        default=0.0,
        soft_min=0.0,
        soft_max=20.0,
    )
    gravity_tip: float = animated(
        "At Tip", "Gravity of the last bone, relative to that of the first one", **_TIP
    )
    gravity_middle: float = animated("Halfway", _HALFWAY, **_MIDDLE)
    radius: float = animated(
        "Radius",
        "Distance of the joints from colliders",
        default=0.0,
        min=0.0,
        soft_max=0.5,
        subtype="DISTANCE",
    )
    radius_tip: float = animated(
        "At Tip", "Radius of the last joint, relative to that of the first one", **_TIP
    )
    radius_middle: float = animated("Halfway", _HALFWAY, **_MIDDLE)


ALONG = ("stiffness", "drag", "gravity", "radius")
"""The first bone's settings that vary along the strand."""

CURVES = tuple([f"{name}{part}" for name in ALONG for part in ("", "_tip", "_middle")])
"""All settings of `AlongStrand`."""


class FabrikSpring(AlongStrand, bpy.types.PropertyGroup):
    """The settings of a spring."""

    mode: Literal["STEADY", "VRM"] = fixed(
        "Mode", "How the motion is computed", items=MODE_ITEMS, default="STEADY"
    )
    gravity_direction: tuple[float, float, float] = animated(
        "Direction",
        "Direction of gravity in world space",
        default=DOWN,
        subtype="XYZ",
    )
    field_weight: float = animated(
        "Force Fields",
        "How strongly the scene's force fields, such as wind, move the bones",
        default=1.0,
        min=0.0,
        soft_max=2.0,
    )
    center: bpy.types.Object | None = fixed(
        "Center", "Object, such as a vehicle, whose motion doesn't swing the bones"
    )
    center_bone: str = fixed(
        "Bone",
        "Bone to use instead of the whole object, if Center is an armature",
        in_presets=False,
    )
    use_colliders: bool = fixed("Collide", "Stay out of the armature's colliders", default=True)
    groups: str = fixed(
        "Groups",
        "Groups of colliders to collide with, separated by commas. Empty for all",
    )
    use_settle: bool = fixed(
        "Settle", "Start at rest under gravity, instead of in the FK pose", default=False
    )
    use_loop: bool = fixed(
        "Loop", "End in the pose that the strand starts in, for looping animation", default=False
    )
    use_cuts: bool = fixed(
        "Detect Cuts",
        "Restart the motion after a jump, such as a cut to another place",
        default=True,
    )
    reset: bool = animated(
        "Reset",
        "Restart the motion at frames where this is keyed and on",
        default=False,
        in_presets=False,
    )
    history: bytes = stored("History", "Simulated rotations of the bones")


BONE_SHAPE_ITEMS = (
    ("SPHERE", "Sphere", "Stay out of a sphere", 0),
    ("CAPSULE", "Capsule", "Stay out of a capsule", 1),
    ("PLANE", "Plane", "Stay on one side of a plane: the side of its End", 2),
    ("INSIDE_SPHERE", "Inside Sphere", "Stay in a sphere", 3),
    ("INSIDE_CAPSULE", "Inside Capsule", "Stay in a capsule", 4),
)
"""The shapes that can be fitted to the mesh around a bone."""

COLLIDER_ITEMS = (
    *BONE_SHAPE_ITEMS,
    (
        "MESH",
        "Mesh",
        "Stay above an object's evaluated mesh, such as the ground. Joints are lifted out of it",
        5,
    ),
)

_PLACE: dict[str, Any] = {"subtype": "TRANSLATION", "in_presets": False}


class FabrikCollider(bpy.types.PropertyGroup):
    """A collider of springs."""

    kind: Literal["SPHERE", "CAPSULE", "PLANE", "INSIDE_SPHERE", "INSIDE_CAPSULE", "MESH"] = fixed(
        "Shape", "Shape of the collider", items=COLLIDER_ITEMS, default="SPHERE", in_presets=False
    )
    object: bpy.types.Object | None = fixed(
        "Object",
        "Object that moves the collider, or that has the mesh. Empty for this armature",
        in_presets=False,
    )
    bone: str = fixed("Bone", "Bone that moves the collider", in_presets=False)
    offset: tuple[float, float, float] = fixed(
        "Offset",
        "Center of the sphere, first end of the capsule, or a point on the plane",
        **_PLACE,
    )
    tail: tuple[float, float, float] = fixed(
        "End",
        "Other end of the capsule, or a point above the plane",
        default=(0.0, 0.1, 0.0),
        **_PLACE,
    )
    radius: float = animated(
        "Radius",
        "Radius of the collider",
        default=0.1,
        min=0.0,
        soft_max=1.0,
        subtype="DISTANCE",
        in_presets=False,
    )
    group: str = fixed(
        "Group", "Group of the collider. Springs select colliders by group", in_presets=False
    )


def spring_of(item: FabrikConstraint) -> FabrikSpring:
    """Return the spring settings of a constraint."""
    return cast(Any, item).spring


def colliders_of(armature: bpy.types.ID) -> ItemList[FabrikCollider]:
    """Return the colliders of an armature object."""
    return cast(Any, settings(armature)).colliders


def colliders_signature(fabrik: FabrikSettings) -> object:
    """Return the collider values that the plan uses, to detect changes Blender doesn't report."""
    return [(collider.bone, collider.group) for collider in cast(Any, fabrik).colliders]


def chosen_colliders(armature: bpy.types.ID, spring: FabrikSpring) -> list[int]:
    """Return the indices of the colliders that a spring collides with."""
    if not spring.use_colliders:
        return []
    names = {name.strip() for name in spring.groups.split(",") if name.strip()}
    colliders = colliders_of(armature)
    return [i for i, collider in enumerate(colliders) if not names or collider.group in names]
