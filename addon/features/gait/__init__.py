"""Walking legs: the walks of an armature, from their settings to keys."""

from typing import Any

from bpy.props import CollectionProperty, IntProperty

from ...loop.property_kinds import FIXED, OVERRIDABLE
from ...loop.registry import Feature
from . import operators
from .body import bodies_of
from .settings import FabrikGait, FabrikGaitLeg, legs_of_walks

SHOWN: dict[str, Any] = {"options": FIXED, "override": OVERRIDABLE}

FEATURE = Feature(
    groups=(FabrikGaitLeg, FabrikGait),
    armature=lambda: {
        "gaits": CollectionProperty(
            name="FABRIK Walks",
            description="Walks of the armature. Each lets some legs step with a body",
            type=FabrikGait,
            override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
        ),
        "active_gait": IntProperty(
            name="Active Walk",
            description="Walk whose settings are shown",
            **SHOWN,
        ),
    },
    pre_pass=bodies_of,
    lists={"gaits": legs_of_walks},
)

PARTS = (operators,)
