"""The list of constraints, and the settings of the one that is shown."""

from ...plan.registry import Feature
from ...ui.following import follow
from . import draw, limb, operators, panels, presets

FEATURE = Feature(on_update=follow)

PARTS = (operators, limb, draw, presets, panels)
