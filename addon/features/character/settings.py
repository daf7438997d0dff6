"""What is to be rigged of a character, and what was made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...loop.properties import settings

KIND_ITEMS = (
    ("ARM", "Arm", "Reach for a target with the hand, which takes its orientation", 0),
    ("LEG", "Leg", "Reach for a target with the foot, which takes its orientation", 1),
    ("SPINE", "Spine", "Reach for a target with the chest", 2),
    ("HEAD", "Head", "Look at a target", 3),
)

OPTIONS: dict[str, Any] = {"options": {"LIBRARY_EDITABLE"}, "override": {"LIBRARY_OVERRIDABLE"}}
HIDDEN: dict[str, Any] = {"options": {"HIDDEN"}, "override": {"LIBRARY_OVERRIDABLE"}}


class Part(NamedTuple):
    """A part that was recognized, in the terms of `FabrikPart`."""

    kind: str
    bone: str
    chain_count: int


class FabrikPart(bpy.types.PropertyGroup):
    """A limb, the spine or the head of a character."""

    if TYPE_CHECKING:
        use: bool
        kind: str
        bone: str
        chain_count: int
        key: int
        target: bpy.types.Object | None
        subtarget: str
        pole: bpy.types.Object | None
        pole_bone: str
        hinges: str
    else:
        use: BoolProperty(name="Use", description="Add IK to this part", default=True, **OPTIONS)
        kind: EnumProperty(
            name="Part", description="Kind of body part", items=KIND_ITEMS, **OPTIONS
        )
        bone: StringProperty(
            name="Bone", description="Hand, foot, chest or head of this part", **OPTIONS
        )
        chain_count: IntProperty(
            name="Chain Length",
            description=(
                "Number of bones that bend. Those of an arm or leg are counted from above the "
                "hand or foot, those of the spine and neck include the chest or head"
            ),
            default=2,
            min=1,
            soft_max=8,
            **OPTIONS,
        )
        # What was made of it, so that it can be removed.
        key: IntProperty(**HIDDEN)
        target: PointerProperty(type=bpy.types.Object, **HIDDEN)
        subtarget: StringProperty(**HIDDEN)
        pole: PointerProperty(type=bpy.types.Object, **HIDDEN)
        pole_bone: StringProperty(**HIDDEN)
        hinges: StringProperty(**HIDDEN)


class FabrikCharacter(bpy.types.PropertyGroup):
    """The parts of a character."""

    if TYPE_CHECKING:
        parts: bpy.types.bpy_prop_collection_idprop[FabrikPart]
        active_part: int
        switches: str
        controls: bpy.types.Object | None
    else:
        parts: CollectionProperty(
            name="Parts",
            description="Parts of the body that were recognized",
            type=FabrikPart,
            override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
        )
        active_part: IntProperty(name="Active Part", description="Selected part", **OPTIONS)
        switches: StringProperty(**HIDDEN)
        controls: PointerProperty(type=bpy.types.Object, **HIDDEN)


def character_settings(armature: bpy.types.Object) -> FabrikCharacter:
    """Return what is to be rigged of an armature."""
    return cast(Any, settings(armature)).character
