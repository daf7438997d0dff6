"""Springs: strands that swing by themselves, such as hair, ears and tails."""

from ...plan.registry import Feature
from ...settings.definitions import ItemList, defined, group
from . import drawing, fitting, importing, operators
from .settings import FabrikCollider, FabrikSpring, colliders_signature
from .spring import MOTION

FEATURE = Feature(
    groups=(FabrikSpring, FabrikCollider),
    constraint={"spring": (FabrikSpring, group("Spring", "How the strand swings"))},
    armature={
        "colliders": (
            ItemList[FabrikCollider],
            defined(
                "FABRIK Colliders",
                "Shapes that the armature's springs collide with",
                override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
            ),
        )
    },
    motion=MOTION,
    lists={"colliders": colliders_signature},
)

PARTS = (operators, fitting, importing, drawing)
