"""Dragging a bone makes the whole body follow, while pinned bones stay."""

from ...plan.registry import Feature
from ...settings.definitions import ItemList, defined, group
from . import operators, panel, settings
from .kept import kept_bodies
from .settings import FabrikPin, FabrikWholeBody, kept_pins

FEATURE = Feature(
    groups=(FabrikPin, FabrikWholeBody),
    armature={
        "pins": (
            ItemList[FabrikPin],
            defined(
                "FABRIK Pins",
                "Bones that stay in place while others are dragged",
                override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
            ),
        ),
        "whole_body": (
            FabrikWholeBody,
            group("FABRIK Whole Body", "How the body follows a dragged bone"),
        ),
    },
    pre_pass=kept_bodies,
    lists={"pins": kept_pins},
)

PARTS = (settings, operators, panel)
