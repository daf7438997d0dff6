"""Feet on the ground: their goals, and the hip over them."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .goal import resolve_ground
from .hips import hips_of
from .settings import FabrikGround

FEATURE = Feature(
    groups=(FabrikGround,),
    constraint={"ground": (FabrikGround, group("Ground", "How the tip stands on the ground"))},
    resolve=resolve_ground,
    pre_pass=hips_of,
)

PARTS = (operators,)
