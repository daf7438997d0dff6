"""The Continuous setting in the Solver panel."""

from __future__ import annotations

import bpy

from ...blender.messages import msg
from ...settings.properties import FabrikConstraint
from ...ui.layout import Layout
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section, reaches
from ..simulation import history
from .simulation import shots


def _draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
    layout.prop(item, "use_continuous")


register, unregister = registering(
    __name__, (SECTIONS, Section(81, msg("Solver"), _draw, reaches)), (history.PROVIDERS, shots)
)
