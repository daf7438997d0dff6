"""Continuous chains: all frames of a shot are solved together, so that joints don't jump."""

from ...plan.registry import Feature
from ...settings.definitions import fixed, group
from . import panel
from .shot import FabrikShot, resolve

FEATURE = Feature(
    groups=(FabrikShot,),
    constraint={
        "use_continuous": (
            bool,
            fixed(
                "Continuous",
                "Solve all frames together when simulating, so that limits and conflicting targets "
                "don't make joints jump between frames",
                default=False,
            ),
        ),
        "shot": (FabrikShot, group("Shot", "Poses of the chain if Continuous is enabled")),
    },
    resolve=resolve,
)

PARTS = (panel,)
