"""The parts of a character, and what setting up added to them."""

from __future__ import annotations

from typing import Annotated, Any, cast

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
from ...loop.property_kinds import BROWSING, ItemList, defined

KIND_ITEMS = (
    ("ARM", "Arm", "Reach for a target with the hand, which takes its orientation", 0),
    ("LEG", "Leg", "Reach for a target with the foot, which takes its orientation", 1),
    ("SPINE", "Spine", "Reach for a target with the chest", 2),
    ("HEAD", "Head", "Look at a target", 3),
)

OPTIONS: dict[str, Any] = {"options": set(), "override": {"LIBRARY_OVERRIDABLE"}}
HIDDEN: dict[str, Any] = {"options": {"HIDDEN"}, "override": {"LIBRARY_OVERRIDABLE"}}


class FabrikPart(bpy.types.PropertyGroup):
    """A limb, the spine or the head of a character."""

    use: Annotated[
        bool, defined(BoolProperty, "Use", "Add IK to this part", default=True, **OPTIONS)
    ]
    kind: Annotated[
        str, defined(EnumProperty, "Part", "Kind of body part", items=KIND_ITEMS, **OPTIONS)
    ]
    bone: Annotated[
        str, defined(StringProperty, "Bone", "Hand, foot, chest or head of this part", **OPTIONS)
    ]
    chain_count: Annotated[
        int,
        defined(
            IntProperty,
            "Chain Length",
            (
                "Number of bones that bend. Those of an arm or leg are counted from above the "
                "hand or foot, those of the spine and neck include the chest or head"
            ),
            default=2,
            min=1,
            soft_max=8,
            **OPTIONS,
        ),
    ]
    # What setting up added, so that it can be removed.
    key: Annotated[int, defined(IntProperty, "Identifier", "Constraint that was added", **HIDDEN)]
    target: Annotated[
        bpy.types.Object | None,
        defined(
            PointerProperty, "Target", "Target that was added", type=bpy.types.Object, **HIDDEN
        ),
    ]
    subtarget: Annotated[
        str, defined(StringProperty, "Bone", "Control bone that was added", **HIDDEN)
    ]
    pole: Annotated[
        bpy.types.Object | None,
        defined(PointerProperty, "Pole", "Pole that was added", type=bpy.types.Object, **HIDDEN),
    ]
    pole_bone: Annotated[
        str, defined(StringProperty, "Pole Bone", "Control bone of the pole", **HIDDEN)
    ]
    hinges: Annotated[
        str, defined(StringProperty, "Hinges", "Bones that were limited, one a line", **HIDDEN)
    ]


class FabrikCharacter(bpy.types.PropertyGroup):
    """A character: its parts, and what setting up added beside them."""

    parts: Annotated[
        ItemList[FabrikPart],
        defined(
            CollectionProperty,
            "Parts",
            "Parts of the body that were recognized",
            type=FabrikPart,
            override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
        ),
    ]
    active_part: Annotated[
        int,
        defined(IntProperty, "Active Part", "Selected part", **{**OPTIONS, "options": BROWSING}),
    ]
    switches: Annotated[
        str,
        defined(StringProperty, "Switches", "FK switches before the set-up, one a line", **HIDDEN),
    ]
    controls: Annotated[
        bpy.types.Object | None,
        defined(
            PointerProperty,
            "Controls",
            "Armature that was added for control bones",
            type=bpy.types.Object,
            **HIDDEN,
        ),
    ]


def character_settings(armature: bpy.types.Object) -> FabrikCharacter:
    """Return the character settings of an armature."""
    return cast(Any, settings(armature)).character


def is_set_up(character: FabrikCharacter) -> bool:
    """Return whether setting up has added constraints to a character."""
    return any(part.key for part in character.parts)
