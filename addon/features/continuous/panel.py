"""The Continuous setting in the Solver panel."""

from __future__ import annotations

from ...blender.messages import msg
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section, properties, reaches
from ..simulation import history
from .simulation import shots

register, unregister = registering(
    __name__,
    (SECTIONS, Section(81, msg("Solver"), properties("use_continuous"), reaches)),
    (history.PROVIDERS, shots),
)
