"""The settings of holds: the held bones, their holders, and their events."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...settings.definitions import (
    ItemList,
    animated,
    defined,
    fixed,
    stored,
)
from ...settings.properties import FabrikSettings, settings
from .status import message_of

WORLD, BONE, OWN = "WORLD", "BONE", "OWN"


class FabrikHolder(bpy.types.PropertyGroup):
    """A holder of a bone from a frame on."""

    kind: str = fixed(
        "Held By",
        "What holds the bone or object",
        items=(
            (WORLD, "World", "Keep the bone or object in place", 0),
            (
                BONE,
                "Object or Bone",
                "Attach the held bone to an object, or to a bone of that object",
                1,
            ),
            (OWN, "Returned", "Blend back to its own animation", 2),
        ),
        in_presets=False,
    )
    object: bpy.types.Object | None = fixed("Object", "Holding object", in_presets=False)
    bone: str = fixed("Bone", "Bone of the holding object", in_presets=False)
    use_animation: bool = fixed(
        "Own Animation",
        "Let the held bone's own keys offset it from its holder. Off: fixed to the holder",
        in_presets=False,
        default=True,
    )
    frames: int = fixed(
        "Return",
        "Frames to blend back to its own animation",
        in_presets=False,
        default=1,
        min=1,
        soft_max=50,
    )


class FabrikHold(bpy.types.PropertyGroup):
    """A bone's hold: its holders, one after another."""

    bone: str = fixed("Bone", "Bone that is held", in_presets=False)
    holders: ItemList[FabrikHolder] = defined(
        "Holders",
        "What holds the bone",
        override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
    )
    holder: int = animated(
        "Holder",
        "Holder of the bone from this key on: 0 is its own parent, 1 the first holder. Drag a "
        "key to retime the event, or delete it to remove the event",
        in_presets=False,
        default=0,
        min=0,
    )
    blend: float = fixed(
        "Blend",
        "Frames to blend from the previous holder to the new one, starting at each event",
        in_presets=False,
        default=0.0,
        min=0.0,
        soft_max=20.0,
        precision=1,
        step=100,
    )
    prop: bpy.types.Object | None = fixed(
        "Prop", "Object that moves with the bone", in_presets=False
    )
    history: bytes = stored(
        "History", "Where bones are held, for each event. Stored in the first hold"
    )
    message: str = defined(
        "Message", "Description of the problem and its solution (read only)", get=message_of
    )


def holds_of(armature: bpy.types.ID) -> ItemList[FabrikHold]:
    """Return the holds of an armature object."""
    return cast(Any, settings(armature)).holds


def signed(hold: FabrikHold, number: int) -> int:
    """Return a holder's number, negative if it ignores the held bone's own keys."""
    is_fixed = number > 0 and not hold.holders[number - 1].use_animation
    return -number if is_fixed else number


def own_places(hold: FabrikHold) -> frozenset[int]:
    """Return the numbers of the holders that blend a bone back to its own animation."""
    return frozenset(i for i, holder in enumerate(hold.holders, 1) if holder.kind == OWN)


def blend_at(hold: FabrikHold, number: int) -> float:
    """Return how many frames the blend to a holder takes, by the holder's number."""
    if number in own_places(hold):
        return hold.holders[number - 1].frames
    return hold.blend


def holds_signature(fabrik: FabrikSettings) -> object:
    """Return the values that the plan uses of holds, to detect changes Blender doesn't report."""
    holds = cast(Any, fabrik).holds
    return [(hold.bone, len(hold.holders)) for hold in holds]
