"""The parts of a character, and the data that setting it up added to them."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...settings.definitions import BROWSING, ItemList, defined
from ...settings.properties import free_among, settings

KIND_ITEMS = (
    ("ARM", "Arm", "Reach for a target with the hand and copy its orientation", 0),
    ("LEG", "Leg", "Reach for a target with the foot and copy its orientation", 1),
    ("SPINE", "Spine", "Reach for a target with the chest", 2),
    ("HEAD", "Head", "Look at a target", 3),
)

OPTIONS: dict[str, Any] = {"options": set(), "override": {"LIBRARY_OVERRIDABLE"}}
HIDDEN: dict[str, Any] = {"options": {"HIDDEN"}, "override": {"LIBRARY_OVERRIDABLE"}}


class FabrikPart(bpy.types.PropertyGroup):
    """A limb, the spine or the head of a character."""

    use: bool = defined("Use", "Add IK to this part", default=True, **OPTIONS)
    kind: str = defined("Part", "Kind of body part", items=KIND_ITEMS, **OPTIONS)
    bone: str = defined("Bone", "Hand, foot, chest or head of this part", **OPTIONS)
    chain_count: int = defined(
        "Chain Length",
        "Number of bones that bend. Hands and feet aren't counted; the chest, the head and the "
        "last bone of a footless leg are",
        default=2,
        min=1,
        soft_max=8,
        **OPTIONS,
    )
    # What setting it up added, so that it can be removed.
    key: int = defined("Identifier", "Constraint that was added", **HIDDEN)
    target: bpy.types.Object | None = defined("Target", "Target that was added", **HIDDEN)
    subtarget: str = defined("Bone", "Control bone that was added", **HIDDEN)
    pole: bpy.types.Object | None = defined("Pole", "Pole that was added", **HIDDEN)
    pole_bone: str = defined("Pole Bone", "Control bone of the pole", **HIDDEN)


class FabrikCharacter(bpy.types.PropertyGroup):
    """A character: its parts, and the other data that setting it up added."""

    parts: ItemList[FabrikPart] = defined(
        "Parts",
        "Recognized parts of the body",
        override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
    )
    active_part: int = defined("Active Part", "Selected part", **{**OPTIONS, "options": BROWSING})
    switches: str = defined("Switches", "FK switches before the setup, one per line", **HIDDEN)
    controls: bpy.types.Object | None = defined(
        "Controls", "Armature that was added for control bones", **HIDDEN
    )


def character_settings(armature: bpy.types.Object) -> FabrikCharacter:
    """Return the character settings of an armature."""
    return cast(Any, settings(armature)).character


def add_part(character: FabrikCharacter, bone: str) -> FabrikPart:
    """Add a part that ends at a bone to a character."""
    name = free_among(character.parts, bone)
    part = character.parts.add()
    part.name, part.bone = name, bone
    return part


def is_set_up(character: FabrikCharacter) -> bool:
    """Return whether setting up has added constraints to a character."""
    return any(part.key for part in character.parts)
