"""Feet that roll on their soles, from heel to ball to toe."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import adding, panel
from .roll import resolve_roll, rolled_toes
from .settings import FabrikFootRoll

FEATURE = Feature(
    groups=(FabrikFootRoll,),
    constraint={"roll": (FabrikFootRoll, group("Foot Roll", "How the foot rolls on its sole"))},
    resolve=resolve_roll,
    pre_pass=rolled_toes,
)

PARTS = (adding, panel)
