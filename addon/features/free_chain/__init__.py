"""Free chains: the head follows the target and drags the other bones behind it."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .free_chain import MOTION, FabrikFollow

FEATURE = Feature(
    groups=(FabrikFollow,),
    constraint={"follow": (FabrikFollow, group("Free Chain", "How the chain follows its target"))},
    motion=MOTION,
)

PARTS = (operators,)
