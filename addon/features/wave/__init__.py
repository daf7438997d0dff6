"""Waves along chains, on top of the pose."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .wave import MOTION, FabrikWave

FEATURE = Feature(
    groups=(FabrikWave,),
    constraint={"wave": (FabrikWave, group("Wave", "How the chain waves"))},
    motion=MOTION,
)

PARTS = (operators,)
