"""Holds: a control, target or object follows its holder from one frame to another."""

from ...plan.registry import Feature
from ...settings.definitions import ItemList, defined
from . import operators, panel, parenting
from .held import held_bones
from .settings import FabrikHold, FabrikHolder, holds_signature

FEATURE = Feature(
    groups=(FabrikHolder, FabrikHold),
    armature={
        "holds": (
            ItemList[FabrikHold],
            defined(
                "FABRIK Holds",
                "Held bones of the armature",
                override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
            ),
        ),
    },
    pre_pass=held_bones,
    lists={"holds": holds_signature},
)

PARTS = (operators, panel, parenting)
