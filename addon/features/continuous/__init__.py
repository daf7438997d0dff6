"""Continuous chains: all frames of a shot are solved together, so that no joint jumps."""

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
                "Let Simulate solve all frames together, so that joints do not jump between "
                "frames because of limits or other targets",
                default=False,
            ),
        ),
        "shot": (FabrikShot, group("Shot", "Poses of the chain if Continuous is enabled")),
    },
    resolve=resolve,
)

PARTS = (panel,)
