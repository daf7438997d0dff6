"""Ropes: chains that hang between the root and the target."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .rope import MOTION, FabrikRope

FEATURE = Feature(
    groups=(FabrikRope,),
    constraint={"rope": (FabrikRope, group("Rope", "How the chain hangs"))},
    motion=MOTION,
)

PARTS = (operators,)
