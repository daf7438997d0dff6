"""Ropes: chains that hang between the root and the target."""

from ...loop.property_kinds import group
from ...loop.registry import Feature
from . import operators
from .rope import MOTION, FabrikRope

FEATURE = Feature(
    groups=(FabrikRope,),
    constraint={"rope": (FabrikRope, group("Rope", "How the chain hangs"))},
    motion=MOTION,
)

PARTS = (operators,)
