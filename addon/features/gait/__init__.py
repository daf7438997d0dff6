"""Walking legs: an armature's walks, from settings to keys."""

from ...plan.registry import Feature
from ...settings.definitions import BROWSING, OVERRIDABLE, ItemList, defined
from . import operators
from .body import bodies_of
from .settings import FabrikGait, FabrikGaitLeg, FabrikGaitStand, legs_of_walks

FEATURE = Feature(
    groups=(FabrikGaitLeg, FabrikGaitStand, FabrikGait),
    armature={
        "gaits": (
            ItemList[FabrikGait],
            defined(
                "FABRIK Walks",
                "Walks of the armature. Each makes legs step as their body moves",
                override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
            ),
        ),
        "active_gait": (
            int,
            defined(
                "Active Walk",
                "Walk whose settings are shown",
                options=BROWSING,
                override=OVERRIDABLE,
            ),
        ),
    },
    pre_pass=bodies_of,
    lists={"gaits": legs_of_walks},
)

PARTS = (operators,)
