"""The settings of shots."""

from __future__ import annotations

import bpy

from ...loop.properties import FabrikConstraint
from ...ui.layout import Layout
from ...ui.sections import Section, add, reaches, remove
from ..simulation import history
from .simulation import shots


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "use_continuous")


SECTION = Section(81, "Solver", _draw, reaches)


def register() -> None:
    """Add the settings."""
    add(SECTION)
    history.PROVIDERS.append(shots)


def unregister() -> None:
    """Take them away."""
    history.PROVIDERS.remove(shots)
    remove(SECTION)
