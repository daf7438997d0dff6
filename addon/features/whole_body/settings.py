"""The settings of whole bodies: which bones are pinned, and how the body follows."""

from __future__ import annotations

from typing import Any, cast

import bpy

from fabrik_solver.core.vectors import QUAT_IDENTITY, Quat, Vec

from ...blender.access import pose_bones
from ...blender.axes import axis_items
from ...plan.deferred import store_name
from ...settings.definitions import (
    FACTOR,
    OVERRIDABLE,
    Definition,
    ItemList,
    animated,
    defined,
    fixed,
)
from ...settings.properties import FabrikSettings, followed_bone, settings

OPTIONS: dict[str, Any] = {"options": set(), "override": OVERRIDABLE}
WEIGHTS: dict[str, Any] = {**OPTIONS, "default": (1.0, 1.0, 1.0), "min": 0.0, "max": 1.0}

LOCATION, BOTH, NONE = "LOCATION", "BOTH", "NONE"

PIN_ITEMS = (
    (LOCATION, "Location", "The bone stays in place but may rotate", 0),
    (BOTH, "Location and Rotation", "The bone stays in place and keeps its orientation", 1),
)

POSING, PLACE, ANIMATION = "POSING", "PLACE", "ANIMATION"

FRAMES_ITEMS = (
    (POSING, "While Posing", "The bone stays in place while others are dragged", 0),
    (
        PLACE,
        "In World Space",
        "Same as While Posing. In addition, the bone is pinned in world space during playback, "
        "and the body follows",
        1,
    ),
    (
        ANIMATION,
        "As Animated",
        "Same as While Posing. In addition, the bone stays where its animation puts it while "
        "the body follows other pins",
        2,
    ),
)

AFTER = {NONE: LOCATION, LOCATION: BOTH, BOTH: NONE}
"""The next kind of pin, as the key P cycles through them."""

FULL_BODY, BODY_PART, BONE = "FULL_BODY", "BODY_PART", "BONE"

KEYING_ITEMS = (
    (FULL_BODY, "Full Body", "All bones of the body", 0),
    (BODY_PART, "Body Part", "The bones of the dragged limb, trunk or head", 1),
    (BONE, "Bone", "The dragged bone only", 2),
)

PERSON, VOLUME = "PERSON", "VOLUME"

MASS_ITEMS = (
    (PERSON, "Person", "Use a person's proportions for the masses of trunk, head and limbs", 0),
    (VOLUME, "Envelopes", "Weigh deforming bones by the volume of their envelopes", 1),
)

MASS: Definition = defined(
    "Mass",
    "Multiply the bone's mass, as computed from Masses, by this factor",
    default=1.0,
    min=0.0,
    soft_max=10.0,
    **OPTIONS,
)
"""A property of the bone, as its joint's are."""

CLAVICLE_SHARE = 0.11
"""The clavicle's share in the rotation of a raised arm, as measured in captures."""


class FabrikPin(bpy.types.PropertyGroup):
    """A bone that stays in place while others are dragged."""

    bone: str = defined("Bone", "Bone that is pinned", **OPTIONS)
    kind: str = defined("Pin", "What is pinned", items=PIN_ITEMS, **OPTIONS)
    location_weights: Vec = defined(
        "Location Weight",
        "How strictly the bone stays in place along each armature axis. 0 lets it slide",
        subtype="XYZ",
        **WEIGHTS,
    )
    rotation_weights: Vec = defined(
        "Rotation Weight",
        "How strictly the bone keeps its orientation about each armature axis. 0 lets it turn",
        subtype="XYZ",
        **WEIGHTS,
    )

    frames: str = fixed(
        "When Pinned", "When the bone is pinned", items=FRAMES_ITEMS, in_presets=False
    )
    influence: float = animated(
        "Influence",
        "Blend between the animation (0) and the pinned location (1). Key it to pin the bone for "
        "some frames",
        in_presets=False,
        default=1.0,
        **FACTOR,
    )
    location: Vec = animated(
        "Location",
        "Where the bone is pinned, in world space",
        in_presets=False,
        subtype="TRANSLATION",
    )
    rotation: Quat = animated(
        "Rotation",
        "Orientation in which the bone is pinned, in world space",
        in_presets=False,
        default=QUAT_IDENTITY,
        subtype="QUATERNION",
    )


class FabrikWholeBody(bpy.types.PropertyGroup):
    """How the body follows a bone that is dragged."""

    up_axis: str = fixed(
        "Up",
        "Up direction of the body in the rest pose. Pinning a bone sets it",
        items=axis_items("the armature's"),
        default="Z",
        in_presets=False,
    )
    use_balance: bool = defined(
        "Keep Balance",
        "Keep the center of mass above the pinned bones",
        default=True,
        **OPTIONS,
    )
    masses: str = defined(
        "Masses",
        "How to weigh bones for the center of mass",
        items=MASS_ITEMS,
        **OPTIONS,
    )
    clavicle: float = defined(
        "Clavicle",
        "How much of the arm's rotation the clavicle takes over",
        default=CLAVICLE_SHARE,
        **FACTOR,
        **OPTIONS,
    )
    keying: str = defined(
        "Keying", "Bones that Auto Keying keys after a drag", items=KEYING_ITEMS, **OPTIONS
    )


def register() -> None:
    """Add the mass of bones."""
    cast(Any, bpy.types.Bone).fabrik_mass = MASS.property(float)


def unregister() -> None:
    """Remove the mass of bones; its values stay in the file."""
    del cast(Any, bpy.types.Bone).fabrik_mass


def pins_of(armature: bpy.types.ID) -> ItemList[FabrikPin]:
    """Return the pins of an armature object."""
    return cast(Any, settings(armature)).pins


def body_settings(armature: bpy.types.ID) -> FabrikWholeBody:
    """Return the settings of the body of an armature object."""
    return cast(Any, settings(armature)).whole_body


def pinned_bone(armature: bpy.types.Object, pin: FabrikPin) -> str:
    """Return the name of a pin's bone, even if it was renamed; empty if it doesn't exist."""
    return followed_bone(armature, pin.bone)


def pin_kind(armature: bpy.types.Object, bone: str) -> str:
    """Return how a bone is pinned."""
    pins = pins_of(armature)
    return next((pin.kind for pin in pins if pinned_bone(armature, pin) == bone), NONE)


def pin_of(armature: bpy.types.Object, bone: str) -> FabrikPin:
    """Return the pin of a bone that is pinned."""
    return next(pin for pin in pins_of(armature) if pinned_bone(armature, pin) == bone)


def set_pin(armature: bpy.types.Object, bone: str, kind: str) -> None:
    """Pin or unpin a bone; an existing pin keeps its weights."""
    pins = pins_of(armature)
    names = [pinned_bone(armature, pin) or pin.bone for pin in pins]
    index = names.index(bone) if bone in names else -1
    if kind == NONE:
        if index >= 0:
            pins.remove(index)
        return
    pin = pins[index] if index >= 0 else pins.add()
    pin.name = pin.bone = bone
    pin.kind = kind
    store_name(pose_bones(armature)[bone])


def kept_pins(settings: FabrikSettings) -> object:
    """Return the pins of an armature that have an effect in playback, for the plan."""
    pins: ItemList[FabrikPin] = cast(Any, settings).pins
    kept = [(i, pin) for i, pin in enumerate(pins) if pin.frames != POSING]
    weights = [(*pin.location_weights, *pin.rotation_weights) for _, pin in kept]
    used = [(i, pin.bone, pin.kind, pin.frames) for i, pin in kept]
    body: FabrikWholeBody = cast(Any, settings).whole_body
    return (used, weights, body.clavicle, body.up_axis) if kept else ()
