"""The settings of a foot that rolls on its sole."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...settings.definitions import FACTOR, animated, fixed
from ...settings.properties import FabrikConstraint

BREADTH = 0.38
"""The width of a foot at its ball, in foot lengths. Source: ANSUR II, 102 of 271 mm for men, 93
of 246 mm for women."""

PIVOT_ITEMS = (
    ("HEEL", "Heel", "Turn about the heel", 0),
    ("BALL", "Ball of the Foot", "Turn about the ball of the foot", 1),
    ("TOE", "Toe", "Turn about the tip of the toes", 2),
)


class FabrikFootRoll(bpy.types.PropertyGroup):
    """The settings of a foot that rolls on its sole."""

    use: bool = fixed(
        "Foot Roll",
        "Roll the foot from heel to ball to toe by rotating its roll control",
        default=False,
        in_presets=False,
    )
    control: str = fixed(
        "Roll Control",
        "Bone that rolls the foot: X rolls, Y banks and Z turns. It's as long as the sole",
        in_presets=False,
    )
    toe_control: str = fixed("Toe Control", "Bone that rotates the toes", in_presets=False)
    toe: str = fixed("Toes", "Toe bone, parented to the foot", in_presets=False)
    break_angle: float = animated(
        "Break Angle",
        "Roll angle at which the ball stops bending and the foot rolls about the tip of the toes "
        "instead",
        default=0.7853981633974483,
        min=0.0,
        max=1.5707963267948966,
        subtype="ANGLE",
    )
    pivot: str = animated(
        "Turn About",
        "Point of the sole that the foot turns about",
        items=PIVOT_ITEMS,
        default="BALL",
    )
    width: float = animated(
        "Sole Width",
        "Width of the sole between the edges that it banks on, relative to its length",
        default=BREADTH,
        **FACTOR,
    )


def has_roll(item: FabrikConstraint) -> bool:
    """Return whether a foot has a roll control, without storing settings for other constraints."""
    return item.is_property_set("roll") and bool(roll_settings(item).control)


def roll_settings(item: FabrikConstraint) -> FabrikFootRoll:
    """Return the roll settings of a constraint."""
    return cast(Any, item).roll
