"""Chains that are solved as a shot, so that no joint jumps from frame to frame."""

from bpy.props import BoolProperty

from ...loop.property_kinds import fixed, group
from ...loop.registry import Feature
from . import panel
from .shot import FabrikShot, resolve

FEATURE = Feature(
    groups=(FabrikShot,),
    constraint={
        "use_continuous": fixed(
            BoolProperty,
            "Continuous",
            (
                "Let Simulate solve all frames at once, so that no joint jumps from one to the "
                "next where limits or other targets would have it jump"
            ),
            default=False,
        ),
        "shot": group(FabrikShot, "Shot", "The poses of the chain, if Continuous is on"),
    },
    resolve=resolve,
)

PARTS = (panel,)
