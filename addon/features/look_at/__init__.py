"""Look-at: chains that rotate until their last bone points at the target."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .look import MOTION, FabrikLook

FEATURE = Feature(
    groups=(FabrikLook,),
    constraint={"look": (FabrikLook, group("Look-at", "How the chain looks at its target"))},
    motion=MOTION,
)

PARTS = (operators,)
