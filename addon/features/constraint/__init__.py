"""The constraint list and the active constraint's settings."""

from ...plan.registry import Feature
from ...ui.following import follow
from . import draw, limb, operators, panels, presets

FEATURE = Feature(on_update=follow)

PARTS = (operators, limb, draw, presets, panels)
